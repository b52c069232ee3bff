#!/usr/bin/env python3
"""Writes networks of ordinary size with random weights, and boxes: usual_networks.py FOLDER

VGG-11 for images of 32 x 32, ResNet-18 for 224 x 224, MobileNetV2 for 96 x 96, DroNet for 200 x 200
(batch normalisation folded into their convolutions), and super-resolution of 128 x 128 by sub-pixel
convolution. Needs numpy. The weights are the same everywhere.
"""

import argparse
import json
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "models"))
import onnx_format


class Net:
    def __init__(self, name, shape, seed):
        self.name, self.shape = name, shape
        self.random = np.random.default_rng(seed)
        self.nodes, self.constants = [], []

    def constant(self, values):
        name = f"w{len(self.constants)}"
        self.constants.append(onnx_format.tensor(name, values.astype(np.float32)))
        return name

    def node(self, kind, inputs, **attributes):
        output = f"v{len(self.nodes)}"
        self.nodes.append(onnx_format.node(kind, inputs, output, **attributes))
        return output

    def conv(self, value, inputs, outputs, kernel, stride=1, gain=2.0, group=1):
        size = np.sqrt(gain / (inputs // group * kernel * kernel))
        weight = self.random.normal(0, size, (outputs, inputs // group, kernel, kernel))
        names = [value, self.constant(weight), self.constant(self.random.normal(0, 0.01, outputs))]
        return self.node("Conv", names, kernel_shape=[kernel] * 2, strides=[stride] * 2,
                         pads=[kernel // 2] * 4, group=group)

    def relu(self, value):
        return self.node("Relu", [value])

    def relu6(self, value):
        limits = [self.constant(np.float32(limit)) for limit in (0, 6)]
        return self.node("Clip", [value] + limits)

    def head(self, value, inputs, outputs):
        weight = self.random.normal(0, np.sqrt(1 / inputs), (outputs, inputs))
        flat = self.node("Flatten", [value], axis=1)
        return self.node("Gemm", [flat, self.constant(weight), self.constant(np.zeros(outputs))],
                         transB=1)

    def write(self, folder, output, shape):
        graph = {
            "node": self.nodes,
            "name": self.name,
            "initializer": self.constants,
            "input": [onnx_format.value_info("x", self.shape)],
            "output": [onnx_format.value_info(output, shape)],
        }
        model = {"ir_version": 8, "producer_name": "usual_networks", "graph": graph,
                 "opset_import": [{"domain": "", "version": 13}]}
        (folder / f"{self.name}.onnx").write_bytes(onnx_format.encode("Model", model))
        centre = self.random.uniform(0, 1, int(np.prod(self.shape)))
        box = {"lower": (centre - 1 / 1000).tolist(), "upper": (centre + 1 / 1000).tolist()}
        (folder / f"{self.name}.json").write_text(json.dumps(box))


def vgg11(folder):
    net = Net("vgg11_32", [1, 3, 32, 32], 1)
    value, before = "x", 3
    for width in (64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0):
        if width == 0:
            value = net.node("MaxPool", [value], kernel_shape=[2, 2], strides=[2, 2])
            continue
        value, before = net.relu(net.conv(value, before, width, 3)), width
    net.write(folder, net.head(value, 512, 10), [1, 10])


def resnet18(folder):
    net = Net("resnet18_224", [1, 3, 224, 224], 2)
    value = net.relu(net.conv("x", 3, 64, 7, 2))
    value = net.node("MaxPool", [value], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    before = 64
    for width in (64, 128, 256, 512):
        for block in range(2):
            stride = 2 if block == 0 and width > 64 else 1
            short = value if width == before else net.conv(value, before, width, 1, stride, 1.0)
            inner = net.relu(net.conv(value, before, width, 3, stride))
            inner = net.conv(inner, width, width, 3, 1, 0.2)
            value, before = net.relu(net.node("Add", [inner, short])), width
    value = net.node("GlobalAveragePool", [value])
    net.write(folder, net.head(value, 512, 1000), [1, 1000])


def mobilenet_v2(folder):
    net = Net("mobilenet_v2_96", [1, 3, 96, 96], 3)
    value, before = net.relu6(net.conv("x", 3, 32, 3, 2)), 32
    for expansion, width, repeats, first in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
                                             (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for repeat in range(repeats):
            stride, inner, wide = first if repeat == 0 else 1, value, before * expansion
            if expansion > 1:
                inner = net.relu6(net.conv(inner, before, wide, 1))
            inner = net.relu6(net.conv(inner, wide, wide, 3, stride, group=wide))
            inner = net.conv(inner, wide, width, 1, 1, 1.0)
            same = stride == 1 and before == width
            value, before = net.node("Add", [inner, value]) if same else inner, width
    value = net.node("GlobalAveragePool", [net.relu6(net.conv(value, 320, 1280, 1))])
    net.write(folder, net.head(value, 1280, 1000), [1, 1000])


def dronet(folder):
    net = Net("dronet_200", [1, 1, 200, 200], 4)
    value = net.conv("x", 1, 32, 5, 2)
    value, before = net.node("MaxPool", [value], kernel_shape=[3, 3], strides=[2, 2]), 32
    for width in (32, 64, 128):
        inner = net.relu(net.conv(net.relu(value), before, width, 3, 2))
        inner = net.conv(inner, width, width, 3, 1, 0.2)
        short = net.conv(value, before, width, 1, 2, 1.0)
        value, before = net.node("Add", [inner, short]), width
    net.write(folder, net.head(net.relu(value), 128 * 7 * 7, 2), [1, 2])


def super_resolution(folder):
    net = Net("super_resolution_128", [1, 1, 128, 128], 5)
    value, before = "x", 1
    for width, kernel in ((64, 5), (64, 3), (32, 3)):
        value, before = net.relu(net.conv(value, before, width, kernel)), width
    value = net.conv(value, before, 9, 3, 1, 1.0)
    net.write(folder, net.node("DepthToSpace", [value], blocksize=3), [1, 1, 384, 384])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for network in (vgg11, resnet18, mobilenet_v2, dronet, super_resolution):
        network(folder)


if __name__ == "__main__":
    main()
