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
                              "--method", method)["outputs"]
        return float(found["lower"][0]), float(found["upper"][0])

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

    def test_boxes_that_end_where_a_domain_does(self):
        half = math.pi / 2
        for op, box, exact in (("Sqrt", (0, 3), (0, math.sqrt(3))), ("Acos", (-1, 0.25), (math.acos(0.25), math.pi)),
                               ("Asin", (0.75, 1), (math.asin(0.75), half)), ("Acosh", (1, 3), (0, math.acosh(3))),
                               ("Acos", (-1, 1), (0, math.pi))):
            self.expect([node(op, ["x"], "y")], box, exact, slack=2e-4)

    def test_one_bound_where_the_other_is_infinite(self):
        log = [node("Relu", ["x"], "r"), node("Log", ["r"], "y")]
        reciprocal = [node("Relu", ["x"], "r"), node("Reciprocal", ["r"], "y")]
        for method in METHODS[1:]:
            with self.subTest(method=method):
                low, high = self.bounds(log, method, (-1, 2))
                self.assertEqual(low, -math.inf)
                self.assertAlmostEqual(high, math.log(2), delta=1e-5)
                low, high = self.bounds([node("Reciprocal", ["x"], "y")], method, (0, 4))
                self.assertAlmostEqual(low, 0.25, delta=1e-5)
                self.assertEqual(high, math.inf)
                self.assertAlmostEqual(self.bounds(reciprocal, method, (-1, 4))[0], 0.25, delta=1e-5)
        for nodes in (log, reciprocal):
            self.assertFalse(any(map(math.isnan, self.bounds(nodes, "ibp", (-1, 2)))))

    def test_steps_at_exact_ends(self):
        clip = [node("Clip", ["x", "low", "high"], "c"), node("Ceil", ["c"], "y")]
        for nodes, box, exact in (([node("Floor", ["x"], "y")], (1, 1.5), (1, 1)),
                                  ([node("Ceil", ["x"], "y")], (0.5, 1), (1, 1)),
                                  ([node("Round", ["x"], "y")], (1.5, 2.5), (2, 2)),
                                  ([node("Relu", ["x"], "r"), node("Floor", ["r"], "y")], (-1, 1.5), (0, 1)),
                                  (clip, (-7, 7), (-1, 2))):
            self.expect(nodes, box, exact, slack=0,
                        constants=[tensor("low", [], [-1]), tensor("high", [], [2])])

    def test_waves_of_large_arguments(self):
        nodes = [node("Mul", ["x", "k"], "z"), node("Sin", ["z"], "y")]
        step = 1 + 2**-23  # the float above the decimal that the box ends with
        self.expect(nodes, (1, 1.0000001), (math.sin(1e6), math.sin(1e6 * step)), slack=1e-5,
                    constants=[tensor("k", [], [1e6])])
        self.expect([node("Cos", ["x"], "y")], (100, 101), (math.cos(100), 1))

    def test_squares_are_never_negative(self):
        for nodes in ([node("Mul", ["x", "x"], "y")], [node("Pow", ["x", "two"], "y")]):
            for method in METHODS:
                low, high = self.bounds(nodes, method, (-0.7, 0.3), constants=[tensor("two", [], [2])])
                self.assertEqual(low, 0)
                self.assertAlmostEqual(high, 0.49, delta=1e-6)

    def test_what_may_leave_the_domain_stays_unknown(self):
        nodes = [node("Sqrt", ["x"], "y")]
        self.assertEqual(self.bounds(nodes, "crown", (-1, 1)), (-math.inf, math.inf))


class NarrowTypes(Case):
    def test_run_says_what_bounds_of_16_bits_are(self):
        def cast(source, to, result):
            return node("Cast", [source], result, attributes=f'attribute {{ name: "to" i: {to} type: INT }}')

        box = self.write("box.json", {"lower": [0.1], "upper": [0.2]})
        for nodes, said in (([cast("x", 10, "h"), cast("h", 1, "y")], True), ([node("Relu", ["x"], "y")], False)):
            network = write_model(self.work / "types.onnx", model("types", nodes, (), [1, 1], [1, 1]))
            text, _ = self.run_tool("run", network, "--box", box)
            self.assertEqual("types    Tensors of 16 bits: casts round as their types do" in text, said)
            source, _ = self.run_tool(network, "-o", "t.cpp")
            self.assertEqual("Tensors of 16 bits" in (self.work / "t.cpp").read_text() + source, said)


class Lines(Case):
    """The lines that rows of alpha-crown choose."""

    WEIGHTS = (1.5, -0.5, 0.75, -2, 1, 0.5, -1, 0.25, 2)

    def network(self, op):
        nodes = [node("Gemm", ["x", "w"], "a"), node(op, ["a"], "b"), node("Gemm", ["b", "w"], "c"),
                 node(op, ["c"], "d"), node("Gemm", ["d", "v"], "y")]
        constants = [tensor("w", (3, 3), self.WEIGHTS), tensor("v", (3, 1), (1, -1, 0.5))]
        return write_model(self.work / "lines.onnx", model("lines", nodes, constants, [1, 3], [1, 1]))

    def width(self, network, *method):
        box = self.write("box.json", {"lower": [-0.5] * 3, "upper": [0.7] * 3})
        found = self.run_json("run", network, "--box", box, "--method", *method)["outputs"]
        return float(found["upper"][0]) - float(found["lower"][0])

    def test_functions_have_lines_to_choose(self):
        for op in ("Sigmoid", "Tanh", "Softplus", "LeakyRelu", "Abs", "Sin", "Relu", "Floor"):
            with self.subTest(op=op):
                network = self.network(op)
                crown = self.width(network, "crown")
                for alpha in ("outputs", "all"):
                    self.assertLess(self.width(network, "alpha-crown", "--alpha", alpha), crown)

    def test_where_there_are_none_it_is_said(self):
        network = self.network("Neg")
        self.assertEqual(self.width(network, "alpha-crown"), self.width(network, "crown"))
        box = self.write("box.json", {"lower": [-0.5] * 3, "upper": [0.7] * 3})
        for op, says in (("Neg", True), ("Floor", False), ("Tanh", False)):
            text, _ = self.run_tool("run", self.network(op), "--box", box, "--method", "alpha-crown")
            self.assertEqual("no rows have lines to choose" in text, says, op)


if __name__ == "__main__":
    sys.exit(unittest.main())
