"""Checks that the files of models/ fit together. Standard library only.

    python3 check_models.py MODELS [--protoc PROTOC --schema ONNX_PROTO]

Exit code 1 and one line for each fault.
"""

import argparse
import hashlib
import json
import pathlib
import re
import struct
import subprocess
import sys

SIZE_LIMIT = 1 << 20
METHODS = ("ibp", "crown_ibp", "crown", "alpha_crown_fixed")
ROUNDING = 1e-12  # the goldens are float64 results of at most some thousand operations
BOX_KEYS = {"desc", "lower", "upper", "C", "rhs", "dnf", "forward", *METHODS}
BOX_KEYS |= {"unstable_per_relu", "size_per_relu"}


def is_float32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0] == value


def check_checksums(models):
    listed = dict(
        re.findall(
            r"^\| `([\w.]+\.onnx)` \|.*`([0-9a-f]{64})` \|$", read(models, "README.md"), re.M
        )
    )
    found = {path.name for path in models.glob("*.onnx")}
    for name in sorted(found ^ set(listed)):
        yield f"{name}: {'not in' if name in found else 'only in'} README.md's table"
    for name in sorted(found & set(listed)):
        if hashlib.sha256((models / name).read_bytes()).hexdigest() != listed[name]:
            yield f"{name}: its sha256 is not the one in README.md"


def read(models, name):
    return (models / name).read_text()


def check_size(models):
    size = sum(p.stat().st_size for p in models.rglob("*") if "__pycache__" not in p.parts)
    if size > SIZE_LIMIT:
        yield f"models/ holds {size} bytes, more than {SIZE_LIMIT}"


def check_text_forms(models, protoc, schema):
    texts = sorted(models.glob("*.textproto"))
    if not texts:
        yield "no .textproto files"
    command = [protoc, f"-I{schema.parent}", "--encode=bf_aot.onnx.ModelProto", schema.name]
    for path in texts:
        done = subprocess.run(command, input=path.read_bytes(), capture_output=True, check=False)
        if done.returncode != 0:
            yield f"{path.name}: {done.stderr.decode().strip()}"
        elif done.stdout != path.with_suffix(".onnx").read_bytes():
            yield f"{path.name}: encodes to other bytes than {path.stem}.onnx holds"


def check_box(box):
    if len(box["lower"]) != len(box["upper"]):
        yield "lower and upper differ in length"
    if not all(map(is_float32, box["lower"] + box["upper"])):
        yield "an end of the box is not a float32 number"
    if any(low > high for low, high in zip(box["lower"], box["upper"])):
        yield "lower > upper"


def check_within(what, values, lower, upper):
    if not len(values) == len(lower) == len(upper):
        yield f"{what}: lengths differ"
    for k, (value, low, high) in enumerate(zip(values, lower, upper)):
        slack = ROUNDING * (1 + abs(value))
        if not low - slack <= value <= high + slack:
            yield f"{what}[{k}]: {value} is not in [{low}, {high}]"


def check_golden_box(box):
    missing = BOX_KEYS - set(box)
    if missing:
        yield f"keys are missing: {sorted(missing)}"
        return
    yield from check_box(box)
    if not len(box["C"]) == len(box["rhs"]) == len({k for clause in box["dnf"] for k in clause}):
        yield "C, rhs and dnf do not fit together"
    spec = [sum(c * y for c, y in zip(row, box["forward"])) for row in box["C"]]
    for method in METHODS:
        bounds = box[method]
        yield from check_within(method, box["forward"], bounds["lower"], bounds["upper"])
        yield from check_within(f"{method} C", spec, bounds["C_lower"], bounds["C_upper"])
    for unstable, size in zip(box["unstable_per_relu"], box["size_per_relu"], strict=True):
        if not 0 <= unstable <= size:
            yield f"{unstable} of {size} neurons are unstable"


def check_goldens(models):
    for path in sorted(models.glob("*.onnx")):
        file = models / "golden" / f"{path.stem}.json"
        if not file.exists():
            yield f"{path.name}: has no golden"
            continue
        golden = json.loads(file.read_text())
        if len(golden["boxes"]) < 3:
            yield f"{file.name}: {len(golden['boxes'])} boxes, at least 3 expected"
        if all(len(set(map(tuple, (b["lower"], b["upper"])))) > 1 for b in golden["boxes"]):
            yield f"{file.name}: no box is a point"
        for k, box in enumerate(golden["boxes"]):
            yield from (f"{file.name}: box {k}: {fault}" for fault in check_golden_box(box))


def check_demos(models):
    boxes = sorted((models / "boxes").glob("*.json"))
    if {p.name for p in boxes} != {p.name for p in (models / "specs").glob("*.json")}:
        yield "boxes/ and specs/ do not hold the same names"
        return
    for path in boxes:
        box = json.loads(path.read_text())
        rows = json.loads(read(models, f"specs/{path.name}"))["C"]
        golden = json.loads(read(models, f"golden/{path.name}"))["boxes"][0]
        yield from (f"boxes/{path.name}: {fault}" for fault in check_box(box))
        if (box["lower"], box["upper"], rows) != (golden["lower"], golden["upper"], golden["C"]):
            yield f"boxes/{path.name}, specs/{path.name}: not the first box of the golden"


def main():
    parser = argparse.ArgumentParser(description="Checks that the files of models/ fit together.")
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("--protoc")
    parser.add_argument("--schema", type=pathlib.Path)
    options = parser.parse_args()
    faults = []
    for check in (check_checksums, check_size, check_goldens, check_demos):
        faults += check(options.models)
    if options.protoc:
        faults += check_text_forms(options.models, options.protoc, options.schema)
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
