"""Networks of a float32 verification set, in the manner of NeuroCodeBench (arXiv 2309.03617): lists
of layers, an ONNX file of each, and their evaluation in float32. Needs numpy alone.

Weights are made by closed formulas and rounded to multiples of 2^-12, so that processors and
libraries make the same files.
"""

import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "models"))
import onnx_format  # noqa: E402
from onnx_format import node, tensor, value_info  # noqa: E402

GRID = 2.0**12


def rounded(weight):
    return (np.round(np.asarray(weight, np.float64) * GRID) / GRID).astype(np.float32)


FUNCTIONS = {
    "Relu": lambda x: np.maximum(x, np.float32(0)),
    "Tanh": np.tanh,
    "Softsign": lambda x: x / (np.float32(1) + np.abs(x)),
    "Sigmoid": lambda x: np.float32(1) / (np.float32(1) + np.exp(-x)),
    "Elu": lambda x: np.where(x < 0, np.exp(np.minimum(x, 0)) - np.float32(1), x),
    "Softplus": lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))),
    "LeakyRelu": lambda x: np.where(x < 0, np.float32(0.01) * x, x),
    "Abs": np.abs,
}


class Network:
    """Layers: ("linear", weight [in, out], bias), ("conv", weight, bias, image), ("pool", kind,
    image), or the name of a function. A Conv keeps the size of its image (channels, height, width);
    a pool halves it."""

    def __init__(self, inputs, layers):
        self.inputs, self.layers = inputs, layers

    def evaluate(self, x, order=None):
        """A batch [points, inputs], in float32; `order`: a random generator for the order of sums."""
        x = np.asarray(x, np.float32)
        for layer in self.layers:
            if isinstance(layer, str):
                x = FUNCTIONS[layer](x).astype(np.float32)
            elif layer[0] == "linear":
                x = _product(x, layer[1], order) + layer[2]
            elif layer[0] == "conv":
                x = _conv(x, *layer[1:], order)
            else:
                x = _pool(x, layer[1], layer[2])
        return x

    def onnx(self, name):
        nodes, constants, value = [], [], "x"
        image = next((layer[-1] for layer in self.layers if layer[0] in ("conv", "pool")), None)
        flat = image is None
        for k, layer in enumerate(self.layers):
            made = f"v{k}"
            if isinstance(layer, str):
                nodes.append(node(layer, [value], made))
            elif layer[0] == "linear":
                if not flat:
                    nodes.append(node("Flatten", [value], f"f{k}", axis=1))
                    value, flat = f"f{k}", True
                constants += [tensor(f"w{k}", layer[1]), tensor(f"b{k}", layer[2])]
                nodes += [node("MatMul", [value, f"w{k}"], f"m{k}"),
                          node("Add", [f"m{k}", f"b{k}"], made)]
            elif layer[0] == "conv":
                constants += [tensor(f"w{k}", layer[1]), tensor(f"b{k}", layer[2])]
                nodes.append(node("Conv", [value, f"w{k}", f"b{k}"], made, kernel_shape=[3, 3],
                                  pads=[1, 1, 1, 1]))
            else:
                nodes.append(node(layer[1], [value], made, kernel_shape=[2, 2], strides=[2, 2]))
            value = made
        outputs = self.evaluate(np.zeros((1, self.inputs))).size
        graph = {"node": nodes, "name": name, "initializer": constants,
                 "input": [value_info("x", [1, *(image or (self.inputs,))])],
                 "output": [value_info(value, [1, outputs])]}
        return onnx_format.encode("Model", {"ir_version": 6, "producer_name": "bf-aot bench",
                                            "graph": graph, "opset_import": [{"version": 11}]})


def _product(x, weight, order):
    if order is None:
        return x @ weight
    terms = order.permutation(len(weight))
    total = np.zeros((len(x), weight.shape[1]), np.float32)
    for part in np.array_split(terms, order.integers(1, len(terms) + 1)):
        piece = np.zeros_like(total)
        for i in part:
            piece = piece + x[:, i:i + 1] * weight[i]
        total = total + piece
    return total


def _conv(x, weight, bias, image, order):
    channels, height, width = image
    padded = np.pad(x.reshape(-1, *image), ((0, 0), (0, 0), (1, 1), (1, 1)))
    patches = np.stack([padded[:, c, i:i + height, j:j + width] for c in range(channels)
                        for i in range(3) for j in range(3)], axis=-1)
    rows = patches.reshape(-1, channels * 9)
    y = _product(rows, weight.reshape(len(weight), -1).T, order) + bias
    return y.reshape(len(x), height * width, -1).transpose(0, 2, 1).reshape(len(x), -1)


def _pool(x, kind, image):
    channels, height, width = image
    parts = x.reshape(-1, channels, height // 2, 2, width // 2, 2)
    if kind == "MaxPool":
        return parts.max(axis=(3, 5)).reshape(len(x), -1)
    total = parts[:, :, :, 0, :, 0]
    for i, j in ((0, 1), (1, 0), (1, 1)):
        total = total + parts[:, :, :, i, :, j]
    return (total / np.float32(4)).reshape(len(x), -1)


def random_layer(rng, inputs, outputs):
    weight = rng.uniform(-1, 1, (inputs, outputs)) * np.sqrt(3 / inputs)
    return "linear", rounded(weight), rounded(rng.uniform(-0.5, 0.5, outputs))


def fitted(rng, sizes, low, high, target, function="Relu"):
    """Random layers, and a last one by least squares: network(x) is about target(x) on the box."""
    layers = []
    for i in range(len(sizes) - 2):
        layers += [random_layer(rng, sizes[i], sizes[i + 1]), function]
    x = rng.uniform(low, high, (4000, sizes[0]))
    hidden = Network(sizes[0], layers).evaluate(x).astype(np.float64)
    wide = np.hstack([hidden, np.ones((len(x), 1))])
    normal = wide.T @ wide + 0.3 * np.eye(wide.shape[1])
    solved = np.linalg.solve(normal, wide.T @ target(x))
    layers.append(("linear", rounded(solved[:-1]), rounded(solved[-1])))
    return Network(sizes[0], layers)
