"""Operators of the newest operator sets, node by node, as ONNX's own helper writes them."""

import onnx

PACKAGES = ("onnx",)
FLOAT, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64


def networks(network, seed):
    import numpy as np

    random, helper = np.random.default_rng(seed), onnx.helper

    def random_floats(*shape):
        return (0.5 * random.normal(size=shape)).astype(np.float32)

    def made(nodes, shapes, outputs, constants=(), domains=()):
        graph = helper.make_graph(
            [helper.make_node(operator, inputs, results, **attributes) for operator, inputs, results, attributes in nodes],
            "operators", [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in shapes.items()],
            [helper.make_tensor_value_info(name, FLOAT, None) for name in outputs],
            [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in dict(constants).items()])
        sets = [helper.make_opsetid("", min(28, onnx.defs.onnx_opset_version())),
                *(helper.make_opsetid(name, 1) for name in domains)]
        return helper.make_model(graph, opset_imports=sets)

    def one(name, operator, shapes, outputs=("y",), constants=(), order=None, **attributes):
        inputs = order or [*shapes, *dict(constants)]
        return network(name, made([(operator, inputs, list(outputs), attributes)], shapes, outputs, constants))

    yield one("SwiGLU", "SwiGLU", {"a": (1, 8), "b": (1, 8)}, alpha=1.5)
    yield one("Celu", "Celu", {"x": (1, 8)}, alpha=0.7)
    yield one("Attention with a past", "Attention",
              {"q": (1, 2, 2, 4), "k": (1, 2, 2, 4), "v": (1, 2, 2, 4), "pk": (1, 2, 3, 4), "pv": (1, 2, 3, 4)},
              ("y", "present_k", "present_v"), order=["q", "k", "v", "", "pk", "pv"], is_causal=1)
    yield one("TensorScatter", "TensorScatter", {"cache": (2, 5, 3), "x": (2, 2, 3)},
              constants={"at": np.array([1, 4], np.int64)}, mode="circular", axis=1)
    yield one("CumProd", "CumProd", {"x": (2, 5)}, constants={"axis": np.array(1, np.int64)}, exclusive=1, reverse=1)
    yield one("Col2Im", "Col2Im", {"x": (1, 8, 9)},
              constants={"image": np.array([4, 4], np.int64), "block": np.array([2, 2], np.int64)})
    yield one("CenterCropPad", "CenterCropPad", {"x": (5, 4)}, constants={"shape": np.array([2, 7], np.int64)})
    yield one("DFT", "DFT", {"x": (1, 6, 2)}, constants={"length": np.array(8, np.int64)}, inverse=1)
    yield one("STFT", "STFT", {"x": (1, 16, 1)}, order=["x", "step", "window"],
              constants={"step": np.array(4, np.int64), "window": np.hanning(8).astype(np.float32)})
    yield one("LinearAttention", "LinearAttention", {"q": (1, 3, 8), "k": (1, 3, 8), "v": (1, 3, 8)},
              ("y", "state"), q_num_heads=2, kv_num_heads=2, update_rule="linear")
    yield one("CausalConvWithState", "CausalConvWithState", {"x": (1, 4, 6)}, ("y", "state"),
              constants={"w": random_floats(4, 1, 3), "b": random_floats(4)})
    yield network("Range, windows and a table", made(
        [("Range", ["zero", "six", "one"], ["range"], {}), ("HannWindow", ["size"], ["window"], {}),
         ("Mul", ["x", "window"], ["product"], {}), ("Cast", ["range"], ["numbers"], {"to": FLOAT}),
         ("Add", ["product", "numbers"], ["y"], {})], {"x": (1, 6)}, ["y"],
        {"zero": np.int64(0), "six": np.int64(6), "one": np.int64(1), "size": np.int64(6)}))
    parts = ["a", "b", "c"]
    yield network("sequences", made(
        [("SplitToSequence", ["x"], ["s"], {"axis": 1}), ("SequenceMap", ["s"], ["t"], {"body": square(helper)}),
         ("ConcatFromSequence", ["t"], ["y"], {"axis": 1})], {"x": (1, len(parts))}, ["y"]))
    yield network("operators of a preview", made(
        [("FlexAttention", ["q", "k", "v"], ["y"], {"domain": "ai.onnx.preview"})],
        {"q": (1, 2, 3, 4), "k": (1, 2, 3, 4), "v": (1, 2, 3, 4)}, ["y"], domains=["ai.onnx.preview"]),
        refused="ai.onnx.preview.FlexAttention is not supported")


def square(helper):
    return helper.make_graph([helper.make_node("Mul", ["in", "in"], ["out"])], "square",
                             [helper.make_tensor_value_info("in", FLOAT, None)],
                             [helper.make_tensor_value_info("out", FLOAT, None)])
