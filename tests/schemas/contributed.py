"""Inputs and attributes of operators of other domains, for walk.py, which compares with ONNX Runtime alone.

FORMS: "domain.operator" -> function that gives forms: (inputs, attributes) or (inputs, attributes, names of outputs), of
which an empty one is left out. The package onnx has no schemas of com.microsoft.
"""

import numpy as np
from onnx import numpy_helper

from recipes import C, X, q, real


def s(value):
    return C(np.float32(value))


def u(value):
    return C(np.uint8(value))


def codes(*shape):
    return q(*shape).astype(np.int16).astype(np.int8)


def fused_conv():
    x, w, b, z = X(real(1, 2, 4, 5)), C(real(3, 2, 2, 3)), C(real(3)), X(real(1, 3, 3, 3))
    made = [([x, w, b], {"activation": name}) for name in ("Relu", "Tanh", "Sigmoid")]
    return made + [([x, w, b, z], {"activation": "Clip", "activation_params": [-1.0, 2.0]}),
                   ([x, w, None, z], {"activation": "LeakyRelu", "activation_params": [0.2]}),
                   ([x, w], {"activation": "HardSigmoid", "activation_params": [0.2, 0.3]}),
                   ([x, w, b], {"activation": "Relu", "pads": [1, 0, 1, 2], "strides": [2, 1]})]


def fused_gemm():
    given = [X(real(2, 3)), C(real(3, 4)), C(real(4))]
    activations = [("Relu", {}), ("Elu", {"alpha": 0.5}), ("HardSigmoid", {"alpha": 0.3, "beta": 0.4}), ("LeakyRelu", {"alpha": 0.4}),
                   ("Selu", {"alpha": 1.3, "gamma": 1.1}), ("Sigmoid", {}), ("Softplus", {}), ("Softsign", {}), ("Tanh", {}),
                   ("ThresholdedRelu", {"alpha": 0.4})]
    made = [(given, {"activation": name, "alpha": 0.5, "beta": 0.25, **{f"activation_{k}": v for k, v in more.items()}})
            for name, more in activations]
    return made + [([X(real(3, 2)), C(real(4, 3))], {"activation": "Relu", "transA": 1, "transB": 1})]


def fused_matmul():
    made = []
    for trans_a in (0, 1):
        for trans_b in (0, 1):
            for batch in (0, 1):
                a, b = ([2, 4, 3] if trans_a else [2, 3, 4]), ([2, 5, 4] if trans_b else [2, 4, 5])
                if batch:
                    a, b = [a[1], a[0], a[2]], [b[1], b[0], b[2]]
                made.append(([X(real(*a)), X(real(*b))],
                             {"alpha": 0.5, "transA": trans_a, "transB": trans_b, "transBatchA": batch, "transBatchB": batch}))
    return made + [([X(real(4)), C(real(4, 5))], {"transA": 1}), ([X(real(3, 4)), C(real(5, 4))], {"transB": 1})]


def skip_layer_normalization():
    x, b = X(real(2, 3, 4)), C(real(4))
    return [([x, X(real(2, 3, 4)), b, b, b], {}, ["y", "", "", "sum"]), ([x, X(real(2, 3, 4)), b], {"epsilon": 0.1}),
            ([x, X(real(3, 4)), b, b], {}), ([x, X(real(1, 3, 4)), b, b], {}, ["y", "", "", "sum"])]


def skip_simplified():
    x, b = X(real(2, 3, 4)), C(real(4))
    return [([x, X(real(2, 3, 4)), b, C(real(4))], {}, ["y", "", "", "sum"]), ([x, X(real(2, 3, 4)), b], {"epsilon": 0.1})]


def attention():
    batch, length, width = 2, 3, 8
    x, w, b, heads = X(real(batch, length, width)), C(0.5 * real(width, 3 * width)), C(real(3 * width)), {"num_heads": 2}
    seen = np.array([[1, 1, 0], [1, 0, 0]], np.int32)
    each = np.array([[[1, 0, 1], [1, 1, 0], [0, 1, 1]], [[1, 1, 1], [0, 0, 1], [1, 0, 0]]], np.int32)
    soft = {**heads, "mask_filter_value": -3.0}
    return [([x, w, b], heads), ([x, w, b], {**heads, "unidirectional": 1}), ([x, w], {**heads, "scale": 0.7}),
            ([x, w, b, C(seen)], heads), ([x, w, b, C(each)], soft), ([x, w, b, X(seen)], soft),
            ([x, w, b, C(np.array([2, 3], np.int32))], heads), ([x, w, b, C(np.array([2, 3, 0, 1], np.int32))], soft),
            ([x, w, b, None, None, X(real(batch, 2, length, length))], heads),
            ([x, w, b, C(seen), None, C(real(1, 1, length, length))], {**soft, "unidirectional": 1}),
            ([x, C(real(width, 14)), C(real(14))], {**heads, "qkv_hidden_sizes": [4, 4, 6]})]


def multi_head_attention():
    batch, length, keys, width, heads = 2, 3, 4, 8, {"num_heads": 2}
    given = [X(real(batch, length, width)), X(real(batch, keys, width)), X(real(batch, keys, 6))]
    seen = np.array([[1, 1, 0, 1], [1, 0, 0, 0]], np.int32)
    alone = X(real(batch, length, width))
    return [(given, heads), (given + [C(real(2 * width + 6))], {**heads, "scale": 0.3}), (given + [None, C(seen)], heads),
            (given + [None, C(np.array([2, 3], np.int32))], heads), (given + [None, None, X(real(1, 2, length, keys))], heads),
            ([alone, alone, alone], {**heads, "unidirectional": 1}),
            ([given[0], X(real(batch, 2, keys, 4)), X(real(batch, 2, keys, 4))], heads)]


def group_query_attention():
    batch, length, heads, shared, width = 2, 5, 4, 2, 16
    named = {"num_heads": heads, "kv_num_heads": shared}
    q, k, v = X(real(batch, length, heads * width)), X(real(batch, length, shared * width)), X(real(batch, length, shared * width))
    ends = [C(np.full(batch, length - 1, np.int32)), C(np.int32(length))]
    packed, tables = X(real(batch, length, (heads + 2 * shared) * width)), [C(real(7, 8)), C(real(7, 8))]
    given, outputs = [q, k, v, None, None, *ends], ["y", "keys", "values"]
    return [(given, named, outputs), (given, {**named, "scale": 0.3}, ["y"]), (given, {**named, "softcap": 1.5}, ["y"]),
            (given + [None, None, None, X(real(1, heads, length, length))], {**named, "softcap": 2.0}, ["y"]),
            (given, {**named, "local_window_size": 8}, ["y"]), ([packed, None, None, None, None, *ends], named, outputs),
            *((given + tables, {**named, "do_rotary": 1, "rotary_interleaved": each}, outputs) for each in (0, 1)),
            ([packed, None, None, None, None, *ends, *tables], {**named, "do_rotary": 1}, outputs)]


def rotary_embedding():
    flat, split, tables = X(real(2, 3, 16)), X(real(2, 2, 3, 8)), [C(real(6, 4)), C(real(6, 4))]
    part, any_order = [C(real(6, 2)), C(real(6, 2))], C(np.array([[0, 5, 1], [3, 3, 2]], np.int64))
    made = []
    for interleaved in (0, 1):
        named = {"interleaved": interleaved}
        made += [([flat, C(np.array([2], np.int64)), *tables], named), ([flat, any_order, *tables], {**named, "num_heads": 2}),
                 ([split, any_order, *tables], named),
                 ([flat, any_order, *part], {**named, "num_heads": 2, "rotary_embedding_dim": 4})]
    return made


def quantised_attention():
    x, w, b, heads = X(q(2, 3, 4)), C(codes(4, 24)), C(real(24)), {"num_heads": 2}
    seen, zeros = C(np.array([[1, 1, 0], [1, 0, 0]], np.int32)), [u(120), C(np.int8(3))]
    each = C((np.arange(24) * 0.001 + 0.01).astype(np.float32))
    return [([x, w, b, s(0.01), s(0.02), None, *zeros], heads), ([x, w, b, s(0.01), s(0.02)], {**heads, "unidirectional": 1}),
            ([x, w, b, s(0.01), each, None, u(120), C(np.zeros(24, np.int8))], {**heads, "scale": 0.2}),
            ([x, w, b, s(0.01), s(0.02), seen, *zeros], {**heads, "mask_filter_value": -3.0})]


def embed_layer_normalization():
    ids, kinds = C(np.array([[0, 4, 2], [3, 3, 1]], np.int32)), C(np.array([[0, 0, 1], [1, 0, 1]], np.int32))
    words, places, segments, g, b = C(real(5, 4)), C(real(6, 4)), C(real(2, 4)), X(real(4)), X(real(4))
    seen, at = C(np.array([[1, 1, 0], [1, 1, 1]], np.int32)), C(np.array([[2, 0, 1], [4, 4, 0]], np.int32))
    return [([ids, kinds, words, places, segments, g, b, seen], {"epsilon": 0.1}, ["y", "count", "sum"]),
            ([ids, None, words, places, None, g, b], {}, ["y", "count"]),
            ([ids, None, words, places, None, g, b, None, at], {}, ["y", "count"])]


def matmul_integer_to_float():
    return [([X(q(2, 3, 4)), C(codes(4, 5)), s(0.02), s(0.03)], {}),
            ([X(q(3, 4)), C(q(4, 5)), s(0.02), C(np.abs(real(5)) + 0.01), u(120), C(q(5)), C(real(5))], {}),
            ([X(codes(3, 4)), C(codes(4, 5)), X(real(1)), s(0.03), C(np.int8(3)), C(np.int8(7)), C(real(5))], {})]


def matmul_n_bits():
    made = []
    for bits in (2, 4, 8):
        for sums in (32, 40):
            blocks = -(-sums // 16)
            base = [X(real(2, sums)), C(q(3, blocks, 2 * bits)), C(0.1 * real(3 * blocks))]
            named = {"K": sums, "N": 3, "bits": bits, "block_size": 16}
            made += [(base, named), (base + [C(q(3 * -(-blocks * bits // 8)))], named)]
            if bits == 4:
                made.append((base + [C(real(3, blocks)), None, C(real(3))], named))
    return made


def qlinear_conv():
    x, w, scales = q(1, 2, 5, 4), codes(3, 2, 3, 3), [s(0.02), u(120)]
    last = np.ascontiguousarray(np.moveaxis(x, 1, -1))
    base = [C(w), s(0.01), C(np.int8(0)), s(0.03), u(100)]
    wide = X(q(1, 5, 5, 4))
    return [([X(last), *scales, *base, C(np.array([300, -200, 50], np.int32))],
             {"channels_last": 1, "pads": [1, 1, 1, 1], "strides": [2, 1]}), ([X(x), *scales, *base], {}),
            ([wide, *scales, C(codes(4, 1, 3, 3)), C(np.array([0.01, 0.02, 0.03, 0.04], np.float32)), C(np.zeros(4, np.int8)), s(0.05),
              u(100)], {"channels_last": 1, "group": 4})]


def pooled(**attributes):
    def forms():
        grids = [s(0.02), u(3), s(0.025), u(5)]
        return [([X(q(1, 3, 5, 4)), *grids], attributes), ([X(q(1, 5, 4, 3)), *grids], {**attributes, "channels_last": 1})]
    return forms


def svm_regressor():
    x = X(real(2, 3))
    named = {"coefficients": real(4).tolist(), "support_vectors": real(12).tolist(), "n_supports": 4, "rho": [0.25],
             "kernel_params": [0.5, 0.25, 3.0]}
    made = [([x], {**named, "kernel_type": kind}) for kind in ("LINEAR", "POLY", "RBF", "SIGMOID")]
    return made + [([x], {"coefficients": real(3).tolist(), "kernel_type": "LINEAR", "kernel_params": [0.0, 0.0, 3.0], "rho": [-0.5]}),
                   ([x], {**named, "kernel_type": "RBF", "one_class": 1})]


def svm_classifier():
    """Two and three classes. Outputs: the label and what pairs of classes are told apart by."""
    x, outputs = X(real(3, 3)), ["label", "scores"]
    made = []
    for counts in ([2, 2], [1, 2, 1]):
        classes = len(counts)
        named = {"coefficients": real(4 * (classes - 1)).tolist(), "support_vectors": real(12).tolist(), "vectors_per_class": counts,
                 "rho": real(classes * (classes - 1) // 2).tolist(), "kernel_params": [0.5, 0.25, 3.0],
                 "classlabels_ints": [7, -3, 12][:classes]}
        made += [([x], {**named, "kernel_type": kind}, outputs) for kind in ("LINEAR", "POLY", "RBF", "SIGMOID")]
        made.append(([x], {**named, "kernel_type": "RBF", "post_transform": "LOGISTIC"}, outputs))
    return made + [([x], {**named, "kernel_type": "LINEAR", "post_transform": "SOFTMAX"}, outputs)]


def tree_ensemble():
    """Two trees of three nodes and of one; modes are numbers."""
    made = []
    for mode in range(6):
        named = {"nodes_modes": numpy_helper.from_array(np.array([mode, 0, 3, mode], np.uint8)),
                 "nodes_splits": numpy_helper.from_array(np.array([0.5, -0.25, 1.0, 0.0], np.float32)),
                 "leaf_weights": numpy_helper.from_array(np.array([1.5, -2.0, 3.25, 0.5, -0.75, 4.0], np.float32)),
                 "nodes_featureids": [0, 1, 2, 1], "nodes_truenodeids": [1, 0, 2, 4], "nodes_falsenodeids": [2, 1, 3, 5],
                 "nodes_trueleafs": [0, 1, 1, 1], "nodes_falseleafs": [0, 1, 1, 1], "leaf_targetids": [0, 1, 0, 1, 0, 1],
                 "tree_roots": [0, 3], "n_targets": 2, "aggregate_function": 1, "post_transform": 0}
        made += [([X(np.array([row], np.float32))], named) for row in ((0.5, 0, 1), (0.25, -1, 2), (2, 0.5, -1))]
    made.append(([X(np.array([[2, 0.5, -1]], np.float32))], {**named, "aggregate_function": 0}))
    return made


FORMS = {
    "ai.onnx.ml.SVMClassifier": svm_classifier,
    "ai.onnx.ml.SVMRegressor": svm_regressor,
    "ai.onnx.ml.TreeEnsemble": tree_ensemble,
    "com.microsoft.Attention": attention,
    "com.microsoft.BiasGelu": lambda: [([X(real(2, 3)), C(real(3))], {})],
    "com.microsoft.EmbedLayerNormalization": embed_layer_normalization,
    "com.microsoft.FastGelu": lambda: [([X(real(2, 3)), C(real(3))], {}), ([X(real(2, 3))], {})],
    "com.microsoft.FusedConv": fused_conv,
    "com.microsoft.FusedGemm": fused_gemm,
    "com.microsoft.FusedMatMul": fused_matmul,
    "com.microsoft.Gelu": lambda: [([X(real(2, 3))], {})],
    "com.microsoft.GroupQueryAttention": group_query_attention,
    "com.microsoft.MatMulIntegerToFloat": matmul_integer_to_float,
    "com.microsoft.MatMulNBits": matmul_n_bits,
    "com.microsoft.MultiHeadAttention": multi_head_attention,
    "com.microsoft.NhwcMaxPool": lambda: [([X(q(1, 5, 4, 3))], {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]})],
    "com.microsoft.QAttention": quantised_attention,
    "com.microsoft.QLinearAveragePool": pooled(kernel_shape=[3, 2], strides=[2, 1]),
    "com.microsoft.QLinearConv": qlinear_conv,
    "com.microsoft.QLinearGlobalAveragePool": pooled(),
    "com.microsoft.QuickGelu": lambda: [([X(real(2, 3))], {}), ([X(real(2, 3))], {"alpha": 0.7})],
    "com.microsoft.RotaryEmbedding": rotary_embedding,
    "com.microsoft.SkipLayerNormalization": skip_layer_normalization,
    "com.microsoft.SkipSimplifiedLayerNormalization": skip_simplified,
    "ai.onnx.SimplifiedLayerNormalization": lambda: [([X(real(2, 3, 4)), C(real(4))], {}),
                                                     ([X(real(2, 3, 4)), C(real(3, 4))], {"axis": 1, "epsilon": 0.1}, ["y", "inverse"])],
}
