"""Tests of the operators of bf-check against NumPy, at points. Run as proof_test.py is."""

import fractions
import hashlib
import math
import os
import pathlib
import subprocess
import sys
import unittest

try:
    import numpy
except ImportError:
    print("skipped: no NumPy")
    sys.exit(0)

sys.dont_write_bytecode = True
from harness import Case  # noqa: E402
from small_models import ints, model, node, tensor, write_model  # noqa: E402

BF_CHECK = os.environ["BF_CHECK"]
DERIVE, LEAF = 6, 0
LITTLE = fractions.Fraction(1, 2 ** 20)


def decimal(number):
    """A multiple of a power of two, as a decimal."""
    number = fractions.Fraction(number)
    digits = number.denominator.bit_length() - 1
    assert number.denominator == 1 << digits, number
    whole = abs(number.numerator) * 5 ** digits
    text = str(whole).zfill(digits + 1)
    return ("-" if number < 0 else "") + text[:len(text) - digits] + ("." + text[-digits:] if digits else "")


def text(value):
    return f'"{value}"'


def number(name, value):
    kind = {int: "INT i", float: "FLOAT f", str: "STRING s"}[type(value)].split()
    return f'attribute {{ name: "{name}" type: {kind[0]} {kind[1]}: {text(value) if kind[1] == "s" else value} }}'


def whole(name, dims, values, kind=7):
    """A tensor of integers: int64, or another type of TensorProto, as int32_data."""
    field = "int64_data" if kind == 7 else "int32_data"
    return (f'initializer {{{"".join(f" dims: {d}" for d in dims)} data_type: {kind} name: "{name}"' +
            "".join(f" {field}: {v}" for v in values) + " }")


def value(dims, values, kind=7):
    """The same, as an attribute."""
    return 'attribute { name: "value" type: TENSOR t {' + whole("", dims, values, kind)[13:] + " }"


def exact(rng, shape):
    """Multiples of 1/8 in [-2, 2]."""
    flat = [fractions.Fraction(int(n), 8) for n in rng.integers(-16, 17, int(numpy.prod(shape)))]
    return numpy.array(flat, dtype=object).reshape(shape)


class Networks(Case):
    """Networks with input x and output y, at points."""

    def question(self, x, outputs, last):
        names = [f"X_{i}" for i in range(len(x))] + [f"Y_{i}" for i in range(outputs)]
        ends = [f"(assert (= X_{i} {decimal(v)}))" for i, v in enumerate(x)]
        return self.write("p.vnnlib", "".join(f"(declare-const {n} Real)" for n in names) + "".join(ends) + last)

    def check(self, question, statement, body, semantics=b"\x00"):
        path = self.work / "hand.bfc"
        digests = [hashlib.sha256(pathlib.Path(each).read_bytes()).digest() for each in (self.network, question)]
        path.write_bytes(b"BFC2" + bytes([statement]) + semantics + bytes([44, 36, 40, 1]) + b"".join(digests) +
                         b"\x04hand" + body)
        return subprocess.run([BF_CHECK, self.network, question, path], capture_output=True, text=True)

    def make(self, nodes, initializers, inputs, outputs, opset=13):
        text = model("m", nodes, initializers, inputs, outputs).replace("version: 13", f"version: {opset}")
        self.network = write_model(self.work / "m.onnx", text)

    def holds(self, nodes, initializers, x, y, opset=13):
        """The network is y at x: by its operators over numbers, and by bounds of its elements."""
        y = numpy.array(y, dtype=object)
        self.make(nodes, initializers, x.shape, y.shape, opset)
        x, y = list(x.flat), list(y.flat)
        point = b"".join(bytes([len(each)]) + each for each in (str(v).encode() for v in x))
        for change, code in ((0, 3), (LITTLE, 4)):
            wanted = " ".join(f"(= Y_{i} {decimal(v + (change if i == 0 else 0))})" for i, v in enumerate(y))
            found = self.check(self.question(x, len(y), f"(assert (and {wanted} true))"), 2, point)
            self.assertEqual(found.returncode, code, (found.stdout, found.stderr))
        parts = [f"(>= Y_{i} {decimal(v + LITTLE)})(<= Y_{i} {decimal(v - LITTLE)})" for i, v in enumerate(y)]
        found = self.check(self.question(x, len(y), f"(assert (or {' '.join(parts)}))"), 1,
                           bytes([DERIVE, LEAF] + [0] * (2 * len(y))))
        self.assertEqual(found.returncode, 0, (found.stdout, found.stderr))
        for last in (f"(>= Y_0 {decimal(y[0] - LITTLE)})", f"(<= Y_0 {decimal(y[0] + LITTLE)})"):
            found = self.check(self.question(x, len(y), f"(assert {last})"), 1, bytes([DERIVE, LEAF, 0]))
            self.assertEqual(found.returncode, 4, (found.stdout, found.stderr))

    def refused(self, nodes, initializers, inputs, outputs, opset=13, says="the checker's table"):
        self.make(nodes, initializers, inputs, outputs, opset)
        found = self.check(self.question([0] * int(numpy.prod(inputs)), int(numpy.prod(outputs)),
                                         "(assert (>= Y_0 0))"), 1, bytes([DERIVE, LEAF, 0]))
        self.assertEqual((found.returncode, found.stdout), (1, ""))
        self.assertIn(says, found.stderr)


class Moving(Networks):
    def setUp(self):
        super().setUp()
        self.rng = numpy.random.default_rng(3)

    def test_gather_and_split(self):
        x = exact(self.rng, (2, 3, 4))
        places = [[2, -1], [0, 2]]
        self.holds([node("Gather", ["x", "i"], "y", "", number("axis", 1))],
                   [whole("i", (2, 2), numpy.array(places).flat)], x, x[:, places])
        self.holds([node("Gather", ["x", "i"], "y", "", number("axis", -1))], [whole("i", (), [1])], x, x[:, :, 1])
        self.refused([node("Gather", ["x", "i"], "y")], [whole("i", (), [-1])], (2, 3), (3,), 10, "outside of its")
        self.refused([node("Gather", ["x", "i"], "y")], [whole("i", (), [2])], (2, 3), (3,), 13, "outside of its")
        self.refused([node("Gather", ["c", "x"], "y")], [tensor("c", (3,), (1, 2, 3))], (1,), (1,))
        halves = 'node { input: "x" %s output: "a" output: "b" op_type: "Split" %s }'
        order = node("Concat", ["b", "a"], "y", "", number("axis", 2))
        turned = numpy.concatenate([x[:, :, 2:], x[:, :, :2]], axis=2)
        self.holds([halves % ("", number("axis", 2)), order], [], x, turned)
        self.holds([halves % ("", number("axis", 2) + number("num_outputs", 2)), order], [], x, turned, 18)
        turned = numpy.concatenate([x[:, :, 1:], x[:, :, :1]], axis=2)
        self.holds([halves % ("", number("axis", 2) + ints("split", (1, 3))), order], [], x, turned, 11)
        self.holds([halves % ('input: "n"', number("axis", 2)), order], [whole("n", (2,), (1, 3))], x, turned)
        thirds = numpy.concatenate([x[:, 2:], x[:, :2]], axis=1)
        order = node("Concat", ["b", "a"], "y", "", number("axis", 1))
        self.holds([halves % ("", number("axis", 1) + number("num_outputs", 2)), order], [], x, thirds, 18)
        self.refused([halves % ("", number("axis", 1)), order], [], (2, 3, 4), (2, 3, 4), 13, "shapes do not fit")

    def test_copies(self):
        x = exact(self.rng, (2, 1, 3))
        self.holds([node("Expand", ["x", "s"], "y")], [whole("s", (3,), (1, 2, 1))], x, numpy.repeat(x, 2, axis=1))
        self.holds([node("Tile", ["x", "s"], "y")], [whole("s", (3,), (2, 1, 2))], x, numpy.tile(x, (2, 1, 2)))
        truth = [[1, 0, 1], [0, 0, 1]]
        c = exact(self.rng, (2, 2, 3))
        for inputs, y in ((["c", "x", "d"], numpy.where(truth, x, c)), (["c", "d", "x"], numpy.where(truth, c, x))):
            self.holds([node("Where", inputs, "y")],
                       [whole("c", (2, 3), numpy.array(truth).flat, 9), tensor("d", (2, 2, 3), map(float, c.flat))], x, y)
        self.refused([node("Where", ["c", "x", "x"], "y")], [whole("c", (1,), (1,))], (1,), (1,), says="no truth value")

    def test_padding(self):
        x = exact(self.rng, (1, 3, 4))
        for mode in ("constant", "edge", "reflect"):
            self.holds([node("Pad", ["x", "p"], "y", "", number("mode", mode))], [whole("p", (6,), (0, 1, 2, 0, 0, 3))],
                       x, numpy.pad(x, ((0, 0), (1, 0), (2, 3)), mode))
        self.holds([node("Pad", ["x", "p", "", "a"], "y")],
                   [whole("p", (4,), (1, -1, 2, -1)), whole("a", (2,), (2, -2))], x,
                   numpy.pad(x[:, 1:2], ((0, 0), (0, 0), (1, 2))), 18)
        for mode, pads in (("wrap", (0, 1)), ("reflect", (0, 2)), ("edge", (-1, 0)), ("constant", (-2, -1))):
            self.refused([node("Pad", ["x", "p"], "y", "", number("mode", mode))], [whole("p", (2,), pads)], (2,), (1,),
                         19, says="")

    def test_blocks(self):
        x = exact(self.rng, (1, 8, 2, 3))
        size = number("blocksize", 2)
        wide = x.reshape(1, 2, 2, 2, 2, 3).transpose(0, 3, 4, 1, 5, 2).reshape(1, 2, 4, 6)
        self.holds([node("DepthToSpace", ["x"], "y", "", size)], [], x, wide)
        self.holds([node("SpaceToDepth", ["x"], "y", "", size)], [], wide, x)
        other = x.reshape(1, 2, 2, 2, 2, 3).transpose(0, 1, 4, 2, 5, 3).reshape(1, 2, 4, 6)
        self.holds([node("DepthToSpace", ["x"], "y", "", size + number("mode", "CRD"))], [], x, other)

    def test_enlarging(self):
        x = exact(self.rng, (1, 2, 2, 3))
        wide = x.repeat(2, axis=2).repeat(3, axis=3)
        factors = tensor("s", (4,), (1, 1, 2, 3))
        self.holds([node("Upsample", ["x", "s"], "y", "", number("mode", "nearest"))], [factors], x, wide, 9)
        self.holds([node("Resize", ["x", "s"], "y")], [factors], x, wide, 10)
        floor = number("coordinate_transformation_mode", "asymmetric") + number("nearest_mode", "floor")
        for attributes in ("", floor, number("coordinate_transformation_mode", "pytorch_half_pixel")):
            self.holds([node("Resize", ["x", "", "s"], "y", "", attributes)], [factors], x, wide)
        self.holds([node("Resize", ["x", "", "", "s"], "y")], [whole("s", (4,), (1, 2, 4, 9))], x, wide)
        for attributes in (number("mode", "linear"), number("coordinate_transformation_mode", "align_corners"),
                           number("nearest_mode", "ceil"), number("coordinate_transformation_mode", "asymmetric")):
            self.refused([node("Resize", ["x", "", "s"], "y", "", attributes)], [factors], x.shape, wide.shape)
        self.refused([node("Resize", ["x", "", "s"], "y")], [tensor("s", (1,), (1.5,))], (2,), (3,), says="no integer")

    def test_shapes_are_computed(self):
        x = exact(self.rng, (2, 3, 4))
        nodes = [node("Shape", ["x"], "s"), node("Gather", ["s", "one"], "three"), node("Size", ["x"], "all"),
                 node("Div", ["all", "three"], "eight"), node("Sub", ["eight", "two"], "six"),
                 node("Range", ["zero", "six", "two"], "even"), node("Cast", ["even"], "e", "", number("to", 1)),
                 node("Mul", ["even", "four"], "f"), node("Less", ["f", "eight"], "is"),  # 0, 8, 16; true, false, false
                 node("Where", ["is", "f", "minus"], "shape"),  # 0, -1, -1
                 node("Equal", ["shape", "minus"], "open"), node("Add", ["even", "two"], "i"),  # 2, 4, 6
                 node("Where", ["open", "i", "minus"], "to"),  # -1, 4, 6
                 node("Slice", ["to", "zeros", "twos"], "t"), node("Reshape", ["x", "t"], "r"),
                 node("ConstantOfShape", ["t4"], "o", "", value((1,), (3,))),
                 node("Cast", ["o"], "p", "", number("to", 1)), node("Add", ["r", "p"], "u"),
                 node("Concat", ["u", "e4"], "v", "", number("axis", 0)), node("Cast", ["v"], "y", "", number("to", 1))]
        constants = [whole(n, (), (v,)) for n, v in (("zero", 0), ("one", 1), ("two", 2), ("four", 4), ("minus", -1))]
        constants += [whole("zeros", (1,), (0,)), whole("twos", (1,), (2,)), whole("t4", (1,), (4,)),
                      tensor("e4", (1, 4), (0, 2, 4, 0.5))]
        y = numpy.concatenate([x.reshape(6, 4) + 3, numpy.array([[0, 2, 4, fractions.Fraction(1, 2)]], dtype=object)])
        self.holds(nodes, constants, x, y)

    def test_integers_that_may_wrap_or_round_are_refused(self):
        huge = whole("c", (), (2 ** 31,))
        for nodes, says in (([node("Add", ["c", "c"], "d")], "too large"), ([node("Neg", ["c"], "d")], "table"),
                            ([node("Div", ["m", "two"], "d")], "negative integers"),
                            ([node("Cast", ["odd"], "d", "", number("to", 1))], "a cast would round"),
                            ([node("Cast", ["h"], "d", "", number("to", 7))], "a cast would round"),
                            ([node("Cast", ["x"], "d", "", number("to", 7))], "this cast"),
                            ([node("Cast", ["h"], "d", "", number("to", 10))], "this cast"),
                            ([node("Add", ["x", "two"], "d")], "arithmetic of integers"),
                            ([node("Add", ["byte", "byte"], "d")], "arithmetic of these types"),
                            ([node("Equal", ["two", "byte"], "d")], "arithmetic of these types")):
            self.refused([*nodes, node("Identity", ["x"], "y")],
                         [huge, whole("m", (), (-3,)), whole("two", (), (2,)), whole("odd", (), (2 ** 24 + 1,)),
                          whole("byte", (), (200,), 2), tensor("h", (), (0.5,))], (1,), (1,), says=says)
        for kind, value in ((2, 256), (2, -1), (3, 128), (3, -129), (9, 2)):
            self.refused([node("Identity", ["x"], "y")], [whole("c", (), (value,), kind)], (1,), (1,), says="8 bits")


def images(x, kernel, strides, pads, steps, bias=None, groups=1):
    """A convolution of images of any number of axes."""
    axes = len(strides)
    x = numpy.pad(x, [(0, 0), (0, 0)] + [(pads[i], pads[i + axes]) for i in range(axes)])
    sizes = [(x.shape[i + 2] - (kernel.shape[i + 2] - 1) * steps[i] - 1) // strides[i] + 1 for i in range(axes)]
    depth, outs = kernel.shape[1], kernel.shape[0] // groups
    y = numpy.empty((x.shape[0], kernel.shape[0], *sizes), dtype=object)
    for n, out, *place in numpy.ndindex(y.shape):
        window = tuple(slice(p * s, p * s + (k - 1) * d + 1, d)
                       for p, s, k, d in zip(place, strides, kernel.shape[2:], steps))
        y[(n, out, *place)] = (x[n, out // outs * depth:out // outs * depth + depth][(slice(None), *window)] *
                               kernel[out]).sum() + (bias[out] if bias is not None else 0)
    return y


def spread_images(x, kernel, strides, pads, steps, more, groups=1):
    """Its transpose: each number adds the kernel, times itself, to a window of the result."""
    axes, depth, outs = len(strides), x.shape[1] // groups, kernel.shape[1]
    full = [(x.shape[i + 2] - 1) * strides[i] + (kernel.shape[i + 2] - 1) * steps[i] + 1 + more[i] for i in range(axes)]
    y = numpy.full((x.shape[0], outs * groups, *full), fractions.Fraction(0), dtype=object)
    for n, c, *place in numpy.ndindex(x.shape):
        window = tuple(slice(p * s, p * s + (k - 1) * d + 1, d)
                       for p, s, k, d in zip(place, strides, kernel.shape[2:], steps))
        y[(n, slice(c // depth * outs, (c // depth + 1) * outs), *window)] += x[(n, c, *place)] * kernel[c]
    return y[(slice(None), slice(None), *(slice(pads[i], full[i] - pads[i + axes]) for i in range(axes)))]


class Windows(Networks):
    def setUp(self):
        super().setUp()
        self.rng = numpy.random.default_rng(4)

    def attributes(self, strides, pads, steps, groups=1):
        return ints("strides", strides) + ints("pads", pads) + ints("dilations", steps) + number("group", groups)

    def test_convolutions_of_one_to_three_axes(self):
        for size, kernel, strides, pads, steps, groups in (
                ((2, 2, 7), (4, 1, 3), [2], [1, 2], [2], 2), ((1, 2, 4, 5), (2, 2, 2, 3), [1, 2], [0, 1, 1, 0], [1, 1], 1),
                ((1, 1, 3, 2, 4), (2, 1, 2, 2, 2), [1, 1, 2], [0, 1, 0, 1, 0, 0], [2, 1, 1], 1)):
            x, k, b = exact(self.rng, size), exact(self.rng, kernel), exact(self.rng, kernel[:1])
            weights = [tensor("k", kernel, map(float, k.flat)), tensor("b", kernel[:1], map(float, b))]
            attributes = self.attributes(strides, pads, steps, groups)
            self.holds([node("Conv", ["x", "k", "b"], "y", "", attributes)], weights, x,
                       images(x, k, strides, pads, steps, b, groups))

    def test_padding_that_keeps_sizes(self):
        x, k = exact(self.rng, (1, 1, 5, 4)), exact(self.rng, (1, 1, 2, 3))
        weights = [tensor("k", (1, 1, 2, 3), map(float, k.flat))]
        for mode, pads in (("SAME_UPPER", [0, 0, 1, 1]), ("SAME_LOWER", [1, 1, 0, 0]), ("VALID", [0, 0, 0, 0])):
            attributes = number("auto_pad", mode) + ints("strides", [2, 2])
            self.holds([node("Conv", ["x", "k"], "y", "", attributes)], weights, x, images(x, k, [2, 2], pads, [1, 1]))
        self.refused([node("Conv", ["x", "k"], "y", "", number("auto_pad", "SAME_UPPER") + ints("pads", [0] * 4))],
                     weights, (1, 1, 5, 4), (1, 1, 5, 4))

    def test_transposed_convolutions(self):
        for size, kernel, strides, pads, steps, more, groups in (
                ((2, 4, 3), (4, 1, 3), [2], [1, 0], [2], [1], 2),
                ((1, 2, 2, 3), (2, 2, 3, 2), [1, 3], [0, 1, 1, 0], [1, 1], [0, 2], 1)):
            x, k = exact(self.rng, size), exact(self.rng, kernel)
            attributes = self.attributes(strides, pads, steps, groups) + ints("output_padding", more)
            y = spread_images(x, k, strides, pads, steps, more, groups)
            weights = [tensor("k", kernel, map(float, k.flat)), tensor("b", y.shape[1:2], [0.5] * y.shape[1])]
            self.holds([node("ConvTranspose", ["x", "k", "b"], "y", "", attributes)], weights, x,
                       y + fractions.Fraction(1, 2))
        for attributes in (ints("output_shape", [9]), number("auto_pad", "SAME_UPPER"), ints("output_padding", [1])):
            self.refused([node("ConvTranspose", ["x", "k"], "y", "", attributes)], [tensor("k", (1, 1, 2), (1, 1))],
                         (1, 1, 3), (1, 1, 4))

    def test_pooling(self):
        x = exact(self.rng, (1, 2, 4, 4))
        for mode, of in (("Average", numpy.mean), ("Max", numpy.max)):
            self.holds([node(f"Global{mode}Pool", ["x"], "y")], [], x, of(x, axis=(2, 3), keepdims=True))
            line = x.reshape(1, 2, 16)
            windows = numpy.stack([line[:, :, :-4], line[:, :, 2:-2], line[:, :, 4:]] if mode == "Max" else
                                  [line[:, :, 0:15:1], line[:, :, 1:]])
            attributes = ints("kernel_shape", [len(windows)]) + (ints("dilations", [2]) if mode == "Max" else "")
            self.holds([node(f"{mode}Pool", ["x"], "y", "", attributes)], [], line, of(windows, axis=0))


class Sums(Networks):
    def setUp(self):
        super().setUp()
        self.rng = numpy.random.default_rng(5)

    def test_sums_of_tensors(self):
        x, c = exact(self.rng, (2, 1, 2)), exact(self.rng, (3, 1))
        constants = [tensor("c", (3, 1), map(float, c.flat))]
        for op, y in (("Sum", x + x + c + c), ("Mean", (x + x + c + c) / 4), ("Max", numpy.maximum(x, c)),
                      ("Min", numpy.minimum(x, c))):
            self.holds([node(op, ["x", "c", "x", "c"], "y")], constants, x, y)
        self.holds([node("Neg", ["x"], "y")], [], x, -x)
        self.holds([node("Abs", ["x"], "y")], [], x, abs(x))
        self.holds([node("LeakyRelu", ["x"], "y", "", number("alpha", 0.25))], [], x, numpy.where(x < 0, x / 4, x))
        slope = exact(self.rng, (1, 2))
        self.holds([node("PRelu", ["x", "s"], "y")], [tensor("s", (1, 2), map(float, slope.flat))], x,
                   numpy.where(x < 0, x * slope, x))
        self.holds([node("LeakyRelu", ["x"], "y")], [], x,
                   numpy.where(x < 0, x * fractions.Fraction(float(numpy.float32(0.01))), x))

    def test_reductions(self):
        x = exact(self.rng, (2, 4, 2))
        for op, of in (("ReduceSum", numpy.sum), ("ReduceMean", numpy.mean), ("ReduceMax", numpy.max),
                       ("ReduceMin", numpy.min)):
            early = 11
            self.holds([node(op, ["x"], "y")], [], x, of(x, keepdims=True), early)
            self.holds([node(op, ["x"], "y", "", ints("axes", [-2]) + number("keepdims", 0))], [], x, of(x, axis=1), early)
            self.holds([node(op, ["x", "a"], "y")], [whole("a", (2,), (0, 2))], x, of(x, axis=(0, 2), keepdims=True), 18)
            self.holds([node(op, ["x"], "y", "", number("noop_with_empty_axes", 1))], [], x, x, 18)
            self.refused([node(op, ["x", "a"], "y")], [whole("a", (1,), (0,))], (2,), (1,), early, "another operator set")
            self.refused([node(op, ["x"], "y", "", ints("axes", [0]))], [], (2,), (1,), 18, "another operator set")
            self.refused([node(op, ["x", "a"], "y")], [whole("a", (2,), (0, -1))], (2,), (1,), 18, "given twice")
            self.refused([node(op, ["x", "a"], "y")], [tensor("a", (1,), (0.5,))], (2,), (1,), 18, "no integer")


def codes(x, low, high, zero=0):
    """round() of Python is half to even, as ONNX has it."""
    return numpy.vectorize(lambda v: fractions.Fraction(min(max(round(v) + zero, low), high)), otypes=[object])(x)


class Integers(Networks):
    """Quantised networks, in exact arithmetic."""

    def setUp(self):
        super().setUp()
        self.rng = numpy.random.default_rng(7)

    def whole_numbers(self, low, high, *shape):
        return numpy.vectorize(fractions.Fraction, otypes=[object])(self.rng.integers(low, high + 1, shape))

    def test_codes_and_scales(self):
        x = exact(self.rng, (2, 3))  # multiples of 1/8 in [-2, 2]: ties, and beyond the limits
        scales = [fractions.Fraction(1, n) for n in (4, 2, 128)]
        for kind, zero, low, high in ((2, 3, 0, 255), (3, -5, -128, 127)):
            y = codes(x / fractions.Fraction(1, 64), low, high, zero)
            constants = [tensor("s", (), (1 / 64,)), whole("z", (), (zero,), kind)]
            self.holds([node("QuantizeLinear", ["x", "s", "z"], "q"), node("DequantizeLinear", ["q", "s", "z"], "y")],
                       constants, x, (y - zero) / 64)
            self.holds([node("QuantizeLinear", ["x", "s", "z"], "q"), node("Cast", ["q"], "y", "", number("to", 1))],
                       constants, x, y)
            wide = [tensor("s", (3,), map(float, scales)), whole("z", (3,), [zero] * 3, kind)]
            y = codes(x / numpy.array(scales), low, high, zero)
            self.holds([node("QuantizeLinear", ["x", "s", "z"], "q"), node("DequantizeLinear", ["q", "s", "z"], "y", "",
                        number("axis", -1))], wide, x, (y - zero) * numpy.array(scales))
        y = codes(x * 4, 0, 255)
        self.holds([node("QuantizeLinear", ["x", "s"], "q"), node("DequantizeLinear", ["q", "s"], "y")],
                   [tensor("s", (1,), (0.25,))], x, y / 4)

    def test_dense_layers(self):
        x, w = exact(self.rng, (2, 4)), self.whole_numbers(-128, 127, 4, 3)
        zeros = self.whole_numbers(-9, 9, 3)
        q = codes(x * 64, -128, 127, 3)
        constants = [tensor("s", (), (1 / 64,)), whole("z", (), (3,), 3), whole("w", (4, 3), w.flat, 3),
                     whole("v", (3,), zeros, 3), tensor("t", (3,), (0.5, 0.25, 0.75)), tensor("u", (), (4,)),
                     whole("k", (), (100,), 2)]
        first = node("QuantizeLinear", ["x", "s", "z"], "q")
        sums = (q - 3).dot(w - zeros)
        self.holds([first, node("MatMulInteger", ["q", "w", "z", "v"], "i"), node("Cast", ["i"], "y", "", number("to", 1))],
                   constants, x, sums)
        scale = numpy.array([fractions.Fraction(n, 4) for n in (2, 1, 3)]) / 64 / 4
        y = codes(sums * scale, 0, 255, 100)
        self.holds([first, node("QLinearMatMul", ["q", "s", "z", "w", "t", "v", "u", "k"], "r"),
                    node("DequantizeLinear", ["r", "u", "k"], "y")], constants, x, (y - 100) * 4)

    def test_convolutions(self):
        x, w = exact(self.rng, (1, 2, 3, 3)), self.whole_numbers(0, 255, 2, 2, 2, 2)
        b = self.whole_numbers(-3000, 3000, 2)
        q = codes(x * 32, 0, 255, 100)
        constants = [tensor("s", (), (1 / 32,)), whole("z", (), (100,), 2), whole("w", (2, 2, 2, 2), w.flat, 2),
                     whole("v", (2,), (120, 130), 2), whole("b", (2,), b, 6), tensor("t", (2,), (0.5, 0.25)),
                     tensor("u", (), (16,)), whole("k", (), (-4,), 3)]
        first = node("QuantizeLinear", ["x", "s", "z"], "q")
        shifted = w - numpy.array([120, 130]).reshape(2, 1, 1, 1)
        form = ints("pads", [1, 0, 0, 1]) + ints("strides", [1, 2])
        sums = images(q - 100, shifted, [1, 2], [1, 0, 0, 1], [1, 1])
        self.holds([first, node("ConvInteger", ["q", "w", "z", "v"], "i", "", form),
                    node("Cast", ["i"], "y", "", number("to", 1))], constants, x, sums)
        sums = sums + b.reshape(2, 1, 1)
        scale = numpy.array([fractions.Fraction(1, n) for n in (2, 4)]).reshape(2, 1, 1) / 32 / 16
        y = codes(sums * scale, -128, 127, -4)
        self.holds([first, node("QLinearConv", ["q", "s", "z", "w", "t", "v", "u", "k", "b"], "r", "", form),
                    node("DequantizeLinear", ["r", "u", "k"], "y")], constants, x, (y + 4) * 16)

    def test_what_is_not_covered_is_refused(self):
        q = node("QuantizeLinear", ["x", "s", "z"], "q")
        back = node("DequantizeLinear", ["q", "s", "z"], "y")
        scale, zero = tensor("s", (), (0.5,)), whole("z", (), (1,), 2)
        for nodes, constants, says in (
                ([q, back], [tensor("s", (), (-0.5,)), zero], "not positive"),
                ([q, back], [scale, whole("z", (), (1,), 6)], "this type"),
                ([q, back], [scale, whole("z", (2,), (1, 2), 2)], "shapes do not fit"),
                ([node("QuantizeLinear", ["x", "s", "z"], "q"), node("DequantizeLinear", ["q", "s"], "y")],
                 [tensor("s", (3,), (1, 2, 4)), whole("z", (3,), (1, 2, 3), 2)], "several zero points"),
                ([q, node("DequantizeLinear", ["q", "s", "k"], "y")], [scale, zero, whole("k", (), (1,), 3)], "different types"),
                ([q, node("Add", ["q", "q"], "y")], [scale, zero], "arithmetic of integers"),
                ([q, node("Relu", ["q"], "y")], [scale, zero], "arithmetic of integers"),
                ([node("QuantizeLinear", ["x", "s", "z"], "q", "", number("block_size", 1)), back], [scale, zero], "block_size")):
            self.refused(nodes, constants, (1, 3), (1, 3), says=says)


class Float32(Networks):
    """Evaluations in float32, in many orders, are never outside of what a certificate about them proves."""

    ULPS = 4

    def setUp(self):
        super().setUp()
        self.rng = numpy.random.default_rng(6)

    def sum(self, terms):
        """In a random order, from a random tree; a factor of a term is fused into its addition, or is not."""
        terms = list(terms)
        while len(terms) > 1:
            a, b = (terms.pop(self.rng.integers(len(terms))) for _ in range(2))
            if isinstance(a, tuple) and isinstance(b, tuple):
                a = self.product(a)
            if isinstance(b, tuple):
                a, b = b, a
            exact_a = numpy.longdouble(a[0]) * numpy.longdouble(a[1]) if isinstance(a, tuple) else numpy.longdouble(a)
            if isinstance(a, tuple) and self.rng.random() < 0.5:
                exact_a = numpy.longdouble(self.product(a))
            terms.append(numpy.float32(exact_a + numpy.longdouble(b)))
        return self.product(terms[0]) if isinstance(terms[0], tuple) else terms[0]

    def product(self, pair):
        return numpy.float32(pair[0]) * numpy.float32(pair[1])

    def rows(self, x, w, more=None):
        """x w, each sum of which takes in more[j], a list."""
        return [self.sum([*zip(x, w[:, j])] + (more[j] if more else [])) for j in range(w.shape[1])]

    def claim(self, x, radius, last, semantics):
        names = [f"X_{i}" for i in range(len(x))] + ["Y_0"]
        ends = [f"(assert (and (>= X_{i} {decimal(v - radius)}) (<= X_{i} {decimal(v + radius)})))"
                for i, v in enumerate(map(fractions.Fraction, map(float, x)))]
        text = "".join(f"(declare-const {n} Real)" for n in names) + "".join(ends) + f"(assert {last})"
        return self.check(self.write("p.vnnlib", text), 1, bytes([DERIVE, LEAF, 0]), semantics)

    def encloses(self, x, evaluate, count=40):
        """Whether a certificate about real numbers would exclude an evaluation. One about float32 excludes none."""
        found = [fractions.Fraction(float(evaluate(x))) for _ in range(count)]
        misses = []
        for value, sign in ((max(found), ">="), (min(found), "<=")):
            last = f"({sign} Y_0 {decimal(value)})"
            said = self.claim(x, 0, last, bytes([1, self.ULPS]))
            self.assertEqual(said.returncode, 4, (said.stdout, said.stderr))
            misses.append(self.claim(x, 0, last, b"\x00").returncode == 0)
        near = max(abs(v) for v in found) / 512 + fractions.Fraction(1, 512)
        near = fractions.Fraction(int(near * 2 ** 20), 2 ** 20)
        for last in (f"(>= Y_0 {decimal(max(found) + near)})", f"(<= Y_0 {decimal(min(found) - near)})"):
            self.assertEqual(self.claim(x, 0, last, bytes([1, self.ULPS])).returncode, 0)
        return any(misses)

    def numbers(self, *shape):
        return self.rng.uniform(-2, 2, shape).astype(numpy.float32)

    def constants(self, **named):
        return [tensor(name, value.shape, map(float, value.flat)) for name, value in named.items()]

    def test_layers_and_what_is_merged_into_them(self):
        """A dense layer, a bias, a normalisation, a ReLU, a dense layer and a residual sum."""
        bitten = 0
        for _ in range(6):
            w, v, b, r = self.numbers(24, 6), self.numbers(6, 1), self.numbers(6), self.numbers(24, 1)
            scale, shift, mean, variance = (self.numbers(6) for _ in range(4))
            variance = abs(variance) + numpy.float32(0.5)
            named = dict(w=w, v=v, b=b, r=r, scale=scale, shift=shift, mean=mean, variance=variance)
            nodes = [node("MatMul", ["x", "w"], "a"), node("Add", ["a", "b"], "c"),
                     node("BatchNormalization", ["c", "scale", "shift", "mean", "variance"], "d", "",
                          number("epsilon", 0.001)),
                     node("Relu", ["d"], "e"), node("MatMul", ["e", "v"], "f"), node("MatMul", ["x", "r"], "g"),
                     node("Add", ["f", "g"], "h"), node("Mul", ["h", "third"], "i"), node("Sub", ["i", "half"], "y")]
            self.make(nodes, self.constants(**named, third=numpy.float32([1 / 3]), half=numpy.float32([0.5])),
                      (1, 24), (1, 1))
            factor = scale / numpy.sqrt(variance + numpy.float32(0.001))

            def evaluate(x):
                form = self.rng.integers(4)
                if form == 0:  # as the operators stand
                    c = numpy.float32(self.rows(x, w)) + b
                    d = (c - mean) * factor + shift
                elif form == 1:  # a bias in the sum; another form of the normalisation
                    c = numpy.float32(self.rows(x, w, [[each] for each in b]))
                    d = c * factor + (shift - mean * factor)
                else:  # folded into the weights
                    d = numpy.float32(self.rows(x, w * factor, [[each] for each in (b - mean) * factor + shift]))
                e = numpy.maximum(d, numpy.float32(0))
                if form == 3:
                    h = self.rows(e, v, [self.rows(x, r)])[0]
                else:
                    h = self.rows(e, v)[0] + self.rows(x, r)[0]
                return h * numpy.float32(1 / 3) - numpy.float32(0.5)

            bitten += self.encloses(self.numbers(24), evaluate)
        self.assertGreaterEqual(bitten, 4)

    def test_windows_and_functions(self):
        bitten = 0
        for _ in range(6):
            k, b, w = self.numbers(2, 1, 3, 3), self.numbers(2), self.numbers(8, 1)
            nodes = [node("Conv", ["x", "k", "b"], "a"), node("Tanh", ["a"], "t"),
                     node("AveragePool", ["t"], "p", "", ints("kernel_shape", [3, 3])),
                     node("MaxPool", ["a"], "m", "", ints("kernel_shape", [3, 3])), node("Sigmoid", ["m"], "s"),
                     node("Concat", ["s", "p"], "c", "", number("axis", 1)), node("Flatten", ["c"], "f"),
                     node("ReduceSum", ["f", "one"], "z"), node("MatMul", ["f", "w"], "y0"), node("Add", ["y0", "z"], "y")]
            self.make(nodes, self.constants(k=k, b=b, w=w[:4]) + [whole("one", (1,), (1,))], (1, 1, 5, 5), (1, 1))

            def evaluate(flat):
                x = numpy.array(flat).reshape(5, 5)
                a = numpy.empty((2, 3, 3), dtype=numpy.float32)
                for c, i, j in numpy.ndindex(a.shape):
                    a[c, i, j] = self.sum([*zip(x[i:i + 3, j:j + 3].flat, k[c, 0].flat), b[c]])
                t = [self.library(numpy.tanh(numpy.float64(each))) for each in a.flat]
                ninth = numpy.float32(1) / numpy.float32(9)
                means = [self.sum(t[n * 9:n * 9 + 9]) / numpy.float32(9) if self.rng.random() < 0.5 else
                         self.sum([(each, ninth) for each in t[n * 9:n * 9 + 9]]) for n in range(2)]
                s = [numpy.float32(1) / (numpy.float32(1) + self.library(numpy.exp(-numpy.float64(a[n].max()))))
                     for n in range(2)]
                f = [*s, *means]
                return self.rows(f, w[:4], [[self.sum(f)]])[0]

            bitten += self.encloses(self.numbers(25), evaluate)
        self.assertGreaterEqual(bitten, 4)

    def library(self, exact):
        """Some float32 number that is at most so many units in the last place from the exact one."""
        near = numpy.float32(exact)
        for _ in range(self.rng.integers(0, self.ULPS)):
            near = numpy.nextafter(near, numpy.float32(self.rng.choice((-9e9, 9e9))))
        return near

    def test_functions_in_their_forms(self):
        f, one, half = numpy.float32, numpy.float32(1), numpy.float32(0.5)
        erf = numpy.vectorize(math.erf)
        exp, log, tanh = (lambda x: self.library(numpy.exp(numpy.float64(x))), lambda x: self.library(numpy.log(numpy.float64(x))),
                          lambda x: self.library(numpy.tanh(numpy.float64(x))))
        softplus = lambda x: max(x, f(0)) + log(one + exp(-abs(x)))  # noqa: E731
        alpha = number("alpha", 1.5)
        forms = {
            ("Exp", ""): exp, ("Erf", ""): lambda x: self.library(erf(numpy.float64(x))),
            ("Sin", ""): lambda x: self.library(numpy.sin(numpy.float64(x))), ("Softplus", ""): softplus,
            ("Softsign", ""): lambda x: x / (one + abs(x)) if self.rng.random() < 0.5 else x * (one / (one + abs(x))),
            ("Elu", alpha): lambda x: x if x > 0 else f(1.5) * (exp(x) - one),
            ("Celu", alpha): lambda x: x if x > 0 else f(1.5) * (exp(x / f(1.5)) - one),
            ("Selu", alpha + number("gamma", 2.0)): lambda x: f(2) * (x if x > 0 else f(1.5) * exp(x) - f(1.5)),
            ("Gelu", ""): lambda x: half * x * (one + self.library(erf(numpy.float64(x / numpy.sqrt(f(2)))))),
            ("Mish", ""): lambda x: x * tanh(softplus(x)), ("Abs", ""): abs,
            ("HardSigmoid", number("alpha", 0.3)): lambda x: max(f(0), min(one, f(0.3) * x + half)),
            ("HardSwish", ""): lambda x: x * max(f(0), min(one, x * (one / f(6)) + half)),
            ("Reciprocal", ""): lambda x: one / x, ("Floor", ""): numpy.floor}
        for (op, attributes), form in forms.items():
            self.make([node(op, ["x"], "y", "", attributes)], [], (1,), (1,), 20)
            for _ in range(3):
                self.encloses(self.numbers(1), lambda x: form(x[0]), 20)
        positive = {("Sqrt", ""): lambda x: self.library(numpy.sqrt(numpy.float64(x))), ("Log", ""): log}
        for (op, attributes), form in positive.items():
            self.make([node(op, ["x"], "y", "", attributes)], [], (1,), (1,), 20)
            self.encloses(abs(self.numbers(1)) + f(0.01), lambda x: form(x[0]), 20)

    def test_products_quotients_and_softmax(self):
        nodes = [node("Slice", ["x", "n0", "n3", "n1"], "a"), node("Slice", ["x", "n3", "n6", "n1"], "b"),
                 node("Mul", ["a", "b"], "m"), node("Add", ["b", "five"], "c"), node("Div", ["m", "c"], "d"),
                 node("Softmax", ["d"], "s"), node("LogSoftmax", ["b"], "l"), node("Transpose", ["l"], "t"),
                 node("MatMul", ["s", "t"], "p"), node("Pow", ["p", "three"], "y")]
        self.make(nodes, [whole(f"n{k}", (1,), (k,)) for k in (0, 1, 3, 6)] +
                  [tensor("five", (1,), (5,)), tensor("three", (), (3,))], (1, 6), (1, 1))

        def powers(z):
            shift = max(z) if self.rng.random() < 0.5 else numpy.float32(0)
            e = [self.library(numpy.exp(numpy.float64(v - shift))) for v in z]
            return shift, e, self.sum(e)

        def evaluate(x):
            a, b = x[:3], x[3:]
            d = a * b / (b + numpy.float32(5))
            _, e, total = powers(d)
            s = [v / total if self.rng.random() < 0.5 else v * (numpy.float32(1) / total) for v in e]
            shift, _, total = powers(b)
            l = [(v - shift) - self.library(numpy.log(numpy.float64(total))) for v in b]
            p = self.sum(zip(s, l))
            return p * p * p if self.rng.random() < 0.5 else self.library(numpy.float64(p) ** 3)

        for _ in range(6):
            self.encloses(self.numbers(6), evaluate)

    def test_what_cancels(self):
        """Real numbers add up to 2^-9; float32 numbers to 0, in an order."""
        self.make([node("Conv", ["x", "k"], "y")], [tensor("k", (1, 3, 1), (1, 1, 1))], (1, 3, 1), (1, 1, 1))
        x = numpy.float32([2 ** 16, 2 ** -9, -2 ** 16])
        self.assertEqual(x[0] + x[1] + x[2], 0)
        for last, real in (("(>= Y_0 0.002)", 0), ("(<= Y_0 0.001)", 0), ("(<= Y_0 0.002)", 4)):
            self.assertEqual(self.claim(x, 0, last, b"\x00").returncode, real)
            self.assertEqual(self.claim(x, 0, last, b"\x01\x04").returncode, 4)
        self.assertEqual(self.claim(x, 0, "(>= Y_0 0.125)", b"\x01\x04").returncode, 0)

    def test_what_is_merged_is_off_by_all_that_it_adds(self):
        """y = (z + c) - z is c in real numbers, and 0 where c is added to z within its sum."""
        nodes = [node("MatMul", ["x", "w"], "z"), node("MatMul", ["x", "v"], "c"), node("Add", ["z", "c"], "s"),
                 node("Sub", ["s", "z"], "y")]
        self.make(nodes, self.constants(w=numpy.float32([[1], [-1], [0]]), v=numpy.float32([[0], [0], [1]])), (1, 3), (1, 1))
        x = numpy.float32([2 ** 16, 2 ** 16, 2 ** -9])
        z = x[0] - x[1]
        self.assertEqual((((x[2] + x[0]) - x[1]) - z, (x[2] + z) - z), (0, 2 ** -9))
        self.make_sure(x, "(<= Y_0 0.001)")
        # An addition of its own rounds, too.
        self.make([node("Add", ["x", "c"], "y")], self.constants(c=numpy.float32([2 ** -9])), (1,), (1,))
        self.assertEqual(x[0] + numpy.float32(2 ** -9), x[0])
        self.make_sure(x[:1], "(<= Y_0 65536)")

    def make_sure(self, x, last):
        """What float32 violates is proven of real numbers alone."""
        self.assertEqual(self.claim(x, 0, last, b"\x00").returncode, 0)
        self.assertEqual(self.claim(x, 0, last, b"\x01\x04").returncode, 4)

    def test_points(self):
        self.make([node("MatMul", ["x", "w"], "y")], [tensor("w", (2, 1), (1, 1))], (1, 2), (1, 1))
        def said(x, limit, semantics):
            point = b"".join(bytes([len(each)]) + each for each in (str(fractions.Fraction(v)).encode() for v in x))
            text = ("(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)(assert (<= 0 X_0 1))"
                    f"(assert (<= 0 X_1 1))(assert (>= Y_0 {limit}))")
            return self.check(self.write("p.vnnlib", text), 2, point, semantics).returncode
        self.assertEqual(said(("1/2", "1/4"), 0.75, b"\x00"), 3)
        self.assertEqual(said(("1/2", "1/4"), 0.75, b"\x01\x04"), 4)  # it may be a little less
        self.assertEqual(said(("1/2", "1/4"), 0.7499, b"\x01\x04"), 3)
        self.assertEqual(said(("1/2", "1/3"), 0.75, b"\x00"), 3)
        self.assertEqual(said(("1/2", "1/3"), 0.75, b"\x01\x04"), 4)  # 1/3 is no float32 number
        self.assertEqual(said(("1/2", "1/4"), 0.7, b"\x02\x04"), 4)  # no such semantics

    def test_conditions_are_exact(self):
        """Products of outputs in a property round nothing, nor do elements that are repeated."""
        nodes = [node("Upsample", ["x", "s"], "y", "", number("mode", "nearest"))]
        for factor, code in ((2, 0), (4, 0), (3, 1), (5, 1)):
            self.make(nodes, [tensor("s", (1,), (factor,))], (1,), (factor,), 9)
            outputs = "".join(f"(declare-const Y_{k} Real)" for k in range(factor))
            question = self.write("p.vnnlib", "(declare-const X_0 Real)" + outputs +
                                  "(assert (= X_0 0.5))(assert (>= (* Y_0 Y_1) 0.2500001))")
            self.assertEqual(self.check(question, 1, bytes([DERIVE, LEAF, 0]), b"\x01\x04").returncode, code)
            self.assertEqual(self.check(question, 1, bytes([DERIVE, LEAF, 0])).returncode, 0)

    def test_what_is_not_covered_is_refused(self):
        half = tensor("h", (1,), (0.5,))
        double = 'initializer { dims: 1 data_type: 11 name: "h" double_data: 0.5 }'
        for nodes, constants, says in (
                ([node("Add", ["x", "h"], "y")], [double], "doubles"),
                ([node("Cast", ["x"], "y", "", number("to", 11))], [half], "doubles"),
                ([node("Div", ["h", "three"], "t"), node("Add", ["x", "t"], "y")],
                 [half, tensor("three", (1,), (3,))], "rounds"),
                ([node("MatMul", ["h", "h"], "t"), node("Add", ["x", "t"], "y")], [half], "rounds")):
            self.make(nodes, constants, (1,), (1,))
            said = self.claim([1], 0, "(>= Y_0 5)", b"\x01\x04")
            self.assertEqual(said.returncode, 1)
            self.assertIn(says, said.stderr)
            self.assertEqual(self.claim([1], 0, "(>= Y_0 5)", b"\x00").returncode, 0)


if __name__ == "__main__":
    unittest.main()
