#!/usr/bin/env python3
"""quantised_runtimes_test.py BF_AOT POINTS [MODEL LOWER UPPER]: what ONNX Runtime makes of quantised
networks, with its optimisers, which fuse them to integer kernels, and without, lies inside the bounds
of --semantics quantised-any. DoubleQDQPairsRemover is off, which makes scales that no file has. Random QDQ networks, or one model on the box [LOWER, UPPER] of all
inputs. Prints a table, which also says how many points lie outside of the bounds of --semantics real.
Needs the Python packages numpy, onnx and onnxruntime, which BF_RUNTIMES_PYTHON may have."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import runtimes  # noqa: E402,F401  (another Python, if it must be)
import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

BF_AOT, POINTS = sys.argv[1], int(sys.argv[2])
NETWORKS = 6
LEVELS = {"all optimisations": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
          "none": onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL}


class Network:
    """A QDQ network under construction: each tensor is rounded to int8 codes."""

    def __init__(self, random):
        self.random = random
        self.nodes, self.constants = [], []

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, op, inputs, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=f"{op}_{name}", **attributes))
        return name

    def rounded(self, x, reach, positive=False):
        """x on a grid that ends near reach."""
        scale = self.constant(np.float32(reach / 127 * self.random.uniform(0.4, 1)))
        zero = self.constant(np.int8(-128 if positive else 0))
        codes = self.node("QuantizeLinear", [x, scale, zero])
        return self.node("DequantizeLinear", [codes, scale, zero])

    def weights(self, shape):
        """Weights of 7 bits, so that no kernel's sums of two products leave 16 bits."""
        codes = self.constant(self.random.integers(-63, 64, shape).astype(np.int8))
        scale = self.random.uniform(0.5, 1, shape[0]).astype(np.float32) / 63
        zero = self.constant(np.zeros(shape[0], np.int8))
        return self.node("DequantizeLinear", [codes, self.constant(scale), zero], axis=0)

    def convolution(self, x, inner, outer, relu):
        y = self.node("Conv", [x, self.weights((outer, inner, 3, 3))], pads=[1, 1, 1, 1])
        if relu:
            y = self.node("Relu", [y])
        return self.rounded(y, 3 * inner ** 0.5, relu)

    def model(self, y, inputs, outputs):
        graph = helper.make_graph(
            self.nodes, "quantised",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, inputs)],
            [helper.make_tensor_value_info(y, TensorProto.FLOAT, outputs)], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def random_network(random):
    net = Network(random)
    x = net.rounded("x", 1)
    x = net.convolution(x, 2, 4, True)
    y = net.convolution(x, 4, 4, False)
    x = net.rounded(net.node("Add", [x, y]), 4)
    x = net.rounded(net.node("AveragePool", [x], kernel_shape=[3, 3], strides=[3, 3]), 2)
    x = net.node("MaxPool", [x], kernel_shape=[2, 2], strides=[1, 1])
    x = net.node("Flatten", [x])
    w = net.node("Transpose", [net.weights((3, 4))], perm=[1, 0])
    return net.model(net.rounded(net.node("MatMul", [x, w]), 3), [1, 2, 6, 6], [1, 3])


def pool_of_ties(random):
    """Means of two codes on a grid of which quarters are ties: float32 breaks them either way."""
    net = Network(random)
    step, zero = net.constant(np.float32(0.125)), net.constant(np.int8(0))
    codes = net.node("QuantizeLinear", ["x", step, zero])
    x = net.node("DequantizeLinear", [codes, step, zero])
    x = net.node("AveragePool", [x], kernel_shape=[2, 2], strides=[1, 1])
    scale = net.constant(np.float32(random.choice([0.1, 0.3, 0.05])))
    codes = net.node("QuantizeLinear", [x, scale, zero])
    y = net.node("DequantizeLinear", [codes, scale, zero])
    return net.model(y, [1, 2, 6, 6], [1, 2, 5, 5])


def pairs_behind_each_other(random):
    """Two grids of one tensor, one behind the other: ONNX Runtime must not make one of its own of them."""
    net = Network(random)
    x = "x"
    for step, zero in ((0.25, 128), (0.3, 100)):
        grid = [net.constant(np.float32(step)), net.constant(np.uint8(zero))]
        x = net.node("DequantizeLinear", [net.node("QuantizeLinear", [x, *grid]), *grid])
    return net.model(x, [1, 2, 6, 6], [1, 2, 6, 6])


def bounds_of(path, box, semantics):
    command = [BF_AOT, "run", path, "--box", box, "--semantics", semantics, "--json", "--repeat", "1",
               "--jit", "off"]
    process = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    outputs = json.loads(process.stdout)["outputs"]
    return [np.array(outputs[side], np.float64) for side in ("lower", "upper")]


def session_of(model, level):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options,
                                        providers=["CPUExecutionProvider"],
                                        disabled_optimizers=["DoubleQDQPairsRemover"])


def check(name, path, model, low, high, random, work):
    """The number of points outside of quantised-any; prints those of both semantics."""
    box = str(pathlib.Path(work) / "box.json")
    pathlib.Path(box).write_text(json.dumps({"lower": low.astype(float).ravel().tolist(),
                                             "upper": high.astype(float).ravel().tolist()}))
    bounds = {semantics: bounds_of(path, box, semantics) for semantics in ("real", "quantised-any")}
    bad = 0
    for level_name, level in LEVELS.items():
        session = session_of(model, level)
        outside = dict.fromkeys(bounds, 0)
        for _ in range(POINTS):
            t = random.random(low.shape, dtype=np.float32)
            x = np.clip(low + (high - low) * t, low, high)
            y = session.run(None, {session.get_inputs()[0].name: x})[0].astype(np.float64).ravel()
            for semantics, (lower, upper) in bounds.items():
                outside[semantics] += not (np.all(lower <= y) and np.all(y <= upper))
        print(f"{name:<24} {level_name:<18} outside of real {outside['real']:>6}, "
              f"of quantised-any {outside['quantised-any']:>6} of {POINTS}", flush=True)
        bad += outside["quantised-any"]
    return bad


def main():
    print(f"onnxruntime {onnxruntime.__version__}, numpy {np.__version__}, onnx {onnx.__version__}")
    random = np.random.default_rng(int(os.environ.get("BF_SEED", "1")))
    bad = 0
    with tempfile.TemporaryDirectory() as work:
        if len(sys.argv) > 5:
            model = onnx.load(sys.argv[3])
            shape = [d.dim_value or 1 for d in model.graph.input[0].type.tensor_type.shape.dim]
            low, high = (np.full(shape, float(end), np.float32) for end in sys.argv[4:6])
            return 1 if check(pathlib.Path(sys.argv[3]).stem, sys.argv[3], model, low, high, random,
                              work) else 0
        makers = (random_network, pool_of_ties, pairs_behind_each_other)
        for i in range(NETWORKS):
            model = makers[i % 3](random)
            path = str(pathlib.Path(work) / f"net{i}.onnx")
            onnx.save(model, path)
            reach = (0.9, 4, 40)[i % 3]
            centre = random.uniform(-reach, reach, (1, 2, 6, 6)).astype(np.float32)
            for width in (0, 0.005, 0.05):
                bad += check(f"net {i}, width {width}", path, model, centre,
                             centre + np.float32(width), random, work)
    print("all inside" if bad == 0 else f"{bad} outside")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
