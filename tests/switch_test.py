"""Checks that no switch over an enumeration of ours, and no visitor of a variant, takes what it does
not name: switch_test.py SOURCE_FOLDER.

Without `default:` the compiler says which switch a new enumerator is missing from (-Wswitch, part of
-Wall), and without a catch-all overload which visitor a new alternative is missing from.
"""

import pathlib
import re
import sys

FOLDERS = ("frontend", "planner", "aot")
# File -> why its switches may have a default: what they look at is no closed set of ours.
ALLOWED = {
    "frontend/import/file/node_import.cpp": "attribute types of the ONNX schema",
    "frontend/import/file/tensors.cpp": "element types of the ONNX schema, as integers",
    "aot/artifacts/report/html.cpp": "characters",
    "aot/reach/numbers/interval.cpp": "functions with ranges of their own; the table of facts bounds all others",
}
DEFAULT = re.compile(r"^\s*default\s*:", re.MULTILINE)
CATCH_ALL = re.compile(r"\[[^\]\n]*\]\s*\((const\s+)?auto\s*(&|&&)?\s*\)")  # an unnamed parameter


def complaints_in(path, text):
    found = []
    if DEFAULT.search(text) and path not in ALLOWED:
        found.append(f"{path}: a switch with default: name every enumerator, or allow it with a "
                     "reason in tests/switch_test.py")
    if CATCH_ALL.search(text):
        found.append(f"{path}: a visitor that takes any alternative: name every one")
    return found


def self_test():
    """A test that cannot fail is none."""
    bad = ["    default:\n      break;\n", "std::visit([](const auto&) { return 0; }, op);"]
    good = ['"(default: stdout)"', "std::visit([](const auto& op) { return name_of(op); }, op);",
            "// Names. No default: the compiler warns."]
    return [f"self test: {text}" for text in bad if not complaints_in("planner/a.cpp", text)] + [
        f"self test: {text}" for text in good if complaints_in("planner/a.cpp", text)]


def main():
    root = pathlib.Path(sys.argv[1])
    found = self_test()
    texts = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
             for folder in FOLDERS for path in sorted((root / folder).rglob("*"))
             if path.suffix in (".h", ".cpp")}
    for path, text in texts.items():
        found += complaints_in(path, text)
    found += [f"{path}: allowed a default that it does not have" for path in ALLOWED
              if not DEFAULT.search(texts.get(path, ""))]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
