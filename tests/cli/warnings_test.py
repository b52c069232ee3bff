"""Compiles generated code with every warning as an error: warnings_test.py --bf-aot PROGRAM [--all].

Networks: one for each function of frontend/functions/function.h, alone between two dense layers, and one for each
kind of layer; by every method, alone and with what else may be compiled in. Compilers: GCC, clang and
GCC for Arm, at -O0 to -O3 and -Os: with other passes GCC warns of other things. A sample without --all.
A kind of function without a network here is an error.
"""

import argparse
import concurrent.futures
import itertools
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/embedded"))
import networks  # noqa: E402
import onnx_format  # noqa: E402  (from models/, which networks finds)
import quantised_networks  # noqa: E402

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
CODE = ["-std=c++17", "-ffp-contract=fast", "-fno-exceptions", "-fno-rtti", "-fno-math-errno"]
LEVELS = ["-O0", "-O1", "-O2", "-O3", "-Os"]
METHODS = ["ibp", "crown-ibp", "crown", "alpha-crown", "forward"]
# More entry points, and other tables of the same functions.
VARIANTS = {
    "alone": [],
    "shared": ["--batch", "4", "--parallel", "2"],
    "cached": ["--cache", "reuse-ibp,cache-bounds"],
    "float32": ["--semantics", "float32"],
    "generic": ["--lowering", "generic"],
    "single": ["--single-file"],
    "decided": ["--decide=neurons"],  # with PROPERTY, by networks of functions
}
# Of the networks of functions.
PROPERTY = "".join([*(f"(declare-const X_{i} Real)(assert (>= X_{i} 0))(assert (<= X_{i} 1))" for i in range(4)),
                    *(f"(declare-const Y_{i} Real)" for i in range(3)), "(assert (<= Y_0 Y_1))"])
BOOLEAN, FLOAT = 9, 1  # of ONNX's element types


class Made(networks.Maker):
    opset = 13

    def named(self, shape, outputs):
        self.nodes[-1]["output"] = ["y"]
        return onnx_format.encode("Model", {
            "ir_version": 9, "producer_name": "bf-aot tests",
            "opset_import": [{"version": self.opset}],
            "graph": {"node": self.nodes, "name": "net", "initializer": self.constants,
                      "input": [onnx_format.value_info("x", shape)],
                      "output": [onnx_format.value_info("y", outputs)]}})


def compared(operator):
    """A comparison with 0 as a number: it is a step."""
    def add(made, value):
        found = made.add(operator, value, made.constant("nought", (), [0.0]))
        return made.add("Cast", found, to=FLOAT)
    return add


def clipped(made, value):
    return made.add("Clip", value, made.constant("low", (), [-0.75]), made.constant("high", (), [1.25]))


def quantised(made, value):
    scale, zero = made.constant("scale", (), [0.125]), made.constant("zero", (), [3], networks.INT8)
    return made.add("DequantizeLinear", made.add("QuantizeLinear", value, scale, zero), scale, zero)


def gated(made, value):
    """A pass makes one function of both nodes, a composite."""
    return made.add("Mul", value, made.add("Sigmoid", value))


def power(exponent):
    return lambda made, value: made.add("Pow", value, made.constant("exponent", (), [exponent]))


def simple(operator, **attributes):
    return lambda made, value: made.add(operator, value, **attributes)


def own_operators():
    """FunctionKind -> the operator that it is, by frontend/functions/function_facts.cpp."""
    rows = (ROOT / "frontend/functions/function_facts.cpp").read_text().split("{.kind = k")[1:]
    found = ((row.split(",")[0], re.search(r'\.from = \{"(\w+)"', row)) for row in rows)
    return {kind: operator[1] for kind, operator in found if operator}


# By the names of frontend/functions/function.h.
FUNCTIONS = {kind: simple(operator) for kind, operator in own_operators().items()} | {
    "LeakyRelu": simple("LeakyRelu", alpha=0.1), "Clip": clipped,
    "ThresholdedRelu": simple("ThresholdedRelu", alpha=0.5), "Shrink": simple("Shrink", bias=0.25, lambd=0.5),
    "Step": compared("Greater"), "StepAt": compared("GreaterOrEqual"), "IsZero": compared("Equal"),
    "Celu": simple("Celu", alpha=0.5), "Gelu": simple("Gelu"), "GeluTanh": simple("Gelu", approximate="tanh"),
    "Power": power(3.0), "Quantise": quantised, "Composite": gated,
    "CappedExp": simple("Softmax", axis=1),  # of its powers, where neurons are split
}


def function_network(kind):
    made = Made()
    made.opset = 20
    value = made.gemm("x", 4, 6)
    value = FUNCTIONS[kind](made, value)
    made.gemm(value, 6, 3)
    return made.named([1, 4], [1, 3])


def clip_alone():
    """One neuron, whose table has a few runs and no cells."""
    made = Made()
    clipped(made, "x")
    return made.named([1, 2], [1, 2])


def dense(*widths):
    made, value = Made(), "x"
    for at, (columns, rows) in enumerate(zip(widths, widths[1:])):
        value = made.gemm(value, columns, rows)
        if at + 2 < len(widths):
            value = made.add("Relu", value)
    return made.named([1, widths[0]], [1, widths[-1]])


def image(*layers, channels=2, side=6):
    """Layers of an image, then a dense one. Each layer: (made, value, channels, side) to the same."""
    made, value = Made(), "x"
    shape = [1, channels, side, side]
    for layer in layers:
        value, channels, side = layer(made, value, channels, side)
    value = made.add("Flatten", value)
    made.gemm(value, channels * side * side, 3)
    return made.named(shape, [1, 3])


def conv(made, value, channels, side):
    at = len(made.nodes)
    value = made.add("Conv", value, made.weights(f"k{at}", (4, channels, 3, 3), 9 * channels),
                     made.weights(f"c{at}", (4,), 4), pads=[1, 1, 1, 1])
    return made.add("Relu", value), 4, side


def depthwise(made, value, channels, side):
    at = len(made.nodes)
    value = made.add("Conv", value, made.weights(f"k{at}", (channels, 1, 3, 3), 9), group=channels)
    return made.add("Sigmoid", value), channels, side - 2


def transposed(made, value, channels, side):
    at = len(made.nodes)
    value = made.add("ConvTranspose", value, made.weights(f"k{at}", (channels, 2, 2, 2), 4), strides=[2, 2])
    return made.add("Relu", value), 2, 2 * side


def pooled(operator):
    def layer(made, value, channels, side):
        return (made.add(operator, value, kernel_shape=[2, 2], strides=[2, 2]), channels, side // 2)
    return layer


def shortcut(made, value, channels, side):
    more, count, _ = conv(made, value, channels, side)
    return made.add("Concat", more, value, axis=1), count + channels, side


def squeezed(made, value, channels, side):
    """A product of two computed tensors, one spread over the other."""
    mean = made.add("GlobalAveragePool", value)
    return made.add("Mul", value, made.add("Sigmoid", mean)), channels, side


def attention():
    made = Made()
    query, key = made.gemm("x", 4, 6), made.gemm("x", 4, 6)
    shape = made.constant("shape", (2,), [2, 3], networks.INT8)
    made.constants[-1].update(data_type=7, raw_data=b"".join(v.to_bytes(8, "little") for v in (2, 3)))
    query, key = made.add("Reshape", query, shape), made.add("Reshape", key, shape)
    scores = made.add("MatMul", query, made.add("Transpose", key, perm=[1, 0]))
    made.add("MatMul", made.add("Softmax", scores, axis=1), query)
    return made.named([1, 4], [2, 3])


def largest():
    made = Made()
    value = made.gemm("x", 4, 6)
    made.add("Max", value, made.gemm("x", 4, 6))
    return made.named([1, 4], [1, 6])


def permuted():
    made = Made()
    value = made.add("Relu", made.gemm("x", 6, 6))
    index = made.constant("index", (3,), [0, 0, 0], networks.INT8)
    made.constants[-1].update(data_type=7, raw_data=b"".join(v.to_bytes(8, "little") for v in (5, 1, 2)))
    value = made.add("Gather", value, index, axis=1)
    made.add("Tanh", value)
    return made.named([1, 6], [1, 3])


LAYERS = {
    "clip_alone": clip_alone,
    "autoencoder": lambda: dense(12, 8, 3, 8, 12),
    "dense": lambda: dense(5, 20, 20, 4),
    "narrow": lambda: dense(1, 1, 1),
    "conv": lambda: image(conv, conv),
    "depthwise": lambda: image(conv, depthwise),
    "transposed": lambda: image(transposed, conv, side=3),
    "average": lambda: image(conv, pooled("AveragePool")),
    "largest_pixel": lambda: image(conv, pooled("MaxPool")),
    "shortcut": lambda: image(conv, shortcut, conv),
    "squeezed": lambda: image(conv, squeezed),
    "attention": attention,
    "largest": largest,
    "permuted": permuted,
}
INTEGERS = ("quantised_dense", "quantised_image")


def check_complete():
    text = (ROOT / "frontend/functions/function.h").read_text()
    body = re.search(r"enum class FunctionKind[^{]*\{(.*?)\};", text, re.DOTALL)[1]
    kinds = set(re.findall(r"\bk([A-Z]\w*)\s*,", re.sub(r"//.*", "", body))) - {"Count"}
    assert kinds == set(FUNCTIONS), f"without a network, or none: {kinds ^ set(FUNCTIONS)}"


def made_networks(folder):
    """Names and files."""
    found = {}
    for name, make in itertools.chain(
            ((f"function_{kind}", lambda kind=kind: function_network(kind)) for kind in FUNCTIONS),
            LAYERS.items()):
        found[name] = folder / f"{name}.onnx"
        found[name].write_bytes(make())
    for name in INTEGERS:
        found[name] = quantised_networks.write(name, folder)[0]
    (folder / "decided.vnnlib").write_text(PROPERTY)
    return found


class Builds:
    """Of one network: verifiers and how they are compiled."""

    def __init__(self, options, compilers, folder):
        self.options, self.compilers, self.folder = options, compilers, folder
        self.problems, self.compiled, self.refused = [], 0, []

    def generate(self, model, key, arguments):
        """The folder of the verifier; none where the combination is refused by name."""
        out = self.folder / key
        out.mkdir()
        if "--decide=neurons" in arguments:
            arguments = [*arguments, "--property", self.folder / "decided.vnnlib"]
        ran = subprocess.run([self.options.bf_aot, model, "--name", "net", "-o", out / "net.cpp", "--no-library",
                              *arguments], capture_output=True, text=True, check=False)
        if ran.returncode == 0:
            return out
        if ran.returncode != 1 or not re.search(r"error BF\d{4}: ", ran.stderr):
            self.problems.append(f"{key}: bf-aot fails: {ran.stderr}")
        self.refused.append(key)
        return None

    def compile(self, out, key, compiler, flags, level):
        for source in sorted(out.glob("*.cpp")):
            own = ["-ffp-contract=off"] if "-ffp-contract=off" in source.read_text() else []
            ran = subprocess.run([compiler, *CODE, *own, *WARNINGS, *flags, level, f"-I{ROOT / 'runtime'}", "-I.",
                                  "-c", source.name, "-o", f"{source.stem}.o"], cwd=out, capture_output=True, text=True,
                                 check=False)
            self.compiled += 1
            if ran.returncode != 0:
                lines = "\n".join(ran.stderr.splitlines()[:12])
                self.problems.append(f"{key}: {compiler} {level}:\n{lines}")


def hosts():
    return [name for name in ("g++", "clang++") if shutil.which(name)]


def all_builds(names):
    """(network, method, variant, target, [(compiler, flags, level)])."""
    for name, method, (variant, more) in itertools.product(names, METHODS, VARIANTS.items()):
        if variant == "decided" and not name.startswith("function_"):
            continue
        yield (name, method, variant, ["--method", method, "--target", "generic", *more],
               [(compiler, [], level) for compiler in hosts() for level in LEVELS])
    for name in (name for name in INTEGERS if name in names):
        yield (name, "ibp", "integer", ["--method", "ibp", "--target", "generic", "--arithmetic", "integer"],
               [(compiler, [], level) for compiler in hosts() for level in LEVELS])
    if "quantised_dense" in names:
        yield ("quantised_dense", "crown", "integer", ["--method", "crown", "--target", "generic", "--arithmetic",
                                                       "integer"],
               [(compiler, [], level) for compiler in hosts() for level in LEVELS])
    if shutil.which("arm-none-eabi-g++"):
        flags = ["-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard", "-ffreestanding"]
        for name, method in itertools.product(names, METHODS):
            yield (name, method, "arm", ["--method", method, "--target", "cortex-m4"],
                   [("arm-none-eabi-g++", flags, level) for level in LEVELS])


# What warned once, and what one build alone has.
REGRESSIONS = [("function_CappedExp", "crown", "decided", "g++", "-O2"),
               ("clip_alone", "crown", "arm", "arm-none-eabi-g++", "-O3"),
               ("clip_alone", "crown", "alone", "g++", "-O2")]


def sample(builds, names):
    """Of each network one build and one compilation, and REGRESSIONS."""
    chosen = []
    for name, method, variant, compiler, level in REGRESSIONS:
        for build in builds:
            if build[:3] == (name, method, variant):
                chosen.append((*build[:4], [one for one in build[4] if (one[0], one[2]) == (compiler, level)]))
    for name in names:
        dice = random.Random(name)
        build = dice.choice([build for build in builds if build[0] == name and build[1] != "forward"])
        chosen.append((*build[:4], [dice.choice(build[4])]))
    return chosen


def part_of(builds, text):
    number, count = map(int, text.split("/"))
    return builds[number - 1::count]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bf-aot", required=True)
    parser.add_argument("--all", action="store_true", help="everything: hours")
    parser.add_argument("--part", metavar="I/N", help="of everything, one part of N")
    parser.add_argument("--network", action="append", help="these alone")
    parser.add_argument("--method", help="this alone")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    check_complete()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        files = made_networks(folder)
        names = [name for name in files if not options.network or name in options.network]
        builds = list(all_builds(names))
        if options.part:
            builds = part_of(builds, options.part)
        elif not options.all:
            builds = sample(builds, names)
        if options.method:
            builds = [build for build in builds if build[1] == options.method]
        state = Builds(options, hosts(), folder)

        def work(item):
            number, (name, method, variant, arguments, compilations) = item
            key = f"{number}_{name}_{method}_{variant}"
            out = state.generate(files[name], key, arguments)
            if out is None:
                return
            for compiler, flags, level in compilations:
                state.compile(out, key, compiler, flags, level)
            shutil.rmtree(out)

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(work, enumerate(builds)))
        print("\n".join(state.problems))
        print(f"{state.compiled} compilations, {len(state.refused)} of {len(builds)} verifiers refused, "
              f"{len(state.problems)} problems")
        return 1 if state.problems or state.compiled == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
