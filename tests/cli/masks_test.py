"""Softmax with masks: what is hidden costs nothing."""

import math
import random
import sys
import unittest

from harness import Case
from small_models import ints, model, node, tensor, write_model

METHODS = ("ibp", "crown-ibp", "crown")
TOKENS = 8  # whose capped powers together would be no float
CAUSAL = [[j <= i for j in range(TOKENS)] for i in range(TOKENS)]
INFINITY = math.inf
MASKED = 1e-34  # more than what is masked may be


def softmax_of(row, visible):
    top = max(x for x, seen in zip(row, visible) if seen)
    powers = [math.exp(x - top) if seen else 0 for x, seen in zip(row, visible)]
    return [p / sum(powers) for p in powers]


class Masks(Case):
    """Softmax of the rows of an 8 x 8 input on which a mask lies."""

    def bounds(self, nodes, constants, method, box, shape=(TOKENS, TOKENS)):
        text = model("masked", list(nodes), list(constants), list(shape), list(shape))
        network = write_model(self.work / "masked.onnx", text.replace("version: 13", "version: 17"))
        found = self.run_json("run", network, "--box", self.write("box.json", box),
                              "--method", method)["outputs"]
        return [float(x) for x in found["lower"]], [float(x) for x in found["upper"]]

    def box(self, radius=0.01, seed=5):
        numbers = random.Random(seed)
        centre = [numbers.uniform(-1, 1) for _ in range(TOKENS * TOKENS)]
        return centre, {"lower": [x - radius for x in centre], "upper": [x + radius for x in centre]}

    @staticmethod
    def extremes(row, visible, j, radius):
        """Of element j: it rises with its own input and falls with the others."""
        least, most = ([x + sign * (radius if k == j else -radius) for k, x in enumerate(row)] for sign in (-1, 1))
        return softmax_of(least, visible)[j], softmax_of(most, visible)[j]

    def spellings(self, hidden):
        """The ways in which exporters write a causal mask."""
        mask = tensor("mask", [TOKENS, TOKENS], [0 if seen else hidden for row in CAUSAL for seen in row])
        yield "add", [node("Add", ["x", "mask"], "s")], [mask]
        number = tensor("hidden", [], [hidden])
        causal = "initializer { dims: 8 dims: 8 data_type: 9 name: \"causal\" int32_data: [%s] }" % ", ".join(
            str(int(seen)) for row in CAUSAL for seen in row)
        yield "where", [node("Where", ["causal", "x", "hidden"], "s")], [causal, number]
        filled = tensor("full", [TOKENS, TOKENS], [hidden] * TOKENS**2)
        one = 'initializer { data_type: 7 name: "one" int64_data: 1 }'
        yield "trilu", [node("Trilu", ["full", "one"], "above"), node("Add", ["x", "above"], "s")], [filled, one]

    def test_bounds_are_those_of_the_visible_elements(self):
        centre, box = self.box()
        ends = [self.extremes(centre[i * TOKENS:][:TOKENS], CAUSAL[i], j, 0.01)
                for i in range(TOKENS) for j in range(TOKENS)]
        for hidden in (-1e4, -1e9, -3.4028234663852886e38, -INFINITY):
            for name, nodes, constants in self.spellings(hidden):
                for method in METHODS:
                    with self.subTest(hidden=hidden, spelling=name, method=method):
                        low, high = self.bounds(nodes + [node("Softmax", ["s"], "y")], constants, method, box)
                        for at, (least, most) in enumerate(ends):
                            self.assertLessEqual(low[at], least)
                            self.assertGreaterEqual(high[at], most)
                            self.assertLessEqual(high[at] - low[at], 1.05 * (most - least) + 1e-6)
                            if not CAUSAL[at // TOKENS][at % TOKENS]:
                                self.assertEqual(low[at], 0)
                                self.assertLess(high[at], MASKED)

    def test_the_one_that_is_left_is_one(self):
        _, box = self.box()
        for name, nodes, constants in self.spellings(-INFINITY):
            with self.subTest(spelling=name):
                low, high = self.bounds(nodes + [node("Softmax", ["s"], "y")], constants, "ibp", box)
                self.assertAlmostEqual(low[0], 1, delta=2e-7)
                self.assertAlmostEqual(high[0], 1, delta=2e-7)
                self.assertEqual(set(low[1:TOKENS]), {0})
                self.assertLess(max(high[1:TOKENS]), MASKED)

    def test_means_are_of_visible_values(self):
        """softmax(x + mask) x: each element lies between the least and the largest visible value of its column."""
        centre, box = self.box(radius=2)
        shares = [softmax_of(centre[i * TOKENS:][:TOKENS], CAUSAL[i]) for i in range(TOKENS)]
        for hidden in (-1e9, -INFINITY):
            for name, nodes, constants in self.spellings(hidden):
                for method in METHODS:
                    with self.subTest(hidden=hidden, spelling=name, method=method):
                        means = [node("Softmax", ["s"], "p"), node("MatMul", ["p", "x"], "y")]
                        low, high = self.bounds(nodes + means, constants, method, box)
                        for at in range(TOKENS * TOKENS):
                            i, j = divmod(at, TOKENS)
                            column = [centre[l * TOKENS + j] for l in range(TOKENS)]
                            self.assertGreaterEqual(low[at], min(column[:i + 1]) - 2 - 1e-6)
                            self.assertLessEqual(high[at], max(column[:i + 1]) + 2 + 1e-6)
                            value = sum(p * x for p, x in zip(shares[i], column))
                            self.assertLessEqual(low[at], value)
                            self.assertGreaterEqual(high[at], value)

    def test_masks_are_moved(self):
        """-> [8, 8] -> transposed: the mask goes with what it lies on."""
        _, box = self.box()
        shape = 'initializer { dims: 2 data_type: 7 name: "square" int64_data: [8, 8] }'
        mask = tensor("mask", [TOKENS, TOKENS], [0 if j >= i else -INFINITY for i in range(TOKENS) for j in range(TOKENS)])
        nodes = [node("Add", ["x", "mask"], "m"), node("Reshape", ["m", "square"], "r"),
                 node("Transpose", ["r"], "s"), node("Softmax", ["s"], "y")]
        low, high = self.bounds(nodes, [shape, mask], "ibp", box)
        for i in range(TOKENS):
            for j in range(TOKENS):
                self.assertEqual(high[i * TOKENS + j] < MASKED, j > i)
        self.assertAlmostEqual(low[0], 1, delta=2e-7)

    def test_the_winner_is_certain(self):
        """60 apart: within 1e-6 of 1."""
        box = {"lower": [60, 0, 0], "upper": [60.5, 0.5, 0.5]}
        for method in METHODS:
            low, high = self.bounds([node("Softmax", ["x"], "y")], [], method, box, shape=(1, 3))
            self.assertGreaterEqual(low[0], 1 - 1e-6)
            self.assertLessEqual(high[0], 1 + 2e-7)
            self.assertLess(high[1], 1e-25)

    def test_logarithms_of_sums_of_any_size(self):
        """Between those of the least and of the most inputs, where powers are beyond the floats, too."""
        for offset in (-1000, -150, 0, 150, 1000):
            row = [offset - 1, offset + 0.5, offset]
            box = {"lower": [x - 0.25 for x in row], "upper": [x + 0.25 for x in row]}
            exact = offset + math.log(sum(math.exp(x - offset) for x in row))
            for method in METHODS:
                with self.subTest(offset=offset, method=method):
                    total = node("ReduceLogSumExp", ["x"], "s", attributes=ints("axes", [1]))
                    low, high = self.bounds([total, node("Mul", ["s", "ones"], "y")], [tensor("ones", [1, 3], [1] * 3)],
                                            method, box, shape=(1, 3))
                    self.assertLessEqual(low[0], exact - 0.25)
                    self.assertGreaterEqual(high[0], exact + 0.25)
                    self.assertLess(high[0] - low[0], 0.5 + 1e-6 * max(1, abs(offset)))

    def test_logarithms_of_sums_far_below(self):
        """Bounds hold where the element beside a sum is as large as the sum, or larger."""
        for offset in (-16384, -20000, -1e6):
            row = [offset - 1, offset + 0.5, offset]
            box = {"lower": [x - 0.25 for x in row], "upper": [x + 0.25 for x in row]}
            exact = offset + math.log(sum(math.exp(x - offset) for x in row))
            total = node("ReduceLogSumExp", ["x"], "s", attributes=ints("axes", [1]))
            for method in METHODS:
                with self.subTest(offset=offset, method=method):
                    low, high = self.bounds([total, node("Mul", ["s", "ones"], "y")], [tensor("ones", [1, 3], [1] * 3)],
                                            method, box, shape=(1, 3))
                    self.assertLessEqual(low[0], exact - 0.25)
                    self.assertGreaterEqual(high[0], exact + 0.25)


if __name__ == "__main__":
    sys.exit(unittest.main())
