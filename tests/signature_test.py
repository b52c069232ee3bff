"""Checks the signatures of routines against the runtime's headers: signature_test.py SOURCE_FOLDER.

For each row of planner/lowering/signatures.cpp there must be an overload in its header with as many
parameters and template parameters, and each array or number must have the C++ type that it says.
"""

import pathlib
import re
import sys

ROW = re.compile(r'\{Routine::(k\w+),((?:\s*"[^"]*",?)+)\}')
ELEMENTS = {"float": r"float|Number|T", "double": r"double", "int32": r"std::int32_t|int",
            "any": r"float|double|Number|T"}
NUMBERS = {"int": r"int|std::ptrdiff_t", "bool": r"bool", "real": r"float|double", "count": r"int",
           "left": r"int", "element": r"double|float"}


def split(text):
    """At commas outside brackets."""
    parts, depth, part = [], 0, ""
    for c in text:
        depth += c in "<([{"
        depth -= c in ">)]}"
        if c == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += c
    return parts + ([part.strip()] if part.strip() else [])


def rows_of(text):
    for match in ROW.finditer(text):
        strings = re.findall(r'"([^"]*)"', match[2])
        name, header, constants = strings[:3]
        yield match[1], name, header, constants.split(), split("".join(strings[3:]))


def overloads(text, name):
    """Parameters of each definition of `name`, with its template parameters."""
    definition = (rf"(template\s*<([^{{}};]*?)>\s*)?(?:static\s+inline|BF_ROUTINE|"
                  rf"__attribute__\(\(\w+\)\)|inline|static)[^;{{}}()]*?\b{name}\(")
    for match in re.finditer(definition, text):
        depth, end = 1, match.end()
        while depth:
            depth += text[end] == "("
            depth -= text[end] == ")"
            end += 1
        yield split(match[2] or ""), split(text[match.end():end - 1])


def fits(said, written):
    """Whether a parameter of C++ may be what a row says."""
    array = re.match(r"(in|out|inout) (\w+) (\w+)\[", said)
    if array:
        how, element, _ = array.groups()
        constant = r"const\s+" if how == "in" else r"(?!const\b)"
        return re.match(rf"{constant}({ELEMENTS[element]})\s*\*", written) is not None
    kind = said.split()[0]
    if kind in NUMBERS:
        return re.match(rf"(const\s+)?({NUMBERS[kind]})\s+\w+(\s*=.*)?$", written) is not None
    return "*" not in written or kind == "absolute"  # of each box


def complaint(row, header_text):
    routine, name, header, constants, parameters = row
    seen = []
    for template, written in overloads(header_text, name):
        numbers = [each for each in template if not each.startswith("typename")
                   and not re.search(rf"\b{each.split()[-1]}\b", " ".join(written))]
        optional = sum("=" in each for each in written)
        if not len(written) - optional <= len(parameters) <= len(written):
            seen.append(f"{len(written)} parameters")
        elif constants != [] and len(constants) > len(template):
            seen.append(f"{len(template)} template parameters")
        elif constants == [] and numbers:
            seen.append(f"template parameters {', '.join(numbers)}")
        else:
            wrong = [f"'{said}' is '{is_}'" for said, is_ in zip(parameters, written)
                     if not fits(said, is_)]
            if not wrong:
                return None
            seen.append("; ".join(wrong))
    return f"{routine}: {header} has no {name} as its row says: {' | '.join(seen) or 'none at all'}"


def self_test():
    """A test that cannot fail is none."""
    header = ("static inline void add(const float* BF_RESTRICT from, int n, float* to) {}\n"
              "template <int kRows>\nBF_ROUTINE rows(int n, float* to) {}\n")
    row = lambda name, constants, *parameters: ("kTest", name, "h", constants, list(parameters))
    good = [row("add", [], "in float from[n]", "int n", "out float to[n]"),
            row("rows", ["rows"], "int n", "inout float to[n rows]")]
    bad = [row("add", [], "in float from[n]", "int n"),
           row("add", [], "out float from[n]", "int n", "out float to[n]"),
           row("add", [], "in double from[n]", "int n", "out float to[n]"),
           row("add", [], "in float from[n]", "real n", "out float to[n]"),
           row("rows", [], "int n", "inout float to[n rows]"),
           row("gone", [], "int n")]
    return [f"self test: {complaint(each, header)}" for each in good if complaint(each, header)] + [
        f"self test: passes {each}" for each in bad if not complaint(each, header)]


def main():
    root = pathlib.Path(sys.argv[1])
    table = (root / "planner/lowering/signatures.cpp").read_text(encoding="utf-8")
    found = self_test()
    rows = list(rows_of(table))
    if len(rows) != table.count("{Routine::"):
        found.append(f"{len(rows)} rows were read of {table.count('{Routine::')}")
    for row in rows:
        text = (root / "runtime" / row[2]).read_text(encoding="utf-8")
        text = re.sub(r"//[^\n]*", "", text)
        found += [each for each in [complaint(row, text)] if each]
    print("\n".join(found) or f"{len(rows)} signatures")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
