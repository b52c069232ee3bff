#!/usr/bin/env python3
"""Tests the harness and runtime/bf/core/rounding.h on one CPU.

  stand-in    the hand-written verifier gives the host's bits; the figures are plausible
  unused      code that the entry point does not need is not counted
  refusals    the harness fails on verifiers that break the interface, each in one way
  rounding    every primitive gives the host's bits on thousands of numbers

Exit code 77: a tool is missing.
"""

import argparse
import json
import pathlib
import re
import shutil
import sys
import tempfile

import machine
import run_embedded

STAND_IN = machine.HERE / "stand_in"
SOFT = ("cortex-m0plus", "cortex-m23", "cortex-m3", "riscv32")  # floats are libgcc's

# What is broken in the stand-in's source (old text, new text), and what the harness must say.
BROKEN = [
    ("if (!bf::float_environment_ok()) return BF_FLOAT_ENVIRONMENT;", "", "rounding upward"),
    ("if (!lower || ", "if (", "null lower"),
    ("workspace_bytes < STAND_IN_WORKSPACE_BYTES", "workspace_bytes == 0", "small workspace"),
    ("STAND_IN_WORKSPACE_ALIGN != 0", "STAND_IN_WORKSPACE_ALIGN == 1",
     "misaligned workspace|processor exception"),  # hardware floats fault there
    ("if (lower[i] - lower[i] != 0 || upper[i] - upper[i] != 0) return BF_INFINITE_BOX;", "",
     "infinite lower"),
    ("lower[i] > upper[i]", "false", "empty box"),
    ("const bf_status status = check_box", "*out_lower = 0;\n  const bf_status status = check_box",
     "NaN lower"),
    ("hidden_upper = hidden_lower + 2", "hidden_upper = hidden_lower + 3",
     "outside its workspace"),
    ("const bf_status status = check_box", "__builtin_trap();\n  const bf_status status = check_box",
     "processor exception"),
    ("const bf_status status = check_box",
     "for (volatile int i = 0; i == 0;) {}\n  const bf_status status = check_box", "no end after"),
]


def check(condition, text):
    if not condition:
        raise machine.Failure(text)


def measure(cpu, verifier_dir, *more):
    options = run_embedded.parse_options(
        ["--cpu", cpu, "--verifier-dir", str(verifier_dir), "--boxes",
         str(STAND_IN / "boxes.json"), *more])
    with tempfile.TemporaryDirectory() as folder:
        return run_embedded.measure(options, folder)


def test_stand_in(cpu):
    result = measure(cpu, STAND_IN)
    host = measure("host", STAND_IN)
    check(result["outputs"] == host["outputs"],
          f"bounds differ from the host's:\n{json.dumps(result['outputs'])}\n"
          f"{json.dumps(host['outputs'])}")
    point = result["outputs"][-1]  # x = (2.5, 1): h = (1.25, 0.383333...), y = -1.05 about
    check(point["lower"][0] < -1.05 < point["upper"][0], f"no bounds: {point}")
    check(point["upper"][0] - point["lower"][0] < 1e-5, f"loose bounds: {point}")
    if not machine.CPUS[cpu].board:
        return
    hard_float = cpu not in SOFT
    constants = result["constant_bytes"]
    check(constants == 36 or (cpu == "riscv32" and 36 < constants < 200),  # also of its code
          f"9 floats are constants: {result}")
    check(200 < result["text_bytes"] < 2000, f"code: {result}")
    check(result["ram_bytes"] == 16 and result["data_bytes"] == 0, f"memory: {result}")
    check((result["library_bytes"] == 0) == hard_float, f"software floating point: {result}")
    check(32 < result["stack_bytes"] < 600, f"stack: {result}")
    check(200 < result["instructions"] < (2000 if hard_float else 20000), f"speed: {result}")


def test_stack_is_measured(cpu):
    """A kilobyte more on the stack must show as such."""
    source = (STAND_IN / "verifier.cpp").read_text()
    with tempfile.TemporaryDirectory() as folder:
        copy_stand_in(folder, source.replace(
            "const bf_status status = check_box",
            "volatile float more[256];\n  for (int i = 0; i < 256; ++i) more[i] = 0;\n"
            "  if (more[255] != 0) return BF_NAN_INPUT;\n  const bf_status status = check_box"))
        more = measure(cpu, folder)["stack_bytes"] - measure(cpu, STAND_IN)["stack_bytes"]
    check(960 <= more <= 1088, f"1024 bytes more on the stack, measured {more}")


def test_unused_is_dropped(cpu):
    """Another entry point must cost nothing unless it is called."""
    source = (STAND_IN / "verifier.cpp").read_text()
    declaration = 'extern "C" float other_entry(const float* x, int n);\n'
    more = """
extern "C" float other_entry(const float* x, int n) {
  static const float table[] = {1, 2, 4, 8, 16};
  static float sum;
  for (int i = 0; i < n; ++i) sum += x[i] * table[i];
  return sum;
}
"""
    call = "  if (other_entry(lower, upper[0] == -77) != 0) return BF_NAN_INPUT;\n"
    end = "  return BF_OK;\n}\n"
    check(source.endswith(end), "the stand-in has changed")
    alone = measure(cpu, STAND_IN)
    with tempfile.TemporaryDirectory() as folder:
        copy_stand_in(folder, source + more)
        beside = measure(cpu, folder)
        copy_stand_in(folder, declaration + source.removesuffix(end) + call + end + more)
        called = measure(cpu, folder)
    grown = {}
    for key in ("text_bytes", "constant_bytes", "data_bytes"):
        check(alone[key] == beside[key], f"{key}: {alone[key]}, then {beside[key]}")
        grown[key] = called[key] - alone[key]
    check(grown["data_bytes"] == 4 and grown["constant_bytes"] == 20 and grown["text_bytes"] > 20,
          f"a call adds {grown}")


def copy_stand_in(folder, source):
    shutil.copy(STAND_IN / "verifier.h", folder)
    pathlib.Path(folder, "verifier.cpp").write_text(source)


def test_refusals(cpu):
    source = (STAND_IN / "verifier.cpp").read_text()
    for old, new, message in BROKEN:
        if cpu in SOFT and message == "rounding upward":
            continue  # software floating point has no modes
        if message == "null lower" and cpu == "riscv32":
            message = "processor exception"  # there is no memory at 0
        check(source.count(old) == 1, f"the stand-in has changed: {old}")
        with tempfile.TemporaryDirectory() as folder:
            copy_stand_in(folder, source.replace(old, new))
            seconds = "2" if message == "no end after" else "60"
            try:
                measure(cpu, folder, "--timeout", seconds)
            except machine.Failure as failure:
                check(re.search(message, str(failure)), f"expected '{message}':\n{failure}")
            else:
                raise machine.Failure(f"the harness does not notice: {message}")


def rounding_lines(cpu):
    with tempfile.TemporaryDirectory() as folder:
        target = machine.Machine(cpu, folder)
        variant = target.compile(machine.ROOT / "tests" / "runtime" / "rounding_variant.cpp",
                                 ["-O2", "-DBF_VARIANT=target"])
        harness = target.compile(machine.HERE / "rounding_target.cpp", ["-Os"])
        program = target.link([*target.compile_port(), harness, variant])
        lines = target.run(program, timeout=120)
    counted = [int(line.split()[1], 16) for line in lines if line.startswith("loop ")]
    return [line for line in lines if not line.startswith("loop ")], counted


def test_rounding(cpu):
    lines, counted = rounding_lines(cpu)
    check(len([line for line in lines if line.startswith("hash ")]) == 22, f"hashes: {lines}")
    host, _ = rounding_lines("host")
    different = [f"{a} (host: {b})" for a, b in zip(lines, host) if a != b]
    check(not different and len(lines) == len(host), "differ from the host:\n" +
          "\n".join(different))
    # 100 000 rounds of two instructions, and a few around them.
    check(all(200000 <= count <= 200040 for count in counted), f"instructions: {counted}")


TESTS = {"stand-in": test_stand_in, "stack": test_stack_is_measured,
         "unused": test_unused_is_dropped, "refusals": test_refusals, "rounding": test_rounding}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cpu", required=True, choices=sorted(machine.CPUS))
    parser.add_argument("test", choices=sorted(TESTS))
    options = parser.parse_args()
    try:
        TESTS[options.test](options.cpu)
    except machine.Unavailable as missing:
        print(f"skipped: {missing}")
        return machine.SKIP
    except machine.Failure as failure:
        print(f"failed: {failure}")
        return 1
    print("passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
