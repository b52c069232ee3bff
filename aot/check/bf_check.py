"""The readable twin of bf-check, for small proofs: bf_check.py MODEL... PROPERTY CERTIFICATE [STEPS]."""
# Nothing but Python's integers and fractions (docs/reference/certificate.md). Coefficients are exact here; only choices
# that the certificate leaves to a rule are rounded, and bounds, outwards, to the certificate's grid.

import collections
import functools
import hashlib
import itertools
import math
import pathlib
import re
import struct
import sys
import zlib
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
        if wire == 0:
            value, at = varint(data, at)
        else:
            size, at = varint(data, at) if wire == 2 else ({1: 8, 5: 4}[wire], at)
            expect(size <= len(data) - at, "the model's file ends within a message")
            value, at = data[at:at + size], at + size
        packed.update([number] if pack else [])
        values = found.setdefault(number, [])
        values += numbers_of(value, code) if pack or code else [signed(value) if wire == 0 else value]
    return lambda number, *otherwise: found.get(number, [])[0] if kinds[number] in "vfb" and number in found else (
        otherwise[0] if otherwise else found.get(number, []))


def numbers_of(value, code):
    # Of bytes. code: of struct, or None for varints.
    if code is not None:
        expect(len(value) % struct.calcsize(code) == 0, "the model's file ends within a number")
        as_bits, *parts = IEEE.get(code, (code,))
        return [ieee(x, *parts) if parts else Fraction(x) for (x,) in struct.iter_unpack(as_bits, value)]
    numbers, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        numbers.append(signed(number))
    return numbers


# Floats are read as integers: their type, and the bits of exponent and fraction.
IEEE = {"<f": ("<I", 8, 23), "<d": ("<Q", 11, 52)}


def ieee(bits, wide, fine):
    fraction, exponent = bits % 2**fine, (bits >> fine) % 2**wide
    expect(exponent < 2**wide - 1, "a number of the model is infinite, or none")
    fraction += 2**fine if exponent else 0
    return (-1) ** (bits >> wide + fine) * fraction * Fraction(2) ** (max(exponent, 1) - 2 ** (wide - 1) + 2 - fine - 1)


text_of = lambda value: value.decode("latin-1")  # noqa: E731


def size_of(shape):
    places = math.prod(max(1, extent) for extent in shape)  # loops run over the others where one is 0
    expect(all(0 <= extent <= 2**26 for extent in shape) and places <= 2**26, "a tensor has too many elements")
    return math.prod(shape)


def expect_work(shape, terms):
    expect(size_of(shape) <= 2**24 and size_of(shape) * terms <= 2**28, "a tensor that an operator makes is too large")


# Element type: the code of raw data, and the field that else holds the elements.
TYPES = {1: ("<f", 4), 6: ("<i", 5), 7: ("<q", 7), 11: ("<d", 10)}


class Tensor:
    # A shape, and in row-major order numbers, or elements of the network (computed).
    def __init__(self, shape, data, computed=False, integral=False):
        self.shape, self.data, self.computed, self.integral = list(shape), list(data), computed, integral
        expect(size_of(shape) == len(self.data), "shapes do not fit")


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
    return text_of(get(8, b"")), Tensor(get(1), map(Fraction, numbers), integral=kind in (6, 7))


def attribute(data):
    get = fields(data, "1b 2f 3v 4b 5b 8V 13b 20v")
    kind, own = get(20, 0), {1: 2, 2: 3, 3: 4, 4: 5, 7: 8}
    expect(kind in own, "an attribute's type is not in the checker's table")
    expect(not any(get(n, None) not in (None, []) for n in own.values() if n != own[kind]), "a value of another type")
    value = {1: lambda: get(2, Fraction(0)), 2: lambda: get(3, 0), 3: lambda: text_of(get(4, b"")),
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


# ---- Functions of one number -----------------------------------------------------------------------------------------
# A program is a step's number in STEPS; its argument is step 0. Equal steps are one.
# An enclosure is a pair of integers, in units of 1 / ONE.

STEPS, KNOWN = [("argument",)], {("argument",): 0}
ONE, FINE, WIDE = 2**128, 2**256, 2**512


def step(*what):
    expect(len(STEPS) < 2**20, "the functions have too many steps")
    if what not in KNOWN:
        KNOWN[what] = len(STEPS)
        STEPS.append(what)
    return KNOWN[what]


number = lambda value: step("constant", Fraction(value))  # noqa: E731
add = lambda x, *more: functools.reduce(lambda a, b: step("add", a, b), more, x)  # noqa: E731
mul = lambda x, *more: functools.reduce(lambda a, b: step("mul", a, b), more, x)  # noqa: E731
scaled = lambda factor, x, bias=0: add(mul(number(factor), x), number(bias))  # noqa: E731
relu = lambda x: step("max", x, number(0))  # noqa: E731
tanh = lambda x: scaled(2, step("sigmoid", scaled(2, x)), -1)  # noqa: E731
softplus = lambda x: add(relu(x), step("log", scaled(1, step("exp", step("min", x, scaled(-1, x))), 1)))  # noqa: E731
hard = lambda x, alpha, beta: step("min", relu(scaled(alpha, x, beta)), number(1))  # noqa: E731
expm1 = lambda x, alpha, width=1: scaled(  # noqa: E731
    alpha, step("exp", scaled(1 / Fraction(width), step("min", x, number(0)))), -alpha)


gelu = lambda x: mul(scaled(Fraction(1, 2), x), scaled(  # noqa: E731
    1, step("erf", mul(x, step("sqrt", number(Fraction(1, 2))))), 1))


def power(x, exponent):
    if exponent.denominator > 1 or abs(exponent) > 1024:
        return step("exp", scaled(exponent, step("log", x)))
    if exponent < 0:
        return step("reciprocal", power(x, -exponent))
    if exponent < 2:
        return x if exponent else number(1)
    whole = mul(*[power(x, exponent // 2)] * 2)
    return mul(x, whole) if exponent % 2 else whole


@functools.lru_cache(maxsize=None)
def steps_of(program):
    # The steps that it hangs on, itself the last.
    found, left = set(), [program]
    while left:
        at = left.pop()
        if at not in found:
            found.add(at)
            left += [x for x in STEPS[at][1:] if isinstance(x, int)]
    return sorted(found)


RATIONAL = {"add": lambda x, y: x + y, "mul": lambda x, y: x * y, "max": max, "min": min, "reciprocal": lambda x: 1 / x,
            "floor": lambda x: Fraction(math.floor(x)), "round": lambda x: Fraction(round(x)),
            "sign": lambda x: Fraction((x > 0) - (x < 0)), "constant": lambda x: x}


def value_of(program, x):
    # In rationals; None where it may be irrational.
    values = {0: x}
    for at in steps_of(program):
        op, *what = STEPS[at]
        if at and op not in RATIONAL:
            return None
        read = [values[i] if isinstance(i, int) else i for i in what]
        values[at] = RATIONAL[op](*read) if at else x
        expect(sum(n.bit_length() for n in values[at].as_integer_ratio()) < 2**17, "a number of too many digits")
    return values[program]


def exp_ends(x):
    # FINE e^x, x >= 0: (e^y)^(2^20), and e^y is the sum of y^n / n!. Below 2 units are lost in each term.
    expect(x <= 2**12 * ONE, "a number of a function is too large", NotProven)
    y, term, low = x << 108, FINE, FINE
    for n in range(1, 33):
        term = term * y // (n * FINE)
        low += term
    high = low + 66
    for _ in range(20):
        low, high = low * low // FINE, high * high // FINE + 1
    return low, high


def exp(x):
    if x < -2**12 * ONE:
        return 0, 1
    low, high = exp_ends(abs(x))
    return (low // ONE, high // ONE + 1) if x >= 0 else (FINE * ONE // high, FINE * ONE // low + 1)


def atanh(top, bottom):
    # FINE atanh of a quotient from 0 to 1/3: the sum of t^n / n, n odd. Below 4 units are lost in each term, of 90.
    t = FINE * top // bottom
    power_, low = t, t
    for n in range(3, 183, 2):
        power_ = power_ * t * t // FINE**2
        low += power_ // n
    return low, low + 512


HALF_LOG_2 = atanh(1, 3)


def log(x):
    expect(x > 0, "the logarithm of a number that may not be positive", NotProven)
    bits = x.bit_length() - 1  # x = 2^bits (1 + t) / (1 - t)
    low, high = atanh(x - 2**bits, x + 2**bits)
    twos = [(bits - 128) * end for end in HALF_LOG_2]
    return (2 * (low + min(twos))) // ONE, 2 * (high + max(twos)) // ONE + 1


def square_root(x):
    expect(x >= 0, "the root of a number that may be negative", NotProven)
    root = math.isqrt(x * ONE)
    return root, root + (root * root != x * ONE)


def euler(x, one, unit):
    # Of atan x, x <= 1: each term is 2n/(2n+1) q times the one before, q = x^2 / (1 + x^2) <= 1/2, and loses 2 units.
    below = one * one + x * x
    term = low = unit * x * one // below
    for n in range(1, 600):
        term = term * 2 * n * x * x // ((2 * n + 1) * below)
        low += term
    return low, low + 1202


PI = tuple(4 * end for end in euler(1, 1, WIDE))
ROOT_PI = math.isqrt(PI[0]), math.isqrt(PI[1]) + 1  # FINE of it


def atan(x):
    if x < 0:
        return minus(atan(-x))
    if x > ONE:
        return (PI[0] // (2 * FINE * ONE) - atan(ONE * ONE // x + 1)[1],
                PI[1] // (2 * FINE * ONE) + 1 - atan(ONE * ONE // x)[0])
    low, high = euler(x, ONE, FINE)
    return low // ONE, high // ONE + 1


def cos(x):
    # cos 2y = 2 cos^2 y - 1, 60 times; cos of x / 2^60 is the sum of (-y^2)^n / (2n)!. c errs by at most `off` units.
    expect(abs(x) < 2**50 * ONE, "a number of a function is too large", NotProven)
    y, term, c, off = x << 324, WIDE, WIDE, 128
    for n in range(1, 33):
        term = -(term * y * y // (WIDE**2 * (2 * n - 1) * 2 * n))
        c += term
    for _ in range(60):
        c, off = 2 * c * c // WIDE - WIDE, 4 * off + 4
    return max(-ONE, (c - off) // (FINE * ONE)), min(ONE, (c + off) // (FINE * ONE) + 1)


def cosine(low, high):
    # Of an interval. It is 1 at whole turns, and -1 between.
    ends = cos(low) + cos(high)
    turns = [[Fraction(x * FINE * ONE, 2 * pi) for pi in PI] for x in (low, high)]
    meets = lambda half: math.floor(max(turns[1]) + half) >= math.ceil(min(turns[0]) + half)  # noqa: E731
    return -ONE if meets(Fraction(1, 2)) else min(ends), ONE if meets(0) else max(ends)


sine = lambda low, high: cosine(low - PI[0] // (2 * FINE * ONE) - 1, high - PI[0] // (2 * FINE * ONE))  # noqa: E731


def erf(x):
    # 2 / sqrt(pi) e^-x^2 times the sum of 2 x^2 / (2n+1) times the term before.
    if x < 0:
        return minus(erf(-x))
    if x > 12 * ONE:
        return ONE - 1, ONE
    term = low = x * ONE
    n, off, lost = 1, 1, 1
    while term > 0 or (2 * n + 1) * ONE * ONE < 4 * x * x:
        term = term * 2 * x * x // ((2 * n + 1) * ONE * ONE)
        off = off * 2 * x * x // ((2 * n + 1) * ONE * ONE) + 2  # what the term lacks
        n, low, lost = n + 1, low + term, lost + off
    least, most = exp_ends(x * x // ONE)[0], exp_ends(x * x // ONE + 1)[1]
    return (2 * low * FINE * ONE // (ROOT_PI[1] * most),
            min(ONE, 2 * (low + lost + 2 * off) * FINE * ONE // (ROOT_PI[0] * least) + 1))


def sigmoid(x):
    if x < 0:
        return tuple(ONE - end for end in sigmoid(-x)[::-1])
    if x > 2**12 * ONE:
        return ONE - 1, ONE
    low, high = exp_ends(x)
    return ONE * low // (low + FINE), ONE * high // (high + FINE) + 1


def half_even(x):
    whole, rest = divmod(2 * x + ONE, 2 * ONE)
    return (whole - (rest == 0 and whole % 2)) * ONE


RISING = {"exp": exp, "log": log, "atan": atan, "erf": erf, "sigmoid": sigmoid, "floor": lambda x: (x // ONE * ONE,) * 2,
          "round": lambda x: (half_even(x),) * 2, "sign": lambda x: (((x > 0) - (x < 0)) * ONE,) * 2}
plus = lambda x, y: (x[0] + y[0], x[1] + y[1])  # noqa: E731
minus = lambda x: (-x[1], -x[0])  # noqa: E731
hull = lambda x, y: (min(x[0], y[0]), max(x[1], y[1]))  # noqa: E731


def times(x, y):
    ends = [p * q for p in x for q in y]
    return min(ends) // ONE, -(-max(ends) // ONE)


def square(x):
    low, high = sorted((abs(x[0]), abs(x[1])))
    return 0 if x[0] <= 0 <= x[1] else low * low // ONE, -(-high * high // ONE)


def image(op, x):
    if op in RISING:
        return RISING[op](x[0])[0], RISING[op](x[1])[1]
    if op == "sqrt":  # inputs at which a root is none are not spoken of
        return square_root(max(0, x[0]))[0], square_root(x[1])[1]
    if op != "reciprocal":
        return (sine if op == "sin" else cosine)(*x)
    expect(not x[0] <= 0 <= x[1], "a divisor may be 0", NotProven)
    return ONE * ONE // x[1], -(-ONE * ONE // x[0])


def slope_of_sigmoid(x):
    low, high = (times(s, (ONE - s[1], ONE - s[0])) for s in map(sigmoid, x))
    return min(low[0], high[0]), ONE // 4 if x[0] <= 0 <= x[1] else max(low[1], high[1])


inverse = lambda x: image("reciprocal", x)  # noqa: E731
DERIVATIVES = {"exp": lambda x: image("exp", x), "sin": lambda x: cosine(*x), "cos": lambda x: minus(sine(*x)),
               "reciprocal": lambda x: minus(square(inverse(x))), "sigmoid": slope_of_sigmoid,
               "log": lambda x: (log(x[0]), inverse(x))[1],
               "sqrt": lambda x: inverse(times((2 * ONE, 2 * ONE), (square_root(x[0])[0], square_root(x[1])[1]))),
               "atan": lambda x: inverse(plus((ONE, ONE), square(x))),
               "erf": lambda x: times((2 * FINE * ONE // ROOT_PI[1], 2 * FINE * ONE // ROOT_PI[0] + 1),
                                      image("exp", minus(square(x))))}


def enclose(program, low, high, at_point):
    # (V, D, N) for an argument in [low, high]: there it is g + n, in V; g' is in D almost everywhere, n in N.
    zero, found = (0, 0), {}
    for at in steps_of(program):
        op, *what = STEPS[at]
        read = [found[i] for i in what if isinstance(i, int)]
        smooth = [plus(v, minus(n)) for v, _, n in read]  # of g
        (v, d, n), (w, e, m) = (read + [(zero, zero, zero)] * 2)[:2]
        if op == "argument":
            result = (low, high), (ONE, ONE), zero
        elif op == "constant":
            result = (math.floor(what[0] * ONE), math.ceil(what[0] * ONE)), zero, zero
        elif op == "add":
            result = plus(v, w), plus(d, e), plus(n, m)
        elif op == "mul":
            g, h = smooth
            result = (square(v) if what[0] == what[1] else times(v, w), plus(times(d, h), times(e, g)),
                      plus(plus(times(g, m), times(h, n)), times(n, m)))
        elif op in ("max", "min"):
            value = tuple((max if op == "max" else min)(x, y) for x, y in zip(v, w))
            more, less = (v[0] >= w[1], w[0] >= v[1]) if op == "max" else (w[0] >= v[1], v[0] >= w[1])
            result = value, d if more else e if less else hull(d, e), hull(n, m)
        elif op in ("floor", "round", "sign"):
            value = image(op, v)
            noise = {"floor": (-ONE, 0), "round": (-ONE // 2, ONE // 2), "sign": value}[op]
            jumps = (zero, value) if op == "sign" else (d, plus(n, noise))
            result = (value, zero, zero) if value[0] == value[1] else (value, *jumps)
        else:
            value = image(op, v)
            expect(not at_point or op != "sqrt" or v[0] >= 0, "an operator may have no value at the point", NotProven)
            try:
                slope = DERIVATIVES[op]
                result = value, times(slope(smooth[0]), d), times(slope(hull(v, smooth[0])), n)
            except NotProven:
                result = value, zero, value
        found[at] = result
    return found[program]


class Curve:
    # A function on [low, high], multiples of 2^-bits, in pieces; lines beside it, with slopes that are of 2^-slope_bits.
    def __init__(self, program, low, high, bits, slope_bits, at_point=False):
        self.unit, self.slope_bits, count = ONE >> bits, slope_bits, max(1, min(32, high - low))
        self.ends = [low + i * (high - low) // count for i in range(count + 1)]
        of = lambda x, y: enclose(program, x * self.unit, y * self.unit, at_point)
        self.values = [of(x, x)[0] for x in self.ends]
        self.pieces = [(a * self.unit, b * self.unit, p, q, *of(a, b))
                       for a, b, p, q in zip(self.ends, self.ends[1:], self.values, self.values[1:])]

    def most(self, slope, sign):
        # At least all sign (f(z) - slope z), in the grid's units.
        return -(-max(self.most_of(piece, int(slope * ONE), sign) for piece in self.pieces) // self.unit)

    def most_of(self, piece, k, sign):
        a, b, at_a, at_b, value, inner, noise = piece
        if sign < 0:
            at_a, at_b, value, inner, noise, k = *map(minus, (at_a, at_b, value, inner, noise)), -k
        p, q = inner[0] - k, inner[1] - k
        x, y = at_a[1] - k * a // ONE - noise[0], at_b[1] - k * b // ONE - noise[0]
        if q <= 0 or p >= 0:
            best = x if q <= 0 else y
        else:
            best = -((p * x - q * y + p * q * (b - a) // ONE) // (q - p))
        return min(best + noise[1], value[1] - min(k * a // ONE, k * b // ONE))

    @functools.lru_cache(maxsize=2**12)
    def line(self, t, sign):
        # (slope, offset) of the line above (sign 1) or below. The slope is a rule.
        corners, low, high = [], self.ends[0], self.ends[-1]
        for x, value in zip(self.ends, self.values):
            y = sign * value[sign > 0]
            while len(corners) > 1 and ((corners[-1][1] - corners[-2][1]) * (x - corners[-2][0]) <=
                                        (y - corners[-2][1]) * (corners[-1][0] - corners[-2][0])):
                corners.pop()
            corners.append((x, y))
        at, slope = low + t * (high - low) // 128, Fraction(0)
        for (x, y), (end, z) in zip(corners, corners[1:]):
            if x <= at and end > x:
                slope = Fraction(sign * (z - y), (end - x) * self.unit)
        slope = Fraction(math.floor(slope * 2**self.slope_bits), 2**self.slope_bits)
        return slope, sign * self.most(slope, sign)


# ---- The network -----------------------------------------------------------------------------------------------------
# An element: ("input",), ("affine", [(element, weight), ...], bias), ("relu", element), ("function", element, program)
# or ("product", element, element).

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


def together(*tensors):
    # Their common shape, and for each of its places what they have there.
    shape = functools.reduce(shape_of_both, (x.shape for x in tensors))
    return shape, list(zip(*(spread(x, shape) for x in tensors)))


class Network:
    # One method an operator: from attributes and tensors to a tensor.
    def __init__(self):
        self.elements, self.forms, self.curved, self.shapes, self.inputs = [], [], set(), [], 0

    def add(self, *element):
        # Its form: an element, and the program by which this one is a function of that.
        expect(len(self.elements) < 2**18, "the network has too many elements")
        form = len(self.elements), 0
        if element[0] == "function":
            expect(len(steps_of(element[2])) <= 256, "a function of more than 256 steps")
            form = element[1:]
        elif element[0] == "affine" and len(element[1]) == 1:
            (read, weight), = element[1]
            form = self.forms[read][0], scaled(weight, self.forms[read][1], element[2])
        self.elements.append(element)
        self.forms.append(form)
        return len(self.elements) - 1

    def function(self, program, x, bounded=True):
        # program: makes one of that of its argument. bounded: whether the argument is bounded backwards.
        z, inner = self.forms[x]
        self.curved.update([z] if bounded else [])
        return self.add("function", z, program(inner))

    def unary(self, program, a):
        exact = [None if a.computed else value_of(program(0), x) for x in a.data]
        if None not in exact:
            return Tensor(a.shape, exact)
        return Tensor(a.shape, [self.function(program, x) for x in self.elements_of(a)], True)

    def elements_of(self, a):
        return a.data if a.computed else [self.add("affine", [], x) for x in a.data]

    def times(self, x, y):
        (z, g), (u, h) = self.forms[x], self.forms[y]
        self.curved.update((z,) if z == u else (x, y))
        return self.add("function", z, mul(g, h)) if z == u else self.add("product", x, y)

    def sums(self, shape, rows, constant):
        # Rows ([(element or number, weight)], bias): numbers where all is constant, else elements.
        def make(terms, bias):
            read = [(x, w) for x, w in terms if not isinstance(x, Fraction) and w != 0]
            bias += sum(x * w for x, w in terms if isinstance(x, Fraction))
            return bias if constant else self.add("affine", read, bias)
        return Tensor(shape, [make(*row) for row in rows], not constant)

    def scale(self, a, b):
        shape, pairs = together(a, b)
        return self.sums(shape, [([pair], Fraction(0)) for pair in pairs], not a.computed)

    def Sum(self, n, *read, factors=itertools.repeat(1)):
        shape, rows = together(*read)
        return self.sums(shape, [(list(zip(row, factors)), Fraction(0)) for row in rows], not any(x.computed for x in read))

    Add, Sub = (lambda self, n, a, b: self.Sum(n, a, b)), lambda self, n, a, b: self.Sum(n, a, b, factors=(1, -1))

    def Mul(self, n, a, b):
        if a.computed and b.computed:
            shape, pairs = together(a, b)
            return Tensor(shape, [self.times(*pair) for pair in pairs], True)
        return self.scale(b, a) if b.computed else self.scale(a, b)

    Div = lambda self, n, a, b: self.Mul(n, a, self.Reciprocal(n, b))  # noqa: E731

    Neg = lambda self, n, a: self.scale(a, Tensor([], [Fraction(-1)]))  # noqa: E731

    def Clip(self, n, a, *ends):
        expect(len(ends) <= 2 and not any(x and (x.computed or len(x.data) != 1) for x in ends), "such a Clip")
        ends = [end and number(end.data[0]) for end in (*ends, None, None)[:2]]
        above = lambda x: step("max", x, ends[0]) if ends[0] else x
        return self.unary(lambda x: step("min", above(x), ends[1]) if ends[1] else above(x), a)

    def Pow(self, n, a, exponent):
        expect(not exponent.computed and len(exponent.data) == 1 and len(exponent.shape) <= len(a.shape), "such a Pow")
        return self.unary(lambda x: power(x, exponent.data[0]), a)

    LeakyRelu = lambda self, n, a: self.slanted(n, a, Tensor([], [n.get("alpha", Fraction(10737418, 2**30))]))  # noqa: E731

    def slanted(self, n, a, slope):  # (1 - slope) relu(x) + slope x
        shape, read = together(self.Relu(n, a), a, slope)
        return self.sums(shape, [([(r, 1 - w), (x, w)], Fraction(0)) for r, x, w in read], not a.computed)

    Abs = lambda self, n, a: self.slanted(n, a, Tensor([], [Fraction(-1)]))  # noqa: E731

    def Softmax(self, n, a, last=lambda total: step("reciprocal", total)):
        axis = n.get("axis", -1 if self.opset >= 13 else 1)
        axis += len(a.shape) if axis < 0 else 0
        expect(0 <= axis < len(a.shape) and (self.opset >= 13 or axis == len(a.shape) - 1), "such a Softmax")
        count, inner, x = a.shape[axis], math.prod(a.shape[axis + 1:]), self.elements_of(a)
        expect_work(a.shape, count)
        expect(count > 1, "a Softmax of single numbers is not in the twin's table")
        self.curved.update(x)
        firsts = [i - i // inner % count * inner for i in range(len(x))]
        others = [(i, first + k * inner) for i, first in enumerate(firsts) for k in range(count)]
        gaps = [self.add("affine", [(x[j], 1), (x[i], -1)], Fraction(0)) for i, j in others if i != j]
        exps = [self.function(lambda z: step("exp", z), z, False) for z in gaps]
        rows = [exps[i * (count - 1):(i + 1) * (count - 1)] for i in range(len(x))]
        totals = [self.add("affine", [(e, 1) for e in row], Fraction(1)) for row in rows]
        return Tensor(a.shape, [self.function(last, total) for total in totals], True)

    LogSoftmax = lambda self, n, a: self.Softmax(n, a, lambda total: scaled(-1, step("log", total)))  # noqa: E731

    def Relu(self, n, a):
        make = self.add if a.computed else lambda _, x: max(x, Fraction(0))
        return Tensor(a.shape, [make("relu", x) for x in a.data], a.computed)

    def product(self, a, b, shape, scale=1, bias=None):
        # Of matrices: first all products of elements, then all sums.
        rows, inner, columns, sums = math.prod(a.shape[:-1]), b.shape[0], math.prod(b.shape[1:]), []
        expect_work([rows, columns], inner)
        expect(bias is None or shape_of_both(bias.shape, [rows, columns]) == [rows, columns], "shapes do not fit")
        biases = spread(bias, [rows, columns]) if bias else [Fraction(0)] * (rows * columns)
        for i, j in itertools.product(range(rows), range(columns)):
            read = [(a.data[i * inner + k], b.data[k * columns + j]) for k in range(inner)]
            terms = ([(self.times(*both), scale) for both in read] if a.computed and b.computed else
                     [(v, scale * u) if b.computed else (u, scale * v) for u, v in read])
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


FUNCTIONS = {
    "Sigmoid": lambda n: lambda x: step("sigmoid", x), "Tanh": lambda n: tanh, "Softplus": lambda n: softplus,
    **{name: lambda n, op=name.lower(): lambda x: step(op, x)
       for name in ("Exp", "Log", "Sqrt", "Reciprocal", "Sin", "Cos", "Atan", "Erf", "Floor", "Round", "Sign")},
    "Ceil": lambda n: lambda x: scaled(-1, step("floor", scaled(-1, x))),
    "Softsign": lambda n: lambda x: mul(x, step("reciprocal", add(number(1), step("max", x, scaled(-1, x))))),
    "Gelu": lambda n: gelu, "Mish": lambda n: lambda x: mul(x, tanh(softplus(x))),
    "HardSigmoid": lambda n: lambda x: hard(x, n.get("alpha", Fraction(13421773, 2**26)), n.get("beta", Fraction(1, 2))),
    "HardSwish": lambda n: lambda x: mul(x, hard(x, Fraction(1, 6), Fraction(1, 2))),
    "Elu": lambda n: lambda x: add(relu(x), expm1(x, n.get("alpha", Fraction(1)))),
    "Celu": lambda n: lambda x: add(relu(x), expm1(x, n.get("alpha", Fraction(1)), n.get("alpha", Fraction(1)))),
    "Selu": lambda n: lambda x: scaled(n.get("gamma", Fraction("1.05070102214813232421875")), add(
        relu(x), expm1(x, n.get("alpha", Fraction("1.67326319217681884765625")))))}
for name, make in FUNCTIONS.items():
    setattr(Network, name, lambda self, n, a, make=make: self.unary(make(n), a))
ATTRIBUTES = {"Celu": "alpha", "Elu": "alpha", "HardSigmoid": "alpha beta", "LeakyRelu": "alpha",
              "LogSoftmax": "axis", "Selu": "alpha gamma", "Softmax": "axis",
              "AveragePool": "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides",
              "Constant": "value", "Conv": "auto_pad dilations group kernel_shape pads strides", "Flatten": "axis",
              "MaxPool": "auto_pad ceil_mode dilations kernel_shape pads storage_order strides", "Pad": "mode",
              "Gemm": "alpha beta transA transB", "Reshape": "allowzero", "Transpose": "perm", "Dropout": "ratio seed"}
OPERATORS = [name for name in vars(Network) if name[0].isupper()]


def make_networks(models, point=None):
    # At a point, of elements behind irrational numbers alone: an output is one of them, or a number.
    network, given, starts = Network(), iter(point or []), []
    for model in models:
        expect(model.inputs, "a model has no input")
        make = lambda: network.add("input") if point is None else next(given)  # noqa: E731
        starts.append([(name, Tensor(shape, [make() for _ in range(size_of(shape))], point is None))
                       for name, shape in model.inputs])
    network.inputs = sum(len(tensor_.data) for start in starts for _, tensor_ in start)
    network.outputs = [x for model, start in zip(models, starts) for x in run(network, model, start, point is None)]
    return network


def run(network, model, inputs, is_box):
    values, network.opset, outputs = {**model.constants, **dict(inputs)}, model.opset, []
    for node in model.nodes:
        known = node.op in OPERATORS and set(node.attributes) <= set(ATTRIBUTES.get(node.op, "").split())
        expect(known and len(node.outputs) == 1, f"operator {node.op} is not in the checker's table")
        expect(all(not x or x in values for x in node.inputs), f"operator {node.op} reads what no earlier node makes")
        read = [values[x] if x else None for x in node.inputs]
        moves = node.op in ("Identity", "Pad", "Reshape", "Transpose", "Flatten", "Constant")
        expect(moves or not any(x and x.integral for x in read), "arithmetic of integers is not in the table")
        expect(node.outputs[0] and node.outputs[0] not in values, "two nodes make one value")
        expect(node.op != "Dropout" or model.opset >= 7, "training mode is not in the checker's table")
        expect(node.op != "Pad" or model.opset >= 11, "a Pad before operator set 11 is not in the twin's table")
        values[node.outputs[0]] = getattr(network, node.op)(node.attributes, *read)
    shapes = [list(tensor_.shape) for _, tensor_ in inputs]
    for name, (shape, _) in model.outputs.items():
        expect(name in values, f"no node makes the output {name}")
        expect_shape(shape, values[name].shape)
        shapes.append(values[name].shape)
        outputs += network.elements_of(values[name]) if is_box else values[name].data
    network.shapes.append(shapes)
    return outputs


# ---- The property ----------------------------------------------------------------------------------------------------
# A formula is ("and", formulas), ("or", formulas) or (coefficients, constant, strict): their sum is <= 0, or < 0.

def expressions(text):
    words = re.findall(r"[()]|(?=[^\s();])[^\s();\[]*(?:\[[^\]]*\])?[^\s();\[]*", re.sub(r";[^\n]*", "", text))
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
        self.numbers, self.products, self.shapes, formulas, ended = {}, {}, {}, [], False
        for command, *rest in expressions(text):
            expect(not ended or command == "exit", "the property goes on behind its check-sat or exit")
            ended = ended or command in ("check-sat", "exit")
            if command in ("declare-const", "declare-fun"):
                number = {"X": self.inputs, "Y": self.outputs}.get(rest[0][0])
                expect(rest[0][1:] == f"_{number}", f"the property declares '{rest[0]}' out of order")
                expect(rest[1:] == (["Real"] if command == "declare-const" else [[], "Real"]) and not self.shapes,
                       "a declaration of the property is not in the grammar")
                self.declare(rest[0], rest[0][0] == "X")
            elif command == "declare-network":
                expect(rest[0] not in self.shapes and (self.shapes or not self.numbers), "a network is declared twice")
                shapes = self.shapes[rest[0]] = [[], []]
                for kind, name, element, shape in rest[1:]:
                    extents = [int(x) for x in shape.strip("[]").split(",") if x.isdecimal()]
                    expect(kind in ("declare-input", "declare-output") and element == "Real" and math.prod(extents) <= 2**20
                           and shape == "[" + ",".join(map(str, extents)) + "]", "not in the grammar")
                    shapes[kind == "declare-output"].append(extents)
                    for index in itertools.product(*map(range, extents)):
                        self.declare(name + (f"[{','.join(map(str, index))}]" if extents else ""), kind == "declare-input")
            elif command == "assert":
                expect(len(rest) == 1, "an assert has one formula")
                formulas.append(self.formula(rest[0]))
            else:
                expect(command in ("vnnlib-version", "set-logic", "set-info", "check-sat", "exit"), f"'{command}'")
        self.violation, self.networks = ("and", formulas), max(1, len(self.shapes))
        self.shapes = [sum(shapes, []) for shapes in self.shapes.values()]
        self.cases = self.find_cases()
        expect(self.inputs > 0 and self.cases, "the property has no input, or no case: no input satisfies its asserts")

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
                continue
            expect(e[0] == "*", f"'{e[0]}' of such terms is not in the checker's grammar")
            made = collections.Counter()
            for (v, c), (w, d) in itertools.product([*terms.items(), (None, constant)], [*more.items(), (None, other)]):
                expect(sum(x.bit_length() for y in (c, d) for x in y.as_integer_ratio()) <= 2**17, "a number of too many digits")
                made[self.product(v, w)] += c * d
            constant = made.pop(None)
            terms = made
        expect(e[0] in ("+", "-", "*"), f"'{e[0]}' is not in the checker's grammar")
        return {v: c for v, c in terms.items() if c != 0}, constant

    def product(self, v, w):
        # The variable that is the product of two; None is 1. Variables are numbers: ~k an output, the greatest products.
        if v is None or w is None:
            return w if v is None else v
        found = self.products.setdefault((min(v, w), max(v, w)), (2**32 + len(self.products), v, w))
        expect(len(self.products) <= 2**16, "the property has too many products")
        return found[0]

    def formula(self, e, negated=False):
        if e in ("true", "false"):
            return ("and" if (e == "true") != negated else "or", [])
        expect(isinstance(e, list) and len(e) > 1 and (e[0] != "not" or len(e) == 2), "a formula is not in the grammar")
        if e[0] == "not":
            return self.formula(e[1], not negated)
        if e[0] in ("and", "or"):
            return ("and" if (e[0] == "and") != negated else "or", [self.formula(x, negated) for x in e[1:]])
        expect(e[0] in ("<=", "<", ">=", ">", "=", "==") and len(e) > 2, f"'{e[0]}' is not in the checker's grammar")
        parts, read = [], [self.linear(x) for x in e[1:]]
        for a, b in zip(read, read[1:]):
            for x, y, used in ((a, b, e[0] in ("<=", "<", "=", "==")), (b, a, e[0] in (">=", ">", "=", "=="))):
                if used:
                    (p, c), (q, d) = (y, x) if negated else (x, y)
                    terms = {v: p.get(v, 0) - q.get(v, 0) for v in {**p, **q}}
                    parts.append(({v: t for v, t in terms.items() if t != 0}, c - d, (e[0] in ("<", ">")) != negated))
        return ("or" if negated else "and", parts)

    def alternatives(self, formula):
        if isinstance(formula[0], dict):
            return [[formula]]
        parts = [self.alternatives(x) for x in formula[1]]
        return sum(parts, []) if formula[0] == "or" else [sum(x, []) for x in itertools.product(*parts)]

    def find_cases(self):
        # Box -> its clauses, each a list of conditions, in the order of the file.
        cases = {}
        for conjunction in self.alternatives(self.violation):
            ends, rest = {}, []
            for terms, constant, strict in conjunction:
                variable = next(iter(terms), -1)
                if len(terms) == 1 and 0 <= variable < self.inputs:
                    key, end = (variable, terms[variable] > 0), -constant / terms[variable]
                    ends[key] = (min if key[1] else max)(end, ends.get(key, end))
                else:  # the multiple whose coefficients are coprime integers
                    scale = Fraction(math.lcm(*(c.denominator for c in terms.values())),
                                     math.gcd(*(c.numerator for c in terms.values())) or 1)
                    rest.append(({v: c * scale for v, c in terms.items()}, constant * scale, strict))
            expect(len(ends) == 2 * self.inputs, "an input has no lower and upper bound")
            box = tuple((ends[i, False], ends[i, True]) for i in range(self.inputs))
            if all(low <= high for low, high in box):
                cases.setdefault(box, []).append(rest)
        return cases

    def is_violated(self, point, outputs):  # by all outputs between these ends
        ends = {**{i: (x, x) for i, x in enumerate(point)}, **{~k: pair for k, pair in enumerate(outputs)}}
        for new, v, w in self.products.values():
            corners = [p * q for p in ends[v] for q in ends[w]]
            ends[new] = min(corners), max(corners)
        return self.holds(self.violation, ends)

    def holds(self, formula, ends):
        if not isinstance(formula[0], dict):
            return (all if formula[0] == "and" else any)(self.holds(x, ends) for x in formula[1])
        terms, constant, strict = formula
        value = sum((c * ends[v][c > 0] for v, c in terms.items()), constant)
        return value < 0 if strict else value <= 0


# ---- The proof -------------------------------------------------------------------------------------------------------

class Part:
    # Bounds of elements, as multiples of the grid; curves of functions; the neurons that are split, with their sides.
    def __init__(self, lower, upper, path=(), derived=False, empty=False, curves=()):
        self.lower, self.upper, self.path, self.derived, self.empty = lower, upper, path, derived, empty
        self.curves = dict(curves)

    def copy(self):
        return Part(dict(self.lower), dict(self.upper), self.path, self.derived, self.empty, self.curves)

    def meet(self, element, low, high):
        expect(max(abs(low), abs(high)) < 2**54, "a value is beyond the range of the certificate's grid", NotProven)
        low, high = max(low, self.lower.get(element, low)), min(high, self.upper.get(element, high))
        self.lower[element], self.upper[element] = low, high
        self.empty = self.empty or low > high


class Checker:
    def __init__(self, network, weight_bits, value_bits, coefficient_bits, steps, at_point=False):
        self.most = self.left = steps  # products of a weight and a number
        self.network, self.unit, self.fine = network, Fraction(1, 2**value_bits), 2**coefficient_bits
        self.rest = value_bits, weight_bits, at_point
        relaxed = [e for e, (kind, *_) in enumerate(network.elements) if kind in ("relu", "function", "product")]
        self.numbers = {e: n for n, e in enumerate(relaxed)}
        self.neurons = {n: network.elements[e][1] for n, e in enumerate(relaxed) if network.elements[e][0] == "relu"}
        self.feeds = set(self.neurons.values())

    def spend(self, steps):
        self.left -= steps
        expect(self.left >= 0, f"checking takes more than {self.most} steps", NotProven)

    floor = lambda self, value: math.floor(value / self.unit)  # noqa: E731

    def lower_bound(self, part, terms, constant, slopes=None, multipliers=None):
        # A number that sum(terms) + constant is not below, at any point of the part.
        sums, slopes, multipliers = collections.Counter(), slopes or {}, multipliers or {}
        for element, coefficient in terms:
            sums[element] += coefficient
        self.spend(len(self.network.elements))
        for element in range(len(self.network.elements) - 1, -1, -1):
            kind, *what = self.network.elements[element]
            n, a = self.numbers.get(element), sums.pop(element, 0)
            if a == 0 and n not in multipliers:
                continue
            what, z = (what, element) if kind in ("input", "affine") else (what[1:], what[0])
            low, high = part.lower[z] * self.unit, part.upper[z] * self.unit
            if kind == "affine":
                constant += a * what[1]
                self.spend(len(what[0]))
                for read, weight in what[0]:
                    sums[read] += a * weight
            elif kind == "input":
                constant += min(a * low, a * high)
            elif kind == "function":
                curve = part.curves[element] if n not in slopes else self.curve(what[0], part.lower[z], part.upper[z])
                slope, own = curve.line(slopes.get(n, 64), 1 if a < 0 else -1)
                constant += a * own * self.unit
                sums[z] += a * slope
            elif kind == "product":
                t, least, most = slopes.get(n, 64), part.lower[what[0]], part.upper[what[0]]
                p, shift = part.lower[z] + t * (part.upper[z] - part.lower[z]) // 128, t * (most - least) // 128
                p, q = p * self.unit, (least + shift if a >= 0 else most - shift) * self.unit
                corners = [(x - p) * (y * self.unit - q) for x in (low, high) for y in (least, most)]
                constant += min(a * corner for corner in corners) - a * p * q
                sums[z] += a * q
                sums[what[0]] += a * p
            else:
                b = self.kept(a, low, high, slopes.get(n))
                if n in multipliers:
                    b -= dict(part.path)[n] * Fraction(multipliers[n], self.fine)
                ends = [a * max(z, 0) - b * z for z in (low, high)] + ([0] if low < 0 < high else [])
                constant += min(ends)  # a max(z, 0) - b z is linear on either side of 0
                sums[z] += b
        return constant

    def curve(self, program, low, high):
        self.spend(2**11 + 2**6 * len(steps_of(program)))
        return Curve(program, low, high, *self.rest)

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
            self.spend(2 * len(what[0]) if kind == "affine" else 1)
            reads = {"input": [], "affine": [], "function": what[:1]}.get(kind, what)
            ends = [(part.lower[x], part.upper[x]) for x in reads]
            if kind == "affine":
                low = what[1] + sum(w * (part.lower if w > 0 else part.upper)[x] * self.unit for x, w in what[0])
                high = what[1] + sum(w * (part.upper if w > 0 else part.lower)[x] * self.unit for x, w in what[0])
                part.meet(element, self.floor(low), -self.floor(-high))
                for sign in (1, -1):
                    low, high = part.lower[element], part.upper[element]
                    if element in self.feeds and low < 0 < high or element in self.network.curved and low < high:
                        bound = self.floor(self.lower_bound(part, [(element, Fraction(sign))], Fraction(0)))
                        bound = min(max(bound, -2**54 + 1), 2**54 - 1)
                        part.meet(element, *((bound, high) if sign > 0 else (low, -bound)))
            elif kind == "relu":
                part.meet(element, max(0, ends[0][0]), max(0, ends[0][1]))
            elif kind == "function":
                curve = part.curves[element] = self.curve(what[1], *ends[0])
                part.meet(element, -curve.most(Fraction(0), -1), curve.most(Fraction(0), 1))
            elif kind == "product":
                corners = [p * q * self.unit for p in ends[0] for q in ends[1]]
                part.meet(element, math.floor(min(corners)), math.ceil(max(corners)))


class Walk:
    # Reads the tree of a case, and checks each leaf.
    def __init__(self, data):
        self.data, self.at, self.checker, self.variables = data, 0, None, {}

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
        elements = self.checker.network.elements
        self.require(depth <= 2048, "the tree is too deep")
        self.checker.spend(len(elements))
        while (tag := self.byte()) == 6:
            self.checker.derive(part)
        if tag in (0, 1):
            for clause in clauses:
                self.leaf(part, clause, tag == 1)
        elif tag == 2:
            self.require(part.empty, "a part that is said to be empty is not")
        elif tag in (3, 4):
            i = self.number()
            self.require(i < self.checker.network.inputs or part.derived and i < len(elements), "no such element to cut")
            self.require(not part.empty, "an empty part is cut")
            low, high = part.lower[i], part.upper[i]
            place = low + (high - low) // 2
            if tag == 4:
                place, odd = divmod(self.number(), 2)
                place = ~place if odd else place
            self.require(low <= place <= high, "an element is cut outside of its part")
            for end in ("upper", "lower"):
                half = part.copy()
                getattr(half, end)[i] = place
                self.node(half, clauses, depth + 1)
        elif tag == 5:
            n = self.number()
            self.require(n in self.checker.neurons, "no such neuron")
            self.require(part.derived and n not in dict(part.path), "a neuron cannot be split here")
            for side in (1, -1):
                half, z = part.copy(), self.checker.neurons[n]
                half.path += ((n, side),)
                half.meet(z, *((0, part.upper[z]) if side > 0 else (part.lower[z], 0)))
                self.node(half, clauses, depth + 1)
        else:
            self.require(tag == 7 and len(clauses) > 1, "no such record")
            for clause in clauses:
                self.node(part.copy(), [clause], depth + 1)

    def leaf(self, part, clause, chooses):
        count, slopes, multipliers, n = self.number() if chooses else 1, {}, {}, -1
        self.require(count <= len(clause), "too many conditions")
        weights = [(self.number(), self.number() if chooses else 1) for _ in range(count)]
        flags = self.byte() if chooses else 0
        self.require(flags < 4, "no such flags")
        for _ in range(self.number() if flags & 1 else 0):
            n += 1 + self.number()
            self.require(n < len(self.checker.numbers), "no such relaxation")
            slopes[n] = self.byte()
            self.require(slopes[n] <= 128, "no such slope")
        for n, _ in part.path if flags & 2 else ():
            multipliers[n] = self.number()
            self.require(multipliers[n] < 2**52, "a multiplier is too large")
        self.require(all(atom < len(clause) for atom, _ in weights), "no such condition")
        terms = [(self.variables[v], c * weight) for atom, weight in weights for v, c in clause[atom][0].items()]
        constant = sum((clause[atom][1] * weight for atom, weight in weights), Fraction(0))
        closed = any(weight > 0 and clause[atom][2] for atom, weight in weights)
        if part.empty:
            return
        self.require(part.derived, "a leaf's bounds are not derived")
        bound = self.checker.lower_bound(part, terms, constant, slopes, multipliers)
        self.require(bound > 0 or (closed and bound == 0), "the bound of a leaf does not exclude its clause")


def check(models, text, data, steps=2**23):
    walk = Walk(data)
    walk.require(walk.text(4) == b"BFC2", "this is no certificate of version 2")
    statement, semantics, weight_bits, value_bits, coefficient_bits = walk.text(5)
    walk.require(statement in (1, 2) and semantics == 0 and 8 <= weight_bits <= 50 and 8 <= value_bits <= 48 and
                 8 <= coefficient_bits <= 48, "no such statement or grid, or another arithmetic than the reals")
    walk.require(walk.number() == len(models), "the certificate is about another number of models")
    for file in (*models, text):
        walk.require(walk.text(32) == hashlib.sha256(file).digest(), "the certificate is about another file")
    walk.text(walk.number())
    read, asked = list(map(Model, models)), Property(text.decode("latin-1"))
    expect(asked.networks == len(models), "the property declares another number of networks")
    words = [walk.text(walk.number()).decode("latin-1") for _ in range(asked.inputs if statement == 2 else 0)]
    walk.require(all(re.fullmatch(r"-?\d+(/\d*[1-9]\d*)?", word) for word in words), "no such fraction")
    point = [Fraction(word) for word in words] if statement == 2 else None
    network = make_networks(read, point)
    expect((sum(math.prod(shape) for model in read for _, shape in model.inputs), len(network.outputs)) ==
           (asked.inputs, asked.outputs), "the property is about another network")
    expect(asked.shapes in ([], network.shapes), "the property declares other shapes than the model has")
    if statement == 2:
        walk.require(walk.at == len(data), "the certificate goes on behind its end")
        network.curved.update(x for x in network.outputs if not isinstance(x, Fraction))
        checker, part = Checker(network, weight_bits, value_bits, coefficient_bits, steps, True), Part({}, {})
        checker.derive(part)
        end = lambda ends, x: x if isinstance(x, Fraction) else ends[x] * checker.unit
        outputs = [(end(part.lower, x), end(part.upper, x)) for x in network.outputs]
        walk.require(not part.empty and asked.is_violated(point, outputs), "the point does not violate the property")
        return 2
    walk.variables = {**{i: i for i in range(asked.inputs)}, **{~k: e for k, e in enumerate(network.outputs)}}
    for new, v, w in asked.products.values():
        walk.variables[new] = network.times(walk.variables[v], walk.variables[w])
    walk.checker = Checker(network, weight_bits, value_bits, coefficient_bits, steps)
    for box, clauses in asked.cases.items():
        part = Part({}, {})
        for i, (low, high) in enumerate(box):
            part.meet(i, walk.checker.floor(low), -walk.checker.floor(-high))
        walk.node(part, clauses)
    walk.require(walk.at == len(data), "the certificate goes on behind its end")
    return 1


def expanded(data):
    # What gzip made, of one member or several, at most 2^28 bytes.
    whole, packed = [], data[:2] == b"\x1f\x8b"
    while packed and data:
        member = zlib.decompressobj(31)
        whole.append(member.decompress(data, 2**28 + 1))
        data = member.unused_data
        expect(member.eof and sum(map(len, whole)) <= 2**28, "a file's compression is damaged, or expands to too much")
    return b"".join(whole) if packed else data


def main(words):
    steps = int(words.pop()) if len(words) > 4 and words[-1].isdecimal() else 2**23
    if len(words) < 4 or words[-1][:1] in ("-", ""):
        return print(__doc__, file=sys.stderr) or 2
    sys.setrecursionlimit(20000)
    try:
        *models, text, data = (expanded(pathlib.Path(path).read_bytes()) for path in words[1:])
        code, answer = {1: (0, "verified"), 2: (3, "falsified")}[check(models, text, data, steps)]
    except NotProven as why:
        return print(f"not proven: {why}") or 4
    except Exception as why:  # whatever else goes wrong with a file is no verdict
        return print(f"bf_check.py: {type(why).__name__}: {why}", file=sys.stderr) or 1
    return print(f"checked: {answer}") or code


if __name__ == "__main__":
    sys.exit(main(sys.argv))
