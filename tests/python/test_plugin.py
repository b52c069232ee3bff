"""The fixtures of pytest, and their report, in a run of pytest of its own."""

import importlib.util
import json
import subprocess
import sys

import numpy as np
import pytest

import bf_aot
from conftest import MODELS

TESTS = f"""
import numpy as np
import bf_aot

MODELS = {str(MODELS)!r}
DIGITS = MODELS + "/examples/robustness/digits_cnn.onnx"


def data():
    with np.load(MODELS + "/examples/robustness/digits_test.npz") as file:
        return file["x"][:40] / 16, file["y"][:40]


def test_certified(bf_aot_certify):
    found = bf_aot_certify(DIGITS, *data(), "0.01", clip="0 1", at_least=0.9)
    assert found.accuracy >= 0.9


def test_certified_by_radius(bf_aot_certify):
    bf_aot_certify(bf_aot.load(DIGITS), *data(), [0.001, 0.3], clip=(0, 1), at_least=["9/10", 0])


def test_missed(bf_aot_certify):
    bf_aot_certify(DIGITS, *data(), 0.2, clip=(0, 1), at_least=0.9)


def test_no_samples(bf_aot_certify):
    x, y = data()
    bf_aot_certify(DIGITS, x[:0], y[:0], 0.2)


def test_verified(bf_aot_verify):
    bf_aot_verify(MODELS + "/tiny.onnx", MODELS + "/properties/tiny_holds.vnnlib")


def test_violated(bf_aot_verify):
    bf_aot_verify(MODELS + "/tiny.onnx", MODELS + "/properties/tiny_violated.vnnlib")
"""


def run(folder, *arguments):
    (folder / "test_gates.py").write_text(TESTS)
    return subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_gates.py",
                           *arguments], cwd=folder, capture_output=True, text=True, check=False)


def test_gates(tmp_path):
    done = run(tmp_path, "--bf-aot-report", "r.json", "--junitxml", "j.xml")
    assert done.returncode == 1, done.stdout
    failed = {line.split(" ")[1].split("::")[1] for line in done.stdout.splitlines()
              if line.startswith("FAILED")}
    assert failed == {"test_missed", "test_no_samples", "test_violated"}
    assert "of 40 samples are certified, at least 0.9 of them is asked for" in done.stdout
    assert "tiny.onnx: the property is falsified at ['" in done.stdout
    assert "bf-aot: 4 of 7 checks passed, report in r.json" in done.stdout
    rows = json.loads((tmp_path / "r.json").read_text())["checks"]
    assert len(rows) == 7 and sum(row["passed"] for row in rows) == 4
    assert rows[0]["test"] == "test_gates.py::test_certified" and rows[0]["samples"] == 40
    assert rows[0]["certified"] >= 36 and len(rows[0]["sha256"]) == 64
    assert rows[-1]["verdict"] == "falsified"


def test_checks_of_several_processes(tmp_path):
    if importlib.util.find_spec("xdist") is None:
        pytest.skip("pytest-xdist is not installed")
    done = run(tmp_path, "-n", "2", "--bf-aot-report", "r.json")
    assert "bf-aot: 4 of 7 checks passed, report in r.json" in done.stdout
    rows = json.loads((tmp_path / "r.json").read_text())["checks"]
    assert len(rows) == 7 and sum(row["passed"] for row in rows) == 4


def test_errors_are_rows(tmp_path):
    (tmp_path / "test_errors.py").write_text("""
def test_no_model(bf_aot_verify):
    bf_aot_verify("none.onnx", "none.vnnlib")


def test_no_data(bf_aot_certify):
    bf_aot_certify("none.onnx", [[0.0]], [0], 0.1)
""")
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_errors.py",
                           "--bf-aot-report", "r.json"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "bf-aot: 0 of 2 checks passed" in done.stdout
    rows = json.loads((tmp_path / "r.json").read_text())["checks"]
    assert [row["model"] for row in rows] == ["none.onnx"] * 2
    assert all("BF1001" in row["error"] and not row["passed"] for row in rows)


def test_the_report_as_a_page(tmp_path):
    done = run(tmp_path, "--bf-aot-report", "r.html", "-k", "test_certified or test_violated")
    page = (tmp_path / "r.html").read_text()
    assert done.returncode == 1 and page.count('<tr class="passed">') == 3
    assert page.count('<tr class="failed">') == 1 and "<script" not in page
    assert run(tmp_path, "--bf-aot-report", "r.txt").returncode == pytest.ExitCode.USAGE_ERROR


def test_nothing_is_said_where_nothing_is_asked(tmp_path):
    (tmp_path / "test_other.py").write_text("def test_other():\n    pass\n")
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_other.py"],
                          cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "bf-aot" not in done.stdout


def test_assertions_without_pytest():
    digits = MODELS / "examples/robustness/digits_cnn.onnx"
    with np.load(MODELS / "examples/robustness/digits_test.npz") as file:
        x, y = file["x"][:10] / 16, file["y"][:10]
    found = bf_aot.assert_robust(digits, x, y, ["0.01", "0.3"], clip=(0, 1), at_least=["9/10", 0])
    assert found.results[0].accuracy >= 0.9
    with pytest.raises(AssertionError, match="digits_cnn.onnx: eps 0.3: .* of 10 samples are certified"):
        bf_aot.assert_robust(digits, x, y, "0.3", clip=(0, 1))
    with pytest.raises(AssertionError, match="there is none|0 of 0 samples"):
        bf_aot.assert_robust(digits, x[:0], y[:0], "0.3")
    with pytest.raises(ValueError, match="a share is from 0 to 1"):
        bf_aot.assert_robust(digits, x, y, "0.01", at_least=2)
    tiny = MODELS / "tiny.onnx"
    assert bf_aot.assert_verified(tiny, MODELS / "properties/tiny_holds.vnnlib").verified
    with pytest.raises(AssertionError, match=r"tiny.onnx: the property is falsified at \['"):
        bf_aot.assert_verified(tiny, MODELS / "properties/tiny_violated.vnnlib")
