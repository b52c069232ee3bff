"""Checks the form of the tree: tree_test.py SOURCE_FOLDER.

Only known folders at the top; no notes to finish something later; no paths of one machine;
a newline at every file's end; no line of a page or of a CMake file longer than 120 columns, but for
tables and blocks of code; no comment in a header that opens with a fragment; no more words in pages than there were.
"""

import pathlib
import re
import sys

TOP = {"CMakeLists.txt", "CMakePresets.json", "pyproject.toml", "onnx_schema", "frontend", "planner",
       "aot", "runtime", "models", "tests", "bench", "cmake", "docs", "build", "install", "README.md", "DESIGN.md",
       "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "LICENSE.runtime"}
TEXT = {".cpp", ".h", ".c", ".py", ".cmake", ".txt", ".md", ".in", ".ld", ".json", ".proto"}
# Spelled so that this file does not find itself.
LATER = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b|not implemented" r" yet|place" r"holder")
WIDTH = 120
NARROW = {".md", ".cmake"}
MACHINE = re.compile(r"(?<![\w.])/(home|work|root|Users)/\w")
# A comment that begins so takes its meaning from another one.
FRAGMENT = re.compile(r"(Of|By|As|The same|What|From|Without|Behind|On) ")
COMMENT = re.compile(r"\s*(?://+<?|/\*+) *(.*)")
PRINTED = re.compile(r'R"\(.*?\)"', re.DOTALL)  # text of generated files
# The most words of all pages below docs/, and of those at the top. Whoever cuts pages lowers the number to what is left;
# it is never raised: what is added is paid for by a cut elsewhere. Bars of tables and signs alone are no words.
MOST_WORDS = {"docs": 96_500, "": 9_900}
WORD = re.compile(r"\S*\w\S*")
ROOMS = {"frontend", "planner", "aot", "runtime", "bench"}


def problems_in(name, text):
    for number, line in enumerate(text.splitlines(), 1):
        if LATER.search(line):
            yield f"{name}:{number}: unfinished: {line.strip()[:80]}"
        if MACHINE.search(line):
            yield f"{name}:{number}: a path of one machine: {line.strip()[:80]}"
    if text and not text.endswith("\n"):
        yield f"{name}: no newline at the end"


def wide_lines_in(name, text):
    """Lines of a page or of a CMake file that are too long."""
    code = False
    for number, line in enumerate(text.splitlines(), 1):
        code ^= line.lstrip().startswith("```")
        if len(line) > WIDTH and not code and not line.startswith("|"):
            yield f"{name}:{number}: {len(line)} columns, at most {WIDTH}: {line[:60]}"


def fragments_in(name, text):
    """Comment blocks of a header that open with a preposition or a relative."""
    text = PRINTED.sub(lambda string: "\n" * string[0].count("\n"), text)
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        comment = COMMENT.match(line)
        if comment and not inside and FRAGMENT.match(comment[1]):
            yield f"{name}:{number}: a comment that is no sentence: {line.strip()[:80]}"
        inside = comment is not None


def words_over(pages, most):
    """Folders of pages that have too many words. pages: (folder, text) of each."""
    for folder, limit in most.items():
        count = sum(len(WORD.findall(text)) for within, text in pages if within == folder)
        if count > limit:
            yield f"{folder or 'pages at the top'}: {count} words, at most {limit}: cut what pages repeat"


def self_test():
    """A test that cannot fail is none."""
    bad = ["x  // TO" "DO: y\n", "p = '/ho" "me/me'\n", "x"]
    failed = [text for text in bad if not list(problems_in("a.cpp", text))]
    long = "x" * (WIDTH + 1)
    failed += [text for text in (long, f"```\n```\n{long}") if not list(wide_lines_in("a.md", text))]
    failed += [text for text in (f"| {long} |", f"```\n{long}\n```") if list(wide_lines_in("a.md", text))]
    bad = ["// Of a row.\nint x;\n", "  /// The same of boxes.\n", "/* What it is. */\n"]
    failed += [text for text in bad if not list(fragments_in("a.h", text))]
    good = "// The sum\n// Of rows is not meant.\nint x;  // Of rows\nR\"(\n/* Of it. */)\"\n"
    failed += [good] if list(fragments_in("a.h", good)) else []
    failed += [] if list(words_over([("docs", "one | two")], {"docs": 1})) else ["words_over: too many"]
    failed += list(words_over([("docs", "one | two"), ("tests", "x")], {"docs": 2}))
    return [f"self test: {text[:20]!r}" for text in failed]


def files_of(root):
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        top = relative.parts[0]
        if top.startswith((".git", "build", "install")) or "__pycache__" in relative.parts:
            continue
        if path.is_file() and not path.is_symlink():
            yield path, relative


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    found = self_test()
    found += [f"{entry.name}: unknown at the top" for entry in sorted(root.iterdir())
              if entry.name not in TOP and not entry.name.startswith((".", "build"))]
    pages = []
    for path, relative in files_of(root):
        if path.suffix == ".md":
            pages.append((relative.as_posix().rpartition("/")[0].partition("/")[0], path.read_text(encoding="utf-8")))
        script = relative.parts[0] == ".ci"
        if not script and path.suffix not in TEXT:
            continue
        if path.suffix == ".json" and relative.parts[0] in ("models", "bench"):
            continue  # data
        text = path.read_text(encoding="utf-8")
        found += problems_in(relative.as_posix(), text)
        if path.suffix in NARROW or path.name.startswith("CMakeLists.txt") or path.name.endswith(".cmake.in"):
            found += wide_lines_in(relative.as_posix(), text)
        if path.suffix == ".h" and relative.parts[0] in ROOMS:
            found += fragments_in(relative.as_posix(), text)
    found += words_over(pages, MOST_WORDS)
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
