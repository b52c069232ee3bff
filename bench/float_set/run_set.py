#!/usr/bin/env python3
"""run_set.py BF_AOT FOLDER [--timeout S] [--every N]: decides the set of make_set.py, which is made
first where the folder has none, with --semantics float32, checks every verdict by evaluations in float32, in random orders, and prints a table. Exit
code 1 when a verdict is wrong, or fewer than nine of ten safe instances are proven."""

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import time

try:
    import numpy as np
except ImportError:
    print("skipped: needs the Python package numpy")
    sys.exit(77)

import make_set

POINTS = 500


def violates(instance, y):
    """[points]: whether each y violates, in double, which is exact enough for rows of few floats."""
    y = y.astype(np.float64)
    found = np.zeros(len(y), bool)
    for clause in instance["clauses"]:
        holds = np.ones(len(y), bool)
        for row, limit in clause:
            holds &= y @ np.array(row) <= limit
        found |= holds
    return found


def is_wrong(network, instance, answer, rng):
    low, high = np.array(instance["lower"]), np.array(instance["upper"])
    if answer["verdict"] == "falsified":
        x = np.array([[float(v) for v in answer["counterexample"]["x"]]], np.float32)
        if np.any(x < low) or np.any(x > high):
            return True
        return not all(violates(instance, network.evaluate(x, rng))[0] for _ in range(20))
    if answer["verdict"] != "verified":
        return False
    x = low + (high - low) * rng.random((POINTS, len(low)))
    x[::2] = low + (high - low) * np.round(rng.random((len(x[::2]), len(low))))
    x = np.clip(x.astype(np.float32), low, high)
    x = x[np.all((x >= low) & (x <= high), axis=1)]
    return any(bool(np.any(violates(instance, network.evaluate(x, order))))
               for order in (None, rng, rng))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bf_aot")
    parser.add_argument("folder")
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--every", type=int, default=1, help="decide one in so many instances")
    arguments = parser.parse_args()
    folder = pathlib.Path(arguments.folder)
    made = (folder / "set.json").exists()
    networks = make_set.Set(None if made else folder).networks
    instances = json.loads((folder / "set.json").read_text())[::arguments.every]
    rows = collections.defaultdict(collections.Counter)
    rng = np.random.default_rng(1)
    for instance in instances:
        start = time.monotonic()
        process = subprocess.run(
            [arguments.bf_aot, "verify", folder / instance["model"], folder / instance["property"],
             "--semantics", "float32", "--timeout", str(arguments.timeout), "--json"],
            capture_output=True, text=True, timeout=arguments.timeout + 60, check=False)
        seconds = time.monotonic() - start
        try:
            answer = json.loads(process.stdout)
        except json.JSONDecodeError:
            print(instance["property"], process.stderr, file=sys.stderr)
            answer = {"verdict": "refused"}
        verdict = answer.get("verdict", "refused")  # errors are an object, too
        network = networks[instance["model"]]
        expected = "unsafe" if verdict == "falsified" else instance["expected"]
        row = rows[instance["family"]]
        row[expected] += 1
        row[verdict] += 1
        row["wrong"] += is_wrong(network, instance, answer, rng)
        row["wrong"] += verdict == "verified" and instance["expected"] == "unsafe"
        row["seconds"] += seconds
        row["longest"] = max(row["longest"], seconds)
        if verdict not in ("verified", "falsified"):
            print(f"{instance['property']}: {verdict}, expected {expected}", file=sys.stderr)
    total = collections.Counter()
    print("| family | safe | proven | unsafe | found | wrong | seconds | longest |")
    print("|---|---|---|---|---|---|---|---|")
    for family, row in [*rows.items(), ("all", None)]:
        row = total if row is None else row
        if row is not total:
            longest = max(total["longest"], row["longest"])
            total.update(row)
            total["longest"] = longest
        print(f"| {family} | {row['safe']} | {row['verified']} | {row['unsafe']} | "
              f"{row['falsified']} | {row['wrong']} | {row['seconds']:.1f} | {row['longest']:.1f} |")
    proven = total["verified"] >= 0.9 * total["safe"]
    return 0 if proven and total["wrong"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
