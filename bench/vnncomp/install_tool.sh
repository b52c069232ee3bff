#!/usr/bin/env bash
# Builds bf-aot in the folder that this is in, as VNN-COMP calls it: install_tool.sh v1
set -euo pipefail
[[ ${1:-} == v1 ]] || { echo "usage: $0 v1" >&2; exit 1; }
root=$(cd "$(dirname "$0")/../.." && pwd)
"$root/.ci/setup" build
cmake -S "$root" -B "$root/build/vnncomp" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DBF_AOT_BUILD_TESTS=OFF -DBF_AOT_INSTALL_LIBRARY=OFF
cmake --build "$root/build/vnncomp" --target bf-aot
