#!/usr/bin/env python3
"""Runs a monitor of `bf-aot reach -o` on a microcontroller under QEMU, and on this machine.

monitor_test.py --bf-aot PROGRAM --cpu CPU: the same source gives the same ranges to the bit where
products are not fused, and proves the same periods where they may be. Prints sizes, the most
instructions of a call and its stack, as JSON. Exit code 1: failed; 77: a tool is missing.
"""

import argparse
import json
import pathlib
import struct
import sys
import tempfile

import machine

QUESTION = machine.ROOT / "models" / "examples" / "loops" / "monitor.json"
BOXES = [([0.2, -0.2], [0.4, 0.2]), ([0.25, 0.0], [0.26, 0.01]), ([-0.1, 0.1], [0.1, 0.1]),
         ([0.45, 0.5], [0.48, 0.6]), ([0.0, 0.0], [0.0, 0.0])]
MOST_WORKSPACE = 64 << 10


def states_header():
    def table(name, side):
        rows = ["    {" + ", ".join(float(x).hex() for x in box[side]) + "},\n" for box in BOXES]
        return f"constexpr double {name}[{len(BOXES)}][2] = {{\n{''.join(rows)}}};\n"

    return ("#pragma once\n\n#include <stddef.h>\n\n"
            f"constexpr size_t kBoxCount = {len(BOXES)};\n" + table("kLower", 0) + table("kUpper", 1))


def parse(lines):
    boxes = []
    for line in lines[:-1]:
        word, *values = line.split()
        if word == "box":
            boxes.append({})
        elif word in ("lower", "upper"):
            boxes[-1][word] = [struct.unpack("<d", struct.pack("<Q", int(x, 16)))[0] for x in values]
        else:
            boxes[-1][word] = int(values[0], 16)
    return boxes


def measure(cpu, source, work, flags):
    folder = pathlib.Path(tempfile.mkdtemp(dir=work))
    target = machine.Machine(cpu, folder)
    (folder / "test_states.h").write_text(states_header())
    include = [f"-I{source}", *flags]
    monitor = [target.compile(path, ["-O2", *include]) for path in sorted(source.glob("*.cpp"))]
    harness = target.compile(machine.HERE / "monitor_harness.cpp", [
        "-Os", *include])
    boxes = parse(target.run(target.link([*target.compile_port(), harness, *monitor]), 120))
    return boxes, target.linked_bytes(monitor)


def verdicts(boxes):
    return [(box["safe"], box["open"]) for box in boxes]


def check(condition, what):
    if not condition:
        raise machine.Failure(what)


def test(options, work):
    source = work / "source"
    source.mkdir()
    target = options.cpu if options.cpu != "host" else "generic"
    text = machine.run([options.bf_aot, "reach", QUESTION, "-o", source / "monitor.cpp", "--target",
                        target, *options.rest])
    workspace = int(text.split("workspace")[1].split()[0])
    most = int(text.split("at most")[1].split()[0])
    host, _ = measure("host", source, work, ["-ffp-contract=off"])
    check({box["safe"] for box in host} >= {0, 20}, f"the boxes are all alike: {verdicts(host)}")
    exact, _ = measure(options.cpu, source, work, ["-ffp-contract=off"])
    for here, there in zip(host, exact):
        for side in ("safe", "open", "lower", "upper"):
            check(here[side] == there[side], f"{side}: {here[side]} here, {there[side]} there")
    boxes, sizes = measure(options.cpu, source, work, [])
    check(verdicts(boxes) == verdicts(host), f"{verdicts(boxes)} where products may be fused")
    check(workspace <= MOST_WORKSPACE, f"the workspace takes {workspace} bytes")
    return {"cpu": options.cpu, "workspace_bytes": workspace, "code_bytes": sizes["code"],
            "constant_bytes": sizes["constants"], "library_bytes": sizes["libgcc"],
            "stack_bytes": max(box["stack"] for box in boxes),
            "instructions": max(box["instructions"] for box in boxes), "stated": most}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bf-aot", required=True)
    parser.add_argument("--cpu", required=True, choices=sorted(machine.CPUS))
    parser.add_argument("rest", nargs="*", help="further options of bf-aot reach")
    options = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(test(options, pathlib.Path(folder)), indent=1))
    except machine.Unavailable as missing:
        print(f"skipped: {missing}")
        return machine.SKIP
    except machine.Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
