"""keras 3, whose models export by the backend's exporter: TensorFlow's, JAX's and PyTorch's, one process each."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import onnx

PACKAGES = ("keras", "tensorflow", "tf2onnx", "jax2onnx", "torch")


def export(folder, seed):
    """Writes the models of this process's backend to the folder, and says which failed, and why."""
    import keras
    import numpy as np
    from keras import layers

    keras.utils.set_random_seed(seed)
    tokens = keras.Input((5, 8))
    attended = layers.LayerNormalization()(tokens + layers.MultiHeadAttention(2, 4)(tokens, tokens))
    models = {
        "dense": keras.Sequential([keras.Input((4,)), layers.Dense(8, activation="relu"), layers.Dense(8, activation="silu"),
                                   layers.Dense(3, activation="softmax")]),
        "images": keras.Sequential([
            keras.Input((8, 8, 2)), layers.Conv2D(6, 3, padding="same"), layers.BatchNormalization(),
            layers.ReLU(max_value=6), layers.MaxPool2D(2), layers.DepthwiseConv2D(3, strides=2, padding="same"),
            layers.GlobalAveragePooling2D(), layers.Dense(3)]),
        "cells": keras.Sequential([keras.Input((4, 3)), layers.LSTM(6, return_sequences=True), layers.GRU(4),
                                   layers.Dense(2)]),
        "attention": keras.Model(tokens, layers.Dense(2)(layers.GlobalAveragePooling1D()(attended))),
    }
    failed = {}
    for name, model in models.items():
        model(np.zeros((1, *model.input_shape[1:]), np.float32))
        try:
            model.export(str(folder / f"{name}.onnx"), format="onnx", verbose=False)
        except Exception as error:  # an exporter's own limits are not ours
            failed[name] = f"{type(error).__name__}: {error}"
    (folder / "failed.json").write_text(json.dumps(failed))


def networks(network, seed):
    for backend in ("tensorflow", "jax", "torch"):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-B", __file__, folder, str(seed)], check=True, capture_output=True,
                           env={**os.environ, "KERAS_BACKEND": backend})
            for name, why in json.loads((pathlib.Path(folder) / "failed.json").read_text()).items():
                print(f"  {name}, {backend}: not exported, {why.splitlines()[0][:90]}")
            for path in sorted(pathlib.Path(folder).glob("*.onnx")):
                yield network(f"{path.stem}, {backend}", onnx.load(path))


if __name__ == "__main__":
    export(pathlib.Path(sys.argv[1]), int(sys.argv[2]))
