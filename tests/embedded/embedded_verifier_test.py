#!/usr/bin/env python3
"""Compiles a network with bf-aot for another processor and tests its verifier under QEMU.

  bounds     with -ffp-contract=off the bits are the host's; with the compiler's default they are
             sound and near; memory and code within the stated limits
  library    the library that bf-aot builds with the target's compiler gives the same bits
  spec       the same for the rows of a specification
  faults     a wrong bound, other bits, too much code or memory are noticed
  verdict    with a property: the host's verdicts, on given boxes and on the property's own
  decide     the same by branch and bound, with as many boxes and points as on the host
  neurons    the same by splits of neurons
  context    calls with a context give the same bits, the second without work
  evaluate   plain inference gives the host's bits and lies within the bounds
  integer    --arithmetic integer: the host's bits, no function of floating point, and where there is
             no floating-point unit fewer instructions and less memory than with floats, and than of
             the float parent

The host compiles the same sources; where the target's sources hold vectors, it compiles those of
the generic target, and bits are not compared. README.md states the limits. Exit code 77: a tool or
the network is missing.
"""

import argparse
import dataclasses
import functools
import gzip
import json
import os
import pathlib
import random
import re
import struct
import sys
import tempfile

import machine
import networks
import quantised_networks
import run_embedded

# bf-aot's --target for each CPU.
TARGETS = {cpu: cpu for cpu in machine.CPUS if cpu != "host"} | {"powerpc": "generic"}
VECTORS = ("aarch64", "cortex-a53")  # targets whose code holds them
SOFT = ("cortex-m0plus", "cortex-m23", "cortex-m3", "riscv32")  # floats are libgcc's
SOFT_DOUBLES = ("cortex-m4", "cortex-m33")  # of backward methods
NO_CONTRACTION = "--flag=-ffp-contract=off"

# How far a bound may be from the host's: this part of the width, and of the largest bound.
WIDTH_DISTANCE, SIZE_DISTANCE = 2e-4, 1e-6


@dataclasses.dataclass(frozen=True)
class Limits:
    code: int  # bytes beside the weights, libgcc's included
    ram: int   # bytes: workspace, static data and stack
    per_weight: float = float("inf")  # instructions of a call over the weights and biases


# The first row is what the project promises.
OF_ACASXU_SHAPE = r"collision_avoidance_6x50$|acasxu_"
WEIGHTS_OF_ACASXU_SHAPE = 13305  # and biases
LIMITS = {("cortex-m4", "ibp"): Limits(2048, 2048, 8), ("cortex-m7", "ibp"): Limits(2048, 2048, 8),
          ("cortex-m33", "ibp"): Limits(2048, 2048, 8), ("cortex-m55", "ibp"): Limits(2048, 2048, 8),
          ("cortex-m0plus", "ibp"): Limits(10 << 10, 2048), ("riscv32", "ibp"): Limits(10 << 10, 2048),
          ("cortex-m3", "ibp"): Limits(8192, 2048),
          ("cortex-m4", "crown-ibp"): Limits(12 << 10, 12 << 10),
          ("cortex-m7", "crown-ibp"): Limits(10 << 10, 12 << 10),
          ("cortex-m3", "crown-ibp"): Limits(16 << 10, 12 << 10),
          ("cortex-m4", "crown"): Limits(14 << 10, 12 << 10),
          ("cortex-m7", "crown"): Limits(12 << 10, 12 << 10),
          ("cortex-m3", "crown"): Limits(20 << 10, 12 << 10)}


def check(condition, text):
    if not condition:
        raise machine.Failure(text)


class Case:
    """One network, CPU and method, with a folder for what is made of them."""

    def __init__(self, options, folder):
        self.options = options
        self.cpu, self.method = options.cpu, options.method
        self.fault = None  # text of the generated source, and what to replace it by
        self.folder = pathlib.Path(folder)
        machine.Machine(self.cpu, self.folder)  # raises Unavailable before anything is compiled
        self.model, self.golden = find_network(options.network, self.folder)
        self.boxes = json.loads(self.golden.read_text())["boxes"][:options.limit]

    def compile(self, target, *more):
        """Runs bf-aot; returns the folder of the verifier."""
        key = "-".join([target, self.method, *map(str, more)])
        output = self.folder / re.sub(r"\W", "_", key)
        output.mkdir(exist_ok=True)
        machine.run([self.options.bf_aot, self.model, "-o", output / "verifier.cpp", "--target",
                     target, "--method", self.method, *more])
        if self.fault:
            source = output / "verifier.cpp"
            text = source.read_text()
            check(self.fault[0] in text, f"the generated source lacks '{self.fault[0]}'")
            source.write_text(text.replace(*self.fault, 1))
        return output

    def measure(self, cpu, verifier, *more):
        options = run_embedded.parse_options(
            ["--cpu", cpu, "--verifier-dir", str(verifier), "--boxes", str(self.golden),
             "--limit", str(self.options.limit), *more])
        with tempfile.TemporaryDirectory() as folder:
            return run_embedded.measure(options, folder)

    def on_target_and_host(self, arguments=(), options=()):
        """Results without contraction of the target and the host; whether bits must agree."""
        target = TARGETS[self.cpu]
        sources = self.compile(target, *arguments, "--no-library")
        same = target not in VECTORS
        host_sources = sources if same else self.compile("generic", *arguments, "--no-library")
        result = self.measure(self.cpu, sources, NO_CONTRACTION, *options)
        host = self.measure("host", host_sources, NO_CONTRACTION, *options)
        return result, host, sources, same

    @functools.cached_property
    def samples(self):
        """Per box: lower and upper bounds, nearly equal, of outputs at points in it."""
        rng = random.Random(1)
        return [[self.reference(point) for point in points_of(box, rng)] for box in self.boxes]

    def reference(self, point):
        """Outputs at a point, executed in double."""
        path = self.folder / "point.json"
        path.write_text(json.dumps({"lower": point, "upper": point}))
        answer = machine.run([self.options.bf_aot, "run", self.model, "--box", path, "--lowering",
                              "reference", "--method", "crown", "--repeat", "1", "--json"])
        return json.loads(answer)["outputs"]


def find_network(name, folder):
    """The ONNX file and the golden file of a network of models/, of this folder or of the shared
    corpus."""
    for own in (networks, quantised_networks):
        if name not in own.NETWORKS:
            continue
        model, boxes = own.write(name, folder)
        golden = folder / "golden.json"
        golden.write_text(json.dumps({"boxes": boxes}))
        return model, golden
    models = machine.ROOT / "models"
    if (models / f"{name}.onnx").exists():
        return models / f"{name}.onnx", models / "golden" / f"{name}.json"
    shared = pathlib.Path(os.environ.get("BF_SHARED", machine.ROOT.parent / "shared"))
    golden = shared / "golden" / f"{name}.json"
    if not golden.exists():
        raise machine.Unavailable(f"the network {name} is not in {shared} (environment: BF_SHARED)")
    file = json.loads(golden.read_text())["source"].rsplit("/", 1)[-1].removesuffix(".gz")
    found = [*sorted((shared / "corpus").glob(f"**/{file}*")),
             *sorted((shared / "golden" / "nets").glob(f"{name}.onnx"))]
    if not found:
        raise machine.Unavailable(f"{file} is not in {shared}")
    if found[0].suffix != ".gz":
        return found[0], golden
    model = folder / found[0].stem
    model.write_bytes(gzip.decompress(found[0].read_bytes()))
    return model, golden


def points_of(box, rng):
    """The centre, two corners and three points of a box, in float32."""
    def between(low, high, part):
        value = struct.unpack("<f", struct.pack("<f", low + part * (high - low)))[0]
        return min(max(value, low), high)

    sides = list(zip(box["lower"], box["upper"]))
    parts = [[0.5] * len(sides), [0] * len(sides), [1] * len(sides)]
    parts += [[rng.random() for _ in sides] for _ in range(3)]
    return [[between(low, high, part) for (low, high), part in zip(sides, row)] for row in parts]


def check_sound(case, result):
    """The golden value and the samples lie within the bounds."""
    for i, (box, bounds) in enumerate(zip(case.boxes, result["outputs"])):
        values = [(box["forward"], box["forward"])] if "forward" in box else []
        values += [(sample["lower"], sample["upper"]) for sample in case.samples[i]]
        for lowest, highest in values:
            for low, high, least, most in zip(bounds["lower"], bounds["upper"], lowest, highest):
                check(low <= most and least <= high,
                      f"box {i}: [{least}, {most}] is outside [{low}, {high}]")


def check_near(result, host):
    """Returns the largest distance from the host's bounds, in parts of what is allowed."""
    worst = 0
    for i, (ours, theirs) in enumerate(zip(result["outputs"], host["outputs"])):
        size = max(map(abs, theirs["lower"] + theirs["upper"]))
        for side in ("lower", "upper"):
            for a, b, low, high in zip(ours[side], theirs[side], theirs["lower"], theirs["upper"]):
                allowed = WIDTH_DISTANCE * (high - low) + SIZE_DISTANCE * size
                check(abs(a - b) <= allowed, f"box {i}: {side} {a}, the host's {b}")
                worst = max(worst, abs(a - b) / allowed)
    return worst


def check_same(result, host, key="outputs"):
    for i, (ours, theirs) in enumerate(zip(result[key], host[key])):
        check(ours == theirs, f"box {i} differs from the host's bits:\n{ours}\n{theirs}")


def check_operations(case, result, sources):
    """Instructions of a call against the float operations of layers in the manifest: an instruction
    does two at most, a multiplication with an addition."""
    work = json.loads((sources / "verifier.json").read_text())["work"]
    operations = next(entry["operations"] for entry in work if entry["entry"] == "bounds")
    ratio = result["instructions"] / operations
    most = 150 if case.cpu in SOFT else 12 if case.cpu in SOFT_DOUBLES else 4
    print(f"  instructions for a float operation of the manifest: {ratio:.2f}")
    check(ratio <= most, f"{ratio:.2f} instructions for an operation, at most {most} wanted")
    check(case.method != "ibp" or ratio >= 0.5, f"{operations} operations are too many")


def check_limits(case, result, sources=None):
    if not machine.CPUS[case.cpu].board:
        return
    code = result["text_bytes"] + result["library_bytes"]
    ram = result["ram_bytes"] + result["stack_bytes"]
    print(f"  code {result['text_bytes']} + {result['library_bytes']} of libgcc, "
          f"constants {result['constant_bytes']}, workspace {result['workspace_bytes']}, "
          f"static {result['data_bytes']}, stack {result['stack_bytes']}, "
          f"instructions {result['instructions']}")
    limits = LIMITS.get((case.cpu, case.method))
    if limits is None or not re.match(OF_ACASXU_SHAPE, case.options.network):
        return
    check(0 < code <= limits.code, f"{code} bytes of code, at most {limits.code} wanted")
    check(0 < ram <= limits.ram, f"{ram} bytes of memory, at most {limits.ram} wanted")
    if sources:
        check_operations(case, result, sources)
    per_weight = result["instructions"] / WEIGHTS_OF_ACASXU_SHAPE
    check(0 < per_weight <= limits.per_weight, f"{per_weight:.2f} instructions per weight, "
          f"at most {limits.per_weight} wanted")


def test_bounds(case):
    result, host, sources, same = case.on_target_and_host()
    if same:
        check_same(result, host)
    check_sound(case, result)
    print(f"  distance without contraction: {check_near(result, host):.3g} of the allowed")
    contracted = case.measure(case.cpu, sources)
    check_sound(case, contracted)
    print(f"  distance with contraction: {check_near(contracted, host):.3g} of the allowed")
    check_limits(case, contracted, sources)


# Functions of libgcc that compute with floats: of Arm's interface, and of GCC's own.
FLOAT_FUNCTIONS = re.compile(r"__aeabi_(?:[cdf]|u?[il]2[df])\w*|__\w*[sdt]f[23]?\b")


def expect_no_float_function(case, target, *more):
    compiler = machine.CPUS[case.cpu].compiler
    built = case.compile(target, "--cxx", compiler, "--arithmetic", "integer", *more)
    names = machine.run([compiler.replace("g++", "nm"), "-u", built / "libverifier.a"])
    called = FLOAT_FUNCTIONS.findall(names)
    check(not called, f"the library calls {called}")


def expect_less(result, floats, what):
    for key in ("instructions", "ram_bytes", "text_bytes", "constant_bytes"):
        print(f"  {key}: {result[key]}, {what}: {floats[key]}")
        check(key == "constant_bytes" or result[key] < floats[key], f"{key} is not less")


def test_integer(case):
    target = TARGETS[case.cpu]
    sources = case.compile(target, "--arithmetic", "integer", "--no-library")
    result = case.measure(case.cpu, sources)
    check_same(result, case.measure("host", sources))
    check_sound(case, result)
    if machine.CPUS[case.cpu].emulator:
        expect_no_float_function(case, target)
    check_limits(case, result)
    manifest = json.loads((sources / "verifier.json").read_text())
    check(manifest["arithmetic"] == "integer", "the manifest says otherwise")
    if case.cpu not in SOFT:
        return
    floats = case.measure(case.cpu, case.compile(target, "--arithmetic", "float", "--no-library"))
    expect_less(result, floats, "in floating point")
    case.model, _ = quantised_networks.write(
        case.options.network.removeprefix("quantised_"), case.folder)
    parent = case.measure(case.cpu, case.compile(target, "--name", "parent", "--no-library"))
    expect_less(result, parent, "of the float parent")


OUTPUTS_OF_DENSE = 10


def property_of(case, limit):
    """About the first box: output 0 stays below `limit`, and output 1 not so much below output 2."""
    lower, upper = case.boxes[0]["lower"], case.boxes[0]["upper"]
    lines = [f"(declare-const X_{i} Real)" for i in range(len(lower))]
    lines += [f"(declare-const Y_{i} Real)" for i in range(OUTPUTS_OF_DENSE)]
    for i, (low, high) in enumerate(zip(lower, upper)):
        lines += [f"(assert (>= X_{i} {low}))(assert (<= X_{i} {high}))"]
    lines += [f"(assert (or (and (>= Y_0 {limit})) (and (<= (- Y_1 Y_2) {-limit}))))"]
    path = case.folder / "limit.vnnlib"
    path.write_text("\n".join(lines))
    return path


def test_integer_verdict(case):
    """A property of a quantised network by integers: what --arithmetic auto takes without being told."""
    text = CALLS_WITH_A_PROPERTY.replace("bf::check_workspace", "bf::integer::check_workspace")
    for limit, verdict in ((1000, 1), (-1000, 2)):
        given = ["--property", property_of(case, limit), "--no-library"]
        sources = case.compile(TARGETS[case.cpu], *given)
        manifest = json.loads((sources / "verifier.json").read_text())
        check(manifest["arithmetic"] == "integer", "the property is in floating point")
        add_entry(case, sources, "bounds_verdict", text)
        options = ["--entry", "bounds_verdict"]
        verdicts = case.measure(case.cpu, sources, *options)
        check_same(verdicts, case.measure("host", sources, *options))
        said = {row["upper"][0] for row in verdicts["outputs"]}
        check(said == {float(verdict)}, f"the property's own box: {said}, not {verdict}")
    expect_no_float_function(case, TARGETS[case.cpu], "--property", property_of(case, 1000))


def test_library(case):
    target = TARGETS[case.cpu]
    compiler = machine.CPUS[case.cpu].compiler
    built = case.compile(target, "--cxx", compiler)
    archive = built / "libverifier.a"
    check(archive.exists(), "bf-aot has built no library")
    manifest = json.loads((built / "verifier.json").read_text())
    check(compiler in manifest["build"]["compiler"], f"built by {manifest['build']}")
    linked = case.measure(case.cpu, built, "--library", str(archive))
    optimize = next(flag for flag in manifest["build"]["flags"] if flag.startswith("-O"))
    compiled = case.measure(case.cpu, built, f"--optimize={optimize}")
    check_same(linked, compiled)
    check_sound(case, linked)
    check_limits(case, linked)


def test_spec(case):
    """Bounds of C y: the host's bits, and within them C times the golden value."""
    rows = [box["C"] for box in case.boxes]
    check(all(row == rows[0] for row in rows), "the golden boxes have several specifications")
    spec = case.folder / "spec.json"
    spec.write_text(json.dumps({"C": rows[0]}))
    result, host, _, same = case.on_target_and_host(
        ["--spec", str(spec)], ["--entry", "spec_bounds"])
    if same:
        check_same(result, host)
    check_near(result, host)
    for box, bounds in zip(case.boxes, result["outputs"]):
        for row, low, high in zip(rows[0], bounds["lower"], bounds["upper"], strict=True):
            value = sum(c * y for c, y in zip(row, box["forward"]))
            check(low <= value <= high, f"{value} is outside [{low}, {high}]")
    check_limits(case, result)


# Appended to a verifier with a context: every box twice, and what the counters must say then.
CALLS_WITH_A_CONTEXT = """
extern "C" bf_status {name}_bounds_kept(const float* lower, const float* upper, float* out_lower,
                                        float* out_upper, void* workspace,
                                        std::size_t workspace_bytes) {{
  alignas({upper}_CONTEXT_ALIGN) static unsigned char context[{upper}_CONTEXT_BYTES];
  static bool ready = false;
  float again_lower[{upper}_OUTPUTS], again_upper[{upper}_OUTPUTS];
  bf_cache_counters before, after;
  if (!ready) {{
    if (const bf_status status = {name}_context_init(context, sizeof context)) return status;
    ready = true;
  }}
  if (const bf_status status = {name}_bounds_cached(context, sizeof context, lower, upper, out_lower,
                                                    out_upper, workspace, workspace_bytes))
    return status;
  {name}_cache_counters(context, sizeof context, &before);
  if (const bf_status status = {name}_bounds_cached(context, sizeof context, lower, upper,
                                                    again_lower, again_upper, workspace,
                                                    workspace_bytes))
    return status;
  {name}_cache_counters(context, sizeof context, &after);
  if (after.full_hits != before.full_hits + 1) return BF_CONTEXT_FOREIGN;
  for (int i = 0; i < {upper}_OUTPUTS; ++i)
    if (again_lower[i] != out_lower[i] || again_upper[i] != out_upper[i]) return BF_NAN_INPUT;
  return BF_OK;
}}
"""


# Appended to a verifier with a property: what it says of the box, and of the property's own.
CALLS_WITH_A_PROPERTY = """
extern "C" bf_status {name}_bounds_verdict(const float* lower, const float* upper, float* out_lower,
                                           float* out_upper, void* given, std::size_t bytes) {{
  alignas({upper}_WORKSPACE_ALIGN) static unsigned char workspace[{upper}_VERIFY_WORKSPACE_BYTES];
  if (out_lower == nullptr || out_upper == nullptr) return BF_NULL_ARGUMENT;
  if (const bf_status status = bf::check_workspace(given, bytes, {upper}_WORKSPACE_BYTES,
                                                   {upper}_WORKSPACE_ALIGN))
    return status;
  float own_lower[{upper}_INPUTS], own_upper[{upper}_INPUTS], point[{upper}_INPUTS];
  if (const bf_status status = {name}_property_box(0, own_lower, own_upper)) return status;
  const auto tell = [&](const float* low, const float* high, float* out) {{
    bf_result result = {{BF_UNKNOWN, 0, 0, point}};
    for (float& x : point) x = 0;
    const bf_status status = {name}_verify(low, high, &result, workspace, sizeof workspace);
    if (status != BF_OK) return status;
    for (int i = 0; i < {upper}_OUTPUTS; ++i) out[i] = i < {upper}_INPUTS ? point[i] : 0;
    out[0] = static_cast<float>(result.verdict);
    out[1] = static_cast<float>(result.property_case);
    out[2] = static_cast<float>(result.clause);
    return BF_OK;
  }};
  if (const bf_status status = tell(lower, upper, out_lower)) return status;
  return tell(own_lower, own_upper, out_upper);
}}
"""


# The same with NAME_decide, and how far its search comes.
CALLS_THAT_DECIDE = (
    CALLS_WITH_A_PROPERTY
    .replace("VERIFY_WORKSPACE_BYTES", "DECIDE_WORKSPACE_BYTES")
    .replace("_verify(low, high, &result,", "_decide(low, high, &budget, &result, &search,")
    .replace("    for (float& x : point)", "    const bf_budget budget = {{200, nullptr, nullptr}};\n"
             "    bf_search search;\n    for (float& x : point)")
    .replace("    return BF_OK;\n  }};", "    out[3] = static_cast<float>(search.boxes);\n"
             "    out[4] = static_cast<float>(search.points);\n    return BF_OK;\n  }};"))


def add_entry(case, sources, entry, text):
    """Appends a function with the signature of NAME_bounds to a verifier."""
    name = re.sub(r"\W", "_", case.options.network.lower())
    with open(sources / "verifier.cpp", "a", encoding="utf-8") as file:
        file.write(text.format(name=name, upper=name.upper()))
    with open(sources / "verifier.h", "a", encoding="utf-8") as file:
        file.write('#ifdef __cplusplus\nextern "C"\n#endif\n'
                   f"bf_status {name}_{entry}(const float *, const float *, float *, float *, void *,\n"
                   "                              size_t);\n")


def measure_verdicts(case, text, *more):
    """Of the given boxes, and of the property's own: the host's."""
    own = networks.PROPERTIES.get(case.options.network)
    path = (case.folder if own else machine.ROOT / "models" / "properties") / f"{case.options.network}.vnnlib"
    if own:
        path.write_text(own)
    given = ["--property", path, *more, "--no-library"]
    sources = case.compile(TARGETS[case.cpu], *given)
    check(TARGETS[case.cpu] not in VECTORS, "bits are compared on targets without vectors")
    add_entry(case, sources, "bounds_verdict", text)
    options = [NO_CONTRACTION, "--entry", "bounds_verdict"]
    verdicts = case.measure(case.cpu, sources, *options)
    check_same(verdicts, case.measure("host", sources, *options))
    return verdicts["outputs"]


def test_verdict(case):
    """Of one box and of a batch of them, as compiled."""
    known = {row["upper"][0] for row in measure_verdicts(case, CALLS_WITH_A_PROPERTY, "--batch", "2")}
    check(known <= {1.0, 2.0}, f"the property's own box has no proof: {known}")


def test_decide(case):
    for row in measure_verdicts(case, CALLS_THAT_DECIDE, "--decide"):
        verdict, _, _, boxes, points = row["upper"]
        print(f"  verdict {verdict:.0f} on the property's box: {boxes:.0f} boxes, {points:.0f} points")
        check(boxes > 1 and points > 1, "no box was split")


def test_neurons(case):
    """By splits of neurons; the property's own box is verified by them alone."""
    for row in measure_verdicts(case, CALLS_THAT_DECIDE, "--decide=neurons"):
        verdict, nodes = row["upper"][0], row["upper"][3]
        print(f"  verdict {verdict:.0f} on the property's box: {nodes:.0f} nodes")
        check(verdict == 1 and nodes > 10, "no neuron was split")


def test_context(case):
    plain, _, _, same = case.on_target_and_host()
    check(same, "bits are compared on targets without vectors")
    sources = case.compile(TARGETS[case.cpu], "--cache", "reuse-ibp", "--no-library")
    add_entry(case, sources, "bounds_kept", CALLS_WITH_A_CONTEXT)
    kept = case.measure(case.cpu, sources, NO_CONTRACTION, "--entry", "bounds_kept")
    check_same(kept, plain)


def test_evaluate(case):
    result, host, _, same = case.on_target_and_host(options=["--evaluate"])
    if same:
        check_same(result, host)
    wide = 0
    for bounds in result["outputs"]:
        for value, low, high in zip(bounds["value"], bounds["lower"], bounds["upper"]):
            if high - low > 1e-2:  # else float32 inference may leave the exact bounds by rounding
                wide += 1
                check(low <= value <= high, f"{value} is outside [{low}, {high}]")
    check(wide > 0, "every box is too small to tell")


# What is replaced in the generated source, by what, and what the test must say.
FAULTS = [
    ("upper[panel + v] = high", "upper[panel + v] = high - 2 * spread",
     "is outside"),
    ("+ bias[panel + v]", "+ (bias[panel + v] + (sizeof(void*) == 4 ? 0x1p-20f : 0.0f))",
     "differs from the host's bits"),
    ("  // The arena: what holds what, how many, in which tasks.\n", '  struct More {\n'
     '    __attribute__((noinline)) static void run() { __asm__ volatile(".space 4096"); }\n'
     '  };\n  if (lower == upper) More::run();\n', "bytes of code"),
    ("  // The arena: what holds what, how many, in which tasks.\n", "  volatile char more[4096];\n  more[0] = 0;\n"
     "  if (more[0] != 0) return BF_NAN_INPUT;\n", "bytes of memory"),
]


def expect_failure(wanted, function, *arguments):
    try:
        function(*arguments)
    except machine.Failure as failure:
        check(wanted in str(failure), f"expected '{wanted}':\n{failure}")
    else:
        raise machine.Failure(f"not noticed: {wanted}")


def test_faults(case):
    for old, new, message in FAULTS:
        case.fault = (old, new)
        expect_failure(message, test_bounds, case)
    case.fault = None
    result, host, _, _ = case.on_target_and_host()
    box = result["outputs"][0]
    box["upper"][-1] += 2 * WIDTH_DISTANCE * (box["upper"][-1] - box["lower"][-1])
    expect_failure("the host's", check_near, result, host)


TESTS = {"bounds": test_bounds, "library": test_library, "spec": test_spec, "faults": test_faults,
         "context": test_context, "verdict": test_verdict, "decide": test_decide, "neurons": test_neurons,
         "evaluate": test_evaluate, "integer": test_integer,
         "integer_verdict": test_integer_verdict}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bf-aot", required=True, help="the program to test")
    parser.add_argument("--network", default="collision_avoidance_6x50")
    parser.add_argument("--cpu", required=True, choices=sorted(TARGETS))
    parser.add_argument("--method", default="ibp", choices=["ibp", "crown-ibp", "crown"])
    parser.add_argument("--limit", type=int, default=6, help="use the first boxes only")
    parser.add_argument("test", choices=sorted(TESTS))
    options = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory() as folder:
            TESTS[options.test](Case(options, folder))
    except machine.Unavailable as missing:
        print(f"skipped: {missing}")
        return machine.SKIP
    except machine.Failure as failure:
        print(f"failed: {failure}")
        return 1
    print("passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
