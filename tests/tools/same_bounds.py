#!/usr/bin/env python3
"""Keeps the bounds that one build of bf-aot gives, and compares another build's with them, bit by bit.

    same_bounds.py keep BF_AOT KEPT.json      before a change
    same_bounds.py compare BF_AOT KEPT.json   after it

Every golden file of models/ and of $BF_SHARED (or ../shared beside the source, where it is there), every method,
on a golden file's first box (of models/ on the last one, too), with the rows of its specification. The code of the verifiers is not
optimised: products are then not fused, whatever the compiler makes of the text, so that different bits mean
different arithmetic. Exit code 1: some bounds differ, or one build refuses what the other does not.
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("BF_SHARED", SOURCE / ".." / "shared")).resolve()
METHODS = ["ibp", "crown-ibp", "crown", "alpha-crown", "forward"]
# Left out for time: their unoptimised code takes minutes.
TOO_LONG = {("cifar10_resnet_2b", "alpha-crown"), ("verivital_maxpool", "alpha-crown"),
            ("verivital_avgpool", "alpha-crown"), ("oval21_base", "alpha-crown"),
            ("mnistfc_256x4", "alpha-crown"), ("eran_sigmoid_6x200", "alpha-crown")}


def network_of(path, golden):
    """The model of a golden file, or None where it is not here."""
    if path.is_relative_to(SOURCE):
        return SOURCE / golden["source"]
    name = golden["source"].split(" ")[0].rsplit("/", 1)[-1].removesuffix(".gz")
    for folder in (SHARED / "golden" / "nets", SHARED / "corpus"):
        for found in sorted(folder.rglob(name + "*")):
            if found.name in (name, name + ".gz"):
                return found
    return None


def cases():
    for path in [*sorted((SOURCE / "models" / "golden").glob("*.json")),
                 *sorted((SHARED / "golden").glob("*.json"))]:
        golden = json.loads(path.read_text(encoding="utf-8"))
        model = network_of(path, golden)
        if model is None:
            print(f"{path.stem}: skipped, its network is not here")
            continue
        for method in METHODS:
            if (path.stem, method) in TOO_LONG:
                continue
            last = len(golden["boxes"]) - 1 if path.is_relative_to(SOURCE) else 0
            for index in sorted({0, last}):
                yield f"{path.stem} {method} {index}", model, path, golden["boxes"][index], method, index


def bounds_of(program, cache, case):
    name, model, path, box, method, index = case
    with tempfile.TemporaryDirectory() as folder:
        spec = pathlib.Path(folder, "spec.json")
        spec.write_text(json.dumps({"C": box["C"]}), encoding="utf-8")
        done = subprocess.run(
            [program, "run", model, "--box", path, "--index", str(index), "--method", method,
             "--spec", spec, "--repeat", "1", "--json", "--lowering", "vector", "--cxx-flags=-O0"],
            capture_output=True, text=True, check=False, env=dict(os.environ, XDG_CACHE_HOME=cache))
    if done.returncode != 0:
        return name, {"refused": done.returncode}
    result = json.loads(done.stdout)
    return name, {key: value for key, value in result.items()
                  if key not in ("seconds", "compile_seconds", "arena_bytes", "weights_bytes")}


def all_bounds(program):
    with tempfile.TemporaryDirectory() as cache, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        return dict(workers.map(lambda case: bounds_of(program, cache, case), cases()))


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ("keep", "compare"):
        print(__doc__, file=sys.stderr)
        return 2
    found = all_bounds(os.path.abspath(sys.argv[2]))
    kept = pathlib.Path(sys.argv[3])
    if sys.argv[1] == "keep":
        kept.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        print(f"{len(found)} cases, {sum('refused' in case for case in found.values())} refused")
        return 0
    before = json.loads(kept.read_text(encoding="utf-8"))
    different = [name for name in sorted(before.keys() | found.keys())
                 if before.get(name) != found.get(name)]
    print("\n".join(f"{name}: differs" for name in different))
    print(f"{len(before)} cases, {len(different)} differ")
    return 1 if different or not before else 0


if __name__ == "__main__":
    sys.exit(main())
