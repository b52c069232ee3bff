#!/usr/bin/env python3
"""Bounds small functions of one input and compares their widths with the exact ranges.

    python3 bench/function_widths.py BF_AOT [--method ibp] [--only TEXT] [--boxes]

Each function is written once as exporters and users write it; the same text makes the ONNX nodes and the exact values
(mpmath, 60 digits). Of each function there are four boxes: narrow, wide, at an end of its domain or at a kink, and far
away. The table has the largest of the four widths over the exact ones. Where f has no bound on one side of a box, the
other side is compared instead, as part of the magnitude of f there; `-` says that the other side is infinite, too.
"""

import argparse
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import mpmath

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
from onnx_format import encode, node, value_info  # noqa: E402

mpmath.mp.dps = 60
INF = mpmath.inf


def mp(number):
    return mpmath.mpf(number)


def single(number):
    """The float32 that a file holds of a number."""
    return mp(struct.unpack("<f", struct.pack("<f", number))[0])


class Exact:
    """The values of a formula at a number."""

    def __init__(self, number):
        self.number = number

    def _binary(self, other, apply):
        return Exact(apply(self.number, other.number if isinstance(other, Exact) else single(other)))

    def __add__(self, other):
        return self._binary(other, lambda a, b: a + b)

    def __sub__(self, other):
        return self._binary(other, lambda a, b: a - b)

    def __mul__(self, other):
        return self._binary(other, lambda a, b: a * b)

    def __truediv__(self, other):
        return self._binary(other, lambda a, b: a / b)

    def __radd__(self, other):
        return Exact(single(other)) + self

    def __rsub__(self, other):
        return Exact(single(other)) - self

    def __rmul__(self, other):
        return Exact(single(other)) * self

    def __rtruediv__(self, other):
        return Exact(single(other)) / self

    def __neg__(self):
        return Exact(-self.number)

    def apply(self, operator, *operands, **attributes):
        numbers = [each.number if isinstance(each, Exact) else single(each) for each in operands]
        return Exact(VALUES[operator](self.number, *numbers, **attributes))


VALUES = {
    "Relu": lambda x: max(x, mp(0)),
    "Abs": abs,
    "Exp": mpmath.exp,
    "Log": mpmath.log,
    "Sqrt": mpmath.sqrt,
    "Reciprocal": lambda x: 1 / x,
    "Tanh": mpmath.tanh,
    "Sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "Erf": mpmath.erf,
    "Sin": mpmath.sin,
    "Cos": mpmath.cos,
    "Atan": mpmath.atan,
    "Asin": mpmath.asin,
    "Acos": mpmath.acos,
    "Atanh": mpmath.atanh,
    "Acosh": mpmath.acosh,
    "Asinh": mpmath.asinh,
    "Cosh": mpmath.cosh,
    "Softplus": lambda x: mpmath.log1p(mpmath.exp(x)) if x < 100 else x + mpmath.exp(-x),
    "Softsign": lambda x: x / (1 + abs(x)),
    "Floor": mpmath.floor,
    "Ceil": mpmath.ceil,
    "Round": mpmath.nint,
    "Sign": mpmath.sign,
    "Neg": lambda x: -x,
    "Pow": lambda x, a: x ** int(a) if a == int(a) else mpmath.power(x, a),
    "Max": max,
    "Min": min,
    "Clip": lambda x, low, high: min(max(x, low), high),
    "Greater": lambda x, y: mp(x > y),
    "Less": lambda x, y: mp(x < y),
    "LessOrEqual": lambda x, y: mp(x <= y),
    "Where": lambda c, a, b: a if c else b,
    "Elu": lambda x, alpha=1.0: x if x > 0 else single(alpha) * mpmath.expm1(x),
    "HardSigmoid": lambda x, alpha=0.2, beta=0.5: min(max(single(alpha) * x + single(beta), mp(0)), mp(1)),
    "HardSwish": lambda x: x * min(max(x / 6 + mp(1) / 2, mp(0)), mp(1)),
    "Gelu": lambda x: x / 2 * (1 + mpmath.erf(x / mpmath.sqrt(2))),
    "Mish": lambda x: x * mpmath.tanh(VALUES["Softplus"](x)),
}


class Emitted(Exact):
    """A tensor of the network that computes a formula."""

    def __init__(self, network, name):
        self.network, self.name = network, name

    def _write(self, operator, operands, **attributes):
        names = [each.name if isinstance(each, Emitted) else self.network.constant(each) for each in operands]
        return Emitted(self.network, self.network.add(operator, names, **attributes))

    def __add__(self, other):
        return self._write("Add", [self, other])

    def __sub__(self, other):
        return self._write("Sub", [self, other])

    def __mul__(self, other):
        return self._write("Mul", [self, other])

    def __truediv__(self, other):
        return self._write("Div", [self, other])

    def __radd__(self, other):
        return self._write("Add", [other, self])

    def __rsub__(self, other):
        return self._write("Sub", [other, self])

    def __rmul__(self, other):
        return self._write("Mul", [other, self])

    def __rtruediv__(self, other):
        return self._write("Div", [other, self])

    def __neg__(self):
        return self._write("Neg", [self])

    def apply(self, operator, *operands, **attributes):
        return self._write(operator, [self, *operands], **attributes)


class Network:
    def __init__(self, formula, size):
        self.nodes, self.constants = [], {}
        made = formula(Emitted(self, "x"))
        self.nodes.append(node("Identity", [made.name], "y"))
        self.size = size

    def add(self, operator, names, **attributes):
        self.nodes.append(node(operator, names, f"v{len(self.nodes)}", **attributes))
        return f"v{len(self.nodes) - 1}"

    def constant(self, number):
        name = f"c{len(self.constants)}"
        self.constants[name] = number
        return name

    def encoded(self):
        initializers = [{"dims": [], "data_type": 1, "name": name, "float_data": [number]}
                        for name, number in self.constants.items()]
        graph = {"node": self.nodes, "name": "function", "initializer": initializers,
                 "input": [value_info("x", [1, self.size])], "output": [value_info("y", [1, self.size])]}
        return encode("Model", {"ir_version": 8, "graph": graph, "opset_import": [{"version": 20}]})


def call(operator, **fixed):
    return lambda x, *operands, **attributes: x.apply(operator, *operands, **fixed, **attributes)


(relu, absolute, exp, log, sqrt, tanh, sigmoid, erf, sin, cos, atan, asin, acos, atanh, acosh, asinh, cosh, softplus,
 softsign, floor, ceil, nearest, sign, power, maximum, minimum, clip, hard_sigmoid, hard_swish, elu, reciprocal) = map(
    call, ("Relu", "Abs", "Exp", "Log", "Sqrt", "Tanh", "Sigmoid", "Erf", "Sin", "Cos", "Atan", "Asin", "Acos",
           "Atanh", "Acosh", "Asinh", "Cosh", "Softplus", "Softsign", "Floor", "Ceil", "Round", "Sign", "Pow", "Max",
           "Min", "Clip", "HardSigmoid", "HardSwish", "Elu", "Reciprocal"))


def where(condition, a, b):
    return condition.apply("Where", a, b)


def above(x, y):
    return x.apply("Greater", y)


def horner(x, *coefficients):
    made = coefficients[0] * x + coefficients[1]
    for each in coefficients[2:]:
        made = made * x + each
    return made


LINE = [(0.4, 0.6), (-3, 2), (0, 1), (-1e4, 1e4)]
POSITIVE = [(0.4, 0.6), (0.25, 20), (0, 1), (1e4, 1e4 + 64)]
UNIT = [(0.4, 0.6), (-0.75, 0.5), (0.5, 1), (-1, 1)]
NEAR = [(0.4, 0.6), (-3, 2), (0, 1), (20, 24)]

# Name, formula, boxes.
FUNCTIONS = [
    ("sqrt(x^2 + 1)", lambda x: sqrt(x * x + 1), LINE),
    ("sqrt(x^2 + 1) - 1, of Pow", lambda x: sqrt(power(x, 2) + 1) - 1, LINE),
    ("x / sqrt(1 + x^2)", lambda x: x / sqrt(1 + x * x), LINE),
    ("x / (1 + |x|)", lambda x: x / (1 + absolute(x)), LINE),
    ("x / (1 + x^2)", lambda x: x / (1 + x * x), LINE),
    ("1 / (1 + x^2)", lambda x: 1 / (1 + x * x), LINE),
    ("log(1 + x^2)", lambda x: log(1 + x * x), LINE),
    ("log(1 + e^x)", lambda x: log(1 + exp(x)), LINE),
    ("log(e^x + e^-x)", lambda x: log(exp(x) + exp(-x)), NEAR),
    ("log(cosh x)", lambda x: log(cosh(x)), NEAR),
    ("1 / (1 + e^-x)", lambda x: 1 / (1 + exp(-x)), LINE),
    ("e^x / (1 + e^x)", lambda x: exp(x) / (1 + exp(x)), NEAR),
    ("(e^x - e^-x) / (e^x + e^-x)", lambda x: (exp(x) - exp(-x)) / (exp(x) + exp(-x)), NEAR),
    ("2 sigmoid(2x) - 1", lambda x: 2 * sigmoid(2 * x) - 1, LINE),
    ("sigmoid(x) (1 - sigmoid(x))", lambda x: sigmoid(x) * (1 - sigmoid(x)), LINE),
    ("1 - tanh(x)^2", lambda x: 1 - tanh(x) * tanh(x), LINE),
    ("x sigmoid(x)", lambda x: x * sigmoid(x), LINE),
    ("x sigmoid(1.702x)", lambda x: x * sigmoid(1.702 * x), LINE),
    ("x / (1 + e^-x)", lambda x: x / (1 + exp(-x)), LINE),
    ("x tanh(softplus(x))", lambda x: x * tanh(softplus(x)), LINE),
    ("x tanh(log(1 + e^x))", lambda x: x * tanh(log(1 + exp(x))), LINE),
    ("0.5x (1 + erf(x / sqrt 2))", lambda x: 0.5 * x * (1 + erf(x / 2 ** 0.5)), LINE),
    ("0.5x (1 + tanh(0.8(x + 0.045x^3)))",
     lambda x: 0.5 * x * (1 + tanh(0.7978845608 * (x + 0.044715 * power(x, 3)))), LINE),
    ("x clip(x + 3, 0, 6) / 6", lambda x: x * clip(x + 3, 0, 6) / 6, LINE),
    ("x hardsigmoid(x)", lambda x: x * hard_sigmoid(x, alpha=1 / 6, beta=0.5), LINE),
    ("x clip(x, 0, 6) / 6", lambda x: x * clip(x, 0, 6) / 6, LINE),
    ("relu(x) - relu(x - 1)", lambda x: relu(x) - relu(x - 1), LINE),
    ("relu(x)^2", lambda x: relu(x) * relu(x), LINE),
    ("x relu(x)", lambda x: x * relu(x), LINE),
    ("x^3 - 2x", lambda x: x * x * x - 2 * x, LINE),
    ("x^3 - 2x, of Pow", lambda x: power(x, 3) - 2 * x, LINE),
    ("x^2 - x", lambda x: x * x - x, LINE),
    ("x (1 - x)", lambda x: x * (1 - x), LINE),
    ("(x - 1)(x - 2)(x - 3)", lambda x: (x - 1) * (x - 2) * (x - 3), LINE),
    ("4x^3 - 3x, by Horner", lambda x: horner(x, 4, 0, -3, 0), LINE),
    ("x - x^3/6 + x^5/120, by Horner", lambda x: x * horner(x * x, 1 / 120, -1 / 6, 1), LINE),
    ("1 + x + x^2/2 + x^3/6", lambda x: 1 + x + power(x, 2) / 2 + power(x, 3) / 6, LINE),
    ("8x^4 - 8x^2 + 1", lambda x: 8 * power(x, 4) - 8 * power(x, 2) + 1, LINE),
    ("x^2 - x^2", lambda x: x * x - power(x, 2), LINE),
    ("max(x, 0.1x)", lambda x: maximum(x, 0.1 * x), LINE),
    ("min(max(x, -1), 1)", lambda x: minimum(maximum(x, -1), 1), LINE),
    ("max(x, x^2)", lambda x: maximum(x, x * x), LINE),
    ("max(x, -x)", lambda x: maximum(x, -x), LINE),
    ("max(0, x) + min(0, 0.1(e^x - 1))", lambda x: maximum(x, 0) + minimum(0.1 * (exp(x) - 1), 0), LINE),
    ("min(x, 0) - log(1 + e^-|x|)", lambda x: minimum(x, 0) - log(1 + exp(-absolute(x))), LINE),
    ("max(x, 0) + log(1 + e^-|x|)", lambda x: maximum(x, 0) + log(1 + exp(-absolute(x))), LINE),
    ("max(sin x, cos x)", lambda x: maximum(sin(x), cos(x)), LINE),
    ("log(sigmoid(x))", lambda x: log(sigmoid(x)), NEAR),
    ("e^(-x^2)", lambda x: exp(-(x * x)), LINE),
    ("x e^(-x^2)", lambda x: x * exp(-(x * x)), LINE),
    ("x e^-x", lambda x: x * exp(-x), NEAR),
    ("x^2 e^-x", lambda x: power(x, 2) * exp(-x), NEAR),
    ("e^-x sin(x)", lambda x: exp(-x) * sin(x), NEAR),
    ("x sin(x)", lambda x: x * sin(x), LINE),
    ("sin(x) / x", lambda x: sin(x) / x, [(0.4, 0.6), (1, 9), (0.125, 1), (100, 101)]),
    ("sin(x) cos(x)", lambda x: sin(x) * cos(x), LINE),
    ("sin(x)^2 + cos(x)^2", lambda x: sin(x) * sin(x) + cos(x) * cos(x), LINE),
    ("x + sin(x)^2", lambda x: x + power(sin(x), 2), LINE),
    ("|x|^1.5", lambda x: power(absolute(x), 1.5), LINE),
    ("x |x|", lambda x: x * absolute(x), LINE),
    ("sqrt(relu x)", lambda x: sqrt(relu(x)), LINE),
    ("sign(x) sqrt|x|", lambda x: sign(x) * sqrt(absolute(x)), LINE),
    ("sign(x) log(1 + |x|)", lambda x: sign(x) * log(1 + absolute(x)), LINE),
    ("where(x > 0, x^2, -x)", lambda x: where(above(x, 0), x * x, -x), LINE),
    ("where(x > 1, 2, x)", lambda x: where(above(x, 1), 2, x), LINE),
    ("where(|x| < 1, x^2/2, |x| - 0.5)",
     lambda x: where(absolute(x).apply("Less", 1), 0.5 * x * x, absolute(x) - 0.5), LINE),
    ("x sqrt(x)", lambda x: x * sqrt(x), POSITIVE),
    ("x log(x)", lambda x: x * log(x), [(0.3, 0.5), (0.25, 20), (0.125, 1), (1e4, 1e4 + 64)]),
    ("log(x)^2", lambda x: log(x) * log(x), [(0.4, 0.6), (0.25, 20), (0.125, 1), (1e4, 1e4 + 64)]),
    ("x + 1/x", lambda x: x + 1 / x, [(0.4, 0.6), (0.25, 20), (0.125, 1), (1e4, 1e4 + 64)]),
    ("(x - 1) / (x + 1)", lambda x: (x - 1) / (x + 1), POSITIVE),
    ("log(x)", log, POSITIVE),
    ("1 / x", lambda x: 1 / x, POSITIVE),
    ("1 / sqrt(x)", lambda x: 1 / sqrt(x), POSITIVE),
    ("log(x) - 1, doubled", lambda x: 2 * (log(x) - 1), POSITIVE),
    ("e^(-log x)", lambda x: exp(-log(x)), POSITIVE),
    ("atanh(x)", atanh, [(0.4, 0.6), (-0.75, 0.5), (0.5, 1), (-1, 0)]),
    ("acos(x)", acos, UNIT),
    ("asin(x)", asin, UNIT),
    ("x sqrt(1 - x^2)", lambda x: x * sqrt(1 - x * x), [(0.4, 0.6), (-0.75, 0.5), (0.5, 1), (-1, 1)]),
    ("x acos(x)", lambda x: x * acos(x), UNIT),
    ("acosh(x)", acosh, [(1.5, 2), (1.25, 20), (1, 2), (1e4, 1e4 + 64)]),
    ("asinh(x)", asinh, LINE),
    ("x atan(x)", lambda x: x * atan(x), LINE),
    ("floor(x)", floor, [(0.4, 0.6), (-3, 2), (1, 1.5), (1e4, 1e4 + 64)]),
    ("ceil(x)", ceil, [(0.4, 0.6), (-3, 2), (1, 1.5), (1e4, 1e4 + 64)]),
    ("round(x)", nearest, [(0.4, 0.45), (-3, 2), (0.5, 1.5), (1e4, 1e4 + 64)]),
    ("sign(x)", sign, LINE),
    ("x - floor(x)", lambda x: x - floor(x), [(0.4, 0.6), (-3, 2), (1, 1.5), (1e4, 1e4 + 64)]),
    ("floor(8x + 0.5) / 8", lambda x: floor(8 * x + 0.5) / 8, [(0.4, 0.6), (-3, 2), (1, 1.5), (1e4, 1e4 + 64)]),
]

# The formulas by which PyTorch writes the activations of torch.nn where it does not keep them as operators.
ACTIVATIONS = [
    ("ReLU", lambda x: maximum(x, 0), LINE),
    ("ReLU6", lambda x: minimum(maximum(x, 0), 6), LINE),
    ("Hardtanh", lambda x: clip(x, -1, 1), LINE),
    ("LeakyReLU", lambda x: where(above(x, 0), x, 0.01 * x), LINE),
    ("PReLU", lambda x: relu(x) - 0.25 * relu(-x), LINE),
    ("ELU", lambda x: where(above(x, 0), x, 1.5 * (exp(x) - 1)), LINE),
    ("SELU", lambda x: 1.0507009873 * where(above(x, 0), x, 1.6732632423 * (exp(x) - 1)), LINE),
    ("CELU", lambda x: where(above(x, 0), x, 2.0 * (exp(x * 0.5) - 1)), LINE),
    ("Hardsigmoid", lambda x: minimum(maximum(x + 3, 0), 6) / 6, LINE),
    ("Hardswish", lambda x: x * minimum(maximum(x + 3, 0), 6) / 6, LINE),
    ("Hardshrink", lambda x: where(absolute(x).apply("LessOrEqual", 0.5), 0, x), LINE),
    ("Softshrink", lambda x: where(above(absolute(x), 0.5), x - sign(x) * 0.5, x * 0), LINE),
    ("Tanhshrink", lambda x: x - tanh(x), LINE),
    ("Softsign", lambda x: x / (absolute(x) + 1), LINE),
    ("Softplus", lambda x: where(above(x, 20), x, log(exp(x) + 1)), LINE),
    ("LogSigmoid", lambda x: minimum(x, 0) - log(exp(-absolute(x)) + 1), LINE),
    ("Threshold", lambda x: where(x.apply("LessOrEqual", 0.5), 2, x), LINE),
    ("SiLU", lambda x: x / (exp(-x) + 1), LINE),
    ("Mish", lambda x: x * tanh(where(above(x, 20), x, log(exp(x) + 1))), LINE),
    ("GELU", lambda x: x * 0.5 * (erf(x * 0.70710678118) + 1), LINE),
    ("GELU by tanh", lambda x: 0.5 * x * (1 + tanh(0.79788456 * (x + 0.044715 * (x * x * x)))), LINE),
    ("GELU by sigmoid", lambda x: x * sigmoid(1.702 * x), LINE),
    ("squared ReLU", lambda x: power(relu(x), 2), LINE),
]

POINTS = 768


def refined(value, left, right, better):
    """A point between left and right where `value` is best, by thirds."""
    for _ in range(60):
        a, b = left + (right - left) / 3, right - (right - left) / 3
        if better(value(a), value(b)):
            right = b
        else:
            left = a
    return value((left + right) / 2)


def limit_at(formula, x, inwards):
    """The limit of f from inside the box, infinite where f grows without end towards x."""
    try:
        return formula(Exact(x)).number
    except (ZeroDivisionError, ValueError, OverflowError):
        pass
    near, nearer = (formula(Exact(x + inwards * mp(2) ** -k)).number for k in (60, 120))
    if abs(nearer) > 1.5 * abs(near) and abs(nearer) > 10:
        return INF if nearer > 0 else -INF
    return nearer


def exact_range(formula, low, high):
    low, high = mp(low), mp(high)

    def value(x):
        return formula(Exact(x)).number
    points = [low + (high - low) * k / POINTS for k in range(POINTS + 1)]
    points += [mp(k) / 8 for k in range(-48, 49) if low < mp(k) / 8 < high]
    points += [mp(k) / 8 + side * mp(10) ** -40 for k in range(-48, 49) for side in (-1, 1)
               if low < mp(k) / 8 + side * mp(10) ** -40 < high]
    points.sort()
    values = [limit_at(formula, low, high - low)] + [value(x) for x in points[1:-1]]
    values.append(limit_at(formula, high, low - high))
    found = []
    for better, best in ((lambda a, b: a < b, min), (lambda a, b: a > b, max)):
        at = values.index(best(values))
        if not mpmath.isfinite(values[at]):
            found.append(values[at])
            continue
        left, right = points[max(at - 1, 0)], points[min(at + 1, len(points) - 1)]
        inside = [refined(value, max(left, low + (high - low) * mp(2) ** -200), right - (right - left) * mp(2) ** -200,
                          better)]
        found.append(best(inside + [values[at]]))
    return found


def outward(exact):
    """A verifier's outputs are floats: the least interval of floats that holds the exact one."""
    return [float_beside(exact[0], -1), float_beside(exact[1], 1)]


def float_beside(number, side):
    if not mpmath.isfinite(number) or number == 0:
        return number
    step = mp(2) ** (mpmath.floor(mpmath.log(abs(number), 2)) - 23)
    return (mpmath.floor if side < 0 else mpmath.ceil)(number / step) * step


def looseness(exact, found):
    """The width over the exact one; of functions without a bound on one side, what the other side misses."""
    low, high = found
    least, most = outward(exact)
    if mpmath.isfinite(least) and mpmath.isfinite(most):
        if least == most:  # a constant: its width is compared with a float's last digit
            return float(1 + (high - low) / (abs(least) * mp(2) ** -22 + mp(2) ** -100))
        return float((high - low) / (most - least))
    sides = [(e, f) for e, f in zip((least, most), found) if mpmath.isfinite(e)]
    return max((float(1 + abs(f - e) / (abs(e) + mp(2) ** -20)) for e, f in sides), default=1.0)


def bounds(program, method, network, boxes):
    with tempfile.TemporaryDirectory() as folder:
        model, box = pathlib.Path(folder) / "f.onnx", pathlib.Path(folder) / "box.json"
        model.write_bytes(network.encoded())
        box.write_text(json.dumps({"lower": [low for low, _ in boxes], "upper": [high for _, high in boxes]}))
        made = subprocess.run([program, "run", model, "--box", box, "--method", method, "--json", "--jit", "off",
                               "--quiet"], capture_output=True, text=True)
    if made.returncode != 0:
        raise RuntimeError(made.stdout + made.stderr)
    outputs = json.loads(made.stdout)["outputs"]

    def number(value):
        return mp(value) if not isinstance(value, str) and value is not None else mpmath.mpf(str(value or "nan"))
    return [(number(low), number(high)) for low, high in zip(outputs["lower"], outputs["upper"])]


def shown(worst):
    return "-" if not mpmath.isfinite(worst) else f"{worst:.3f}" if worst < 100 else f"{worst:.2g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--method", action="append")
    parser.add_argument("--only", default="")
    parser.add_argument("--boxes", action="store_true", help="a column for each box, not the worst of them")
    options = parser.parse_args()
    methods = options.method or ["ibp", "crown"]
    print("| function | " + " | ".join(methods) + " |")
    print("|---|" + "---:|" * len(methods))
    for name, formula, boxes in FUNCTIONS + ACTIVATIONS:
        if options.only not in name:
            continue
        exact = [exact_range(formula, *box) for box in boxes]
        row = []
        for method in methods:
            try:
                found = bounds(options.program, method, Network(formula, len(boxes)), boxes)
            except RuntimeError as error:
                row.append(str(error).strip().splitlines()[0][:60])
                continue
            for (low, high), (least, most), box in zip(exact, found, boxes):
                if least > low or most < high:
                    print(f"{name} on {box}: [{least}, {most}] does not hold [{low}, {high}]", file=sys.stderr)
            each = [looseness(*pair) for pair in zip(exact, found)]
            row.append(", ".join(map(shown, each)) if options.boxes else shown(max(each)))
        print(f"| {name} | " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
