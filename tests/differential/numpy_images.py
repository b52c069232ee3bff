"""More cases for numpy_operators: convolutions, pooling, normalisations, images, quantisation.

Windows are evaluated on an image that is padded first, one window after the other, which is not
how the importer does it.
"""

import itertools
import math
from fractions import Fraction

import numpy as np

from numpy_operators import Case, case, draw, free, known, wide


class Window:
    """Random kernel, strides, dilations and pads for an image in which at least one fits."""

    def __init__(self, rng, rank, largest_pad=2):
        self.kernel = [int(n) for n in rng.integers(1, 4, rank)]
        self.strides = [int(n) for n in rng.integers(1, 4, rank)]
        self.dilations = [int(n) for n in rng.integers(1, 3, rank)]
        self.begin = [int(rng.integers(0, min(k, largest_pad + 1))) for k in self.kernel]
        self.end = [int(rng.integers(0, min(k, largest_pad + 1))) for k in self.kernel]
        self.reach = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations)]
        self.size = [int(r + rng.integers(0, 4)) for r in self.reach]

    def attributes(self):
        return {"kernel_shape": self.kernel, "strides": self.strides, "dilations": self.dilations,
                "pads": self.begin + self.end}

    def padded(self, x, fill):
        pads = [(0, 0), (0, 0)] + list(zip(self.begin, self.end))
        return np.pad(wide(x), pads, constant_values=fill)

    def windows(self, padded):
        """(output position, the window's elements [batch, channels, taps])"""
        spatial = padded.shape[2:]
        counts = [(n - r) // s + 1 for n, r, s in zip(spatial, self.reach, self.strides)]
        for at in itertools.product(*map(range, counts)):
            index = (slice(None), slice(None)) + tuple(
                slice(p * s, p * s + r, d)
                for p, s, r, d in zip(at, self.strides, self.reach, self.dilations))
            part = padded[index]
            yield at, part.reshape(part.shape[:2] + (-1,))

    def collect(self, padded, function):
        results = {at: function(part) for at, part in self.windows(padded)}
        counts = [1 + max(at[d] for at in results) for d in range(len(self.kernel))]
        first = next(iter(results.values()))
        y = np.zeros(first.shape + tuple(counts))
        for at, value in results.items():
            y[(slice(None), slice(None)) + at] = value
        return y


def draw_channels(rng):
    groups = int(rng.integers(1, 4))
    return groups, groups * int(rng.integers(1, 3)), groups * int(rng.integers(1, 3))


def convolve(window, x, weight, bias, groups):
    outputs = weight.shape[0] // groups
    inputs = x.shape[1] // groups
    weight = wide(weight).reshape(weight.shape[0], -1)

    def one(part):  # [batch, channels, taps]
        y = np.zeros((part.shape[0], weight.shape[0]))
        for o in range(weight.shape[0]):
            g = o // outputs
            chosen = part[:, g * inputs:(g + 1) * inputs].reshape(part.shape[0], -1)
            y[:, o] = chosen @ weight[o] + bias[o]
        return y

    return window.collect(window.padded(x, 0), one)


@case
def convolution(rng):
    rank = int(rng.integers(1, 4))
    window = Window(rng, rank)
    groups, channels, outputs = draw_channels(rng)
    x = draw(rng, [int(rng.integers(1, 3)), channels] + window.size)
    weight = draw(rng, [outputs, channels // groups] + window.kernel)
    bias = draw(rng, [outputs])
    has_bias = bool(rng.integers(2))
    y = convolve(window, x, weight, wide(bias) if has_bias else np.zeros(outputs), groups)
    inputs = [free(x), known(weight)] + ([known(bias)] if has_bias else [])
    return Case("Conv", 11, inputs, [y], group=groups, **window.attributes())


@case
def transposed_convolution(rng):
    rank = int(rng.integers(1, 4))
    window = Window(rng, rank, 1)
    groups, channels, outputs = draw_channels(rng)
    size = [int(n) for n in rng.integers(2, 4, rank)]
    extra = [int(rng.integers(0, s)) for s in window.strides]
    x = draw(rng, [2, channels] + size)
    weight = draw(rng, [channels, outputs // groups] + window.kernel)
    bias = draw(rng, [outputs])
    full = [s * (n - 1) + r + e
            for s, n, r, e in zip(window.strides, size, window.reach, extra)]
    if any(f - b - e < 1 for f, b, e in zip(full, window.begin, window.end)):
        return transposed_convolution(rng)
    y = np.zeros([2, outputs] + full)
    for at in itertools.product(*map(range, size)):
        for tap in itertools.product(*map(range, window.kernel)):
            place = tuple(p * s + t * d for p, s, t, d in
                          zip(at, window.strides, tap, window.dilations))
            for i in range(channels):
                g = i // (channels // groups)
                for o in range(outputs // groups):
                    y[(slice(None), g * (outputs // groups) + o) + place] += (
                        wide(x)[(slice(None), i) + at] * wide(weight)[(i, o) + tap])
    cut = tuple(slice(b, f - e) for b, e, f in zip(window.begin, window.end, full))
    y = y[(slice(None), slice(None)) + cut] + wide(bias).reshape([-1] + [1] * rank)
    return Case("ConvTranspose", 11, [free(x), known(weight), known(bias)], [y], group=groups,
                output_padding=extra, **window.attributes())


@case
def pooling(rng):
    rank = int(rng.integers(1, 4))
    window = Window(rng, rank)
    x = draw(rng, [2, 2] + window.size)
    attributes = window.attributes()
    kind = rng.integers(3)
    if kind == 0:
        y = window.collect(window.padded(x, -np.inf), lambda part: part.max(axis=2))
        if not np.isfinite(y).all():
            return pooling(rng)
        return Case("MaxPool", 12, [free(x)], [y], **attributes)
    count_pads = bool(kind == 1)
    sums = window.collect(window.padded(x, 0), lambda part: part.sum(axis=2))
    inside = window.collect(window.padded(np.ones_like(x), 1 if count_pads else 0),
                            lambda part: part.sum(axis=2))
    if (inside == 0).any():
        return pooling(rng)
    return Case("AveragePool", 19, [free(x)], [sums / inside],
                count_include_pad=int(count_pads), **attributes)


@case
def global_pooling(rng):
    x = draw(rng, [2, 3] + [int(n) for n in rng.integers(1, 4, rng.integers(1, 4))])
    axes = tuple(range(2, x.ndim))
    op_type = str(rng.choice(["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"]))
    y = {"GlobalAveragePool": lambda: wide(x).mean(axis=axes, keepdims=True),
         "GlobalMaxPool": lambda: wide(x).max(axis=axes, keepdims=True),
         "GlobalLpPool": lambda: np.sqrt((wide(x) ** 2).sum(axis=axes, keepdims=True))}[op_type]()
    return Case(op_type, 12, [free(x)], [y])


@case
def softmax(rng):
    x = draw(rng, [int(n) for n in rng.integers(1, 4, rng.integers(2, 5))])
    opset = int(rng.choice([11, 13]))
    axis = int(rng.integers(0, x.ndim))
    flat = wide(x)
    if opset < 13:
        flat = flat.reshape(math.prod(x.shape[:axis]), -1)
    along = 1 if opset < 13 else axis
    exponentials = np.exp(flat - flat.max(axis=along, keepdims=True))
    y = (exponentials / exponentials.sum(axis=along, keepdims=True)).reshape(x.shape)
    if rng.integers(2):
        return Case("LogSoftmax", opset, [free(x)], [np.log(y)], axis=axis)
    return Case("Softmax", opset, [free(x)], [y], axis=axis)


@case
def batch_normalization(rng):
    x = draw(rng, [2, 3] + [int(n) for n in rng.integers(1, 4, rng.integers(0, 3))])
    scale, bias, mean = (draw(rng, [3]) for _ in range(3))
    variance = draw(rng, [3], 0.01, 4)
    each = [wide(v).reshape([1, 3] + [1] * (x.ndim - 2)) for v in (scale, bias, mean, variance)]
    y = (wide(x) - each[2]) / np.sqrt(each[3] + np.float32(0.125)) * each[0] + each[1]
    return Case("BatchNormalization", 15, [free(x)] + [known(v) for v in
                                                       (scale, bias, mean, variance)],
                [y], epsilon=0.125)


def normalized(x, axes, epsilon):
    mean = x.mean(axis=axes, keepdims=True)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(axis=axes, keepdims=True) + epsilon)


@case
def normalization(rng):
    epsilon = 0.0625
    kind = rng.integers(4)
    if kind == 0:
        x = draw(rng, [2, 3, 2, 3])
        scale, bias = draw(rng, [3]), draw(rng, [3])
        y = normalized(wide(x), (2, 3), epsilon)
        y = y * wide(scale).reshape(1, 3, 1, 1) + wide(bias).reshape(1, 3, 1, 1)
        return Case("InstanceNormalization", 6, [free(x), known(scale), known(bias)], [y],
                    epsilon=epsilon)
    if kind == 1:
        x = draw(rng, [2, 3, 4])
        axis = int(rng.integers(-3, 3))
        axes = tuple(range(axis % 3, 3))
        scale, bias = draw(rng, x.shape[axis % 3:]), draw(rng, x.shape[axis % 3:])
        y = normalized(wide(x), axes, epsilon) * wide(scale) + wide(bias)
        return Case("LayerNormalization", 17, [free(x), known(scale), known(bias)], [y],
                    epsilon=epsilon, axis=axis)
    if kind == 2:
        x = draw(rng, [2, 6, 3])
        groups = int(rng.choice([1, 2, 3, 6]))
        scale, bias = draw(rng, [6]), draw(rng, [6])
        y = normalized(wide(x).reshape(2, groups, -1), (2,), epsilon).reshape(x.shape)
        y = y * wide(scale).reshape(1, 6, 1) + wide(bias).reshape(1, 6, 1)
        return Case("GroupNormalization", 21, [free(x), known(scale), known(bias)], [y],
                    epsilon=epsilon, num_groups=groups)
    x = draw(rng, [2, 5, 3])
    size = int(rng.integers(1, 5))
    sums = np.zeros(x.shape)
    for c in range(5):
        low = max(0, c - (size - 1) // 2)
        sums[:, c] = (wide(x)[:, low:c + size // 2 + 1] ** 2).sum(axis=1)
    y = wide(x) / (1.5 + 0.5 / size * sums) ** 0.75
    return Case("LRN", 13, [free(x)], [y], size=size, alpha=0.5, beta=0.75, bias=1.5)


@case
def padding(rng):
    x = draw(rng, [int(n) for n in rng.integers(2, 5, rng.integers(1, 4))])
    mode = str(rng.choice(["constant", "reflect", "edge", "wrap"]))
    pads = rng.integers(0, 4, (x.ndim, 2))
    values = np.array(list(pads[:, 0]) + list(pads[:, 1]), np.int64)
    if mode == "constant":
        fill = np.float32(rng.uniform(-3, 3))
        y = np.pad(wide(x), pads, constant_values=np.float64(fill))
        return Case("Pad", 13, [free(x), known(values), known(fill)], [y])
    return Case("Pad", 19, [free(x), known(values)], [np.pad(wide(x), pads, mode=mode)], mode=mode)


@case
def blocks(rng):
    block = int(rng.integers(1, 4))
    height, width, channels = (int(n) for n in rng.integers(1, 4, 3))
    if rng.integers(2):
        x = draw(rng, [2, channels, height * block, width * block])
        y = x.reshape(2, channels, height, block, width, block).transpose(0, 3, 5, 1, 2, 4)
        return Case("SpaceToDepth", 13, [free(x)],
                    [wide(y.reshape(2, -1, height, width))], blocksize=block)
    x = draw(rng, [2, channels * block * block, height, width])
    mode = str(rng.choice(["DCR", "CRD"]))
    if mode == "DCR":
        y = x.reshape(2, block, block, channels, height, width).transpose(0, 3, 4, 1, 5, 2)
    else:
        y = x.reshape(2, channels, block, block, height, width).transpose(0, 1, 4, 2, 5, 3)
    y = y.reshape(2, channels, height * block, width * block)
    return Case("DepthToSpace", 13, [free(x)], [wide(y)], blocksize=block, mode=mode)


def coordinate(mode, i, size, out):
    """Where element i of out lies among size elements; exact."""
    scale = Fraction(out, size)
    if mode == "align_corners":
        return Fraction(i * (size - 1), out - 1) if out > 1 else Fraction(0)
    if mode == "asymmetric":
        return i / scale
    if mode == "pytorch_half_pixel" and out == 1:
        return Fraction(0)
    return (i + Fraction(1, 2)) / scale - Fraction(1, 2)


@case
def resizing(rng):
    size = [int(n) for n in rng.integers(1, 6, 2)]
    out = [int(n) for n in rng.integers(1, 9, 2)]
    x = draw(rng, [1, 2] + size)
    places = str(rng.choice(["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"]))
    linear = bool(rng.integers(2))
    rounding = str(rng.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]))
    y = wide(x)
    for d in (2, 3):
        parts = []
        for i in range(out[d - 2]):
            at = coordinate(places, i, size[d - 2], out[d - 2])
            clip = lambda k: min(max(k, 0), size[d - 2] - 1)  # noqa: E731
            if linear:
                low = math.floor(at)
                part = float(at - low)
                parts.append((1 - part) * y.take(clip(low), d) + part * y.take(clip(low + 1), d))
            else:
                half = Fraction(1, 2)
                k = {"round_prefer_floor": math.ceil(at - half),
                     "round_prefer_ceil": math.floor(at + half), "floor": math.floor(at),
                     "ceil": math.ceil(at)}[rounding]
                parts.append(y.take(clip(k), d))
        y = np.stack(parts, d)
    sizes = np.array([1, 2] + out, np.int64)
    return Case("Resize", 13, [free(x), None, None, known(sizes)], [y],
                mode="linear" if linear else "nearest", nearest_mode=rounding,
                coordinate_transformation_mode=places)


@case
def quantization(rng):
    x = draw(rng, [2, 3, 4], -20, 20)
    axis = int(rng.integers(-3, 3))
    per_axis = bool(rng.integers(2))
    count = x.shape[axis] if per_axis else 1
    scale = 2.0 ** rng.integers(-3, 2, count) * rng.integers(1, 4, count)
    dtype, low, high = [(np.uint8, 0, 255), (np.int8, -128, 127)][rng.integers(2)]
    zero = rng.integers(low, high + 1, count).astype(dtype)
    shape = [1] * 3
    shape[axis] = count
    steps, zeros = scale.reshape(shape), zero.astype(np.float64).reshape(shape)
    parameters = [known(scale.astype(np.float32)), known(zero)] if per_axis else [
        known(np.float32(scale[0])), known(dtype(zero[0]))]
    if rng.integers(2):
        codes = rng.integers(low, high + 1, x.shape).astype(dtype)
        y = (codes.astype(np.float64) - zeros) * steps
        return Case("DequantizeLinear", 13, [free(codes)] + parameters, [y], axis=axis)
    y = np.clip(np.rint(wide(x) / steps) + zeros, low, high).astype(dtype)
    return Case("QuantizeLinear", 13, [free(x)] + parameters, [y], axis=axis)


@case
def integer_convolution(rng):
    window = Window(rng, 2, 1)
    groups, channels, outputs = draw_channels(rng)
    x = rng.integers(0, 256, [1, channels] + window.size).astype(np.uint8)
    weight = rng.integers(-128, 128, [outputs, channels // groups] + window.kernel).astype(np.int8)
    x_zero, w_zero = np.uint8(rng.integers(0, 256)), np.int8(rng.integers(-9, 9))
    exact = convolve(window, x.astype(np.float64) - float(x_zero), weight - float(w_zero),
                     np.zeros(outputs), groups)
    if rng.integers(2):
        return Case("ConvInteger", 10, [free(x), known(weight), known(x_zero), known(w_zero)],
                    [exact.astype(np.int32)], group=groups, **window.attributes())
    x_scale, y_scale = np.float32(0.25), np.float32(rng.choice([0.5, 32.0, 100.0]))
    w_scale = (2.0 ** rng.integers(-3, 3, outputs)).astype(np.float32)
    w_zeros = np.full(outputs, w_zero, np.int8)
    y_zero = np.int8(rng.integers(-128, 128))
    real = exact * 0.25 * wide(w_scale).reshape(1, -1, 1, 1)
    y = np.clip(np.rint(real / float(y_scale)) + float(y_zero), -128, 127).astype(np.int8)
    return Case("QLinearConv", 10,
                [free(x), known(x_scale), known(x_zero), known(weight), known(w_scale),
                 known(w_zeros), known(y_scale), known(y_zero)],
                [y], group=groups, **window.attributes())


@case
def integer_product(rng):
    m, k, n = (int(i) for i in rng.integers(1, 5, 3))
    a = rng.integers(0, 256, [2, m, k]).astype(np.uint8)
    b = rng.integers(-128, 128, [k, n]).astype(np.int8)
    a_zero, b_zero = np.uint8(rng.integers(0, 256)), np.int8(rng.integers(-128, 128))
    exact = (a.astype(np.float64) - float(a_zero)) @ (b.astype(np.float64) - float(b_zero))
    if rng.integers(2):
        return Case("MatMulInteger", 10, [free(a), known(b), known(a_zero), known(b_zero)],
                    [exact.astype(np.int32)])
    y = np.clip(np.rint(exact * 0.5 * 0.25 / 64) + 100, 0, 255).astype(np.uint8)
    return Case("QLinearMatMul", 10,
                [free(a), known(np.float32(0.5)), known(a_zero), known(b), known(np.float32(0.25)),
                 known(b_zero), known(np.float32(64)), known(np.uint8(100))], [y])


@case
def norm_along_an_axis(rng):
    x = draw(rng, [2, 3, 2], 0.2, 3)
    axis = int(rng.integers(-3, 3))
    p = int(rng.integers(1, 3))
    norm = (np.abs(wide(x)) ** p).sum(axis=axis, keepdims=True) ** (1 / p)
    return Case("LpNormalization", 1, [free(x)], [wide(x) / norm], axis=axis, p=p)

