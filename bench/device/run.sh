#!/usr/bin/env bash
# Measures verifiers on an NVIDIA device: bench/device/run.sh [BUILD]. It compiles with nvcc, runs the soundness tests of
# devices, where OpenCL has the device, then each network's verifier by batch, whose bounds are compared with those
# of this processor. BUILD: a folder with bf-aot and the tests, as .ci/test leaves it; build/demo. Prints a table for
# docs/measurements/devices.md. Without nvcc or a device it says so, and its exit code is 77.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build/demo}
shared=${BF_SHARED:-../shared}
nvcc=$(command -v nvcc || command -v /usr/local/cuda/bin/nvcc) || { echo "skipped: no nvcc"; exit 77; }
command -v nvidia-smi > /dev/null && nvidia-smi -L 2> /dev/null | grep -q GPU || { echo "skipped: no NVIDIA device"; exit 77; }
nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader
"$nvcc" --version | tail -n 2 | head -n 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "==> soundness, also in groups of 64 items"
"$build/tests/soundness/soundness_device_test" --gtest_brief=1

# network, its name, least and greatest input, eps
measure() {
  local model=$1 name=$2 method
  if [[ -e $model.gz ]]; then
    gunzip -c "$model.gz" > "$work/model.onnx"
    model=$work/model.onnx
  fi
  if [[ ! -e $model ]]; then
    echo "==> $name: not here: $model"
    return
  fi
  for method in ibp crown; do
    printf '\n==> %s, %s\n\n' "$name" "$method"
    "$build/aot/bf-aot" "$model" --target cuda --method $method --name net -o "$work/net.cu" > /dev/null
    "$nvcc" -arch=native -std=c++17 -O3 -I"$work" "$work/net.cu" bench/device/throughput.cpp -o "$work/net"
    "$work/net" "$3" "$4" "$5" > "$work/box.json"
    "$build/aot/bf-aot" run "$model" --method $method --box "$work/box.json" --repeat 1 --json |
      python3 -c 'import json, sys
made = json.load(sys.stdin)["outputs"]
print(*(x for pair in zip(made["lower"], made["upper"]) for x in pair))' > "$work/reference"
    printf '| batch | boxes/s | ms a call | GB |\n|---|---|---|---|\n'
    "$work/net" "$3" "$4" "$5" "$work/reference"
  done
}

corpus=$shared/corpus
measure models/collision_avoidance_6x50.onnx "collision avoidance 6x50" -0.5 0.5 0.01
measure "$corpus/acasxu/onnx/ACASXU_run2a_1_1_batch_2000.onnx" "ACAS Xu" -0.5 0.5 0.01
for layers in 2 4 6; do
  measure "$corpus/mnist_fc/onnx/mnist-net_256x$layers.onnx" "mnist 256x$layers" 0 1 0.01
done
for width in base wide; do
  measure "$corpus/oval21_2021/onnx/cifar_${width}_kw.onnx" "oval21 $width" 0 1 0.004
done
measure "$corpus/cifar10_resnet/onnx/resnet_2b.onnx" "resnet_2b" 0 1 0.004
