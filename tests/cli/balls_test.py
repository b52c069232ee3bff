"""bf-aot verify --norm: properties of the balls in boxes."""

import math
import random
import unittest
from fractions import Fraction

from harness import Case
from small_models import model, node, tensor, write_model

HIDDEN = 6
SHORT = ["--search", "0.2", "--branch", "0.2"]


def claim(centre, radius, worst):
    """Violated where y <= worst; the box around the ball."""
    text = "(declare-const Y_0 Real)"
    for i, x in enumerate(centre):
        text += (f"(declare-const X_{i} Real)(assert (>= X_{i} {x - radius}))"
                 f"(assert (<= X_{i} {x + radius}))")
    return text + f"(assert (<= Y_0 {worst:.9f}))"


class Balls(Case):
    def verdict(self, network, text, norm, *more):
        found = self.run_json("verify", network, self.write("p.vnnlib", text), "--norm", norm, *more,
                              code=None)
        return found["verdict"], found

    def linear(self, weights):
        text = model("linear", [node("MatMul", ["x", "w"], "y")],
                     [tensor("w", [len(weights), 1], weights)], [1, len(weights)], [1, 1])
        return write_model(self.work / "linear.onnx", text)

    def witness(self, found):
        return [Fraction(x) for x in found["counterexample"]["x"]]

    def test_verdicts_are_those_of_the_least_value_of_a_linear_network(self):
        network = self.linear([3, -4, 0.5])
        for norm, dual in (("linf", 7.5), ("l2", math.sqrt(25.25)), ("l1", 4)):
            least = 1.5 - dual / 2  # about (0.5, 0, 0), of radius 0.5
            holds, _ = self.verdict(network, claim([0.5, 0, 0], 0.5, least - 1e-3), norm)
            self.assertEqual(holds, "verified", norm)
            fails, found = self.verdict(network, claim([0.5, 0, 0], 0.5, least + 1e-2), norm)
            self.assertEqual(fails, "falsified", norm)
            parts = [abs(x - c) * 2 for x, c in zip(self.witness(found), (Fraction(1, 2), 0, 0))]
            self.assertLessEqual({"linf": max(parts), "l1": sum(parts),
                                  "l2": sum(x * x for x in parts)}[norm], 1)

    def test_no_verdict_is_wrong_on_networks_of_relus(self):
        verdicts = []
        for seed in range(6):
            rng = random.Random(seed)
            w = [rng.randint(-16, 16) / 8 for _ in range(2 * HIDDEN)]
            b = [rng.randint(-8, 8) / 8 for _ in range(HIDDEN)]
            v = [rng.randint(-16, 16) / 8 for _ in range(HIDDEN)]
            nodes = [node("MatMul", ["x", "w"], "wx"), node("Add", ["wx", "b"], "z"),
                     node("Relu", ["z"], "h"), node("MatMul", ["h", "v"], "y")]
            network = write_model(self.work / "relus.onnx", model(
                "relus", nodes, [tensor("w", [2, HIDDEN], w), tensor("b", [HIDDEN], b),
                                 tensor("v", [HIDDEN, 1], v)], [1, 2], [1, 1]))

            def value(x, y, w=w, b=b, v=v):
                return sum(v[j] * max(0, w[j] * x + w[HIDDEN + j] * y + b[j]) for j in range(HIDDEN))

            def in_l1(x, y):
                return abs(x) + abs(y) <= 1

            steepest = sum(abs(v[j]) * math.hypot(w[j], w[HIDDEN + j]) for j in range(HIDDEN))
            step = 1 / 64
            grid = [(i * step, j * step) for i in range(-64, 65) for j in range(-64, 65)]
            for norm, inside in (("l2", lambda x, y: math.hypot(x, y) <= 1), ("l1", in_l1)):
                least = min(value(x, y) for x, y in grid if inside(x, y))
                # Every point of the ball has one of the grid in it that is less than two steps away.
                below = least - 2 * step * steepest
                holds, _ = self.verdict(network, claim([0, 0], 1, below), norm)
                fails, found = self.verdict(network, claim([0, 0], 1, least + 1e-2), norm)
                self.assertNotEqual(holds, "falsified")
                self.assertNotEqual(fails, "verified")
                if fails == "falsified":
                    x, y = self.witness(found)
                    size = x * x + y * y if norm == "l2" else abs(x) + abs(y)
                    self.assertLessEqual(size, 1)
                verdicts += [holds == "verified", fails == "falsified"]
        self.assertEqual(verdicts, [True] * 24)

    def test_networks_with_maxima(self):
        """max(3 x0, x1) of a ball, by boxes' bounds and neurons' alike."""
        nodes = [node("MatMul", ["x", "w"], "a"), node("MatMul", ["x", "v"], "b"), node("Max", ["a", "b"], "y")]
        network = write_model(self.work / "max.onnx", model(
            "max", nodes, [tensor("w", [2, 1], [3, 0]), tensor("v", [2, 1], [0, 1])], [1, 2], [1, 1]))
        # The least value is where 3 x0 = x1 <= 0: of l2 -3 / sqrt 10, of l1 -3/4.
        for norm, least in (("l2", -3 / math.sqrt(10)), ("l1", -0.75)):
            self.assertEqual(self.verdict(network, claim([0, 0], 1, least - 1e-2), norm)[0], "verified")
            self.assertEqual(self.verdict(network, claim([0, 0], 1, least + 1e-2), norm)[0], "falsified")

    def test_time_that_is_over_is_no_error(self):
        """What stays open is said by the verifier of boxes, after the time that it had."""
        below = math.floor((1.5 - math.sqrt(25.25) / 2) * 1e9) / 1e9  # of the least value, by less than 1e-9
        verdict, found = self.verdict(self.linear([3, -4, 0.5]), claim([0.5, 0, 0], 0.5, below), "l2", "--timeout", "1")
        self.assertEqual(verdict, "timeout")
        self.assertEqual(len(found["unknown"]["box"]["lower"]), 3)

    def test_conditions_on_inputs_leave_the_ball_as_it_is(self):
        """The ball is that of the box, not that of what the condition leaves of the box."""
        linear = self.linear([1, -1])
        nodes = [node("MatMul", ["x", "w"], "a"), node("Relu", ["a"], "h"), node("MatMul", ["h", "v"], "y")]
        relus = write_model(self.work / "relus.onnx", model(
            "relus", nodes, [tensor("w", [2, 2], [1, -1, -1, 1]), tensor("v", [2, 1], [1, -1])], [1, 2], [1, 1]))
        box = ("(declare-const Y_0 Real)" + "".join(f"(declare-const X_{i} Real)(assert (<= -1 X_{i} 1))" for i in (0, 1)))
        # y = x0 - x1 is 1 at (1, 0), which both balls hold, and at most the root of 2 in them.
        for network in (linear, relus):
            for norm in ("l2", "l1"):
                for condition in ("(>= (+ X_0 X_1) 1)", "(>= (+ X_0 X_1 (* X_0 X_1)) 1)"):
                    text = box + f"(assert {condition})(assert (>= Y_0 {{}}))"
                    found, example = self.verdict(network, text.format(0.9), norm, *SHORT)
                    self.assertNotEqual(found, "verified", condition)
                    if found == "falsified":
                        x, y = self.witness(example)
                        self.assertLessEqual(x * x + y * y if norm == "l2" else abs(x) + abs(y), 1)
                    self.assertEqual(self.verdict(network, text.format(1.5), norm)[0], "verified")

    def test_many_inputs_whose_ends_are_no_doubles(self):
        for count in (20, 70, 140):
            network = self.linear([1] * count)
            text = "(declare-const Y_0 Real)(declare-const X_0 Real)(assert (<= -1 X_0 1))" + "".join(
                f"(declare-const X_{i} Real)(assert (<= 0 X_{i} 0.1))" for i in range(1, count))
            least = Fraction(count - 1, 20) - 1  # of l1, at X_0 = -1
            for limit, wrong in ((least, "verified"), (least - Fraction(1, 1000), "falsified")):
                found, _ = self.verdict(network, text + f"(assert (<= Y_0 {float(limit)}))", "l1", *SHORT)
                self.assertNotEqual(found, wrong, f"{count} inputs")
            self.assertEqual(found, "verified")

    def test_what_is_about_boxes_is_refused(self):
        network = self.linear([3, -4])
        text = self.write("p.vnnlib", claim([0, 0], 1, -9))
        self.assert_refused("BF2117", "verify", network, text, "--norm", "l2", "--method", "ibp")
        for more in (["--proof", "p.bfproof"], ["--checkpoint", "c"], ["--measure", "0.1"]):
            self.run_tool("verify", network, text, "--norm", "l2", *more, code=2)


if __name__ == "__main__":
    unittest.main()
