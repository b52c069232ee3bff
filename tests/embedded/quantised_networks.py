"""A quantised network and its float parent, and boxes for them: written here, as ONNX.

  quantised_image  convolutions, one depthwise, maximum pooling, a sum with a shortcut, sigmoid, mean,
                   a dense layer, all rounded to 8 bits; input 8x8
  image            its float parent: the same weights, nothing rounded
  quantised_dense  64-64-64-10, ReLU; the outputs are not rounded
  dense            its float parent
"""

import math
import pathlib

from networks import INT8, Maker, boxes, rounded


class RoundingMaker(Maker):
    """Layers of a network that is rounded to codes, or of its float parent."""

    def __init__(self, rounds):
        super().__init__()
        self.rounds = rounds

    def round(self, value, step, zero):
        if not self.rounds:
            return value
        at = len(self.nodes)
        parameters = (self.constant(f"step{at}", (), [rounded(step)]),
                      self.constant(f"zero{at}", (), [zero], INT8))
        return self.add("DequantizeLinear", self.add("QuantizeLinear", value, *parameters),
                        *parameters)

    def byte_weights(self, shape, fan_in):
        """8-bit weights with a scale for each output channel."""
        at = len(self.nodes)
        codes = [self.random.randint(-127, 127) for _ in range(math.prod(shape))]
        scales = [rounded(self.random.uniform(0.6, 1.4) / 74 / fan_in ** 0.5)
                  for _ in range(shape[0])]
        if not self.rounds:
            group = len(codes) // shape[0]
            return self.constant(f"w{at}", shape, [rounded(code * scales[i // group])
                                                   for i, code in enumerate(codes)])
        self.constant(f"q{at}", shape, codes, INT8)
        self.constant(f"scale{at}", (shape[0],), scales)
        self.constant(f"zeros{at}", (shape[0],), [0] * shape[0], INT8)
        return self.add("DequantizeLinear", f"q{at}", f"scale{at}", f"zeros{at}", axis=0)

    def bias(self, count):
        return self.weights(f"bias{len(self.nodes)}", (count,), 9)


def image_network(make, channels=4):
    value = make.round("x", 1 / 100, 0)
    value = make.add("Conv", value, make.byte_weights((channels, 1, 3, 3), 9), make.bias(channels),
                     kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    value = make.round(make.add("Relu", value), 1 / 90, -128)
    value = make.add("MaxPool", value, kernel_shape=[2, 2], strides=[2, 2])
    shortcut = value = make.round(value, 1 / 90, -128)
    value = make.add("Conv", value, make.byte_weights((channels, 1, 3, 3), 9), make.bias(channels),
                     kernel_shape=[3, 3], pads=[1, 1, 1, 1], group=channels)
    value = make.round(value, 1 / 60, 4)
    value = make.round(make.add("Add", shortcut, value), 1 / 50, -10)
    value = make.round(make.add("Sigmoid", value), 1 / 256, -128)
    value = make.round(make.add("GlobalAveragePool", value), 1 / 300, -128)
    value = make.add("Flatten", value, axis=1)
    value = make.add("Gemm", value, make.byte_weights((3, channels), channels), make.bias(3),
                     transB=1)
    make.round(value, 1 / 70, 3)
    return make.model("image", [1, 1, 8, 8], 3), 64


def dense_network(make, sizes=(64, 64, 64, 10)):
    value = make.round("x", 1 / 120, 0)
    for i, (inputs, outputs) in enumerate(zip(sizes, sizes[1:])):
        value = make.add("Gemm", value, make.byte_weights((outputs, inputs), inputs),
                         make.bias(outputs), transB=1)
        if i + 2 < len(sizes):
            value = make.round(make.add("Relu", value), 1 / 60, -128)
    return make.model("dense", [1, sizes[0]], sizes[-1]), sizes[0]


NETWORKS = {"quantised_image": lambda: image_network(RoundingMaker(rounds=True)),
            "image": lambda: image_network(RoundingMaker(rounds=False)),
            "quantised_dense": lambda: dense_network(RoundingMaker(rounds=True)),
            "dense": lambda: dense_network(RoundingMaker(rounds=False))}


def write(name, folder):
    """Writes NAME.onnx; returns its path and boxes for it."""
    data, size = NETWORKS[name]()
    path = pathlib.Path(folder) / f"{name}.onnx"
    path.write_bytes(data)
    return path, boxes(size)
