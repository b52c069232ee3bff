"""Verifiers of several methods, and calls within a limit. Run as cli_test.py is."""

import ctypes
import os
import random
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from harness import CONTROLLER, MODELS, SOURCE, TINY, Case  # noqa: E402

STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror")
PROPERTY = MODELS / "properties" / "collision_avoidance_6x50.vnnlib"
SPEC = MODELS / "specs" / "collision_avoidance_6x50.json"
UNKNOWN = 0


class Limit(ctypes.Structure):
    STOP = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
    _fields_ = [("operations", ctypes.c_uint64), ("stop", STOP), ("data", ctypes.c_void_p)]


class Reached(ctypes.Structure):
    _fields_ = [("method", ctypes.c_char_p), ("place", ctypes.c_uint32),
                ("operations", ctypes.c_uint64)]


class Result(ctypes.Structure):
    _fields_ = [("verdict", ctypes.c_int), ("case", ctypes.c_uint32), ("clause", ctypes.c_uint32),
                ("counterexample", ctypes.c_void_p)]


class Verifier:
    """A compiled verifier, called by ctypes."""

    def __init__(self, folder, name):
        self.library = ctypes.CDLL(str(folder / f"{name}.so"))
        self.name = name
        header = (folder / f"{name}.h").read_text()
        self.macros = {key: int(value) for key, value in re.findall(
            rf"#define {name.upper()}_(\w+) (\d+)\n", header)}
        self.methods = self.info()
        # Room for any of its functions.
        room = self.macros["WORKSPACE_BYTES"] + (1 << 16)
        self.memory = ctypes.create_string_buffer(room + 64)
        self.workspace = ctypes.c_void_p(-(-ctypes.addressof(self.memory) // 64) * 64)
        self.room = ctypes.c_size_t(room)

    def info(self):
        call = self.library[f"{self.name}_info"]
        call.restype = ctypes.POINTER(ctypes.c_char_p)
        return call()[2].decode()

    def call(self, function, box, *arguments):
        low, high = (self.floats(box[side]) for side in (0, 1))
        return self.library[f"{self.name}_{function}"](low, high, *arguments, self.workspace, self.room)

    @staticmethod
    def floats(values):
        return (ctypes.c_float * len(values))(*values)

    def outputs(self, function):
        count = self.macros["SPEC_ROWS" if function.startswith("spec") else "OUTPUTS"]
        return [self.floats([99] * count) for _ in range(2)]

    def bounds(self, function, box):
        out = self.outputs(function)
        assert self.call(function, box, *out) == 0
        return [bytes(side) for side in out]

    def within(self, function, box, limit):
        out, reached = self.outputs(function), Reached()
        assert self.call(function, box, *out, limit, ctypes.byref(reached)) == 0
        return [bytes(side) for side in out], reached

    def verdict(self, box, *limit):
        point = self.floats([0] * len(box[0]))
        result, reached = Result(0, 0, 0, ctypes.addressof(point)), Reached()
        more = (*limit, ctypes.byref(reached)) if limit else ()
        function = "verify_within" if limit else "verify"
        assert self.call(function, box, ctypes.byref(result), *more) == 0
        return (result.verdict, result.case, result.clause), reached


def stopping_after(answers):
    """A limit that allows so many questions, and how many there were."""
    asked = []

    def stop(_):
        asked.append(1)
        return int(len(asked) > answers)

    return Limit(0, Limit.STOP(stop), None), asked


class Limits(Case):
    def build(self, model, name, method, *more):
        self.run_tool(model, "--method", method, "--name", name, "--target", "generic",
                      "--no-library", "-o", f"{name}.cpp", *more)
        subprocess.run([os.environ.get("CXX", "c++"), "-std=c++17", "-O1", "-shared", "-fPIC", *STRICT,
                        "-I.", f"-I{SOURCE}/runtime", f"{name}.cpp", f"{SOURCE}/runtime/bf.cpp",
                        "-o", f"{name}.so"], cwd=self.work, check=True)
        return Verifier(self.work, name)

    def boxes(self, count, inputs, most):
        source = random.Random(60)
        for _ in range(count):
            centre = [source.uniform(-0.5, 0.5) for _ in range(inputs)]
            radius = source.choice([0, most / 30, most])
            yield [x - radius for x in centre], [x + radius for x in centre]

    def check_cuts(self, several, alone, function, box):
        """The bits of a method of its own, whatever the question at which a call ends."""
        wanted = [each.bounds(function, box) for each in alone]
        for place, each in enumerate(alone[:-1]):
            self.assertEqual(
                several.bounds(f"{function}_{each.methods.replace('-', '_')}", box), wanted[place])
        self.assertEqual(several.bounds(function, box), wanted[-1])
        places, before = [], 0
        for answers in range(10000):
            limit, asked = stopping_after(answers)
            found, reached = several.within(f"{function}_within", box, ctypes.byref(limit))
            self.assertEqual(found, wanted[reached.place])
            self.assertEqual(reached.method.decode(), alone[reached.place].methods)
            self.assertGreaterEqual(reached.operations, before)
            before = reached.operations
            places.append(reached.place)
            if len(asked) <= answers:
                break
        self.assertEqual(places, sorted(places))
        self.assertEqual(set(places), set(range(len(alone))))
        found, reached = several.within(f"{function}_within", box, None)
        self.assertEqual((found, reached.place), (wanted[-1], len(alone) - 1))
        return before

    def check_operations(self, several, function, box, spent, methods):
        """Operations end a call as stop does, and a method's macro is enough for it."""
        name = function.upper()
        for operations in (1, max(1, spent - 1), spent, several.macros[f"{name}_OPERATIONS"]):
            limit = Limit(operations, Limit.STOP(), None)
            _, reached = several.within(f"{function}_within", box, ctypes.byref(limit))
            self.assertLessEqual(reached.operations, operations)
            self.assertEqual(reached.place == methods - 1, operations >= spent)
        self.assertLessEqual(
            spent, sum(value for key, value in several.macros.items()
                       if re.fullmatch(rf"{name}(_CROWN\w*)?_OPERATIONS", key)))

    def test_two_methods(self):
        alone = [self.build(CONTROLLER, "i", "ibp"), self.build(CONTROLLER, "c", "crown")]
        several = self.build(CONTROLLER, "m", "ibp,crown")
        self.assertEqual(several.methods, "ibp,crown")
        for box in self.boxes(6, 5, 0.3):
            spent = self.check_cuts(several, alone, "bounds", box)
            self.check_operations(several, "bounds", box, spent, 2)
        # One copy of the weights; beside it, the biases of each method.
        self.assertLess(several.macros["WEIGHTS_BYTES"], 1.05 * alone[1].macros["WEIGHTS_BYTES"])
        self.assertEqual(several.macros["WORKSPACE_BYTES"], alone[1].macros["WORKSPACE_BYTES"])

    def test_three_methods_and_rows(self):
        options = ("--spec", SPEC)
        alone = [self.build(CONTROLLER, name, method, *options)
                 for name, method in (("i", "ibp"), ("b", "crown-ibp"), ("c", "crown"))]
        several = self.build(CONTROLLER, "m", "ibp,crown-ibp,crown", *options)
        for box in self.boxes(3, 5, 0.3):
            self.check_cuts(several, alone, "bounds", box)
            self.check_cuts(several, alone, "spec_bounds", box)

    def test_slopes(self):
        options = ("--iterations", 3)
        alone = [self.build(TINY, "c", "crown"), self.build(TINY, "a", "alpha-crown", *options)]
        several = self.build(TINY, "m", "crown,alpha-crown", *options)
        for box in self.boxes(4, 2, 1):
            self.check_cuts(several, alone, "bounds", box)

    def test_batch_of_the_tightest(self):
        one = self.build(CONTROLLER, "c", "crown", "--batch", 2)
        several = self.build(CONTROLLER, "m", "ibp,crown", "--batch", 2)
        boxes = list(self.boxes(2, 5, 0.3))
        flat = [sum((box[side] for box in boxes), []) for side in (0, 1)]
        found = []
        for verifier in (one, several):
            out = [verifier.floats([99] * 10) for _ in range(2)]
            self.assertEqual(verifier.library[f"{verifier.name}_bounds_batch"](
                ctypes.c_size_t(2), *(verifier.floats(side) for side in flat), *out,
                (ctypes.c_int * 2)(), verifier.workspace, verifier.room), 0)
            found.append([bytes(side) for side in out])
        self.assertEqual(*found)

    def test_verdicts(self):
        options = ("--property", PROPERTY)
        alone = [self.build(CONTROLLER, "i", "ibp", *options),
                 self.build(CONTROLLER, "c", "crown", *options)]
        several = self.build(CONTROLLER, "m", "ibp,crown", *options)
        low, high = (several.floats([0] * 5) for _ in range(2))
        self.assertEqual(several.library.m_property_box(ctypes.c_size_t(0), low, high), 0)
        seen = set()
        for share in (1, 0.3, 0.1, 0.03, 0.001):
            middle = [(a + b) / 2 for a, b in zip(low, high)]
            box = [[m + side * share * (b - a) / 2 for m, a, b in zip(middle, low, high)]
                   for side in (-1, 1)]
            wanted = [each.verdict(box)[0] for each in alone]
            for answers in range(10000):
                limit, asked = stopping_after(answers)
                found, reached = several.verdict(box, ctypes.byref(limit))
                self.assertEqual(found, wanted[reached.place])
                seen.add((reached.place, found[0]))
                if wanted[0][0] != UNKNOWN:
                    self.assertEqual((reached.place, asked), (0, []))
                if len(asked) <= answers:
                    break
        self.assertTrue({0, 1} <= {place for place, _ in seen}, seen)
        self.assertGreater(len({verdict for _, verdict in seen}), 1, seen)

    def test_c_program(self):
        self.run_tool(TINY, "--method", "ibp,crown", "--name", "v", "-o", "v.cpp")
        self.write("main.c", r"""
#include <stdio.h>
#include "v.h"
static int twice(void *data) { return ++*(int *)data > 2; }
static double room[V_WITHIN_WORKSPACE_BYTES / sizeof(double) + 16];
int main(void) {
  const float lower[V_INPUTS] = {-1, -1}, upper[V_INPUTS] = {1, 1};
  float low[V_OUTPUTS], high[V_OUTPUTS];
  char *place = (char *)room;
  int asked = 0;
  bf_limit limit = {V_BOUNDS_OPERATIONS, NULL, NULL};
  bf_reached reached;
  while ((size_t)place % V_WORKSPACE_ALIGN != 0) ++place;
  if (v_bounds_within(lower, upper, low, high, &limit, &reached, place, V_WITHIN_WORKSPACE_BYTES))
    return 1;
  printf("%s ", reached.method);
  limit.stop = twice;
  limit.data = &asked;
  if (v_bounds_within(lower, upper, low, high, &limit, &reached, place, V_WITHIN_WORKSPACE_BYTES))
    return 2;
  printf("%s %u\n", reached.method, (unsigned)reached.place);
  if (v_bounds_within(lower, upper, low, high, NULL, NULL, place, V_WITHIN_WORKSPACE_BYTES)
      != BF_NULL_ARGUMENT) return 3;
  return v_bounds_within(lower, upper, low, high, NULL, &reached, place, V_WORKSPACE_BYTES)
         != BF_WORKSPACE_TOO_SMALL;
}
""")
        for single in (False, True):
            if single:
                self.run_tool(TINY, "--method", "ibp,crown", "--name", "v", "--single-file", "-o",
                              "v.cpp")
            subprocess.run(["cc", "-std=c99", *STRICT, "-I.", f"-I{SOURCE}/runtime", "main.c",
                            "libv.a", "-o", "main"], cwd=self.work, check=True)
            ran = subprocess.run(["./main"], cwd=self.work, check=True, capture_output=True, text=True)
            self.assertEqual(ran.stdout.split(), ["crown", "ibp", "0"])

    def test_refused(self):
        compiled = (TINY, "--no-library", "-o", "v.cpp")
        for methods in ("crown,ibp", "ibp,ibp", "ibp,forward", "auto,crown"):
            self.assert_refused("BF2122", *compiled, "--method", methods, says=("cheapest first",))
        for option in (("--parallel", 2), ("--cache", "reuse-ibp"), ("--memory-budget", 4096),
                       ("--norm", "l2"), ("--lowering", "prebuilt")):
            self.assert_refused("BF2122", *compiled, "--method", "ibp,crown", *option,
                                says=("takes one method",))
        box = self.write("box.json", {"lower": [-1, -1], "upper": [1, 1]})
        self.assert_refused("BF2122", "run", TINY, "--box", box, "--method", "ibp,crown")
        _, errors = self.run_tool("verify", TINY, MODELS / "properties" / "tiny_holds.vnnlib",
                                  "--method", "ibp,crown", code=2)
        self.assertIn("ibp,crown not in {auto,ibp,", errors)
        self.assert_refused("BF2122", *compiled, "--method", "ibp,crown", "--target", "x86-64-v3",
                            "--dispatch")
        _, errors = self.run_tool(*compiled, "--method", "ibp,tight", code=2)
        self.assertIn("tight", errors)


if __name__ == "__main__":
    unittest.main()
