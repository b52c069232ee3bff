"""bf_aot.compare: two networks."""

import json
import subprocess

import numpy as np
import pytest

import bf_aot
from bf_aot import Verdict


def test_a_network_and_itself(tiny):
    found = bf_aot.compare(tiny, tiny, [-1, -1], [1, 1], within=0, classes=True)
    assert found.proven == found.attained == 0 and found.output is None and found.point is None
    assert found.within is Verdict.VERIFIED and found.classes is Verdict.VERIFIED
    assert found.lower.tolist() == found.upper.tolist() == [0, 0]
    assert "differ by at most 0" in repr(found)


def test_the_program_says_the_same(avoid, digits, models, program, tmp_path):
    half = tmp_path / "half.onnx"
    script = models / "examples" / "compare" / "half_precision.py"
    subprocess.run(["python3", script, models / "collision_avoidance_6x50.onnx", half], check=True)
    box = json.loads((models / "boxes" / "collision_avoidance_6x50.json").read_text())
    found = bf_aot.compare(avoid, bf_aot.load(half), box["lower"], box["upper"], within=0.001)
    assert found.within is Verdict.VERIFIED
    assert 0 < found.attained <= found.proven <= 0.001
    gap = bf_aot.load(half).evaluate(found.point) - avoid.evaluate(found.point)
    assert abs(gap[found.output]) == pytest.approx(found.attained, abs=1e-5)
    assert np.all(found.lower <= found.upper) and len(found.exact_point) == 5
    printed = subprocess.run(
        [program, "compare", models / "collision_avoidance_6x50.onnx", half, "--box",
         models / "boxes" / "collision_avoidance_6x50.json", "--within", "0.001", "--json"],
        check=True, stdout=subprocess.PIPE)
    assert json.loads(printed.stdout)["proven"] == pytest.approx(found.proven, rel=0.3)


@pytest.mark.parametrize("name", ["checkpoint", "proof"])
def test_files_of_one_decision_are_refused(name, tiny, tmp_path):
    with pytest.raises(bf_aot.Error, match=f"BF3501: {name}"):
        bf_aot.compare(tiny, tiny, [-1, -1], [1, 1], **{name: tmp_path / "file"})
    assert not (tmp_path / "file").exists()


def test_errors(tiny, avoid):
    with pytest.raises(bf_aot.Error, match="BF3416"):
        bf_aot.compare(tiny, avoid, [-1, -1], [1, 1])
    with pytest.raises(bf_aot.Error, match="BF3503"):
        bf_aot.compare(tiny, tiny, [1, -1], [-1, 1])
    with pytest.raises(bf_aot.Error, match="BF3501"):
        bf_aot.compare(tiny, tiny, [-1, -1], [1, 1], within=-1)
    with pytest.raises(ValueError, match="one box"):
        bf_aot.compare(tiny, tiny, np.zeros((3, 2)), np.ones((3, 2)))
