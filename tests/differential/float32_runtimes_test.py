#!/usr/bin/env python3
"""float32_runtimes_test.py BF_AOT SOURCE_DIR [POINTS]: what ONNX Runtime, with and without its
optimiser, and the reference evaluator of the package onnx, in numpy, make of networks at random points
lies inside the bounds of --semantics float32. The networks of models/, and with BF_SHARED those with
reference bounds. Prints a table. Needs the Python packages numpy, onnx and onnxruntime, which
BF_RUNTIMES_PYTHON may have."""

import glob
import gzip
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
from onnx.reference import ReferenceEvaluator  # noqa: E402
from onnx.reference.op_run import OpRun  # noqa: E402

BF_AOT, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
POINTS = int(sys.argv[3]) if len(sys.argv) > 3 else 10
METHODS = ("ibp", "crown")
POINT_BOXES = 2  # of each box
# Where the files of reference bounds do not name the network's file: the start of its name, and a
# pattern in the corpus; {} is the rest of the name.
FILES = {"acasxu_": "acasxu/onnx/ACASXU_run2a_{}_batch_2000.onnx*",
         "cifar10": "cifar10_resnet/onnx/resnet_2b*", "eran": "eran/onnx/*igmoid*200*",
         "mnistfc_": "mnist_fc/onnx/mnist-net_{}*", "oval21": "oval21_2021/onnx/*base*",
         "reach": "reach_prob_density/onnx/*vdp*", "rl_": "rl_benchmarks/onnx/*{}*",
         "tll": "tllverifybench/onnx/*N=M=8*", "verivital_": "verivital/onnx/*{}*"}


class BatchNormalization(OpRun):
    """Of inference. That of the package onnx takes opset 9 for training."""
    op_domain = ""

    def _run(self, x, scale, bias, mean, var, epsilon=1e-5, **_):
        shape = (1, -1) + (1,) * (x.ndim - 2)
        scale, bias, mean, var = (each.reshape(shape) for each in (scale, bias, mean, var))
        return (scale * (x - mean) / np.sqrt(var + np.float32(epsilon)) + bias,)


def golden_network(shared, name):
    for start, pattern in FILES.items():
        if name.startswith(start):
            rest = name[len(start):]
            rest = {"avgpool": "avg", "maxpool": "max"}.get(rest, rest)
            found = sorted(glob.glob(str(shared / "corpus" / pattern.format(rest))))
            if found:
                return found[0]
    for folder in ("golden", "golden/nets"):
        for suffix in (".onnx", ".onnx.gz"):
            path = shared / folder / (name + suffix)
            if path.exists():
                return str(path)
    return None


def cases():
    """(name, network, file of boxes, number of them)"""
    for path in sorted((SOURCE / "models").glob("*.onnx")):
        box = SOURCE / "models" / "boxes" / (path.stem + ".json")
        yield path.stem, str(path), str(box) if box.exists() else None, 1
    if "BF_SHARED" not in os.environ:
        return
    shared = pathlib.Path(os.environ["BF_SHARED"])
    for path in sorted((shared / "golden").glob("*.json")):
        boxes = json.loads(path.read_text())
        network = golden_network(shared, boxes.get("network", ""))
        if network and "boxes" in boxes:
            yield path.stem, network, str(path), len(boxes["boxes"])


def evaluators(model):
    """Functions of one flat point: name -> y."""
    made = {}
    shapes = [(value.name, [d.dim_value or 1 for d in value.type.tensor_type.shape.dim])
              for value in model.graph.input
              if value.name not in {each.name for each in model.graph.initializer}]

    def feed(x):
        parts, used = {}, 0
        for name, shape in shapes:
            count = int(np.prod(shape))
            parts[name] = x[used:used + count].reshape(shape)
            used += count
        return parts

    def flat(results):
        return np.concatenate([np.asarray(y, np.float32).ravel() for y in results])

    for name, level in (("onnxruntime", onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL),
                        ("plain", onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = level
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                               providers=["CPUExecutionProvider"])
        made[name] = lambda x, session=session: flat(session.run(None, feed(x)))
    reference = ReferenceEvaluator(model, new_ops=[BatchNormalization])
    made["numpy"] = lambda x: flat(reference.run(None, feed(x)))
    return made


def bounds_of(network, box, index, method):
    command = [BF_AOT, "run", network, "--box", box, "--index", str(index), "--method", method,
               "--semantics", "float32", "--json", "--repeat", "1", "--jit", "off"]
    process = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if process.returncode != 0:
        return process.stderr.split("\n")[0][:100]
    outputs = json.loads(process.stdout)["outputs"]
    return [np.array(outputs[side], np.float64) for side in ("lower", "upper")]


def ends_of(box, index):
    boxes = json.loads(pathlib.Path(box).read_text())
    one = boxes["boxes"][index] if "boxes" in boxes else boxes
    return [np.array(one[side], np.float64).ravel() for side in ("lower", "upper")]


def points_in(lower, upper, count, random):
    low, high = lower.astype(np.float32), upper.astype(np.float32)
    for i in range(count):
        t = random.random(low.shape)
        if i % 2:
            t = np.round(t)
        yield np.clip((lower + (upper - lower) * t).astype(np.float32), low, high)


def check(name, network, box, count, random, work):
    raw = pathlib.Path(network).read_bytes()
    model = onnx.load_model_from_string(gzip.decompress(raw) if network.endswith(".gz") else raw)
    runs = evaluators(model)
    if box is None:
        inputs = [value for value in model.graph.input
                  if value.name not in {each.name for each in model.graph.initializer}]
        elements = sum(int(np.prod([d.dim_value or 1 for d in value.type.tensor_type.shape.dim]))
                       for value in inputs)
        box = str(pathlib.Path(work) / (name + ".json"))
        pathlib.Path(box).write_text(json.dumps({"lower": [-1] * elements, "upper": [1] * elements}))
    evaluated, used = 0, 0.0
    for index in range(count):
        found = {method: bounds_of(network, box, index, method) for method in METHODS}
        for method, bounds in found.items():
            if isinstance(bounds, str):
                return f"refused: {bounds}", 0
        lower, upper = ends_of(box, index)
        for i, x in enumerate(points_in(lower, upper, POINTS, random)):
            for run, evaluate in runs.items():
                if run == "numpy" and i >= 3:
                    continue
                y = evaluate(x).astype(np.float64)
                evaluated += 1
                for method, (low, high) in found.items():
                    if not (np.all(low <= y) and np.all(y <= high)):
                        return f"{run} is outside of {method} of box {index}", -1
            if i >= POINT_BOXES:
                continue
            # The point alone: what is left of the width is rounding.
            alone = str(pathlib.Path(work) / "point.json")
            pathlib.Path(alone).write_text(json.dumps({"lower": x.astype(float).tolist(),
                                                       "upper": x.astype(float).tolist()}))
            low, high = bounds_of(network, alone, 0, "crown")
            for run, evaluate in runs.items():
                y = evaluate(x).astype(np.float64)
                evaluated += 1
                if not (np.all(low <= y) and np.all(y <= high)):
                    return f"{run} is outside of the bounds of a point in box {index}", -1
                reach = np.abs(y - (low + high) / 2) / np.maximum((high - low) / 2, 1e-300)
                used = max(used, float(np.max(reach)))
    return f"{evaluated:>5} evaluations inside, up to {used:.3f} of the bounds of points", evaluated


def main():
    print(f"onnxruntime {onnxruntime.__version__}, numpy {np.__version__}, onnx {onnx.__version__}")
    random = np.random.default_rng(int(os.environ.get("BF_SEED", "1")))
    total, failed = 0, 0
    with tempfile.TemporaryDirectory() as work:
        for name, network, box, count in cases():
            try:
                text, evaluated = check(name, network, box, count, random, work)
            except (onnxruntime.capi.onnxruntime_pybind11_state.Fail, RuntimeError) as error:
                text, evaluated = f"not run: {str(error).splitlines()[0][:80]}", 0
            failed += evaluated < 0
            total += max(evaluated, 0)
            print(f"{name:<24} {text}", flush=True)
    print(f"{total} evaluations")
    return 1 if failed or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
