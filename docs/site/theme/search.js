// Lists the headings in which all typed words stand, of kHeadings in index.js.
const words = document.getElementById("words");
const found = document.getElementById("found");
words.addEventListener("input", () => {
  const typed = words.value.toLowerCase().split(/\s+/).filter((word) => word);
  found.replaceChildren();
  if (typed.length === 0) return;
  for (const [page, anchor, text, title] of kHeadings) {
    const all = (title + " " + text).toLowerCase();
    if (!typed.every((word) => all.includes(word))) continue;
    const link = document.createElement("a");
    link.href = document.body.dataset.root + "/" + page + (anchor ? "#" + anchor : "");
    link.textContent = anchor ? title + ": " + text : title;
    const item = document.createElement("li");
    item.append(link);
    found.append(item);
    if (found.childElementCount >= 30) break;
  }
});
