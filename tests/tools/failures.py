"""Prints the last lines of each test that failed: failures.py RESULTS, the JUnit file that ctest wrote.

A log of thousands of tests is read at its end, where ctest's summary names the tests alone.
"""
import sys
import xml.etree.ElementTree

LINES = 30


def failures(path):
    """(name, last lines) of each test that failed."""
    found = []
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        if case.get("status") == "fail":
            output = case.findtext("system-out") or ""
            found.append((case.get("name"), output.strip().splitlines()[-LINES:]))
    return found


def main():
    for name, lines in failures(sys.argv[1]):
        print(f"-- {name}")
        print(*lines, sep="\n")


if __name__ == "__main__":
    main()
