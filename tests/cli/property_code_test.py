"""Verifiers with a compiled-in property, called from C. Run as cli_test.py is."""

import json
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from harness import CONTROLLER, MODELS, SOURCE, TINY, Case  # noqa: E402

PROPERTIES = MODELS / "properties"
HOLDS = PROPERTIES / "tiny_holds.vnnlib"
VIOLATED = PROPERTIES / "tiny_violated.vnnlib"
DECLARATIONS = "".join(f"(declare-const {name}_{i} Real)" for name in "XY" for i in (0, 1))
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror")
BOX = "".join(f"(assert (>= X_{i} -1))(assert (<= X_{i} 1))" for i in (0, 1))


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

    def build_and_run(self, property_file, *more, main=MAIN):
        self.run_tool(TINY, "--property", property_file, "--name", "v", "-o", "v.cpp", *more)
        self.write("main.c", main)
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

    # Verdicts of a point and two boxes outside, and of one with a corner inside, by NAME_verify and
    # NAME_decide; then what overlaps, of which none may be accepted.
    OUTSIDE = r"""
#include <stdio.h>
#include "v.h"
static _Alignas(64) unsigned char
    workspace[V_DECIDE_WORKSPACE_BYTES + V_INPUTS * 2 * sizeof(float)];
static bf_result result;
static void judge(float low, float high) {
  float lower[V_INPUTS], upper[V_INPUTS];
  for (int i = 0; i < V_INPUTS; ++i) lower[i] = low, upper[i] = high;
  printf("%d", (int)v_verify(lower, upper, &result, workspace, sizeof workspace));
  printf("%s ", bf_verdict_text(result.verdict));
  printf("%d", (int)v_decide(lower, upper, NULL, &result, NULL, workspace, sizeof workspace));
  printf("%s\n", bf_verdict_text(result.verdict));
}
int main(void) {
  float lower[V_INPUTS] = {0}, upper[V_INPUTS] = {0}, out[2][V_OUTPUTS], both[V_INPUTS + 1] = {0};
  float *const inside = (float *)workspace;
  bf_result *const there = (bf_result *)(void *)workspace;
  judge(0.5f, 0.5f);
  judge(1e30f, 1e30f);
  judge(5, 6);
  judge(0.9375f, 2);
  const bf_status all[] = {
      v_bounds(lower, upper, inside, out[1], workspace, sizeof workspace),
      v_bounds(lower, upper, out[0], inside + 1, workspace, sizeof workspace),
      v_bounds(inside, upper, out[0], out[1], workspace, sizeof workspace),
      v_bounds(lower, inside, out[0], out[1], workspace, sizeof workspace),
      v_bounds(lower, upper, lower, out[1], workspace, sizeof workspace),
      v_bounds(lower, upper, out[0], upper, workspace, sizeof workspace),
      v_bounds(both, both + 1, both, out[1], workspace, sizeof workspace),
      v_bounds(lower, upper, out[0], out[0], workspace, sizeof workspace),
      v_bounds(lower, upper, out[0], out[0] + V_OUTPUTS - 1, workspace, sizeof workspace),
      v_evaluate(lower, lower, workspace, sizeof workspace),
      v_evaluate(lower, inside, workspace, sizeof workspace),
      v_property_box(0, lower, lower),
      v_verify(inside, upper, &result, workspace, sizeof workspace),
      v_verify(lower, upper, there, workspace, sizeof workspace),
      v_decide(lower, inside, NULL, &result, NULL, workspace, sizeof workspace),
      (result.counterexample = inside,
       v_verify(lower, upper, &result, workspace, sizeof workspace)),
      (result.counterexample = upper,
       v_decide(lower, upper, NULL, &result, NULL, workspace, sizeof workspace))};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
    if (all[i] != BF_OVERLAP) printf("case %d: %s\n", (int)i, bf_status_text(all[i]));
  /* Behind what is used, and one array for both ends of a point. */
  inside[V_WORKSPACE_BYTES / sizeof(float)] = 0;
  if (v_bounds(lower, lower, out[0], out[1], workspace, sizeof workspace) != BF_OK) return 1;
  return v_evaluate(lower, inside + V_WORKSPACE_BYTES / sizeof(float), workspace,
                    sizeof workspace) != BF_OK;
}
"""

    def test_outside_of_the_region_and_overlaps(self):
        for method in ("ibp", "crown"):
            with self.subTest(method):
                words = " ".join(self.build_and_run(
                    HOLDS, "--decide", "--method", method, main=self.OUTSIDE))
                region = "outside of the property's region"
                inside, *others = words.replace(" 0", "\n").splitlines()
                self.assertEqual(inside, "0verified")
                self.assertEqual(others, ["verified", region, region, region, region,
                                          f"partly {region}", f"partly {region}"])

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

    DECIDE = r"""
#include <stdio.h>
#include "v.h"
static _Alignas(V_WORKSPACE_ALIGN) unsigned char
    workspace[V_DECIDE_WORKSPACE_BYTES + 10 * V_OPEN_BOX_BYTES];
int main(void) {
  float lower[V_INPUTS], upper[V_INPUTS], point[V_INPUTS];
  bf_result result = {BF_UNKNOWN, 0, 0, point};
  bf_search search;
  const bf_budget budget = {1000, NULL, NULL};
  if (v_property_box(0, lower, upper) != BF_OK) return 1;
  if (v_decide(lower, upper, &budget, &result, &search, workspace, sizeof workspace) != BF_OK)
    return 2;
  printf("%u %d\n", (unsigned)result.verdict, search.boxes > 0);
  return 0;
}
"""

    def test_decisions_in_a_c_program(self):
        for path, verdict in ((HOLDS, "1"), (VIOLATED, "2")):
            self.assertEqual(self.build_and_run(path, "--decide", main=self.DECIDE), [verdict, "1"])

    def test_decisions_compile_without_warnings(self):
        compilers = [name for name in ("g++", "clang++") if shutil.which(name)]
        self.assertTrue(compilers)
        for batch in ("1", "8"):
            self.run_tool(TINY, "--property", PROPERTIES / "tiny_cases.vnnlib", "-o", "v.cpp",
                          "--decide", "--batch", batch, "--target", "generic", "--no-library")
            for compiler in compilers:
                subprocess.run([compiler, "-std=c++17", "-O2", *STRICT, f"-I{SOURCE}/runtime", "-c",
                                "v.cpp", "-o", "v.o"], cwd=self.work, check=True)

    def test_decisions_need_a_property(self):
        _, errors = self.run_tool(TINY, "-o", "v.cpp", "--decide", "--no-library", code=2)
        self.assertIn("--decide requires --property", errors)
        specification = self.write("c.json", {"C": [[1, -1]]})
        self.run_tool(TINY, "--spec", specification, "-o", "v.cpp", "--decide", code=2)
        self.assertEqual(self.names(), ["c.json"])

    def test_no_decisions_unless_wanted(self):
        self.run_tool(TINY, "--property", HOLDS, "-o", "v.cpp", "--no-library")
        for name in ("v.h", "v.cpp", "v.json"):
            text = (self.work / name).read_text()
            self.assertNotIn("decide(", text)
            self.assertNotIn("split_weights", text)

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
