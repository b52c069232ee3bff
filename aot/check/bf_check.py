"""The readable twin of bf-check, for small proofs: bf_check.py MODEL PROPERTY CERTIFICATE [STEPS].

Nothing but Python's integers and fractions (docs/reference/certificate.md). Coefficients are exact here; only choices
that the certificate leaves to a rule are rounded, and bounds, outwards, to the certificate's grid."""

import collections
import copy
import hashlib
import itertools
import math
import pathlib
import re
import struct
import sys
from fractions import Fraction


# A file that the checker does not take; a certificate that proves nothing.
Refused, NotProven = type("Refused", (Exception,), {}), type("NotProven", (Exception,), {})


def expect(condition, why, error=Refused):
    if not condition:
        raise error(why)


# ---- ONNX files ------------------------------------------------------------------------------------------------------

def varint(data, at, error=Refused):
    value = shift = 0
    while True:
        expect(at < len(data), f"byte {at}: the file ends within a number", error)
        value |= (data[at] & 127) << shift
        expect(data[at] or not shift or error is NotProven, f"byte {at}: a number of more bytes than it needs")
        at, shift = at + 1, shift + 7
        expect(value < 2**64 and shift <= 70, f"byte {at}: a number has more than 64 bits", error)
        if data[at - 1] < 128:
            return value, at


signed = lambda value: value - 2**64 if value >= 2**63 else value  # noqa: E731
# How a field may stand: v a varint, f a number of four bytes, b bytes, each at most once; B bytes, any number of times;
# V, F, D numbers, packed in one field or each in one of its own. A kind: the wire type, and the code of struct.
KINDS = {"v": (0, None), "f": (5, "<f"), "b": (2, None), "B": (2, None), "V": (0, None), "F": (5, "<f"), "D": (1, "<d")}


def fields(data, known):
    # A message's fields by number. What protobuf would merge, or take the last of, is refused.
    kinds, at, found, packed = {int(word[:-1]): word[-1] for word in known.split()}, 0, {}, set()
    while at < len(data):
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        expect(number in kinds, f"field {number} is not in the checker's table")
        kind = kinds[number]
        right, code = KINDS[kind]
        pack = wire == 2 and kind in "VFD"
        expect(wire == right or pack, f"field {number} has another type")
        expect(number not in found or not (kind in "vfb" or pack or number in packed), f"field {number} stands twice")
        size = {1: 8, 5: 4}.get(wire)
        if wire == 0:
            value, at = varint(data, at)
        else:
            if wire == 2:
                size, at = varint(data, at)
            expect(size <= len(data) - at, "the model's file ends within a message")
            value, at = data[at:at + size], at + size
        values = found.setdefault(number, [])
        if pack:
            packed.add(number)
        values += numbers_of(value, code) if pack or code else [signed(value) if wire == 0 else value]
    return lambda number, *otherwise: found.get(number, [])[0] if kinds[number] in "vfb" and number in found else (
        otherwise[0] if otherwise else found.get(number, []))


def numbers_of(value, code):
    # Of bytes. code: of struct, or None for varints.
    numbers, at = [], 0
    while code is None and at < len(value):
        number, at = varint(value, at)
        numbers.append(signed(number))
    if code is not None:
        expect(len(value) % struct.calcsize(code) == 0, "the model's file ends within a number")
        numbers = [x for (x,) in struct.iter_unpack(code, value)]
    return numbers


def exact(number):
    expect(not isinstance(number, float) or math.isfinite(number), "a number of the model is infinite, or none")
    return Fraction(number)  # of a float: its exact value


text_of = lambda value: value.decode("latin-1")  # noqa: E731
MOST = 2**26  # elements of a tensor


def size_of(shape):
    expect(all(0 <= extent <= MOST for extent in shape) and math.prod(shape) <= MOST, "a tensor has too many elements")
    return math.prod(shape)


def expect_work(shape, terms):
    expect(size_of(shape) <= 2**24 and size_of(shape) * terms <= 2**28, "a tensor that an operator makes is too large")


# Element type: the code of raw data, and the field that else holds the elements.
TYPES = {1: ("<f", 4), 6: ("<i", 5), 7: ("<q", 7), 11: ("<d", 10)}


class Tensor:
    # A shape, and in row-major order numbers, or elements of the network (computed).
    def __init__(self, shape, data, computed=False, integral=False):
        expect(size_of(shape) == len(data), "shapes do not fit")
        self.shape, self.data, self.computed, self.integral = list(shape), list(data), computed, integral


def tensor(data):
    # Returns its name, too.
    get = fields(data, "1V 2v 4F 5V 7V 8b 9b 10D 12b 14v 16B")
    kind, raw = get(2, 0), get(9, None)
    expect(kind in TYPES and not get(14, 0), "a tensor is not in the checker's table")
    raw_code, field = TYPES[kind]
    filled = [n for n in (4, 5, 7, 10) if get(n)]
    expect(filled in ([], [field]) and (raw is None or not filled), "a tensor has its data twice, or of another type")
    numbers = get(field) if raw is None else numbers_of(raw, raw_code)
    expect(kind != 6 or all(-2**31 <= x < 2**31 for x in numbers), "a number of 32 bits has more")
    return text_of(get(8, b"")), Tensor(get(1), [exact(x) for x in numbers], integral=kind in (6, 7))


def attribute(data):
    get = fields(data, "1b 2f 3v 4b 5b 8V 13b 20v")
    kind, own = get(20, 0), {1: 2, 2: 3, 3: 4, 4: 5, 7: 8}
    expect(kind in own, "an attribute's type is not in the checker's table")
    expect(not any(get(n, None) not in (None, []) for n in own.values() if n != own[kind]), "a value of another type")
    value = {1: lambda: exact(get(2, 0.0)), 2: lambda: get(3, 0), 3: lambda: text_of(get(4, b"")),
             4: lambda: tensor(get(5, b""))[1], 7: lambda: get(8)}
    return text_of(get(1, b"")), value[kind]()


def table(pairs, why):
    # Of names, each of which stands once.
    pairs = list(pairs)
    expect(len(dict(pairs)) == len(pairs), why)
    return dict(pairs)


class Node:
    def __init__(self, data):
        get = fields(data, "1B 2B 3b 4b 5B 6b 7b 9B")
        self.inputs, self.outputs = ([text_of(x) for x in get(key)] for key in (1, 2))
        self.op = text_of(get(4, b""))
        self.attributes = table(map(attribute, get(5)), f"operator {self.op}: an attribute stands twice")
        expect(get(7, b"") in (b"", b"ai.onnx"), f"operator {self.op}: an unknown domain")


def declared(data):
    # An input or output: its name, its shape (None for extents without a number), or None, and its type.
    get = fields(data, "1b 2b 3b 4B")
    kind = fields(fields(get(2, b""), "1b 6b")(1, b""), "1v 2b")
    extents = [fields(x, "1v 2b 3b") for x in fields(kind(2, b""), "1B")(1)]
    expect(not any(x(1, None) is not None and x(2, None) is not None for x in extents), "an extent's number and name")
    shape = [x(1, None) for x in extents]
    return text_of(get(1, b"")), (shape if kind(2, None) is not None else None, kind(1, 0))


def expect_shape(declaration, shape):
    if declaration is not None:
        same, known = len(declaration) == len(shape), None not in declaration
        expect(all(x in (None, y) for x, y in zip(declaration, shape)) if same else
               not known or math.prod(declaration) == math.prod(shape), "a shape is not as the model declares")


class Model:
    def __init__(self, data):
        get = fields(data, "1v 2b 3b 4b 5v 6b 7b 8B 14B")
        expect(get(7, None) is not None, "the model's file has no graph")
        sets = [fields(x, "1b 2v") for x in get(8)]
        sets = [x(2, 0) for x in sets if x(1, b"") in (b"", b"ai.onnx")]
        expect(len(sets) == 1 and 1 <= sets[0] <= 28, f"operator set {sets} is not in the checker's table")
        self.opset, graph = sets[0], fields(get(7, b""), "1B 2b 5B 10b 11B 12B 13B 14B 16B")
        self.nodes = [Node(x) for x in graph(1)]
        self.constants = table(map(tensor, graph(5)), "two initializers have the same name")
        inputs, self.outputs = (table(map(declared, graph(n)), "a name is declared twice") for n in (11, 12))
        expect("" not in inputs and "" not in self.outputs, "an input or an output has no name")
        self.inputs = []
        for name, (shape, kind) in inputs.items():
            if name in self.constants:
                expect_shape(shape, self.constants[name].shape)
            else:
                expect(shape is not None and kind in (1, 11), "an input's type is not in the checker's table")
                self.inputs.append((name, [1 if extent is None else extent for extent in shape]))


# ---- The network -----------------------------------------------------------------------------------------------------
# An element is ("input",), ("affine", [(element, weight), ...], bias), ("relu", element) or ("sigmoid", element).

def shape_of_both(a, b):
    rank = max(len(a), len(b))
    wide = [[1] * (rank - len(x)) + list(x) for x in (a, b)]
    expect(all(x == y or 1 in (x, y) for x, y in zip(*wide)), "shapes do not fit")
    both = [y if x == 1 else x for x, y in zip(*wide)]
    expect_work(both, 1)
    return both


def spread(x, shape):
    # The data of x, broadcast to a shape.
    strides = [0 if extent == 1 else math.prod(x.shape[i + 1:]) for i, extent in enumerate(x.shape)]
    strides = [0] * (len(shape) - len(strides)) + strides
    return [x.data[sum(i * s for i, s in zip(index, strides))] for index in itertools.product(*map(range, shape))]


class Network:
    # One method an operator: from attributes and tensors to a tensor.
    def __init__(self):
        self.elements, self.outputs, self.inputs = [], [], 0

    def add(self, *element):
        self.elements.append(element)
        return len(self.elements) - 1

    def sums(self, shape, rows, constant):
        # Rows ([(element or number, weight)], bias): numbers where all is constant, else elements.
        def make(terms, bias):
            read = [(x, w) for x, w in terms if not isinstance(x, Fraction) and w != 0]
            bias += sum(x * w for x, w in terms if isinstance(x, Fraction))
            return bias if constant else self.add("affine", read, bias)
        return Tensor(shape, [make(*row) for row in rows], not constant)

    def scale(self, a, b):
        shape = shape_of_both(a.shape, b.shape)
        pairs = zip(spread(a, shape), spread(b, shape))
        return self.sums(shape, [([pair], Fraction(0)) for pair in pairs], not a.computed)

    def Add(self, n, a, b, factor=1):
        shape = shape_of_both(a.shape, b.shape)
        rows = [([(x, 1), (y, factor)], Fraction(0)) for x, y in zip(spread(a, shape), spread(b, shape))]
        return self.sums(shape, rows, not (a.computed or b.computed))

    Sub = lambda self, n, a, b: self.Add(n, a, b, -1)  # noqa: E731

    def Mul(self, n, a, b):
        expect(not (a.computed and b.computed), "a product of two computed tensors is not in the checker's table")
        return self.scale(b, a) if b.computed else self.scale(a, b)

    def Div(self, n, a, b):
        expect(not b.computed and all(b.data), "such a divisor is not in the checker's table")
        return self.scale(a, Tensor(b.shape, [1 / x for x in b.data]))

    def Sigmoid(self, n, a):  # irrational, so that a number becomes an element, too
        read = a.data if a.computed else [self.add("affine", [], x) for x in a.data]
        return Tensor(a.shape, [self.add("sigmoid", x) for x in read], True)

    def Tanh(self, n, a):  # 2 sigmoid(2 x) - 1
        double = lambda x, bias: self.sums(x.shape, [([(e, 2)], Fraction(bias)) for e in x.data], not x.computed)
        return double(self.Sigmoid(n, double(a, 0)), -1)

    def Relu(self, n, a):
        make = self.add if a.computed else lambda _, x: max(x, Fraction(0))
        return Tensor(a.shape, [make("relu", x) for x in a.data], a.computed)

    def product(self, a, b, shape, scale=1, bias=None):
        expect(not (a.computed and b.computed), "a product of two computed tensors is not in the checker's table")
        rows, inner, columns, sums = math.prod(a.shape[:-1]), b.shape[0], math.prod(b.shape[1:]), []
        expect_work([rows, columns], inner)
        expect(bias is None or shape_of_both(bias.shape, [rows, columns]) == [rows, columns], "shapes do not fit")
        biases = spread(bias, [rows, columns]) if bias else [Fraction(0)] * (rows * columns)
        for i, j in itertools.product(range(rows), range(columns)):
            pairs = [(a.data[i * inner + k], b.data[k * columns + j]) for k in range(inner)]
            terms = [(y, scale * x) if b.computed else (x, scale * y) for x, y in pairs]
            sums.append((terms, biases[i * columns + j]))
        return self.sums(shape, sums, not (a.computed or b.computed))

    def MatMul(self, n, a, b):
        expect(len(b.shape) in (1, 2) and a.shape and a.shape[-1] == b.shape[0], "shapes do not fit")
        return self.product(a, b, a.shape[:-1] + b.shape[1:])

    def Gemm(self, n, a, b, c=None):
        a, b = (self.Transpose({}, x) if n.get(name, 0) else x for x, name in ((a, "transA"), (b, "transB")))
        expect(len(a.shape) == len(b.shape) == 2 and a.shape[1] == b.shape[0] and not (c and c.computed), "such a Gemm")
        c = c and Tensor(c.shape, [x * n.get("beta", 1) for x in c.data])
        return self.product(a, b, [a.shape[0], b.shape[1]], n.get("alpha", 1), c)

    def windows(self, n, x, size):
        # The places of a window over two axes, as lists of (tap, row, column) that lie in the image.
        expect(len(x.shape) == 4 and len(size) == 2, "images of other than two axes are not in the checker's table")
        expect(n.get("auto_pad", "NOTSET") == "NOTSET" and not n.get("ceil_mode", 0), "such a padding is not in the table")
        strides, steps, pads = n.get("strides", [1, 1]), n.get("dilations", [1, 1]), n.get("pads", [0] * 4)
        expect(min(strides + steps + size) > 0 and min(pads) >= 0, "such a window is not in the checker's table")
        places = [(x.shape[i + 2] + pads[i] + pads[i + 2] - (size[i] - 1) * steps[i] - 1) // strides[i] + 1
                  for i in (0, 1)]
        expect(min(places) > 0, "a window is larger than its image")
        expect_work(x.shape[:2] + places, math.prod(size))
        found = []
        for row, column in itertools.product(*map(range, places)):
            taps = [(u * size[1] + v, row * strides[0] - pads[0] + u * steps[0],
                     column * strides[1] - pads[1] + v * steps[1]) for u in range(size[0]) for v in range(size[1])]
            found.append([t for t in taps if 0 <= t[1] < x.shape[2] and 0 <= t[2] < x.shape[3]])
        return places, found

    def Conv(self, n, x, kernel, bias=None):
        expect(not kernel.computed and len(kernel.shape) == 4, "such a kernel is not in the checker's table")
        outs, depth, height, width = kernel.shape
        groups = n.get("group", 1)
        expect(n.get("kernel_shape", [height, width]) == [height, width], "shapes do not fit")
        places, windows = self.windows(n, x, [height, width])
        expect(groups > 0 and outs % groups == 0 and depth * groups == x.shape[1], "shapes do not fit")
        expect(bias is None or not bias.computed and bias.shape == [outs], "such a bias is not in the checker's table")
        expect_work([x.shape[0], outs] + places, depth * height * width)
        rows = []
        for image, out, window in itertools.product(range(x.shape[0]), range(outs), windows):
            terms = []
            for c, (tap, row, column) in itertools.product(range(depth), window):
                channel = image * x.shape[1] + out // (outs // groups) * depth + c
                terms.append((x.data[(channel * x.shape[2] + row) * x.shape[3] + column],
                              kernel.data[(out * depth + c) * height * width + tap]))
            rows.append((terms, bias.data[out] if bias else Fraction(0)))
        return self.sums([x.shape[0], outs] + places, rows, not x.computed)

    def pooled(self, n, x):
        # The shape of the places, and what each reads, in the order of taps.
        places, windows = self.windows(n, x, n.get("kernel_shape", []))
        expect(all(windows), "a window lies in the padding alone")
        return x.shape[:2] + places, [[(image * x.shape[2] + row) * x.shape[3] + column for _, row, column in window]
                                      for image in range(math.prod(x.shape[:2])) for window in windows]

    def AveragePool(self, n, x):
        shape, read = self.pooled(n, x)
        weight = lambda at: Fraction(1, math.prod(n["kernel_shape"]) if n.get("count_include_pad", 0) else len(at))
        return self.sums(shape, [([(x.data[i], weight(at)) for i in at], Fraction(0)) for at in read], not x.computed)

    def MaxPool(self, n, x):
        # Maxima of neighbours in the order of taps, until one is left: max(a, b) = a + max(b - a, 0).
        shape, read = self.pooled(n, x)
        expect(not n.get("storage_order", 0), "storage_order is not in the checker's table")
        left = [self.moved(x, shape, [at[tap if tap < len(at) else 0] for at in read])
                for tap in range(max(map(len, read)))]
        while len(left) > 1:
            pairs = [self.Add(n, a, self.Relu(n, self.Sub(n, b, a))) for a, b in zip(left[::2], left[1::2])]
            left = pairs + left[len(pairs) * 2:]
        return left[0]

    def Pad(self, n, x, pads, value=None):
        axes, filler = len(x.shape), value.data[0] if value else Fraction(0)
        expect(n.get("mode", "constant") == "constant" and not pads.computed and min(pads.data) >= 0 and
               len(pads.data) == 2 * axes and not (value and value.computed), "such a Pad is not in the checker's table")
        before, after = ([int(p) for p in part] for part in (pads.data[:axes], pads.data[axes:]))
        shape = [sum(extents) for extents in zip(x.shape, before, after)]
        expect_work(shape, 1)
        filler = self.add("affine", [], filler) if x.computed else filler
        inside = dict(zip(itertools.product(*(range(b, b + a) for a, b in zip(x.shape, before))), x.data))
        return Tensor(shape, [inside.get(i, filler) for i in itertools.product(*map(range, shape))], x.computed)

    def moved(self, x, shape, source):
        return Tensor(shape, [x.data[i] for i in source], x.computed, x.integral)

    Identity = Dropout = lambda self, n, x: x  # noqa: E731

    Constant = lambda self, n: n["value"]  # noqa: E731

    def Flatten(self, n, x):
        axis = n.get("axis", 1)
        expect(-len(x.shape) <= axis <= len(x.shape), "an axis does not exist")
        axis += len(x.shape) if axis < 0 else 0
        return self.moved(x, [math.prod(x.shape[:axis]), math.prod(x.shape[axis:])], range(len(x.data)))

    def Reshape(self, n, x, shape):
        expect(not shape.computed and not n.get("allowzero", 0), "such a Reshape is not in the checker's table")
        extents = [int(x.shape[i]) if s == 0 else int(s) for i, s in enumerate(shape.data)]
        known = math.prod(s for s in extents if s != -1)
        expect(extents.count(-1) <= 1 and known > 0, "shapes do not fit")
        return self.moved(x, [len(x.data) // known if s == -1 else s for s in extents], range(len(x.data)))

    def Transpose(self, n, x):
        perm = n.get("perm", list(range(len(x.shape)))[::-1])
        expect(sorted(perm) == list(range(len(x.shape))), "perm is no permutation")
        strides, shape = [math.prod(x.shape[i + 1:]) for i in range(len(x.shape))], [x.shape[p] for p in perm]
        indices = itertools.product(*map(range, shape))
        return self.moved(x, shape, [sum(i * strides[p] for i, p in zip(index, perm)) for index in indices])


ATTRIBUTES = {"AveragePool": "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides",
              "Constant": "value", "Conv": "auto_pad dilations group kernel_shape pads strides", "Flatten": "axis",
              "MaxPool": "auto_pad ceil_mode dilations kernel_shape pads storage_order strides", "Pad": "mode",
              "Gemm": "alpha beta transA transB", "Reshape": "allowzero", "Transpose": "perm", "Dropout": "ratio seed"}
OPERATORS = [name for name in vars(Network) if name[0].isupper()]


def make_network(model, point=None):
    # At a point, of elements behind irrational numbers alone: an output is one of them, or a number.
    network, values, given = Network(), dict(model.constants), iter(point or [])
    for name, shape in model.inputs:
        make = lambda: network.add("input") if point is None else next(given)  # noqa: E731
        values[name] = Tensor(shape, [make() for _ in range(size_of(shape))], point is None)
    network.inputs = sum(math.prod(shape) for _, shape in model.inputs)
    expect(model.inputs, "the model has no input")
    for node in model.nodes:
        known = node.op in OPERATORS and set(node.attributes) <= set(ATTRIBUTES.get(node.op, "").split())
        expect(known and len(node.outputs) == 1, f"operator {node.op} is not in the checker's table")
        expect(all(not x or x in values for x in node.inputs), f"operator {node.op} reads what no earlier node makes")
        read = [values[x] if x else None for x in node.inputs]
        movers = ("Identity", "Pad", "Reshape", "Transpose", "Flatten", "Constant")
        expect(node.op in movers or not any(x and x.integral for x in read), "arithmetic of integers is not in the table")
        expect(node.outputs[0] and node.outputs[0] not in values, "two nodes make one value")
        expect(node.op != "Dropout" or model.opset >= 7, "training mode is not in the checker's table")
        expect(node.op != "Pad" or model.opset >= 11, "a Pad before operator set 11 is not in the twin's table")
        values[node.outputs[0]] = getattr(network, node.op)(node.attributes, *read)
    network.shapes = [shape for _, shape in model.inputs]
    for name, (shape, _) in model.outputs.items():
        expect(name in values, f"no node makes the output {name}")
        tensor_ = values[name]
        expect_shape(shape, tensor_.shape)
        network.shapes.append(tensor_.shape)
        is_given = tensor_.computed or point is not None
        network.outputs += [x if is_given else network.add("affine", [], x) for x in tensor_.data]
    return network


# ---- The property ----------------------------------------------------------------------------------------------------
# A formula is ("and", formulas), ("or", formulas) or (coefficients, constant, strict): their sum is <= 0, or < 0.

def expressions(text):
    words = re.findall(r"[()]|[^\s();\[]+(?:\[[^\]]*\])?|\[[^\]]*\]", re.sub(r";[^\n]*", "", text))
    stack = [[]]
    for word in words:
        if word == "(":
            stack.append([])
        elif word == ")":
            expect(len(stack) > 1, "the property has ')' without '('")
            stack[-2].append(stack.pop())
        else:
            word = re.sub(r"(?<=[\[,])\s+|\s+(?=[,\]])", "", word)
            expect(not re.search(r"\s", word), "the property has a blank within a number of [...]")
            stack[-1].append(word)
    expect(len(stack) == 1, "the property's file ends within an expression")
    return stack[0]


class Property:
    def __init__(self, text):
        self.inputs = self.outputs = 0
        self.numbers, formulas, self.shapes, ended, network = {}, [], ([], []), False, False
        for command, *rest in expressions(text):
            expect(not ended or command == "exit", "the property goes on behind its check-sat or exit")
            ended = ended or command in ("check-sat", "exit")
            if command in ("declare-const", "declare-fun"):
                number = {"X": self.inputs, "Y": self.outputs}.get(rest[0][0])
                expect(rest[0][1:] == f"_{number}", f"the property declares '{rest[0]}' out of order")
                expect(rest[1:] == (["Real"] if command == "declare-const" else [[], "Real"]) and not network,
                       "a declaration of the property is not in the grammar")
                self.declare(rest[0], rest[0][0] == "X")
            elif command == "declare-network":
                expect(not self.numbers, "several networks are not in the checker's grammar")
                network = True
                for kind, name, element, shape in rest[1:]:
                    extents = [int(x) for x in shape.strip("[]").split(",") if x.isdecimal()]
                    expect(kind in ("declare-input", "declare-output") and element == "Real" and math.prod(extents) <= 2**20
                           and shape == "[" + ",".join(map(str, extents)) + "]", "not in the grammar")
                    self.shapes[kind == "declare-output"].append(extents)
                    for index in itertools.product(*map(range, extents)):
                        self.declare(name + (f"[{','.join(map(str, index))}]" if extents else ""), kind == "declare-input")
            elif command == "assert":
                expect(len(rest) == 1, "an assert has one formula")
                formulas.append(self.formula(rest[0]))
            else:
                expect(command in ("vnnlib-version", "set-logic", "set-info", "check-sat", "exit"), f"'{command}'")
        self.violation, self.shapes = ("and", formulas), self.shapes[0] + self.shapes[1]
        expect(self.inputs > 0, "the property declares no input")
        self.cases = self.find_cases()
        expect(self.cases, "the property has no case: no input satisfies its asserts")

    def declare(self, name, is_input):
        expect(name not in self.numbers, "the property declares a name twice")
        self.numbers[name] = (is_input, self.inputs if is_input else self.outputs)
        self.inputs, self.outputs = self.inputs + is_input, self.outputs + (not is_input)

    def linear(self, e):
        if isinstance(e, str):
            if e in self.numbers:
                is_input, number = self.numbers[e]
                return {number if is_input else ~number: Fraction(1)}, Fraction(0)
            expect(re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,4})?", e), f"the property reads '{e}'")
            return {}, Fraction(e)
        (terms, constant), *others = [self.linear(x) for x in e[1:]]
        if e[0] == "-" and not others:
            return {v: -c for v, c in terms.items()}, -constant
        for more, other in others:
            if e[0] in "+-":
                sign = 1 if e[0] == "+" else -1
                terms = {v: terms.get(v, 0) + sign * more.get(v, 0) for v in {**terms, **more}}
                constant += sign * other
            else:
                expect(e[0] == "*" and not (terms and more), f"'{e[0]}' of such terms is not in the checker's grammar")
                terms, constant, other = (terms, constant, other) if not more else (more, other, constant)
                expect(sum(x.bit_length() for x in other.as_integer_ratio()) <= 2**17, "a number of too many digits")
                terms, constant = {v: c * other for v, c in terms.items()}, constant * other
        expect(e[0] in ("+", "-", "*"), f"'{e[0]}' is not in the checker's grammar")
        return {v: c for v, c in terms.items() if c != 0}, constant

    def formula(self, e, negated=False):
        if e in ("true", "false"):
            return ("and" if (e == "true") != negated else "or", [])
        expect(isinstance(e, list) and len(e) > 1, "a formula of the property is not in the grammar")
        if e[0] == "not":
            expect(len(e) == 2, "a formula of the property is not in the grammar")
            return self.formula(e[1], not negated)
        if e[0] in ("and", "or"):
            return ("and" if (e[0] == "and") != negated else "or", [self.formula(x, negated) for x in e[1:]])
        expect(e[0] in ("<=", "<", ">=", ">", "=", "==") and len(e) > 2, f"'{e[0]}' is not in the checker's grammar")
        parts = []
        for a, b in zip(e[1:], e[2:]):
            for x, y, used in ((a, b, e[0] in ("<=", "<", "=", "==")), (b, a, e[0] in (">=", ">", "=", "=="))):
                if used:
                    (p, c), (q, d) = self.linear(y if negated else x), self.linear(x if negated else y)
                    terms = {v: p.get(v, 0) - q.get(v, 0) for v in {**p, **q}}
                    parts.append(({v: t for v, t in terms.items() if t != 0}, c - d, (e[0] in ("<", ">")) != negated))
        return ("or" if negated else "and", parts)

    def alternatives(self, formula):
        if isinstance(formula[0], dict):
            return [[formula]]
        parts = [self.alternatives(x) for x in formula[1]]
        if formula[0] == "or":
            return [x for part in parts for x in part]
        return [sum(x, []) for x in itertools.product(*parts)]

    def find_cases(self):
        # Box -> its clauses, each a list of conditions, in the order of the file.
        cases = {}
        for conjunction in self.alternatives(self.violation):
            lower, upper, rest = {}, {}, []
            for terms, constant, strict in conjunction:
                variable = next(iter(terms), -1)
                if len(terms) != 1 or variable < 0:
                    # The multiple whose coefficients are coprime integers.
                    scale = Fraction(math.lcm(*(c.denominator for c in terms.values())),
                                     math.gcd(*(c.numerator for c in terms.values())) or 1)
                    rest.append(({v: c * scale for v, c in terms.items()}, constant * scale, strict))
                    continue
                end = -constant / terms[variable]
                if terms[variable] > 0:
                    upper[variable] = min(end, upper.get(variable, end))
                else:
                    lower[variable] = max(end, lower.get(variable, end))
            expect(all(i in lower and i in upper for i in range(self.inputs)), "an input has no lower and upper bound")
            box = tuple((lower[i], upper[i]) for i in range(self.inputs))
            if all(low <= high for low, high in box):
                cases.setdefault(box, []).append(rest)
        return cases

    def holds(self, formula, inputs, outputs):  # for all outputs between these ends
        if not isinstance(formula[0], dict):
            return (all if formula[0] == "and" else any)(self.holds(x, inputs, outputs) for x in formula[1])
        terms, constant, strict = formula
        value = sum((c * (inputs[v] if v >= 0 else outputs[~v][c > 0]) for v, c in terms.items()), constant)
        return value < 0 if strict else value <= 0


# ---- The proof -------------------------------------------------------------------------------------------------------

def sigmoid(z):
    # Bounds of 1 / (1 + e^-z), for which e^|z| = (e^y)^4096, and e^y is the sum of y^n / n!, with y = |z| / 4096.
    one, x = 2**200, min(abs(z), Fraction(128))
    term = low = one
    for n in range(1, 30):
        term = math.floor(term * x / (4096 * n))
        low += term
    high = low + 100  # what was rounded, and the terms that are left out
    for _ in range(12):
        low, high = low * low // one, high * high // one + 1
    least, most = Fraction(low, low + one), Fraction(high, high + one) if x == abs(z) else Fraction(1)
    return (least, most) if z >= 0 else (1 - most, 1 - least)


def line_above(low, high, unit, fine):
    # (k, c) with sigmoid(z) <= k z + c on [low, high]. t and k are a rule: k may be any number up to the slope at t.
    start, t, below = sigmoid(low * unit), high, max(0, low + (high - low) // 2)
    for step in range(8):
        middle = below + (t - below) // 2 if step else below
        p, q = sigmoid(middle * unit)
        if t > below and p * (1 - q) * (middle - low) * unit <= q - start[0]:
            t = middle
        else:
            below = middle
    p, q = sigmoid(t * unit)
    slope = p * (1 - q) if t == low else min(p * (1 - q), (q - start[0]) / ((t - low) * unit))
    slope = Fraction(math.floor(slope * fine), fine)
    rest = (q * (1 - p) - slope) * (high - t) * unit
    return slope, max(start[1] - slope * low * unit, q - slope * t * unit + rest)


class Part:
    # Bounds of elements, as multiples of the grid; lines of sigmoids; the neurons that are split, with their sides.
    def __init__(self, lower, upper):
        self.lower, self.upper, self.path, self.derived, self.empty, self.lines = lower, upper, (), False, False, {}

    def meet(self, element, low, high):
        low, high = max(low, self.lower.get(element, low)), min(high, self.upper.get(element, high))
        self.lower[element], self.upper[element] = low, high
        self.empty = self.empty or low > high


class Checker:
    def __init__(self, network, value_bits, coefficient_bits, steps=2**23):
        self.most = self.left = steps  # products of a weight and a number
        self.network, self.unit, self.fine = network, Fraction(1, 2**value_bits), 2**coefficient_bits
        relus = [element for element, (kind, *_) in enumerate(network.elements) if kind == "relu"]
        self.relu_number, self.neurons = {e: n for n, e in enumerate(relus)}, [network.elements[e][1] for e in relus]
        self.curved, self.feeds = {e[1] for e in network.elements if e[0] == "sigmoid"}, set(self.neurons)

    def spend(self, steps):
        self.left -= steps
        expect(self.left >= 0, f"checking takes more than {self.most} steps", NotProven)

    floor = lambda self, value: math.floor(value / self.unit)  # noqa: E731

    def lower_bound(self, part, terms, constant, slopes=None, multipliers=None):
        # A number that sum(terms) + constant is not below, at any point of the part.
        sums = collections.Counter()
        for element, coefficient in terms:
            sums[element] += coefficient
        self.spend(len(self.network.elements))
        for element in range(len(self.network.elements) - 1, -1, -1):
            kind, *what = self.network.elements[element]
            a = sums.pop(element, 0)
            if a == 0 and not (kind == "relu" and self.relu_number[element] in (multipliers or {})):
                continue
            if kind == "input":
                constant += min(a * part.lower[element], a * part.upper[element]) * self.unit
            elif kind == "affine":
                constant += a * what[1]
                self.spend(len(what[0]))
                for read, weight in what[0]:
                    sums[read] += a * weight
            elif kind == "sigmoid":
                slope, own = part.lines[element][a < 0]  # the line below, or that above
                constant += a * own
                sums[what[0]] += a * slope
            else:
                n, z = self.relu_number[element], what[0]
                low, high = part.lower[z] * self.unit, part.upper[z] * self.unit
                b = self.kept(a, low, high, slopes.get(n) if slopes else None)
                if multipliers and n in multipliers:
                    b -= dict(part.path)[n] * Fraction(multipliers[n], self.fine)
                ends = [a * max(z, 0) - b * z for z in (low, high)] + ([0] if low < 0 < high else [])
                constant += min(ends)  # a max(z, 0) - b z is linear on either side of 0
                sums[what[0]] += b
        return constant

    def kept(self, a, low, high, slope):  # any would do
        if low >= 0 or high <= 0:
            return a if low >= 0 else Fraction(0)
        chord = Fraction(math.floor(2**30 * high / (high - low)), 2**30)
        share = chord if a < 0 else Fraction(slope, 128) if slope is not None else int(64 * (low + high) > high - low)
        return Fraction(math.floor(a * share * self.fine), self.fine)

    def derive(self, part):
        part.derived = True
        for element, (kind, *what) in enumerate(self.network.elements):
            if part.empty:
                return
            self.spend(2**11 if kind == "sigmoid" else 2 * len(what[0]) if kind == "affine" else 1)
            if kind == "affine":
                low = what[1] + sum(w * (part.lower if w > 0 else part.upper)[x] * self.unit for x, w in what[0])
                high = what[1] + sum(w * (part.upper if w > 0 else part.lower)[x] * self.unit for x, w in what[0])
                part.meet(element, self.floor(low), -self.floor(-high))
                for sign in (1, -1):
                    low, high = part.lower[element], part.upper[element]
                    if element in self.feeds and low < 0 < high or element in self.curved and low < high:
                        bound = self.floor(self.lower_bound(part, [(element, Fraction(sign))], Fraction(0)))
                        part.meet(element, *((bound, high) if sign > 0 else (low, -bound)))
            elif kind != "input":
                low, high = part.lower[what[0]], part.upper[what[0]]
                if kind == "sigmoid":
                    slope, own = line_above(-high, -low, self.unit, self.fine)  # sigmoid(z) = 1 - sigmoid(-z)
                    part.lines[element] = (slope, 1 - own), line_above(low, high, self.unit, self.fine)
                    low, high = self.floor(sigmoid(low * self.unit)[0]), -self.floor(-sigmoid(high * self.unit)[1])
                part.meet(element, max(0, low), max(0, high))

    def split(self, part, neuron, side):
        half, z = copy.deepcopy(part), self.neurons[neuron]
        half.path += ((neuron, side),)
        half.meet(z, *((0, part.upper[z]) if side > 0 else (part.lower[z], 0)))
        return half


class Walk:
    # Reads the tree of a case, and checks each leaf.
    def __init__(self, data):
        self.data, self.at, self.checker = data, 0, None

    def require(self, condition, why):
        expect(condition, f"byte {self.at}: {why}", NotProven)

    byte = lambda self: self.text(1)[0]  # noqa: E731

    def number(self):
        value, self.at = varint(self.data, self.at, NotProven)
        return value

    def text(self, size):
        self.require(size <= len(self.data) - self.at, "the certificate ends too early")
        self.at += size
        return self.data[self.at - size:self.at]

    def node(self, part, clauses, depth=0):
        self.require(depth <= 4096, "the tree is too deep")
        self.checker.spend(len(self.checker.network.elements))
        while (tag := self.byte()) == 6:
            self.checker.derive(part)
        if tag in (0, 1):
            for clause in clauses:
                self.leaf(part, clause, tag == 1)
        elif tag == 2:
            self.require(part.empty, "a part that is said to be empty is not")
        elif tag in (3, 4):
            i = self.number()
            self.require(i < self.checker.network.inputs, "no such input")
            low, high = part.lower[i], part.upper[i]
            place = low + (high - low) // 2
            if tag == 4:
                coded = self.number()
                place = coded >> 1 if coded % 2 == 0 else ~(coded >> 1)
            self.require(low <= place <= high, "an input is cut outside of its part")
            for end in ("upper", "lower"):
                half = copy.deepcopy(part)
                getattr(half, end)[i] = place
                self.node(half, clauses, depth + 1)
        elif tag == 5:
            n = self.number()
            self.require(n < len(self.checker.neurons), "no such neuron")
            self.require(part.derived and n not in dict(part.path), "a neuron cannot be split here")
            for side in (1, -1):
                self.node(self.checker.split(part, n, side), clauses, depth + 1)
        else:
            self.require(tag == 7 and len(clauses) > 1, "no such record")
            for clause in clauses:
                self.node(copy.deepcopy(part), [clause], depth + 1)

    def leaf(self, part, clause, chooses):
        count, slopes, multipliers, n = self.number() if chooses else 1, {}, {}, -1
        self.require(count <= len(clause), "too many conditions")
        weights = [(self.number(), self.number() if chooses else 1) for _ in range(count)]
        flags = self.byte() if chooses else 0
        self.require(flags < 4, "no such flags")
        for _ in range(self.number() if flags & 1 else 0):
            n += 1 + self.number()
            self.require(n < len(self.checker.neurons), "no such neuron")
            slopes[n] = self.byte()
            self.require(slopes[n] <= 128, "no such slope")
        for n, _ in part.path if flags & 2 else ():
            multipliers[n] = self.number()
            self.require(multipliers[n] < 2**52, "a multiplier is too large")
        terms, constant, closed = [], Fraction(0), False
        for atom, weight in weights:
            self.require(atom < len(clause), "no such condition")
            coefficients, own, strict = clause[atom]
            outputs = self.checker.network.outputs
            terms += [(v if v >= 0 else outputs[~v], c * weight) for v, c in coefficients.items()]
            constant += own * weight
            closed = closed or (strict and weight > 0)
        if part.empty:
            return
        self.require(part.derived, "a leaf's bounds are not derived")
        bound = self.checker.lower_bound(part, terms, constant, slopes, multipliers)
        self.require(bound > 0 or (closed and bound == 0), "the bound of a leaf does not exclude its clause")


def check(model, text, data, steps=2**23):
    walk = Walk(data)
    walk.require(walk.text(4) == b"BFC2", "this is no certificate")
    statement, semantics, weight_bits, value_bits, coefficient_bits, models = walk.text(6)
    walk.require(statement in (1, 2) and (semantics, models) == (0, 1) and 8 <= weight_bits <= 50 and 8 <= value_bits <= 48 and
                 8 <= coefficient_bits <= 48, "no such statement or grid")
    walk.require(walk.text(32) == hashlib.sha256(model).digest(), "the certificate is about another model")
    walk.require(walk.text(32) == hashlib.sha256(text).digest(), "the certificate is about another property")
    walk.text(walk.number())
    onnx, asked = Model(model), Property(text.decode("latin-1"))
    point = None
    if statement == 2:
        words = [walk.text(walk.number()).decode("latin-1") for _ in range(asked.inputs)]
        walk.require(all(re.fullmatch(r"-?\d+(/\d*[1-9]\d*)?", word) for word in words), "no such fraction")
        walk.require(walk.at == len(data), "the certificate goes on behind its end")
        point = [Fraction(word) for word in words]
    network = make_network(onnx, point)
    expect((network.inputs, len(network.outputs)) == (asked.inputs, asked.outputs), "the property is about another network")
    expect(asked.shapes in ([], network.shapes), "the property declares other shapes than the model has")
    walk.checker, part = Checker(network, value_bits, coefficient_bits, steps), Part({}, {})
    if statement == 2:
        walk.checker.curved.update(x for x in network.outputs if not isinstance(x, Fraction))
        walk.checker.derive(part)
        end = lambda ends, x: x if isinstance(x, Fraction) else ends[x] * walk.checker.unit
        outputs = [(end(part.lower, x), end(part.upper, x)) for x in network.outputs]
        walk.require(asked.holds(asked.violation, point, outputs), "the point does not violate the property")
        return 2
    for box, clauses in asked.cases.items():
        lower = {i: walk.checker.floor(low) for i, (low, _) in enumerate(box)}
        upper = {i: -walk.checker.floor(-high) for i, (_, high) in enumerate(box)}
        walk.node(Part(lower, upper), clauses)
    walk.require(walk.at == len(data), "the certificate goes on behind its end")
    return 1


def main(words):
    if len(words) not in (4, 5) or not all(word.isdecimal() for word in words[4:]):
        return print(__doc__, file=sys.stderr) or 2
    sys.setrecursionlimit(20000)
    try:
        statement = check(*(pathlib.Path(path).read_bytes() for path in words[1:4]), *map(int, words[4:]))
    except NotProven as why:
        print(f"not proven: {why}")
        return 4
    except Exception as why:  # whatever else goes wrong with a file is no verdict
        print(f"bf_check.py: {type(why).__name__}: {why}", file=sys.stderr)
        return 1
    print("checked: verified" if statement == 1 else "checked: falsified")
    return 0 if statement == 1 else 3


if __name__ == "__main__":
    sys.exit(main(sys.argv))
