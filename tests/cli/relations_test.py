"""Conditions that speak of several inputs, or of inputs and outputs: proofs use them, and
counterexamples satisfy them exactly."""

import itertools
import random
import sys
import unittest
from fractions import Fraction

from harness import Case
from small_models import model, node, tensor, write_model


def number(value):
    value = Fraction(value)
    text = str(abs(value.numerator))
    if value.denominator != 1:
        text = f"(/ {text} {value.denominator})"
    return f"(- {text})" if value < 0 else text


def linear(factors, variable="X"):
    return "(+ 0 " + " ".join(f"(* {number(f)} {variable}_{i})"
                              for i, f in enumerate(factors) if f != 0) + ")"


def solve(rows):
    """The one solution of equations, each its factors and its value; None where there is not one."""
    n = len(rows)
    for i in range(n):
        pivot = next((r for r in range(i, n) if rows[r][i] != 0), None)
        if pivot is None:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [each / rows[i][i] for each in rows[i]]
        for r in range(n):
            if r != i:
                rows[r] = [a - rows[r][i] * b for a, b in zip(rows[r], rows[i])]
    return [row[n] for row in rows]


class Layers:
    """Dense layers with ReLU between them, of numbers that float32 holds."""

    def __init__(self, weights):
        self.weights = [([list(map(Fraction, row)) for row in matrix], list(map(Fraction, bias)))
                        for matrix, bias in weights]

    @property
    def inputs(self):
        return len(self.weights[0][0][0])

    @property
    def outputs(self):
        return len(self.weights[-1][1])

    def write(self, path):
        nodes, constants, value = [], [], "x"
        for k, (matrix, bias) in enumerate(self.weights):
            last = k + 1 == len(self.weights)
            made = "y" if last else f"z{k}"
            nodes.append(node("Gemm", [value, f"w{k}", f"b{k}"], made, "",
                              'attribute { name: "transB" type: INT i: 1 }'))
            numbers = [float(each) for row in matrix for each in row]
            constants += [tensor(f"w{k}", [len(matrix), len(matrix[0])], numbers),
                          tensor(f"b{k}", [len(bias)], [float(each) for each in bias])]
            if not last:
                nodes.append(node("Relu", [made], f"a{k}"))
                value = f"a{k}"
        return write_model(path, model("layers", nodes, constants, [1, self.inputs],
                                       [1, self.outputs]))

    def at(self, x):
        for k, (matrix, bias) in enumerate(self.weights):
            x = [sum((w * v for w, v in zip(row, x)), b) for row, b in zip(matrix, bias)]
            if k + 1 < len(self.weights):
                x = [max(v, Fraction(0)) for v in x]
        return x


def identity(n):
    return [[1 if i == j else 0 for j in range(n)] for i in range(n)]


def weighted_sum(factors):
    """y = sum factor_i relu(x_i)."""
    n = len(factors)
    return Layers([(identity(n), [0] * n), ([factors], [0])])


class Relations(Case):
    def ask(self, layers, conditions, box=(0, 1), seconds=60):
        """The verdict, and the counterexample's inputs and outputs."""
        network = layers.write(self.work / "network.onnx")
        low, high = map(number, box)
        text = "".join(f"(declare-const X_{i} Real)(assert (<= {low} X_{i} {high}))\n"
                       for i in range(layers.inputs))
        text += "".join(f"(declare-const Y_{i} Real)\n" for i in range(layers.outputs))
        text += "".join(f"(assert {condition})\n" for condition in conditions)
        question = self.write("question.vnnlib", text)
        found = self.run_json("verify", network, question, "--jit", "off", "--timeout", str(seconds),
                              code=None)
        if found["counterexample"] is None:
            return found["verdict"], None, None
        x = [Fraction(each) for each in found["counterexample"]["x"]]
        self.assertTrue(all(Fraction(box[0]) <= each <= Fraction(box[1]) for each in x))
        return found["verdict"], x, layers.at(x)

    def decide(self, layers, conditions, box=(0, 1), expected="verified"):
        verdict, x, y = self.ask(layers, conditions, box)
        self.assertEqual(verdict, expected)
        return x, y

    def test_a_polytope(self):
        # y = relu(x_0) + relu(x_1) is at most 1 where x_0 + x_1 <= 1, and 2 on the box.
        layers = weighted_sum([1, 1])
        half = "(<= (+ X_0 X_1) 1)"
        self.decide(layers, [half, "(>= Y_0 1.01)"])
        x, y = self.decide(layers, [half, "(>= Y_0 0.99)"], expected="falsified")
        self.assertLessEqual(sum(x), 1)
        self.assertGreaterEqual(y[0], Fraction("0.99"))
        self.decide(layers, ["(>= Y_0 1.01)"], expected="falsified")

    def test_limits_that_are_met(self):
        layers = weighted_sum([1, 1])
        self.decide(layers, ["(<= (+ X_0 X_1) 1)", "(> Y_0 1)"])
        self.decide(layers, ["(< (+ X_0 X_1) 1)", "(>= Y_0 1)"])
        x, y = self.decide(layers, ["(<= (+ X_0 X_1) 1)", "(>= Y_0 1)"], expected="falsified")
        self.assertEqual((sum(x), y[0]), (1, 1))

    def test_thirds(self):
        layers = weighted_sum([1, 1])
        relation = "(<= (+ (* (/ 1 3) X_0) (* (/ 1 3) X_1)) (/ 2 7))"
        self.decide(layers, [relation, "(> Y_0 (/ 6 7))"])
        self.decide(layers, [relation, "(>= Y_0 0.86)"])
        x, _ = self.decide(layers, [relation, "(>= Y_0 0.85)"], expected="falsified")
        self.assertLessEqual(sum(x), Fraction(6, 7))

    def test_equality(self):
        layers = weighted_sum([1, 2])
        equal = "(= (+ X_0 X_1) (/ 1 3))"
        self.decide(layers, [equal, "(>= Y_0 0.67)"])
        self.decide(layers, [equal, "(<= Y_0 0.33)"])
        x, y = self.decide(layers, [equal, "(>= Y_0 0.6)"], expected="falsified")
        self.assertEqual(sum(x), Fraction(1, 3))
        self.assertGreaterEqual(y[0], Fraction("0.6"))

    def test_order(self):
        # y = sum relu(x_i - x_(i+1)) is 0 where the inputs rise.
        for n in (3, 8, 18):
            with self.subTest(inputs=n):
                rows = [[1 if j == i else -1 if j == i + 1 else 0 for j in range(n)]
                        for i in range(n - 1)]
                layers = Layers([(rows, [0] * (n - 1)), ([[1] * (n - 1)], [0])])
                order = [f"(<= X_{i} X_{i + 1})" for i in range(n - 1)]
                self.decide(layers, order + ["(>= Y_0 0.01)"])
                self.decide(layers, order[1:] + ["(>= Y_0 0.01)"], expected="falsified")
                # The ends are compared by all conditions together.
                ends = Layers([([[1] + [0] * (n - 2) + [-1]], [0]), ([[1]], [0])])
                self.decide(ends, order[::-1] + ["(>= Y_0 0.01)"])

    def test_simplex(self):
        for n in (5, 12, 20):
            with self.subTest(inputs=n):
                factors = [(7 * i) % n for i in range(n)]
                layers = weighted_sum(factors)
                whole = f"(= {linear([1] * n)} 1)"
                self.decide(layers, [whole, f"(>= Y_0 {n - 1 + 0.1})"])
                x, y = self.decide(layers, [whole, f"(>= Y_0 {n - 1 - 0.5})"], expected="falsified")
                self.assertEqual(sum(x), 1)
                self.assertGreaterEqual(y[0], Fraction(2 * n - 3, 2))

    def test_octahedron(self):
        # sum |x_i| <= 1/2, as one condition for each choice of signs.
        n = 4
        conditions = [f"(<= {linear([1 if s >> i & 1 else -1 for i in range(n)])} 0.5)"
                      for s in range(2 ** n)]
        absolute = Layers([(identity(n) + [[-each for each in row] for row in identity(n)],
                            [0] * (2 * n)), ([[1] * (2 * n)], [0])])
        self.decide(absolute, conditions + ["(>= Y_0 0.51)"], box=(-1, 1))
        x, _ = self.decide(absolute, conditions + ["(>= Y_0 0.49)"], box=(-1, 1),
                           expected="falsified")
        self.assertLessEqual(sum(map(abs, x)), Fraction(1, 2))

    def copies(self, seed, rising):
        """f(x') - f(x) of inputs x, x', with f of two ReLU layers; rising: of positive weights."""
        rng = random.Random(seed)

        def matrix(rows, columns):
            least = 0 if rising else -4
            return [[Fraction(rng.randint(least, 4), 4) for _ in range(columns)]
                    for _ in range(rows)]

        first, second, last = matrix(6, 3), matrix(4, 6), matrix(1, 4)
        bias, other = ([Fraction(rng.randint(-4, 4), 4) for _ in range(k)] for k in (6, 4))

        def twice(block, rows, columns):
            return ([row + [0] * columns for row in block] +
                    [[0] * columns + row for row in block])

        return Layers([(twice(first, 6, 3), bias * 2), (twice(second, 4, 6), other * 2),
                       ([[-each for each in last[0]] + last[0]], [0])])

    def test_monotone(self):
        relations = [f"(<= X_{i} X_{i + 3})" for i in range(3)]
        for seed in range(3):
            with self.subTest(seed=seed):
                self.decide(self.copies(seed, True), relations + ["(<= Y_0 -0.01)"], box=(-1, 1))
        x, y = self.decide(self.copies(1, False), relations + ["(<= Y_0 -0.01)"], box=(-1, 1),
                           expected="falsified")
        self.assertTrue(all(a <= b for a, b in zip(x[:3], x[3:])))
        self.assertLessEqual(y[0], Fraction("-0.01"))

    def test_conditions_on_inputs_and_outputs(self):
        # y = relu(x_0) + relu(x_1) is at least x_0, and x_0 + x_1 on the box.
        layers = weighted_sum([1, 1])
        self.decide(layers, ["(<= Y_0 (- X_0 0.01))"])
        self.decide(layers, ["(< Y_0 X_0)"])
        self.decide(layers, ["(!= Y_0 (+ X_0 X_1))"])
        self.decide(layers, ["(<= Y_0 (+ X_0 0.1))", "(>= X_1 (+ X_0 0.2))"])
        x, y = self.decide(layers, ["(<= Y_0 (+ X_0 0.1))", "(>= X_0 X_1)"], expected="falsified")
        self.assertTrue(x[0] >= x[1] and y[0] <= x[0] + Fraction("0.1"))

    def test_nothing_is_left(self):
        layers = weighted_sum([1, 1, 1])
        self.decide(layers, ["(>= (+ X_0 X_1) 3)", "(>= Y_0 0)"])
        self.decide(layers, ["(>= (+ X_0 X_1) 1.5)", "(>= (- X_0 X_1) 0.9)", "(>= Y_0 0)"])
        # Each two of them leave some points.
        pairs = ["(>= (+ X_0 X_1) 1.4)", "(>= (+ X_1 X_2) 1.4)", "(>= (+ X_0 X_2) 1.4)"]
        self.decide(layers, pairs + ["(<= (+ X_0 X_1 X_2) 2)", "(>= Y_0 0)"])
        # They meet at one point, which a strict condition leaves out.
        for strict, verdict in ((">", "verified"), (">=", "falsified")):
            meet = [f"({strict} (+ X_0 X_1) 1)", "(<= X_0 0.25)", "(<= X_1 0.75)"]
            self.decide(layers, meet + ["(>= Y_0 0)"], expected=verdict)

    def test_alternatives(self):
        layers = weighted_sum([1, 1])
        self.decide(layers, ["(or (and (<= (+ X_0 X_1) 0.5) (>= Y_0 0.6))"
                             "    (and (<= X_0 (- X_1 0.5)) (>= Y_0 1.6)))"])
        x, y = self.decide(layers, ["(or (and (<= (+ X_0 X_1) 0.5) (>= Y_0 0.6))"
                                    "    (and (<= X_0 (- X_1 0.5)) (>= Y_0 1.4)))"],
                           expected="falsified")
        self.assertTrue(x[0] <= x[1] - Fraction(1, 2) and y[0] >= Fraction("1.4"))

    def test_random_networks_against_all_vertices(self):
        # The largest value of one layer of ReLUs on a polytope is at a point where as many lines
        # meet as there are inputs: bends, conditions and ends of the box.
        rng = random.Random(23)
        decided = asked = 0
        for trial in range(12):
            n = 2 + trial % 2
            weights = [[rng.randint(-4, 4) for _ in range(n)] for _ in range(4)]
            bends = [Fraction(rng.randint(-4, 4), 4) for _ in weights]
            layers = Layers([(weights, bends), ([[rng.randint(-3, 3) for _ in weights]], [0])])
            faces = []  # factors x <= limit
            for k in range(rng.randint(1, 3)):
                factors = [rng.randint(-3, 3) for _ in range(n)]
                limit = Fraction(rng.randint(-2, 4), rng.choice((2, 3)))
                faces.append((factors, limit))
                if k == 0 and trial % 3 == 0:
                    faces.append(([-each for each in factors], -limit))
            most = self.largest(layers, faces)
            conditions = [f"(<= {linear(factors)} {number(limit)})" for factors, limit in faces]
            for offset, violated in ((Fraction(1, 50), False), (-Fraction(1, 50), True)):
                with self.subTest(trial=trial, offset=offset):
                    limit = (most if most is not None else 0) + offset
                    verdict, x, y = self.ask(layers, conditions + [f"(>= Y_0 {number(limit)})"],
                                             box=(-1, 1), seconds=10)
                    asked += 1
                    decided += verdict in ("verified", "falsified")
                    self.assertNotEqual(verdict, "verified" if violated and most is not None
                                        else "falsified")
                    if x is not None:
                        self.assertGreaterEqual(y[0], limit)
                        for factors, limit in faces:
                            self.assertLessEqual(sum(f * v for f, v in zip(factors, x)), limit)
        self.assertGreaterEqual(decided, asked - 1)

    @staticmethod
    def largest(layers, faces):
        """The largest value on the part of [-1, 1] that faces leave; None where that is nothing."""
        n = layers.inputs
        ends = [([sign if i == j else 0 for j in range(n)], Fraction(1))
                for i in range(n) for sign in (1, -1)]
        matrix, bias = layers.weights[0]
        lines = faces + ends + [(row, -b) for row, b in zip(matrix, bias)]
        most = None
        for chosen in itertools.combinations(lines, n):
            x = solve([list(map(Fraction, factors)) + [Fraction(limit)] for factors, limit in chosen])
            if x is None or any(sum(f * v for f, v in zip(factors, x)) > limit
                                for factors, limit in faces + ends):
                continue
            value = layers.at(x)[0]
            most = value if most is None else max(most, value)
        return most


if __name__ == "__main__":
    sys.exit(unittest.main())
