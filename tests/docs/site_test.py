"""Builds the site from the documents: site_test.py SOURCE_FOLDER [BF_AOT]. A link that leads nowhere is an error, and
so is anything that a page loads from elsewhere, and a result of the search that leads nowhere. Where there is Chromium,
pages are looked at wide and narrow, and searched by keys, as files and from a server. BF_AXE: the file axe.min.js of
axe-core, whose rules all pages must keep then, wide and narrow, light and dark; BF_AXE_PAGES: how many pages, or all."""

import functools
import html.parser
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from browser import CHROMIUM, Browser

LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}
HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
MOST_BYTES = 1 << 20  # of what a search loads
MOST_OF_A_PAGE = 200_000  # bytes


def build(root, out, program):
    return subprocess.run([sys.executable, "-B", root / "docs/site/build.py", root, out, *program], check=False,
                          capture_output=True, text=True)


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.names, self.text, self.headings = [], set(), [], []
        self._in_main, self._in_heading = False, False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self._in_main |= tag == "main"
        self._in_heading |= tag in HEADINGS
        for name, value in attributes:
            if name in ("src", "href") and value is not None:
                self.links.append((tag, name, value))
            if name in ("id", "name") and value:
                self.names.add(value)

    def handle_endtag(self, tag):
        self._in_main &= tag != "main"
        self._in_heading &= tag not in HEADINGS

    def handle_data(self, data):
        if self._in_main:
            (self.headings if self._in_heading else self.text).append(data)

    def words(self, of_headings):
        return set(re.findall(r"[a-z]+", " ".join(self.headings if of_headings else self.text).lower()))


def dead_links(out):
    """Of all pages, the API's too: files and anchors that are not there, and what is loaded from elsewhere."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in out.rglob("*.html")}
    count = 0
    for path, page in pages.items():
        for tag, name, link in page.links:
            place = f"{path.relative_to(out)}: {link}"
            parts = urllib.parse.urlsplit(link)
            if parts.scheme in ("javascript", "data"):  # doxygen's buttons; pictures within reports
                continue
            if parts.scheme or parts.netloc:
                if (tag, name) in LOADED:
                    yield f"{place}: is loaded from elsewhere"
                continue
            count += 1
            target = path if not parts.path else (path.parent / urllib.parse.unquote(parts.path)).resolve()
            if parts.path.startswith("/") and path.name == "404.html":
                target = out / parts.path.lstrip("/")
            if target.is_dir():
                target = target / "index.html"
            if not target.exists():
                yield f"{place}: there is no such file"
            elif parts.fragment and target in pages and not page_has(pages[target], parts.fragment):
                yield f"{place}: there is no such place"
    if count < 1000:
        yield f"only {count} references were seen"
    for style in out.rglob("*.css"):
        for link in re.findall(r"url\(['\"]?([^'\")]+)", style.read_text(encoding="utf-8")):
            if not link.startswith("data:") and not (style.parent / link).exists():
                yield f"{style.relative_to(out)}: {link}: there is no such file"


def page_has(page, fragment):
    return urllib.parse.unquote(fragment) in page.names


def dead_results(out):
    """Sections of the search's index whose page or place is not there, or which lack a heading; what is left out."""
    text = (out / "index.js").read_text(encoding="utf-8")
    sections = json.loads(text.removeprefix("const kSections = ").removesuffix(";\n"))
    pages = {}
    for place, title, heading, _ in sections:
        name, anchor = place.split("#")
        if not (out / name).exists():
            yield f"index.js: {place}: there is no such page"
            continue
        if name not in pages:
            pages[name] = Page((out / name).read_text(encoding="utf-8"))
        if not page_has(pages[name], anchor):
            yield f"index.js: {place}: there is no such place"
        if not title or not heading:
            yield f"index.js: {place}: has no heading"
    for path in out.rglob("*.html"):
        name = path.relative_to(out).as_posix()
        if not name.startswith(("api/", "reports/")) and name != "404.html" and name not in pages:
            yield f"index.js: {name} is left out"
    size = sum((out / name).stat().st_size for name in ("index.js", "lunr.js", "search.js"))
    if size > MOST_BYTES:
        yield f"a search loads {size} bytes"


def own_word(out, name):
    """A word that stands in one page only, and there in no heading."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in out.rglob("*.html")
             if not path.relative_to(out).as_posix().startswith(("api/", "reports/"))}
    own = pages.pop(out / name)
    others = set().union(own.words(True), *(page.words(of) for page in pages.values() for of in (True, False)))
    return max(own.words(False) - others, key=lambda word: (len(word), word))


MENU = 'document.querySelector(".md-sidebar--primary").getBoundingClientRect()'
NARROW = 960  # pixels, below which the menu opens by a button


def looks_wrong(browser, out):
    """Pages that are wider than the window; a menu that is not where it belongs, or not reached by keys."""
    for name in ("docs/guide/faq.html", "docs/reference/operators.html", "docs/reference/cli.html"):
        for width in (1280, 600):
            browser.resize(width)
            browser.load((out / name).as_uri())
            page = browser.value("document.documentElement.scrollWidth")
            if page > width:
                yield f"{name}: {page} pixels wide in a window of {width}"
            is_narrow = width < NARROW
            if browser.value(f"{MENU}.right > 0") == is_narrow:
                yield f"{name}: the menu is at the wrong place in a window of {width}"
            if is_narrow:
                browser.value('document.querySelector(".md-header [for=__drawer]").focus()')
                browser.press("Enter")
                if not browser.until(f"{MENU}.left >= 0 && {MENU}.right > 0"):
                    yield f"{name}: Enter does not open the menu in a window of {width}"
    for selector, what in ((".md-footer__link--next", "a way to the next page"), (".headerlink", "a link to a heading"),
                           (".md-nav--secondary a", "contents"), (".highlight span[class]", "colour in code")):
        if not browser.value(f"document.querySelector({json.dumps(selector)}) !== null"):
            yield f"docs/reference/cli.html has not {what}"
    browser.resize(1280)
    browser.load((out / "index.html").as_uri())
    before = browser.value("document.body.dataset.mdColorScheme")
    browser.value('document.querySelector("[data-md-component=palette] label:not([hidden])").click()')
    if browser.value("document.body.dataset.mdColorScheme") == before:
        yield "the switch of colours does nothing"


def rules_broken(browser, served, axe, names):
    """By axe-core, of pages in windows of two widths and in both schemes of colours; served, as 404.html always is."""
    script = pathlib.Path(axe).read_text(encoding="utf-8")
    for name in names:
        for width in (1280, 600):
            browser.resize(width)
            browser.load(served + name)
            browser.value(f"{script};0")
            for scheme in ("default", "slate"):
                browser.value(f'document.body.dataset.mdColorScheme = "{scheme}"; window.broken = null')
                time.sleep(0.5)  # until colours have changed
                browser.value("axe.run(document, {resultTypes: ['violations']}).then((found) => { window.broken = "
                              "found.violations.map((each) => `${each.id}: ${each.nodes[0].html}`) }); 0")
                if not browser.until("window.broken !== null"):
                    yield f"{name}: axe-core does not end"
                    continue
                yield from (f"{name}, {width} pixels, {scheme}: {each}" for each in browser.value("window.broken"))


def large_pages(out):
    for path in out.rglob("*.html"):
        name = path.relative_to(out).as_posix()
        if not name.startswith(("api/", "reports/")) and path.stat().st_size > MOST_OF_A_PAGE:
            yield f"{name}: {path.stat().st_size} bytes"


RESULTS = '[...document.querySelectorAll("#results li")].map((item) => [item.querySelector("a").href, item.innerText])'
SHOWN = '!document.getElementById("found").hidden'


def searches_wrong(browser, out, base):
    """By keys alone: / to the box, a word of another page's text, down to its result, and there."""
    for start, name, width in (("index.html", "docs/proofs/windows.html", 1280),
                               ("docs/guide/faq.html", "docs/guide/certify.html", 1280),
                               ("docs/reference/cli.html", "CONTRIBUTING.html", 600)):
        word = own_word(out, name)
        place = f"{base}{start}: {word}"
        browser.resize(width)
        browser.load(base + start)
        browser.press("/")
        browser.type(word)
        if not browser.until(SHOWN):
            yield f"{place}: the search shows nothing: {browser.errors}"
            continue
        results = browser.value(RESULTS)
        shown = next((text for link, text in results if link.startswith(base + name + "#")), None)
        if shown is None:
            yield f"{place}: does not find {name} but {results[:3]}"
            continue
        heading, _, text = shown.partition("\n")
        if not heading or word not in text.lower():
            yield f"{place}: no heading with an excerpt: {shown}"
        marked = browser.value('[...document.querySelectorAll("#results mark")].map((mark) => mark.textContent)')
        if word not in {each.lower() for each in marked}:
            yield f"{place}: the word is not marked"
        if browser.value("document.documentElement.scrollWidth") > width:
            yield f"{place}: the results are wider than the window"
        browser.press("ArrowDown")
        if browser.value("document.activeElement.href") != results[0][0]:
            yield f"{place}: Down does not lead to the first result"
        browser.press("ArrowUp")
        browser.press("Escape")
        if browser.value(SHOWN) or browser.value('document.getElementById("words").value'):
            yield f"{place}: Escape does not leave the search"
        browser.type(word)
        browser.until(SHOWN)
        browser.press("Enter")
        if not browser.until(f"location.href === {json.dumps(results[0][0])}"):
            yield f"{place}: Enter does not lead to {results[0][0]}"


# What is typed, and a page that is among the first five. Words of one section, stems, beginnings, parts of names.
FOUND = [("numbers exact", "docs/reference/json.html"), ("certificates checker", "docs/reference/certificate.html"),
         ("--lowering", "bench/index.html"), ("bf_aot.h call", "docs/reference/c-api.html"),
         ("certif", "docs/reference/certificate.html"),
         ("the glossary", "docs/reference/glossary.html"), ("avx2 levels", "docs/reference/targets.html")]


def finds_wrong(browser, base):
    browser.resize(1280)
    browser.load(base + "index.html")
    browser.press("/")
    for typed, name in FOUND:
        browser.value('document.getElementById("words").select()')
        browser.type(typed)
        if not browser.until(f"{SHOWN} && document.getElementById('found').dataset.typed === {json.dumps(typed)}"):
            yield f"{typed}: the search shows nothing"
            continue
        first = [link for link, _ in browser.value(RESULTS)[:5]]
        if not any(link.startswith(base + name) for link in first):
            yield f"{typed}: finds {first}"
    browser.value('document.getElementById("words").select()')
    browser.type("zzqx")
    if not browser.until('document.getElementById("count").textContent === "nothing found"'):
        yield "a word that stands nowhere: does not say that nothing was found"


def names_for_axe(out):
    names = sorted(path.relative_to(out).as_posix() for path in out.rglob("*.html"))
    names = [name for name in names if not name.startswith(("api/", "reports/"))]
    count = os.environ.get("BF_AXE_PAGES", "all")
    return names if count == "all" else names[::max(1, len(names) // int(count))]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def tried(out, profile):
    """In Chromium, from files and from a server."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=out))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    served = f"http://127.0.0.1:{server.server_address[1]}/"
    with Browser(profile) as browser:
        yield from looks_wrong(browser, out)
        for base in (out.as_uri() + "/", served):
            yield from searches_wrong(browser, out, base)
        yield from finds_wrong(browser, served)
        yield from rules_broken(browser, served, os.environ["BF_AXE"], names_for_axe(out)) if "BF_AXE" in os.environ else ()
        elsewhere = [url for url in browser.requests if not url.startswith((out.as_uri(), served, "data:"))]
        if elsewhere:
            yield f"asked for elsewhere: {elsewhere}"
        errors = [error for error in browser.errors if "favicon" not in str(error)]
        if errors:
            yield f"errors: {errors}"
    server.shutdown()


def main():
    if not shutil.which("mkdocs"):
        print("skipped: no mkdocs")
        return 77
    root = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder).resolve() / "site"
        ran = build(root, out, sys.argv[2:])
        print(ran.stdout, ran.stderr)
        if ran.returncode != 0:
            return 1
        problems = [f"missing: {page}" for page in ("index.html", "docs/guide/faq.html", "docs/proofs/windows.html",
                                                  *(("gallery.html",) if sys.argv[2:] else ()))
                    if not (out / page).exists()]
        problems += dead_links(out)
        problems += dead_results(out)
        problems += large_pages(out)
        if CHROMIUM:
            problems += tried(out, pathlib.Path(folder) / "profile")
        else:
            print("not looked at: no chromium")
        print("\n".join(problems))
        return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
