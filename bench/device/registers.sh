#!/usr/bin/env bash
# Prints what each entry point takes of a processor of an NVIDIA device, as ptxas tells: bench/device/registers.sh
# [BUILD [ARCH]], build/demo and sm_90. It needs nvcc, and no device; without nvcc its exit code is 77. Seconds are
# those of the compiler.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build/demo}
arch=${2:-sm_90}
nvcc=$(command -v nvcc || command -v /usr/local/cuda/bin/nvcc) || { echo "skipped: no nvcc"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source bench/device/networks.sh

row() {
  local model=$1 name=$2 method start
  for method in ibp crown; do
    "$build/aot/bf-aot" "$model" --target cuda --method $method --name net -o "$work/net.cu" > /dev/null
    start=$SECONDS
    "$nvcc" -arch="$arch" -std=c++17 -O3 -Xptxas -v -cubin "$work/net.cu" -o "$work/net.cubin" 2> "$work/said"
    awk -v name="$name" -v method=$method -v seconds=$((SECONDS - start)) '
      /Compiling entry function/ { ours = /net_bounds/ }
      ours && /stack frame/ { stack = $1; stores = $5; loads = $9 }
      ours && /Used .* registers/ {
        shared = match($0, /[0-9]+ bytes smem/) ? substr($0, RSTART, RLENGTH - 11) : 0
        registers = $5
      }
      END { printf "| %s | %s | %s | %s | %s | %s | %s | %s |\n", name, method, registers, stack, stores, loads, shared,
            seconds }' "$work/said"
  done
}

printf '| network | method | registers | stack | spilled | read back | shared | seconds |\n|---|---|---|---|---|---|---|---|\n'
each_network row
