#!/usr/bin/env python3
"""Measures how long verifiers take to decide properties by splitting boxes.

    python3 bench/decide_report.py [--bf-aot PROGRAM] [--branch 600] [--only TEXT] [--most-total 10]
        [--most-median 0.003] [--out FILE.json] FOLDER

FOLDER is laid out as the verification competitions do: instances.csv with a network, a property and a
timeout in each line, and where there is one expected.csv with columns onnx, vnnlib, verdict (sat, unsat).
Every instance is decided by `bf-aot verify`, one after the other on one core. Prints boxes, points and
seconds of those that take longest, and total and median of all; compilation, whose result is kept in
the cache of `bf-aot run`, does not count. Exit code 1 where an instance fails, stays open, differs from what is
expected, or the total or the median is above its limit.
"""

import argparse
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys

WORDS = {"sat": "falsified", "unsat": "verified"}


def instances(folder):
    with open(folder / "instances.csv", encoding="utf-8", newline="") as file:
        return [(row[0].removeprefix("./"), row[1].removeprefix("./"))
                for row in csv.reader(file) if row]


def expectations(folder):
    path = folder / "expected.csv"
    if not path.exists():
        return {}
    with open(path, encoding="utf-8", newline="") as file:
        return {(row["onnx"], row["vnnlib"]): WORDS.get(row["verdict"])
                for row in csv.DictReader(file)}


def existing(path):
    return path if path.exists() else path.with_name(path.name + ".gz")


def decide(arguments, network, prop):
    command = [arguments.bf_aot, "verify", existing(arguments.folder / network),
               existing(arguments.folder / prop), "--json", "--search", "0",
               "--branch", str(arguments.branch)]
    done = subprocess.run(command, capture_output=True, text=True)
    row = {"network": pathlib.Path(network).name, "property": pathlib.Path(prop).name}
    answer = json.loads(done.stdout) if done.stdout.startswith("{") else {}
    if "verdict" not in answer:  # errors are an object, too
        return {**row, "verdict": "failed", "error": (done.stderr or "no output").splitlines()[0]}
    return {**row, **answer, **row}


def seconds_of(row):
    """The seconds of deciding, without compiling, reading and checking the network."""
    return row.get("decide_seconds", 0.0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--bf-aot", default="bf-aot")
    parser.add_argument("--branch", type=float, default=600)
    parser.add_argument("--only", default="", help="instances whose line contains this text")
    parser.add_argument("--most-total", type=float, default=float("inf"))
    parser.add_argument("--most-median", type=float, default=float("inf"))
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):  # compilers and verifiers alike
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

    expected = expectations(arguments.folder)
    rows, faults = [], []
    for network, prop in instances(arguments.folder):
        if arguments.only not in f"{network},{prop}":
            continue
        row = decide(arguments, network, prop)
        rows.append(row)
        name = f"{row['network']}, {row['property']}"
        if row["verdict"] not in WORDS.values():
            faults.append(f"{name}: {row['verdict']} {row.get('error', '')}".rstrip())
        elif expected.get((network, prop)) not in (None, row["verdict"]):
            faults.append(f"{name}: {row['verdict']}, but {expected[(network, prop)]} is expected")
    if not rows:
        print("no instances", file=sys.stderr)
        return 1

    rows.sort(key=seconds_of, reverse=True)
    print("| network | property | verdict | boxes | points | ms |\n|---|---|---|---|---|---|")
    for row in rows[:12]:
        print(f"| {row['network']} | {row['property']} | {row['verdict']} | {row.get('boxes', 0):,} | "
              f"{row.get('points', 0):,} | {1e3 * seconds_of(row):.1f} |")
    times = [seconds_of(row) for row in rows]
    total, median = sum(times), statistics.median(times)
    decided = sum(row["verdict"] in WORDS.values() for row in rows)
    print(f"\n{decided} of {len(rows)} decided in {total:.2f} s; median {1e3 * median:.2f} ms; without the "
          f"longest {total - max(times):.2f} s; {sum(row.get('boxes', 0) for row in rows):,} boxes")
    if total > arguments.most_total:
        faults.append(f"{total:.2f} s in all, more than {arguments.most_total:g}")
    if median > arguments.most_median:
        faults.append(f"a median of {1e3 * median:.2f} ms, more than {1e3 * arguments.most_median:g}")
    for fault in faults:
        print(f"error: {fault}")
    if arguments.out:
        arguments.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
