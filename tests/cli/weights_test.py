"""Weights as inputs: run and verify with --weight, against values at many weights. Run as cli_test.py is."""

import itertools
import random
import sys
import unittest

from harness import Case
from small_models import model, node, tensor, write_model

FIRST = (1, -2, 0.5, -1.5, 0.25, 3)  # [2, 3]
BIAS = (0.1, -0.2, 0.3)
SECOND = (1, -1, 2, 0.5, -0.75, 1)  # [3, 2]


def outputs(x, first, second, bias=BIAS):
    hidden = [max(0, sum(x[i] * first[3 * i + k] for i in range(2)) + bias[k]) for k in range(3)]
    return [sum(hidden[k] * second[2 * k + j] for k in range(3)) for j in range(2)]


class Weights(Case):
    def setUp(self):
        super().setUp()
        nodes = [node("MatMul", ["x", "first"], "a"), node("Add", ["a", "bias"], "b"), node("Relu", ["b"], "c"),
                 node("MatMul", ["c", "second"], "y")]
        self.constants = [tensor("first", [2, 3], FIRST), tensor("bias", [3], BIAS), tensor("second", [3, 2], SECOND)]
        self.network = write_model(self.work / "net.onnx", model("net", nodes, self.constants, [1, 2], [1, 2]))

    def bounds(self, lower, upper, *more):
        box = self.write("box.json", {"lower": lower, "upper": upper})
        found = self.run_json("run", self.network, "--box", box, *more)["outputs"]
        return found["lower"], found["upper"]

    @staticmethod
    def within(values, radius):
        """Weights at most so far from theirs: corners, and others."""
        source = random.Random(4)
        for _ in range(300):
            yield [v + r * source.choice((-1, 1, source.uniform(-1, 1))) for v, r in zip(values, radius)]

    def test_bounds_hold_for_all_weights(self):
        x = [0.7, -0.4]
        for radii, first, second in ((["second=0.1"], [0] * 6, [0.1] * 6), (["first=5%"], [abs(w) * 0.05 for w in FIRST], [0] * 6),
                                     (["first=0.02", "second=2%"], [0.02] * 6, [abs(w) * 0.02 for w in SECOND])):
            seen = [outputs(x, a, b) for a, b in zip(self.within(FIRST, first), self.within(SECOND, second))]
            for method in ("ibp", "crown", "alpha-crown"):
                words = [word for each in radii for word in ("--weight", each)]
                low, high = self.bounds(x, x, "--method", method, *words)
                for j in range(2):
                    self.assertLessEqual(low[j], min(y[j] for y in seen))
                    self.assertGreaterEqual(high[j], max(y[j] for y in seen))
                    # Of the last layer's weights alone, at a point, the bounds are exact but for roundings.
                    if radii == ["second=0.1"]:
                        hidden = sum(outputs(x, FIRST, (1, 0) * 3)[:1])
                        middle = outputs(x, FIRST, SECOND)[j]
                        self.assertAlmostEqual(high[j], middle + 0.1 * hidden, delta=1e-5)
                        self.assertAlmostEqual(low[j], middle - 0.1 * hidden, delta=1e-5)

    def test_products_of_inputs_and_weights(self):
        nodes = [node("MatMul", ["x", "w"], "y")]
        network = write_model(self.work / "one.onnx", model("one", nodes, [tensor("w", [1, 1], [2])], [1, 1], [1, 1]))
        box = self.write("one.json", {"lower": [-1], "upper": [3]})
        found = self.run_json("run", network, "--box", box, "--weight", "w=0.5")["outputs"]
        ends = [x * w for x, w in itertools.product((-1, 3), (1.5, 2.5))]
        self.assertAlmostEqual(found["lower"][0], min(ends), delta=1e-5)
        self.assertAlmostEqual(found["upper"][0], max(ends), delta=1e-5)
        self.assertLessEqual(found["lower"][0], min(ends))

    def prop(self, limit):
        text = "".join(f"(declare-const X_{i} Real)(declare-const Y_{i} Real)" for i in range(2))
        path = self.work / "p.vnnlib"
        path.write_text(text + "(assert (>= X_0 0.7))(assert (<= X_0 0.7))(assert (>= X_1 -0.4))(assert (<= X_1 -0.4))"
                        f"(assert (>= Y_0 {limit}))")
        return path

    def test_properties_for_all_weights(self):
        most = max(outputs([0.7, -0.4], [w + 0.05 * s for w, s in zip(FIRST, signs)], SECOND)[0]
                   for signs in itertools.product((-1, 1), repeat=6))
        holds = self.run_json("verify", self.network, self.prop(most + 0.01), "--weight", "first=0.05")
        self.assertEqual(holds["verdict"], "verified")
        found = self.run_json("verify", self.network, self.prop(most - 0.01), "--weight", "first=0.05", code=3)
        values = [eval(each) for each in found["counterexample"]["x"]]  # decimals or quotients
        self.assertEqual(len(values), 8)
        for value, weight in zip(values[2:], FIRST):
            self.assertLessEqual(abs(value - weight), 0.05 + 1e-12)
        self.assertGreaterEqual(outputs(values[:2], values[2:], SECOND)[0], most - 0.01 - 1e-9)
        # Without ranges of weights it holds.
        self.assertEqual(self.run_json("verify", self.network, self.prop(most - 0.01))["verdict"], "verified")

    def test_what_is_refused(self):
        box = self.write("box.json", {"lower": [0, 0], "upper": [1, 1]})
        self.assert_refused("BF1008", "run", self.network, "--box", box, "--weight", "third=1", says=["first, bias, second"])
        self.assert_refused("BF1008", "run", self.network, "--box", box, "--weight", "bias=1", "--weight", "bias=2",
                            says=["twice"])
        for text, says in (("first", "NAME=X"), ("=1", "NAME=X"), ("first=-1", "negative"), ("first=x", "x")):
            self.assert_refused("BF3013", "run", self.network, "--box", box, "--weight", text, says=[says])
        self.run_tool("verify", self.network, self.prop(1), "--weight", "bias=1", "--proof", "p.bfc", code=2)
        # A ball of inputs and weights together would be none of the inputs.
        self.run_tool("verify", self.network, self.prop(1), "--weight", "bias=1", "--norm", "l2", code=2)
        self.run_tool("run", self.network, "--box", box, "--weight", "bias=1", "--norm", "l2", code=2)
        scaled = [node("MatMul", ["x", "first"], "a"), node("Mul", ["a", "factor"], "y")]
        for nodes, number, code, says in ((scaled, "nan", "BF1023", "factor"), (scaled, "inf", "BF1023", "factor"),
                                          ([node("MatMul", ["x", "first"], "y")], 1, "BF1008", "no node")):
            constants = [self.constants[0], tensor("factor", [1], [number])]
            network = write_model(self.work / "factor.onnx", model("factor", nodes, constants, [1, 2], [1, 3]))
            self.assert_refused(code, "run", network, "--box", box, "--weight", "factor=1", says=[says])


if __name__ == "__main__":
    sys.exit(unittest.main())
