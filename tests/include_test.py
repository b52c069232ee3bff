"""Holds which share of the source files a header reaches: include_test.py SOURCE_FOLDER [--list HEADER].

What a widely included header costs is compile time after each edit. A limit that is passed asks for a header of
declarations (`plan_fwd.h`), not for a larger limit. --list: the headers that hand HEADER on to most source files.
"""

import pathlib
import re
import sys

FOLDERS = ("onnx_schema", "frontend", "planner", "aot", "runtime", "tests", "bench")
# Header -> the largest share of all source files that it may reach, in percent.
LIMITS = {
    "planner/plan/plan.h": 36.4,
    "frontend/functions/function.h": 63.5,
    "nlohmann/json.hpp": 8.2,
    "CLI/CLI.hpp": 0.2,
}
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)


def includes_of(root):
    """File -> what it includes; a system header stays by its name."""
    found = {}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cpp"):
                found[path.relative_to(root).as_posix()] = INCLUDE.findall(path.read_text(encoding="utf-8"))
    # Routines include each other by their place below runtime/.
    return {name: [f"runtime/{i}" if f"runtime/{i}" in found else i for i in included]
            for name, included in found.items()}


def reached_by(includes, header):
    """All files that include `header`, directly or not."""
    includers = {}
    for name, included in includes.items():
        for target in included:
            includers.setdefault(target, set()).add(name)
    reached, waiting = set(), [header]
    while waiting:
        for name in includers.get(waiting.pop(), ()):
            if name not in reached:
                reached.add(name)
                waiting.append(name)
    return reached


def sources_of(names):
    return [name for name in names if name.endswith(".cpp")]


def self_test():
    """A test that cannot fail is none."""
    includes = {"a.h": [], "b.h": ["a.h"], "c.cpp": ["b.h"], "d.cpp": ["e.h"]}
    assert reached_by(includes, "a.h") == {"b.h", "c.cpp"}
    assert sources_of(reached_by(includes, "e.h")) == ["d.cpp"]


def main():
    self_test()
    includes = includes_of(pathlib.Path(sys.argv[1]))
    total = len(sources_of(includes))
    if len(sys.argv) > 3 and sys.argv[2] == "--list":
        header = sys.argv[3]
        rows = sorted(((len(sources_of(reached_by(includes, name))), name) for name in reached_by(includes, header)
                       if name.endswith(".h")), reverse=True)
        print("\n".join(f"{count:5} {name}{'  directly' if header in includes[name] else ''}" for count, name in rows))
        return 0
    problems = []
    for header, most in LIMITS.items():
        count = len(sources_of(reached_by(includes, header)))
        share = 100 * count / total
        print(f"{header}: {count} of {total} source files, {share:.2f} %, at most {most} %")
        if share > most:
            problems.append(f"{header} reaches {share:.2f} % of the source files, at most {most} %: "
                            "see the head of tests/include_test.py")
        if count == 0:
            problems.append(f"{header} reaches none: has it moved?")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
