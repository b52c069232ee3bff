"""Small networks of each kind that a device meets, and boxes for them: written here, as ONNX.

  dense      8-16-16-4, ReLU
  conv       two convolutions of 3x3, average pooling, a dense layer; input 8x8
  sigmoid    6-12-12-3, Sigmoid
  quantised  8-16-4, ReLU; 8-bit weights, activations quantised to 8 bits before each layer
"""

import math
import pathlib
import random
import struct
import sys

import machine

sys.path.insert(0, str(machine.ROOT / "models"))
import onnx_format  # noqa: E402
from onnx_format import node, value_info  # noqa: E402

FLOAT, INT8 = 1, 3  # of ONNX's element types
NETWORKS = ("dense", "conv", "sigmoid", "gated", "quantised")


def rounded(value):
    """To float32."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


class Maker:
    def __init__(self):
        self.random = random.Random(7)
        self.nodes, self.constants = [], []

    def constant(self, name, shape, values, kind=FLOAT):
        code = "f" if kind == FLOAT else "b"
        self.constants.append({"dims": list(shape), "data_type": kind, "name": name,
                               "raw_data": struct.pack(f"<{len(values)}{code}", *values)})
        return name

    def weights(self, name, shape, fan_in):
        count = math.prod(shape)
        return self.constant(name, shape,
                             [self.random.gauss(0, fan_in ** -0.5) for _ in range(count)])

    def add(self, kind, *inputs, **attributes):
        output = f"v{len(self.nodes)}"
        self.nodes.append(node(kind, list(inputs), output, **attributes))
        return output

    def gemm(self, value, inputs, outputs):
        at = len(self.nodes)
        return self.add("Gemm", value, self.weights(f"w{at}", (outputs, inputs), inputs),
                        self.weights(f"b{at}", (outputs,), 4), transB=1)

    def model(self, name, input_shape, outputs):
        """What has been added; the last node makes the output."""
        self.nodes[-1]["output"] = ["y"]
        return onnx_format.encode("Model", {
            "ir_version": 7, "producer_name": "bf-aot tests",
            "graph": {"node": self.nodes, "name": name, "initializer": self.constants,
                      "input": [value_info("x", input_shape)],
                      "output": [value_info("y", [1, outputs])]},
            "opset_import": [{"version": 13}]})


def dense(make, activation="Relu", sizes=(8, 16, 16, 4)):
    value = "x"
    for i, (inputs, outputs) in enumerate(zip(sizes, sizes[1:])):
        value = make.gemm(value, inputs, outputs)
        if i + 2 < len(sizes):
            value = make.add(activation, value)
    return make.model("dense", [1, sizes[0]], sizes[-1]), sizes[0]


def sigmoid(make):
    return dense(make, "Sigmoid", (6, 12, 12, 3))


def gated(make):
    """Products of two functions."""
    value = make.add("Tanh", make.gemm("x", 4, 6))
    gate = make.add("Sigmoid", make.gemm("x", 4, 6))
    make.gemm(make.add("Mul", value, gate), 6, 5)
    return make.model("gated", [1, 4], 5), 4


def conv(make):
    value = make.add("Conv", "x", make.weights("c1", (4, 1, 3, 3), 9), make.weights("d1", (4,), 4),
                     kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    value = make.add("Relu", value)
    value = make.add("Conv", value, make.weights("c2", (4, 4, 3, 3), 36),
                     make.weights("d2", (4,), 4), kernel_shape=[3, 3], strides=[2, 2])
    value = make.add("Relu", value)
    value = make.add("AveragePool", value, kernel_shape=[3, 3])
    value = make.add("Flatten", value, axis=1)
    make.gemm(value, 4, 3)
    return make.model("conv", [1, 1, 8, 8], 3), 64


def quantised(make):
    make.constant("scale", (), [0.0625])
    make.constant("step", (), [0.03125])
    make.constant("zero", (), [0], INT8)
    value, sizes = "x", (8, 16, 4)
    for i, (inputs, outputs) in enumerate(zip(sizes, sizes[1:])):
        value = make.add("QuantizeLinear", value, "step", "zero")
        value = make.add("DequantizeLinear", value, "step", "zero")
        weights = [make.random.randint(-12, 12) for _ in range(inputs * outputs)]
        make.constant(f"q{i}", (outputs, inputs), weights, INT8)
        weight = make.add("DequantizeLinear", f"q{i}", "scale", "zero")
        value = make.add("Gemm", value, weight, make.weights(f"bias{i}", (outputs,), 4), transB=1)
        if i == 0:
            value = make.add("Relu", value)
    return make.model("quantised", [1, sizes[0]], sizes[-1]), sizes[0]


# Of networks that are not in models/; each holds on its own box.
PROPERTIES = {"gated": "".join(f"(declare-const X_{i} Real)(assert (<= -1 X_{i} 1))" for i in range(4))
                       + "".join(f"(declare-const Y_{i} Real)" for i in range(5)) + "(assert (>= Y_0 -0.6))"}


def boxes(size):
    """A wide one, a narrow one, one with fixed inputs, and a point."""
    source = random.Random(11)
    made = []
    for radius in (0.25, 0.01, 0.05, 0.0):
        middle = [source.uniform(-1, 1) for _ in range(size)]
        radii = [0.0 if radius == 0.05 and i % 2 == 0 else radius for i in range(size)]
        made.append({"lower": [rounded(m - r) for m, r in zip(middle, radii)],
                     "upper": [rounded(m + r) for m, r in zip(middle, radii)]})
    return made


def write(name, folder):
    """Writes NAME.onnx; returns its path and boxes for it."""
    data, size = globals()[name](Maker())
    path = pathlib.Path(folder) / f"{name}.onnx"
    path.write_bytes(data)
    return path, boxes(size)
