#!/usr/bin/env python3
"""Plain inference of the box's centre by onnxruntime: no bounds, but the least that any of them
costs. Needs the Python packages numpy and onnxruntime."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import peer  # noqa: E402

try:
    import numpy
    import onnxruntime
except ImportError as error:
    peer.skip(f"onnxruntime: needs the Python package {error.name}")


def main():
    model, lower, upper, _, seconds = peer.question()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feed, used = {}, 0
    centre = (numpy.array(lower, numpy.float32) + numpy.array(upper, numpy.float32)) / 2
    for value in session.get_inputs():
        shape = [size if isinstance(size, int) else 1 for size in value.shape]
        count = int(numpy.prod(shape))
        feed[value.name] = centre[used:used + count].reshape(shape)
        used += count
    peer.answer(f"onnxruntime {onnxruntime.__version__}, plain inference",
                lambda: session.run(None, feed), seconds)


main()
