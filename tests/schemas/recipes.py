"""Inputs and attributes that each operator works with, for walk.py.

FORMS: operator -> function of the operator set that gives forms: (inputs, attributes). An input is an
array that is constant (C), one of the model's inputs (X), or None where it is left out.
VALUES: operator -> attribute -> values worth trying besides those that walk.py tries by type.
"""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

RANDOM = np.random.default_rng(7)


class Input:
    def __init__(self, values, constant):
        self.values, self.constant = np.asarray(values), constant


def X(values):
    return Input(values, False)


def C(values):
    return Input(values, True)


def real(*shape, low=-2.0, high=2.0):
    return RANDOM.uniform(low, high, shape).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


def one(x):
    """One form: one free input."""
    return lambda opset: [([X(x)], {})]


def unary(low=-2.0, high=2.0):
    return lambda opset: [([X(real(2, 3, low=low, high=high))], {})]


def binary(low=-2.0, high=2.0, old=True):
    def forms(opset):
        a, b = real(2, 3, low=low, high=high), real(2, 3, low=low, high=high)
        made = [([X(a), X(b)], {}), ([X(a), C(b)], {})]
        if opset >= 7:
            made += [([X(a), C(b[0])], {}), ([X(a[:, :1]), X(b)], {}), ([C(a), X(b[:1, :1])], {})]
        elif old:
            made += [([X(a), C(b[0])], {"broadcast": 1}),
                     ([X(a), C(b[:, 0])], {"broadcast": 1, "axis": 0}),
                     ([X(a), C(b[0, :1])], {"broadcast": 1})]
        return made
    return forms


def logic(opset):
    a, b = np.array([[True, False, True]] * 2), np.array([[True, True, False]] * 2)
    return [([X(a), X(b)], {})] + ([([X(a), C(b[0])], {})] if opset >= 7 else [])


def several(opset):
    a, b, c = real(2, 3), real(2, 3), real(2, 3)
    made = [([X(a)], {}), ([X(a), X(b)], {}), ([X(a), C(b), X(c)], {})]
    if opset >= 8:
        made += [([X(a), C(b[0]), C(c[:, :1])], {}), ([X(a), C(np.float32(0.3))], {})]
    return made


def reduction(low=-2.0, high=2.0, axes_input=18):
    def forms(opset):
        x = real(2, 3, 2, low=low, high=high)
        made = [([X(x)], {})]
        if opset >= axes_input:
            made += [([X(x), C(ints(*axes))], attributes)
                     for axes in ((1,), (-1, 0), (0, 1, 2), ())
                     for attributes in ({}, {"noop_with_empty_axes": 1}, {"keepdims": 0})]
            made.append(([X(x)], {"noop_with_empty_axes": 1}))
            made.append(([X(x)], {"noop_with_empty_axes": 1, "keepdims": 0}))
            made.append(([X(x), None], {"noop_with_empty_axes": 1}))
        else:
            made += [([X(x)], {"axes": axes}) for axes in ([1], [0, 2])]
            if opset >= 11:
                made.append(([X(x)], {"axes": [-1]}))
        return made
    return forms


def clip(opset):
    x = real(2, 3)
    if opset < 11:
        return [([X(x)], {}), ([X(x)], {"min": -0.5}), ([X(x)], {"max": 0.5}), ([X(x)], {"min": 1.0, "max": -1.0})]
    low, high = np.float32(-0.5), np.float32(0.5)
    return [([X(x)], {}), ([X(x), C(low), C(high)], {}), ([X(x), C(high), C(low)], {}), ([X(x), None, C(high)], {}),
            ([X(x), C(low)], {}), ([X(x), X(low), X(high)], {})]


def cast(opset):
    to = (lambda name: name) if opset < 6 else (lambda name: getattr(TensorProto, name))
    x = np.array([[-1.7, -0.2, 0.0], [0.4, 2.5, 3.5]], np.float32)
    made = [([X(x)], {"to": to(name)}) for name in
            ("FLOAT", "INT32", "INT64", "BOOL", "DOUBLE", "INT8", "FLOAT16", "UINT8", "STRING")]
    return made + [([C(ints(-1, 0, 300))], {"to": to("UINT8")}), ([X(ints(-1, 0, 3))], {"to": to("BOOL")}),
                   ([X(np.array([True, False]))], {"to": to("FLOAT")})]


def conv(opset):
    x1, x2, x3 = real(1, 4, 7), real(2, 4, 6, 5), real(1, 2, 4, 4, 3)
    made = [([X(x1), C(real(3, 4, 3))], {}), ([X(x2), C(real(2, 4, 3, 2)), C(real(2))], {}),
            ([X(x2), C(real(4, 2, 3, 3))], {"group": 2}), ([X(x2), C(real(4, 1, 2, 2))], {"group": 4}),
            ([X(x3), C(real(2, 2, 2, 2, 2))], {})]
    made += [([X(x2), C(real(2, 4, 3, 3))], {"auto_pad": pad, "strides": strides})
             for pad in ("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET") for strides in ([1, 1], [2, 3])]
    made += [([X(x2), C(real(2, 4, 3, 3))], {"pads": pads, "dilations": dilations})
             for pads in ([1, 2, 0, 1], [0, 0, 0, 0], [3, 3, 3, 3], [-1, 0, 0, 0], [0, 0, 0, -1])
             for dilations in ([1, 1], [2, 1])]
    return made


def conv_transpose(opset):
    x1, x2 = real(1, 2, 4), real(1, 4, 3, 2)
    w2 = real(4, 3, 3, 2)
    made = [([X(x1), C(real(2, 3, 3))], {}), ([X(x2), C(w2), C(real(3))], {}),
            ([X(x2), C(real(4, 1, 3, 2)), C(real(2))], {"group": 2})]
    for attributes in ({"strides": [2, 3]}, {"strides": [2, 3], "output_padding": [1, 1]}, {"pads": [1, 0, 1, 1]},
                       {"dilations": [2, 2]}, {"strides": [2, 2], "output_shape": [6, 5]},
                       {"strides": [2, 2], "output_shape": [8, 6]},
                       {"strides": [2, 2], "output_shape": [5, 3], "auto_pad": "SAME_UPPER"},
                       {"strides": [2, 2], "auto_pad": "SAME_UPPER"}, {"strides": [2, 2], "auto_pad": "SAME_LOWER"},
                       {"auto_pad": "VALID"}, {"strides": [3, 1], "auto_pad": "SAME_UPPER"},
                       {"pads": [-1, 0, 0, 0]}, {"pads": [0, 0, -1, 0]},
                       {"strides": [2, 2], "output_shape": [6, 5], "output_padding": [1, 0]}):
        made.append(([X(x2), C(w2)], attributes))
    return made


def pool(extra):
    def forms(opset):
        x1, x2, x3 = real(1, 2, 7), real(2, 2, 6, 5), real(1, 1, 4, 4, 3)
        made = [([X(x1)], {"kernel_shape": [3]}), ([X(x3)], {"kernel_shape": [2, 3, 2]})]
        base = {"kernel_shape": [3, 2]}
        made += [([X(x2)], {**base, **more}) for more in
                 ({}, {"strides": [2, 2]}, {"strides": [2, 3], "pads": [1, 1, 1, 0]}, {"pads": [2, 1, 2, 1]},
                  {"auto_pad": "SAME_UPPER", "strides": [2, 2]}, {"auto_pad": "SAME_LOWER", "strides": [2, 2]},
                  {"auto_pad": "VALID", "strides": [2, 2]}, {"auto_pad": "SAME_UPPER"}, {"pads": [0, -1, 0, 0]})]
        for more in extra(opset):
            made += [([X(x2)], {**base, **more, **other}) for other in
                     ({}, {"strides": [2, 2]}, {"strides": [3, 2], "pads": [1, 1, 1, 1]},
                      {"strides": [2, 3], "pads": [1, 0, 2, 1]}, {"auto_pad": "SAME_UPPER", "strides": [2, 2]})]
            if "dilations" not in more:
                made += [([X(x1)], {"kernel_shape": [3], "strides": [s], "pads": pads, **more})
                         for s in (2, 3, 4) for pads in ([0, 0], [1, 1], [2, 2], [0, 2])]
        return made
    return forms


def average_extra(opset):
    made = [{"count_include_pad": 1}] if opset >= 7 else []
    if opset >= 10:
        made += [{"ceil_mode": 1}, {"ceil_mode": 1, "count_include_pad": 1}]
    if opset >= 19:
        made += [{"dilations": [2, 1]}, {"dilations": [1, 2], "ceil_mode": 1, "count_include_pad": 1}]
    return made


def max_extra(opset):
    return [{"ceil_mode": 1}, {"dilations": [2, 1]}, {"dilations": [1, 2], "ceil_mode": 1},
            {"storage_order": 1}] if opset >= 10 else [{}]


def lp_extra(opset):
    p = (lambda x: float(x)) if opset < 2 else (lambda x: x)
    made = [{"p": p(1)}, {"p": p(2)}, {"p": p(3)}, {"p": p(4)}]
    return made + ([{"ceil_mode": 1}, {"dilations": [2, 1]}] if opset >= 18 else [])


def pad(opset):
    x = real(2, 3, 4)
    name = "paddings" if opset < 2 else "pads"
    modes = ["constant", "reflect", "edge"] + (["wrap"] if opset >= 19 else [])
    made = []
    for mode in modes:
        for pads in ([0, 1, 2, 1, 0, 1], [0, 0, 2, 0, 0, 1], [0, -1, 1, 0, 0, -1], [0, 0, 3, 0, 2, 3], [0, 0, 5, 0, 0, 6]):
            if opset < 11:
                made.append(([X(x)], {"mode": mode, name: pads}))
                if mode == "constant":
                    made.append(([X(x)], {"mode": mode, name: pads, "value": 1.5}))
            else:
                made.append(([X(x), C(ints(*pads))], {"mode": mode}))
                if mode == "constant":
                    made.append(([X(x), C(ints(*pads)), C(np.float32(1.5))], {"mode": mode}))
    if opset >= 18:
        made += [([X(x), C(ints(1, 2)), None, C(ints(1))], {}), ([X(x), C(ints(1, 2, 0, 1)), None, C(ints(-1, 0))], {}),
                 ([X(x), C(ints(1, 2, 0, 1)), None, C(ints(1, 1))], {}), ([X(x), C(ints()), None, C(ints())], {})]
    return made


def grid_sample(opset):
    modes = ("bilinear", "nearest", "bicubic") if opset < 20 else ("linear", "nearest", "cubic")
    x = real(2, 2, 3, 4)
    grid = (np.linspace(-1.7, 1.6, 2 * 3 * 2 * 2).reshape(2, 3, 2, 2)[:, ::-1] * 1.01).astype(np.float32)
    ends = np.array([-1, -1, 1, 1, 0, 0, -1, 1, 0.5, -0.25, 1, 0.75] * 2, np.float32).reshape(2, 3, 2, 2)
    made = [([X(x), C(g)], {"mode": mode, "padding_mode": padding, "align_corners": align})
            for g in (grid, ends) for mode in modes for padding in ("zeros", "border", "reflection") for align in (0, 1)
            if (mode, padding) not in (("cubic", "border"), ("bicubic", "border"))]
    if opset >= 20:
        volume = np.linspace(-1.3, 1.2, 2 * 2 * 1 * 3).reshape(1, 2, 2, 1, 3).astype(np.float32)
        made += [([X(real(1, 1, 2, 3, 2)), C(volume)], {"mode": mode, "padding_mode": padding})
                 for mode in ("linear", "nearest") for padding in ("zeros", "border", "reflection")]
    return made


def affine_grid(opset):
    """Matrices that are computed, and such that are known."""
    made = []
    for align in (0, 1):
        made += [([X(real(2, 2, 3)), C(np.array([2, 3, 4, 5], np.int64))], {"align_corners": align}),
                 ([X(real(1, 3, 4)), C(np.array([1, 2, 2, 3, 4], np.int64))], {"align_corners": align}),
                 ([C(real(1, 2, 3)), C(np.array([1, 1, 2, 2], np.int64))], {"align_corners": align})]
    return made


def resize(opset):
    x = real(1, 1, 3, 4)
    scales = np.array([1, 1, 2, 1.5], np.float32)
    down = np.array([1, 1, 0.6, 0.5], np.float32)
    if opset < 11:
        return [([X(x), C(s)], {"mode": mode}) for mode in ("nearest", "linear") for s in (scales, down)]
    roi = np.array([], np.float32)
    made = []
    for mode in ("nearest", "linear", "cubic"):
        for coordinates in ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize",
                            "half_pixel_symmetric", "tf_half_pixel_for_nn"):
            crop = coordinates == "tf_crop_and_resize"
            box = np.array([0, 0, 0.1, 0.2, 1, 1, 0.8, 1.1], np.float32) if crop else roi
            common = {"mode": mode, "coordinate_transformation_mode": coordinates}
            made.append(([X(x), C(box), C(scales)], common))
            made.append(([X(x), C(box), C(down)], common))
            made.append(([X(x), C(box), C(roi), C(ints(1, 1, 5, 3))], common))
            if crop:
                made.append(([X(x), C(box), C(scales)], {**common, "extrapolation_value": 7.0}))
            if mode == "cubic":
                made.append(([X(x), C(box), C(scales)], {**common, "exclude_outside": 1, "cubic_coeff_a": -0.5}))
    for nearest in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
        for s in (scales, down, np.array([1, 1, 1.5, 2.5], np.float32)):
            made.append(([X(x), C(roi), C(s)], {"mode": "nearest", "nearest_mode": nearest}))
    if opset >= 18:
        for policy in ("stretch", "not_larger", "not_smaller"):
            for sizes in ((7, 8), (2, 9), (5, 3)):
                made.append(([X(x), None, None, C(ints(*sizes))],
                             {"axes": [2, 3], "keep_aspect_ratio_policy": policy, "mode": "linear"}))
        made += [([X(x), None, C(scales[2:])], {"axes": [2, 3]}), ([X(x), None, C(scales[2:])], {"axes": [-2, -1]}),
                 ([X(x), None, C(scales[2:])], {"axes": [3, 2]}), ([X(x), None, C(down)], {"antialias": 1, "mode": "linear"}),
                 ([X(x), None, C(down)], {"antialias": 1})]
        wide = real(1, 1, 7, 9)
        for more in ({"mode": "linear"}, {"mode": "cubic"}, {"mode": "cubic", "exclude_outside": 1, "cubic_coeff_a": -0.5},
                     {"mode": "linear", "exclude_outside": 1}, {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
                     {"mode": "linear", "coordinate_transformation_mode": "asymmetric"}):
            made += [([X(wide), None, None, C(ints(*sizes))], {"antialias": 1, "axes": [2, 3], **more}) for sizes in ((3, 4), (2, 12))]
    return made


def upsample(opset):
    x = real(1, 1, 3, 4)
    if opset < 7:
        return [([X(x)], {"height_scale": 2.0, "width_scale": 1.5, "mode": mode}) for mode in ("nearest", "bilinear")]
    scales = np.array([1, 1, 2, 1.5], np.float32)
    if opset < 9:
        return [([X(x)], {"scales": scales.tolist(), "mode": mode}) for mode in ("nearest", "linear")]
    return [([X(x), C(scales)], {"mode": mode}) for mode in ("nearest", "linear")]


def slices(opset):
    x = real(3, 4, 5)
    ranges = [((1,), (3,), (0,)), ((0, 1), (2, 100), (1, 2)), ((-3,), (-1,), (-1,)), ((1, 0), (3, 2), None),
              ((2,), (1,), (0,)), ((0, 1), (2, 3), (1, 1))]
    if opset < 10:
        return [([X(x)], {"starts": list(s), "ends": list(e), **({} if a is None else {"axes": list(a)})})
                for s, e, a in ranges]
    made = [([X(x), C(ints(*s)), C(ints(*e))] + ([] if a is None else [C(ints(*a))]), {}) for s, e, a in ranges]
    far = np.iinfo(np.int64)
    for start, end, step in ((4, 0, -2), (-1, far.min, -1), (0, far.max, 3), (far.max, far.min, -1), (1, 4, far.max),
                             (4, 1, far.min), (-100, 100, 2), (0, 3, 0)):
        made.append(([X(x), C(ints(start)), C(ints(end)), C(ints(2)), C(ints(step))], {}))
        made.append(([X(x), C(ints(start)), C(ints(end)), None, C(ints(step))], {}))
    return made


def split(opset):
    x = real(4, 5)
    if opset < 2:
        return [([X(x)], {"axis": 0, "split": [1, 3]}, 2), ([X(x), C(ints(1, 3))], {"axis": 0}, 2)]
    if opset < 13:
        return [([X(x)], {}, 2), ([X(x)], {"split": [1, 3]}, 2), ([X(x)], {"axis": 1, "split": [2, 3]}, 2),
                ([X(x)], {"axis": 1}, 2), ([X(x)], {"axis": -1, "split": [2, 3]}, 2), ([X(x)], {}, 1),
                ([X(x)], {"split": [1, 1]}, 2)]
    made = [([X(x), C(ints(1, 3))], {}, 2), ([X(x), C(ints(2, 3))], {"axis": -1}, 2), ([X(x), C(ints(1, 1))], {}, 2),
            ([X(x), C(ints(0, 4))], {}, 2), ([X(x)], {} if opset < 18 else {"num_outputs": 2}, 2),
            ([X(x)], {"axis": 1} if opset < 18 else {"axis": 1, "num_outputs": 2}, 2)]
    if opset >= 18:
        made += [([X(x)], {}, 2), ([X(x)], {"num_outputs": 3}, 2), ([X(x), C(ints(1, 3))], {"num_outputs": 2}, 2),
                 ([X(x)], {"axis": 1, "num_outputs": 4}, 4), ([X(x)], {"axis": 1, "num_outputs": 3}, 3)]
    return made


def squeeze(opset):
    x = real(1, 3, 1, 2)
    if opset < 13:
        return [([X(x)], {}), ([X(x)], {"axes": [0]}), ([X(x)], {"axes": [0, 2]}), ([X(x)], {"axes": [1]}),
                ([X(x)], {"axes": [-2]}), ([X(x)], {"axes": []})]
    return [([X(x)], {}), ([X(x), C(ints(0))], {}), ([X(x), C(ints(-2, 0))], {}), ([X(x), C(ints(1))], {}),
            ([X(x), C(ints())], {}), ([X(x), C(ints(0, 0))], {}), ([X(x), C(np.array(2, np.int64))], {})]


def unsqueeze(opset):
    x = real(3, 2)
    axes = [(0,), (0, 3), (2, 0), (-1,), (1, 1), (5,), (-4, 0), ()]
    if opset < 13:
        return [([X(x)], {"axes": list(a)}) for a in axes]
    return [([X(x), C(ints(*a))], {}) for a in axes]


def gather(opset):
    x = real(3, 4)
    made = [([X(x), C(ints(*i))], {"axis": axis}) for i in ((0, 2), (1,), (-1, 0), (5,)) for axis in (0, 1, -1)]
    return made + [([X(x), C(np.array(1, np.int64))], {}), ([X(x), C(np.array([[0, 1]], np.int32))], {}),
                   ([C(x), X(ints(1))], {})]


def scatter(opset):
    x, indices, updates = real(3, 3), np.array([[0, 1, 2], [2, 0, 0]], np.int64), real(2, 3)
    made = [([X(x), C(indices), X(updates)], {"axis": axis}) for axis in (0, 1, -1, 2)]
    made.append(([X(x), C(-indices - 1), C(updates)], {}))
    if opset >= 16:
        names = ("none", "add", "mul") + (("max", "min") if opset >= 18 else ())
        made += [([X(x), C(indices), X(updates)], {"reduction": name, "axis": axis}) for name in names for axis in (0, 1)]
    return made


def scatter_nd(opset):
    x = real(3, 3)
    made = [([X(x), C(np.array([[0], [2]])), X(real(2, 3))], {}), ([X(x), C(np.array([[0, 1], [2, -1], [0, 1]])), X(real(3))], {})]
    if opset >= 16:
        names = ("none", "add", "mul") + (("max", "min") if opset >= 18 else ())
        made += [([X(x), C(np.array([[0, 1], [2, 2], [0, 1]])), X(real(3))], {"reduction": name}) for name in names]
    return made


def normalization(opset):
    x = real(2, 3, 4)
    return [([X(x), C(real(3)), C(real(3))], {}), ([X(x), X(real(3)), C(real(3))], {"epsilon": 0.1})]


def batch_normalization(opset):
    x, p = real(2, 3, 4), real(3, low=0.5, high=1.5)
    common = {"is_test": 1} if opset < 7 else {}
    if opset < 6:
        common["consumed_inputs"] = [0, 0, 0, 1, 1]
    made = [([X(x), C(real(3)), C(real(3)), C(real(3)), C(p)], {**common, **more}) for more in ({}, {"epsilon": 0.1})]
    if opset < 9:
        made.append(([X(x), C(real(3, 4)), C(real(3, 4)), C(real(3, 4)), C(real(3, 4, low=0.5))], {**common, "spatial": 0}))
    return made


def layer_normalization(opset):
    x = real(2, 3, 4)
    made = [([X(x), C(real(4))], {}), ([X(x), C(real(4)), C(real(4))], {"epsilon": 0.01}),
            ([X(x), C(real(3, 4)), C(real(3, 4))], {"axis": 1}), ([X(x), C(real(3, 4))], {"axis": -2}),
            ([X(x), C(real(2, 3, 4))], {"axis": 0})]
    return made + [(form[0], form[1], 3) for form in made]


def rms_normalization(opset):
    x = real(2, 3, 4)
    return [([X(x), C(real(4))], {}), ([X(x), C(real(3, 4))], {"axis": 1}), ([X(x), C(real(4))], {"epsilon": 0.1})]


def attention(opset):
    q, k, v = X(real(1, 2, 3, 2)), X(real(1, 2, 4, 2)), X(real(1, 2, 4, 3))
    flat = {"q_num_heads": 2, "kv_num_heads": 1}
    mask, allowed = C(real(3, 4)), C(np.array([[1, 0, 1, 1]] * 3, bool))
    past = [X(real(1, 2, 2, 2)), X(real(1, 2, 2, 3))]
    forms = [([q, k, v], a) for a in ({}, {"is_causal": 1}, {"softcap": 0.5}, {"scale": 0.3})] + \
        [([X(real(1, 3, 4)), X(real(1, 4, 2)), X(real(1, 4, 3))], flat), ([q, k, v, mask], {}), ([q, k, v, allowed], {}),
         ([q, k, v, None] + past, {"is_causal": 1}, 3), ([q, k, v, X(real(1, 1, 3, 4))], {}),
         ([q, k, v, C(real(3, 5))], {})] + [([q, k, v, mask], {"qk_matmul_output_mode": m}, 4) for m in range(4)]
    if opset >= 24:
        forms += [([q, k, v, None, None, None, C(ints(3))], a) for a in ({}, {"is_causal": 1})]
    if opset >= 25:
        forms += [([q, k, v], {"left_window_size": 1, "right_window_size": 1})]
    return forms


def rotary_embedding(opset):
    x, angles = X(real(1, 2, 3, 4)), [C(real(1, 3, 2)), C(real(1, 3, 2))]
    table = [C(real(5, 2)), C(real(5, 2)), C(ints(4, 0, 2).reshape(1, 3))]
    return [([x] + angles, a) for a in ({}, {"interleaved": 1})] + \
        [([x] + table, a) for a in ({}, {"interleaved": 1})] + \
        [([X(real(1, 3, 8))] + table, {"num_heads": 2}), ([X(real(1, 3, 6))] + table, {"num_heads": 1, "rotary_embedding_dim": 4})]


def group_normalization(opset):
    x = real(2, 4, 3)
    count = 2 if opset < 21 else 4
    return [([X(x), C(real(count)), C(real(count))], {"num_groups": 2}),
            ([X(x), C(real(count)), C(real(count))], {"num_groups": 3})]


def gemm(opset):
    a, b, c = real(2, 3), real(3, 4), real(2, 4)
    old = {"broadcast": 1} if opset < 7 else {}
    made = [([X(a), C(b), C(c)], {}), ([X(a), C(b), C(c[0])], old), ([X(a), C(b), C(c[:, :1])], {"alpha": 0.5, "beta": 2.0, **old}),
            ([X(a.T.copy()), C(b), C(c)], {"transA": 1}), ([X(a), C(b.T.copy()), X(c)], {"transB": 1}),
            ([C(a), X(b), C(c)], {"alpha": -1.0, "beta": 0.0}), ([X(a), X(b), X(c)], {"alpha": 0.0})]
    return made + ([([X(a), C(b)], {}), ([X(a), C(b), C(np.float32(1.5))], {})] if opset >= 11 else [])


def matmul(opset):
    return [([X(real(2, 3)), C(real(3, 4))], {}), ([X(real(3)), C(real(3, 4))], {}), ([X(real(2, 3)), C(real(3))], {}),
            ([X(real(3)), X(real(3))], {}), ([X(real(2, 1, 2, 3)), C(real(3, 3, 2))], {}), ([C(real(2, 3)), X(real(2, 3, 1))], {}),
            ([X(real(2, 3)), C(real(2, 3))], {})]


def quantize(opset):
    x = np.array([[-1.3, 0.27, 2.2, 300, -300]], np.float32)
    made = [([X(x), C(np.float32(0.1)), C(np.uint8(3))], {}), ([X(x), C(np.float32(0.1)), C(np.int8(3))], {}),
            ([X(x), C(np.float32(0.1))], {})]
    if opset >= 13:
        scale = np.array([0.1, 0.2, 0.3, 0.4, 0.5], np.float32)
        made += [([X(x), C(scale), C(np.arange(5, dtype=np.uint8))], {"axis": axis}) for axis in (1, -1, 0)]
    if opset >= 21:
        y = np.tile(x[:, :4], (2, 1))
        made += [([X(y), C(scale[:4].reshape(2, 2)), C(np.zeros((2, 2), np.uint8))], {"axis": 1, "block_size": 2}),
                 ([X(x), C(np.float32(0.1))], {"output_dtype": TensorProto.INT8}),
                 ([X(x), C(np.float32(0.1)), C(np.uint16(7))], {}), ([X(x), C(np.float32(0.1)), C(np.int16(7))], {}),
                 ([X(x), C(np.float32(0.1))], {"output_dtype": TensorProto.UINT16})]
    return made


def dequantize(opset):
    x = np.array([[0, 3, 7, 250, 255]], np.uint8)
    made = [([X(x), C(np.float32(0.1)), C(np.uint8(3))], {}), ([X(x), C(np.float32(0.1))], {}),
            ([X(x.astype(np.int8)), C(np.float32(0.1)), C(np.int8(-3))], {}), ([X(x.astype(np.int32)), C(np.float32(0.1))], {})]
    if opset >= 13:
        scale = np.array([0.1, 0.2, 0.3, 0.4, 0.5], np.float32)
        made += [([X(x), C(scale), C(np.arange(5, dtype=np.uint8))], {"axis": axis}) for axis in (1, -1, 0)]
    return made


def q(*shape):
    return RANDOM.integers(0, 255, shape).astype(np.uint8)


def qlinear_conv(opset):
    s, z = (lambda v: C(np.float32(v))), (lambda v: C(np.uint8(v)))
    x, w = q(1, 2, 5, 4), q(3, 2, 2, 2)
    made = [([X(x), s(0.05), z(120), C(w), s(0.03), z(100), s(0.31), z(128)], {}),
            ([X(x), s(0.05), z(120), C(w), C(np.array([0.03, 0.02, 0.05], np.float32)), C(np.array([100, 110, 120], np.uint8)),
              s(0.31), z(128), C(np.array([10, -20, 300], np.int32))], {"pads": [1, 1, 0, 0], "strides": [2, 1]})]
    return made + [([X(x), s(0.05), z(120), C(w), s(0.03), z(100), s(0.31), z(128)], {"pads": [-1, 0, 0, 0]})]


def conv_integer(opset):
    x, w = q(1, 2, 5, 4), q(3, 2, 2, 2)
    return [([X(x), C(w)], {}), ([X(x), C(w), C(np.uint8(120))], {"pads": [1, 1, 0, 0]}),
            ([X(x), C(w), C(np.uint8(120)), C(np.uint8(100))], {"strides": [2, 1]}), ([X(x), C(w)], {"pads": [0, -1, 0, 0]})]


def where(opset):
    x = real(2, 3)
    c = np.array([[True, False, True]])
    return [([C(c), X(x), X(real(2, 3))], {}), ([X(c), X(x), C(np.float32(0.5))], {}), ([X(c), C(x), C(real(2, 1))], {})]


def one_hot(opset):
    v = np.array([0.5, 2.5], np.float32)
    return [([X(np.array([0, 2, -1, 7], np.int64)), C(np.int64(3)), C(v)], {"axis": axis}) for axis in (-1, 0, 1, 2)]


def top_k(opset):
    x = real(2, 5)
    if opset < 10:
        return [([X(x)], {"k": k, "axis": axis}, outputs) for k in (1, 2, 6, 0) for axis in (-1, 0) for outputs in (1, 2)]
    return [([X(x), C(ints(k))], {"axis": axis}, outputs) for k in (1, 2, 6, 0) for axis in (-1, 0) for outputs in (1, 2)]


def reshape(opset):
    x = real(2, 3, 4)
    shapes = [(6, 4), (-1,), (0, -1), (2, 0, 4), (0, 0, 0), (3, -1, 4), (5, -1), (-1, -1), (2, 3, 4, 0), (1, 24), ()]
    if opset < 5:
        return [([X(x)], {"shape": list(s)}) for s in shapes]
    made = [([X(x), C(ints(*s))], {}) for s in shapes]
    if opset >= 14:
        made += [([X(x), C(ints(*s))], {"allowzero": 1}) for s in ((6, 4), (0, 24), (-1, 0))]
    return made


def loss(opset):
    x, labels = real(3, 4, 2), np.array([[0, 3], [1, 2], [2, 0]], np.int64)
    made = [([X(x), C(labels)], {"reduction": r}) for r in ("none", "sum", "mean")]
    made += [([X(x), C(labels), C(real(4, low=0.1))], {"reduction": r, "ignore_index": i})
             for r in ("none", "sum", "mean") for i in (0, 2, -1)]
    return made + [([X(x), C(np.where(labels == 3, -1, labels))], {"ignore_index": -1})]


def constant(opset):
    made = [([], {"value": numpy_helper.from_array(real(2, 3))})]
    if opset >= 12:
        made += [([], {"value_float": 1.5}), ([], {"value_floats": [1.5, 2.5]}), ([], {"value_int": 3}), ([], {"value_ints": [3, 4]})]
    return made


def constant_of_shape(opset):
    made = [([C(ints(2, 3))], {}), ([C(ints())], {}), ([C(ints(2, 0))], {}), ([C(ints(-1))], {})]
    for value in (np.array([1.5], np.float32), np.array([3], np.int64), np.array([True])):
        made.append(([C(ints(2))], {"value": numpy_helper.from_array(value)}))
    return made


def range_(opset):
    return [([C(np.int64(a)), C(np.int64(b)), C(np.int64(c))], {}) for a, b, c in ((0, 5, 2), (5, 0, -2), (0, 5, -1), (3, 3, 1))] + \
           [([C(np.float32(0)), C(np.float32(1)), C(np.float32(0.3))], {})]


def shape_of(opset):
    made = [([X(real(2, 3, 4))], {})]
    if opset >= 15:
        made += [([X(real(2, 3, 4))], a) for a in ({"start": 1}, {"end": -1}, {"start": -2, "end": 10}, {"start": 2, "end": 1},
                                                    {"start": -10}, {"end": -10})]
    return made


def einsum(opset):
    a, b = real(2, 3), real(3, 4)
    made = [([X(a), C(b)], {"equation": e}) for e in ("ij,jk->ik", "ij,jk", "ij,jk->", "ij,jk->ki", " ij , jk -> ik ")]
    made += [([X(a)], {"equation": e}) for e in ("ij->ji", "ij->i", "ij->", "...j->...", "ij", "ji")]
    made += [([X(real(3, 3))], {"equation": e}) for e in ("ii->i", "ii", "ii->")]
    return made + [([X(real(2, 2, 3)), C(real(2, 3, 2))], {"equation": e}) for e in ("bij,bjk->bik", "...ij,...jk->...ik")]


def trilu(opset):
    x = real(2, 3, 4)
    made = [([X(x)], {"upper": u}) for u in (0, 1)]
    return made + [([X(x), C(np.array(k, np.int64))], {"upper": u}) for k in (-1, 0, 2, 100, -100) for u in (0, 1)] + \
        [([X(x), C(ints())], {}), ([X(x), C(ints(1, 2))], {})]


def cum_sum(opset):
    x = real(2, 3)
    return [([X(x), C(np.array(a, np.int64))], {"exclusive": e, "reverse": r})
            for a in (0, -1, 3) for e in (0, 1) for r in (0, 1)]


def long(value):
    return C(np.array(value, np.int64))


def dft(opset):
    for parts in (1, 2):
        x = X(real(1, 4, parts))
        for inverse in (0, 1):
            onesided = parts == 1 and not inverse
            attributes = {"inverse": inverse, **({"onesided": 1} if onesided else {})}
            if opset < 20:
                yield [x, long(5)], attributes
                yield [x], {**attributes, "axis": 1}
            else:
                yield [x, long(5)], attributes
                yield [x, None, long(1)], attributes


def stft(opset):
    x = real(1, 9, 1)
    return [([X(x), long(2), C(real(4))], {}), ([X(x), long(2), None, long(3)], {"onesided": 0})]


def window(opset):
    return [([long(n)], {"periodic": p}) for n in (2, 5) for p in (0, 1)]


def fold(opset):
    return [([X(real(2, 8, 9)), C(ints(4, 4)), C(ints(2, 2))], {}),
            ([X(real(1, 6, 4)), C(ints(4)), C(ints(3))], {"pads": [1, 1]}),
            ([X(real(1, 4, 4)), C(ints(4, 4)), C(ints(2, 2))], {"strides": [2, 2]})]


def tensor_scatter(opset):
    cache, update = X(real(2, 4, 3)), X(real(2, 2, 3))
    return [([cache, update], {}), ([cache, update, C(ints(1, 2))], {}),
            ([cache, update, C(ints(3, 0))], {"mode": "circular", "axis": 1})]


def mod(opset):
    a = np.array([-7, -3, 5, 8], np.int64)
    x = real(2, 3)
    return [([X(a), C(ints(3, 2, -3, 5))], {"fmod": f}) for f in (0, 1)] + \
        [([X(x), C(np.float32(0.7))], {"fmod": f}) for f in (0, 1)] + [([X(x), C(np.float32(-0.7))], {"fmod": 1})]


def power(opset):
    x, y = real(2, 3, low=0.3), real(2, 3)
    made = [([X(x), C(np.full((2, 3), e, np.float32))], {}) for e in (0, 1, 2, 3, -1, 0.5, 2.5, -2)]
    made += [([X(y), C(np.full((2, 3), e, np.float32))], {}) for e in (0, 1, 2, 3)]
    if opset >= 7:
        made += [([X(x), C(np.array([0, 1, 2], np.float32))], {}), ([C(np.float32(2)), X(y)], {}), ([X(y), C(np.float32(2))], {})]
    if opset >= 12:
        made += [([X(ints(2, 3)), C(ints(2))], {}), ([X(y), C(ints(2))], {}), ([X(ints(2, 3)), C(np.float32(0.5))], {})]
    return made


def prelu(opset):
    x = real(2, 3, 2, 3)
    made = [([X(x), C(real(1))], {}), ([X(x), C(real(3))], {})]
    if opset >= 7:
        made += [([X(x), C(real(3, 1, 1))], {}), ([X(x), C(real(2, 3, 2, 3))], {}), ([X(x), X(real(3, 1, 1))], {})]
    return made


def dropout(opset):
    x = real(2, 3)
    old = {} if opset >= 7 else {"is_test": 1}
    made = [([X(x)], {**old}, n) for n in (1, 2)]
    if opset < 12:
        return made + [([X(x)], {**old, "ratio": 0.9}, 1)] + ([([X(x)], {}, 1)] if opset < 7 else [])
    return made + [([X(x), C(np.float32(0.9))], {}, 2), ([X(x), C(np.float32(0.9)), C(np.array(False))], {}, 2)]


def mean_variance(opset):
    made = [([X(real(2, 3, 2, 2))], {})]
    return made + ([([X(real(2, 3, 2, 2))], {"axes": a}) for a in ([0, 2], [1], [-1], [0, 1, 2, 3])] if opset >= 9 else
                   [([X(real(2, 3, 2, 2))], {"across_channels": 1, "normalize_variance": 0})])


def max_min_arg(opset):
    made = [([X(real(2, 3))], {"axis": a, "keepdims": k}) for a in (0, 1) for k in (0, 1)]
    tied = np.array([[1, 2, 2], [2, 2, 0]], np.float32)
    made.append(([X(tied)], {"axis": 1}))
    return made + ([([X(tied)], {"axis": 1, "select_last_index": 1})] if opset >= 12 else [])


def softmax(opset):
    return [([X(real(2, 3, 4))], {}), ([X(real(2, 3))], {}), ([X(real(2, 2))], {})] + \
        [([X(real(2, 3, 4))], {"axis": a}) for a in ((0, 1, 2) if opset < 11 else (0, 1, 2, -1, -3, 3, 5))]


def recurrent(gates, states, activations, peepholes=False, reset=False):
    """Forms of an operator with so many gates, states, and activations that are not the usual ones."""
    def forms(opset):
        steps, batch, inputs, hidden = 4, 2, 3, 2
        x = real(steps, batch, inputs)

        def weights(directions, peep=False, state=False, lengths=None, bias=True):
            rows = gates * hidden
            given = [C(real(directions, rows, inputs)), C(real(directions, rows, hidden)),
                     C(real(directions, 2 * rows)) if bias else None,
                     None if lengths is None else C(np.array(lengths, np.int32))]
            given += [X(real(directions, batch, hidden)) if state else None] * states
            return given + ([C(real(directions, 3 * hidden))] if peep else [])

        size, outputs = {"hidden_size": hidden}, states + 1
        made = [([X(x), *weights(1)], size, outputs), ([X(x), *weights(1, bias=False)], {}, outputs)]
        for direction, n in (("forward", 1), ("reverse", 1), ("bidirectional", 2)):
            for lengths in (None, [4, 2], [1, 3]):
                for state in (False, True):
                    made.append(([X(x), *weights(n, state=state, lengths=lengths)], {**size, "direction": direction}, outputs))
        made.append(([X(x), *weights(1, state=True)], {**size, "clip": 0.4}, outputs))
        for names, alpha, beta in activations:
            more = {**({"activation_alpha": alpha} if alpha else {}), **({"activation_beta": beta} if beta else {})}
            made.append(([X(x), *weights(1, state=True)], {**size, "activations": names, **more}, outputs))
        if peepholes:
            made += [([X(x), *weights(n, peep=True, state=s)], {**size, "direction": d, **more}, outputs)
                     for d, n in (("forward", 1), ("bidirectional", 2)) for s in (False, True)
                     for more in ({}, {"input_forget": 1}, {"clip": 0.3})]
        if reset and opset >= 3:
            made += [([X(x), *weights(1, state=s, bias=b)], {**size, "linear_before_reset": 1}, outputs)
                     for s in (False, True) for b in (False, True)]
        if opset >= 14:
            turned = np.ascontiguousarray(np.swapaxes(x, 0, 1))
            made += [([X(turned), *weights(n)], {**size, "direction": d, "layout": 1}, outputs)
                     for d, n in (("forward", 1), ("bidirectional", 2))]
        return made
    return forms


def value(name, shape=None, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def if_forms(opset):
    then = helper.make_graph([helper.make_node("Constant", [], ["t"], value=numpy_helper.from_array(real(2, 3)))], "then", [], [value("t", [2, 3])])
    other = helper.make_graph([helper.make_node("Constant", [], ["e"], value=numpy_helper.from_array(real(2, 3)))], "else", [], [value("e", [2, 3])])
    return [([c(np.array(b))], {"then_branch": then, "else_branch": other}) for b in (True, False) for c in (C, X)]


def loop_forms(opset):
    if opset < 9:
        return []  # comparisons of integers came with operator set 9
    body = helper.make_graph(
        [helper.make_node("Less", ["i", "five"], ["goes"]), helper.make_node("Add", ["s", "s"], ["d"]),
         helper.make_node("Tanh", ["d"], ["t"]), helper.make_node("Neg", ["t"], ["u"])], "body",
        [value("i", [], TensorProto.INT64), value("go", [], TensorProto.BOOL), value("s", [2])],
        [value("goes", [], TensorProto.BOOL), value("t", [2]), value("u", [2])],
        [numpy_helper.from_array(np.array(5, np.int64), "five")])
    return [([C(np.array(n, np.int64)), c, X(real(2))], {"body": body}, 2)
            for n in (1, 3, 9, 0) for c in (None, C(np.array(True)), C(np.array(False)))]


def scan_forms(opset):
    batch = [] if opset >= 9 else [1]
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "x"], ["a"]), helper.make_node("Tanh", ["a"], ["t"]), helper.make_node("Neg", ["t"], ["u"])],
        "body", [value("s", [2]), value("x", [2])], [value("t", [2]), value("u", [2])])
    inputs = ([None] if opset < 9 else []) + [X(real(*batch, 2)), X(real(*batch, 4, 2))]
    made = [(inputs, {"body": body, "num_scan_inputs": 1}, 2)]
    if opset < 9:
        return made + [(inputs, {"body": body, "num_scan_inputs": 1, "directions": [1]}, 2)]
    turned = [inputs[0], X(real(2, 4))]
    return made + [(inputs, {"body": body, "num_scan_inputs": 1, "scan_input_directions": [1]}, 2),
                   (inputs, {"body": body, "num_scan_inputs": 1, "scan_output_directions": [1]}, 2),
                   (inputs, {"body": body, "num_scan_inputs": 1, "scan_output_axes": [1]}, 2),
                   (turned, {"body": body, "num_scan_inputs": 1, "scan_input_axes": [1]}, 2)]


FORMS = {
    "Abs": unary(), "Acos": unary(-0.9, 0.9), "Acosh": unary(1.1, 3), "Add": binary(), "AffineGrid": affine_grid, "And": logic,
    "ArgMax": max_min_arg, "ArgMin": max_min_arg, "Asin": unary(-0.9, 0.9), "Asinh": unary(), "Atan": unary(),
    "Atanh": unary(-0.9, 0.9), "Attention": attention, "AveragePool": pool(average_extra), "BatchNormalization": batch_normalization,
    "BlackmanWindow": window, "Cast": cast, "CastLike": lambda opset: [([X(real(3)), C(np.array([1], t))], {}) for t in (np.int32, np.bool_, np.float32)],
    "Ceil": unary(), "Celu": unary(), "CenterCropPad": lambda opset: [([X(real(5, 2)), C(ints(2, 5))], {})], "Clip": clip,
    "Col2Im": fold, "Compress": lambda opset: [([X(real(3, 4)), C(np.array([True, False, True]))], a) for a in ({}, {"axis": 0}, {"axis": 1})] +
    ([([X(real(3, 4)), C(np.array([True, False, True]))], {"axis": -2})] if opset >= 11 else []),
    "Concat": lambda opset: [([X(real(2, 3)), C(real(2, 3)), X(real(2, 3))], {"axis": a}) for a in (0, 1, -1, 2)] +
    [([X(real(2, 3)), C(real(2, 1))], {"axis": 1}), ([X(real(2, 3))], {"axis": 0})] +
    ([([X(real(2, 3)), C(real(2, 3))], {})] if opset < 4 else []),
    "Constant": constant, "ConstantOfShape": constant_of_shape, "Conv": conv, "ConvInteger": conv_integer,
    "ConvTranspose": conv_transpose, "Cos": unary(), "Cosh": unary(), "CumProd": cum_sum, "CumSum": cum_sum,
    "DFT": dft, "DepthToSpace": lambda opset: [([X(real(1, 8, 2, 3))], {"blocksize": b, **m}) for b in (2, 3, 1)
                                   for m in ([{}] if opset < 11 else [{}, {"mode": "DCR"}, {"mode": "CRD"}])],
    "DequantizeLinear": dequantize, "Div": binary(0.5, 2), "Dropout": dropout,
    "DynamicQuantizeLinear": lambda opset: [([X(np.array([0.11, -1.37, 2.71, 0.93], np.float32))], {}, 3)],
    "Einsum": einsum, "Elu": unary(), "Equal": lambda opset: binary(old=True)(opset) + [([X(ints(1, 2)), C(ints(1, 3))], {})],
    "Erf": unary(), "Exp": unary(),
    "Expand": lambda opset: [([X(real(3, 1)), C(ints(*s))], {}) for s in ((3, 4), (2, 1, 1), (1,), (3, -1), (2, 4), ())],
    "EyeLike": lambda opset: [([X(real(3, 4))], {"k": k}) for k in (-1, 0, 2, 100)] + [([X(real(3, 4))], {"dtype": 7}), ([X(real(3, 4))], {"dtype": 9})],
    "Flatten": lambda opset: [([X(real(2, 3, 4))], {"axis": a}) for a in ((0, 1, 2, 3) if opset < 11 else (0, 1, 3, -1, -3, 4))] + [([X(real(2, 3, 4))], {})],
    "Floor": unary(), "Gather": gather,
    "GatherElements": lambda opset: [([X(real(3, 3)), C(np.array([[0, 1, -1], [2, 0, 0]]))], {"axis": a}) for a in (0, 1, -1, 2)],
    "GatherND": lambda opset: [([X(real(2, 3, 2)), C(np.array([[0, 1], [1, -1]]))], {}), ([X(real(2, 3, 2)), C(np.array([[1]]))], {})] +
    ([([X(real(2, 3, 2)), C(np.array([[1], [0]]))], {"batch_dims": 1})] if opset >= 12 else []),
    "GRU": recurrent(3, 1, [(["HardSigmoid", "Relu"], [0.3], [0.4]), (["Sigmoid", "Softsign"], None, None)], reset=True),
    "Gelu": lambda opset: [([X(real(2, 3))], a) for a in ({}, {"approximate": "none"}, {"approximate": "tanh"})],
    "Gemm": gemm, "GlobalAveragePool": one(real(2, 3, 4, 2)),
    "GlobalLpPool": lambda opset: [([X(real(2, 3, 4))], {"p": float(p) if opset < 2 else p}) for p in (1, 2, 3)] + [([X(real(2, 3, 4))], {})],
    "GlobalMaxPool": one(real(2, 3, 4, 2)), "Greater": binary(), "GreaterOrEqual": binary(), "GridSample": grid_sample, "GroupNormalization": group_normalization,
    "HammingWindow": window, "HannWindow": window, "HardSigmoid": unary(-4, 4), "HardSwish": unary(-4, 4), "Hardmax": softmax, "Identity": unary(),
    "If": if_forms, "InstanceNormalization": normalization, "IsInf": unary(), "IsNaN": unary(),
    "LRN": lambda opset: [([X(real(1, 5, 2, 2))], {"size": s, **m}) for s in (1, 2, 3, 4, 9) for m in ({}, {"alpha": 0.5, "beta": 0.6, "bias": 2.0})],
    "LSTM": recurrent(4, 2, [(["HardSigmoid", "Tanh", "Affine"], [0.3, 1.5], [0.4, 0.1]), (["Sigmoid", "Elu", "ScaledTanh"], [0.7, 0.9], [1.2])],
                      peepholes=True),
    "LayerNormalization": layer_normalization, "LeakyRelu": unary(), "Less": binary(), "LessOrEqual": binary(),
    "Log": unary(0.1, 3), "LogSoftmax": softmax,
    "LpNormalization": lambda opset: [([X(real(2, 3))], {"p": p, "axis": a}) for p in (1, 2) for a in (0, 1, -1)] + [([X(real(2, 3))], {})],
    "Loop": loop_forms, "LpPool": pool(lp_extra), "MatMul": matmul,
    "MatMulInteger": lambda opset: [([X(q(2, 3)), C(q(3, 2))], {}), ([X(q(2, 3)), C(q(3, 2)), C(np.uint8(5))], {}),
                                    ([X(q(2, 3)), C(q(3, 2)), C(np.uint8(5)), C(np.array([3, 4], np.uint8))], {})],
    "Max": several, "MaxPool": pool(max_extra), "Mean": several, "MeanVarianceNormalization": mean_variance, "Min": several,
    "Mish": unary(), "Mod": mod, "Mul": lambda opset: binary()(opset), "Neg": unary(),
    "NegativeLogLikelihoodLoss": loss, "NonZero": lambda opset: [([C(np.array([[1, 0], [0, 2]], np.float32))], {})],
    "Not": one(np.array([True, False])), "OneHot": one_hot, "Or": logic, "PRelu": prelu, "Pad": pad, "Pow": power,
    "QLinearConv": qlinear_conv,
    "QLinearMatMul": lambda opset: [([X(q(2, 3)), C(np.float32(0.05)), C(np.uint8(120)), C(q(3, 2)), C(np.float32(0.03)),
                                      C(np.uint8(100)), C(np.float32(0.21)), C(np.uint8(128))], {})],
    "QuantizeLinear": quantize, "RMSNormalization": rms_normalization, "Range": range_,
    "RNN": recurrent(1, 1, [(["Relu"], None, None), (["LeakyRelu"], [0.2], None), (["ThresholdedRelu"], [0.3], None), (["Softplus"], None, None),
                            (["LeakyRelu"], None, None), (["HardSigmoid"], None, None), (["Elu"], None, None)]),
    "Reciprocal": unary(0.3, 2),
    "ReduceL1": reduction(), "ReduceL2": reduction(), "ReduceLogSum": reduction(0.1, 2), "ReduceLogSumExp": reduction(),
    "ReduceMax": reduction(), "ReduceMean": reduction(), "ReduceMin": reduction(), "ReduceProd": reduction(),
    "ReduceSum": reduction(axes_input=13), "ReduceSumSquare": reduction(), "Relu": unary(), "Reshape": reshape, "Resize": resize,
    "ReverseSequence": lambda opset: [([X(real(4, 3)), C(ints(1, 4, 2))], {}), ([X(real(3, 4)), C(ints(1, 4, 2))], {"batch_axis": 0, "time_axis": 1}),
                                      ([X(real(3, 4)), C(ints(0, 4, 2))], {"batch_axis": 0, "time_axis": 1})],
    "RotaryEmbedding": rotary_embedding,
    "Round": one(np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.3], np.float32)), "STFT": stft, "Scan": scan_forms, "Scatter": scatter, "ScatterElements": scatter,
    "ScatterND": scatter_nd, "Selu": unary(), "Shape": shape_of, "Shrink": unary(), "Sigmoid": unary(), "Sign": unary(),
    "Sin": unary(), "Sinh": unary(), "Size": unary(), "Slice": slices, "Softmax": softmax, "SoftmaxCrossEntropyLoss": loss,
    "Softplus": unary(), "Softsign": unary(), "SpaceToDepth": lambda opset: [([X(real(1, 2, 4, 6))], {"blocksize": b}) for b in (2, 3, 1)],
    "Split": split, "Sqrt": unary(0.1, 3), "Squeeze": squeeze, "Sub": binary(), "Sum": several, "Swish": unary(), "Tan": unary(-1, 1),
    "Tanh": unary(), "TensorScatter": tensor_scatter, "ThresholdedRelu": unary(-3, 3),
    "Tile": lambda opset: [([X(real(2, 3)), C(ints(2, 1))], {}), ([X(real(2, 3)), C(ints(0, 1))], {}), ([X(real(2, 3)), C(ints(2))], {})],
    "TopK": top_k,
    "Transpose": lambda opset: [([X(real(2, 3, 4))], {}), ([X(real(2, 3, 4))], {"perm": [1, 2, 0]}), ([X(real(2, 3, 4))], {"perm": [1, 1, 0]}),
                                ([X(real(2, 3, 4))], {"perm": [1, 0]}), ([X(real(2, 3, 4))], {"perm": [-1, 0, 1]})],
    "Trilu": trilu, "Unique": lambda opset: [([C(real(4))], {}), ([C(np.array([2, 1, 2], np.float32))], {"sorted": 0})], "Unsqueeze": unsqueeze, "Upsample": upsample, "Where": where, "Xor": logic,
}

VALUES = {
    "Gemm": {"alpha": [0.5], "beta": [2.0]},
}
