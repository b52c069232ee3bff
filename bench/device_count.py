#!/usr/bin/env python3
"""Counts the instructions of verifiers on an emulated microcontroller, beside plain C inference.

    python3 bench/device_count.py BF_AOT [--cpu cortex-m4] [--only TEXT] [--json FILE]

Networks are made here, but for the one of models/. Each verifier is compiled with -Os for the target and run under
QEMU's instruction count, as tests/embedded/ does. A row has the instructions of one call (the most over the boxes), what
they are in inferences by plain C in float32 with the C library's functions, and the bytes of flash: code of the entry,
its weights and tables, and libgcc's arithmetic.
"""

import argparse
import json
import pathlib
import struct
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "embedded"), str(ROOT / "models")]
import machine  # noqa: E402
import networks  # noqa: E402
import onnx_format  # noqa: E402
import run_embedded  # noqa: E402
from onnx_format import value_info  # noqa: E402

RADIUS = 0.05
HARNESS = r"""
#include "port.h"
#include "print.h"
#include "test_boxes.h"
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#if defined(PLAIN)
extern "C" void plain(const float *x, float *y);
static float workspace[1];
static int call(int box, float *low, float *) { plain(kLower[box], low); return 0; }
constexpr int kOutputs = 64;
#else
#include "verifier.h"
alignas(JOIN(UPPER, _WORKSPACE_ALIGN)) static unsigned char workspace[JOIN(UPPER, _WORKSPACE_BYTES) + 16];
constexpr int kOutputs = JOIN(UPPER, _OUTPUTS);
static int call(int box, float *low, float *high) {
#if defined(EVALUATE)
  (void)high;
  return JOIN(NAME, _evaluate)(kLower[box], low, workspace, sizeof workspace);
#else
  return JOIN(NAME, _bounds)(kLower[box], kUpper[box], low, high, workspace, sizeof workspace);
#endif
}
#endif
static float low[kOutputs], high[kOutputs];
int harness_main() {
  (void)workspace;
  for (int box = 0; box < static_cast<int>(kBoxCount); ++box) {
    port::start_counting();
    const int status = call(box, low, high);
    const auto count = port::counted_instructions();
    port::write(status == 0 ? "bf count " : "bf refused ");
    print::hex64(count);
    port::write("\n");
  }
  port::write("bf done\n");
  return 0;
}
"""

DENSE = r"""
static void dense(const float *w, const float *b, int in, int out, const float *x, float *y) {
  for (int i = 0; i < out; ++i) {
    float sum = b[i];
    for (int j = 0; j < in; ++j) sum += w[i * in + j] * x[j];
    y[i] = sum;
  }
}
static float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
"""


class Network:
    """An ONNX file, the C function that infers it, and its inputs."""

    def __init__(self, name, data, plain, inputs):
        self.name, self.data, self.plain, self.inputs = name, data, plain, inputs


def floats(make, name):
    data = next(each for each in make.constants if each["name"] == name)["raw_data"]
    return len(data) // 4, struct.unpack(f"<{len(data) // 4}f", data)


def c_arrays(make):
    made = []
    for tensor in make.constants:
        count, values = floats(make, tensor["name"])
        text = ", ".join(float(x).hex() + "f" for x in values)
        made.append(f"static const float {tensor['name']}[{count}] = {{{text}}};\n")
    return "#include <math.h>\n" + "".join(made) + DENSE


def c_dense(make, names, sizes, function):
    """Layers of the weights and biases that `names` pairs, with a function between them."""
    body, source = [], "x"
    for i, ((weight, bias), inputs, outputs) in enumerate(zip(names, sizes, sizes[1:])):
        last = i + 2 == len(sizes)
        body.append(f"  static float v{i}[{outputs}];\n")
        body.append(f"  dense({weight}, {bias}, {inputs}, {outputs}, {source}, "
                    f"{'y' if last else f'v{i}'});\n")
        if not last:
            body.append(f"  for (int i = 0; i < {outputs}; ++i) v{i}[i] = {function}(v{i}[i]);\n")
        source = f"v{i}"
    return (c_arrays(make) + "void plain(const float *x, float *y);\n"
            "void plain(const float *x, float *y) {\n" + "".join(body) + "}\n")


def dense(name, sizes):
    make = networks.Maker()
    data, _ = networks.dense(make, "Tanh", sizes)
    weights = [each["name"] for each in make.constants]
    return Network(name, data, c_dense(make, list(zip(weights[::2], weights[1::2])), sizes, "tanhf"),
                   sizes[0])


def collision_avoidance():
    """The network of models/, whose biases of the first layer hold the input's offset: read as it is."""
    data = (ROOT / "models" / "collision_avoidance_6x50.onnx").read_bytes()
    make, sizes = networks.Maker(), (5, 50, 50, 50, 50, 50, 50, 5)
    names = [(make.weights(f"w{i}", (outputs, inputs), inputs), make.weights(f"b{i}", (outputs,), 4))
             for i, (inputs, outputs) in enumerate(zip(sizes, sizes[1:]))]
    plain = c_dense(make, names, sizes, "relu").replace(
        "static float sigmoid", "static float relu(float x) { return x > 0 ? x : 0; }\nstatic float sigmoid")
    return Network("acas 6x50", data, plain, 5)


def recurrent(name, kind, steps, inputs, hidden, outputs):
    make = networks.Maker()
    gates = 4 if kind == "LSTM" else 3
    w = make.weights("W", (1, gates * hidden, inputs), inputs)
    r = make.weights("R", (1, gates * hidden, hidden), hidden)
    b = make.weights("B", (1, 2 * gates * hidden), 4)
    make.nodes.append(onnx_format.node(kind, ["x", w, r, b], "all", hidden_size=hidden))
    make.nodes[-1]["output"] = ["all", "last"]
    shape = {"dims": [2], "data_type": onnx_format.INT64, "name": "shape", "int64_data": [1, hidden]}
    value = make.add("Reshape", "last", "shape")
    make.nodes[-1]["output"] = [value]
    v, c = make.weights("V", (outputs, hidden), hidden), make.weights("C", (outputs,), 4)
    make.add("Gemm", value, v, c, transB=1)
    plain = c_arrays(make) + c_recurrent(kind, steps, inputs, hidden, outputs)
    make.constants.append(shape)
    make.nodes[-1]["output"] = ["y"]
    data = onnx_format.encode("Model", {
        "ir_version": 7, "producer_name": "bf-aot bench",
        "graph": {"node": make.nodes, "name": kind, "initializer": make.constants,
                  "input": [value_info("x", [steps, 1, inputs])],
                  "output": [value_info("y", [1, outputs])]},
        "opset_import": [{"version": 14}]})
    return Network(name, data, plain, steps * inputs)


def c_recurrent(kind, steps, inputs, hidden, outputs):
    gates = 4 if kind == "LSTM" else 3
    lstm = """
      const float i = sigmoid(a[j] + g[j]), o = sigmoid(a[H + j] + g[H + j]);
      const float f = sigmoid(a[2 * H + j] + g[2 * H + j]), c = tanhf(a[3 * H + j] + g[3 * H + j]);
      cell[j] = f * cell[j] + i * c;
      state[j] = o * tanhf(cell[j]);"""
    gru = """
      const float z = sigmoid(a[j] + g[j]), r = sigmoid(a[H + j] + g[H + j]);
      gate[j] = z;
      reset[j] = r * state[j];"""
    after = "" if kind == "LSTM" else """
    dense(R + 2 * H * H, B + (GATES + 2) * H, H, H, reset, g);
    for (int j = 0; j < H; ++j)
      state[j] = (1 - gate[j]) * tanhf(a[2 * H + j] + g[j]) + gate[j] * state[j];"""
    cell = "cell[H]" if kind == "LSTM" else "gate[H], reset[H]"
    return f"""
enum {{ H = {hidden}, GATES = {gates} }};
void plain(const float *x, float *y);
void plain(const float *x, float *y) {{
  static float a[GATES * H], g[GATES * H], state[H], {cell};
  for (int j = 0; j < H; ++j) state[j] = 0;
  {'for (int j = 0; j < H; ++j) cell[j] = 0;' if kind == 'LSTM' else ''}
  for (int t = 0; t < {steps}; ++t) {{
    dense(W, B, {inputs}, GATES * H, x + t * {inputs}, a);
    dense(R, B + GATES * H, H, GATES * H, state, g);
    for (int j = 0; j < H; ++j) {{{lstm if kind == 'LSTM' else gru}
    }}{after}
  }}
  dense(V, C, H, {outputs}, state, y);
}}
"""


def all_networks():
    return [dense("tanh 4-64-64-2", (4, 64, 64, 2)),
            dense("autoencoder 16-8-3-8-16", (16, 8, 3, 8, 16)), collision_avoidance(),
            recurrent("LSTM, 10 steps", "LSTM", 10, 4, 16, 2),
            recurrent("GRU, 1 step", "GRU", 1, 6, 16, 2)]


class Counter:
    def __init__(self, options, folder):
        self.options, self.folder = options, pathlib.Path(folder)
        self.target = machine.Machine(options.cpu, folder)

    def write_boxes(self, network):
        boxes = [([networks.rounded(x - RADIUS) for x in middle],
                  [networks.rounded(x + RADIUS) for x in middle])
                 for middle in ([0.3 * ((7 * i + 3 * k) % 11 - 5) / 5 for i in range(network.inputs)]
                                for k in range(2))]
        (self.folder / "test_boxes.h").write_text(run_embedded.boxes_header(boxes))

    def count(self, objects, *flags):
        """Links the harness to the objects; returns its largest count."""
        harness = self.folder / "count.cpp"
        harness.write_text(HARNESS)
        made = self.target.compile(harness, ["-Os", *flags])
        program = self.target.link([*self.target.compile_port(), made, *objects])
        lines = self.target.run(program, 120)
        if any(line.startswith("refused") for line in lines):
            raise machine.Failure("a box was refused")
        return max(int(line.split()[1], 16) for line in lines if line.startswith("count"))

    def plain(self, network):
        source = self.folder / "plain.c"
        source.write_text(network.plain)
        made = self.folder / "plain.o"
        cpu = self.target.cpu
        compiler = cpu.compiler.replace("g++", "gcc")
        machine.run([compiler, *cpu.flags, "-Os", "-c", source, "-o", made])
        libraries = [machine.run([compiler, *cpu.flags, f"-print-file-name=lib{name}.a"]).strip()
                     for name in ("m", "c")]
        return self.count([made, *libraries], "-DPLAIN")

    def rows(self, network):
        self.write_boxes(network)
        model = self.folder / "net.onnx"
        model.write_bytes(network.data)
        unit = self.plain(network)
        yield network.name, "plain C", unit, unit, 0
        for method in ("ibp", "crown"):
            for old in self.folder.glob("verifier*"):
                old.unlink()
            machine.run([self.options.bf_aot, model, "--method", method, "--target", self.options.cpu,
                         "--no-library", "-o", self.folder / "verifier.cpp"])
            sources = [self.folder / "verifier.cpp", *sorted(self.folder.glob("verifier*.S"))]
            verifier = [self.target.compile(each, [self.options.optimize]) for each in sources]
            for entry in ("evaluate", "bounds") if method == "ibp" else ("bounds",):
                count = self.count(verifier, "-DNAME=net", "-DUPPER=NET",
                                   *(["-DEVALUATE"] if entry == "evaluate" else []))
                sizes = self.target.linked_bytes(verifier)
                flash = sizes["code"] + sizes["constants"] + sizes["libgcc"]
                yield network.name, method if entry == "bounds" else entry, count, unit, flash


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bf_aot", help="the program that makes the verifiers")
    parser.add_argument("--cpu", default="cortex-m4", choices=sorted(machine.CPUS))
    parser.add_argument("--only", default="", help="networks with this in their name")
    parser.add_argument("--optimize", default="-Os")
    parser.add_argument("--json", help="a file for the figures")
    options = parser.parse_args()
    options.bf_aot = pathlib.Path(options.bf_aot).resolve()
    made = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            counter = Counter(options, folder)
            print(f"| {options.cpu} | what | instructions | inferences | flash, bytes |")
            print("|---|---|---|---|---|")
            for network in all_networks():
                if options.only not in network.name:
                    continue
                for name, what, count, unit, flash in counter.rows(network):
                    print(f"| {name} | {what} | {count} | {count / unit:.1f} | {flash} |", flush=True)
                    made.append({"network": name, "what": what, "instructions": count,
                                 "inferences": count / unit, "flash": flash})
        except machine.Unavailable as missing:
            print(f"skipped: {missing}")
            return machine.SKIP
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(made, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
