"""Verdicts of bf-aot verify on the competitions' properties.

    BF_AOT=.. BF_SOURCE_DIR=.. python3 verdicts_test.py [FAMILY ..]

Compares with expected.csv of the shared corpus ($BF_SHARED, or ../shared beside the source): no
verdict may contradict one that is known there, and of each family at least as many as below must be
decided. Prints what was decided. Exit code 0 and "skipped: ..." without the corpus.
"""

import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

BF_AOT = os.environ["BF_AOT"]
SOURCE = pathlib.Path(os.environ["BF_SOURCE_DIR"])
CORPUS = pathlib.Path(os.environ.get("BF_SHARED", SOURCE / ".." / "shared")) / "corpus"

# Family -> verdicts that bounds, splitting and search reach; they are limited by time, so a few less count.
DECIDED = {"test": 5, "rl_benchmarks": 46, "reach_prob_density": 11, "tllverifybench": 2, "acasxu": 2,
           "mnist_fc": 14, "oval21_2021": 5, "cifar10_resnet": 9, "verivital": 20}
# Of families that take long to compile one instance that is violated and one that holds, both decided
# by splitting.
ONLY = {"acasxu": ("run2a_1_5_batch_2000.onnx,vnnlib/prop_2", "run2a_5_1_batch_2000.onnx,vnnlib/prop_3"),
        "tllverifybench": ("instance_0_1.onnx", "instance_0_2.onnx")}
EXPECTED = {"unsat": "verified", "sat": "falsified"}
SEARCH = "2"
BRANCH = "5"


def existing(path):
    return path if path.exists() else path.with_name(path.name + ".gz")


def verdict(row, folder, environment):
    command = [BF_AOT, "verify", existing(folder / row["onnx"]), existing(folder / row["vnnlib"]),
               "--json", "--branch", BRANCH, "--search", SEARCH, "--timeout", "120"]
    process = subprocess.run(list(map(str, command)), env=environment, capture_output=True,
                             text=True)
    if not process.stdout:
        return f"error: {process.stderr.strip()}"
    return json.loads(process.stdout)["verdict"]


def check_family(family, environment):
    """Lines about what is wrong."""
    folder = CORPUS / family
    decided = 0
    with open(folder / "expected.csv", newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file)
                if any(part in f"{row['onnx']},{row['vnnlib']}" for part in ONLY.get(family, ("",)))]
    for row in rows:
        found = verdict(row, folder, environment)
        known = EXPECTED.get(row["verdict"])
        name = f"{family} {row['onnx']} {row['vnnlib']}"
        if found not in ("verified", "falsified", "unknown", "timeout"):
            yield f"{name}: {found}"
        elif found in EXPECTED.values() and known is not None and found != known:
            yield f"{name}: {found}, but {row['verdict']} is known ({row['basis']})"
        decided += found in EXPECTED.values()
    print(f"{family}: {decided} of {len(rows)} decided", flush=True)
    if decided < DECIDED.get(family, 0):
        yield f"{family}: {decided} decided, at least {DECIDED[family]} expected"


def main():
    if not CORPUS.exists():
        print("skipped: no corpus: set BF_SHARED to the folder that holds corpus/")
        return 0
    problems = []
    with tempfile.TemporaryDirectory() as cache:
        environment = dict(os.environ, XDG_CACHE_HOME=cache)
        for family in sys.argv[1:] or DECIDED:
            problems += check_family(family, environment)
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
