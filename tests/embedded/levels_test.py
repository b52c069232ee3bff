"""The program as it runs on older processors, by QEMU: levels_test.py BF_AOT CPU [--all].

A processor without AVX-512 (Haswell) or AVX (Nehalem) takes other code and other tiles of rows than this machine. Each
method, with each tile of rows, bounds the demo's controller; the bounds have to overlap those of this machine, and to
prove what README says. Exit code 77: skipped.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
NAME = "collision_avoidance_6x50"
MODEL = SOURCE / "models" / f"{NAME}.onnx"
BOX = SOURCE / "models/boxes" / f"{NAME}.json"
SPEC = SOURCE / "models/specs" / f"{NAME}.json"
METHODS = ("ibp", "crown-ibp", "crown", "alpha-crown", "forward", "auto")
TILES = (None, 2, 4, 8, 12, 16, 24, 32, 64)
CPUS = ("Haswell", "Nehalem")


def bounds(command, method, tile):
    options = ["--box", BOX, "--spec", SPEC, "--method", method, "--repeat", "1", "--json"]
    if tile is not None:
        options += ["--row-tile", str(tile)]
    done = subprocess.run([*command, "run", MODEL, *options], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{method}, tile {tile}: exit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bf_aot")
    parser.add_argument("cpu", choices=CPUS)
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    emulator = shutil.which("qemu-x86_64")
    if emulator is None or os.uname().machine != "x86_64":
        print("skipped: no qemu-x86_64")
        sys.exit(77)
    here = [arguments.bf_aot]
    there = [emulator, "-cpu", arguments.cpu, arguments.bf_aot]
    cases = [(method, tile) for method in METHODS for tile in TILES]
    if not arguments.all:
        cases = [("ibp", None), ("crown", 32), ("auto", None)]
    for method, tile in cases:
        made, own = bounds(there, method, tile), bounds(here, method, tile)
        # Two enclosures of the same values overlap.
        for part in ("outputs", "spec"):
            a, b = made[part], own[part]
            apart = [i for i in range(len(b["lower"]))
                     if a["lower"][i] > b["upper"][i] or b["lower"][i] > a["upper"][i]]
            if apart or len(a["lower"]) != len(b["lower"]):
                sys.exit(f"{method}, tile {tile}: bounds of {part} {apart} do not overlap")
        if method == "crown" and not all(each > 0 for each in made["spec"]["lower"]):
            sys.exit(f"tile {tile}: the rows are not proven")
        print(f"{arguments.cpu}: {method}, tile {tile}: holds")


if __name__ == "__main__":
    main()
