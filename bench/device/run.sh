#!/usr/bin/env bash
# Measures verifiers on an NVIDIA device: bench/device/run.sh [BUILD]. It compiles with nvcc, runs the soundness tests of
# devices, where OpenCL has the device, measures the device's peaks, then each network's verifier by batch, whose bounds
# are compared with those of this processor, and whose times with what the peaks allow. An entry is one kernel: its tasks
# have shares of the least time, and no times of their own. BUILD: a folder with bf-aot and the tests, as .ci/test leaves
# it; build/demo. Prints tables for docs/measurements/devices.md. Without nvcc or a device it says so, and its exit code
# is 77.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build/demo}
nvcc=$(command -v nvcc || command -v /usr/local/cuda/bin/nvcc) || { echo "skipped: no nvcc"; exit 77; }
command -v nvidia-smi > /dev/null && nvidia-smi -L 2> /dev/null | grep -q GPU || { echo "skipped: no NVIDIA device"; exit 77; }
nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader
"$nvcc" --version | tail -n 2 | head -n 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source bench/device/networks.sh

echo "==> soundness, also in groups of 64 items"
"$build/tests/soundness/soundness_device_test" --gtest_brief=1

echo "==> peaks"
"$build/aot/bf-aot" profile --device cuda -o "$work/peaks.json"
cat "$work/peaks.json"

measure() {
  local model=$1 name=$2 method
  for method in ibp crown alpha-crown; do
    printf '\n==> %s, %s\n\n' "$name" "$method"
    "$build/aot/bf-aot" "$model" --target cuda --method $method --name net -o "$work/net.cu" > /dev/null
    "$nvcc" -arch=native -std=c++17 -O3 -I"$work" "$work/net.cu" bench/device/throughput.cpp -o "$work/net"
    "$work/net" "$3" "$4" "$5" > "$work/box.json"
    "$build/aot/bf-aot" run "$model" --method $method --box "$work/box.json" --repeat 1 --json |
      python3 -c 'import json, sys
made = json.load(sys.stdin)["outputs"]
print(*(x for pair in zip(made["lower"], made["upper"]) for x in pair))' > "$work/reference"
    "$build/aot/bf-aot" inspect "$model" --method $method --device cuda --peaks "$work/peaks.json" \
      --sample-box "$work/box.json" --json > "$work/figures.json"
    python3 -c 'import json, sys
for batch in json.load(sys.stdin)["batches"]: print(batch["boxes"], batch["limit_seconds"])' \
      < "$work/figures.json" > "$work/limits"
    printf '| batch | boxes/s | ms a call | GB | of the peaks |\n|---|---|---|---|---|\n'
    "$work/net" "$3" "$4" "$5" "$work/reference" "$work/limits"
    python3 -c 'import json, sys
tasks = json.load(sys.stdin)["tasks"]
whole = sum(task["seconds"] for task in tasks)
print("\n| task | float32 | float64 | bytes | of the least time | bound by |\n|---|---|---|---|---|---|")
for task in tasks:
    print(f"""| {task["name"]} | {task["float32_flops"]:.4g} | {task["float64_flops"]:.4g} | {task["bytes"]:.4g} |"""
          f""" {100 * task["seconds"] / whole:.1f} % | {task["bound"]} |""")' < "$work/figures.json"
  done
}

each_network measure
