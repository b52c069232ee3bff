#!/usr/bin/env python3
"""Runs the benchmarks of a build folder and prints: measured, goal, limit.

  bench/report.py BUILD                    # table on the terminal
  bench/report.py BUILD --baseline FILE    # and writes the figures, as bench/baseline.json

Ratios are to the peak and the bandwidth that the same process measured between the samples.
"""
import argparse
import gzip
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = ("bench_machine", "bench_kernels", "bench_conv", "bench_verifier", "bench_batch")

# (kernel name begins with, counter, goal, limit, what it is a percentage of); of products the goals
# with AVX-512 and with shorter vectors
KERNEL_GOALS = (
    ("interval_affine_relu_boxes", "peak_percent", None, 100, "of fp32 peak"),
    ("backward_affine_boxes", "peak_percent", 90, 100, "of fp32 peak"),
    ("interval_affine_relu_50x50", "peak_percent", None, 78, "of fp32 peak (padding: 50 of 64)"),
    ("interval_affine_relu_3072x512", "read_percent", 97, 100, "of read bandwidth"),
    ("interval_affine_relu_16384x4096", "read_percent", 95, 100, "of read bandwidth"),
    ("interval_affine_relu_", "read_percent", 90, 100, "of read bandwidth"),
    ("centre_affine_", "read_percent", None, 100, "of read bandwidth"),
    ("backward_affine_wide_", "peak_percent", None, 50, "of fp32 peak (double lanes)"),
    # Rows of 8 and less are no goal.
    ("backward_affine_256x256_rows8", "peak_percent", None, 100, "of fp32 peak"),
    ("backward_affine_784x256_rows8", "peak_percent", None, 100, "of fp32 peak"),
    ("backward_affine_256x256_", "peak_percent", (93, 88), 100, "of fp32 peak"),
    ("backward_affine_784x256_", "peak_percent", (93, 88), 100, "of fp32 peak"),
    ("backward_affine_50x50_rows16", "peak_percent", 68, 100, "of fp32 peak"),
    # 100 rows are tiles of 32.
    ("backward_affine_50x50_rows32", "peak_percent", 85, 100, "of fp32 peak"),
    ("backward_affine_", "peak_percent", None, 100, "of fp32 peak"),
    ("forward_lines_", "peak_percent", None, 100, "of fp32 peak"),
)

# Most percent that soundness may cost, of kernels whose names begin with this. Backward kernels do
# nothing for it: the offsets that they add up pay, and relax() makes these once for all rows.
SOUNDNESS_GOALS = (("interval_affine_relu_boxes", 10), ("interval_affine_", 6))

# Goals of convolutions: of the first layer, and of those behind it whose outputs are sums of 128
# products or more. Depthwise ones and pools are bound by memory. Goals of intervals were set on
# padded images, whose zeros are multiplied and counted; here they are neither multiplied nor, in
# peak_percent, counted.
CONV_GOALS = (
    ("interval/3x", "padded_percent", 65, None, "of fp32 peak, zeros of the padding counted"),
    ("interval/32x16x16_depthwise", "peak_percent", None, 100, "of fp32 peak"),
    ("interval/32x24x24_pool", "peak_percent", None, 100, "of fp32 peak"),
    ("interval/", "padded_percent", 92, None, "of fp32 peak, zeros of the padding counted"),
    ("centre/", "peak_percent", None, 50, "of fp32 peak (sums in double)"),
    ("backward/rows32/3x", "peak_percent", None, 100, "of fp32 peak"),
    ("backward/rows64/3x", "peak_percent", 70, 100, "of fp32 peak"),
    ("backward/rows64/32x16x16_depthwise", "peak_percent", None, 100, "of fp32 peak"),
    ("backward/rows64/32x24x24_pool", "peak_percent", None, 100, "of fp32 peak"),
    ("backward/rows64/", "peak_percent", 88, 100, "of fp32 peak"),
    ("backward/", "peak_percent", None, 100, "of fp32 peak"),
    ("backward_wide/", "peak_percent", None, 50, "of fp32 peak (double lanes)"),
)

# (network, method) begin with -> least ratio of the peer's time to ours
PEER_GOALS = (
    ("acasxu", "ibp", 300), ("acasxu", "crown", 300), ("rl_", "", 300), ("reach_", "", 300),
    ("mnistfc", "ibp", 30), ("mnistfc", "crown", 5),
    ("oval21", "ibp", 50), ("verivital", "ibp", 50), ("cifar10", "ibp", 50),
    ("oval21", "crown", 20), ("verivital", "crown", 20), ("cifar10_resnet_2b", "crown", 40),
)
# Least percent of the roofline: both signs of all rows through all weights. Work that is not done,
# for dead neurons, counts as done.
ROOFLINE_GOALS = {"mnistfc_256x4/crown/box0": 92}
# crown-ibp has goals of its own nowhere.
WITHOUT_GOAL = ("crown_ibp",)
BATCH_GOAL = 5  # of 64 boxes, per box
# The peak of the machine that the peer's times come from.
PEER_PEAK = json.loads((SOURCE / "bench" / "peer_times.json").read_text())["peak_gflops"]
# Forward lines of the 64 boxes: boxes/s on a processor of 178 GFLOP/s.
LINES_GOALS = {"acasxu_1_1": 450e3}

# seconds: of bf-aot before the C++ compiler, and of the whole build
BUILD_MODELS = (
    ("acasxu_1_1", "acasxu/onnx/ACASXU_run2a_1_1_batch_2000.onnx", 0.5),
    ("mnistfc_256x4", "mnist_fc/onnx/mnist-net_256x4.onnx", 2.0),
)
WHOLE_BUILD_GOAL = 20.0


def run_program(build, name, pattern):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        command = [str(build / "bench" / name), "--benchmark_out_format=json",
                   f"--benchmark_out={out.name}"]
        if pattern:
            command.append(f"--benchmark_filter={pattern}")
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        text = pathlib.Path(out.name).read_text()
    return json.loads(text) if text else {"context": {}, "benchmarks": []}


def short_name(benchmark):
    return benchmark["name"].split("/iterations")[0]


def less_disturbed(new, old):
    """True when one run of a benchmark met less disturbance than another."""
    for key in ("peak_gflops", "read_gbps"):
        if "ns_min" not in new and key in new:
            return new[key] > old[key]
    return new["ns_min"] < old["ns_min"]


def collect(build, pattern, skip_builds, runs):
    """All figures: {"machine": {..}, "figures": {name: {counter: value}}}, each benchmark's from the
    least disturbed of its runs."""
    standard = {"name", "family_index", "per_family_instance_index", "run_name", "run_type",
                "repetitions", "repetition_index", "threads", "iterations", "real_time",
                "cpu_time", "time_unit"}
    machine, figures = {}, {}
    for program in PROGRAMS * runs:
        result = run_program(build, program, pattern)
        for key in ("processor", "vector_bytes", "compiler"):
            if key in result["context"]:
                machine[key] = result["context"][key]
        for benchmark in result["benchmarks"]:
            if benchmark.get("error_occurred"):
                sys.exit(f"{short_name(benchmark)}: {benchmark['error_message']}")
            name = short_name(benchmark)
            counters = {key: float(f"{value:.4g}") for key, value in benchmark.items()
                        if key not in standard}
            if name not in figures or less_disturbed(counters, figures[name]):
                figures[name] = counters
    machine["model"] = processor_model()
    machine["system"] = platform.machine()
    machine["verifier_compiler"] = first_line([os.environ.get("CXX", "c++"), "--version"])
    if not skip_builds:
        figures.update(build_times(build))
    return {"machine": machine, "figures": figures}


def processor_model():
    """"25/17": family and model, where Linux says them; virtual machines hide the name."""
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return ""
    found = [re.search(rf"^{key}\s*: (\d+)$", text, re.MULTILINE) for key in ("cpu family", "model")]
    return "/".join(match.group(1) for match in found if match)


def first_line(command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")[0]


def shared_model(path, folder):
    """A model of the shared corpus, unpacked into `folder` when it is packed; None: not there."""
    shared = pathlib.Path(os.environ.get("BF_SHARED", SOURCE.parent / "shared")) / "corpus"
    if (shared / path).exists():
        return shared / path
    packed = shared / (path + ".gz")
    if not packed.exists():
        return None
    model = pathlib.Path(folder) / packed.stem
    model.write_bytes(gzip.decompress(packed.read_bytes()))
    return model


def build_times(build):
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, path, _ in BUILD_MODELS:
            model = shared_model(path, folder)
            if model is None:
                continue
            command = [str(build / "aot" / "bf-aot"), str(model), "-o", f"{folder}/verifier.cpp"]
            figures[f"build/{name}"] = {
                "compiler_seconds": min(seconds(command + ["--no-library"]) for _ in range(3)),
                "whole_seconds": seconds(command)}
    return figures


def seconds(command):
    start = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return round(time.monotonic() - start, 3)


def kernel_goals(name, wide, counters):
    """(counter, goal, limit, unit) of a kernel; wide: its vectors are those of AVX-512."""
    _, counter, goal, limit, unit = next(g for g in KERNEL_GOALS if name.startswith(g[0]))
    if isinstance(goal, tuple):
        goal = goal[0 if wide else 1]
    if name.startswith("interval_") and counter == "read_percent":
        # Two multiply-adds for each weight of four bytes: what the peak allows may be less.
        limit = min(limit, 100 * counters["peak_gflops"] / counters["read_gbps"])
    return counter, goal, limit, unit


def rows_of(machine, figures):
    """(name, measured, unit, goal, limit, met) for everything that has a goal or a limit."""
    peak = figures.get("machine/fma_float32", {}).get("peak_gflops")

    def at_peer(counters):
        """The ratio if this machine had the peak of the one that the peer was measured on."""
        return "" if peak is None else f" ({counters['peer_ratio'] * PEER_PEAK / peak:.4g} at its peak)"

    for name, counters in figures.items():
        kind, _, rest = name.partition("/")
        if kind == "machine":
            key = "peak_gflops" if "peak_gflops" in counters else "read_gbps"
            yield name, counters[key], key, None, None, True
        elif kind in ("kernel", "kernel_avx2"):
            rest = rest.replace("_live", "")  # the same kernel through lists of live neurons
            wide = kind == "kernel" and machine.get("vector_bytes") == "64"
            counter, goal, limit, unit = kernel_goals(rest, wide, counters)
            yield name, counters[counter], "% " + unit, goal, limit, goal is None or \
                counters[counter] >= goal
            if "soundness_percent" in counters:
                goal = next(g for n, g in SOUNDNESS_GOALS if rest.startswith(n))
                yield name, counters["soundness_percent"], "% more time than without prices", \
                    goal, 0, counters["soundness_percent"] <= goal
        elif kind == "conv":
            _, counter, goal, limit, unit = next(g for g in CONV_GOALS if rest.startswith(g[0]))
            yield name, counters[counter], "% " + unit, goal, limit, goal is None or \
                counters[counter] >= goal
            if counter != "peak_percent":
                yield name, counters["peak_percent"], "% of fp32 peak", None, 100, True
        elif kind == "batch" and rest.endswith("/forward/64"):
            goal = LINES_GOALS.get(rest.split("/")[0])
            yield name, counters["boxes_at_goal_peak"], "boxes/s at 178 GFLOP/s", goal, \
                counters["limit_at_goal_peak"], \
                goal is None or counters["boxes_at_goal_peak"] >= goal
        elif kind == "batch" and "peer_ratio" in counters:
            yield name, counters["peer_ratio"], "x auto_LiRPA, per box" + at_peer(counters), \
                BATCH_GOAL, counters.get("limit_ratio"), counters["peer_ratio"] >= BATCH_GOAL
        elif kind == "verifier" and "peer_ratio" in counters:
            network, method, _ = rest.split("/")
            goal = None if method in WITHOUT_GOAL else next(
                (g for n, m, g in PEER_GOALS
                 if network.startswith(n) and method.startswith(m)), None)
            # The limit is the peer's ratio at 100 % of the roofline, where the work was counted.
            limit = None
            if "roofline_percent" in counters:
                limit = counters["peer_ratio"] * 100 / max(counters["roofline_percent"], 1e-9)
            yield name, counters["peer_ratio"], "x auto_LiRPA" + at_peer(counters), goal, limit, \
                goal is None or counters["peer_ratio"] >= goal
            if rest in ROOFLINE_GOALS:
                yield name, counters["roofline_percent"], "% of roofline", ROOFLINE_GOALS[rest], \
                    None, counters["roofline_percent"] >= ROOFLINE_GOALS[rest]
        elif kind == "build":
            goal = next(g for n, _, g in BUILD_MODELS if n == rest)
            yield name, counters["compiler_seconds"], "s bf-aot", goal, None, \
                counters["compiler_seconds"] < goal
            yield name, counters["whole_seconds"], "s whole build", WHOLE_BUILD_GOAL, None, \
                counters["whole_seconds"] < WHOLE_BUILD_GOAL


def print_goals(machine, figures):
    number = lambda value: "-" if value is None else f"{value:.4g}"
    print(f"{'':46} {'measured':>9} {'goal':>7} {'limit':>8}")
    for name, measured, unit, goal, limit, met in rows_of(machine, figures):
        beyond = limit is not None and goal is not None and 0 < limit < goal
        mark = "" if met else "  MISSED, beyond the limit" if beyond else "  MISSED"
        print(f"{name:46} {measured:9.4g} {number(goal):>7} {number(limit):>8}  {unit}{mark}")


def print_verifiers(figures):
    print(f"\n{'':46} {'min':>10} {'median':>10} {'roofline':>8} {'Eigen':>7} {'double':>7}")
    for name, counters in figures.items():
        if name.startswith("verifier/") and "roofline_percent" in counters:
            print(f"{name:46} {counters['ns_min'] / 1e3:7.2f} us {counters['ns_median'] / 1e3:7.2f} us"
                  f" {counters['roofline_percent']:6.1f} % {counters['eigen_speedup']:6.2f}x"
                  f" {counters['reference_speedup']:6.1f}x")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="build folder of the release preset")
    parser.add_argument("--filter", help="regular expression of benchmarks to run")
    parser.add_argument("--runs", type=int, default=1,
                        help="run everything so often and keep the best of each benchmark")
    parser.add_argument("--no-builds", action="store_true", help="leave out compile times")
    parser.add_argument("--baseline", type=pathlib.Path, help="write the figures to this file")
    arguments = parser.parse_args()
    result = collect(arguments.build, arguments.filter, arguments.no_builds,
                     arguments.runs)
    print_goals(result["machine"], result["figures"])
    print_verifiers(result["figures"])
    if arguments.baseline:
        arguments.baseline.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
