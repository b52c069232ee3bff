#!/bin/sh
# Compiles the proofs, extracts the checker, and builds it: build.sh OUT. All goes to the folder OUT.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
cp "$here"/*.v "$here"/*.ml .
for file in Network Certificate Extract; do
  if [ ! "$file.vo" -nt "$here/$file.v" ]; then coqc -q "$file.v"; fi
done
