"""Networks of the competitions: bounds against golden ones, and every family compiled and bounded.

    BF_AOT=.. BF_SOURCE_DIR=.. python3 corpus_test.py goldens|optimised|networks|kernels

Needs the shared corpus and goldens ($BF_SHARED, or ../shared beside the source). Exit code 0 and
"skipped: ..." without them.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BF_AOT = os.environ["BF_AOT"]
SOURCE = pathlib.Path(os.environ["BF_SOURCE_DIR"])
SHARED = pathlib.Path(os.environ.get("BF_SHARED", SOURCE / ".." / "shared"))

# Golden file -> where its network is, and the largest mean and maximal ratio of widths.
LINEAR = ("1.005", "1.02")
OPTIMISED = ("1.02", "1.05")  # alpha-crown at equal iterations, where all lines are of ReLUs
NO_RELU = {"eran_sigmoid_6x200", "syn_tanh_fc"}
OTHER = ("1.05", "1.05")  # sigmoid, tanh and max pooling are relaxed by other lines than golden's
GOLDENS = {
    "acasxu_1_1": ("corpus/acasxu/onnx/ACASXU_run2a_1_1_batch_2000.onnx", LINEAR),
    "acasxu_3_3": ("corpus/acasxu/onnx/ACASXU_run2a_3_3_batch_2000.onnx", LINEAR),
    "acasxu_5_7": ("corpus/acasxu/onnx/ACASXU_run2a_5_7_batch_2000.onnx", LINEAR),
    "cifar10_resnet_2b": ("corpus/cifar10_resnet/onnx/resnet_2b.onnx", LINEAR),
    "eran_sigmoid_6x200": ("corpus/eran/onnx/ffnnSIGMOID__Point_6x200.onnx", OTHER),
    "mnistfc_256x2": ("corpus/mnist_fc/onnx/mnist-net_256x2.onnx", LINEAR),
    "mnistfc_256x4": ("corpus/mnist_fc/onnx/mnist-net_256x4.onnx", LINEAR),
    "oval21_base": ("corpus/oval21_2021/onnx/cifar_base_kw.onnx", LINEAR),
    "reach_vdp": ("corpus/reach_prob_density/onnx/vdp.onnx", LINEAR),
    "rl_cartpole": ("corpus/rl_benchmarks/onnx/cartpole.onnx", LINEAR),
    "rl_dubinsrejoin": ("corpus/rl_benchmarks/onnx/dubinsrejoin.onnx", LINEAR),
    "syn_conv_bn_avgpool": ("golden/nets/syn_conv_bn_avgpool.onnx", LINEAR),
    "syn_residual_fc": ("golden/nets/syn_residual_fc.onnx", LINEAR),
    "syn_tanh_fc": ("golden/nets/syn_tanh_fc.onnx", OTHER),
    "tll_N8": ("corpus/tllverifybench/onnx/tllBench_n=2_N=M=8_m=1_instance_0_0.onnx", LINEAR),
    "verivital_avgpool": ("corpus/verivital/onnx/Convnet_avgpool.onnx", LINEAR),
    "verivital_maxpool": ("corpus/verivital/onnx/Convnet_maxpool.onnx", OTHER),
}

# Every family is compiled, too: most of the time goes to the C++ compiler.
COMPILED = ("--lowering", "vector", "--cxx-flags=-O1")

# Exported with channels last: no permute may be left.
CHANNELS_LAST = {"carvana_unet_2022", "marabou-cifar10", "traffic_signs_recognition"}


def existing(path):
    return path if path.exists() else path.with_name(path.name + ".gz")


def run(arguments, environment):
    process = subprocess.run([BF_AOT, *map(str, arguments)], env=environment, capture_output=True,
                             text=True)
    return process.returncode, process.stdout + process.stderr


def compare(name, tolerance, options, environment):
    """Lines about what is wrong."""
    path = existing(SHARED / GOLDENS[name][0])
    if not path.exists():
        yield f"{name}: no network {path}"
        return
    mean, largest = tolerance
    code, text = run(["check", path, "--golden", SHARED / "golden" / f"{name}.json", *options,
                      "--mean-tolerance", mean, "--tolerance", largest], environment)
    print(f"{name}: {'ok' if code == 0 else 'FAILED'}", flush=True)
    if code != 0:
        yield f"{name}:\n{text}"


def goldens(environment):
    for name, (_, tolerance) in GOLDENS.items():
        yield from compare(name, tolerance, [], environment)


def optimised(environment):
    for name in GOLDENS:
        if name not in NO_RELU:
            yield from compare(name, OPTIMISED, ["--method", "alpha-crown", "--samples", "20"], environment)


def instances(family):
    """The first instance of every network of a family: (network, property)."""
    seen = set()
    for line in (SHARED / "corpus" / family / "instances.csv").read_text().splitlines():
        fields = line.strip().split(",")
        if len(fields) < 2 or fields[0] in seen:
            continue
        seen.add(fields[0])
        folder = SHARED / "corpus" / family
        yield existing(folder / fields[0]), existing(folder / fields[1])


def check_network(family, model, known_property, environment):
    for lowering in ((), COMPILED):
        code, text = run(["verify", model, known_property, "--method", "ibp", "--search", "0", "--branch", "1",
                          "--json", *lowering], environment)
        if not text.startswith("{"):
            yield f"{family} {model.name}: exit code {code}: {text.strip()}"
        elif json.loads(text).get("verdict") not in ("verified", "unknown", "falsified"):
            yield f"{family} {model.name}: {text.strip()}"
    if family in CHANNELS_LAST:
        _, text = run(["inspect", model, "-m", "ibp"], environment)
        if re.search(r"^layers; 0 permutes at run time$", text, re.MULTILINE) is None:
            yield f"{family} {model.name}: permutes are left"


def networks(environment):
    """Lines about what is wrong: the first two networks of every family."""
    for folder in sorted((SHARED / "corpus").iterdir()):
        if not (folder / "instances.csv").exists():
            continue
        present = [pair for pair in instances(folder.name) if pair[0].exists() and pair[1].exists()]
        for model, known_property in present[:2]:
            problems = list(check_network(folder.name, model, known_property, environment))
            print(f"{folder.name} {model.name}: {'ok' if not problems else 'FAILED'}", flush=True)
            yield from problems


def kernels(environment):
    """Lines about kernels that do not compile: of the first two networks of every family, by two methods."""
    for folder in sorted((SHARED / "corpus").iterdir()):
        if not (folder / "instances.csv").exists():
            continue
        present = [model for model, _ in instances(folder.name) if model.exists()]
        for model in present[:2]:
            for method in ("ibp", "crown-ibp"):
                code, text = run(["run", model, "--centre", "0.5", "--eps", "0.0001", "--method", method, "--jit",
                                  "wait", "--timeout", "20"], environment)
                print(f"{folder.name} {model.name} {method}: {'ok' if code == 0 else 'FAILED'}", flush=True)
                if code != 0:
                    yield f"{folder.name} {model.name} {method}:\n{text}"


def main():
    if not (SHARED / "corpus").is_dir() or not (SHARED / "golden").is_dir():
        print(f"skipped: no corpus and goldens in {SHARED}")
        return 0
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "XDG_CACHE_HOME": cache}
        problems = list({"goldens": goldens, "optimised": optimised, "networks": networks,
                         "kernels": kernels}[sys.argv[1]](environment))
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
