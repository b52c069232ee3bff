"""Tests of bf-aot verify on kinds of networks. Run as cli_test.py is."""

import fractions
import random
import sys
import unittest

sys.dont_write_bytecode = True
from harness import Case  # noqa: E402
from small_models import (model, node, pooled_model, pooled_question, tensor,  # noqa: E402
                          write_model)

class Classifier(Case):
    """A network that ends in Softmax, whose values are 0, 1 and what is near to them."""

    FIRST = ((1, -2, 0.5, 1), (1, 1, -1, 2))
    BIAS = (0.25, 0.5, -0.25, 0)
    SECOND = ((3, -1, 0.5), (0.25, 7, 0.125), (-0.25, 0.5, 5), (1, -0.75, 0.0625))
    OFFSET = (40, 0, -0.125)

    def classifier(self, last="Softmax"):
        nodes = [node("Gemm", ["x", "w", "b"], "h"), node("Relu", ["h"], "r"),
                 node("Gemm", ["r", "v", "c"], "z"), node(last, ["z"], "y")]
        initializers = [tensor("w", (2, 4), sum(self.FIRST, ())), tensor("b", (4,), self.BIAS),
                        tensor("v", (4, 3), sum(self.SECOND, ())), tensor("c", (3,), self.OFFSET)]
        text = model("classifier", nodes, initializers, (1, 2), (1, 3))
        return write_model(self.work / f"{last}.onnx", text)

    def before_last(self, x):
        """z at a point of numbers that are exact in double."""
        h = [max(0, sum(a * w[k] for a, w in zip(x, self.FIRST)) + b)
             for k, b in enumerate(self.BIAS)]
        return [sum(a * v[k] for a, v in zip(h, self.SECOND)) + c
                for k, c in enumerate(self.OFFSET)]

    def verdict(self, clauses, *more, code, last="Softmax"):
        names = "".join(f"(declare-const X_{i} Real)(assert (<= -1 X_{i} 1))" for i in (0, 1))
        names += "".join(f"(declare-const Y_{i} Real)" for i in range(3))
        path = self.write("p.vnnlib", names + clauses)
        return self.run_json("verify", self.classifier(last), path, "--jit", "off", *more, code=code)

    def test_outputs_are_compared_before_softmax(self):
        for last in ("Softmax", "LogSoftmax", "Sigmoid", "Tanh", "Identity"):
            found = self.verdict("(assert (or (and (>= Y_1 Y_0)) (and (>= Y_2 Y_0))))", code=0,
                                 last=last)
            self.assertEqual(found["verdict"], "verified")

    def test_counterexamples_have_the_outputs_of_the_network(self):
        for last in ("Softmax", "LogSoftmax"):
            found = self.verdict("(assert (>= Y_2 Y_1))", code=3, last=last)["counterexample"]
            x = [float(each) for each in found["x"]]
            z = self.before_last(x)
            self.assertGreaterEqual(z[2], z[1])
            self.assertEqual(len(found["y"]), 3)
            y = [float(each) for each in found["y"]]
            self.assertAlmostEqual(y[0], 1 if last == "Softmax" else 0)
            self.assertLess(y[2], 1e-10)
            if last == "LogSoftmax":
                self.assertAlmostEqual(y[2], z[2] - z[0], places=6)

    def test_verdicts_agree_with_exact_points(self):
        rng = random.Random(5)

        def numbers(count):
            return tuple(rng.randint(-16, 16) / 8 for _ in range(count))
        verdicts = []
        for _ in range(24):
            self.FIRST, self.BIAS = (numbers(4), numbers(4)), numbers(4)
            self.SECOND, self.OFFSET = tuple(numbers(3) for _ in range(4)), numbers(3)
            less, more = rng.sample(range(3), 2)
            last = rng.choice(("Softmax", "LogSoftmax", "Sigmoid"))
            found = self.verdict(f"(assert (<= Y_{less} Y_{more}))", code=None, last=last)
            verdicts.append(found["verdict"])
            points = [[rng.randint(-64, 64) / 64 for _ in range(2)] for _ in range(400)]
            if verdicts[-1] == "falsified":
                points = [list(map(fractions.Fraction, found["counterexample"]["x"]))]
            holds = [z[less] <= z[more] for z in map(self.before_last, points)]
            self.assertEqual(any(holds), verdicts[-1] == "falsified")
        self.assertGreater(verdicts.count("verified"), 2)
        self.assertGreater(verdicts.count("falsified"), 2)

    def test_other_conditions_are_about_the_outputs(self):
        self.assertEqual(self.verdict("(assert (>= Y_2 0.5))", code=0)["verdict"], "verified")
        self.assertEqual(self.verdict("(assert (>= Y_0 0.5))", code=3)["verdict"], "falsified")
        self.assertEqual(self.verdict("(assert (>= (- Y_0 Y_1) 0.5))", code=3)["verdict"],
                         "falsified")
        self.assertEqual(self.verdict("(assert (>= Y_1 Y_0))(assert (>= Y_1 0.5))",
                                      code=0)["verdict"], "verified")

    def test_float32_compares_the_outputs_as_they_are(self):
        # Two small outputs may be rounded to one number, where in real arithmetic they differ.
        clauses = "(assert (<= 0.5 X_0))(assert (<= 0.5 X_1))(assert (>= Y_1 Y_2))"
        self.assertEqual(self.verdict(clauses, code=0)["verdict"], "verified")
        found = self.verdict(clauses, "--semantics", "float32", "--search", "0.2", "--branch",
                             "0.2", code=None)
        self.assertNotEqual(found["verdict"], "verified")


class Products(Case):
    """y = v relu(w (a x + b)(c x + d)), which no bound of one box decides."""

    INPUTS, HIDDEN = 20, 8

    def setUp(self):
        super().setUp()
        rng = random.Random(3)
        self.a, self.c = ([[rng.randint(-8, 8) / 16 for _ in range(self.HIDDEN)]
                           for _ in range(self.INPUTS)] for _ in range(2))
        self.w = [[rng.randint(-8, 8) / 8 for _ in range(4)] for _ in range(self.HIDDEN)]
        self.v = [1, -1, 0.5, -0.5]

    def network(self):
        nodes = [node("MatMul", ["x", "a"], "h"), node("MatMul", ["x", "c"], "g"),
                 node("Mul", ["h", "g"], "p"), node("MatMul", ["p", "w"], "z"),
                 node("Relu", ["z"], "r"), node("MatMul", ["r", "v"], "y")]
        initializers = [tensor("a", (self.INPUTS, self.HIDDEN), sum(self.a, [])),
                        tensor("c", (self.INPUTS, self.HIDDEN), sum(self.c, [])),
                        tensor("w", (self.HIDDEN, 4), sum(self.w, [])), tensor("v", (4, 1), self.v)]
        text = model("products", nodes, initializers, (1, self.INPUTS), (1, 1))
        return write_model(self.work / "products.onnx", text)

    def output(self, x):
        exact = fractions.Fraction
        h, g = ([sum(a * exact(m[k]) for a, m in zip(x, matrix)) for k in range(self.HIDDEN)]
                for matrix in (self.a, self.c))
        z = [sum(a * b * exact(w[k]) for a, b, w in zip(h, g, self.w)) for k in range(4)]
        return sum(max(0, each) * exact(v) for each, v in zip(z, self.v))

    def verdict(self, limit, *more, code):
        names = "".join(f"(declare-const X_{i} Real)(assert (<= {0.5 if i % 2 else -0.25} X_{i} "
                        f"{0.75 if i % 2 else 0}))" for i in range(self.INPUTS))
        path = self.write("p.vnnlib", names + f"(declare-const Y_0 Real)(assert (>= Y_0 {limit}))")
        return self.run_json("verify", self.network(), path, "--search", "0", "--jit", "off",
                             *more, code=code)

    def test_neurons_are_split(self):
        # Of thousands of corners none is above 0.05, but some points are above 0.125.
        found = self.verdict(0.75, "--branch", "0", code=4)
        self.assertEqual(found["neuron_nodes"], 0)
        found = self.verdict(0.75, code=0)
        self.assertEqual(found["verdict"], "verified")
        self.assertGreater(found["neuron_nodes"], 50)

    def test_counterexamples_are_exact(self):
        found = self.verdict(0.125, code=3)
        x = [fractions.Fraction(each) for each in found["counterexample"]["x"]]
        self.assertGreaterEqual(self.output(x), 0.125)


class Steps(Case):
    def test_counterexamples_behind_steps(self):
        # Two layers of signs, whose slopes are 0; all 64 inputs must lie on the right side.
        count = 64
        signs = [(-1) ** (i * i // 3) for i in range(count)]
        unit = [float(i == j) for i in range(count) for j in range(count)]
        nodes = [node("Sub", ["x", "t"], "a"), node("Sign", ["a"], "s"),
                 node("Gemm", ["s", "u", "c"], "b"), node("Sign", ["b"], "r"),
                 node("Gemm", ["r", "w"], "y")]
        initializers = [tensor("t", (1, count), [(i * 37 % 64 - 32) / 80 for i in range(count)]),
                        tensor("u", (count, count), unit), tensor("c", (count,), [0.1] * count),
                        tensor("w", (count, 1), signs)]
        text = model("steps", nodes, initializers, (1, count), (1, 1))
        names = "".join(f"(declare-const X_{i} Real)(assert (<= -1 X_{i} 1))" for i in range(count))
        path = self.write("p.vnnlib", names + f"(declare-const Y_0 Real)(assert (>= Y_0 {count}))")
        found = self.run_json("verify", write_model(self.work / "steps.onnx", text), path, "--jit",
                              "off", code=3)
        self.assertEqual(found["verdict"], "falsified")


class Maxima(Case):
    """All 36 inputs of a network with maxima vary; Y_0 - Y_1 reaches 0.7193 on the box."""

    def setUp(self):
        super().setUp()
        self.network = write_model(self.work / "pooled.onnx", pooled_model())

    def decide(self, limit, *more, code):
        return self.run_json("verify", self.network, self.write("p.vnnlib", pooled_question(limit)),
                             "--search", "0", "--jit", "off", *more, code=code)

    def test_are_split_as_relus(self):
        found = self.decide(1, "--branch", "0", code=4)
        self.assertEqual((found["verdict"], found["neuron_nodes"]), ("unknown", 0))
        found = self.decide(1, code=0)
        self.assertEqual(found["verdict"], "verified")
        self.assertGreater(found["neuron_nodes"], 10)
        self.assertEqual(found["methods"][-2:], ["alpha-crown all", "alpha-crown all without maxima"])
        # Without more steps where splits gain nothing it took over 90,000.
        self.assertLess(self.decide(0.75, code=0)["neuron_nodes"], 1000)
        found = self.decide(1, "--method", "crown", code=0)
        self.assertEqual(found["methods"], ["crown", "crown without maxima"])

    def test_violations_are_of_the_network_as_it_is(self):
        found = self.decide(-1, code=3)
        self.assertEqual(found["verdict"], "falsified")
        self.assertGreater(found["neuron_nodes"], 0)
        self.assertEqual(len(found["counterexample"]["x"]), 36)
        self.assertGreaterEqual(float(found["counterexample"]["y"][0]) + 1,
                                float(found["counterexample"]["y"][1]))

    def test_of_real_arithmetic_alone(self):
        found = self.decide(1, "--semantics", "float32", code=4)
        self.assertEqual((found["verdict"], found["neuron_nodes"]), ("unknown", 0))

    def test_without_the_pass(self):
        found = self.decide(1, "--disable-pass", "max-as-relu", code=4)
        self.assertEqual((found["verdict"], found["neuron_nodes"]), ("unknown", 0))
        self.assert_refused("BF3020", "verify", self.network,
                            self.write("p.vnnlib", pooled_question(1)), "--disable-pass",
                            "max-as-relu", "--part", "0/2", "--save-part", "part.json",
                            says=["nothing is split"])


if __name__ == "__main__":
    unittest.main()
