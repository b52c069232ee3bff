#!/usr/bin/env python3
"""Values of NAME_evaluate on a microcontroller lie within bounds of semantics float32.

points_test.py --bf-aot PROGRAM --cpu CPU [--points N]: networks with functions, narrow boxes and wide ones, N points of
each, corners among them, under QEMU. Exit code 1: failed; 77: a tool is missing.
"""

import argparse
import pathlib
import sys
import tempfile

import machine
import networks
import run_embedded

FUNCTIONS = ("Tanh", "Sigmoid", "Softplus", "Elu", "Erf")
SIZES = (3, 6, 2)


def network(function):
    """Ends with the function, too."""
    make = networks.Maker()
    value = "x"
    for inputs, outputs in zip(SIZES, SIZES[1:]):
        value = make.add(function, make.gemm(value, inputs, outputs))
    return make.model("net", [1, SIZES[0]], SIZES[-1])


def outside(options, function, folder):
    model = folder / "net.onnx"
    model.write_bytes(network(function))
    machine.run([options.bf_aot, model, "--method", "ibp", "--semantics", "float32", "--target",
                 options.cpu, "--no-library", "-o", folder / "verifier.cpp"])
    text = (folder / "verifier.cpp").read_text()
    if "bf::apply_function(" not in text or "bf::interval_function(" not in text:
        raise machine.Failure(f"{function}: it is not computed in float32")
    target = machine.Machine(options.cpu, folder)
    boxes = [(box["lower"], box["upper"]) for box in networks.boxes(SIZES[0])]
    (folder / "test_boxes.h").write_text(run_embedded.boxes_header(boxes))
    flags = ["-O2", f"-I{folder}"]
    objects = [target.compile(folder / "verifier.cpp", flags),
               target.compile(machine.HERE / "points_harness.cpp",
                              [*flags, f"-DPOINTS={options.points // len(boxes)}"])]
    lines = target.run(target.link([*target.compile_port(), *objects]), 1800)
    return int(lines[0].split()[1], 16)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bf-aot", required=True)
    parser.add_argument("--cpu", required=True, choices=sorted(machine.CPUS))
    parser.add_argument("--points", type=int, default=4000, help="of each network")
    options = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory() as folder:
            for function in FUNCTIONS:
                wrong = outside(options, function, pathlib.Path(folder))
                print(f"{function}: {wrong} of {options.points} points outside")
                if wrong:
                    return 1
    except machine.Unavailable as missing:
        print(f"skipped: {missing}")
        return machine.SKIP
    except machine.Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
