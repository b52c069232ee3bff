// Searches the sections of all pages, kSections in index.js, with lunr, which loads with the first key: no server is
// asked, so that pages opened as files are searched, too. A section is found when it has every typed word, or one of its
// stem, or one that begins so.
// Keys: / goes to the box, Down and Up through the results, Enter to the first, Escape leaves; in a narrow window a second
// one closes the box.
const kMost = 30;     // results
const kExcerpt = 70;  // characters on each side of a word
const words = document.getElementById("words");
const found = document.getElementById("found");
const count = document.getElementById("count");
const results = document.getElementById("results");
const root = words.closest("[data-root]").dataset.root.replace(/\/$/, "");
const narrow = document.getElementById("__search");  // whether a narrow window shows the box

function load(name) {
  return new Promise((loaded, failed) => {
    const script = document.createElement("script");
    script.src = root + "/" + name;
    script.onload = loaded;
    script.onerror = failed;
    document.head.append(script);
  });
}

let made = null;
function index() {
  made ??= Promise.all([load("lunr.js"), load("index.js")]).then(() => {
    // Identifiers, options and paths are found by their parts.
    lunr.tokenizer.separator = /[^\p{L}\p{N}]+/u;
    const withStem = (token) => {
      const stem = lunr.stemmer(token.clone());
      return stem.toString() === token.toString() ? token : [token, stem];
    };
    lunr.Pipeline.registerFunction(withStem, "withStem");
    return lunr(function () {
      this.pipeline.remove(lunr.stemmer);
      this.pipeline.add(withStem);
      this.ref("place");
      this.field("heading", { boost: 8 });
      this.field("page", { boost: 4 });
      this.field("text");
      this.metadataWhitelist = ["position"];
      kSections.forEach(([, page, heading, text], place) => this.add({ place, page, heading, text }));
    });
  });
  return made;
}

// Scores and positions in the text of the sections that have all words.
function search(sections, typed) {
  let all = null;
  for (const token of lunr.tokenizer(typed).filter(lunr.stopWordFilter)) {
    const hits = new Map();
    for (const { ref, score, matchData } of sections.query((query) => {
      query.term(token, { boost: 8, usePipeline: false });
      query.term(token, { boost: 2 });
      query.term(token, { wildcard: lunr.Query.wildcard.TRAILING, usePipeline: false });
    })) {
      const before = all === null ? { score: 0, positions: [] } : all.get(ref);
      if (!before) continue;
      const own = matchData.metadata[token]?.text?.position;
      const positions = own ?? Object.values(matchData.metadata).flatMap((fields) => fields.text?.position ?? []);
      hits.set(ref, { score: before.score + score, positions: before.positions.concat(positions) });
    }
    all = hits;
  }
  return [...(all ?? [])].sort(([, a], [, b]) => b.score - a.score);
}

// The text about the first position, with all words that are found there marked.
function excerpt(text, positions) {
  const span = document.createElement("span");
  positions.sort(([a], [b]) => a - b);
  const [first] = positions[0] ?? [0];
  let at = first <= kExcerpt ? 0 : text.indexOf(" ", first - kExcerpt) + 1;
  if (at > first) at = first;
  const last = text.lastIndexOf(" ", first + 2 * kExcerpt);
  const end = first + 2 * kExcerpt >= text.length ? text.length : Math.max(last, first);
  if (at > 0) span.append("… ");
  for (const [start, length] of positions) {
    if (start < at || start + length > end) continue;
    const mark = document.createElement("mark");
    mark.textContent = text.slice(start, start + length);
    span.append(text.slice(at, start), mark);
    at = start + length;
  }
  span.append(text.slice(at, end) + (end < text.length ? " …" : ""));
  return span;
}

async function show() {
  const typed = words.value;
  if (!typed.trim()) {
    found.hidden = true;
    return;
  }
  const sections = await index();
  if (typed !== words.value) return;  // there is more by now
  const hits = search(sections, typed);
  count.textContent = hits.length === 0 ? "nothing found"
      : hits.length > kMost ? `the first ${kMost} of ${hits.length} sections` : `sections: ${hits.length}`;
  results.replaceChildren(...hits.slice(0, kMost).map(([ref, { positions }]) => {
    const [place, page, heading, text] = kSections[ref];
    const link = document.createElement("a");
    link.href = root + "/" + place;
    link.textContent = heading === page ? page : page + ": " + heading;
    const item = document.createElement("li");
    item.append(link, excerpt(text, positions));
    return item;
  }));
  found.dataset.typed = typed;
  found.hidden = false;
}

words.addEventListener("focus", () => index());
narrow.addEventListener("change", () => narrow.checked && words.focus());
words.addEventListener("input", show);
addEventListener("click", ({ target }) => {
  if (target.closest("#results a") || !target.closest("[role=search]")) found.hidden = true;
});
addEventListener("pageshow", () => words.value && show());  // on the way back

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const links = [...results.querySelectorAll("a")];
  const inside = event.target === words || found.contains(event.target);
  if (event.key === "/" && event.target !== words) {
    narrow.checked = true;
    words.focus();
    words.select();
  } else if (inside && event.key === "Escape") {
    if (words.value === "") narrow.checked = false;
    words.value = "";
    found.hidden = true;
    words.focus();
  } else if (inside && !found.hidden && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    const next = links.indexOf(event.target) + (event.key === "ArrowDown" ? 1 : -1);
    (links[next] ?? (next < 0 ? words : event.target)).focus();
  } else if (event.target === words && event.key === "Enter") {
    show().then(() => results.querySelector("a")?.click());
  } else {
    return;
  }
  event.preventDefault();
});
