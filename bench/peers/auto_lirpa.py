#!/usr/bin/env python3
"""Bounds by auto_LiRPA on one thread of the CPU. Needs the Python packages numpy, torch,
onnx, auto_LiRPA, and onnx2pytorch or onnx2torch."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import peer  # noqa: E402

try:
    import auto_LiRPA
    import numpy
    import onnx
    import torch
    from auto_LiRPA.perturbations import PerturbationLpNorm
except ImportError as error:
    peer.skip(f"auto_LiRPA: needs the Python package {error.name}")
try:
    from onnx2pytorch import ConvertModel
except ImportError:
    try:
        from onnx2torch import convert as ConvertModel
    except ImportError:
        peer.skip("auto_LiRPA: needs the Python package onnx2pytorch or onnx2torch")

METHODS = {"ibp": "IBP", "crown-ibp": "IBP+backward", "crown": "CROWN",
           "alpha-crown": "CROWN-Optimized"}


def main():
    model, lower, upper, method, seconds = peer.question()
    if method not in METHODS:
        peer.skip(f"auto_LiRPA: has no method {method}")
    torch.set_num_threads(1)
    proto = onnx.load(model)
    constants = {each.name for each in proto.graph.initializer}
    inputs = [each for each in proto.graph.input if each.name not in constants]
    if len(inputs) != 1:
        peer.skip("auto_LiRPA: this script takes models of one input")
    shape = [size.dim_value or 1 for size in inputs[0].type.tensor_type.shape.dim]
    low = torch.tensor(numpy.array(lower, numpy.float32)).reshape(shape)
    high = torch.tensor(numpy.array(upper, numpy.float32)).reshape(shape)
    centre = (low + high) / 2
    network = auto_LiRPA.BoundedModule(ConvertModel(proto).eval(), torch.empty_like(centre))
    box = PerturbationLpNorm(norm=float("inf"), x_L=low, x_U=high)
    x = auto_LiRPA.BoundedTensor(centre, box)

    def call():
        with torch.set_grad_enabled(method == "alpha-crown"):
            return network.compute_bounds(x=(x,), method=METHODS[method])

    peer.answer(f"auto_LiRPA {auto_LiRPA.__version__}, {METHODS[method]}", call, seconds,
                lambda found: [side.detach().flatten().tolist() for side in found])


main()
