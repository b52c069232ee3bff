#!/usr/bin/env bash
# After install_tool.sh, as VNN-COMP calls it: post_install.sh v1. Nothing is left to do but to see
# that the program answers.
set -euo pipefail
[[ ${1:-} == v1 ]] || { echo "usage: $0 v1" >&2; exit 1; }
"$(dirname "$0")/../../build/vnncomp/aot/bf-aot" --version
