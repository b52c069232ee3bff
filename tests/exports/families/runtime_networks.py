"""What ONNX Runtime's optimisers make of networks, with operators of com.microsoft."""

import pathlib
import tempfile

import onnx

PACKAGES = ("torch", "onnxscript", "onnxruntime")


def networks(network, seed):
    import onnxruntime
    import torch
    from onnxruntime.transformers import optimizer
    from torch import nn

    torch.manual_seed(seed)
    level = onnxruntime.GraphOptimizationLevel

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def exported(module, *shapes):
            path = folder / "exported.onnx"
            made = torch.onnx.export(module.eval(), tuple(torch.randn(shape) for shape in shapes), dynamo=True,
                                     verbose=False, opset_version=18)
            onnx.save(made.model_proto, path)
            return path

        def optimised(path, how):
            options = onnxruntime.SessionOptions()
            options.graph_optimization_level, options.log_severity_level = how, 4
            options.optimized_model_filepath = str(folder / "optimised.onnx")
            onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
            return onnx.load(folder / "optimised.onnx")

        encoder = exported(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, activation="gelu"), (1, 5, 16))
        yield network("encoder", optimised(encoder, level.ORT_ENABLE_EXTENDED))
        for kind in ("bert", "gpt2", "vit"):
            made = optimizer.optimize_model(str(encoder), model_type=kind, num_heads=4, hidden_size=16, opt_level=1)
            yield network(f"encoder as {kind}", made.model)
        images = exported(nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                                        nn.Flatten(), nn.Linear(128, 5)), (1, 3, 8, 8))
        yield network("images", optimised(images, level.ORT_ENABLE_EXTENDED))
    # A decoder's step, whose keys and values so far are inputs.
    yield network("MultiHeadAttention, past", node_model(
        "MultiHeadAttention", ["x", "k", "v", "", "", "", "past_k", "past_v"], ["y", "present_k", "present_v"],
        {"x": (1, 2, 8), "k": (1, 2, 8), "v": (1, 2, 8), "past_k": (1, 2, 3, 4), "past_v": (1, 2, 3, 4)}, seed,
        num_heads=2, unidirectional=1))
    yield network("Attention, past", node_model(
        "Attention", ["x", "w", "b", "", "past"], ["y", "present"],
        {"x": (1, 2, 8), "past": (2, 1, 2, 3, 4)}, seed, {"w": (8, 24), "b": (24,)}, num_heads=2, unidirectional=1))
    yield network("GroupQueryAttention, past", node_model(
        "GroupQueryAttention", ["x", "k", "v", "past_k", "past_v", "lengths", "total", "cos", "sin"],
        ["y", "present_k", "present_v"],
        {"x": (1, 1, 64), "k": (1, 1, 32), "v": (1, 1, 32), "past_k": (1, 2, 3, 16), "past_v": (1, 2, 3, 16)}, seed,
        {"cos": (6, 8), "sin": (6, 8), "lengths": 3, "total": 4}, num_heads=4, kv_num_heads=2, do_rotary=1))


def node_model(operator, inputs, outputs, shapes, seed, constants=None, **attributes):
    """One node of com.microsoft. constants: random ones of a shape, or an integer."""
    import numpy as np

    helper, random = onnx.helper, np.random.default_rng(seed)
    values = {}
    for name, shape in (constants or {}).items():
        if isinstance(shape, tuple):
            values[name] = (0.5 * random.normal(size=shape)).astype(np.float32)
        else:
            values[name] = np.array([shape] if name == "lengths" else shape, np.int32)
    floats = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node(operator, inputs, outputs, domain="com.microsoft", **attributes)], operator,
        [helper.make_tensor_value_info(name, floats, shape) for name, shape in shapes.items()],
        [helper.make_tensor_value_info(name, floats, None) for name in outputs],
        [onnx.numpy_helper.from_array(value, name) for name, value in values.items()])
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21),
                                                                 helper.make_opsetid("com.microsoft", 1)])
