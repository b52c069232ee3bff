"""Helpers of the peers. Peers are called as COMMAND MODEL BOX.json METHOD SECONDS, print one JSON
object {"name", "seconds": [seconds of each call, ..], "lower", "upper"}, and end with 77 and a
reason when they cannot run here. One thread, after three calls that are not measured."""

import json
import os
import sys
import time

for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

SKIPPED = 77
WARM_UP = 3
LEAST_CALLS = 5


def skip(reason):
    print(reason, file=sys.stderr)
    sys.exit(SKIPPED)


def question():
    """(model, lower, upper, method, seconds) as asked on the command line."""
    if len(sys.argv) != 5:
        sys.exit(f"usage: {sys.argv[0]} MODEL BOX.json METHOD SECONDS")
    model, box, method, seconds = sys.argv[1:]
    with open(box, encoding="utf-8") as file:
        values = json.load(file)
    return model, values["lower"], values["upper"], method, float(seconds)


def answer(name, call, seconds, bounds=None):
    """Times `call`, and prints what is found; `bounds`: from what it returns, (lower, upper)."""
    result = None
    for _ in range(WARM_UP):
        result = call()
    samples = []
    while len(samples) < LEAST_CALLS or sum(samples) < seconds:
        start = time.perf_counter()
        call()
        samples.append(time.perf_counter() - start)
    found = {"name": name, "seconds": samples}
    if bounds is not None:
        found["lower"], found["upper"] = bounds(result)
    print(json.dumps(found))
