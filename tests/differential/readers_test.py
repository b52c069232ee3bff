#!/usr/bin/env python3
"""readers_test.py BF_AOT BF_CHECK CHECK_MANY SOURCE COUNT: how five programs understand one file.

Models and properties whose bytes and messages are changed are read by the package onnx, ONNX Runtime, bf-aot, bf-check's
library and the twin. Where a checker takes a model, its outputs at a point must be those of onnx's reference evaluator
or of ONNX Runtime; where both checkers take a property, they must find the same points and the same cases in it.

Needs the Python packages numpy, onnx and onnxruntime, which BF_RUNTIMES_PYTHON may have. BF_SEED=n repeats a run."""

import collections
import hashlib
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
from fractions import Fraction

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "support"), str(TESTS / "schemas")]
import runtimes  # noqa: E402,F401  (another Python, if it must be)

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

from disputed import DISPUTED, WRONG  # noqa: E402

BF_AOT, BF_CHECK, CHECK_MANY, SOURCE, COUNT = *sys.argv[1:4], pathlib.Path(sys.argv[4]), int(sys.argv[5])
sys.path.insert(0, str(SOURCE / "aot" / "check"))
import bf_check as twin  # noqa: E402

sys.setrecursionlimit(20000)
SLACK = Fraction(1, 10000)
rng = random.Random(int(os.environ.get("BF_SEED", 1)))


class Checker:
    def __init__(self):
        self.process = subprocess.Popen([CHECK_MANY], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, data, text, certificate):
        sized = b"".join(struct.pack("<I", len(x)) + x for x in (data, text, certificate))
        self.process.stdin.write(struct.pack("<I", 1) + sized)
        self.process.stdin.flush()
        return int(self.process.stdout.read(1))


def asked_of_twin(data, text, certificate):
    try:
        return {1: 0, 2: 3}[twin.check([data], text, certificate, 2**21)]
    except twin.NotProven:
        return 4
    except Exception:  # whatever goes wrong is a refusal
        return 1


def at_point(data, text, values):
    words = [str(value).encode() for value in values]
    digests = b"".join(hashlib.sha256(x).digest() for x in (data, text))
    return (b"BFC2" + bytes([2, 0, 44, 36, 40, 1]) + digests + b"\0" +
            b"".join(bytes([len(word)]) + word for word in words))


# ---- Models ----------------------------------------------------------------------------------------------------------

def some(*shape):
    return rng.choices([x / 8 for x in range(-8, 9)], k=int(np.prod(shape)))


def models():
    def made(nodes, tensors, shape, out, more=(), raw=True):
        constants = [numpy_helper.from_array(np.array(values, dtype).reshape(dims), name) if raw else
                     helper.make_tensor(name, TensorProto.INT64 if dtype == np.int64 else TensorProto.FLOAT, dims, values)
                     for name, dims, values, dtype in tensors]
        value = lambda name, dims: helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)  # noqa: E731
        graph = helper.make_graph(nodes, "g", [value("x", shape), *more], [value("y", out)], constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()

    f, node = np.float32, helper.make_node
    dense = [node("Gemm", ["x", "w", "b"], ["z"], transB=1, alpha=0.5), node("Relu", ["z"], ["r"]),
             node("MatMul", ["r", "v"], ["y"])]
    for raw in (True, False):
        yield made(dense, [("w", (3, 2), some(3, 2), f), ("b", (3,), some(3), f), ("v", (3, 2), some(3, 2), f)],
                   (1, 2), (1, 2), raw=raw)
    as_input = helper.make_tensor_value_info("v", TensorProto.FLOAT, (3, 2))
    yield made(dense, [("w", (3, 2), some(3, 2), f), ("b", (3,), some(3), f), ("v", (3, 2), some(3, 2), f)],
               (1, 2), (1, 2), more=[as_input])
    image = [node("Reshape", ["x", "s"], ["i"]), node("Conv", ["i", "k", "c"], ["j"], pads=[1, 0, 1, 0], strides=[1, 1]),
             node("MaxPool", ["j"], ["m"], kernel_shape=[2, 1]), node("Flatten", ["m"], ["h"]),
             node("Transpose", ["h"], ["t"], perm=[0, 1]), node("MatMul", ["t", "v"], ["y"])]
    yield made(image, [("s", (4,), [1, 1, 2, 2], np.int64), ("k", (2, 1, 2, 1), some(4), f), ("c", (2,), some(2), f),
                       ("v", (8, 2), some(16), f)], (1, 4), (1, 2))
    smooth = [node("Add", ["x", "b"], ["a"]), node("Sigmoid", ["a"], ["s"]), node("Tanh", ["a"], ["t"]),
              node("Sub", ["s", "t"], ["d"]), node("Mul", ["d", "c"], ["y"])]
    yield made(smooth, [("b", (2,), some(2), f), ("c", (1, 2), some(2), f)], (1, 2), (1, 2), raw=False)


# Fields that are messages, by kind of message.
PARTS = {"file": {7: "graph", 8: "set"}, "graph": {1: "node", 5: "tensor", 11: "value", 12: "value"},
         "node": {5: "attribute"}, "attribute": {5: "tensor"}, "value": {2: "type"}, "type": {1: "kind"},
         "kind": {2: "shape"}, "shape": {1: "extent"}}


def varint(number):
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)


def fields_of(data):
    at, fields = 0, []
    while at < len(data):
        key, at = twin.varint(data, at)
        wire = key & 7
        value, at = twin.varint(data, at) if wire in (0, 2) else ({1: 8, 5: 4}[wire], at)
        fields.append([key, value if wire == 0 else data[at:at + value]])
        at += 0 if wire == 0 else value
    return fields


def packed(fields):
    return b"".join(varint(key) + (varint(value) if key & 7 == 0 else value if key & 7 in (1, 5) else
                                   varint(len(value)) + value) for key, value in fields)


def changed_message(data, kind="file"):
    """One change in one message, often within another one."""
    fields = fields_of(data)
    inner = [field for field in fields if field[0] >> 3 in PARTS.get(kind, {})]
    if inner and rng.randrange(4):
        field = rng.choice(inner)
        field[1] = changed_message(field[1], PARTS[kind][field[0] >> 3])
        return packed(fields)
    if not fields:
        return data
    field, what = rng.choice(fields), rng.randrange(9)
    if what == 0:
        fields.insert(rng.randrange(len(fields) + 1), list(field))
    elif what == 1:
        fields.remove(field)
    elif what == 2:
        rng.shuffle(fields)
    elif what == 3:  # numbers in one field become numbers each in its own, or two fields
        half = len(field[1]) // 2 if isinstance(field[1], bytes) else 0
        if half:
            i = fields.index(field)
            fields[i:i + 1] = [[field[0], field[1][:half]], [field[0], field[1][half:]]]
    elif what == 4:
        number = field[0] >> 3
        values = field[1] if isinstance(field[1], bytes) else varint(field[1])
        fields.append([number << 3 | 2, values])
    elif what == 5:
        field[0] = (field[0] >> 3 ^ 1 << rng.randrange(4)) << 3 | field[0] & 7
    elif what == 6 and isinstance(field[1], int):
        field[1] = rng.choice((0, 1, 2, 3, field[1] + 1, 2**64 - 1, 2**32))
    elif what == 6:
        field[1] = changed_bytes(field[1])
    elif what == 7:
        other = rng.choice(fields)
        field[1], other[1] = (other[1], field[1]) if type(field[1]) is type(other[1]) else (field[1], other[1])
    else:
        fields += [[key, value] for key, value in fields if rng.randrange(3) == 0]
    return packed(fields)


def changed_bytes(data):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2))):
        if data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def outputs_by_others(data, x, reference=True):
    """What ONNX Runtime and, if it is asked, onnx's evaluator make of x, each where it takes the file."""
    found = []
    try:
        session = onnxruntime.InferenceSession(data, QUIET, providers=["CPUExecutionProvider"])
        names = [value.name for value in session.get_inputs()]
        shape = [n if isinstance(n, int) else 1 for n in session.get_inputs()[0].shape]
        found.append(session.run(None, {names[0]: x.reshape(shape)})[0].ravel() if len(names) == 1 else None)
    except Exception:
        pass
    try:
        if not reference:
            return found
        read = onnx.load_from_string(data)
        given = [value for value in read.graph.input if value.name not in {t.name for t in read.graph.initializer}]
        shape = [d.dim_value if d.HasField("dim_value") else 1 for d in given[0].type.tensor_type.shape.dim]
        found.append(ReferenceEvaluator(read).run(None, {given[0].name: x.reshape(shape)})[0].ravel()
                     if len(given) == 1 else None)
    except Exception:
        pass
    return [values for values in found if values is not None and np.all(np.isfinite(values))]


QUIET = onnxruntime.SessionOptions()
QUIET.log_severity_level = 4
QUIET.intra_op_num_threads = 1
QUIET.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
onnxruntime.set_default_logger_severity(4)


def near(inputs, values):
    """The property that outputs are near values, for inputs in [-4, 4]."""
    names = [f"Y_{i}" for i in range(len(values))]
    text = "".join(f"(declare-const X_{i} Real)(assert (<= -4 X_{i} 4))" for i in range(inputs))
    for name, value in zip(names, values):
        slack = SLACK * (1 + abs(Fraction(float(value))))
        ends = [Fraction(float(value)) - slack, Fraction(float(value)) + slack]
        low, high = (f"{'-' if end < 0 else ''}{abs(end).numerator * 10**12 // abs(end).denominator}e-12" for end in ends)
        text += f"(declare-const {name} Real)(assert (and (>= {name} {low}) (<= {name} {high})))"
    return text.encode()


def compare_models(check, counts):
    bases = list(models())
    for k in range(COUNT):
        data = bases[k % len(bases)]
        if k >= len(bases):
            try:
                data = changed_message(data) if rng.randrange(4) else changed_bytes(data)
            except (twin.Refused, KeyError, IndexError):
                continue
        inputs = 4 if k % len(bases) == 3 else 2
        point = [Fraction(rng.randrange(-16, 17), 8) for _ in range(inputs)]
        others = outputs_by_others(data, np.array([float(x) for x in point], np.float32))
        texts = [near(inputs, values) for values in others] or [near(inputs, [0, 0])]
        for name, ask in (("bf-check", check), ("twin", asked_of_twin)):
            codes = [ask(data, text, at_point(data, text, point)) for text in texts]
            if k < len(bases) and 3 not in codes:
                fail(f"{name} does not understand a model that nobody changed", data, codes)
            taken = any(code != 1 for code in codes)
            counts[f"{name}: models taken"] += taken
            counts[f"{name}: models that no other reads"] += taken and not others
            if taken and others and 3 not in codes:
                fail(f"{name} understands a model otherwise: {codes}, {others}", data, texts[0])
        if others and k % 40 < 2:
            compare_bf_aot(data, point, texts, counts)


def compare_bf_aot(data, point, texts, counts):
    codes = []
    for text in texts:
        box = "".join(f"(assert (= X_{i} {float(x)!r}))" for i, x in enumerate(point)).encode()
        with tempfile.TemporaryDirectory() as folder:
            files = [os.path.join(folder, name) for name in ("m.onnx", "p.vnnlib")]
            for path, content in zip(files, (data, text + box)):
                pathlib.Path(path).write_bytes(content)
            codes.append(subprocess.run([BF_AOT, "verify", *files, "--jit", "off"], capture_output=True).returncode)
    counts["bf-aot: models taken"] += any(code in (0, 3) for code in codes)
    if 0 in codes and 3 not in codes:
        fail(f"bf-aot understands a model otherwise: {codes}", data, texts[0])


# ---- Operators -------------------------------------------------------------------------------------------------------

def ones_in(shape):
    return [rng.choice((1, extent)) for extent in shape]


def windows(axes):
    """Attributes of a window, and its shape."""
    if axes < 1:
        raise ValueError("no axes")
    attributes, shape = {}, [rng.randrange(1, 4) for _ in range(axes)]
    for name in ("strides", "dilations"):
        if rng.randrange(2):
            attributes[name] = [rng.randrange(1, 3) for _ in range(axes)]
    if rng.randrange(2):
        attributes["pads"] = [rng.randrange(2) for _ in range(2 * axes)]
    elif "dilations" not in attributes:
        attributes["auto_pad"] = rng.choice(("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"))
    return attributes, shape


def a_node(shape, opset):
    """The operator, its inputs, its attributes and its constants; or what x becomes before it, too."""
    axes, axis, number = len(shape), rng.randrange(-len(shape), len(shape)), rng.choice((0.25, -0.5, 2.0))
    some_axes = rng.sample(range(axes), rng.randrange(1, axes + 1))
    op = rng.choice(OPERATORS)
    if op in ("Conv", "ConvTranspose"):
        attributes, kernel = windows(axes - 2)
        if op == "ConvTranspose":
            attributes.pop("auto_pad", None)
        return op, ["x", "k"], attributes, {"k": some_of(2, shape[1], *kernel) if op == "Conv" else some_of(shape[1], 2, *kernel)}
    if op in ("MaxPool", "AveragePool"):
        attributes, kernel = windows(axes - 2)
        if op == "AveragePool":
            attributes.pop("dilations", None)
        return op, ["x"], {"kernel_shape": kernel, **attributes}, {}
    if op in ("Add", "Sub", "Mul", "Div", "Max", "Min", "PRelu"):
        other = some_of(*ones_in(shape))
        return op, ["x", "k"], {}, {"k": np.where(other == 0, 1, other).astype(np.float32)}
    if op == "Pow":
        return op, ["x", "k"], {}, {"k": np.float32(rng.randrange(8))}
    if op == "MatMul":
        return op, ["x", "k"], {}, {"k": some_of(shape[-1], 2)}
    if op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin"):
        as_input = opset >= (13 if op == "ReduceSum" else 18)
        return (op, ["x", "a"], {"keepdims": rng.randrange(2)}, {"a": np.array(some_axes)}) if as_input else (
            op, ["x"], {"axes": some_axes, "keepdims": rng.randrange(2)}, {})
    if op in ("Softmax", "LogSoftmax", "Flatten"):
        return op, ["x"], {"axis": axis}, {}
    if op == "LayerNormalization":
        return op, ["x", "k"], {"axis": axis, "epsilon": 0.125}, {"k": some_of(*shape[axis:])}
    if op == "Transpose":
        return op, ["x"], {"perm": rng.sample(range(axes), axes)}, {}
    if op == "Gather":
        indices = [rng.randrange(-shape[axis], shape[axis]) for _ in range(rng.randrange(1, 4))]
        return op, ["x", "i"], {"axis": axis}, {"i": np.array(indices)}
    if op == "Slice":
        ends = [np.array([rng.randrange(-4, 5) for _ in some_axes]) for _ in range(2)]
        return op, ["x", "s", "e", "a"], {}, {"s": ends[0], "e": ends[1], "a": np.array(some_axes)}
    if op == "Concat":
        return op, rng.choice((["x", "k"], ["k", "x", "x"])), {"axis": axis}, {"k": some_of(*shape)}
    if op == "Pad":
        pads = np.array([rng.randrange(2) for _ in range(2 * axes)])
        return op, ["x", "p"], {"mode": rng.choice(("constant", "edge"))}, {"p": pads}
    if op == "Where":
        mask = np.array([rng.randrange(2) for _ in range(int(np.prod(shape)))], bool).reshape(shape)
        return op, ["m", *rng.choice((["x", "k"], ["k", "x"]))], {}, {"m": mask, "k": some_of(*ones_in(shape))}
    if op in ("LeakyRelu", "Elu"):
        return op, ["x"], {"alpha": number}, {}
    return op, ["x"], {}, {}


OPERATORS = ("Abs Add Atan AveragePool Ceil Concat Conv ConvTranspose Cos Div Elu Erf Exp Flatten Floor Gather "
             "GlobalAveragePool HardSigmoid HardSwish LayerNormalization LeakyRelu LogSoftmax MatMul Max MaxPool Min Mish Mul "
             "Neg PRelu Pad Pow ReduceMax ReduceMean ReduceMin ReduceSum Round Selu Sigmoid Sign Sin Slice Softmax Softplus "
             "Softsign Sub Tanh Transpose Where").split()


def some_of(*shape):
    return np.array(some(*shape), np.float32).reshape(shape)


def disputed(op, opset, attributes):
    """Whether onnx's evaluator is known to be wrong. MaxPool begins behind the first element where strides exceed windows,
    which ONNX Runtime refuses."""
    strides = attributes.get("strides", ())
    if op == "MaxPool" and "auto_pad" in attributes and any(a > b for a, b in zip(strides, attributes["kernel_shape"])):
        return True
    name = f"{op}@{opset} " + " ".join(f"{key}={value}" for key, value in attributes.items())
    return any(kinds is WRONG and pattern.search(name) for pattern, kinds, _ in DISPUTED)


def compare_operators(check, counts):
    for k in range(COUNT):
        opset, axes = rng.choice((11, 13, 17, 18, 21)), rng.randrange(1, 5)
        shape = [rng.randrange(1, 4) for _ in range(axes)]
        try:
            op, inputs, attributes, constants = a_node(shape, opset)
        except (IndexError, ValueError):  # an operator that needs more axes
            continue
        value = lambda name, dims: helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)  # noqa: E731
        graph = helper.make_graph([helper.make_node(op, inputs, ["y"], **attributes)], "g", [value("x", shape)],
                                  [value("y", None)], [numpy_helper.from_array(x, n) for n, x in constants.items()])
        opset = max(opset, {"Mish": 18, "HardSwish": 14, "LayerNormalization": 17}.get(op, 1))
        data = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8).SerializeToString()
        point = [Fraction(rng.randrange(-127, 128), 64) for _ in range(int(np.prod(shape)))]
        at = np.array([float(x) for x in point], np.float32)
        others = outputs_by_others(data, at, not disputed(op, opset, attributes))
        for name, ask in (("bf-check", check), ("twin", asked_of_twin)):
            codes = [ask(data, text, at_point(data, text, point)) for text in (near(len(point), y) for y in others)]
            if codes and 3 not in codes and set(codes) != {1}:
                fail(f"{name} evaluates {op} {attributes} {shape} otherwise: {codes}, {others}", data, near(len(point), others[0]))
            counts[f"{name}: operators evaluated"] += 3 in codes


# ---- Properties ------------------------------------------------------------------------------------------------------

TEXTS = [
    b"(declare-const X_0 Real)(declare-const X_1 Real)\n(declare-const Y_0 Real)(declare-const Y_1 Real)\n"
    b"(assert (<= -1 X_0 1))(assert (>= X_1 -1.5))(assert (<= X_1 1e0))\n"
    b"(assert (or (and (>= Y_0 0.25) (< Y_1 (* 2 X_0))) (not (<= (+ Y_0 Y_1 -.5) 0)) (= X_0 Y_1))) ; end\n(check-sat)",
    b"(vnnlib-version <2.0>)(declare-network f (declare-input X Real [1,2]) (declare-output Y Real [1,2]))\n"
    b"(assert (and (<= -1 X[0,0]) (<= X[0,0] 1) (<= -1 X[0,1] 1)))\n(assert (or (>= Y[0,0] Y[0,1]) (> (- X[0,1]) 0.5)))"]
WORDS = [b"(", b")", b" ", b"and", b"or", b"not", b"X_0", b"X_1", b"Y_0", b"Y_1", b"<=", b"<", b">=", b"=", b"0", b"1", b"-",
         b".5", b"e1", b"[0,1]", b"[0, 1]", b"(assert true)", b"(check-sat)", b"(exit)", b";", b"\n", b"Real", b"(or)",
         b"(declare-const X_2 Real)", b"+", b"*", b"true", b"|"]


def changed_text(text):
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at = rng.randrange(len(text))
        end = at + rng.choice((0, 0, 1, 2, 5))
        text = text[:at] + rng.choice(WORDS) * rng.randrange(2) + text[end:]
    return text


def cases_of_twin(text):
    """As bf-check --print has them."""
    def shown(v):
        return f"P_{v - 2**32}" if v >= 2**32 else f"X_{v}" if v >= 0 else f"Y_{~v}"

    lines, order = [], lambda v: (v < 0, v if v >= 0 else ~v) if v < 2**32 else (2, v)  # noqa: E731
    for ends, clauses in twin.Property(text.decode("latin-1")).cases.items():
        lines += ["case"] + [f"X_{i} {low} {high}" for i, (low, high) in enumerate(ends)]
        for clause in clauses:
            lines.append("clause")
            for terms, constant, strict in clause:
                words = [f"{terms[v]} {shown(v)}" for v in sorted(terms, key=order)] + [str(constant)]
                lines.append(" + ".join(words) + (" < 0" if strict else " <= 0"))
    return lines


def cases_of_bf_check(data, text):
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, name) for name in ("m.onnx", "p.vnnlib", "c.bfc")]
        for path, content in zip(files, (data, text, at_point(data, text, [0, 0]))):
            pathlib.Path(path).write_bytes(content)
        lines = subprocess.run([BF_CHECK, "--print", *files], capture_output=True, text=True).stdout.splitlines()
    lines = [line.strip() for line in lines]
    return lines[lines.index("case"):] if "case" in lines else []


def compare_properties(check, counts):
    data = next(models())
    for k in range(COUNT):
        text = changed_text(TEXTS[k % len(TEXTS)]) if k >= len(TEXTS) else TEXTS[k]
        found = set()
        for _ in range(3):
            certificate = at_point(data, text, [Fraction(rng.randrange(-16, 17), 8) for _ in range(2)])
            codes = check(data, text, certificate), asked_of_twin(data, text, certificate)
            found.update(codes)
            if 1 not in codes and codes[0] != codes[1]:
                fail(f"bf-check and the twin understand a property otherwise: {codes}", data, text)
            if k < len(TEXTS) and 1 in codes:
                fail("a property that nobody changed is refused", data, text)
            counts["properties that one checker alone takes"] += codes.count(1) == 1
        counts["properties taken by both"] += 1 not in found
        if 1 not in found and k % 10 < 2:
            cases = cases_of_twin(text), cases_of_bf_check(data, text)
            if cases[0] != cases[1]:
                fail(f"bf-check and the twin find other cases: {cases}", data, text)
            counts["properties whose cases are the same"] += 1


def fail(why, data, text):
    print(f"FAILED: {why}\nmodel: {data.hex()}\nproperty: {text!r}")
    sys.exit(1)


def main():
    check, counts = Checker(), collections.Counter()
    compare_models(check, counts)
    compare_operators(check, counts)
    compare_properties(check, counts)
    print("; ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    if min(counts[f"{name}: models taken"] for name in ("bf-check", "twin", "bf-aot")) * 100 < COUNT // 20:
        sys.exit("FAILED: hardly any model was taken, so that nothing is compared")


main()
