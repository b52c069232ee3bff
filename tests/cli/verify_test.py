"""Tests of bf-aot verify and supports. Run as cli_test.py is."""

import gzip
import json
import re
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
from harness import CONTROLLER, MODELS, SOURCE, TINY, Case  # noqa: E402

PROPERTIES = MODELS / "properties"
HOLDS = PROPERTIES / "tiny_holds.vnnlib"
VIOLATED = PROPERTIES / "tiny_violated.vnnlib"
QUERY = PROPERTIES / "tiny_query.vnnlib"
DECLARATIONS = "".join(f"(declare-const {name}_{i} Real)" for name in "XY" for i in (0, 1))
BOX = "".join(f"(assert (>= X_{i} -1))(assert (<= X_{i} 1))" for i in (0, 1))


def tiny_outputs(x0, x1):
    h0, h1 = max(0, x0 - 2 * x1), max(0, 0.5 * x0 + 3 * x1 + 1)
    return h0 - h1 + 0.5, -0.5 * h0 + 0.25 * h1 - 1


class Verify(Case):
    def property(self, asserts, box=BOX):
        return self.write("p.vnnlib", DECLARATIONS + box + asserts)

    def verdict(self, asserts, *more, code, box=BOX):
        return self.run_json("verify", TINY, self.property(asserts, box), *more, code=code)

    def test_verified(self):
        output, errors = self.run_tool("verify", TINY, HOLDS)
        self.assertEqual(errors, "")
        self.assertTrue(output.startswith("verified\n"))
        self.assertIn("1 of 1 verified", output)

    def test_falsified(self):
        output, _ = self.run_tool("verify", TINY, VIOLATED, code=3)
        self.assertTrue(output.startswith("falsified\n"))
        numbers = dict(re.findall(r"([XY]_\d) +(\S+)", output))
        outputs = tiny_outputs(float(numbers["X_0"]), float(numbers["X_1"]))
        self.assertGreaterEqual(outputs[0], 3.25)
        for i, value in enumerate(outputs):
            self.assertAlmostEqual(float(numbers[f"Y_{i}"]), value)
        self.assertIn("proven in", output)

    def test_unknown(self):
        # Two equations: no float meets them by chance, and bounds of a box do not exclude them.
        found = self.verdict("(assert (= Y_0 (* 3 Y_1)))(assert (= Y_1 (- 1.2345)))", "--search",
                             "0.2", code=4)
        self.assertEqual(found["verdict"], "unknown")
        self.assertIsNone(found["counterexample"])

    def test_every_method_agrees(self):
        for method in ("auto", "ibp", "crown-ibp", "crown", "alpha-crown"):
            found = self.run_json("verify", TINY, HOLDS, "--method", method)
            self.assertEqual(found["verdict"], "verified")
            self.assertEqual(found["methods"], ["crown" if method == "auto" else method])

    def test_json(self):
        found = self.run_json("verify", TINY, VIOLATED, code=3)
        self.assertEqual(list(found), ["model", "property", "verdict", "methods", "cases",
                                       "verified_cases", "counterexample", "seconds",
                                       "compile_seconds"])
        self.assertEqual(found["counterexample"]["x"], ["1", "-1"])
        self.assertEqual(found["counterexample"]["y"], [3.5, -2.5])

    def test_strictness_is_exact(self):
        # The maximum of output 0 on the box is 3.5, at the corner (1, -1).
        self.assertEqual(self.verdict("(assert (>= Y_0 3.5))", code=3)["verdict"], "falsified")
        found = self.verdict("(assert (> Y_0 3.5))", "--search", "0.2", code=4)
        self.assertEqual(found["verdict"], "unknown")
        point = "(assert (<= 1 X_0 1))(assert (<= -1 X_1 -1))"
        self.assertEqual(self.verdict("(assert (> Y_0 3.5))", code=4, box=point)["cases"], 1)
        self.assertEqual(self.verdict("(assert (>= Y_0 3.5))", code=3, box=point)["cases"], 1)

    def test_decimal_points_are_kept(self):
        # 0.1 is no float32 and no double: the counterexample is the decimal itself.
        point = "(assert (<= 0.1 X_0 0.1))(assert (<= -0.3 X_1 -0.3))"
        found = self.verdict("(assert (>= Y_0 1))", code=3, box=point)
        self.assertEqual(found["counterexample"]["x"], ["0.1", "-0.3"])

    def test_constraints_between_inputs(self):
        # Bounds ignore the constraint, counterexamples do not: on x0 + x1 <= -1.5 output 0 is below 3.
        found = self.verdict("(assert (<= (+ X_0 X_1) 0.25))(assert (>= Y_0 3))", code=3)
        x = [float(value) for value in found["counterexample"]["x"]]
        self.assertLessEqual(sum(x), 0.25)
        self.assertGreaterEqual(tiny_outputs(*x)[0], 3)
        found = self.verdict("(assert (<= (+ X_0 X_1) -1.5))(assert (>= Y_0 3))", "--search", "0.2",
                             code=4)
        self.assertEqual(found["verdict"], "unknown")
        found = self.verdict("(assert (<= Y_0 (- X_0 7)))", code=0)
        self.assertEqual(found["verdict"], "verified")

    def test_nothing_to_violate(self):
        found = self.verdict("(assert (>= X_0 2))(assert (<= Y_0 0))", code=0)
        self.assertEqual((found["verdict"], found["cases"]), ("verified", 0))
        self.assertEqual(found["methods"], [])

    def test_inputs_alone(self):
        self.assertEqual(self.verdict("(assert (<= X_0 0.5))", code=3)["verdict"], "falsified")

    def test_many_cases_use_intervals_first(self):
        parts = "".join(f"(and (>= X_0 {i / 100}) (<= X_0 {(i + 1) / 100}) (>= Y_0 4))"
                        for i in range(50))
        box = "(assert (>= X_1 -1))(assert (<= X_1 1))"
        found = self.verdict(f"(assert (or {parts}))", code=0, box=box)
        self.assertEqual((found["cases"], found["verified_cases"]), (50, 50))
        self.assertEqual(found["methods"][0], "ibp")

    def test_controller(self):
        found = self.run_json("verify", CONTROLLER,
                              PROPERTIES / "collision_avoidance_6x50.vnnlib")
        self.assertEqual(found["verdict"], "verified")

    def test_competition_words(self):
        output, _ = self.run_tool("verify", TINY, HOLDS, "--vnncomp")
        self.assertEqual(output, "unsat\n")
        output, _ = self.run_tool("verify", TINY, VIOLATED, "--vnncomp", "--counterexample", "ce")
        self.assertEqual(output, "sat\n((X_0 1)\n(X_1 -1)\n(Y_0 3.5)\n(Y_1 -2.5))\n")
        self.assertEqual("sat\n" + (self.work / "ce").read_text(), output)

    def test_compressed_property(self):
        path = self.work / "p.vnnlib.gz"
        path.write_bytes(gzip.compress(HOLDS.read_bytes()))
        self.assertEqual(self.run_json("verify", TINY, path)["verdict"], "verified")

    def test_second_run_compiles_nothing(self):
        self.run_tool("verify", TINY, HOLDS)
        self.environment["CXX"] = "/bin/false"
        self.run_tool("verify", TINY, HOLDS, code=1)  # another compiler: not the same verifier
        del self.environment["CXX"]
        before = sorted(self.cache.rglob("*"))
        self.run_tool("verify", TINY, HOLDS)
        self.assertEqual(before, sorted(self.cache.rglob("*")))

    def test_refusals(self):
        self.assert_refused("BF3401", "verify", TINY, "missing.vnnlib")
        self.assert_refused("BF3408", "verify", CONTROLLER, HOLDS)
        self.assert_refused("BF3403", "verify", TINY, self.property("(assert (= Y_0))"),
                            says=("p.vnnlib:1:",))
        self.assert_refused("BF1001", "verify", "missing.onnx", HOLDS)

    def test_usage(self):
        for arguments in (("verify",), ("verify", TINY), ("verify", TINY, HOLDS, "--method", "x"),
                          ("verify", TINY, HOLDS, "--timeout", "-1"),
                          ("verify", TINY, HOLDS, "--network", "f=x"),
                          ("verify", QUERY, "--network", "=x")):
            self.run_tool(*arguments, code=2)


class Timeout(Case):
    def test_words(self):
        compiler = self.write("compiler", "#!/bin/sh\ncase $1 in --version) echo slow;; "
                                          "*) sleep 60;; esac\n")
        compiler.chmod(0o755)
        self.environment["CXX"] = str(compiler)
        for options, code, word in (((), 5, "timeout\n"), (("--vnncomp",), 0, "timeout\n"),
                                    (("--json",), 5, None)):
            start = time.monotonic()
            output, _ = self.run_tool("verify", TINY, HOLDS, "--timeout", "1", *options, code=code)
            self.assertLess(time.monotonic() - start, 20)
            if word is not None:
                self.assertEqual(output, word)
            else:
                self.assertEqual(json.loads(output)["verdict"], "timeout")
        self.assertEqual([path.name for path in self.cache.rglob(".*")], [], "staging is removed")

    def test_interrupt(self):
        compiler = self.write("compiler", "#!/bin/sh\ncase $1 in --version) echo slow;; "
                                          "*) sleep 60;; esac\n")
        compiler.chmod(0o755)
        self.environment["CXX"] = str(compiler)
        process = self.start("verify", TINY, HOLDS)
        for _ in range(200):
            time.sleep(0.1)
            if list(self.cache.rglob(".*")):
                break
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=20)
        self.assertEqual((process.returncode, output), (130, ""))
        self.assertEqual([path.name for path in self.cache.rglob(".*")], [], "staging is removed")

    def test_in_time(self):
        self.run_tool("verify", TINY, HOLDS, "--timeout", "200")


class Query(Case):
    def test_standard_words(self):
        output, _ = self.run_tool("verify", QUERY, "--network", f"tiny={TINY}")
        self.assertEqual(output, "sat\nx Real [1,2]\n1\n-1\ny Real [1,2]\n3.5\n-2.5\n")

    def test_unsat(self):
        query = self.write("q.vnnlib", QUERY.read_text().replace("3.25", "4"))
        output, _ = self.run_tool("verify", query, "--network", f"tiny={TINY}")
        self.assertEqual(output, "unsat\n")

    def test_refusals(self):
        self.assert_refused("BF3413", "verify", QUERY, "--network", f"other={TINY}")
        self.assert_refused("BF3413", "verify", HOLDS, "--network", f"tiny={TINY}")
        self.assert_refused("BF3410", "verify", QUERY, "--network", f"tiny={TINY}", "--network",
                            f"g={TINY}")
        query = self.write("q.vnnlib", QUERY.read_text().replace("Real", "float32"))
        self.assert_refused("BF3409", "verify", query, "--network", f"tiny={TINY}")


class Supports(Case):
    def answer(self, option):
        return self.run_tool("supports", option)[0].splitlines()

    def test_answers(self):
        self.assertEqual(self.answer("--onnx-element-types"), ["real"])
        self.assertEqual(self.answer("--vnnlib-versions"), ["1.0", "2.0"])
        self.assertEqual(self.answer("--multiple-network-theories"), ["SNET"])
        self.assertEqual(self.answer("--hidden-node-theories"), ["NH"])
        self.assertEqual(self.answer("--unsat-proofs"), ["false"])
        oldest, newest = map(int, self.answer("--onnx-opset-versions"))
        self.assertLess(oldest, newest)
        operators = self.answer("--onnx-operators")
        self.assertEqual(operators, sorted(operators))
        self.assertLessEqual({"Gemm", "MatMul", "Relu", "Reshape"}, set(operators))

    def test_usage(self):
        self.run_tool("supports", code=2)
        self.run_tool("supports", "--hidden-node-theories", "--unsat-proofs", code=2)
        self.run_tool("supports", "--magic", code=2)


class PropertyCode(Case):
    MAIN = r"""
#include <stdio.h>
#include "v.h"
static _Alignas(V_WORKSPACE_ALIGN) unsigned char workspace[V_VERIFY_WORKSPACE_BYTES];
int main(void) {
  for (size_t i = 0; i < V_PROPERTY_CASES; ++i) {
    float lower[V_INPUTS], upper[V_INPUTS], point[V_INPUTS];
    bf_result result = {BF_UNKNOWN, 0, 0, point};
    if (v_property_box(i, lower, upper) != BF_OK) return 1;
    if (v_verify(lower, upper, &result, workspace, sizeof workspace) != BF_OK) return 2;
    printf("%u\n", (unsigned)result.verdict);
  }
  float lower[V_INPUTS], upper[V_INPUTS];
  return v_property_box(V_PROPERTY_CASES, lower, upper) == BF_NO_SUCH_CASE ? 0 : 3;
}
"""

    def build_and_run(self, property_file, model=TINY):
        self.run_tool(model, "--property", property_file, "--name", "v", "-o", "v.cpp")
        self.write("main.c", self.MAIN)
        subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-I.",
                        f"-I{SOURCE}/runtime", "main.c", "libv.a", "-o", "main"], cwd=self.work,
                       check=True)
        return subprocess.run(["./main"], cwd=self.work, check=True, capture_output=True,
                              text=True).stdout.split()

    def test_c_program(self):
        self.assertEqual(self.build_and_run(HOLDS), ["1"])
        self.assertEqual(self.build_and_run(VIOLATED), ["2"])
        self.assertEqual(len(self.build_and_run(PROPERTIES / "tiny_cases.vnnlib")), 3)

    # Parts of the first case's box in an order that repeats some: verdicts of NAME_verify and of
    # NAME_verify_cached, "verified falsified differ" of each, then the counters.
    CACHED = r"""
#include <stdio.h>
#include "v.h"
static _Alignas(V_WORKSPACE_ALIGN) unsigned char workspace[V_VERIFY_WORKSPACE_BYTES];
static _Alignas(V_CONTEXT_ALIGN) unsigned char context[V_CONTEXT_BYTES];
static unsigned state = 1;
static unsigned next(unsigned n) { return (state = state * 1664525u + 1013904223u) / 65536u % n; }
int main(void) {
  float low[V_INPUTS], high[V_INPUTS], lower[V_INPUTS], upper[V_INPUTS];
  float point[V_INPUTS], other[V_INPUTS];
  int counts[3] = {0, 0, 0}, stronger = 0;
  bf_cache_counters counters;
  if (v_property_box(0, low, high) != BF_OK) return 1;
  bf_result plain = {BF_UNKNOWN, 0, 0, point}, cached = {BF_UNKNOWN, 0, 0, other};
  if (v_verify_cached(context, sizeof context, low, high, &cached, workspace, sizeof workspace)
      != BF_CONTEXT_FOREIGN) return 2;
  if (v_context_init(context, sizeof context) != BF_OK) return 3;
  for (int call = 0; call < 300; ++call) {
    if (next(3) != 0)  /* else the same box again */
      for (int i = 0; i < V_INPUTS; ++i) {
        const float step = (high[i] - low[i]) / 8;
        const unsigned begin = next(7), size = 1 + next(8 - begin);
        lower[i] = low[i] + step * (float)begin;
        upper[i] = lower[i] + step * (float)size;
        if (upper[i] > high[i]) upper[i] = high[i];
      }
    else if (call == 0)
      continue;
    if (v_verify(lower, upper, &plain, workspace, sizeof workspace) != BF_OK) return 4;
    if (v_verify_cached(context, sizeof context, lower, upper, &cached, workspace,
                        sizeof workspace) != BF_OK) return 5;
    ++counts[plain.verdict];
    if (plain.verdict == BF_UNKNOWN && cached.verdict == BF_VERIFIED) ++stronger;
    else if (plain.verdict != cached.verdict) return 6;
    if (cached.verdict == BF_FALSIFIED)
      for (int i = 0; i < V_INPUTS; ++i)
        if (!(lower[i] <= other[i] && other[i] <= upper[i])) return 7;
  }
  if (v_cache_counters(context, sizeof context, &counters) != BF_OK) return 8;
  printf("%d %d %d %d %d\n", counts[BF_VERIFIED], counts[BF_FALSIFIED], counts[BF_UNKNOWN],
         stronger, counters.hits > 0);
  return 0;
}
"""

    def run_cached(self, model, property_file, cache):
        self.run_tool(model, "--property", property_file, "--name", "v", "-o", "v.cpp", "--cache",
                      cache)
        self.write("main.c", self.CACHED)
        subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-I.",
                        f"-I{SOURCE}/runtime", "main.c", "libv.a", "-o", "main"], cwd=self.work,
                       check=True)
        result = subprocess.run(["./main"], cwd=self.work, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0)
        return [int(number) for number in result.stdout.split()]

    def test_verdicts_with_a_context(self):
        for cache in ("reuse-ibp", "reuse-ibp,cache-bounds"):
            with self.subTest(cache):
                verified, falsified, unknown, stronger, hits = self.run_cached(
                    TINY, VIOLATED, cache)
                self.assertGreater(verified, 0)
                self.assertGreater(falsified, 0)
                self.assertLessEqual(stronger, unknown)
                self.assertTrue(hits)
        verified, _, _, _, hits = self.run_cached(
            CONTROLLER, PROPERTIES / "collision_avoidance_6x50.vnnlib", "reuse-ibp")
        self.assertGreater(verified, 0)
        self.assertTrue(hits)

    def test_manifest(self):
        self.run_tool(TINY, "--property", VIOLATED, "-o", "v.cpp", "--no-library")
        manifest = json.loads((self.work / "v.json").read_text())
        self.assertEqual(manifest["property"], {"file": "tiny_violated.vnnlib", "cases": 1,
                                                "clauses": 1, "rows": 1})

    def test_large_boxes_lie_in_a_file_of_their_own(self):
        box = "(assert (>= X_1 -1))(assert (<= X_1 1))"
        parts = "".join(f"(and (>= X_0 {i}) (<= X_0 {i + 1}) (>= Y_0 1e6))" for i in range(100))
        path = self.write("p.vnnlib", DECLARATIONS + box + f"(assert (or {parts}))")
        self.assertEqual(self.build_and_run(path), ["1"] * 100)
        self.assertIn("v_property.inc", self.names())

    def test_refusals(self):
        path = self.write("p.vnnlib", DECLARATIONS + BOX + "(assert (>= X_0 2))")
        self.assert_refused("BF3412", TINY, "--property", path, "-o", "v.cpp")
        self.assert_refused("BF3408", CONTROLLER, "--property", HOLDS, "-o", "v.cpp")
        specification = self.write("c.json", {"C": [[1, -1]]})
        self.run_tool(TINY, "--property", HOLDS, "--spec", specification, "-o", "v.cpp", code=2)


if __name__ == "__main__":
    unittest.main()
