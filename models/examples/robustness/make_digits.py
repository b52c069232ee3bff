"""Makes digits_cnn.onnx, a convolutional network for 8 by 8 digits, and digits_test.npz, 300 images
that it was not trained on, as bytes of 0 to 16 with their labels.

    python3 -m venv VENV && VENV/bin/pip install -r ../../requirements.txt
    VENV/bin/python make_digits.py

The images are those of scikit-learn's load_digits(): the test set of "Optical Recognition of
Handwritten Digits" (E. Alpaydin, C. Kaynak, UCI Machine Learning Repository, 1998; CC BY 4.0).
"""

import os

# Before numpy: other threads or another processor's kernels would round the sums differently.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")

import pathlib
import sys

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

import mlp
import onnx_format
from onnx_format import node, tensor, value_info

CHANNELS = (8, 16)  # of the two convolutions, 3 by 3, the second with stride 2
NOISE = 0.05  # uniform, added to the training images


def windows(image, stride):
    """[n, h, w, c] with a border of zeros -> [n, h / stride, w / stride, 9 c]."""
    n, h, w, c = image.shape
    padded = np.pad(image, ((0, 0), (1, 1), (1, 1), (0, 0)))
    parts = [padded[:, i : i + h : stride, j : j + w : stride] for i in range(3) for j in range(3)]
    return np.concatenate(parts, axis=3)


def add_windows(delta, shape, stride):
    """The transpose of windows()."""
    n, h, w, c = shape
    padded = np.zeros((n, h + 2, w + 2, c), np.float32)
    for k in range(9):
        i, j = divmod(k, 3)
        padded[:, i : i + h : stride, j : j + w : stride] += delta[..., k * c : (k + 1) * c]
    return padded[:, 1:-1, 1:-1]


def forward(layers, x):
    """x: [n, 64]. The inputs of every layer, and the outputs of the last."""
    image = x.reshape(-1, 8, 8, 1)
    values = []
    for k, stride in enumerate((1, 2)):
        values.append((image.shape, windows(image, stride)))
        weight, bias = layers[k]
        image = np.maximum(values[-1][1] @ weight + bias, 0)
    dense, outputs = mlp.forward(layers[2:], image.reshape(len(x), -1))
    return values + dense, outputs


def gradients(layers, values, delta):
    """Gradients of the loss, given delta = its gradient in the network's outputs."""
    dense = mlp.gradients(layers[2:], values[2:], delta)
    for k in range(len(layers) - 1, 1, -1):
        delta = delta @ layers[k][0].T
        if k > 2:
            delta = delta * (values[k] > 0)
    delta = delta.reshape(-1, 4, 4, CHANNELS[1]) * (values[2].reshape(-1, 4, 4, CHANNELS[1]) > 0)
    convolutions = []
    for k, stride in ((1, 2), (0, 1)):
        shape, columns = values[k]
        weight = columns.reshape(-1, columns.shape[-1]).T @ delta.reshape(-1, delta.shape[-1])
        convolutions.insert(0, [weight, delta.sum(axis=(0, 1, 2))])
        if k == 1:
            delta = add_windows(delta @ layers[1][0].T, shape, stride)
            before = values[0][1] @ layers[0][0] + layers[0][1]
            delta = delta * (before > 0)
    return convolutions + dense


def convolution(weight, inputs):
    """[9 inputs, outputs] -> ONNX's [outputs, inputs, 3, 3]."""
    return weight.T.reshape(-1, 3, 3, inputs).transpose(0, 3, 1, 2)


def model(layers):
    first = layers[2][0].reshape(4, 4, CHANNELS[1], -1).transpose(2, 0, 1, 3).reshape(256, -1)
    constants = {
        "conv1.weight": convolution(layers[0][0], 1),
        "conv1.bias": layers[0][1],
        "conv2.weight": convolution(layers[1][0], CHANNELS[0]),
        "conv2.bias": layers[1][1],
        "fc1.weight": first.T,
        "fc1.bias": layers[2][1],
        "fc2.weight": layers[3][0].T,
        "fc2.bias": layers[3][1],
    }
    window = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    nodes = [
        node("Conv", ["image", "conv1.weight", "conv1.bias"], "conv1", **window, strides=[1, 1]),
        node("Relu", ["conv1"], "relu1"),
        node("Conv", ["relu1", "conv2.weight", "conv2.bias"], "conv2", **window, strides=[2, 2]),
        node("Relu", ["conv2"], "relu2"),
        node("Flatten", ["relu2"], "flat", axis=1),
        node("Gemm", ["flat", "fc1.weight", "fc1.bias"], "fc1", transB=1),
        node("Relu", ["fc1"], "relu3"),
        node("Gemm", ["relu3", "fc2.weight", "fc2.bias"], "logits", transB=1),
    ]
    graph = {
        "node": nodes,
        "name": "digits_cnn",
        "initializer": [tensor(key, np.ascontiguousarray(data)) for key, data in constants.items()],
        "input": [value_info("image", [1, 1, 8, 8])],
        "output": [value_info("logits", [1, 10])],
    }
    return {
        "ir_version": 6,
        "producer_name": "bf-aot models",
        "graph": graph,
        "opset_import": [{"version": 11}],
    }


def main():
    data = load_digits()
    train_x, test_x, train_y, test_y = train_test_split(
        data.data, data.target, test_size=300, random_state=1, stratify=data.target
    )
    rng = np.random.default_rng(5)
    copies = [train_x / 16 + rng.uniform(-NOISE, NOISE, train_x.shape) for _ in range(4)]
    layers = mlp.initial(rng, [9, CHANNELS[0]]) + mlp.initial(rng, [72, CHANNELS[1]])
    layers += mlp.initial(rng, [256, 32, 10])
    layers = mlp.fit(
        rng,
        layers,
        forward,
        gradients,
        np.concatenate(copies),
        np.tile(np.eye(10)[train_y], (4, 1)),
        mlp.cross_entropy,
        epochs=40,
        batch=64,
        rate=3e-3,
        decay=5e-2,
    )
    right = np.mean(forward(layers, (test_x / 16).astype(np.float32))[1].argmax(axis=1) == test_y)
    print(f"{100 * right:.1f} % of {len(test_y)} test images")
    (HERE / "digits_cnn.onnx").write_bytes(onnx_format.encode("Model", model(layers)))
    np.savez_compressed(
        HERE / "digits_test.npz",
        x=test_x.reshape(-1, 1, 8, 8).astype(np.uint8),
        y=test_y.astype(np.uint8),
    )


if __name__ == "__main__":
    main()
