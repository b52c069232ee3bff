"""The tiny readable networks: (name, model fields, comment lines of the .textproto)."""

import numpy as np

from onnx_format import node, tensor, value_info

INT = np.int64


def _model(name, nodes, constants, input_shape, output_shape, *, opset, ir):
    graph = {
        "node": nodes,
        "name": name,
        "initializer": [tensor(key, value, raw=False) for key, value in constants.items()],
        "input": [value_info("x", input_shape)],
        "output": [value_info("y", output_shape)],
    }
    return {
        "ir_version": ir,
        "producer_name": "bf-aot models",
        "graph": graph,
        "opset_import": [{"version": opset}],
    }


def tiny():
    constants = {
        "fc1.weight": [[1.0, -2.0], [0.5, 3.0]],
        "fc1.bias": [0.0, 1.0],
        "fc2.weight": [[1.0, -1.0], [-0.5, 0.25]],
        "fc2.bias": [0.5, -1.0],
    }
    nodes = [
        node("Gemm", ["x", "fc1.weight", "fc1.bias"], "h", "fc1", transB=1),
        node("Relu", ["h"], "a", "relu1"),
        node("Gemm", ["a", "fc2.weight", "fc2.bias"], "y", "fc2", transB=1),
    ]
    comment = ["Two inputs, two hidden ReLU neurons, two outputs: small enough to do by hand."]
    return "tiny", _model("tiny", nodes, constants, [1, 2], [1, 2], opset=13, ir=7), comment


def tiny_transpose():
    constants = {
        "to_rows": np.array([-1, 4], INT),
        "to_grid": np.array([-1, 2, 2], INT),
        "dense/kernel": [
            [1.0, 0.5, -1.0, 0.25],
            [-0.75, 1.0, 0.5, 2.0],
            [0.5, -1.5, 1.0, -0.5],
            [2.0, 0.25, -0.25, 1.0],
        ],
        "dense/bias": [0.125, -0.25, 0.5, -1.0],
        "dense_1/kernel": [[1.0, -1.0], [0.5, 2.0], [-2.0, 0.75], [0.25, 1.5]],
        "dense_1/bias": [0.0, 1.0],
    }
    nodes = [
        node("Transpose", ["x"], "nchw", perm=[0, 3, 1, 2]),
        node("Reshape", ["nchw", "to_rows"], "rows"),
        node("MatMul", ["rows", "dense/kernel"], "dense/MatMul"),
        node("Add", ["dense/MatMul", "dense/bias"], "dense/BiasAdd"),
        node("Relu", ["dense/BiasAdd"], "dense/Relu"),
        node("Reshape", ["dense/Relu", "to_grid"], "grid"),
        node("Transpose", ["grid"], "turned", perm=[0, 2, 1]),
        node("Reshape", ["turned", "to_rows"], "flat"),
        node("MatMul", ["flat", "dense_1/kernel"], "dense_1/MatMul"),
        node("Add", ["dense_1/MatMul", "dense_1/bias"], "y"),
    ]
    comment = [
        "What tf2onnx makes of a channels-last model: the 2x1 image with two channels is turned to",
        "NCHW before it is flattened, so the weights see the inputs in the order 0, 2, 1, 3; the",
        "hidden layer is turned once more between ReLU and MatMul. Names hold slashes.",
    ]
    model = _model("tiny_transpose", nodes, constants, [1, 2, 1, 2], [1, 2], opset=13, ir=7)
    return "tiny_transpose", model, comment


def tiny_scale():
    constants = {
        "mean": [0.1307, 0.5, -0.25],
        "deviation": [0.3081, 2.0, 0.7],
        "fc1.weight": [[1.5, -0.3, 0.8], [-0.6, 1.1, 0.2], [0.4, 0.9, -1.7]],
        "fc1.bias": [0.1, -0.2, 0.3],
        "fc2.weight": [[0.7, -1.2, 0.5], [-0.9, 0.4, 1.3]],
        "fc2.bias": [0.05, -0.15],
        "unit": [10.0, -3.0],
    }
    nodes = [
        node("Sub", ["x", "mean"], "centred"),
        node("Div", ["centred", "deviation"], "normal"),
        node("Gemm", ["normal", "fc1.weight", "fc1.bias"], "h", "fc1", transB=1),
        node("Relu", ["h"], "a", "relu1"),
        node("Gemm", ["a", "fc2.weight", "fc2.bias"], "z", "fc2", transB=1),
        node("Mul", ["z", "unit"], "y"),
    ]
    comment = [
        "Normalisation inside: (x - mean) / deviation before the first layer, a change of units",
        "(one of them negative) behind the last. Hardly any constant is exact in binary, so folding",
        "them into the weights rounds.",
    ]
    model = _model("tiny_scale", nodes, constants, [1, 3], [1, 2], opset=9, ir=4)
    return "tiny_scale", model, comment


def tiny_linear():
    constants = {
        "first": [[1.0, -1.0, 0.5], [2.0, 0.25, -3.0]],
        "first.bias": [0.5, 0.0, -1.0],
        "second": [[1.0, -0.5], [1.0, 2.0], [-1.0, 1.0]],
        "second.bias": [0.0, 0.125],
    }
    nodes = [
        node("Gemm", ["x", "first", "first.bias"], "h", "first"),
        node("Gemm", ["h", "second", "second.bias"], "y", "second"),
    ]
    comment = [
        "No activation: backward bounds are exact here, interval bounds layer by layer are not.",
        "The weights are stored inputs x outputs (transB = 0).",
    ]
    model = _model("tiny_linear", nodes, constants, [1, 2], [1, 2], opset=11, ir=6)
    return "tiny_linear", model, comment


ALL = (tiny, tiny_transpose, tiny_scale, tiny_linear)
