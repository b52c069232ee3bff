#!/usr/bin/env python3
"""Interval bounds of a chain of dense and convolutional ReLU layers, written as anyone would with
PyTorch: centre and radius, two products per layer. Needs the Python packages numpy, torch, onnx."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import peer  # noqa: E402

try:
    import numpy
    import onnx
    import torch
    from onnx import numpy_helper
except ImportError as error:
    peer.skip(f"PyTorch: needs the Python package {error.name}")


def attributes(node):
    return {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}


def linear(weight):
    """Maps the centre and radius of a row to those of its product with weight."""
    size = weight.abs()
    return lambda c, r: (c.reshape(1, -1) @ weight, r.reshape(1, -1) @ size)


def convolution(weight, given):
    pads = given.get("pads", [0, 0, 0, 0])
    plain = given.get("group", 1) == 1 and given.get("auto_pad", b"NOTSET") == b"NOTSET"
    if pads[:2] != pads[2:] or not plain:
        peer.skip("PyTorch: this script takes convolutions with equal padding and one group")
    more = {"stride": given.get("strides", [1, 1]), "padding": pads[:2],
            "dilation": given.get("dilations", [1, 1])}
    size = weight.abs()
    apply = torch.nn.functional.conv2d
    return lambda c, r: (apply(c, weight, **more), apply(r, size, **more))


def layer(node, constant):
    """The map of (centre, radius) that the node is."""
    given = attributes(node)
    kind = node.op_type
    if kind == "Relu":
        def relu(c, r):
            low, high = (c - r).clamp(min=0), (c + r).clamp(min=0)
            return (low + high) / 2, (high - low) / 2
        return relu
    if kind in ("Flatten", "Reshape"):
        return lambda c, r: (c.reshape(1, -1), r.reshape(1, -1))
    if kind in ("Identity", "Cast"):
        return lambda c, r: (c, r)
    if kind in ("Add", "Sub"):
        other = constant(node.input[1])
        sign = 1 if kind == "Add" else -1
        return lambda c, r: (c + sign * other, r)
    if kind == "MatMul":
        return linear(constant(node.input[1]))
    bias = constant(node.input[2]) if len(node.input) > 2 else None
    if kind == "Gemm":
        weight = constant(node.input[1])
        product = linear(weight.T if given.get("transB", 0) else weight)
    elif kind == "Conv":
        product = convolution(constant(node.input[1]), given)
        bias = bias.reshape(1, -1, 1, 1) if bias is not None else None
    else:
        peer.skip(f"PyTorch: this script does not take {kind}")
    if bias is None:
        return product

    def biased(c, r):
        c, r = product(c, r)
        return c + bias, r
    return biased


def layers(proto):
    constants = {each.name: numpy_helper.to_array(each) for each in proto.graph.initializer}
    for node in proto.graph.node:
        if node.op_type == "Constant":
            constants[node.output[0]] = numpy_helper.to_array(attributes(node)["value"])

    def constant(name):
        if name not in constants:
            peer.skip("PyTorch: this script takes chains of layers only")
        return torch.tensor(numpy.array(constants[name], numpy.float32))

    made, last = [], None
    for node in proto.graph.node:
        if node.op_type == "Constant":
            continue
        if last is not None and node.input[0] != last:
            peer.skip("PyTorch: this script takes chains of layers only")
        last = node.output[0]
        made.append(layer(node, constant))
    return made


def main():
    model, lower, upper, method, seconds = peer.question()
    if method != "ibp":
        peer.skip("PyTorch: this script computes intervals only")
    torch.set_num_threads(1)
    proto = onnx.load(model)
    chain = layers(proto)
    constants = {each.name for each in proto.graph.initializer}
    entry = next(each for each in proto.graph.input if each.name not in constants)
    shape = [size.dim_value or 1 for size in entry.type.tensor_type.shape.dim]
    low = torch.tensor(numpy.array(lower, numpy.float32)).reshape(shape)
    high = torch.tensor(numpy.array(upper, numpy.float32)).reshape(shape)

    def call():
        with torch.no_grad():
            c, r = (low + high) / 2, (high - low) / 2
            for each in chain:
                c, r = each(c, r)
            return c - r, c + r

    peer.answer(f"PyTorch {torch.__version__}, intervals", call, seconds,
                lambda found: [side.flatten().tolist() for side in found])


main()
