#!/usr/bin/env python3
"""Runs a generated verifier on an emulated microcontroller and reports bounds and memory.

Compiles DIR/verifier.cpp (and assembler files beside it) with the harness, or links DIR's library,
runs it under QEMU on the boxes of a JSON file, and prints JSON:

  outputs           per box: lower, upper (numbers) and lower_bits, upper_bits (hexadecimal);
                    with --evaluate also value, value_bits at the box's lower corner
  text_bytes        code of the verifier that the entry point needs
  constant_bytes    weights and other constants that it needs
  library_bytes     what it makes the linker take from libgcc (software floating point)
  workspace_bytes, data_bytes, ram_bytes   workspace, static data, and their sum
  stack_bytes       most stack below the caller, over the boxes
  instructions      most instructions of one call, over the boxes (about +-3)

The harness also checks the interface: bad arguments, bad boxes, changed rounding modes and writes
outside the workspace. Boxes: {"lower", "upper"}, a list of such, or {"boxes": [...]}; numbers are
read as doubles and rounded outward to float32. Exit code 1: failed; 77: a tool is missing.
"""

import argparse
import json
import math
import pathlib
import re
import struct
import sys
import tempfile

import machine


def float_bits(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def float_of(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def next_float(value, sign):
    """The neighbour of a finite float32 above (sign 1) or below (sign -1)."""
    if value == 0:
        return sign * float_of(1)
    bits = float_bits(value) + (1 if (value > 0) == (sign > 0) else -1)
    return float_of(bits)


def outward(value, sign):
    """The float32 nearest to a double among those not below (sign 1) or not above it (-1)."""
    value = float(value)
    largest = float_of(0x7F7FFFFF)
    if not math.isfinite(value) or abs(value) > largest:
        raise machine.Failure(f"a box reaches {value}: boxes must be finite in float32")
    nearest = float_of(float_bits(value))
    return nearest if sign * nearest >= sign * value else next_float(nearest, sign)


def read_boxes(path, limit):
    data = json.loads(pathlib.Path(path).read_text())
    boxes = data if isinstance(data, list) else data.get("boxes", [data])
    if not boxes:
        raise machine.Failure(f"{path}: no boxes")
    return [([outward(x, -1) for x in box["lower"]], [outward(x, 1) for x in box["upper"]])
            for box in boxes[:limit]]


def boxes_header(boxes):
    def table(name, side):
        rows = ["    {" + ", ".join(x.hex() + "f" for x in box[side]) + "},\n" for box in boxes]
        size = f"[{len(boxes)}][{len(boxes[0][side])}]"
        return f"constexpr float {name}{size} = {{\n{''.join(rows)}}};\n"

    return ("#pragma once\n\n#include <stddef.h>\n\n"
            f"constexpr size_t kBoxCount = {len(boxes)};\n"
            + table("kLower", 0) + table("kUpper", 1))


def verifier_name(header):
    names = re.findall(r"\b(\w+)_bounds\s*\(", header.read_text())
    if not names:
        raise machine.Failure(f"{header} declares no ..._bounds function")
    return names[0]


def parse(lines):
    """Groups the harness's lines by box."""
    boxes, workspace = [], 0
    for line in lines:
        word, *values = line.split()
        if word == "workspace":
            workspace = int(values[0], 16)
        elif word == "box":
            boxes.append({})
        elif word in ("lower", "upper", "value"):
            boxes[-1][word] = [float_of(int(bits, 16)) for bits in values]
            boxes[-1][word + "_bits"] = values
        elif word in ("stack", "instructions"):
            boxes[-1][word] = int(values[0], 16)
    return boxes, workspace


def has_integers_alone(source):
    """Whether the verifier is of --arithmetic integer: no mode of floating point matters."""
    return "bf/integer/" in (source / "verifier.cpp").read_text()


def build(target, options, name, source):
    """Compiles and links; returns the program and the verifier's files in it."""
    header = source / "verifier.h"
    flags = [f"-I{source}", *options.flag]
    if options.library:
        verifier = [pathlib.Path(options.library).resolve()]
    else:
        sources = [source / "verifier.cpp", *sorted(source.glob("*.S")), *sorted(source.glob("*.s"))]
        verifier = [target.compile(path, [options.optimize, *flags]) for path in sources]
    rows = "_SPEC_ROWS" if options.entry == "spec_bounds" else "_OUTPUTS"
    harness = target.compile(machine.HERE / "harness.cpp", [
        "-Os", *flags, f'-DVERIFIER_HEADER="{header}"', f"-DVERIFIER={name}",
        f"-DVERIFIER_UPPER={name.upper()}", f"-DVERIFIER_ENTRY=_{options.entry}",
        f"-DVERIFIER_ROWS={rows}", *(["-DEVALUATE"] if options.evaluate else []),
        *(["-DANY_FLOAT_MODE"] if has_integers_alone(source) else [])])
    return target.link([*target.compile_port(), harness, *verifier]), verifier


def measure(options, folder):
    target = machine.Machine(options.cpu, folder, options.cxx)
    source = pathlib.Path(options.verifier_dir).resolve()
    name = options.name or verifier_name(source / "verifier.h")
    boxes = read_boxes(options.boxes, options.limit)
    (target.folder / "test_boxes.h").write_text(boxes_header(boxes))
    program, verifier = build(target, options, name, source)
    outputs, workspace = parse(target.run(program, options.timeout))
    if len(outputs) != len(boxes):
        raise machine.Failure(f"{len(boxes)} boxes, but {len(outputs)} results")

    sizes = target.linked_bytes(verifier)
    stack = max(box.pop("stack") for box in outputs)
    instructions = max(box.pop("instructions") for box in outputs)
    return {"name": name, "cpu": options.cpu, "flags": [options.optimize, *options.flag],
            "text_bytes": sizes["code"], "constant_bytes": sizes["constants"],
            "library_bytes": sizes["libgcc"], "workspace_bytes": workspace,
            "data_bytes": sizes["data"], "ram_bytes": workspace + sizes["data"],
            "stack_bytes": stack, "instructions": instructions, "outputs": outputs}


def parse_options(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verifier-dir", required=True, help="holds verifier.cpp and verifier.h")
    parser.add_argument("--cpu", required=True, choices=sorted(machine.CPUS))
    parser.add_argument("--boxes", required=True, help="JSON file")
    parser.add_argument("--limit", type=int, help="use only the first boxes")
    parser.add_argument("--name", help="the symbols' prefix, if not the header's first")
    parser.add_argument("--entry", default="bounds",
                        choices=["bounds", "spec_bounds", "bounds_kept", "bounds_verdict"])
    parser.add_argument("--evaluate", action="store_true", help="also call NAME_evaluate")
    parser.add_argument("--library", help="link this archive instead of compiling verifier.cpp")
    parser.add_argument("--optimize", default="-Os", help="for the verifier; default -Os")
    parser.add_argument("--flag", action="append", default=[], help="another flag for it")
    parser.add_argument("--cxx", help="another compiler than the CPU's usual one")
    parser.add_argument("--timeout", type=float, default=60, help="seconds for the run")
    parser.add_argument("--output", help="file for the JSON, if not standard output")
    options = parser.parse_args(arguments)
    if options.evaluate and options.entry != "bounds":
        parser.error("--evaluate prints as many values as outputs: it needs --entry bounds")
    return options


def main(arguments):
    options = parse_options(arguments)
    try:
        with tempfile.TemporaryDirectory() as folder:
            text = json.dumps(measure(options, folder), indent=1)
    except machine.Unavailable as missing:
        print(f"skipped: {missing}")
        return machine.SKIP
    except machine.Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    if options.output:
        pathlib.Path(options.output).write_text(text + "\n")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
