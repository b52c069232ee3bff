#!/usr/bin/env python3
"""Every operator that the importer reads, in every version, against what others make of it.

    walk.py walk SCHEMA_CASES [OPERATOR...]    compares; a line for each that differs; fails if any is not known
    walk.py float32 SCHEMA_CASES [OPERATOR...] values of both, strictly, against bounds of --semantics float32
    walk.py sample SCHEMA_CASES FILE           writes FILE, the cases of the test schemas.sample

Cases are models of one node: the forms of recipes.py; each with every attribute of the version's schema at its
default, and at values of its type that are empty, extreme or out of range; with optional inputs and outputs left
out; with attributes of other versions. SCHEMA_CASES (check_cases.cpp) bounds them at one point. They are compared
with the reference evaluator of the package onnx and with ONNX Runtime, where these have a value. Operators of other
domains, of which contributed.py has forms, are compared with ONNX Runtime. Needs numpy, onnx and onnxruntime, which the
Python that BF_RUNTIMES_PYTHON names may have.
"""

import collections
import gzip
import multiprocessing
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import runtimes  # noqa: E402,F401  (another Python, if it must be)
import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

import contributed  # noqa: E402  (beside this file)
import recipes  # noqa: E402
from disputed import DISPUTED  # noqa: E402

NEWEST = 28
DOMAINS = {"com.microsoft": 1, "ai.onnx.ml": 5}  # with the versions that cases are of
INT = onnx.defs.OpSchema.AttrType.INT
INTS = onnx.defs.OpSchema.AttrType.INTS
FLOAT = onnx.defs.OpSchema.AttrType.FLOAT
FLOATS = onnx.defs.OpSchema.AttrType.FLOATS
STRING = onnx.defs.OpSchema.AttrType.STRING
# Of each type: values that an oracle may be asked about, and values at which it may take all memory.
TRIED = {INT: ([0, 1, 2, -1, -2, 7], [2**31, 2**63 - 1, -2**63]),
         INTS: ([[], [0], [1, 1], [-1, -1], [2, 1], [0, 0, 0, 0]], [[2**31, 2**31], [2**63 - 1] * 2, [-2**63] * 4]),
         FLOAT: ([0.0, 0.3, -0.7, 2.0], [1e30, -1e30, 3.4e38, float("inf"), float("nan")]),
         FLOATS: ([[], [0.5], [1.0, 1.0]], [[1e30] * 4, [float("nan")]]),
         STRING: (["", "bogus"], ["\\xff" * 300])}
WRONG_TYPE = {INT: 0.5, INTS: 3, FLOAT: 3, FLOATS: [1, 2], STRING: 3}

Case = collections.namedtuple("Case", "name operator model inputs hostile")
Value = collections.namedtuple("Value", "by arrays refusal")


def schemas():
    """operator -> [(schema, first operator set, last one)]"""
    found = collections.defaultdict(list)
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain in ("", "ai.onnx") and schema.name in recipes.FORMS:
            found[schema.name].append(schema)
    made = {}
    for name, versions in sorted(found.items()):
        versions.sort(key=lambda each: each.since_version)
        ends = [each.since_version - 1 for each in versions[1:]] + [NEWEST]
        made[name] = [(schema, schema.since_version, min(end, NEWEST)) for schema, end in zip(versions, ends)
                      if not schema.deprecated and schema.since_version <= NEWEST]
    return made


def attribute(key, value, kind=None):
    if kind is not None and value == []:
        made = onnx.AttributeProto(name=key)
        made.type = {INTS: onnx.AttributeProto.INTS, FLOATS: onnx.AttributeProto.FLOATS}[kind]
        return made
    return helper.make_attribute(key, value)


def case(name, operator, opset, inputs, attributes, outputs=1, hostile=False, kinds=None, domain=""):
    names = ["" if each is None else f"x{i}" for i, each in enumerate(inputs)]
    made = outputs if isinstance(outputs, list) else [f"y{i}" for i in range(outputs)]
    node = onnx.NodeProto(op_type=operator, name="n", domain=domain, input=names, output=made)
    for key, value in attributes.items():
        node.attribute.append(attribute(key, value, (kinds or {}).get(key)))
    given = [(n, each) for n, each in zip(names, inputs) if each is not None]
    graph = onnx.GraphProto(name="g", node=[node])
    free = []
    for n, each in given:
        if each.constant:
            graph.initializer.append(numpy_helper.from_array(each.values, n))
        else:
            free.append((n, each.values))
            graph.input.append(helper.make_tensor_value_info(
                n, helper.np_dtype_to_tensor_dtype(each.values.dtype), each.values.shape))
    if not free:
        graph.input.append(helper.make_tensor_value_info("unread", onnx.TensorProto.FLOAT, [1]))
        free.append(("unread", np.zeros(1, np.float32)))
    for y in filter(None, node.output):
        graph.output.append(onnx.ValueInfoProto(name=y))
    model = onnx.ModelProto(ir_version=8 if opset <= 21 else 10, graph=graph,
                            opset_import=[onnx.OperatorSetIdProto(version=opset)])
    if domain:
        model.opset_import.append(onnx.OperatorSetIdProto(domain=domain, version=DOMAINS[domain]))
    return Case(name, operator, model, free, hostile)


def text_of(value):
    return ("a tensor" if isinstance(value, onnx.TensorProto) else str(value))[:40].replace("\t", " ").replace("\n", " ")


def form_text(i, attributes):
    return f"form {i}" + "".join(f" {key}={text_of(value)}" for key, value in attributes.items())


def forms_of(operator, opset):
    recipes.RANDOM = np.random.default_rng(zlib.crc32(operator.encode()))  # the same for any choice of operators
    for form in recipes.FORMS[operator](opset):
        yield form if len(form) == 3 else (*form, 1)


def cases_of(operator, schema, first, last, others):
    kinds = {key: each.type for key, each in schema.attributes.items()}
    for opset in sorted({first, last}):
        for i, (inputs, attributes, outputs) in enumerate(forms_of(operator, opset)):
            yield case(f"{operator}@{opset} {form_text(i, attributes)}", operator, opset, inputs, attributes, outputs, kinds=kinds)
    forms = list(forms_of(operator, first))
    for i, (inputs, attributes, outputs) in enumerate(forms[:2]):
        base = f"{operator}@{first} {form_text(i, attributes)};"
        for key, given in schema.attributes.items():
            if given.default_value.name:
                default = helper.get_attribute_value(given.default_value)
                default = default.decode() if isinstance(default, bytes) else default
                yield case(f"{base} {key}=default", operator, first, inputs, {**attributes, key: default}, outputs, kinds=kinds)
            if key in attributes:
                rest = {k: v for k, v in attributes.items() if k != key}
                yield case(f"{base} {key} absent", operator, first, inputs, rest, outputs, kinds=kinds)
            plain, hostile = TRIED.get(given.type, ([], []))
            for value in plain + hostile:
                yield case(f"{base} {key}={text_of(value)}", operator, first, inputs, {**attributes, key: value}, outputs,
                           hostile=any(value is each for each in hostile), kinds=kinds)
            if given.type in WRONG_TYPE:
                yield case(f"{base} {key} of another type", operator, first, inputs, {**attributes, key: WRONG_TYPE[given.type]},
                           outputs, hostile=True)
        for key, value in others.items():
            if key not in schema.attributes:
                yield case(f"{base} with {key}", operator, first, inputs, {**attributes, key: value}, outputs)
        for k in range(len(inputs)):
            yield case(f"{base} input {k} left out", operator, first, inputs[:k] + [None] + inputs[k + 1:], attributes, outputs)
            yield case(f"{base} {k} inputs", operator, first, inputs[:k], attributes, outputs)
        yield case(f"{base} one more input", operator, first, inputs + [recipes.C(np.zeros(1, np.float32))], attributes, outputs)
        if outputs == 1:
            yield case(f"{base} 2 outputs", operator, first, inputs, attributes, 2)
        for k, each in enumerate(inputs):
            if each is not None and each.values.ndim > 0 and each.values.size > 0:
                more = recipes.Input(each.values[None], each.constant)
                less = recipes.Input(each.values.reshape(-1)[0], each.constant)
                none = recipes.Input(each.values[:0], each.constant)
                for what, other in (("rank + 1", more), ("scalar", less), ("empty", none)):
                    yield case(f"{base} input {k} {what}", operator, first, inputs[:k] + [other] + inputs[k + 1:], attributes, outputs)


def other_attributes(versions):
    """Attributes of any version, with a value."""
    found = {}
    for schema, _, _ in versions:
        for key, given in schema.attributes.items():
            plain = TRIED.get(given.type, ([],))[0]
            if plain:
                found.setdefault(key, plain[1])
    return found


def contributed_cases(key):
    domain, operator = key.rsplit(".", 1)
    opset, name = 21, f"{operator}@{domain}"
    domain = "" if domain == "ai.onnx" else domain
    recipes.RANDOM = np.random.default_rng(zlib.crc32(key.encode()))
    for i, (inputs, attributes, *rest) in enumerate(contributed.FORMS[key]()):
        outputs = rest[0] if rest else 1
        text = f"{name} {form_text(i, attributes)}"
        yield case(text, operator, opset, inputs, attributes, outputs, domain=domain)
        if i == 0:
            for k in range(len(inputs)):
                yield case(f"{text}; {k} inputs", operator, opset, inputs[:k], attributes, outputs, domain=domain)
            yield case(f"{text}; no attributes", operator, opset, inputs, {}, outputs, domain=domain)
            yield case(f"{text}; another attribute", operator, opset, inputs, {**attributes, "bogus": 1}, outputs, domain=domain)


def is_contributed(case):
    """Names of cases of ONNX's own operators are OPERATOR@SET, those of other domains OPERATOR@DOMAIN."""
    _, _, after = case.name.partition("@")
    return after != "" and not after[0].isdigit()


def all_cases(operators):
    for key in sorted(contributed.FORMS):
        if not operators or key in operators or key.rsplit(".", 1)[1] in operators:
            yield from contributed_cases(key)
    for operator, versions in schemas().items():
        if operators and operator not in operators:
            continue
        others = other_attributes(versions)
        for schema, first, last in versions:
            yield from cases_of(operator, schema, first, last, others)


# ---- the others

class Evaluators:
    """Values by the reference evaluator and by ONNX Runtime without its optimiser."""

    def __init__(self):
        onnxruntime.set_default_logger_severity(4)
        self.options = onnxruntime.SessionOptions()
        self.options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self.options.intra_op_num_threads = 1
        self.options.log_severity_level = 4

    def reference(self, case):
        return ReferenceEvaluator(case.model).run(None, dict(case.inputs))

    def runtime(self, case):
        session = onnxruntime.InferenceSession(case.model.SerializeToString(), self.options, providers=["CPUExecutionProvider"])
        return session.run(None, dict(case.inputs))

    def values(self, case):
        if case.hostile:
            return []
        made = []
        for by in ("runtime",) if is_contributed(case) else ("reference", "runtime"):
            try:
                with np.errstate(all="ignore"):
                    arrays = getattr(self, by)(case)
                made.append(Value(by, np.concatenate([np.asarray(y).astype(np.float64).ravel() for y in arrays]), ""))
            except Exception as error:  # of any kind
                made.append(Value(by, None, str(error).strip().split("\n")[-1][:110] or type(error).__name__))
        return made


# ---- bf-aot

def field(value):
    return struct.pack("<I", len(value)) + value


def record(case, expected="", values=()):
    point = np.concatenate([np.asarray(x).astype(np.float64).ravel() for _, x in case.inputs])
    return b"".join(field(each) for each in (case.name.encode(), case.model.SerializeToString(), expected.encode(),
                                             point.tobytes(), np.asarray(values, np.float64).tobytes()))


Made = collections.namedtuple("Made", "code bounds message")


def run_ours(program, cases):
    """Made for each case; code "abort" where the program ended."""
    made = []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "cases"
        path.write_bytes(b"".join(record(each) for each in cases))
        while len(made) < len(cases):
            result = subprocess.run([program, str(path), str(len(made))], capture_output=True, text=True, check=False, errors="replace")
            lines = [line.split("\t") for line in result.stdout.split("\n") if "\t" in line]
            for line in lines:
                numbers = np.array(line[3].split(), np.float64).reshape(-1, 2) if line[1] == "value" else None
                made.append(Made(line[1], numbers, line[3]))
            if len(made) < len(cases):
                made.append(Made("abort", None, result.stderr.strip().split("\n")[-1][:300]))
    return made


def holds(bounds, value):
    """None: nothing can be said."""
    if bounds.shape[0] != value.size:
        return False
    finite = np.isfinite(value)
    slack = 1e-3 * np.abs(value) + 1e-5
    inside = (bounds[:, 0] <= value + slack) & (bounds[:, 1] >= value - slack)
    return bool(np.all(inside[finite])) if finite.any() or value.size == 0 else None


def same(a, b):
    return a.size == b.size and bool(np.allclose(a, b, rtol=1e-3, atol=1e-5, equal_nan=True))


def judge(case, made, values):
    """(kind, remark); kinds: right, unsaid, aborts, wrong, disputed, accepted (by us alone), refused (by us alone)."""
    if made.code == "abort":
        return "aborts", made.message
    known = [each for each in values if each.arrays is not None]
    refusals = "; ".join(f"{each.by}: {each.refusal}" for each in values if each.arrays is None)
    if made.code != "value":
        return ("refused", f"{made.code} {made.message}") if known else ("right", "refused by all")
    if not values:
        return "unsaid", "hostile, and read"
    if not known:
        silent = "NOT_IMPLEMENTED" in refusals or "runtime: crashed" in refusals
        return ("unsaid" if silent else "accepted"), refusals
    verdicts = [holds(made.bounds, each.arrays) for each in known]
    if all(each is None for each in verdicts):
        return "unsaid", "no finite value"
    if all(each in (True, None) for each in verdicts):
        if len(known) == 1 and known[0].by == "reference" and refusals and "NOT_IMPLEMENTED" not in refusals:
            return "runtime refuses", refusals
        return "right", refusals
    if len(known) == 2 and not same(known[0].arrays, known[1].arrays):
        return "disputed", " but ".join(f"{each.by} {each.arrays[:4]}" for each in known) + f", bounds {made.bounds[:4].tolist()}"
    if len(known) == 2 or "reference" not in [each.by for each in known]:
        return "wrong", f"{known[0].arrays[:6]}, bounds {made.bounds[:6].tolist()}; {refusals}"
    return "against the reference alone", f"{known[0].arrays[:6]}, bounds {made.bounds[:6].tolist()}; {refusals}"


def known_as(name, kind):
    for pattern, kinds, _ in DISPUTED:
        if kind in kinds and pattern.match(name):
            return True
    return False


def evaluate_some(cases, first, pipe):
    evaluators = Evaluators()
    for each in cases[first:]:
        pipe.send(evaluators.values(each))
    pipe.close()


def values_of_all(cases):
    """Values of each case, made in a process of its own: ONNX Runtime crashes on some."""
    done = 0
    while done < len(cases):
        ours, theirs = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.Process(target=evaluate_some, args=(cases, done, theirs))
        process.start()
        theirs.close()
        try:
            while done < len(cases):
                yield ours.recv()
                done += 1
        except EOFError:
            yield [Value("runtime", None, "crashed")]
            done += 1
        process.join()


def compare(program, operators):
    cases = list(all_cases(operators))
    ours = run_ours(program, cases)
    for each, made, values in zip(cases, ours, values_of_all(cases)):
        yield each, made, values, judge(each, made, values)


# What bf-aot alone refuses is no fault: it is counted.
BAD = ("aborts", "wrong", "disputed", "accepted", "against the reference alone", "runtime refuses")


def walk(program, operators):
    counts = collections.Counter()
    unknown = 0
    for each, _, _, (kind, remark) in compare(program, operators):
        counts[kind] += 1
        if kind in BAD and not known_as(each.name, kind):
            unknown += 1
            print(f"{kind}: {each.name}: {remark}", flush=True)
    print(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())) + f"; {unknown} not known")
    return 1 if unknown or not counts["right"] else 0


def float32(program, operators):
    """Values that agree with those of real semantics, but for their rounding."""
    records = []
    for each, made, values, (kind, _) in compare(program, operators):
        if kind != "right" or made.code != "value":
            continue
        records += [record(each._replace(name=f"{each.name} by {v.by}"), "value", v.arrays)
                    for v in values if v.arrays is not None and np.all(np.isfinite(v.arrays))]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "cases"
        path.write_bytes(b"".join(records))
        return subprocess.run([program, "--float32", str(path)], check=False).returncode


def sample(program, path):
    """Of each operator's cases every seventh, whose result is right, and the first that is refused with a code; those of
    other domains all."""
    kept, seen = [], collections.Counter()
    for each, made, values, (kind, _) in compare(program, []):
        known = [v.arrays for v in values if v.arrays is not None]
        if kind == "right" and known and np.all(np.isfinite(known[0])):
            number = seen[each.operator]
            seen[each.operator] += 1
            if number % 7 == 0 or is_contributed(each):
                width = made.bounds[:, 1] - made.bounds[:, 0]
                tight = np.all(width <= 2e-3 * np.max(np.abs(known[0]), initial=0) + 2e-5)
                kept.append(record(each, "value" if tight else "inside", known[0]))
        elif made.code not in ("abort", "value") and (kind == "right" or not values):
            key = each.operator, made.code
            seen[key] += 1
            if seen[key] <= 2:
                kept.append(record(each, made.code))
    pathlib.Path(path).write_bytes(gzip.compress(b"".join(kept), mtime=0))
    print(f"{len(kept)} cases, {os.path.getsize(path)} bytes")
    return 0


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    commands = {"walk": walk, "float32": float32, "sample": lambda program, names: sample(program, names[0])}
    if len(sys.argv) < 3 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    sys.exit(commands[sys.argv[1]](sys.argv[2], sys.argv[3:]))
