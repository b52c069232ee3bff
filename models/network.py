"""An ONNX chain as a list of exact steps in float64, for the reference bounds.

    ("linear", W, b)    y = W x + b, W dense
    ("scale", s, t)     y = s * x + t, elementwise
    ("permute", p)      y = x[p]
    ("relu",)           y = max(x, 0)

All vectors are flattened row-major. Only what the reference needs is read: Gemm, MatMul, Add, Sub,
Mul and Div with a constant, Relu, and the operators that only move data.
"""

import gzip

import numpy as np

import onnx_format

MOVES = ("Flatten", "Reshape", "Transpose", "Identity", "Dropout", "Squeeze", "Unsqueeze")


class Network:
    def __init__(self, path):
        opened = gzip.open if str(path).endswith(".gz") else open
        with opened(path, "rb") as file:
            graph = onnx_format.decode("Model", file.read())["graph"]
        self.constants = {t["name"]: onnx_format.values_of(t) for t in graph["initializer"]}
        inputs = [v for v in graph["input"] if v["name"] not in self.constants]
        if len(inputs) != 1 or len(graph["output"]) != 1:
            raise ValueError(f"{path}: one input and one output expected")
        dims = inputs[0]["type"]["tensor_type"]["shape"]["dim"]
        self.input_shape = [d.get("dim_value", 1) for d in dims]
        self.steps = []
        self._value, self._shape = inputs[0]["name"], list(self.input_shape)
        for item in graph["node"]:
            self._read(item)
        if self._value != graph["output"][0]["name"]:
            raise ValueError(f"{path}: the last node does not make the output")
        self.outputs = int(np.prod(self._shape))

    def _read(self, item):
        attributes = {a["name"]: a for a in item["attribute"]}
        kind = item["op_type"]
        if kind == "Constant":
            self.constants[item["output"][0]] = onnx_format.values_of(attributes["value"]["t"])
            return
        if item["input"].count(self._value) != 1:
            raise ValueError(f"node '{item.get('name', '')}' ({kind}) is not the next of a chain")
        others = [self.constants[name] for name in item["input"] if name != self._value]
        if kind == "Relu":
            self.steps.append(("relu",))
        elif kind == "Gemm":
            self._gemm(attributes, *others)
        elif kind == "MatMul":
            self._matmul(others[0], constant_first=item["input"][0] != self._value)
        elif kind in ("Add", "Sub", "Mul", "Div"):
            self._elementwise(kind, others[0], constant_first=item["input"][0] != self._value)
        elif kind in MOVES:
            self._move(kind, attributes, others)
        else:
            raise ValueError(f"node '{item.get('name', '')}': operator {kind} is not read here")
        self._value = item["output"][0]

    def _gemm(self, attributes, weight, bias=np.zeros(1)):
        alpha = attributes.get("alpha", {}).get("f", 1.0)
        beta = attributes.get("beta", {}).get("f", 1.0)
        if attributes.get("transA", {}).get("i", 0) or self._shape[0] != 1:
            raise ValueError("Gemm with transA or with several rows")
        if not attributes.get("transB", {}).get("i", 0):
            weight = weight.T
        bias = np.broadcast_to(beta * bias, (1, len(weight))).reshape(-1)
        self.steps.append(("linear", alpha * weight, bias))
        self._shape = [1, len(weight)]

    def _matmul(self, weight, constant_first):
        if constant_first or weight.ndim != 2 or np.prod(self._shape[:-1]) != 1:
            raise ValueError("only row vector x constant matrix")
        self.steps.append(("linear", weight.T, np.zeros(weight.shape[1])))
        self._shape = self._shape[:-1] + [weight.shape[1]]

    def _elementwise(self, kind, constant, constant_first):
        shape = np.broadcast_shapes(self._shape, constant.shape)
        if np.prod(shape) != np.prod(self._shape):
            raise ValueError(f"{kind} that broadcasts the data")
        constant = np.broadcast_to(constant, shape).reshape(-1)
        one, zero = np.ones(constant.size), np.zeros(constant.size)
        if kind == "Add":
            step = (one, constant)
        elif kind == "Sub":
            step = (-one, constant) if constant_first else (one, -constant)
        elif kind == "Mul":
            step = (constant, zero)
        elif constant_first:
            raise ValueError("Div by the data")
        else:
            step = (1.0 / constant, zero)
        self.steps.append(("scale", *step))
        self._shape = list(shape)

    def _move(self, kind, attributes, others):
        size = int(np.prod(self._shape))
        if kind == "Transpose":
            default = {"ints": range(len(self._shape))[::-1]}
            order = list(attributes.get("perm", default)["ints"])
            index = np.arange(size).reshape(self._shape).transpose(order)
            self.steps.append(("permute", index.reshape(-1)))
            self._shape = list(index.shape)
        elif kind == "Flatten":
            axis = attributes.get("axis", {}).get("i", 1)
            axis += len(self._shape) if axis < 0 else 0
            self._shape = [int(np.prod(self._shape[:axis])), int(np.prod(self._shape[axis:]))]
        elif kind == "Reshape":
            target = [self._shape[i] if d == 0 else int(d) for i, d in enumerate(others[0])]
            self._shape = list(np.empty(self._shape).reshape(target).shape)
        elif kind == "Squeeze":
            axes = others[0].tolist() if others else attributes.get("axes", {"ints": None})["ints"]
            self._shape = list(np.squeeze(np.empty(self._shape), axes and tuple(axes)).shape)
        elif kind == "Unsqueeze":
            axes = others[0].tolist() if others else attributes["axes"]["ints"]
            self._shape = list(np.expand_dims(np.empty(self._shape), tuple(axes)).shape)

    def evaluate(self, x):
        for kind, *data in self.steps:
            if kind == "linear":
                x = data[0] @ x + data[1]
            elif kind == "scale":
                x = data[0] * x + data[1]
            elif kind == "permute":
                x = x[data[0]]
            else:
                x = np.maximum(x, 0)
        return x
