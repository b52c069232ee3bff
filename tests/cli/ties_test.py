"""Limits that a network meets exactly: bounds of floats never exclude what lies beyond them."""

import random
import sys
import unittest
from fractions import Fraction

from harness import Case
from small_models import model, node, tensor, write_model

BOX = "(declare-const X_0 Real)(declare-const Y_0 Real)(assert (<= {} X_0 {}))"


class Ties(Case):
    def decide(self, nodes, condition, box=(-1, 1), code=0, constants=(), more=()):
        network = write_model(self.work / "tie.onnx",
                              model("tie", nodes, constants, [1, 1], [1, 1]))
        question = self.write("tie.vnnlib", BOX.format(*box) + f"(assert {condition})")
        return self.run_json("verify", network, question, "--jit", "off", *more, code=code)

    def verify(self, operator, condition, box=(-1, 1), **given):
        return self.decide([node(operator, ["x"], "y")], condition, box, **given)

    def test_linear_pieces(self):
        for operator, condition, box in (
                ("Identity", "(> Y_0 1)", (0, 1)), ("Identity", "(< Y_0 0)", (0, 1)),
                ("Relu", "(< Y_0 0)", (-1, 1)), ("Relu", "(< Y_0 0)", (-1, 2)),
                ("Abs", "(< Y_0 0)", (-1, 1)), ("Abs", "(> Y_0 1)", (-1, 1)),
                ("Sign", "(> Y_0 1)", (-1, 1)), ("Floor", "(< Y_0 1)", (1, 1.5))):
            with self.subTest(operator=operator, condition=condition):
                self.assertEqual(self.verify(operator, condition, box)["verdict"], "verified")

    def test_ranges_of_functions(self):
        for operator, condition in (("Tanh", "(> Y_0 1)"), ("Tanh", "(< Y_0 (- 1))"),
                                    ("Sigmoid", "(> Y_0 1)"), ("Sigmoid", "(< Y_0 0)"),
                                    ("Erf", "(> Y_0 1)"), ("Exp", "(< Y_0 0)"),
                                    ("Sin", "(> Y_0 1)"), ("Softplus", "(< Y_0 0)")):
            with self.subTest(operator=operator, condition=condition):
                found = self.verify(operator, condition, (-50, 50))
                self.assertEqual(found["verdict"], "verified")

    def test_values_that_facts_name(self):
        self.assertEqual(self.verify("Sigmoid", "(< Y_0 0.5)", (0, 3))["verdict"], "verified")
        self.assertEqual(self.verify("Exp", "(< Y_0 1)", (0, 3))["verdict"], "verified")

    def test_a_limit_that_is_met_violates_a_condition_that_is_not_strict(self):
        self.assertEqual(self.verify("Relu", "(<= Y_0 0)", code=3)["verdict"], "falsified")
        self.assertEqual(self.verify("Identity", "(>= Y_0 1)", (0, 1), code=3)["verdict"],
                         "falsified")

    def test_points_at_jumps(self):
        """floor(x + 1/2) + sign(x) is 2 at 1/2, and no other number."""
        nodes = [node("Add", ["x", "half"], "h"), node("Floor", ["h"], "f"),
                 node("Sign", ["x"], "s"), node("Add", ["f", "s"], "y")]
        half = [tensor("half", (1, 1), (0.5,))]
        for condition, code in (("(= Y_0 2)", 3), ("(<= Y_0 2)", 3), ("(>= Y_0 2)", 3),
                                ("(> Y_0 2)", 0), ("(< Y_0 2)", 0)):
            with self.subTest(condition=condition):
                self.decide(nodes, condition, (0.5, 0.5), code, half)

    def test_ends_that_are_no_floats(self):
        """0.1 is no double: the box ends between two of them, and the network meets the limit there."""
        relu = [node("Relu", ["x"], "y")]
        bend = [node("MatMul", ["x", "w"], "a"), node("Relu", ["a"], "r"), node("MatMul", ["r", "v"], "y")]
        constants = [tensor("w", (1, 2), (1, -1)), tensor("v", (2, 1), (1, 1))]
        for nodes, given in ((relu, ()), ([node("Identity", ["x"], "y")], ()), (bend, constants)):
            for box in ((-0.1, 0.1), (0.1, 0.1), (0, 0.1)):
                for condition, code in (("(> Y_0 0.1)", 0), ("(>= Y_0 0.1)", 3), ("(= Y_0 0.1)", 3)):
                    with self.subTest(nodes=nodes, box=box, condition=condition):
                        found = self.decide(nodes, condition, box, code, given, more=("--timeout", "60"))
                        if code == 3:
                            self.assertIn(found["counterexample"]["x"], (["0.1"], ["-0.1"]))
        # An end that does not belong to the box is no counterexample.
        network = write_model(self.work / "tie.onnx", model("tie", relu, (), [1, 1], [1, 1]))
        question = self.write("open.vnnlib", BOX.format(0, 1) + "(assert (< X_0 0.1))(assert (>= Y_0 0.1))")
        self.assertEqual(self.run_json("verify", network, question, "--timeout", "1", code=5)["verdict"], "timeout")

    def test_limits_of_folded_weights(self):
        """3 times 0.1f is no float, but two floats are it exactly: nothing is lost at the limit."""
        nodes = [node("MatMul", ["x", "w"], "a"), node("MatMul", ["a", "v"], "y")]
        constants = [tensor("w", (1, 1), (0.1,)), tensor("v", (1, 1), (3,))]
        limit = "0.300000004470348358154296875"
        for condition, code in ((f"(> Y_0 {limit})", 0), (f"(>= Y_0 {limit})", 3)):
            with self.subTest(condition=condition):
                self.decide(nodes, condition, (0, 1), code, constants, more=("--timeout", "60"))

    def test_pieces_of_step_functions(self):
        """x - floor(x) reaches 0 and never 1; ceil(x) - x the same; |x - sign(x)| is below 2."""
        def less(first, function, second):
            return [node(function, ["x"], "f"), node("Sub", [first, second], "y")]

        for nodes, condition, code in (
                (less("x", "Floor", "f"), "(>= Y_0 1)", 0), (less("x", "Floor", "f"), "(< Y_0 0)", 0),
                (less("x", "Floor", "f"), "(<= Y_0 0)", 3), (less("f", "Ceil", "x"), "(>= Y_0 1)", 0),
                (less("f", "Ceil", "x"), "(< Y_0 0)", 0), (less("x", "Round", "f"), "(> Y_0 0.5)", 0),
                (less("x", "Round", "f"), "(< Y_0 -0.5)", 0), (less("x", "Sign", "f"), "(>= Y_0 2)", 0),
                (less("x", "Sign", "f"), "(<= Y_0 -2)", 0)):
            with self.subTest(nodes=nodes, condition=condition):
                box = (-1.5, 1.5) if "Sign" in str(nodes) else (-1, 2)
                self.decide(nodes, condition, box, code, more=("--timeout", "60"))

    def test_random_corners(self):
        # y = sum v_j relu(w_j x + b_j), whose bends are dyadic: the largest value is at one of them.
        rng = random.Random(7)
        for trial in range(12):
            bends = sorted(rng.sample(range(-7, 8), 3))
            slopes = [rng.choice((-2, -1, 1, 2)) for _ in bends]
            nodes = [node("Gemm", ["x", "w", "b"], "z"), node("Relu", ["z"], "h"),
                     node("Gemm", ["h", "v"], "y")]
            constants = [tensor("w", [1, 3], [8, 8, 8]),
                         tensor("b", [3], [-bend for bend in bends]), tensor("v", [3, 1], slopes)]
            points = [Fraction(-1), Fraction(1)] + [Fraction(bend, 8) for bend in bends]
            most = max(sum(v * max(8 * x - b, 0) for v, b in zip(slopes, bends)) for x in points)
            limit = f"(- {-most})" if most < 0 else str(most)
            with self.subTest(trial=trial):
                found = self.decide(nodes, f"(> Y_0 {limit})", constants=constants)
                self.assertEqual(found["verdict"], "verified")

    def hidden(self, weights, bends, slopes, limit):
        """y = sum v_j relu(w_j x - b_j) > limit on [-1, 1]."""
        nodes = [node("Gemm", ["x", "w", "b"], "z"), node("Relu", ["z"], "h"),
                 node("Gemm", ["h", "v"], "y")]
        constants = [tensor("w", [1, len(weights)], weights),
                     tensor("b", [len(weights)], [-bend for bend in bends]),
                     tensor("v", [len(weights), 1], slopes)]
        limit = f"(- {-limit})" if limit < 0 else str(limit)
        return self.decide(nodes, f"(> Y_0 {limit})", constants=constants, more=("--timeout", "60"))

    def test_random_corners_at_no_float(self):
        # As above with bends at thirds, fifths and sevenths; slopes make values whole numbers.
        rng = random.Random(11)
        for trial in range(6):
            weights = [rng.choice((-7, -6, -5, -3, 3, 5, 6, 7)) for _ in range(3)]
            bends = [rng.randint(-5, 5) for _ in weights]
            slopes = [210 * rng.choice((-2, -1, 1, 2)) for _ in weights]
            points = [Fraction(-1), Fraction(1)]
            points += [x for x in map(Fraction, bends, weights) if abs(x) <= 1]
            most = max(sum(v * max(w * x - b, 0) for v, w, b in zip(slopes, weights, bends)) for x in points)
            with self.subTest(trial=trial):
                self.assertEqual(most.denominator, 1)
                self.assertEqual(self.hidden(weights, bends, slopes, most.numerator)["verdict"], "verified")

    def test_a_limit_that_is_met_everywhere(self):
        # Both neurons cancel, so that bounds of any box miss 0 by roundings.
        self.assertEqual(self.hidden([-7, -7], [-4, -4], [-2, 2], 0)["verdict"], "verified")


if __name__ == "__main__":
    sys.exit(unittest.main())
