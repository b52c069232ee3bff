"""Bounds are finite and near the range where the range is finite, over every magnitude of arguments."""

import math
import random
import struct
import sys
import unittest

from harness import Case
from small_models import model, node, tensor, write_model

METHODS = ("ibp", "crown")
AXIS = 'attribute { name: "axes" ints: 1 type: INTS }'
MOST = 3.4028234663852886e38  # of the floats


class Ranges(Case):
    def bounds(self, nodes, lower, upper, method, constants=(), outputs=None):
        count = len(lower)
        network = write_model(self.work / "ranges.onnx",
                              model("ranges", nodes, constants, [1, count], [1, outputs or count]))
        box = self.write("box.json", {"lower": lower, "upper": upper})
        found = self.run_json("run", network, "--box", box, "--method", method)["outputs"]
        return [float(x) for x in found["lower"]], [float(x) for x in found["upper"]]

    def expect_within(self, nodes, box, least, most, **given):
        """Every method's bounds lie between `least` and `most`, numbers or functions of the method."""
        for method in METHODS:
            with self.subTest(method=method):
                low, high = self.bounds(nodes, *box, method, **given)
                self.assertTrue(all(a <= b for a, b in zip(low, high)))
                self.assertGreaterEqual(min(low), least)
                self.assertLessEqual(max(high), most)
        return low, high


# Each function with its domain, in which it is monotone or whose extremes lie at `turns`.
def everywhere(x):
    return True


def positive(x):
    return x > 0


def unit(x):
    return abs(x) < 1


FUNCTIONS = {
    "Abs": (abs, everywhere, (0,)), "Asinh": (math.asinh, everywhere, ()), "Atan": (math.atan, everywhere, ()),
    "Ceil": (math.ceil, everywhere, ()), "Cosh": (math.cosh, everywhere, (0,)), "Erf": (math.erf, everywhere, ()),
    "Exp": (math.exp, everywhere, ()), "Floor": (math.floor, everywhere, ()),
    "Log": (math.log, positive, ()), "Reciprocal": (lambda x: 1 / x, lambda x: x != 0, ()),
    "Sigmoid": (lambda x: 1 / (1 + math.exp(-x)) if x > -700 else 0, everywhere, ()),
    "Sinh": (math.sinh, everywhere, ()), "Softplus": (lambda x: max(x, 0) + math.log1p(math.exp(-abs(x))), everywhere, ()),
    "Softsign": (lambda x: x / (1 + abs(x)), everywhere, ()), "Sqrt": (math.sqrt, positive, ()),
    "Tanh": (math.tanh, everywhere, ()), "Acosh": (math.acosh, lambda x: x > 1, ()),
    "Asin": (math.asin, unit, ()), "Acos": (math.acos, unit, ()), "Atanh": (math.atanh, unit, ()),
}


class Magnitudes(Ranges):
    def test_functions_over_every_magnitude(self):
        for op, (function, domain, turns) in FUNCTIONS.items():
            boxes = [(sign * 10.0 ** k, sign * 10.0 ** k * 1.5) for k in range(-9, 10) for sign in (1, -1)]
            boxes = [tuple(sorted(box)) for box in boxes] + [(-(10.0 ** k), 10.0 ** k) for k in range(-6, 3)]
            boxes = [box for box in boxes if self.is_defined(function, domain, box)]
            ranges = [self.range_of(function, box, turns) for box in boxes]
            with self.subTest(op=op):
                low, high = self.bounds([node(op, ["x"], "y")], *zip(*boxes), "crown")
                for box, (least, most), a, b in zip(boxes, ranges, low, high):
                    rounding = 1e-5 * max(abs(least), abs(most)) + 1e-30
                    self.assertLessEqual(a, least + 1e-6 * rounding, box)
                    self.assertGreaterEqual(b, most - 1e-6 * rounding, box)
                    # The box's ends are rounded, too: by a share of what f does there.
                    slack = rounding + 1e-3 * (most - least) + 1e-7
                    self.assertGreaterEqual(a, least - slack, box)
                    self.assertLessEqual(b, most + slack, box)

    @staticmethod
    def range_of(function, box, turns):
        values = [function(x) for x in box] + [function(x) for x in turns if box[0] <= x <= box[1]]
        return min(values), max(values)

    @staticmethod
    def is_defined(function, domain, box):
        if not (domain(box[0]) and domain(box[1])) or (not domain(0) and box[0] < 0 < box[1]):
            return False
        try:
            return all(abs(function(x)) < MOST / 4 for x in box)
        except OverflowError:
            return False

    def test_waves_far_away(self):
        """The table of tan covers three periods, those of sin and cos some sixteen."""
        for op, function in (("Sin", math.sin), ("Cos", math.cos), ("Tan", math.tan)):
            starts = [float(x) for x in (2, 5, -8, 12.5, 100, -1000, 65536, 2.0 ** 40, -1e10, 2.0 ** 70)]
            starts = [x for x in starts if abs(math.cos(x)) > 0.2 and abs(math.sin(x)) > 0.1]
            lower = [nearest_float(x) for x in starts]
            for method in METHODS:
                with self.subTest(op=op, method=method):
                    low, high = self.bounds([node(op, ["x"], "y")], lower, lower, method)
                    for x, a, b in zip(lower, low, high):
                        self.assertLessEqual(a, function(x) + 1e-12, x)
                        self.assertGreaterEqual(b, function(x) - 1e-12, x)
                        self.assertLess(b - a, 1e-4, x)

    def test_tan_between_poles_and_over_one(self):
        for low, high in ((5, 5.001), (-2.5, -1.7), (8, 10.9), (1e4, 1e4 + 0.001)):
            a, b = self.bounds([node("Tan", ["x"], "y")], [low], [high], "crown")
            self.assertLessEqual(a[0], math.tan(low))
            self.assertGreaterEqual(b[0], math.tan(high))
            self.assertLess(b[0] - a[0], math.tan(high) - math.tan(low) + 0.02 * (1 + math.tan(high) ** 2), (low, high))
        for low, high in ((1.5, 1.6), (4, 5), (100, 104), (0, 5)):
            a, b = self.bounds([node("Tan", ["x"], "y")], [low], [high], "crown")
            self.assertEqual((a[0], b[0]), (-math.inf, math.inf), (low, high))

    def test_even_negative_powers_have_a_lower_bound(self):
        for nodes, given in (([node("Pow", ["x", "k"], "y")], [tensor("k", [], [-2])]),
                             ([node("Pow", ["x", "k"], "y")], [tensor("k", [], [-4])]),
                             ([node("Mul", ["x", "x"], "q"), node("Reciprocal", ["q"], "y")], [])):
            power = -4 if "-4" in str(given) else -2
            low, high = self.bounds(nodes, [-2, 0.5], [2, 4], "crown", constants=given)
            self.assertAlmostEqual(low[0], 2.0 ** power, delta=1e-5)
            self.assertEqual(high[0], math.inf)
            self.assertAlmostEqual(high[1], 2.0 ** -power, delta=1e-4)
        low, high = self.bounds([node("Pow", ["x", "k"], "a"), node("Min", ["a", "one"], "y")], [-2], [2], "crown",
                                constants=[tensor("k", [], [-2]), tensor("one", [], [1])])
        self.assertAlmostEqual(low[0], 0.25, delta=1e-5)
        self.assertLessEqual(high[0], 1 + 1e-6)


def nearest_float(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def softplus(x):
    return max(x, 0) + math.log1p(math.exp(-abs(x)))


def elu(x):
    return x if x > 0 else math.expm1(x)


SELU_SCALE, SELU_ALPHA = nearest_float(1.05070102214813232421875), nearest_float(1.67326319217681884765625)

# Those of FUNCTIONS and others; in the waves, extremes lie at multiples of pi / 2.
MORE = {
    "Celu": (elu, everywhere, ()), "Cos": (math.cos, everywhere, ()), "Elu": (elu, everywhere, ()),
    "Gelu": (lambda x: x * math.erfc(-x / math.sqrt(2)) / 2, everywhere, (-0.7517915246935645,)),
    "HardSigmoid": (lambda x: min(max(0.2 * x + 0.5, 0), 1), everywhere, (-2.5, 2.5)),
    "HardSwish": (lambda x: x * min(max(x / 6 + 0.5, 0), 1), everywhere, (-3, -1.5, 3)),
    "LeakyRelu": (lambda x: x if x > 0 else 0.01 * x, everywhere, (0,)),
    "Mish": (lambda x: x * math.tanh(softplus(x)), everywhere, (-1.192431214515428,)),
    "Neg": (lambda x: -x, everywhere, ()), "Relu": (lambda x: max(x, 0), everywhere, (0,)),
    "Selu": (lambda x: SELU_SCALE * (x if x > 0 else SELU_ALPHA * math.expm1(x)), everywhere, ()),
    "Sigmoid": (sigmoid, everywhere, ()), "Sin": (math.sin, everywhere, ()), "Softplus": (softplus, everywhere, ()),
    "Swish": (lambda x: x * sigmoid(x), everywhere, (-1.2784645427610738,)),
}


class Choices(Ranges):
    def test_the_number_of_the_largest_element_at_a_point(self):
        number = 'attribute { name: "axis" type: INT i: 1 } attribute { name: "keepdims" type: INT i: 0 }'
        nodes = [node("ArgMax", ["x"], "i", attributes=number), node("OneHot", ["i", "depth", "values"], "y")]
        given = [tensor("depth", [], [4]), tensor("values", [2], [0, 1])]
        for method in METHODS:
            low, high = self.bounds(nodes, [0.3, -0.2, 0.5, 0.1], [0.3, -0.2, 0.5, 0.1], method, constants=given)
            self.assertEqual((low, high), ([0, 0, 1, 0], [0, 0, 1, 0]))


class EveryMagnitude(Ranges):
    """Boxes from each magnitude of floats to each other one, of both signs.

    A box is a centre and a radius with a float's digits, so that its ends move by 2^-23 of its width, but for the end
    nearer to 0 where the function has no value at 0 or on one side of it. Where the function is finite on such a box, so
    are its bounds, and near its range there."""

    NEAR = ("Acosh", "Log", "Reciprocal", "Sqrt")

    ENDS = sorted({0.0, *(nearest_float(sign * m * 10.0 ** k) for sign in (-1, 1)
                          for m, k in ((1.5, -44), *((1, k) for k in range(-37, 38, 6)), (0.25, 0), (0.9, 0), (1.1, 0),
                                       (2, 0), (5, 0), (2, 1), (5, 1), (8.6, 1), (9, 1), (8, 2), (3, 38)))})

    @classmethod
    def wider(cls, op, box):
        near, far = sorted(map(abs, box))
        more = (box[1] - box[0]) * 2.0 ** -22 + far * 2.0 ** -23 + 2.0 ** -148
        low, high = box[0] - more, box[1] + more
        if op not in cls.NEAR or box[0] * box[1] <= 0 or near < far * 2.0 ** -28:
            return low, high
        return (box[0], high) if box[0] > 0 else (low, box[1])

    def range_on(self, op, function, domain, turns, box):
        """The range on the box, None where the function has no finite one."""
        if not Magnitudes.is_defined(function, domain, box):
            return None
        if op in ("Sin", "Cos"):
            if box[1] - box[0] > 6.3:
                return -1.0, 1.0
            first = math.floor(box[0] / (math.pi / 2))
            turns = [k * math.pi / 2 for k in range(first, first + 7)]
        return Magnitudes.range_of(function, box, turns)

    def test_boxes_of_any_two_magnitudes(self):
        for op, (function, domain, turns) in {**FUNCTIONS, **MORE}.items():
            ranges = {}
            for box in ((a, b) for a in self.ENDS for b in self.ENDS if a <= b):
                own = self.range_on(op, function, domain, turns, box)
                wide = self.range_on(op, function, domain, turns, self.wider(op, box))
                if own and wide:
                    ranges[box] = own, wide
            self.assertGreater(len(ranges), 50, op)
            for method in METHODS:
                with self.subTest(op=op, method=method):
                    found = zip(*self.bounds([node(op, ["x"], "y")], *zip(*ranges), method))
                    for (box, (own, wide)), (low, high) in zip(ranges.items(), found):
                        rounding = 1e-5 * max(abs(own[0]), abs(own[1]))
                        self.assertLessEqual(low, own[0] + 1e-6 * rounding, box)
                        self.assertGreaterEqual(high, own[1] - 1e-6 * rounding, box)
                        slack = 1e-5 * max(abs(wide[0]), abs(wide[1])) + 1e-3 * (wide[1] - wide[0]) + 1e-11
                        if op in ("Acosh", "Asinh") and max(map(abs, box)) > 1e12:
                            slack += 2 * math.log(2)  # constants of two octaves
                        self.assertGreaterEqual(low, wide[0] - slack, box)
                        self.assertLessEqual(high, wide[1] + slack, box)


    def test_near_ends_of_inputs(self):
        """Where log, square root, 1/x and powers read inputs: in this process, in generated code, and of parts of boxes."""
        box = [2, 1e-6, 1e-6, 0.5, -1e6], [1e8, 100, 1e4, 3e7, -1e-3]
        axis = 'attribute { name: "axis" i: 1 type: INT }'
        nodes = [node("Split", ["x", "parts"], "a", attributes=axis + "".join(f' output: "{name}"' for name in "bcde")),
                 node("Log", ["a"], "f"), node("Sqrt", ["b"], "g"), node("Reciprocal", ["c"], "h"),
                 node("Pow", ["d", "power"], "i"), node("Reciprocal", ["e"], "j"),
                 node("Concat", ["f", "g", "h", "i", "j"], "y", attributes=axis)]
        constants = [tensor("power", [], [-0.5]),
                     'initializer { dims: 5 data_type: 7 name: "parts" int64_data: [1, 1, 1, 1, 1] }']
        network = write_model(self.work / "near.onnx", model("near", nodes, constants, [1, 5], [1, 5]))
        given = self.write("near.json", {"lower": box[0], "upper": box[1]})
        least = [math.log(2), 1e-3, 1e-4, 3e7 ** -0.5, -1e3]
        most = [math.log(1e8), 10, 1e6, 0.5 ** -0.5, -1e-6]
        for method, *others in (("ibp",), ("crown", ("--lowering", "vector"))):
            found = [self.run_json("run", network, "--box", given, "--method", method, *more)["outputs"]
                     for more in ((), *others)]
            for i in range(5):
                self.assertAlmostEqual(found[0]["lower"][i], least[i], delta=1e-6 * abs(least[i]) + 1e-9)
                self.assertAlmostEqual(found[0]["upper"][i], most[i], delta=1e-6 * abs(most[i]) + 1e-9)
                self.assertLessEqual(found[0]["lower"][i], least[i] + 1e-12 * abs(least[i]))
                self.assertGreaterEqual(found[0]["upper"][i], most[i] - 1e-12 * abs(most[i]))
            self.assertEqual(found[0], found[-1])
        prop = self.work / "near.vnnlib"
        prop.write_text("".join(f"(declare-const X_{i} Real)(assert (>= X_{i} {low:.9f}))(assert (<= X_{i} {high:.9f}))"
                                for i, (low, high) in enumerate(zip(*box)))
                        + "".join(f"(declare-const Y_{i} Real)" for i in range(5)) + "(assert (<= Y_0 0.693))")
        self.assertEqual(self.run_json("verify", network, prop)["verdict"], "verified")


class Shares(Ranges):
    """Numbers over a sum or norm of theirs, however they are written."""

    AXES = 'initializer { dims: 1 data_type: 7 name: "axes" int64_data: 1 }'
    WEIGHTS = (2, -2.5, 0.4, 1.5, -0.7, 3, 1, 1, -1)

    def logits(self):
        return [node("MatMul", ["x", "w"], "a")], [tensor("w", [3, 3], self.WEIGHTS), self.AXES]

    def test_softmax_written_out_is_softmax(self):
        first, constants = self.logits()
        written = first + [node("ReduceMax", ["a"], "m", attributes=AXIS),
                           node("Sub", ["a", "m"], "d"), node("Exp", ["d"], "e"),
                           node("ReduceSum", ["e", "axes"], "s"), node("Div", ["e", "s"], "y")]
        plain = first + [node("Exp", ["a"], "e"), node("ReduceSum", ["e", "axes"], "s"), node("Div", ["e", "s"], "y")]
        softmax = first + [node("Softmax", ["a"], "y", attributes='attribute { name: "axis" i: 1 type: INT }')]
        for box in (([-1] * 3, [1] * 3), ([0.2] * 3, [0.3] * 3), ([-100] * 3, [100] * 3)):
            for method in METHODS:
                want = self.bounds(softmax, *box, method, constants=constants)
                for nodes in (written, plain):
                    found = self.bounds(nodes, *box, method, constants=constants)
                    for ends, right in zip(found, want):
                        for x, y in zip(ends, right):
                            self.assertAlmostEqual(x, y, delta=1e-6)

    def test_shares_are_at_most_one(self):
        first, constants = self.logits()
        for op in ("Relu", "Sigmoid", "Abs", "Softplus"):
            nodes = first + [node(op, ["a"], "s"), node("ReduceSum", ["s", "axes"], "t"), node("Div", ["s", "t"], "y")]
            self.expect_within(nodes, ([-1] * 3, [1] * 3), -1e-3 if op == "Softplus" else -1.001, 1.001,
                               constants=constants)
            small = self.expect_within(nodes, ([0.5] * 3, [0.6] * 3), -0.001, 1.001, constants=constants)
            self.assertLess(max(b - a for a, b in zip(*small)), 0.35)

    def test_norms_with_a_lower_limit(self):
        """As PyTorch's normalize writes them."""
        first, constants = self.logits()
        constants = constants + [tensor("eps", [], [1e-12])]
        for op in ("ReduceL1", "ReduceL2"):
            nodes = first + [node(op, ["a"], "n", attributes=AXIS), node("Clip", ["n", "eps", ""], "c"),
                             node("Div", ["a", "c"], "y")]
            self.expect_within(nodes, ([-1] * 3, [1] * 3), -1.001, 1.001, constants=constants)


class Remainders(Ranges):
    def test_remainders_lie_below_their_divisor(self):
        fmod = 'attribute { name: "fmod" i: 1 type: INT }'
        for divisor in (-0.7, 0.7, 3, 1e-3):
            size = abs(divisor) * (1 + 1e-6)
            self.expect_within([node("Mod", ["x", "k"], "y", attributes=fmod)], ([-3], [3]), -size, size,
                               constants=[tensor("k", [], [divisor])])

    def test_a_sum_of_one_power(self):
        first = 'attribute { name: "axes" ints: 0 type: INTS }'
        for ends in ((-1e4, 1e4), (100, 200), (-3e30, -2e30)):
            self.expect_within([node("ReduceLogSumExp", ["x"], "y", attributes=first)], ([ends[0]], [ends[1]]),
                               ends[0] - abs(ends[0]) * 1e-6, ends[1] + abs(ends[1]) * 1e-6)


class Forms(Ranges):
    """Quadratic forms: sums of products that do not know of each other."""

    def test_squares_of_both_signs(self):
        source = random.Random(3)
        for inputs, count in ((2, 30), (3, 100), (5, 40)):
            weights = [source.gauss(0, 1) for _ in range(inputs * count)]
            signs = [source.choice((-1.0, 1.0)) for _ in range(count)]
            nodes = [node("MatMul", ["x", "w"], "a"), node("Mul", ["a", "a"], "p"), node("MatMul", ["p", "s"], "y")]
            constants = [tensor("w", [inputs, count], weights), tensor("s", [count, 1], signs)]

            def value(x):
                rows = [sum(x[i] * weights[i * count + k] for i in range(inputs)) for k in range(count)]
                return sum(s * r * r for s, r in zip(signs, rows))
            points = [[source.choice((-0.3, 0.3)) if source.random() < 0.5 else source.uniform(-0.3, 0.3)
                       for _ in range(inputs)] for _ in range(3000)]
            seen = [value(x) for x in points]
            for method in METHODS:
                low, high = self.bounds(nodes, [-0.3] * inputs, [0.3] * inputs, method, constants=constants, outputs=1)
                self.assertLessEqual(low[0], min(seen))
                self.assertGreaterEqual(high[0], max(seen))
                self.assertLess(high[0] - low[0], 2.5 * (max(seen) - min(seen)), (inputs, count, method))

    def test_lyapunov_functions(self):
        matrix = [2, 1, 1, 1.5]
        for nodes in ([node("MatMul", ["x", "m"], "a"), node("Mul", ["a", "x"], "p"), node("ReduceSum", ["p", "axes"], "y")],
                      [node("MatMul", ["x", "m"], "a"), node("Transpose", ["x"], "t"), node("MatMul", ["a", "t"], "y")]):
            constants = [tensor("m", [2, 2], matrix), Shares.AXES]
            for method in METHODS:
                low, high = self.bounds(nodes, [-1, -1], [1, 1], method, constants=constants, outputs=1)
                self.assertLessEqual(low[0], 0)
                self.assertGreaterEqual(low[0], -1e-4)
                self.assertGreaterEqual(high[0], 5.5)
                self.assertLess(high[0], 6.5)


if __name__ == "__main__":
    sys.exit(unittest.main())
