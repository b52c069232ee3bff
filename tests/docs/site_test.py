"""Builds the site from the documents: site_test.py SOURCE_FOLDER. A link that leads nowhere is an error, and so is
anything that a page loads from elsewhere. Where there is Chromium, pages are looked at wide and narrow."""

import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def build(root, out):
    return subprocess.run([sys.executable, "-B", root / "docs/site/build.py", root, out], check=False,
                          capture_output=True, text=True)


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.names, self.details = [], set(), 0
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.details += tag == "details"
        for name, value in attributes:
            if name in ("src", "href") and value is not None:
                self.links.append((tag, name, value))
            if name in ("id", "name") and value:
                self.names.add(value)


def dead_links(out):
    """Of all pages, the API's too: files and anchors that are not there, and what is loaded from elsewhere."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in out.rglob("*.html")}
    count = 0
    for path, page in pages.items():
        for tag, name, link in page.links:
            place = f"{path.relative_to(out)}: {link}"
            parts = urllib.parse.urlsplit(link)
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


def seen_by_chromium(page, width):
    """The widths of page and window, whether the menu is seen and how many results a search has."""
    probe = page.with_name("probe.html")
    script = """<script>addEventListener("load", () => {
      const nav = document.querySelector("nav"), words = document.getElementById("words");
      const before = getComputedStyle(nav).display;
      document.getElementById("menu").click();
      const after = getComputedStyle(nav).display;
      words.value = "numbers exact"; words.dispatchEvent(new Event("input"));
      document.title = [document.documentElement.scrollWidth, innerWidth, before, after,
                        document.getElementById("found").childElementCount].join("|");
    });</script>"""
    probe.write_text(page.read_text(encoding="utf-8").replace("</body>", script + "</body>"), encoding="utf-8")
    try:
        text = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},800",
                               "--dump-dom", probe.as_uri()], capture_output=True, text=True, timeout=120,
                              check=False).stdout
    finally:
        probe.unlink()
    found = re.search(r"<title>(\d+)\|(\d+)\|(\w+)\|(\w+)\|(\d+)</title>", text)
    return found and (int(found[1]), int(found[2]), found[3], found[4], int(found[5]))


def looks_wrong(out):
    for name in ("index.html", "docs/reference/operators.html", "docs/reference/cli.html"):
        for width in (1280, 600):
            seen = seen_by_chromium(out / name, width)
            if not seen:
                yield f"{name}: the page's scripts did not run"
                continue
            page, window, before, after, results = seen
            if page > window:
                yield f"{name}: {page} pixels wide in a window of {window}"
            if (before, after) != (("block", "block") if window >= 768 else ("none", "block")):
                yield f"{name}: the menu is {before}, then {after} in a window of {window}"
            if results == 0:
                yield f"{name}: the search finds nothing"


def main():
    if not shutil.which("mkdocs"):
        print("skipped: no mkdocs")
        return 0
    root = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder).resolve() / "site"
        ran = build(root, out)
        print(ran.stdout, ran.stderr)
        if ran.returncode != 0:
            return 1
        problems = [f"missing: {page}" for page in ("index.html", "docs/guide/faq.html", "docs/proofs/windows.html")
                    if not (out / page).exists()]
        problems += dead_links(out)
        if CHROMIUM:
            problems += looks_wrong(out)
        else:
            print("not looked at: no chromium")
        print("\n".join(problems))
        return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
