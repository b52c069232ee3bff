#!/usr/bin/env python3
"""Names the questions of the corpus that verify leaves open, and what held them out.

    python3 bench/open_questions.py [--bf-aot PROGRAM] [--shared FOLDER] [--timeout 10] [--jobs 1]
        [--out FILE.json] [FAMILY ...]

Each line of a family's instances.csv is decided by `bf-aot verify`, one after the other, with --timeout
seconds. Prints a Markdown table of the families: how many questions there are, how many other tools
decided, how many were decided here and how many of those are not as expected (exit code 1 where any is not),
and one of the open ones: what verify says of why each is open. Expected answers are those of
expected.csv; a question that no tool decided has none.
"""

import argparse
import csv
import json
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[1]
FAMILIES = ("mnist_fc", "oval21", "oval21_2021", "cifar10_resnet", "eran", "sri_resnet", "sri_resnet_a", "sri_resnet_b",
            "marabou-cifar10")
WORDS = {"sat": "falsified", "unsat": "verified"}


def existing(path):
    return path if path.exists() else path.with_name(path.name + ".gz")


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.reader(file) if row]


def expectations(folder):
    path = folder / "expected.csv"
    if not path.exists():
        return {}
    head, *rows = rows_of(path)
    at = {name: head.index(name) for name in ("onnx", "vnnlib", "verdict")}
    return {(row[at["onnx"]], row[at["vnnlib"]]): WORDS.get(row[at["verdict"]]) for row in rows}


def decide(arguments, folder, network, prop):
    """The object that verify prints, with the names of the question."""
    command = [arguments.bf_aot, "verify", existing(folder / network), existing(folder / prop), "--json",
               "--timeout", str(arguments.timeout), "--jobs", str(arguments.jobs)]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    answer = json.loads(done.stdout) if done.stdout.startswith("{") else {}
    if "verdict" not in answer:
        answer = {"verdict": "failed", "error": (done.stderr or "no output").splitlines()[0]}
    return {**answer, "family": folder.name, "network": pathlib.Path(network).name,
            "property": pathlib.Path(prop).name}


def held_out(row):
    """What verify says of the part that lacks most, in a line."""
    why = row.get("unknown") or {}
    text = []
    if "case" in why:
        text.append(f"case {why['case']}, clause {why['clause']}")
    if why.get("lacks") is not None:
        text.append(f"lacks {why['lacks']:.3g}")
    if why.get("neuron"):
        text.append(f"neuron {why['neuron']['index']} of {why['neuron']['layer']}")
    return "; ".join(text) or row.get("error", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("families", nargs="*", metavar="FAMILY")
    parser.add_argument("--bf-aot", default=SOURCE / "build" / "release" / "aot" / "bf-aot")
    parser.add_argument("--shared", type=pathlib.Path, default=SOURCE / ".." / "shared")
    parser.add_argument("--timeout", type=float, default=10)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    rows, wrong = [], 0
    print("| family | questions | others decided | decided here | only here | wrong |\n|---|---|---|---|---|---|")
    for family in arguments.families or FAMILIES:
        folder = arguments.shared.resolve() / "corpus" / family
        if not (folder / "instances.csv").exists():
            continue
        expected, own = expectations(folder), []
        for network, prop in (row[:2] for row in rows_of(folder / "instances.csv")):
            row = decide(arguments, folder, network.removeprefix("./"), prop.removeprefix("./"))
            row["expected"] = expected.get((network.removeprefix("./"), prop.removeprefix("./")))
            row["decided"] = row["verdict"] in WORDS.values()
            own.append(row)
        bad = [row for row in own if row["decided"] and row["expected"] not in (None, row["verdict"])]
        print(f"| {family} | {len(own)} | {sum(row['expected'] is not None for row in own)} | "
              f"{sum(row['decided'] for row in own)} | "
              f"{sum(row['decided'] and row['expected'] is None for row in own)} | {len(bad)} |", flush=True)
        rows, wrong = rows + own, wrong + len(bad)
        if arguments.out:
            arguments.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    if not rows:
        print("no instances", file=sys.stderr)
        return 1
    print("\n| network | property | expected | nodes | why open |\n|---|---|---|---|---|")
    for row in rows:
        if not row["decided"]:
            print(f"| {row['network']} | {row['property']} | {row['expected'] or 'not known'} | "
                  f"{row.get('neuron_nodes', 0) + row.get('boxes', 0):,} | {held_out(row)} |")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
