#!/usr/bin/env python3
"""Integers that leave their type: bounds of random boxes against ONNX's reference evaluator and ONNX Runtime.

  integers.py PROGRAM [SEED] [ROUNDS]   PROGRAM is bf-aot. Fails where a value lies outside of its bounds.

Needs numpy, onnx and onnxruntime of PyPI, which the Python that BF_RUNTIMES_PYTHON names may have; without them it ends
with 77, which CTest takes as skipped. Values of both
evaluators count, but for ReduceSumSquare of the reference evaluator, whose results leave the type.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import runtimes  # noqa: E402,F401  (another Python, if it must be)
import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

TYPES = {
    TensorProto.INT8: np.int8, TensorProto.UINT8: np.uint8, TensorProto.INT16: np.int16, TensorProto.UINT16: np.uint16,
    TensorProto.INT32: np.int32, TensorProto.UINT32: np.uint32, TensorProto.INT64: np.int64,
}
SAMPLES = 12


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs, [output], **attributes)


def tensor(name, kind, values):
    values = np.asarray(values)
    return helper.make_tensor(name, kind, values.shape, values.reshape(-1).tolist())


class Check:
    def __init__(self, program, seed):
        self.program, self.random = program, np.random.default_rng(seed)
        self.folder = tempfile.TemporaryDirectory()
        self.wrong = self.runs = 0

    def box(self, count, low, high):
        ends = np.sort(self.random.integers(low, high + 1, (2, count)), axis=0)
        kind = self.random.random()
        if kind < 0.4:
            ends[1] = ends[0]
        elif kind < 0.7:
            ends[1] = np.minimum(ends[0] + self.random.integers(0, 5, count), high)
        return ends

    def values(self, model, x):
        def reference():
            return ReferenceEvaluator(model).run(None, {"x": x})

        def runtime():
            return onnxruntime.InferenceSession(model.SerializeToString(),
                                                providers=["CPUExecutionProvider"]).run(None, {"x": x})

        evaluators = [runtime] if any(n.op_type == "ReduceSumSquare" for n in model.graph.node) else [reference, runtime]
        for evaluate in evaluators:
            try:
                yield np.asarray(evaluate()[0]).astype(np.float64).reshape(-1)
            except Exception:  # pylint: disable=broad-except
                pass  # an evaluator that does not take the type says nothing

    def check(self, what, nodes, kind, shape, made, constants, low, high, real=False):
        """Nodes from 'xi' to 'yi' on `kind`; the input is real and cast to it where `real`."""
        first = node("Cast", ["x"], "xi", to=kind) if real else node("Identity", ["x"], "xi")
        graph = helper.make_graph(
            [first] + nodes + [node("Cast", ["yi"], "y", to=TensorProto.FLOAT)], "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT if real else kind, shape)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, made)], constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
        folder = pathlib.Path(self.folder.name)
        onnx.save(model, folder / "m.onnx")
        lower, upper = self.box(int(np.prod(shape)), low, high)
        (folder / "box.json").write_text(json.dumps({"lower": lower.tolist(), "upper": upper.tolist()}))
        points = [lower, upper] + [self.random.integers(lower, upper + 1) for _ in range(SAMPLES)]
        for method in ("ibp", "crown"):
            self.runs += 1
            done = subprocess.run([self.program, "run", folder / "m.onnx", "--box", folder / "box.json", "--method", method,
                                   "--json"], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                self.wrong += 1
                print(f"{what} of type {kind}: {done.stderr.strip()}")
                return
            bounds = json.loads(done.stdout)["outputs"]
            least, most = (np.array([float(v) for v in bounds[end]]) for end in ("lower", "upper"))
            for x in points:
                for y in self.values(model, x.reshape(shape).astype(np.float32 if real else TYPES[kind])):
                    y = y.astype(np.float32).astype(np.float64)
                    slack = 2.0 ** -23 * abs(y)  # the last cast rounds to float32
                    if np.any(y < least - slack) or np.any(y > most + slack):
                        self.wrong += 1
                        print(f"{what} of type {kind} by {method} at {x}: {y} outside of {least} to {most}")
                        return


def check_type(test, kind, values):
    limits = np.iinfo(values)
    low, high = max(limits.min, -2 ** 31), min(limits.max, 2 ** 31 - 1)
    if kind == TensorProto.INT64:
        low, high = -2 ** 40, 2 ** 40
    three = tensor("c", kind, test.random.integers(low, high + 1, 3))
    small = tensor("c", kind, test.random.integers(1, 50, 3))
    for op in ("Add", "Sub", "Mul"):
        halves = helper.make_node("Split", ["xi"], ["a", "b"], axis=0, num_outputs=2)
        test.check(op, [halves, node(op, ["a", "b"], "yi")], kind, [6], [3], [], low, high)
        test.check(op + " of a constant", [node(op, ["xi", "c"], "yi")], kind, [3], [3], [three], low, high)
    for op in ("Abs", "Neg") if limits.min < 0 else ("Abs",):
        test.check(op, [node(op, ["xi"], "yi")], kind, [3], [3], [], low, high)
    test.check("square", [node("Mul", ["xi", "xi"], "yi")], kind, [3], [3], [], low, high)
    test.check("Pow", [node("Pow", ["xi", "c"], "yi")], kind, [3], [3], [tensor("c", kind, [2, 2, 2])], low, high)
    for op in ("Div", "Mod"):
        test.check(op, [node(op, ["xi", "c"], "yi")], kind, [3], [3], [small], low, high)
    thirds = helper.make_node("Split", ["xi"], ["a", "b", "d"], axis=0, num_outputs=3)
    test.check("Sum", [thirds, node("Sum", ["a", "b", "d"], "yi")], kind, [6], [2], [], low, high)
    for op in ("ReduceSum", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceMean", "ReduceMax"):
        test.check(op, [node(op, ["xi"], "yi", keepdims=1)], kind, [4], [1], [], low, high)
    axis = helper.make_tensor("axis", TensorProto.INT64, [], [0])
    test.check("CumSum", [node("CumSum", ["xi", "axis"], "yi")], kind, [4], [4], [axis], low, high)
    column = tensor("c", kind, test.random.integers(low, high + 1, (3, 1)))
    test.check("MatMul", [node("MatMul", ["xi", "c"], "yi")], kind, [2, 3], [2, 1], [column], low, high)
    for other in TYPES:
        if other != kind:
            casts = [node("Cast", ["xi"], "z", to=other), node("Cast", ["z"], "yi", to=kind)]
            test.check(f"Cast to {other} and back", casts, kind, [3], [3], [], low, high)
    if limits.bits <= 16:
        test.check("Cast of real numbers", [node("Identity", ["xi"], "yi")], kind, [3], [3], [], -70000, 70000, real=True)
    if limits.bits == 8:
        scales = helper.make_tensor("s", TensorProto.FLOAT, [4], [1, 1, 2, 2])
        test.check("Resize", [node("Resize", ["xi", "", "s"], "yi", mode="linear")], kind, [1, 1, 2, 2], [1, 1, 4, 4],
                   [scales], low, high)
    if kind in (TensorProto.INT32, TensorProto.INT64):
        test.check("ReduceLogSum", [node("ReduceLogSum", ["xi"], "yi")], kind, [4], [1], [], 1, 1000)
        test.check("ReduceLogSumExp", [node("ReduceLogSumExp", ["xi"], "yi")], kind, [4], [1], [], -5, 5)


def main():
    warnings.filterwarnings("ignore")
    onnxruntime.set_default_logger_severity(4)
    test = Check(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    for _ in range(int(sys.argv[3]) if len(sys.argv) > 3 else 1):
        for kind, values in TYPES.items():
            check_type(test, kind, values)
    print(f"{test.runs} runs, {test.wrong} wrong")
    return 1 if test.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
