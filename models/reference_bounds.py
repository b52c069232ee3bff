"""Interval and CROWN bounds of a Network in plain float64: an oracle, not a sound verifier.

The rules, those of auto_LiRPA:

ibp        every affine step by centre and radius; C is merged into the last linear step before
           |W| is taken (C is applied to the interval when an activation comes last).
relaxation of ReLU on [l, u]: l' = min(l, 0), u' = max(max(u, 0), l' + 1e-8), upper slope
           s = u' / (u' - l') with intercept -l' s, lower slope 1 if s > 0.5 else 0 through 0.
crown_ibp  one backward pass from C, every ReLU relaxed on its IBP bounds.
crown      every ReLU relaxed on its own backward bounds; never intersected with the intervals.
alpha_crown_fixed  crown, then ITERATIONS times the backward pass from C with lower slopes of each
           row's own, which begin as crown's and climb by Adam between passes (rate 0.1, less by
           2 % each time), projected on [0, 1]; the best bound of each row.
"""

import numpy as np

ITERATIONS = 20


def _affine_interval(step, lower, upper):
    centre, radius = (lower + upper) / 2, (upper - lower) / 2
    kind, *data = step
    if kind == "linear":
        middle, spread = data[0] @ centre, np.abs(data[0]) @ radius
        return middle - spread + data[1], middle + spread + data[1]
    if kind == "permute":
        return lower[data[0]], upper[data[0]]
    ends = data[0] * lower + data[1], data[0] * upper + data[1]
    return np.minimum(*ends), np.maximum(*ends)


def interval(steps, lower, upper):
    """The output interval, and the interval before each ReLU."""
    before = []
    for step in steps:
        if step[0] == "relu":
            before.append((lower, upper))
            lower, upper = np.maximum(lower, 0), np.maximum(upper, 0)
        else:
            lower, upper = _affine_interval(step, lower, upper)
    return lower, upper, before


def _affine_backward(rows, bias, step):
    """rows . y + bias in terms of the step's input x."""
    kind, *data = step
    if kind == "linear":
        return rows @ data[0], bias + rows @ data[1]
    if kind == "scale":
        return rows * data[0], bias + rows @ data[1]
    back = np.zeros_like(rows)
    back[:, data[0]] = rows
    return back, bias


def interval_rows(steps, rows, lower, upper):
    """Interval bounds of rows . y, the rows merged into the last linear step."""
    linear = max((i for i, step in enumerate(steps) if step[0] == "linear"), default=-1)
    tail = steps[max(linear, 0) :]
    if any(step[0] == "relu" for step in tail):
        lower, upper, _ = interval(steps, lower, upper)
        return _affine_interval(("linear", rows, np.zeros(len(rows))), lower, upper)
    bias = np.zeros(len(rows))
    for step in reversed(tail):
        rows, bias = _affine_backward(rows, bias, step)
    lower, upper, _ = interval(steps[: max(linear, 0)], lower, upper)
    return _affine_interval(("linear", rows, bias), lower, upper)


def _relaxation(lower, upper):
    """(upper slope, upper intercept, lower slope) of each ReLU."""
    low = np.minimum(lower, 0)
    high = np.maximum(np.maximum(upper, 0), low + 1e-8)
    slope = high / (high - low)
    return slope, -low * slope, (slope > 0.5).astype(np.float64)


def _backward_upper(steps, relaxed, rows, lower, upper):
    """Upper bounds of rows . y over the box; relaxed: one relaxation for each ReLU in steps."""
    bias, at = np.zeros(len(rows)), len(relaxed)
    for step in reversed(steps):
        if step[0] != "relu":
            rows, bias = _affine_backward(rows, bias, step)
            continue
        at -= 1
        slope, intercept, lower_slope = relaxed[at]
        positive, negative = np.maximum(rows, 0), np.minimum(rows, 0)
        bias = bias + positive @ intercept
        rows = positive * slope + negative * lower_slope
    centre, radius = (lower + upper) / 2, (upper - lower) / 2
    return rows @ centre + np.abs(rows) @ radius + bias


def _upper_with_slopes(steps, relaxed, slopes, rows, lower, upper):
    """As _backward_upper with lower slopes of each row's own; and how the bounds change with them.

    The derivative by a slope is the row's negative coefficient times the ReLU's argument at the
    corner where the row is largest, along the lines that the row uses.
    """
    bias, at, lines = np.zeros(len(rows)), len(relaxed), {}
    for step in reversed(steps):
        if step[0] != "relu":
            rows, bias = _affine_backward(rows, bias, step)
            continue
        at -= 1
        slope, intercept, _ = relaxed[at]
        positive, negative = np.maximum(rows, 0), np.minimum(rows, 0)
        bias = bias + positive @ intercept
        lines[at] = np.where(rows > 0, slope, slopes[at]), (rows > 0) * intercept, negative
        rows = positive * slope + negative * slopes[at]
    centre, radius = (lower + upper) / 2, (upper - lower) / 2
    x, at, gradients = centre + np.sign(rows) * radius, 0, []
    for step in steps:
        kind, *data = step
        if kind == "linear":
            x = x @ data[0].T + data[1]
        elif kind == "permute":
            x = x[:, data[0]]
        elif kind == "scale":
            x = x * data[0] + data[1]
        else:
            slope, intercept, negative = lines[at]
            gradients.append(negative * x)
            x = slope * x + intercept
            at += 1
    return rows @ centre + np.abs(rows) @ radius + bias, gradients


def _optimised_upper(steps, relaxed, rows, lower, upper):
    slopes = [np.tile(lower_slope, (len(rows), 1)) for _, _, lower_slope in relaxed]
    fixed = [(slope == 0) | (slope == 1) for slope, _, _ in relaxed]
    means, squares = ([np.zeros_like(s) for s in slopes] for _ in range(2))
    best = np.full(len(rows), np.inf)
    for t in range(1, ITERATIONS + 1):
        above, gradients = _upper_with_slopes(steps, relaxed, slopes, rows, lower, upper)
        best = np.minimum(best, above)
        rate = 0.1 * 0.98 ** (t - 1) * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        for i, gradient in enumerate(gradients):
            means[i] = 0.9 * means[i] + 0.1 * gradient
            squares[i] = 0.999 * squares[i] + 0.001 * gradient**2
            step = rate * means[i] / np.sqrt(squares[i] + 1e-300)
            slopes[i] = np.where(fixed[i], slopes[i], np.clip(slopes[i] - step, 0, 1))
    return best


def optimised(steps, before, rows, lower, upper):
    """As backward, with optimised lower slopes."""
    relaxed = [_relaxation(*bounds) for bounds in before]
    above = _optimised_upper(steps, relaxed, rows, lower, upper)
    return -_optimised_upper(steps, relaxed, -rows, lower, upper), above


def backward(steps, before, rows, lower, upper):
    """(lower, upper) bounds of rows . y, given bounds before each ReLU of steps."""
    relaxed = [_relaxation(*bounds) for bounds in before]
    above = _backward_upper(steps, relaxed, rows, lower, upper)
    return -_backward_upper(steps, relaxed, -rows, lower, upper), above


def backward_before_relus(steps, lower, upper):
    """Backward bounds before each ReLU, each from those of the ReLUs before it."""
    before, size = [], len(lower)
    for i, step in enumerate(steps):
        if step[0] == "linear":
            size = len(step[1])
        if step[0] == "relu":
            before.append(backward(steps[:i], before, np.eye(size), lower, upper))
    return before


def unstable(before):
    return [int(np.sum((lower < 0) & (upper > 0))) for lower, upper in before]


def all_bounds(network, rows, lower, upper):
    """The golden record of one box: forward, each method's bounds and the ReLU counts."""
    steps, identity = network.steps, np.eye(network.outputs)
    ibp_lower, ibp_upper, ibp_before = interval(steps, lower, upper)
    crown_before = backward_before_relus(steps, lower, upper)
    bounds = {
        "ibp": ((ibp_lower, ibp_upper), interval_rows(steps, rows, lower, upper)),
        "crown_ibp": tuple(backward(steps, ibp_before, r, lower, upper) for r in (identity, rows)),
        "crown": tuple(backward(steps, crown_before, r, lower, upper) for r in (identity, rows)),
        "alpha_crown_fixed": tuple(
            optimised(steps, crown_before, r, lower, upper) for r in (identity, rows)
        ),
    }
    record = {"forward": network.evaluate((lower + upper) / 2).tolist()}
    for method, (outputs, spec) in bounds.items():
        record[method] = {
            "lower": outputs[0].tolist(),
            "upper": outputs[1].tolist(),
            "C_lower": spec[0].tolist(),
            "C_upper": spec[1].tolist(),
        }
    record["unstable_per_relu"] = unstable(crown_before)
    record["unstable_per_relu_ibp"] = unstable(ibp_before)
    record["size_per_relu"] = [len(bounds[0]) for bounds in crown_before]
    return record
