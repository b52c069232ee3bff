#!/usr/bin/env bash
# Decides an instance, as VNN-COMP calls it: run_instance.sh v1 CATEGORY ONNX VNNLIB RESULTS TIMEOUT
# RESULTS gets the word on its first line (sat, unsat, unknown, timeout, error), behind "sat" the
# counterexample. BF_AOT: the program, where that is not the one that install_tool.sh built.
set -uo pipefail
[[ ${1:-} == v1 && $# -eq 6 ]] || { echo "usage: $0 v1 CATEGORY ONNX VNNLIB RESULTS TIMEOUT" >&2; exit 1; }
program=${BF_AOT:-$(dirname "$0")/../../build/vnncomp/aot/bf-aot}
if ! "$program" verify "$3" "$4" --vnncomp --timeout "$6" >"$5"; then
  echo error >"$5"
fi
