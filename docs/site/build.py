"""Builds the documents as a site: build.py SOURCE_FOLDER OUTPUT_FOLDER, with mkdocs, strictly.

Pages keep their places, so that a link means the same in the repository and on the site. The site's theme is in
theme/ beside this file: it needs no server and nothing from elsewhere. The API of bf.h and bf_aot.h is added where
doxygen is installed.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
SECTIONS = [("Start", "docs/start"), ("Guide", "docs/guide"), ("Reference", "docs/reference"),
            ("Proofs", "docs/proofs"), ("Measurements", "docs/measurements")]
PROJECT = ["DESIGN.md", "CONTRIBUTING.md", "CHANGELOG.md", "models/README.md", "bench/README.md"]
DOXYGEN = """
PROJECT_NAME = "bf-aot"
INPUT = {root}/runtime/bf.h {root}/aot/library/bf_aot.h
OUTPUT_DIRECTORY = {out}
HTML_OUTPUT = api
GENERATE_LATEX = NO
EXTRACT_ALL = YES
OPTIMIZE_OUTPUT_FOR_C = YES
QUIET = YES
WARN_IF_UNDOCUMENTED = NO
HAVE_DOT = NO
CLASS_GRAPH = NO
"""


def pages_of(root):
    names = ["README.md", *PROJECT]
    for _, folder in SECTIONS:
        names += sorted(path.relative_to(root).as_posix() for path in (root / folder).glob("*.md"))
    return names


def title_of(path):
    return path.read_text(encoding="utf-8").split("\n", 1)[0].lstrip("# ")


def stage(root, pages, folder):
    """Copies pages, and files that they link to; links to folders become text."""
    for name in pages:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        text = (root / name).read_text(encoding="utf-8")
        for link in set(LINK.findall(text)):
            file = (root / name).parent / link
            relative = file.resolve().relative_to(root.resolve()).as_posix()
            if file.is_dir():
                text = re.sub(rf"\[([^\]]*)\]\({re.escape(link)}\)", r"\1", text)
            elif relative not in pages:
                (folder / relative).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, folder / relative)
        target.write_text(text, encoding="utf-8")


def write_search(out):
    """What search.js searches: lunr, which mkdocs brings, and its index of sections as a script.

    mkdocs' own search asks a server for the index; a script loads from a file, too.
    """
    made = out / "search"
    sections = json.loads((made / "search_index.json").read_text(encoding="utf-8"))["docs"]
    pages = {each["location"]: each["title"] for each in sections if "#" not in each["location"]}
    entries = [[each["location"], pages[each["location"].split("#")[0]], each["title"],
                re.sub(r" ([.,:;)])(?=\s|$)", r"\1", each["text"])] for each in sections if "#" in each["location"]]
    text = json.dumps(entries, ensure_ascii=False, separators=(",", ":"))
    (out / "index.js").write_text(f"const kSections = {text};\n", encoding="utf-8")
    shutil.copyfile(made / "lunr.js", out / "lunr.js")
    shutil.rmtree(made)


def version_of(root):
    return re.search(r"project\(bf_aot VERSION ([0-9.]+)", (root / "CMakeLists.txt").read_text())[1]


def main():
    root, out = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    pages = pages_of(root)
    with tempfile.TemporaryDirectory() as work:
        staged = pathlib.Path(work) / "pages"
        stage(root, pages, staged)
        entries = [{title: [{title_of(root / name): name} for name in pages
                            if name.startswith(folder + "/")]} for title, folder in SECTIONS]
        entries.append({"Project": [{title_of(root / name): name} for name in PROJECT]})
        config = pathlib.Path(work) / "mkdocs.yml"
        config.write_text(json.dumps({
            "site_name": "bf-aot", "docs_dir": str(staged), "site_dir": str(out), "use_directory_urls": False,
            "theme": {"name": None, "custom_dir": str(root / "docs/site/theme")}, "plugins": ["search"],
            "extra": {"version": version_of(root)}, "markdown_extensions": ["tables", "fenced_code", "toc"],
            "nav": [{"bf-aot": "README.md"}, *entries]}))
        built = subprocess.run(["mkdocs", "build", "--quiet", "--strict", "--config-file", str(config)],
                               check=False)
        if built.returncode != 0:
            return 1
    write_search(out)
    if shutil.which("doxygen"):
        subprocess.run(["doxygen", "-"], input=DOXYGEN.format(root=root, out=out), text=True, check=True,
                       stdout=subprocess.DEVNULL)
    print(f"{len(pages)} pages in {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
