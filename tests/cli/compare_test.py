"""Tests of bf-aot compare. Run as cli_test.py is."""

import random
import sys
import unittest
from fractions import Fraction

sys.dont_write_bytecode = True
from harness import BOX, CONTROLLER, MODELS, TINY, Case  # noqa: E402
from small_models import model, node, tensor, write_model  # noqa: E402


class Compare(Case):
    """|x| as two ReLUs, and networks near to it, whose largest differences are known."""

    def network(self, name, slope=1.0, offset=0.0, last="Relu"):
        nodes = [node("Gemm", ["x", "w"], "h"), node(last, ["h"], "r"),
                 node("Gemm", ["r", "v", "c"], "y")]
        initializers = [tensor("w", (1, 2), (1, -1)), tensor("v", (2, 1), (slope, 1)),
                        tensor("c", (1,), (offset,))]
        return write_model(self.work / f"{name}.onnx",
                           model(name, nodes, initializers, (1, 1), (1, 1)))

    def box(self, lower=-1, upper=1):
        return self.write("box.json", {"lower": [lower], "upper": [upper]})

    def compare(self, first, second, *more, code=0):
        found = self.run_json("compare", first, second, "--box", self.box(), *more, code=code)
        self.assertLessEqual(found["attained"], found["proven"])
        return found

    def test_a_slope_that_differs(self):
        """max(x, 0) (1 + s) - max(x, 0) lies in [0, s]."""
        found = self.compare(self.network("a"), self.network("b", 1.25))
        self.assertEqual(found["models"], ["a.onnx", "b.onnx"])
        self.assertAlmostEqual(found["attained"], 0.25, places=6)
        self.assertGreaterEqual(found["proven"], 0.25)
        self.assertLess(found["proven"], 0.25 * 1.06)
        self.assertAlmostEqual(found["differences"]["upper"][0], 0.25, places=2)
        self.assertAlmostEqual(float(found["x"][0]), 1, places=6)

    def test_equal_networks(self):
        found = self.run_json("compare", TINY, TINY, "--box", self.write("two.json", BOX), "--classes")
        self.assertEqual((found["proven"], found["attained"]), (0, 0))
        self.assertEqual(found["differences"], {"lower": [0, 0], "upper": [0, 0]})
        self.assertEqual(found["classes"]["verdict"], "verified")
        self.assertEqual(found["x"], [])

    def test_other_structures(self):
        """relu(x) + relu(-x) + 1/2 beside |x|: bounds of two networks."""
        other = write_model(self.work / "abs.onnx",
                            model("abs", [node("Abs", ["x"], "y")], [], (1, 1), (1, 1)))
        found = self.compare(self.network("a", offset=0.5), other)
        self.assertAlmostEqual(found["attained"], 0.5, places=6)
        self.assertLess(found["proven"], 0.5 * 1.06)

    def test_within(self):
        first, second = self.network("a"), self.network("b", 1.25)
        found = self.compare(first, second, "--within", "0.2500001")
        self.assertEqual(found["within"]["verdict"], "verified")
        found = self.compare(first, second, "--within", "1/4")
        self.assertEqual(found["within"]["verdict"], "verified")
        self.assertLessEqual(found["proven"], 0.25)
        found = self.compare(first, second, "--within", "0.2499", code=3)
        self.assertEqual(found["within"]["verdict"], "falsified")
        y = [float(each) for each in found["within"]["counterexample"]["y"]]
        self.assertGreater(y[1] - y[0], 0.2499)
        self.assertEqual(len(found["within"]["counterexample"]["x"]), 1)

    def test_ends_that_are_no_doubles(self):
        """0 and x differ by at most 1/10 where |x| is at most 1/10, as it is written."""
        def network(name, factor):
            return write_model(self.work / f"{name}.onnx",
                               model(name, [node("Gemm", ["x", "w"], "y")],
                                     [tensor("w", (1, 1), (factor,))], (1, 1), (1, 1)))

        pair = [network("zero", 0), network("one", 1)]
        decimals = self.write("decimals.json", {"lower": [-0.1], "upper": [0.1]})
        named = self.work / "tenth.vnnlib"
        named.write_text("(declare-const X_0 Real)(declare-const Y_0 Real)"
                         "(assert (<= -0.1 X_0 0.1))(assert (<= Y_0 0))")
        boxes = [["--box", decimals], ["--centre", "0", "--eps", "1/10"], ["--property", named]]
        for box in boxes:
            found = self.run_json("compare", *pair, *box, "--within", "0.1", "--timeout", "1", code=None)
            self.assertIn(found["within"]["verdict"], ("verified", "unknown"), box)
            self.assertLessEqual(abs(Fraction(found["x"][0])), Fraction(1, 10))
            within = ["--within", "0.0999999999999999"]
            found = self.run_json("compare", *pair, *box, *within, code=3)
            x = Fraction(found["within"]["counterexample"]["x"][0])
            self.assertLessEqual(abs(x), Fraction(1, 10))
        point = self.write("point.json", {"lower": [0.1], "upper": [0.1]})
        found = self.run_json("compare", *pair, "--box", point, "--within", "0.09", code=3)
        self.assertEqual(found["within"]["counterexample"]["x"], ["0.1"])

    def test_smooth_functions(self):
        for last in ("Tanh", "Sigmoid", "Sin"):
            found = self.compare(self.network("a", last=last), self.network("b", 1.25, last=last))
            self.assertGreater(found["attained"], 0.1)
            self.assertLess(found["proven"], found["attained"] * 1.06, last)

    def test_classes(self):
        box = self.write("two.json", BOX)
        changed = self.changed(TINY, 0.25)
        found = self.run_json("compare", TINY, changed, "--box", box, "--classes", code=3)
        self.assertEqual(found["classes"]["verdict"], "falsified")
        y = [float(each) for each in found["classes"]["counterexample"]["y"]]
        self.assertNotEqual(y[0] > y[1], y[2] > y[3])

    def changed(self, path, size):
        """The network with other biases: numbers of a Gemm's file are found by their bytes."""
        sys.path.insert(0, str(MODELS))
        import onnx_format
        network = onnx_format.decode("Model", path.read_bytes())
        rng = random.Random(1)
        for each in network["graph"]["initializer"]:
            if each.get("float_data"):
                each["float_data"] = [x + rng.uniform(-size, size) for x in each["float_data"]]
        made = self.work / "changed.onnx"
        made.write_bytes(onnx_format.encode("Model", network))
        return made

    def test_neurons_that_are_always_zero(self):
        """Their slopes are 1 and 0 at once."""
        def network(name, slope):
            nodes = [node("Gemm", ["x", "w"], "h"), node("Relu", ["h"], "r"), node("Gemm", ["r", "v"], "y")]
            initializers = [tensor("w", (1, 2), (1, 0)), tensor("v", (2, 1), (slope, 1))]
            return write_model(self.work / f"{name}.onnx", model(name, nodes, initializers, (1, 1), (1, 1)))

        other = [node("Gemm", ["x", "w"], "h"), node("Relu", ["h"], "r"), node("Gemm", ["r", "v"], "y")]
        weights = [tensor("w", (1, 2), (1, 0)), tensor("v", (2, 1), (1.25, 2))]
        second = write_model(self.work / "c.onnx", model("c", other, weights, (1, 1), (1, 1)))
        found = self.compare(network("a", 1), second)
        self.assertLess(found["proven"], 0.25 * 1.06)
        found = self.run_json("compare", network("a", 1), network("b", 1.25), "--box", self.box(0, 0))
        self.assertEqual(found["proven"], 0)

    def test_without_finite_bounds(self):
        """1 / x on a box around 0: nothing is proven, and that is said."""
        def network(name, factor):
            nodes = [node("Reciprocal", ["x"], "r"), node("Mul", ["r", "f"], "y")]
            return write_model(self.work / f"{name}.onnx",
                               model(name, nodes, [tensor("f", (1, 1), (factor,))], (1, 1), (1, 1)))

        pair = [network("a", 1), network("b", 2)]
        for more in ([], ["--within", "1"]):
            found = self.run_json("compare", *pair, "--box", self.box(), "--timeout", "2", *more, code=None)
            self.assertEqual(found["proven"], "inf", more)

    def test_one_output_and_many(self):
        found = self.compare(self.network("a"), self.network("b", 1.25), "--classes")
        self.assertEqual(found["classes"]["verdict"], "verified")
        wide = write_model(self.work / "wide.onnx",
                           model("wide", [node("Gemm", ["x", "w"], "y")],
                                 [tensor("w", (1, 2000), [1] * 2000)], (1, 1), (1, 2000)))
        self.assert_refused("BF3416", "compare", wide, wide, "--box", self.box(), "--classes")

    def test_box_of_a_property(self):
        property_file = MODELS / "properties" / "collision_avoidance_6x50.vnnlib"
        found = self.run_json("compare", CONTROLLER, CONTROLLER, "--property", property_file)
        self.assertEqual(found["proven"], 0)
        many = MODELS / "properties" / "tiny_cases.vnnlib"
        self.assert_refused("BF3013", "compare", TINY, TINY, "--property", many)

    def test_float32(self):
        found = self.compare(self.network("a"), self.network("b", 1.25), "--semantics", "float32")
        self.assertGreaterEqual(found["proven"], 0.25)
        self.assertLess(found["proven"], 0.27)

    def test_text(self):
        output, _ = self.run_tool("compare", self.network("a"), self.network("b", 1.25), "--box",
                                  self.box(), "--within", "1")
        self.assertIn("within   verified", output)
        self.assertIn("models   a.onnx, b.onnx: the second less the first", output)

    def test_refusals(self):
        box = self.box()
        first = self.network("a")
        self.assert_refused("BF3416", "compare", first, TINY, "--box", box)
        self.assert_refused("BF3013", "compare", first, first, "--box", box, "--within", "-1")
        _, errors = self.run_tool("compare", first, first, code=2)
        self.assertIn("--box is required", errors)
        _, errors = self.run_tool("compare", first, "--box", box, code=2)
        self.assertIn("OTHER", errors)


if __name__ == "__main__":
    unittest.main()
