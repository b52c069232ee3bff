"""Interval and CROWN bounds of a Network in plain float64: an oracle, not a sound verifier.

The rules, those of auto_LiRPA:

ibp        every affine step by centre and radius; C is merged into the last linear step before
           |W| is taken (C is applied to the interval when an activation comes last).
relaxation of ReLU on [l, u]: l' = min(l, 0), u' = max(max(u, 0), l' + 1e-8), upper slope
           s = u' / (u' - l') with intercept -l' s, lower slope 1 if s > 0.5 else 0 through 0.
crown_ibp  one backward pass from C, every ReLU relaxed on its IBP bounds.
crown      every ReLU relaxed on its own backward bounds; never intersected with the intervals.
"""

import numpy as np


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
    """The golden record of one box: forward, ibp, crown_ibp, crown and the ReLU counts."""
    steps, identity = network.steps, np.eye(network.outputs)
    ibp_lower, ibp_upper, ibp_before = interval(steps, lower, upper)
    crown_before = backward_before_relus(steps, lower, upper)
    bounds = {
        "ibp": ((ibp_lower, ibp_upper), interval_rows(steps, rows, lower, upper)),
        "crown_ibp": tuple(backward(steps, ibp_before, r, lower, upper) for r in (identity, rows)),
        "crown": tuple(backward(steps, crown_before, r, lower, upper) for r in (identity, rows)),
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
