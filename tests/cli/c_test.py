"""Verifiers in C99: their bits are those of the same plan in C++, compilers find nothing to warn
about, and what C does not have is refused."""

import ctypes
import json
import platform
import random
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from harness import CONTROLLER, MODELS, SOURCE, TINY, Case  # noqa: E402
from small_models import (image_model, ints, model, node, residual_model, tensor,  # noqa: E402
                          write_model)

STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wsign-conversion",
          "-Wcast-align", "-Wfloat-equal", "-Wdouble-promotion", "-Wshadow", "-Wstrict-prototypes", "-Wvla",
          "-Werror"]
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
PLAIN = ["-shared", "-fPIC", "-ffp-contract=off"]  # neither language fuses products


def quantised_model():
    """Every kind of integer layer but sums with steps, as exporters write it."""
    rng = random.Random(3)
    nodes, tensors = [], [
        tensor("s", [], [0.0625]), tensor("sw", [], [1 / 64]),
        'initializer { data_type: 3 name: "z" int32_data: 0 }']

    def rounded(value):
        codes, made = f"{value}_codes", f"{value}_rounded"
        nodes.append(node("QuantizeLinear", [value, "s", "z"], codes, f"q_{value}"))
        nodes.append(node("DequantizeLinear", [codes, "s", "z"], made, f"dq_{value}"))
        return made

    def weight(name, dims, count):
        sizes = "".join(f" dims: {d}" for d in dims)
        values = "".join(f" int32_data: {rng.randint(-60, 60)}" for _ in range(count))
        tensors.append(f'initializer {{{sizes} data_type: 3 name: "{name}_q" {values} }}')
        nodes.append(node("DequantizeLinear", [f"{name}_q", "sw", "z"], name, f"of_{name}"))
        return name

    image = rounded("x")
    nodes.append(node("Conv", [image, weight("k", (3, 2, 3, 3), 54)], "c", "conv",
                      ints("pads", [1, 1, 1, 1])))
    nodes.append(node("Relu", ["c"], "r", "relu"))
    nodes.append(node("MaxPool", [rounded("r")], "m", "pool",
                      ints("kernel_shape", [2, 2]) + ints("strides", [2, 2])))
    pooled = rounded("m")
    nodes.append(node("Sigmoid", [pooled], "g", "sigmoid"))
    nodes.append(node("Add", [pooled, rounded("g")], "a", "add"))
    nodes.append(node("Flatten", [rounded("a")], "f", "flat"))
    nodes.append(node("MatMul", ["f", weight("w", (27, 4), 108)], "d", "dense"))
    nodes.append(node("Relu", ["d"], "h", "relu2"))
    nodes.append(node("MatMul", [rounded("h"), weight("v", (4, 3), 12)], "o", "dense2"))
    nodes.append(node("Identity", [rounded("o")], "y", "last"))
    return model("quantised", nodes, tensors, (1, 2, 6, 6), (1, 3))


def functions_model():
    """Dense layers with smooth functions between them."""
    rng = random.Random(9)
    nodes, tensors, value, width = [], [], "x", 4
    for i, function in enumerate(("Tanh", "Sigmoid", "Exp", "Softplus", "Identity")):
        out = 3 if function == "Identity" else 8
        numbers = [round(rng.uniform(-0.5, 0.5), 3) for _ in range(width * out)]
        tensors.append(tensor(f"w{i}", (width, out), numbers))
        nodes += [node("MatMul", [value, f"w{i}"], f"m{i}", f"dense{i}"),
                  node(function, [f"m{i}"], f"f{i}", f"function{i}")]
        value, width = f"f{i}", out
    nodes.append(node("Identity", [value], "y", "last"))
    return model("functions", nodes, tensors, (1, 4), (1, 3))


class Result(ctypes.Structure):
    """bf_result."""

    _fields_ = [("verdict", ctypes.c_int), ("property_case", ctypes.c_uint32), ("clause", ctypes.c_uint32),
                ("counterexample", ctypes.POINTER(ctypes.c_float))]


class Library:
    """A verifier of the name net that is loaded."""

    def __init__(self, path, manifest):
        self.code = ctypes.CDLL(str(path))
        plan = json.loads(manifest.read_text())
        self.outputs = sum(each["elements"] for each in plan["outputs"])
        self.inputs = sum(each["elements"] for each in plan["inputs"])
        self.bytes = plan["arena"]["planned_bytes"]

    def run(self, function, box, *made):
        memory = ctypes.create_string_buffer(self.bytes + 4096)
        aligned = (ctypes.addressof(memory) + 63) // 64 * 64
        given = [(ctypes.c_float * self.inputs)(*end) for end in box]
        return getattr(self.code, f"net_{function}")(
            *given, *made, ctypes.c_void_p(aligned), ctypes.c_size_t(self.bytes + 4032))

    def call(self, function, box):
        """The status, and the bits of what was written."""
        made = [(ctypes.c_float * self.outputs)() for _ in box]
        return self.run(function, box, *made), [bytes(each) for each in made]

    def verdict(self, box):
        """The status and the finding."""
        point = (ctypes.c_float * self.inputs)()
        found = Result(-1, 0, 0, point)
        status = self.run("verify", box, ctypes.byref(found))
        return status, found.verdict, found.property_case, found.clause, bytes(point)

    def overlapping_verdict(self, box):
        """The status where the counterexample is an end of the box."""
        ends = [(ctypes.c_float * self.inputs)(*end) for end in box]
        found = Result(-1, 0, 0, ends[0])
        memory = ctypes.create_string_buffer(self.bytes + 4096)
        aligned = (ctypes.addressof(memory) + 63) // 64 * 64
        return self.code.net_verify(*ends, ctypes.byref(found), ctypes.c_void_p(aligned),
                                    ctypes.c_size_t(self.bytes + 4032))

    def property_box(self, number):
        ends = [(ctypes.c_float * self.inputs)() for _ in range(2)]
        status = self.code.net_property_box(ctypes.c_size_t(number), *ends)
        return status, [list(end) for end in ends]


def boxes(inputs, rng):
    """Points, small and large boxes, and some that are refused."""
    for radius in (0, 1e-6, 0.01, 0.3, 2, 1e4):
        centre = [rng.uniform(-1, 1) for _ in range(inputs)]
        yield [c - radius for c in centre], [c + radius for c in centre]
    for bad in (float("nan"), float("inf"), 3):
        yield [bad] * inputs, [2] * inputs


class InC(Case):
    def compile(self, *command):
        made = subprocess.run([*map(str, command)], cwd=self.work, capture_output=True, text=True,
                              check=False)
        self.assertEqual(made.returncode, 0, f"{command}\n{made.stderr[:4000]}")

    def built(self, source, compiler, *flags):
        self.libraries = getattr(self, "libraries", 0) + 1  # dlopen() takes a name that it knows for the same library
        library = self.work / f"{source.replace('.', '_')}_{compiler}_{self.libraries}.so"
        self.compile(compiler, *PLAIN, *flags, f"-I{SOURCE / 'runtime'}", source, "-o", library)
        return Library(library, (self.work / source).with_suffix(".json"))

    def compare(self, network, *options):
        """C by each compiler, strictly, against C++."""
        options = (*options, "--name", "net", "--target", "generic", "--no-library")
        self.run_tool(network, "-o", "cpp.cpp", "--lowering", "generic", *options)
        self.run_tool(network, "-o", "c.c", *options)
        expected = self.built("cpp.cpp", "g++", "-O1")
        for compiler in COMPILERS:
            for level in ("-O0", "-O2"):
                found = self.built("c.c", compiler, level, *STRICT)
                self.assertEqual(found.bytes, expected.bytes)
                rng = random.Random(level)
                for box in boxes(expected.inputs, rng):
                    self.assertEqual(found.call("bounds", box), expected.call("bounds", box), box)
                    self.assertEqual(found.call("evaluate", box[:1]), expected.call("evaluate", box[:1]))

    def test_dense(self):
        for method in ("ibp", "crown-ibp", "crown", "alpha-crown"):
            for network in (TINY, CONTROLLER):
                self.compare(network, "--method", method)
        self.compare(TINY, "--method", "alpha-crown", "--alpha", "all", "--iterations", "3")

    def test_float32(self):
        self.compare(CONTROLLER, "--method", "ibp", "--semantics", "float32")

    def test_integers(self):
        network = write_model(self.work / "q.onnx", quantised_model())
        for semantics in ("real", "quantised-any"):
            self.compare(network, "--method", "ibp", "--arithmetic", "integer", "--semantics", semantics)
        self.assertNotIn("double", (self.work / "c.c").read_text().lower())

    def test_property(self):
        for network, name in ((TINY, "tiny_cases"), (TINY, "tiny_violated"),
                              (CONTROLLER, "collision_avoidance_6x50")):
            options = ("--property", MODELS / "properties" / f"{name}.vnnlib", "--method", "crown-ibp",
                       "--name", "net", "--target", "generic", "--no-library")
            self.run_tool(network, "-o", "cpp.cpp", "--lowering", "generic", *options)
            self.run_tool(network, "-o", "c.c", *options)
            expected, found = self.built("cpp.cpp", "g++", "-O1"), self.built("c.c", "gcc", "-O1", *STRICT)
            status, whole = expected.property_box(0)
            self.assertEqual((status, whole), found.property_box(0))
            self.assertEqual(expected.property_box(1000), found.property_box(1000))
            self.assertEqual(found.overlapping_verdict(whole), expected.overlapping_verdict(whole))
            self.assertNotEqual(found.overlapping_verdict(whole), 0)
            rng = random.Random(name)
            verdicts = set()
            for size in (1, 0.5, 0.1, 0.01, 0, 1.5):
                box = [], []
                for low, high in zip(*whole):
                    centre = low + (high - low) * rng.random()
                    box[0].append(centre - (centre - low) * size)
                    box[1].append(centre + (high - centre) * size)
                self.assertEqual(found.verdict(box), expected.verdict(box), (name, box))
                verdicts.add(found.verdict(box)[1])
            self.assertGreater(len(verdicts), 1)

    def test_layers(self):
        for text in (image_model(), residual_model(), functions_model()):
            network = write_model(self.work / "net.onnx", text)
            for method in ("ibp", "crown", "alpha-crown"):
                self.compare(network, "--method", method)

    def test_files(self):
        self.run_tool(TINY, "-o", "v.c", "--method", "ibp", "--target", "generic")
        self.assertEqual(self.names(), ["libv.a", "v.c", "v.h", "v.json"])
        manifest = json.loads((self.work / "v.json").read_text())
        self.assertEqual(manifest["options"]["language"], "c")
        self.assertEqual(manifest["options"]["lowering"], "generic")
        self.assertIn("-std=c99", manifest["build"]["flags"])
        text = (self.work / "v.c").read_text()
        for word in ("bf::", "namespace", "constexpr", "nullptr", "static_cast", "extern"):
            self.assertNotIn(word, text)
        self.run_tool(TINY, "-o", "w.c", "--method", "ibp", "--target", "generic", "--language", "c")
        self.assertEqual(text.replace('"v.h"', '"w.h"'), (self.work / "w.c").read_text())

    def test_single_file(self):
        self.run_tool(TINY, "-o", "v.c", "--method", "ibp", "--single-file", "--no-library")
        self.write("main.c", '#include "v.h"\nint main(void) { return tiny_info()->abi == TINY_ABI ? 0 : 1; }\n')
        for compiler in COMPILERS:
            self.compile(compiler, *STRICT, "v.c", "main.c", "-o", "program")
            self.compile("./program")

    @unittest.skipUnless(shutil.which("arm-none-eabi-g++"), "no compiler for Arm boards")
    def test_boards(self):
        self.run_tool(CONTROLLER, "-o", "v.c", "--method", "crown", "--target", "cortex-m4")
        footprint = json.loads((self.work / "v.json").read_text())["build"]
        self.assertGreater(footprint["code_bytes"], 1000)
        network = write_model(self.work / "q.onnx", quantised_model())
        self.run_tool(network, "-o", "q.c", "--target", "cortex-m0plus", "--method", "ibp", "--single-file")
        self.assertIn("integer", (self.work / "q.json").read_text())

    def test_large_constants_are_included(self):
        self.run_tool(CONTROLLER, "-o", "v.c", "--method", "ibp", "--no-library")
        self.assertIn("static const float", (self.work / "v_weights.inc").read_text())

    def test_flags_that_break_bounds(self):
        """A compiler stops at them, or a call says so: BF_FLOAT_ENVIRONMENT is 7."""
        self.run_tool(TINY, "-o", "c.c", "--name", "net", "--method", "crown", "--target", "generic", "--no-library")
        of_gcc = ["-freciprocal-math", "-fno-signed-zeros", "-funsafe-math-optimizations"]
        if platform.machine() == "x86_64":
            of_gcc.append("-mfpmath=387")
        for compiler in COMPILERS:
            for flag in ("-ffast-math", "-Ofast", "-ffinite-math-only", *(of_gcc if compiler == "gcc" else ())):
                made = subprocess.run([compiler, "-std=c99", flag, f"-I{SOURCE / 'runtime'}", "-c", "c.c", "-o",
                                       "c.o"], cwd=self.work, capture_output=True, text=True, check=False)
                self.assertNotEqual(made.returncode, 0, flag)
                self.assertIn('"bf: ', made.stderr)
            failing = {"gcc": "-fsingle-precision-constant", "clang": "-fno-honor-nans"}[compiler]
            library = self.built("c.c", compiler, "-O2", failing)
            self.assertEqual(library.call("bounds", ([0] * library.inputs, [1] * library.inputs))[0], 7)

    def test_what_c_does_not_have(self):
        for options in (["--batch", "4"], ["--parallel", "2"], ["--cache", "reuse-ibp"], ["--lowering", "prebuilt"],
                        ["--check-constants"]):
            self.assert_refused("BF3112", TINY, "-o", "v.c", *options, says=[options[0]])
        errors = self.assert_refused("BF3112", TINY, "-o", "v.c", "--method", "forward")
        self.assertIn("Gemm 'fc1'", errors)
        self.assert_refused("BF2122", TINY, "-o", "v.c", "--method", "ibp,crown")
        cases = MODELS / "properties" / "tiny_cases.vnnlib"
        self.assert_refused("BF3112", TINY, "-o", "v.c", "--decide", "--property", cases, says=["--decide"])
        self.assert_refused("BF3112", TINY, "--project", "p", "--language", "c", says=["--project"])
        self.run_tool(TINY, "-o", "v.cpp", "--language", "c", code=2)
        self.run_tool(TINY, "-o", "v.c", "--language", "c++", code=2)
        self.run_tool(TINY, "-o", "v.cc", code=2)


if __name__ == "__main__":
    sys.exit(unittest.main())
