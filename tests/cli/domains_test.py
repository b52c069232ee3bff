"""Functions at the ends of their domains, whose arguments never leave them."""

import math
import sys
import unittest

from harness import Case
from small_models import model, node, tensor, write_model

METHODS = ("ibp", "crown-ibp", "crown", "alpha-crown")


class Domains(Case):
    def bounds(self, nodes, method, box, constants=(), inputs=1):
        network = write_model(self.work / "domain.onnx",
                              model("domain", nodes, constants, [1, inputs], [1, 1]))
        ends = {"lower": [box[0]] * inputs, "upper": [box[1]] * inputs}
        found = self.run_json("run", network, "--box", self.write("box.json", ends),
                              "--method", method)
        ends = found["outputs"]
        return float(ends["lower"][0]), float(ends["upper"][0])

    def expect(self, nodes, box, exact, slack=1e-4, **given):
        for method in METHODS:
            with self.subTest(nodes=[each.split("op_type")[1] for each in nodes], method=method):
                low, high = self.bounds(nodes, method, box, **given)
                self.assertLessEqual(low, exact[0])
                self.assertGreaterEqual(high, exact[1])
                self.assertGreaterEqual(low, exact[0] - slack)
                self.assertLessEqual(high, exact[1] + slack)

    def test_root_of_squares(self):
        nodes = [node("Mul", ["x", "x"], "s"),
                 node("ReduceSum", ["s", "axes"], "t"), node("Sqrt", ["t"], "y")]
        axes = 'initializer { dims: 1 data_type: 7 name: "axes" int64_data: 1 }'
        self.expect(nodes, (-1, 1), (0, math.sqrt(3)), constants=[axes], inputs=3)

    def test_root_of_a_relu(self):
        self.expect([node("Relu", ["x"], "r"), node("Sqrt", ["r"], "y")], (-1, 4), (0, 2))
        self.expect([node("Relu", ["x"], "r"), node("Pow", ["r", "half"], "y")], (-1, 4), (0, 2),
                    constants=[tensor("half", [], [0.5])])

    def test_arcs_of_what_is_clipped(self):
        ends = [tensor("low", [], [-1]), tensor("high", [], [1])]
        self.expect([node("Clip", ["x", "low", "high"], "c"), node("Acos", ["c"], "y")], (-3, 3),
                    (0, math.pi), constants=ends)
        self.expect([node("Clip", ["x", "low", "high"], "c"), node("Asin", ["c"], "y")], (-3, 3),
                    (-math.pi / 2, math.pi / 2), constants=ends)

    def test_logarithm_above_one(self):
        self.expect([node("Exp", ["x"], "e"), node("Add", ["e", "one"], "s"), node("Log", ["s"], "y")],
                    (-80, 1), (0, math.log(1 + math.exp(1))), constants=[tensor("one", [], [1])])

    def test_what_may_leave_the_domain_stays_unknown(self):
        nodes = [node("Sqrt", ["x"], "y")]
        self.assertEqual(self.bounds(nodes, "crown", (-1, 1)), (-math.inf, math.inf))


if __name__ == "__main__":
    sys.exit(unittest.main())
