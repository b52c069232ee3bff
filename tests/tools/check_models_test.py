"""check_models.py must find each kind of fault: spoils a copy of models/ in one way at a time.

python3 check_models_test.py MODELS
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

TOOL = pathlib.Path(__file__).with_name("check_models.py")


def edit_json(path, change):
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))


def flip_weight(models):
    data = bytearray((models / "digits_64x2.onnx").read_bytes())
    data[1000] ^= 1
    (models / "digits_64x2.onnx").write_bytes(data)


def unlist(models):
    readme = models / "README.md"
    lines = readme.read_text().splitlines(keepends=True)
    readme.write_text("".join(x for x in lines if not x.startswith("| `tiny.onnx` | 2-2-2")))


def narrow_bound(models):
    def change(golden):
        box = golden["boxes"][0]
        box["crown"]["upper"][0] = box["forward"][0] - 1e-6

    edit_json(models / "golden" / "tiny.json", change)


def move_spec_bound(models):
    def change(golden):
        bounds = golden["boxes"][1]["ibp"]
        bounds["C_lower"][0] = bounds["C_upper"][0] + 1.0

    edit_json(models / "golden" / "tiny_scale.json", change)


def widen_to_double(models):
    def change(golden):
        golden["boxes"][0]["lower"][0] = 0.1

    edit_json(models / "golden" / "tiny.json", change)


def forget_key(models):
    edit_json(models / "golden" / "tiny.json", lambda golden: golden["boxes"][2].pop("crown_ibp"))


def other_spec(models):
    edit_json(models / "specs" / "digits_64x2.json", lambda spec: spec["C"].pop())


def lose_golden(models):
    (models / "golden" / "tiny_linear.json").unlink()


def grow(models):
    (models / "large.bin").write_bytes(bytes(1 << 20))


# what is spoilt -> a part of the line that must be printed
CASES = (
    (flip_weight, "digits_64x2.onnx: its sha256"),
    (unlist, "tiny.onnx: not in README.md"),
    (narrow_bound, "tiny.json: box 0: crown[0]"),
    (move_spec_bound, "tiny_scale.json: box 1: ibp C[0]"),
    (widen_to_double, "tiny.json: box 0: an end of the box is not a float32"),
    (forget_key, "tiny.json: box 2: keys are missing: ['crown_ibp']"),
    (other_spec, "specs/digits_64x2.json: not the first box"),
    (lose_golden, "tiny_linear.onnx: has no golden"),
    (grow, "models/ holds"),
)


def run(models):
    command = [sys.executable, str(TOOL), str(models)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def main():
    failed = False
    for spoil, expected in CASES:
        with tempfile.TemporaryDirectory() as folder:
            models = pathlib.Path(folder) / "models"
            shutil.copytree(sys.argv[1], models)
            spoil(models)
            code, output = run(models)
        if code != 1 or expected not in output:
            print(f"{spoil.__name__}: exit code {code}, expected '{expected}' in:\n{output}")
            failed = True
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
