"""Random single-operator models with inputs, and what numpy says that they compute.

An evaluator of its own: it follows the text of the ONNX standard and shares nothing with the
importer. Each function of CASES draws one case from a numpy random generator.
"""

import math

import numpy as np

CASES = []


class Case:
    """inputs: (array, is_constant) in the operator's order, None for one that is left out.
    outputs: the expected arrays, in float64 where they are real."""

    def __init__(self, op_type, opset, inputs, outputs, **attributes):
        self.op_type = op_type
        self.opset = opset
        self.inputs = inputs
        self.outputs = outputs
        self.attributes = attributes


def case(function):
    CASES.append(function)
    return function


def draw_shape(rng, least=1, most=4):
    return [int(n) for n in rng.integers(1, 5, rng.integers(least, most + 1))]


def draw(rng, shape, low=-3.0, high=3.0):
    return rng.uniform(low, high, shape).astype(np.float32)


def free(x):
    return (x, False)


def known(x):
    return (np.asarray(x), True)


def wide(x):
    return x.astype(np.float64)


def draw_axis(rng, rank):
    return int(rng.integers(-rank, rank))


def erf(x):
    return np.vectorize(math.erf)(x)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.log1p(np.exp(x))


PLAIN = {
    "Abs": (np.abs, -3, 3), "Acos": (np.arccos, -1, 1), "Acosh": (np.arccosh, 1, 5),
    "Asin": (np.arcsin, -1, 1), "Asinh": (np.arcsinh, -3, 3), "Atan": (np.arctan, -3, 3),
    "Atanh": (np.arctanh, -0.9, 0.9), "Ceil": (np.ceil, -3, 3), "Cos": (np.cos, -9, 9),
    "Cosh": (np.cosh, -3, 3), "Erf": (erf, -3, 3), "Exp": (np.exp, -3, 3),
    "Floor": (np.floor, -3, 3), "Log": (np.log, 0.1, 5), "Neg": (np.negative, -3, 3),
    "Reciprocal": (np.reciprocal, 0.3, 4), "Relu": (lambda x: np.maximum(x, 0), -3, 3),
    "Round": (np.round, -3, 3), "Sigmoid": (sigmoid, -6, 6), "Sign": (np.sign, -3, 3),
    "Sin": (np.sin, -9, 9), "Sinh": (np.sinh, -3, 3), "Softplus": (softplus, -6, 6),
    "Softsign": (lambda x: x / (1 + np.abs(x)), -5, 5), "Sqrt": (np.sqrt, 0, 5),
    "Tan": (np.tan, -1.4, 1.4), "Tanh": (np.tanh, -3, 3), "Identity": (lambda x: x, -3, 3),
    "HardSwish": (lambda x: x * np.clip(x / 6 + 0.5, 0, 1), -6, 6),
    "Mish": (lambda x: x * np.tanh(softplus(x)), -6, 6),
}


@case
def plain_function(rng):
    op_type = sorted(PLAIN)[rng.integers(len(PLAIN))]
    function, low, high = PLAIN[op_type]
    x = draw(rng, draw_shape(rng, 0), low, high)
    return Case(op_type, 18, [free(x)], [np.asarray(function(wide(x)))])


@case
def function_with_parameters(rng):
    x = draw(rng, draw_shape(rng), -4, 4)
    y = wide(x)
    a, b = (float(np.float32(v)) for v in rng.uniform(0.1, 1.9, 2))
    kind = rng.integers(8)
    if kind == 0:
        return Case("LeakyRelu", 16, [free(x)], [np.where(y < 0, a * y, y)], alpha=a)
    if kind == 1:
        return Case("Elu", 6 + 1, [free(x)], [np.where(y < 0, a * np.expm1(y), y)], alpha=a)
    if kind == 2:
        return Case("Celu", 12, [free(x)],
                    [np.maximum(y, 0) + np.minimum(0, a * np.expm1(y / a))], alpha=a)
    if kind == 3:
        return Case("Selu", 7, [free(x)],
                    [b * np.where(y <= 0, a * np.expm1(y), y)], alpha=a, gamma=b)
    if kind == 4:
        return Case("HardSigmoid", 7, [free(x)], [np.clip(a * y + b, 0, 1)], alpha=a, beta=b)
    if kind == 5:
        return Case("ThresholdedRelu", 10, [free(x)], [np.where(y > a, y, 0)], alpha=a)
    if kind == 6:
        shrunk = np.where(y < -a, y + b, np.where(y > a, y - b, 0))
        return Case("Shrink", 9, [free(x)], [shrunk], lambd=a, bias=b)
    exact = rng.integers(2) == 0
    inner = np.sqrt(2 / np.pi) * (y + 0.044715 * y**3)
    result = 0.5 * y * (1 + (erf(y / np.sqrt(2)) if exact else np.tanh(inner)))
    return Case("Gelu", 20, [free(x)], [result], approximate="none" if exact else "tanh")


@case
def clip(rng):
    x = draw(rng, draw_shape(rng))
    low, high = sorted(draw(rng, 2))
    if rng.integers(2):
        return Case("Clip", 7, [free(x)], [np.clip(wide(x), low, high)], min=float(low),
                    max=float(high))
    if rng.integers(2):
        return Case("Clip", 13, [free(x), None, known(high)], [np.minimum(wide(x), high)])
    is_free = rng.integers(2) == 0
    ends = [(np.float32(low), not is_free), (np.float32(high), not is_free)]
    return Case("Clip", 13, [free(x)] + ends, [np.clip(wide(x), low, high)])


@case
def prelu(rng):
    shape = draw_shape(rng, 2)
    x = draw(rng, shape)
    slope = draw(rng, [n if rng.integers(2) else 1 for n in shape[1:]])
    y = np.where(x < 0, wide(slope) * x, wide(x))
    return Case("PRelu", 16, [free(x), (slope, bool(rng.integers(2)))], [y])


@case
def power(rng):
    shape = draw_shape(rng)
    x = draw(rng, shape, 0.2, 3)
    if rng.integers(2):
        exponent = rng.choice(np.array([0, 1, 2, 3, -1, 0.5, -2, 1.5], np.float32), shape[-1:])
        return Case("Pow", 13, [free(x), known(exponent)], [wide(x) ** exponent])
    base = draw(rng, shape[-1:], 0.5, 3)
    return Case("Pow", 13, [known(base), free(x)], [wide(base) ** x])


@case
def binary(rng):
    shape = draw_shape(rng)
    other = [n if rng.integers(3) else 1 for n in shape[rng.integers(len(shape) + 1):]]
    a, b = draw(rng, shape), draw(rng, other, 0.5, 3)
    op_type = rng.choice(["Add", "Sub", "Mul", "Div"])
    if rng.integers(2) and op_type != "Div":
        a, b = b, a
    function = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}[op_type]
    constant = rng.integers(3)  # the first, the second, none
    return Case(op_type, 7 + int(rng.integers(8)), [(a, constant == 0), (b, constant == 1)],
                [function(wide(a), wide(b))])


@case
def variadic(rng):
    shape = draw_shape(rng)
    count = int(rng.integers(1, 5))
    tensors = [draw(rng, [n if rng.integers(3) else 1 for n in shape]) for _ in range(count)]
    stacked = np.stack(np.broadcast_arrays(*[wide(t) for t in tensors]))
    op_type = rng.choice(["Max", "Min", "Sum", "Mean"])
    result = {"Max": stacked.max, "Min": stacked.min, "Sum": stacked.sum,
              "Mean": stacked.mean}[op_type](axis=0)
    inputs = [(t, i > 0 and rng.integers(3) == 0) for i, t in enumerate(tensors)]
    return Case(op_type, 13, inputs, [result])


@case
def float_remainder(rng):
    x = draw(rng, draw_shape(rng), -9, 9)
    y = draw(rng, x.shape[-1:], 0.5, 3)
    return Case("Mod", 13, [free(x), known(y)], [np.fmod(wide(x), wide(y))], fmod=1)


@case
def comparison(rng):
    shape = draw_shape(rng)
    a, b = (rng.integers(-2, 3, shape).astype(np.float32) for _ in range(2))
    op_type, function = [("Equal", np.equal), ("Less", np.less), ("LessOrEqual", np.less_equal),
                         ("Greater", np.greater), ("GreaterOrEqual", np.greater_equal)][
                             rng.integers(5)]
    return Case(op_type, 16, [free(a), (b, bool(rng.integers(2)))], [function(a, b)])


@case
def where(rng):
    shape = draw_shape(rng)
    condition = rng.integers(0, 2, shape[-1:]).astype(bool)
    a, b = draw(rng, shape), draw(rng, shape[-1:])
    return Case("Where", 16, [known(condition), free(a), (b, bool(rng.integers(2)))],
                [np.where(condition, wide(a), wide(b))])


def log_sum_exp(x, **axes):
    return np.log(np.exp(x).sum(**axes))


REDUCTIONS = {
    "ReduceSum": np.sum, "ReduceMean": np.mean, "ReduceMax": np.max, "ReduceMin": np.min,
    "ReduceProd": np.prod, "ReduceL1": lambda x, **k: np.abs(x).sum(**k),
    "ReduceL2": lambda x, **k: np.sqrt((x * x).sum(**k)),
    "ReduceSumSquare": lambda x, **k: (x * x).sum(**k),
    "ReduceLogSum": lambda x, **k: np.log(x.sum(**k)), "ReduceLogSumExp": log_sum_exp,
}


@case
def reduction(rng):
    x = draw(rng, draw_shape(rng), 0.1, 3)
    op_type = sorted(REDUCTIONS)[rng.integers(len(REDUCTIONS))]
    axes = [int(a) for a in np.flatnonzero(rng.integers(0, 2, x.ndim))]
    axes = [a - x.ndim if rng.integers(2) else a for a in axes]
    keep = int(rng.integers(2))
    y = REDUCTIONS[op_type](wide(x), axis=tuple(axes) if axes else None, keepdims=bool(keep))
    inputs, attributes = [free(x)], {"keepdims": keep}
    if rng.integers(2):
        inputs += [known(np.array(axes, np.int64))] if axes else []
        return Case(op_type, 18, inputs, [np.asarray(y)], **attributes)
    if axes:
        attributes["axes"] = axes
    return Case(op_type, 12, inputs, [np.asarray(y)], **attributes)


@case
def cumulative_sum(rng):
    x = draw(rng, draw_shape(rng))
    axis = draw_axis(rng, x.ndim)
    exclusive, reverse = (int(v) for v in rng.integers(0, 2, 2))
    y = np.flip(wide(x), axis) if reverse else wide(x)
    y = np.cumsum(y, axis) - (y if exclusive else 0)
    return Case("CumSum", 14, [free(x), known(np.int64(axis))],
                [np.flip(y, axis) if reverse else y], exclusive=exclusive, reverse=reverse)


@case
def winner(rng):
    x = rng.integers(-3, 4, draw_shape(rng)).astype(np.float32)
    axis = draw_axis(rng, x.ndim)
    keep, last = (int(v) for v in rng.integers(0, 2, 2))
    op_type, best = (("ArgMax", np.argmax), ("ArgMin", np.argmin))[rng.integers(2)]
    y = (x.shape[axis] - 1 - best(np.flip(x, axis), axis)) if last else best(x, axis)
    return Case(op_type, 13, [free(x)], [np.expand_dims(y, axis) if keep else y], axis=axis,
                keepdims=keep, select_last_index=last)


@case
def largest(rng):
    x = draw(rng, [int(n) for n in rng.integers(1, 8, 2)])
    axis = draw_axis(rng, 2)
    k = int(rng.integers(1, x.shape[axis] + 1))
    sign = 1 if rng.integers(2) else -1
    order = np.take(np.argsort(-sign * x, axis, kind="stable"), range(k), axis)
    return Case("TopK", 11, [free(x), known(np.array([k], np.int64))],
                [wide(np.take_along_axis(x, order, axis)), order], axis=axis,
                largest=int(sign == 1))


@case
def hardmax(rng):
    x = rng.integers(-3, 4, draw_shape(rng)).astype(np.float32)
    axis = draw_axis(rng, x.ndim)
    first = np.expand_dims(np.argmax(x, axis), axis)
    y = np.zeros(x.shape)
    np.put_along_axis(y, first, 1, axis)
    return Case("Hardmax", 13, [free(x)], [y], axis=axis)


@case
def slice_all_dimensions(rng):
    x = draw(rng, draw_shape(rng))
    starts, ends, axes, steps, index = [], [], [], [], [slice(None)] * x.ndim
    for axis in rng.permutation(x.ndim)[: rng.integers(1, x.ndim + 1)]:
        dim = x.shape[axis]
        step = int(rng.choice([-3, -2, -1, 1, 2, 3]))
        start, end = sorted(int(v) for v in rng.integers(-dim, dim, 2))
        start, end = (end, start) if step < 0 else (start, end)
        if rng.integers(2):
            start, end = ((dim + 5, -dim - 7) if step < 0 else (-dim - 7, dim + 5))
        chosen = slice(start, None if end < -dim else end, step)
        if len(range(dim)[chosen]) == 0:
            continue
        index[axis] = chosen
        starts.append(start), ends.append(end), steps.append(step)
        axes.append(int(axis) - (x.ndim if rng.integers(2) else 0))
    inputs = [free(x)] + [known(np.array(v, np.int64)) for v in (starts, ends, axes, steps)]
    return Case("Slice", 13, inputs, [wide(x)[tuple(index)]])


@case
def concatenation(rng):
    shape = draw_shape(rng)
    axis = draw_axis(rng, len(shape))
    tensors = []
    for _ in range(rng.integers(1, 4)):
        shape[axis] = int(rng.integers(1, 4))
        tensors.append(draw(rng, shape))
    inputs = [(t, i > 0 and rng.integers(3) == 0) for i, t in enumerate(tensors)]
    return Case("Concat", 13, inputs, [wide(np.concatenate(tensors, axis))], axis=axis)


@case
def split(rng):
    x = draw(rng, draw_shape(rng) + [6])
    lengths = [1, 2, 3] if rng.integers(2) else [3, 3]
    parts = np.split(wide(x), np.cumsum(lengths)[:-1], -1)
    if rng.integers(2):
        return Case("Split", 11, [free(x)], parts, axis=-1, split=lengths)
    return Case("Split", 13, [free(x), known(np.array(lengths, np.int64))], parts, axis=-1)


@case
def gathering(rng):
    x = draw(rng, draw_shape(rng))
    axis = draw_axis(rng, x.ndim)
    dim = x.shape[axis]
    if rng.integers(2):
        indices = rng.integers(-dim, dim, draw_shape(rng, 0, 2))
        return Case("Gather", 13, [free(x), known(indices)],
                    [wide(np.take(x, indices, axis))], axis=axis)
    shape = list(x.shape)
    shape[axis] = int(rng.integers(1, 5))
    indices = rng.integers(-dim, dim, shape)
    y = np.take_along_axis(x, np.where(indices < 0, indices + dim, indices), axis)
    return Case("GatherElements", 13, [free(x), known(indices)], [wide(y)], axis=axis)


@case
def gathering_slices(rng):
    x = draw(rng, [2, 3, 4])
    depth = int(rng.integers(1, 4))
    indices = np.stack([rng.integers(0, x.shape[d], (3, 2)) for d in range(depth)], -1)
    y = np.array([[wide(x)[tuple(row)] for row in rows] for rows in indices])
    return Case("GatherND", 13, [free(x), known(indices)], [y])


@case
def scattering(rng):
    x = draw(rng, [3, 4])
    indices = rng.integers(0, 3, (3, 4))
    updates = draw(rng, (3, 4))
    reduction = ["none", "add", "mul", "max", "min"][rng.integers(5)]
    if reduction == "none":  # several writers would leave the result open
        indices = np.argsort(rng.uniform(size=(3, 4)), 0)
    y = wide(x)
    for i, j in np.ndindex(3, 4):
        old, new = y[indices[i, j], j], float(updates[i, j])
        y[indices[i, j], j] = {"none": new, "add": old + new, "mul": old * new,
                               "max": max(old, new), "min": min(old, new)}[reduction]
    inputs = [free(x), known(indices), (updates, bool(rng.integers(2)))]
    return Case("ScatterElements", 18, inputs, [y], axis=0, reduction=reduction)


@case
def repetition(rng):
    x = draw(rng, draw_shape(rng))
    if rng.integers(2):
        repeats = rng.integers(1, 4, x.ndim)
        return Case("Tile", 13, [free(x), known(repeats)], [np.tile(wide(x), repeats)])
    shape = draw_shape(rng, 1, 2) + list(x.shape)
    x = x.reshape([n if rng.integers(2) or n == 1 else 1 for n in x.shape]) if x.size == 1 else x
    return Case("Expand", 13, [free(x), known(np.array(shape, np.int64))],
                [np.broadcast_to(wide(x), shape)])


@case
def rearrangement(rng):
    x = draw(rng, draw_shape(rng))
    kind = rng.integers(4)
    if kind == 0:
        perm = [int(p) for p in rng.permutation(x.ndim)]
        return Case("Transpose", 13, [free(x)], [wide(x).transpose(perm)], perm=perm)
    if kind == 1:
        axis = int(rng.integers(-x.ndim, x.ndim + 1))
        at = axis % x.ndim if axis < 0 else axis
        outer = int(np.prod(x.shape[:at]))
        return Case("Flatten", 13, [free(x)], [wide(x).reshape(outer, -1)], axis=axis)
    if kind == 2:
        return Case("Reshape", 13, [free(x), known(np.array([0, -1], np.int64))],
                    [wide(x).reshape(x.shape[0], -1)])
    return Case("Unsqueeze", 13, [free(x), known(np.array([0, -1], np.int64))],
                [wide(x)[np.newaxis, ..., np.newaxis]])


@case
def triangle(rng):
    x = draw(rng, draw_shape(rng, 2))
    k = int(rng.integers(-3, 4))
    upper = int(rng.integers(2))
    y = (np.triu if upper else np.tril)(wide(x), k)
    return Case("Trilu", 14, [free(x), known(np.int64(k))], [y], upper=upper)


@case
def compression(rng):
    x = draw(rng, draw_shape(rng))
    axis = draw_axis(rng, x.ndim)
    condition = rng.integers(0, 2, x.shape[axis]).astype(bool)
    condition[0] = True
    return Case("Compress", 11, [free(x), known(condition)],
                [wide(np.compress(condition, x, axis))], axis=axis)


@case
def products(rng):
    m, k, n = (int(v) for v in rng.integers(1, 5, 3))
    batch = draw_shape(rng, 0, 1)
    a, b = draw(rng, batch + [m, k]), draw(rng, [k, n])
    which = rng.integers(3)
    if which == 0:
        return Case("MatMul", 13, [free(a), (b, bool(rng.integers(2)))], [wide(a) @ wide(b)])
    if which == 1:
        a = draw(rng, [m, k])
        c = draw(rng, [n])
        alpha, beta = (float(np.float32(v)) for v in rng.uniform(-2, 2, 2))
        return Case("Gemm", 13, [free(np.ascontiguousarray(a.T)), (b, bool(rng.integers(2))),
                                 known(c)], [alpha * (wide(a) @ wide(b)) + beta * wide(c)],
                    alpha=alpha, beta=beta, transA=1)
    return Case("Einsum", 12, [free(a), (b, bool(rng.integers(2)))], [wide(a) @ wide(b)],
                equation="...ij,jk->...ik")


@case
def cast(rng):
    x = draw(rng, draw_shape(rng), -9, 9)
    if rng.integers(2):
        return Case("Cast", 13, [free(x)], [np.trunc(wide(x)).astype(np.int64)], to=7)
    return Case("Cast", 13, [free(np.round(x / 4))], [np.round(x / 4) != 0], to=9)


@case
def old_forms(rng):
    """Parameters that newer operator sets have as inputs, as attributes."""
    x = draw(rng, [3, 4, 5])
    kind = rng.integers(5)
    if kind == 0:
        return Case("Slice", 9, [free(x)], [wide(x)[1:, :, -3:-1]], axes=[0, -1], starts=[1, -3],
                    ends=[2**31 - 1, -1])
    if kind == 1:
        return Case("Unsqueeze", 11, [free(x)], [wide(x)[:, np.newaxis, ..., np.newaxis]],
                    axes=[1, 4])
    if kind == 2:
        order = np.argsort(-x, 1, kind="stable")[:, :2]
        return Case("TopK", 9, [free(x)], [wide(np.take_along_axis(x, order, 1)), order], axis=1,
                    k=2)
    if kind == 3:
        y = np.zeros((3, 20))
        y[range(3), np.argmax(x.reshape(3, 20), 1)] = 1
        return Case("Hardmax", 11, [free(x)], [y.reshape(x.shape)], axis=1)
    b = draw(rng, [4])
    return Case("Mul", 6, [free(x), (b, bool(rng.integers(2)))],
                [wide(x) * b[:, np.newaxis]], axis=1, broadcast=1)


def softmax_of(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


@case
def softmax(rng):
    x = draw(rng, draw_shape(rng))
    axis = draw_axis(rng, x.ndim)
    op_type, after = (("Softmax", lambda y: y), ("LogSoftmax", np.log))[rng.integers(2)]
    if rng.integers(2):
        return Case(op_type, 13, [free(x)], [after(softmax_of(wide(x), axis))], axis=axis)
    at = axis % x.ndim
    rows = wide(x).reshape(int(np.prod(x.shape[:at])), -1)
    return Case(op_type, 11, [free(x)], [after(softmax_of(rows, 1)).reshape(x.shape)], axis=axis)


@case
def losses(rng):
    n, classes, d = 2, 3, 2
    x = draw(rng, [n, classes, d])
    labels = rng.integers(0, classes, (n, d))
    weight = draw(rng, [classes], 0.5, 2)
    entropy = rng.integers(2) == 0
    log_p = np.log(softmax_of(wide(x), 1)) if entropy else wide(x)
    chosen = wide(weight)[labels]
    each = -np.take_along_axis(log_p, labels[:, np.newaxis], 1)[:, 0] * chosen
    reduction = ["none", "sum", "mean"][rng.integers(3)]
    loss = {"none": each, "sum": each.sum(), "mean": each.sum() / chosen.sum()}[reduction]
    return Case("SoftmaxCrossEntropyLoss" if entropy else "NegativeLogLikelihoodLoss", 13,
                [free(x), known(labels), known(weight)], [np.asarray(loss)], reduction=reduction)


def windows(x, kernel, strides, pads, dilations, fill):
    """[n, c, out_y, out_x, kernel_y, kernel_x]"""
    x = np.pad(wide(x), [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])],
               constant_values=fill)
    span = [d * (k - 1) + 1 for d, k in zip(dilations, kernel)]
    views = np.lib.stride_tricks.sliding_window_view(x, span, (2, 3))
    return views[:, :, :: strides[0], :: strides[1], :: dilations[0], :: dilations[1]]


def draw_geometry(rng):
    kernel, strides, dilations = ([int(v) for v in rng.integers(1, 3, 2)] for _ in range(3))
    pads = [int(rng.integers(0, kernel[i % 2])) for i in range(4)]
    return kernel, strides, pads, dilations


@case
def convolution(rng):
    kernel, strides, pads, dilations = draw_geometry(rng)
    group, per_in, per_out = (int(v) for v in rng.integers(1, 3, 3))
    x = draw(rng, [1, group * per_in, 5, 6])
    w = draw(rng, [group * per_out, per_in] + kernel)
    b = draw(rng, [group * per_out])
    views = windows(x, kernel, strides, pads, dilations, 0)
    parts = [np.einsum("ncyxij,ocij->noyx", views[:, g * per_in:(g + 1) * per_in],
                       wide(w)[g * per_out:(g + 1) * per_out]) for g in range(group)]
    y = np.concatenate(parts, 1) + wide(b)[:, np.newaxis, np.newaxis]
    return Case("Conv", 11, [free(x), known(w), known(b)], [y], group=group, strides=strides,
                pads=pads, dilations=dilations, kernel_shape=kernel)


@case
def pooling(rng):
    kernel, strides, pads, dilations = draw_geometry(rng)
    x = draw(rng, [1, 2, 5, 6])
    if rng.integers(2):
        y = windows(x, kernel, strides, pads, dilations, -np.inf).max((-1, -2))
        return Case("MaxPool", 12, [free(x)], [y], kernel_shape=kernel, strides=strides, pads=pads,
                    dilations=dilations)
    padded = int(rng.integers(2))
    y = windows(x, kernel, strides, pads, [1, 1], 0).sum((-1, -2))
    count = windows(np.ones_like(x), kernel, strides, pads, [1, 1], padded).sum((-1, -2))
    return Case("AveragePool", 11, [free(x)], [y / count], kernel_shape=kernel, strides=strides,
                pads=pads, count_include_pad=padded)


@case
def normalisation(rng):
    x = draw(rng, [2, 3, 4])
    scale, bias, mean = (draw(rng, [3]) for _ in range(3))
    variance = draw(rng, [3], 0.5, 2)
    epsilon = float(np.float32(1e-3))
    column = lambda v: wide(v)[:, np.newaxis]
    if rng.integers(2):
        y = (wide(x) - column(mean)) / np.sqrt(column(variance) + epsilon)
        inputs = [free(x)] + [known(v) for v in (scale, bias, mean, variance)]
        return Case("BatchNormalization", 9, inputs, [y * column(scale) + column(bias)],
                    epsilon=epsilon)
    y = wide(x) - wide(x).mean(2, keepdims=True)
    y /= np.sqrt((y * y).mean(2, keepdims=True) + epsilon)
    return Case("InstanceNormalization", 6, [free(x), known(scale), known(bias)],
                [y * column(scale) + column(bias)], epsilon=epsilon)


@case
def padding(rng):
    x = draw(rng, [3, 4])
    pads = [int(v) for v in rng.integers(0, 3, 4)]
    mode = ["constant", "reflect", "edge"][rng.integers(3)]
    value = {"constant_values": 1.5} if mode == "constant" else {}
    y = np.pad(wide(x), [(pads[0], pads[2]), (pads[1], pads[3])], mode=mode, **value)
    inputs = [free(x), known(np.array(pads, np.int64)), known(np.float32(1.5))]
    return Case("Pad", 13, inputs, [y], mode=mode)
