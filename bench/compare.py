#!/usr/bin/env python3
"""Compares two files of figures made by report.py --baseline and names what became worse.

  bench/compare.py bench/baseline.json new.json [--tolerance 0.15]

Percentages of a limit are compared on any machine; nanoseconds and seconds only when both files are
of the same processor and compilers. Exit code 1: a regression. The speed against Eigen is not
compared: it moves when Eigen is disturbed.
"""
import argparse
import json
import pathlib
import sys

# Larger is better. Both sides of each were measured in the same minute.
RATIOS = ("peak_percent", "read_percent", "roofline_percent")
# Smaller is better.
TIMES = ("ns_min", "compiler_seconds", "whole_seconds")
# A kernel is compared by the ratio to what bounds it.
KERNEL_RATIO = {"interval": "read_percent", "centre": "read_percent", "backward": "peak_percent",
                "forward": "peak_percent"}


def ratios_of(name):
    if name.startswith(("kernel/", "kernel_avx2/")):
        return (KERNEL_RATIO[name.split("/")[1].split("_")[0]],)
    return RATIOS


def changes(old, new, same_machine):
    """(name, counter, old, new, how much better: 1 is equal) for what both files hold."""
    for name in sorted(old.keys() & new.keys()):
        for counter in ratios_of(name) + (TIMES if same_machine else ()):
            if counter in old[name] and counter in new[name]:
                before, after = old[name][counter], new[name][counter]
                better = after / before if counter in RATIOS else before / after
                yield name, counter, before, after, better


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("--tolerance", type=float, default=0.15,
                        help="relative loss that passes as noise (default: %(default)s)")
    arguments = parser.parse_args()
    old, new = (json.loads(path.read_text()) for path in (arguments.old, arguments.new))
    same = old["machine"] == new["machine"]
    if not same:
        print("another machine or compiler: only ratios are compared")
    missing = sorted(old["figures"].keys() - new["figures"].keys())
    if missing:
        print("not in the new file: " + ", ".join(missing))

    worse = compared = 0
    for name, counter, before, after, better in changes(old["figures"], new["figures"], same):
        compared += 1
        if better < 1 - arguments.tolerance:
            worse += 1
            print(f"worse   {name} {counter}: {before:.4g} -> {after:.4g}")
        elif better > 1 + arguments.tolerance:
            print(f"better  {name} {counter}: {before:.4g} -> {after:.4g}")
    print(f"{compared} figures compared, {worse} worse by more than {arguments.tolerance:.0%}")
    if compared == 0:
        sys.exit("nothing to compare")
    sys.exit(1 if worse else 0)


if __name__ == "__main__":
    main()
