"""Small networks that once were refused, bounded too widely or wrongly: each has its right answer now.

    BF_AOT=.. BF_SOURCE_DIR=.. python3 findings_test.py

Needs the shared files ($BF_SHARED, or ../shared beside the source). Exit code 0 and "skipped: ..." without them.
"""

import json
import math
import os
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from harness import SOURCE, Case  # noqa: E402

SHARED = pathlib.Path(os.environ.get("BF_SHARED", SOURCE / ".." / "shared"))
FOLDERS = sorted((SHARED / "findings").glob("*/reduce_l1_noop.onnx"))
INFINITY = math.inf
METHODS = ("ibp", "crown-ibp", "crown")


def network(name):
    return FOLDERS[-1].parent / name


class Findings(Case):
    def bounds(self, name, low, high, method="crown", *more):
        """The least and the largest bound of each output."""
        box = self.write("box.json", {"lower": low, "upper": high})
        found = self.run_json("run", network(name + ".onnx"), "--box", box, "--method", method, *more)["outputs"]
        return [float(x) for x in found["lower"]], [float(x) for x in found["upper"]]

    def test_values_at_points(self):
        """As ONNX defines them; bounds of a point are as near as float32 is."""
        alpha, gamma = 1.6732, 1.0507  # Selu of operator sets 1 to 5
        for name, x, y in (
                ("reduce_l1_noop", [-1, 2, -3, 4, -5, 6], [1, 2, 3, 4, 5, 6]),
                ("reduce_sumsquare_noop", [-1, 2, -3], [1, 4, 9]),
                ("selu1", [-1, 0, 2], [gamma * alpha * (math.exp(-1) - 1), 0, gamma * 2])):
            for method in METHODS:
                with self.subTest(network=name, method=method):
                    low, high = self.bounds(name, x, x, method)
                    for at, right in enumerate(y):
                        self.assertAlmostEqual(low[at], right, delta=1e-6 * (1 + abs(right)))
                        self.assertAlmostEqual(high[at], right, delta=1e-6 * (1 + abs(right)))
                        self.assertLessEqual(low[at], right + 1e-12)
                        self.assertGreaterEqual(high[at], right - 1e-12)

    def test_ends_of_domains(self):
        for name, low, high, least, most in (
                ("e_acos", -5, 5, 0, math.pi), ("e_sqrt_relu", -1, 4, 0, 2), ("e_pow_half", -1, 4, 0, 2),
                ("e_log0", -1, math.e, -INFINITY, 1), ("e_recip_pos0", 0, 2, 0.5, INFINITY),
                ("e_softplus_manual", 99, 100, 99, 100), ("e_floor_edge", 1, 1.5, 1, 1)):
            with self.subTest(network=name):
                method = "ibp" if math.isfinite(most - least) else "crown"  # a box has two ends
                (found_low,), (found_high,) = self.bounds(name, [low], [high], method)
                self.assertLessEqual(found_low, least + 1e-12)
                self.assertGreaterEqual(found_high, most - 1e-12)
                if math.isfinite(least):
                    self.assertAlmostEqual(found_low, least, delta=1e-5 * (1 + abs(least)))
                if math.isfinite(most):
                    self.assertAlmostEqual(found_high, most, delta=1e-5 * (1 + abs(most)))

    def test_one_function_of_several_nodes_is_as_tight(self):
        for chain, operator in (("m_gelu_chain", "m_gelu_op"), ("m_elu_where", "m_elu_op")):
            for method in METHODS:
                with self.subTest(network=chain, method=method):
                    widths = []
                    for name in (chain, operator):
                        low, high = self.bounds(name, [-0.1] * 6, [0.1] * 6, method)
                        widths.append(sum(high) - sum(low))
                    self.assertLessEqual(widths[0], 1.01 * widths[1])

    def test_rows_of_softmax_do_not_meet(self):
        low, high = self.bounds("softmax_rows_leak", [0, 0.1, 0.2, 0, 20, 40], [0, 0.1, 0.2, 0, 20, 40])
        total = sum(math.exp(x) for x in (0, 0.1, 0.2))
        for at, x in enumerate((0, 0.1, 0.2)):
            self.assertAlmostEqual(low[at], math.exp(x) / total, delta=1e-6)
            self.assertAlmostEqual(high[at], math.exp(x) / total, delta=1e-6)

    def test_masks_cost_nothing(self):
        """Visible elements of all spellings have one width; it is near that of attention without a mask."""
        widths = {}
        for name in ("nomask", "add_1e4", "add_1e9", "add_30", "add_finfo", "where_inf"):
            low, high = self.bounds(f"att_{name}", [-0.01] * 16, [0.01] * 16)
            widths[name] = sum(high) - sum(low)
        for name, width in widths.items():
            self.assertLessEqual(width, 1.05 * max(widths["nomask"], widths["add_30"]), (name, widths))

    def test_logits_far_apart(self):
        low, high = self.bounds("logsoftmax_spread_40", [-0.01] * 3, [0.01] * 3)
        self.assertTrue(all(math.isfinite(x) for x in low + high), (low, high))
        low, high = self.bounds("softmax_1000", [-0.01] * 16, [0.01] * 16)
        self.assertEqual(len(low), 1000)
        self.assertLess(max(high), 0.1)

    def test_what_was_refused_is_read(self):
        for name, count in (("lstm_old", 24), ("gru_old", 24), ("battery_lstm", 30), ("gru_step", 11), ("sk_forest", 6),
                            ("dq_int4", 4), ("dq_uint4_block", 4), ("sparse_init", 4), ("cartpole_tanh", 4)):
            more = ("--shape", "X=1,6") if name == "sk_forest" else ()
            with self.subTest(network=name):
                low, high = self.bounds(name, [-0.01] * count, [0.01] * count, "crown", *more)
                self.assertTrue(low and all(map(math.isfinite, low + high)), (low, high))
                self.assertTrue(all(a <= b for a, b in zip(low, high)))

    def test_ways_out_are_told_and_work(self):
        self.assert_refused("BF1018", "inspect", network("emb.onnx"), says=("--tokens", "--input-tensor"))
        self.assert_refused("BF1018", "inspect", network("text_old.onnx"), says=("--tokens", "--input-tensor"))
        self.assert_refused("BF1009", "inspect", network("dyn_hw.onnx"), says=("--shape",))
        low, high = self.bounds("dyn_hw", [0] * 64, [0.1] * 64, "crown", "--shape", "x=1,1,8,8")
        self.assertTrue(all(map(math.isfinite, low + high)))

    def test_limits_that_are_met_exactly(self):
        for name, code in (("tie_identity", 0), ("tie_relu", 0), ("e_norm_sumsq", 0), ("softplus_huge", 3)):
            with self.subTest(network=name):
                self.run_tool("verify", network(name + ".onnx"), network(name + ".vnnlib"), code=code)

    def test_conditions_among_inputs_prove(self):
        self.run_tool("verify", network("polytope.onnx"), network("polytope.vnnlib"), "--timeout", "60")

    def test_counterexamples_are_exact(self):
        output = self.run_json("verify", network("id1.onnx"), network("witness_third.vnnlib"), code=3)
        self.assertEqual(output["counterexample"]["x"], ["1/3"])

    def test_a_ball_is_never_wider_than_its_box(self):
        box = network("ball_thin.json")
        found = self.run_json("run", network("sum2.onnx"), "--box", box, "--norm", "l2")["outputs"]
        ends = json.loads(box.read_text())
        self.assertGreaterEqual(float(found["lower"][0]), sum(ends["lower"]) - 1e-5)
        self.assertLessEqual(float(found["upper"][0]), sum(ends["upper"]) + 1e-5)


if __name__ == "__main__":
    if not FOLDERS:
        print(f"skipped: no {SHARED / 'findings'}")
        sys.exit(0)
    sys.exit(unittest.main())
