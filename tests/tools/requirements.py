#!/usr/bin/env python3
"""The requirements of docs/reference/requirements.json: their page, and their traces to tests.

    requirements.py SOURCE              prints them as a page
    requirements.py SOURCE BUILD        checks that each trace leads to a test of the build

A trace is an expression that a test's name begins with. qualification.py makes a table of how the tests ended.
"""

import json
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

HEAD = """# Requirements

What bf-aot and the verifiers that it writes are required to do, by number. `requirements.json` is the source of this
page and has each requirement's traces to tests; `verification.md` says how these ended.
"""


def requirements(source):
    """Pairs of number and requirement, and the titles of groups."""
    groups = json.loads((source / "docs/reference/requirements.json").read_text())["groups"]
    for group in groups:
        yield None, group["title"]
        for number, each in enumerate(group["requirements"], 1):
            yield f"{group['prefix']}{number}", each


def page(source):
    text = HEAD
    for number, each in requirements(source):
        if number is None:
            text += f"\n## {each}\n\n| no. | requirement |\n|---|---|\n"
        else:
            text += f"| {number} | {each['text']} |\n"
    return text


def traced(source, names):
    """For each requirement and each of its traces: the names that it leads to."""
    for number, each in requirements(source):
        if number is not None:
            yield number, each, [(trace, [name for name in names if re.match(trace, name)]) for trace in each["traces"]]


def problems(source, names):
    seen = set()
    for number, each, traces in traced(source, names):
        if not re.fullmatch(r"[A-Z].* shall .*\.", each["text"]):
            yield f"{number}: no sentence with 'shall'"
        if each["text"] in seen:
            yield f"{number}: said before"
        seen.add(each["text"])
        if not traces:
            yield f"{number}: no trace"
        for trace, found in traces:
            if not found:
                yield f"{number}: no test begins with {trace}"


def tests_of(build):
    text = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True, stdout=subprocess.PIPE,
                          text=True).stdout
    return [test["name"] for test in json.loads(text)["tests"]]


def self_test(source, names):
    """What a check that cannot fail would not notice."""
    without = [name for name in names if not name.startswith("Guard")]
    lost = [problem for problem in problems(source, without) if "Guard" in problem]
    return [] if lost else ["a requirement without its tests is not noticed"]


def check(source, build):
    names = tests_of(build)
    unbuilt = [name for name in names if name.endswith("_NOT_BUILT")]
    if unbuilt:
        print(f"skipped: {len(unbuilt)} programs of tests are not built, {unbuilt[0]}")
        return 77
    found = [*problems(source, names), *self_test(source, names)]
    print("\n".join(found) or "passed")
    return 1 if found else 0


def outcomes(junit):
    """passed, failed or skipped, by the test's name."""
    ended = {}
    for case in xml.etree.ElementTree.parse(junit).getroot().iter("testcase"):
        kind = "failed" if case.find("failure") is not None else "passed"
        ended[case.get("name")] = "skipped" if case.find("skipped") is not None else kind
    return ended


def results(source, ended):
    """A table of each requirement's tests and how they ended, and the requirements of which a test failed, or none
    passed."""
    text = "| no. | requirement | tests | passed | failed | skipped, or not run |\n|---|---|---|---|---|---|\n"
    open_ones = []
    for number, each, traces in traced(source, ended):
        kinds = [ended[name] for name in {name for _, found in traces for name in found}]
        passed, failed = kinds.count("passed"), kinds.count("failed")
        missing = "".join(f"; none of `{trace}`" for trace, found in traces if not found)
        text += (f"| {number} | {each['text']} | `{'`, `'.join(each['traces'])}` | {passed} | {failed} | "
                 f"{kinds.count('skipped')}{missing} |\n")
        if failed or not passed:
            open_ones.append(number)
    return text, open_ones


def main():
    source = pathlib.Path(sys.argv[1])
    if len(sys.argv) == 3:
        return check(source, sys.argv[2])
    print(page(source), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
