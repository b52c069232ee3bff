#!/usr/bin/env python3
"""Malformed models: malformed.py SCHEMA_CASES [CHANGES]

Changes well-formed models, one thing at a time: types, names, edges, shapes, data, versions. None may end the program; and
what ONNX Runtime refuses is refused, but for the leniencies listed below. Prints a line for each that is not so. BF_SEED=n
makes other changes. Needs what walk.py needs.
"""

import collections
import copy
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import walk  # noqa: E402  (beside this file; first, as it may go on in another Python)
import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import helper, numpy_helper  # noqa: E402

# What ONNX Runtime refuses and bf-aot reads, as nothing about it is in doubt: (pattern of the change, why).
LENIENT = [(re.compile(pattern), why) for pattern, why in [
    (r"ir_version", "no IR version says what an operator is"),
    (r"output type|output without", "types of outputs are worked out, whatever the file says of them"),
    (r"input type", "types of real numbers, or of integers, may be mixed"),
    (r"input dims \[0", "a first dimension of 0 is the batch, as exporters write it"),
    (r"BatchNormalization: one more output", "statistics of training may be named where nothing reads them"),
    (r"ReduceSum: input 0 is (missing|zero)|Reshape: input 0 is|Pad: input 0 is q|Clip: input \d is z", "the outputs' type differs from the file's"),
    (r"quantised: initializer z: type (21|22)", "codes of 4 bits are read in each operator set, as their type says"),
    (r"two operator sets", "the newest counts"),
    (r"opset domain", "operators of that domain are refused where they stand"),
]]


def floats(*shape):
    return np.random.default_rng(len(shape) + sum(shape)).uniform(-1, 1, shape).astype(np.float32)


def model_of(nodes, tensors, shape, opset=17, output="y"):
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
        [onnx.ValueInfoProto(name=output)], [numpy_helper.from_array(v, k) for k, v in tensors.items()])
    graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def base_models():
    node = helper.make_node
    yield "dense", model_of(
        [node("Gemm", ["x", "w", "b"], ["h"], "gemm", transB=1, alpha=1.0), node("Relu", ["h"], ["r"], "relu"),
         node("MatMul", ["r", "v"], ["m"], "matmul"), node("Add", ["m", "c"], ["y"], "add")],
        {"w": floats(3, 4), "b": floats(3), "v": floats(3, 2), "c": floats(2)}, [1, 4])
    yield "image", model_of(
        [node("Conv", ["x", "w", "b"], ["h"], "conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1]),
         node("BatchNormalization", ["h", "s", "b", "b", "s"], ["n"], "norm", epsilon=1e-3),
         node("MaxPool", ["n"], ["p"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
         node("Flatten", ["p"], ["f"], "flatten", axis=1), node("Softmax", ["f"], ["y"], "softmax", axis=1)],
        {"w": floats(2, 1, 3, 3), "b": floats(2), "s": np.ones(2, np.float32)}, [1, 1, 4, 4])
    yield "shapes", model_of(
        [node("Shape", ["x"], ["s"], "shape"), node("Gather", ["s", "zero"], ["g"], "gather", axis=0),
         node("Concat", ["g", "minus"], ["t"], "concat", axis=0), node("Reshape", ["x", "t"], ["r"], "reshape"),
         node("Slice", ["r", "zero", "two", "one"], ["l"], "slice"), node("Transpose", ["l"], ["p"], "transpose", perm=[1, 0]),
         node("ReduceSum", ["p", "one"], ["y"], "sum", keepdims=0)],
        {"zero": np.array([0]), "minus": np.array([-1]), "two": np.array([2]), "one": np.array([1])}, [1, 2, 3])
    yield "quantised", model_of(
        [node("QuantizeLinear", ["x", "s", "z"], ["q"], "q"), node("DequantizeLinear", ["q", "s", "z"], ["d"], "d"),
         node("Clip", ["d", "low", "high"], ["c"], "clip"), node("Pad", ["c", "pads"], ["y"], "pad", mode="constant")],
        {"s": np.float32(0.1), "z": np.uint8(3), "low": np.float32(-1), "high": np.float32(1), "pads": np.array([0, 1, 0, 1])}, [1, 4])


TYPES = [0, 1, 2, 7, 8, 9, 10, 14, 16, 17, 22, 99, -1, 2**31 - 1]
DIMS = [-1, 0, 1, 2, 7, 2**31, 2**62, 2**63 - 1, -2**63]
NUMBERS = [0, 1, -1, 2, 3, -3, 100, 2**31, 2**40, 2**63 - 1, -2**63]


class Change:
    """One random change of a model; gives its name."""

    def __init__(self, random):
        self.random = random

    def pick(self, items):
        return items[int(self.random.integers(len(items)))]

    def names(self, graph):
        found = [t.name for t in graph.initializer] + [i.name for i in graph.input]
        return found + [o for n in graph.node for o in n.output]

    def attribute(self, graph):
        node = self.pick(graph.node)
        if not node.attribute:
            node.attribute.append(helper.make_attribute(self.pick(["axis", "bogus", ""]), 1))
            return f"{node.op_type}: an attribute"
        one = self.pick(node.attribute)
        kind = int(self.random.integers(7))
        if kind == 0:
            one.type = int(self.random.integers(0, 15))
            return f"{node.op_type}: {one.name} says type {one.type}"
        if kind == 1:
            name = one.name
            node.attribute.remove(one)
            return f"{node.op_type}: no {name}"
        if kind == 2:
            node.attribute.append(copy.deepcopy(one))
            return f"{node.op_type}: {one.name} twice"
        if kind == 3:
            one.name = self.pick(["bogus", "", one.name + "\\0"])
            return f"{node.op_type}: attribute {one.name!r}"
        if kind == 4:
            replaced = helper.make_attribute(one.name, self.pick([0.5, "text", [1.5], ["a"], floats(2).tolist()]))
            one.CopyFrom(replaced)
            return f"{node.op_type}: {one.name} of another type"
        if kind == 5:
            one.ref_attr_name = "other"
            return f"{node.op_type}: {one.name} refers to another"
        if one.type == onnx.AttributeProto.INTS:
            if len(one.ints) and self.random.integers(2):
                one.ints[int(self.random.integers(len(one.ints)))] = self.pick(NUMBERS)
            else:
                one.ints.append(self.pick(NUMBERS))
            return f"{node.op_type}: {one.name}={list(one.ints)}"
        if one.type == onnx.AttributeProto.INT:
            one.i = self.pick(NUMBERS)
        elif one.type == onnx.AttributeProto.FLOAT:
            one.f = self.pick([0.0, -1.0, float("nan"), float("inf"), 3e38])
        else:
            one.s = b"bogus"
        return f"{node.op_type}: {one.name} = {one.i if one.type == onnx.AttributeProto.INT else one.f}"

    def edge(self, graph):
        node = self.pick(graph.node)
        kind = int(self.random.integers(9))
        at = int(self.random.integers(len(node.input)))
        if kind == 0:
            node.input[at] = "nowhere"
            return f"{node.op_type}: input {at} is made by nothing"
        if kind == 1:
            node.input[at] = ""
            return f"{node.op_type}: input {at} is left out"
        if kind == 2:
            del node.input[at]
            return f"{node.op_type}: input {at} is missing"
        if kind == 3:
            node.input.append(self.pick(self.names(graph)))
            return f"{node.op_type}: one more input"
        if kind == 4:
            node.input[at] = self.pick(self.names(graph))
            return f"{node.op_type}: input {at} is {node.input[at]}"
        if kind == 5:
            node.output.append(self.pick(["extra", "", node.output[0]]))
            return f"{node.op_type}: one more output"
        if kind == 6:
            del node.output[:]
            return f"{node.op_type}: no outputs"
        if kind == 7:
            node.output[0] = self.pick(self.names(graph) + [""])
            return f"{node.op_type}: makes {node.output[0]!r}"
        graph.node.append(copy.deepcopy(node))
        return f"{node.op_type}: twice"

    def node(self, graph):
        node = self.pick(graph.node)
        kind = int(self.random.integers(5))
        if kind == 0:
            node.op_type = self.pick(["", "Bogus", "Relu", "Add", "Loop", "Concat", "Reshape", "Transpose", "TopK"])
            return f"an operator becomes {node.op_type!r}"
        if kind == 1:
            node.domain = self.pick(["bogus", "com.microsoft", "ai.onnx.ml", "ai.onnx"])
            return f"{node.op_type} of domain {node.domain}"
        if kind == 2:
            graph.node.remove(node)
            return f"no {node.op_type}"
        if kind == 3:
            node.attribute.append(helper.make_attribute("body", copy.deepcopy(graph)))
            return f"{node.op_type}: a graph within"
        del graph.node[:]
        return "no nodes"

    def tensor(self, graph):
        tensor = self.pick(graph.initializer)
        kind = int(self.random.integers(13))
        what = f"initializer {tensor.name}: "
        if kind == 0:
            tensor.data_type = self.pick(TYPES)
            return what + f"type {tensor.data_type}"
        if kind == 1:
            tensor.raw_data = tensor.raw_data[:-1] if self.random.integers(2) else tensor.raw_data + b"\\0\\0\\0\\0"
            return what + "as many bytes"
        if kind == 2:
            tensor.dims.append(self.pick(DIMS))
            return what + f"dims {list(tensor.dims)}"
        if kind == 3 and len(tensor.dims):
            tensor.dims[int(self.random.integers(len(tensor.dims)))] = self.pick(DIMS)
            return what + f"dims {list(tensor.dims)}"
        if kind == 4:
            del tensor.dims[:]
            return what + "no dims"
        if kind == 5:
            graph.initializer.append(copy.deepcopy(tensor))
            return what + "twice"
        if kind == 6:
            tensor.name = self.pick(["", "x", "y", "nowhere"])
            return what + f"named {tensor.name!r}"
        if kind == 7:
            tensor.float_data.append(1.0)
            return what + "numbers beside bytes"
        if kind == 8:
            tensor.ClearField("raw_data")
            return what + "no data"
        if kind == 9:
            tensor.data_location = onnx.TensorProto.EXTERNAL
            entry = tensor.external_data.add()
            entry.key, entry.value = "location", self.pick(["missing.bin", "../../etc/passwd", "/dev/zero", ""])
            return what + "elsewhere"
        if kind == 10:
            tensor.segment.begin, tensor.segment.end = 0, self.pick(NUMBERS)
            return what + "a segment"
        if kind == 11:
            tensor.raw_data = np.full(max(len(tensor.raw_data) // 4, 1), np.nan, np.float32).tobytes()
            return what + "NaN"
        sparse = graph.sparse_initializer.add()
        sparse.values.CopyFrom(tensor)
        sparse.dims.extend([self.pick(DIMS)])
        return what + "sparse, too"

    def value(self, graph):
        kind = int(self.random.integers(11))
        info, made = graph.input[0], graph.output[0]
        if kind == 0:
            info.type.tensor_type.elem_type = self.pick(TYPES)
            return f"input type {info.type.tensor_type.elem_type}"
        if kind == 1:
            info.type.tensor_type.ClearField("shape")
            return "input without shape"
        if kind == 2:
            dims = info.type.tensor_type.shape.dim
            dims[int(self.random.integers(len(dims)))].dim_value = self.pick(DIMS)
            return f"input dims {[d.dim_value for d in dims]}"
        if kind == 3:
            info.ClearField("type")
            return "input without type"
        if kind == 4:
            graph.input.append(copy.deepcopy(info))
            return "input twice"
        if kind == 5:
            info.name = self.pick(self.names(graph) + ["", "y"])
            return f"input named {info.name!r}"
        if kind == 6:
            made.type.tensor_type.elem_type = self.pick(TYPES)
            return f"output type {made.type.tensor_type.elem_type}"
        if kind == 7:
            made.name = self.pick(["", "nowhere", "x"])
            return f"output named {made.name!r}"
        if kind == 8:
            graph.output.append(copy.deepcopy(made))
            return "output twice"
        if kind == 9:
            del graph.output[:]
            return "no outputs of the graph"
        info.type.sequence_type.elem_type.tensor_type.elem_type = 1
        return "input is a sequence"

    def version(self, model):
        kind = int(self.random.integers(6))
        if kind == 0:
            model.opset_import[0].version = self.pick([0, -1, 1, 5, 6, 9, 12, 13, 100, 2**63 - 1])
            return f"opset {model.opset_import[0].version}"
        if kind == 1:
            del model.opset_import[:]
            return "no opset"
        if kind == 2:
            model.opset_import.append(helper.make_opsetid("", self.pick([7, 13, 100])))
            return "two operator sets"
        if kind == 3:
            model.opset_import[0].domain = self.pick(["bogus", "ai.onnx", "ai.onnx.ml"])
            return f"opset domain {model.opset_import[0].domain}"
        if kind == 4:
            model.ir_version = self.pick([0, 1, 2, 3, 100, 2**62])
            return f"ir_version {model.ir_version}"
        model.ClearField("graph")
        return "no graph"

    def apply(self, model):
        made = copy.deepcopy(model)
        kinds = [self.attribute, self.edge, self.node, self.tensor, self.value]
        if self.random.integers(12) == 0:
            return self.version(made), made
        return self.pick(kinds)(made.graph), made


def cases(count, seed):
    random = np.random.default_rng(seed)
    change = Change(random)
    bases = list(base_models())
    found = {}
    for i in range(count):
        name, model = bases[i % len(bases)]
        what, made = change.apply(model)
        shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
        point = random.uniform(-1, 1, shape).astype(np.float32)
        feed = [(made.graph.input[0].name, point)] if made.HasField("graph") and made.graph.input else []
        found.setdefault(f"{name}: {what}", walk.Case(f"{name}: {what}", name, made, feed or [("x", point)], False))
    return list(found.values())


def main():
    program, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 4000
    made = cases(count, int(os.environ.get("BF_SEED", "1")))
    counts, bad = collections.Counter(), 0
    for case, ours, values in zip(made, walk.run_ours(program, made), walk.values_of_all(made)):
        runtime = [each for each in values if each.by == "runtime"]
        refused = runtime and runtime[0].arrays is None and "NOT_IMPLEMENTED" not in runtime[0].refusal
        if ours.code == "abort":
            kind = "aborts"
        elif ours.code == "value" and refused:
            kind = "accepted"
        else:
            kind, remark = walk.judge(case, ours, [each for each in values if each.arrays is not None])
            kind = kind if kind == "wrong" else "right"
        counts[kind] += 1
        if kind == "right" or any(pattern.search(case.name) for pattern, _ in LENIENT if kind == "accepted"):
            continue
        bad += 1
        print(f"{kind}: {case.name}: {ours.message if kind == 'aborts' else runtime[0].refusal if refused else remark}", flush=True)
    print(", ".join(f"{n} {kind}" for kind, n in sorted(counts.items())) + f"; {bad} not known")
    return 1 if bad or not counts["right"] else 0


if __name__ == "__main__":
    walk.multiprocessing.set_start_method("fork")
    sys.exit(main())
