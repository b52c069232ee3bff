"""Checks the pages: pages_test.py SOURCE_FOLDER.

Links to files lead somewhere. Every note below docs/proofs/ is cited by code and indexed in DESIGN.md,
and every note that is cited exists. Files that pages name exist. DESIGN.md has a row for every folder of
frontend/ and planner/ and for every room of aot/. Measured times stand in docs/measurements/ and bench/, or
between the marks of figures.
"""

import pathlib
import re
import sys

CODE = {".h", ".cpp", ".c", ".py", ".cmake", ".txt"}
FOLDERS = ["frontend", "planner", "aot", "runtime", "tests", "bench"]
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
NOTE = re.compile(r"docs/proofs/([a-z0-9-]+)\.md")
OLD = re.compile(r"[Nn]otes? \[[a-z ]+\](?:,? and \[[a-z ]+\])? in (?:// )?DESIGN\.md")
NAMED = re.compile(r"`((?:frontend|planner|aot|runtime|tests|bench|models|docs)/[\w./-]+)`")
FIGURES = re.compile(r"<!-- figures: .*?<!-- end of figures -->", re.DOTALL)
# A time or rate measured on a machine: "0.82 of the time", "89 % of the peak", "57 GB/s".
MEASURED = re.compile(r"\d %? ?of the (?:time|peak|bandwidth)\b|\d G(?:B|FLOP)/s")


def pages_of(root):
    return [page for page in [*root.glob("*.md"), *sorted((root / "docs").rglob("*.md")),
                              root / "models/README.md", root / "bench/README.md"]]


def broken_links(page, text):
    return [f"{page}: link to {link}" for link in LINK.findall(text)
            if not (page.parent / link).exists()]


def missing_files(root, name, text):
    return [f"{name}: names {found}, which is not there" for found in NAMED.findall(text)
            if "NAME" not in found and not (root / found).exists()]


def measured_in(name, text):
    return [f"{name}: measured figure: {found}" for found in MEASURED.findall(FIGURES.sub("", text))]


def may_hold_figures(name):
    return name.startswith(("docs/measurements/", "bench/"))


def folders_without_row(root, design):
    """Folders of sources that the map of folders leaves out."""
    rows = re.findall(r"^\| `([^`]+)/` \|", design, re.MULTILINE)
    folders = {path.parent for part in ("frontend", "planner") for path in (root / part).rglob("*.cpp")}
    folders |= {path for path in (root / "aot").iterdir() if path.is_dir()}
    names = {folder.relative_to(root).as_posix() for folder in folders}
    return [f"DESIGN.md: no row for {name}/" for name in sorted(names - set(rows))]


def citations(root):
    """Names of notes -> a file that cites it; lines that cite in the old way."""
    cited, old = {}, []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in CODE or path == pathlib.Path(__file__).resolve():
                continue
            text = path.read_text(encoding="utf-8")
            cited.update((name, path) for name in NOTE.findall(text))
            old += [f"{path}: cite docs/proofs/NAME.md: {found}"
                    for found in OLD.findall(re.sub(r"\s*\n\s*//", "", text))]
    return cited, old


def self_test():
    """A test that cannot fail is none."""
    assert LINK.findall("[a](b.md) [c](d.md#e) [f](https://g)") == ["b.md", "d.md"]
    assert missing_files(pathlib.Path("/"), "a", "`planner/no.h`") and NAMED.findall("`x y`") == []
    assert OLD.search("note [error terms] in DESIGN.md")
    assert measured_in("a", "takes 0.82 of the time") and measured_in("a", "at 57 GB/s")
    assert not measured_in("a", "<!-- figures: x --> 57 GB/s <!-- end of figures -->")


def main():
    self_test()
    root = pathlib.Path(sys.argv[1]).resolve()
    problems = []
    for page in pages_of(root):
        text = page.read_text(encoding="utf-8")
        problems += broken_links(page, text)
        name = page.relative_to(root).as_posix()
        if not may_hold_figures(name) and name != "CHANGELOG.md":
            problems += missing_files(root, name, text)
        if not may_hold_figures(name):
            problems += measured_in(name, text)
    notes = {path.stem for path in (root / "docs/proofs").glob("*.md")}
    cited, old = citations(root)
    problems += old
    problems += [f"{cited[name]}: no note docs/proofs/{name}.md" for name in set(cited) - notes]
    problems += [f"docs/proofs/{name}.md: no code cites it" for name in notes - set(cited)]
    design = (root / "DESIGN.md").read_text(encoding="utf-8")
    problems += folders_without_row(root, design)
    indexed = set(NOTE.findall(design))
    problems += [f"DESIGN.md: index and docs/proofs differ in {name}" for name in indexed ^ notes]
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
