#!/usr/bin/env bash
# Fuzzes the readers of models and of properties side by side: run_fuzzers.sh BUILD, the folder of preset fuzz.
# BF_FUZZ_SECONDS: of each, by default 20. Prints libFuzzer's figures; with what it printed, exit code 1 for a finding.
set -euo pipefail
build=$(realpath "$1")
cd "$(dirname "$0")"

fuzz() {  # program, options, seeds
  local found
  found=$(mktemp -d)
  "$build/tests/fuzz/$1" -max_total_time="${BF_FUZZ_SECONDS:-20}" -timeout=10 -rss_limit_mb=2048 \
    -artifact_prefix="$found/" -print_final_stats=1 "$found" "${@:2}" \
    >"$found.log" 2>&1 || { cat "$found.log" >&2; exit 1; }
  grep '^stat::' "$found.log"
  rm -rf "$found" "$found.log"
}
fuzz fuzz_importer "$build/tests/fuzz/corpus" &
importer=$!
fuzz fuzz_vnnlib -max_len=4096 -dict=vnnlib.dict vnnlib ../errors/vnnlib
wait "$importer"
