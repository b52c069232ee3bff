"""TensorFlow's functions by tf2onnx."""

import os

PACKAGES = ("tensorflow", "tf2onnx")


def networks(network, seed):
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import numpy as np
    import tensorflow as tf
    import tf2onnx

    random = np.random.default_rng(seed)
    weights = (0.5 * random.normal(size=(4, 4))).astype(np.float32)
    kernel = (0.3 * random.normal(size=(3, 3, 2, 4))).astype(np.float32)

    def exported(function, shape, operator_set=18):
        signature = [tf.TensorSpec(shape, tf.float32, name="x")]
        return tf2onnx.convert.from_function(tf.function(function), input_signature=signature, opset=operator_set)[0]

    yield network("dense", exported(lambda x: tf.nn.softmax(tf.nn.relu(x @ weights) @ weights), (1, 4)))
    for operator_set in (9, 13, 18):
        yield network(f"images, set {operator_set}", exported(
            lambda x: tf.nn.avg_pool2d(tf.nn.relu(tf.nn.conv2d(x, kernel, [1, 2, 2, 1], "SAME")), 3, 1, "SAME"),
            (1, 8, 8, 2), operator_set))
    yield network("loop", exported(lambda x: tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, tf.tanh(h @ weights)),
                                                           (0, x))[1], (1, 4)))
    yield network("segments", exported(lambda x: tf.math.segment_sum(tf.transpose(x @ weights), [0, 0, 1, 1]), (1, 4)))
    yield network("maxima of segments", exported(
        lambda x: tf.math.unsorted_segment_max(tf.transpose(x @ weights), [0, 0, 1, 1], 2), (1, 4)))
    yield network("Fourier", exported(lambda x: tf.abs(tf.signal.rfft(x)), (1, 8)))
    # It writes operators that ONNX does not have under their own names.
    yield network("products of those before", exported(lambda x: tf.math.cumprod(x, -1), (1, 4)), refused="BF1010")
