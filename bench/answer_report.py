"""Measures how long a user waits for an answer, from the start of the process to its end.

    python3 bench/answer_report.py [--bf-aot PROGRAM] [--shared FOLDER] [--runs 5] [--compiled]

Questions of the shared corpus: bounds of one box, and decisions of ACAS Xu's properties, one process
each, on one core, one after the other, with an empty cache. Prints a Markdown table: the least and the
median seconds of --runs, the largest resident memory; of the ACAS Xu properties the median and the sum over all of them, and how many
answers are not those expected, of which there must be none (exit code 1). --compiled: the same by
--lowering vector as well, once.
"""

import argparse
import csv
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[1]
BOUNDS = [("ACAS Xu, crown", "acasxu/onnx/ACASXU_run2a_1_1_batch_2000.onnx", "acasxu_1_1"),
          ("mnist_fc 256x4, crown", "mnist_fc/onnx/mnist-net_256x4.onnx", "mnistfc_256x4"),
          ("sigmoid 6x200, crown", "eran/onnx/ffnnSIGMOID__Point_6x200.onnx", "eran_sigmoid_6x200"),
          ("oval21 base, crown", "oval21_2021/onnx/cifar_base_kw.onnx", "oval21_base"),
          ("resnet_2b, crown", "cifar10_resnet/onnx/resnet_2b.onnx", "cifar10_resnet_2b")]


def found(folder, name):
    """A file of the corpus, packed or not."""
    return next((path for path in (folder / name, folder / (name + ".gz")) if path.exists()), None)


def answer(command):
    """Seconds, KiB of memory and the output of a process without a cache of verifiers."""
    with tempfile.TemporaryDirectory() as cache:
        start = time.monotonic()
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=dict(os.environ, XDG_CACHE_HOME=cache), text=True)
        output = process.stdout.read()
        errors = process.stderr.read()
        _, _, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
    if not output:
        sys.exit(f"{command}: {errors}")
    return seconds, usage.ru_maxrss, output


def row(name, seconds, memory):
    print(f"| {name} | {1e3 * min(seconds):.0f} | {1e3 * statistics.median(seconds):.0f} | {max(memory) / 1024:.0f} |")


def bounds(program, shared, runs, options):
    for name, model, golden in BOUNDS:
        path, box = found(shared / "corpus", model), shared / "golden" / f"{golden}.json"
        if path is None or not box.exists():
            continue
        seen = [answer([program, "run", path, "--box", box, "--index", "0", *options]) for _ in range(runs)]
        row(f"run, {name}", [each[0] for each in seen], [each[1] for each in seen])


def decisions(program, shared):
    """Decides every instance of ACAS Xu."""
    folder = shared / "corpus" / "acasxu"
    expected = {}
    with (folder / "expected.csv").open(newline="") as lines:
        for line in csv.DictReader(lines):
            expected[line["onnx"], line["vnnlib"]] = line["verdict"]
    seconds, memory, wrong = [], [], 0
    with (folder / "instances.csv").open(newline="") as lines:
        for model, prop, _ in csv.reader(lines):
            spent, kib, output = answer([program, "verify", found(folder, model), found(folder, prop), "--vnncomp"])
            seconds.append(spent)
            memory.append(kib)
            wrong += output.split()[0] != expected[model, prop]
    row(f"verify, ACAS Xu, {len(seconds)} instances", seconds, memory)
    print(f"\nAll {len(seconds)} instances: {sum(seconds):.1f} s, the longest {max(seconds):.1f} s; "
          f"answers that are not the expected ones: {wrong}.")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bf-aot", default=SOURCE / "build" / "release" / "aot" / "bf-aot")
    parser.add_argument("--shared", type=pathlib.Path, default=SOURCE / ".." / "shared")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--compiled", action="store_true")
    arguments = parser.parse_args()
    program, shared = arguments.bf_aot, arguments.shared.resolve()
    print("| question | least, ms | median, ms | memory, MiB |\n|---|---|---|---|")
    seen = [answer([program, "--version"]) for _ in range(arguments.runs)]
    row("--version", [each[0] for each in seen], [each[1] for each in seen])
    bounds(program, shared, arguments.runs, [])
    if arguments.compiled:
        bounds(program, shared, 1, ["--lowering", "vector"])
    return 1 if decisions(program, shared) else 0


if __name__ == "__main__":
    sys.exit(main())
