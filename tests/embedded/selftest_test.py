#!/usr/bin/env python3
"""Runs the self-test of a project of bf-aot --project under QEMU: as it is, and with faults that it
must find: a flipped bit of a constant, constants that are wrong with a sum that fits them, and a
rounding mode other than to nearest. Exit code 77: a tool or the network is missing.
"""

import argparse
import re
import struct
import subprocess
import sys
import tempfile

import machine
from embedded_verifier_test import check
from project_test import Project

CONSTANTS, VECTOR = 1, 0x100
# Sets the rounding mode of the processor towards zero.
TOWARDS_ZERO = {"cortex-m4": '__asm__ volatile("vmsr fpscr, %0" : : "r"(0xc00000));',
                "cortex-m33": '__asm__ volatile("vmsr fpscr, %0" : : "r"(0xc00000));',
                "riscv64": '__asm__ volatile("csrw frm, %0" : : "r"(1));'}
FLOAT = r"-?0x[0-9a-f.]+p[+-]\d+f"


class Faulty(Project):
    """A project whose files are changed before it is built anew."""

    def read(self, name):
        return (self.folder / name).read_text()

    def result(self, changes):
        """The code of the self-test with changed files, which are put back."""
        before = {name: self.read(name) for name in changes}
        for name, text in changes.items():
            check(text != before[name], f"{name} is not changed")
            (self.folder / name).write_text(text)
        machine.run(["cmake", "-S", self.folder, "-B", self.build_folder])
        machine.run(["cmake", "--build", self.build_folder, "--target", "example"])
        done = subprocess.run(["cmake", "--build", self.build_folder, "--target", "run"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300,
                              check=False)
        for name, text in before.items():
            (self.folder / name).write_text(text)
        found = re.search(r"^self-test: (passed|fails with code (\d+))", done.stdout + done.stderr,
                          re.MULTILINE)
        check(found, f"no result of the self-test:\n{done.stdout}{done.stderr}")
        code = int(found[2] or 0)
        check((done.returncode == 0) == (code == 0), f"code {code}, exit code {done.returncode}")
        return code


def numbers_of(source):
    """Where the first array of weights has its numbers."""
    array = re.search(r"constexpr (?:float|std::int8_t|std::int16_t) \w*weights?\[\d+\] = \{([^}]*)\}",
                      source)
    check(array, "no array of weights")
    pattern = FLOAT if "p" in array[1] else r"-?\d+"
    return [(array.start(1) + one.start(), one[0]) for one in re.finditer(pattern, array[1])]


def with_number(source, place, text):
    at, before = place
    return source[:at] + text + source[at + len(before):]


def flipped(text, bit):
    """The number with another lowest bit, as it is printed."""
    if "p" not in text:
        return str(int(text) ^ 1)
    bits = struct.unpack("<I", struct.pack("<f", float.fromhex(text[:-1])))[0] ^ (1 << bit)
    return struct.unpack("<f", struct.pack("<I", bits))[0].hex() + "f"


def check_all_are_summed_up(source):
    """But for rows that point to arrays, which are summed up themselves."""
    pointers = ("StepRow", "CodeTable", "Bounds")
    arrays = re.findall(r"^(?:alignas\(\d+\) )?constexpr ([\w:<> ]+) (\w+)\[", source, re.MULTILINE)
    body = source[source.index("net_constants_crc32(void)"):]
    for kind, name in arrays:
        check(kind.removeprefix("bf::integer::") in pointers or
              re.search(rf"crc\.add\({name},|row : {name}\)", body), f"{kind} {name} is not summed up")


def test(options, folder):
    project = Faulty(options, folder)
    check(project.result({"example.c": project.read("example.c") + "\n"}) == 0, "it does not pass")
    check_all_are_summed_up(project.read("net.cpp"))
    weights = next(name for name in ("net_weights.inc", "net.cpp") if (project.folder / name).exists())
    source = project.read(weights)
    numbers = numbers_of(source)
    for place in (numbers[0], numbers[-1]):
        code = project.result({weights: with_number(source, place, flipped(place[1], 0))})
        check(code == CONSTANTS, f"a flipped bit of a constant: code {code}")

    # The boxes alone must find weights of another sign, where the sum is not asked.
    wrong = source
    for at, text in numbers[:len(numbers) // 2]:
        other = "1" if text == "0" else text[1:] + " " if text[0] == "-" else "-" + text
        at += len(wrong) - len(source)
        wrong = with_number(wrong, (at, text), other)
    unasked = re.sub(r"  if \(net_constants_crc32.*\n", "", project.read("net_selftest.c"))
    code = project.result({weights: wrong, "net_selftest.c": unasked})
    check(code >= VECTOR, f"other weights: code {code}")

    if options.target in TOWARDS_ZERO and "integer" not in options.option:
        other = project.read("example.c").replace(
            "  if (!passes_selftest", f"  {TOWARDS_ZERO[options.target]}\n  if (!passes_selftest")
        code = project.result({"example.c": other})
        check(code == VECTOR, f"rounding towards zero: code {code}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bf-aot", required=True)
    parser.add_argument("--target", required=True)
    parser.add_argument("--network", default="collision_avoidance_6x50")
    parser.add_argument("option", nargs="*", help="of bf-aot, after --")
    options = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory() as folder:
            test(options, folder)
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
