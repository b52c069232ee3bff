#!/usr/bin/env bash
# Before the clock of an instance, as VNN-COMP calls it: prepare_instance.sh v1 CATEGORY ONNX VNNLIB
# Ends what an earlier instance left running. Exit code 0: the instance is handled.
set -euo pipefail
[[ ${1:-} == v1 && $# -eq 4 ]] || { echo "usage: $0 v1 CATEGORY ONNX VNNLIB" >&2; exit 1; }
pkill -KILL -x bf-aot || true
[[ -r $3 && -r $4 ]]
