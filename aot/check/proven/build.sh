#!/bin/sh
# Compiles the proofs, extracts the checker, and builds it: build.sh OUT. All goes to the folder OUT.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
changed=0
for file in Network Certificate Table Bounds Functions Lines Check Point Extract; do
  cmp -s "$here/$file.v" "$file.v" || changed=1
  cp "$here/$file.v" .
  if [ $changed = 1 ] || [ ! -f "$file.vo" ]; then
    coqc -q "$file.v" || { rm "$file.v"; exit 1; }
  fi
done
cp "$here"/*.ml .
rm -f checker.mli
ocamlfind ocamlopt -inline 200 -w -a -package zarith,str,unix -linkpkg -o bf-check-proven \
  big.ml checker.ml exact.ml onnx.ml property.ml network.ml operators.ml certificate.ml main.ml
