"""bf_aot.verify: queries about several networks."""

import json
import subprocess

import numpy as np
import pytest

import bf_aot
from bf_aot import Verdict

TENSORS = "(declare-input X Real [1,2])(declare-output Y Real [1,2])"
BOX = "(assert (and (<= -1 f.X[0,0] 1) (<= -1 f.X[0,1] 1)))"
EQUAL = "(assert (and (= f.X[0,0] g.X[0,0]) (= f.X[0,1] g.X[0,1])))"
WIRED = "(assert (and (= g.X[0,0] f.Y[0,0]) (= g.X[0,1] f.Y[0,1])))"


def query(condition, congruence="", equal=EQUAL):
    return (f"(vnnlib-version <2.0>)(declare-network f {TENSORS})(declare-network g {congruence} {TENSORS})"
            f"{BOX}{equal}(assert {condition})")


def test_verdicts(tiny, models):
    found = bf_aot.verify({"f": tiny, "g": tiny}, models / "properties/tiny_twice.vnnlib")
    assert found.verdict is Verdict.VERIFIED and found.networks == {} and found.witness is None
    found = bf_aot.verify({"f": tiny}, query("(!= f.Y[0,1] g.Y[0,1])", "(equal-to f)"))
    assert found.verified


def test_a_witness_has_a_part_for_each_network(tiny):
    found = bf_aot.verify({"f": tiny, "g": tiny}, query("(>= g.Y[0,0] 8.99)", equal=WIRED))
    assert found.falsified and list(found.networks) == ["f", "g"]
    (x, y), (u, v) = found.networks["f"], found.networks["g"]
    assert np.array_equal(u, y) and v[0] >= 8.99
    assert np.array_equal(found.witness, np.concatenate([x, u])) and len(found.exact_witness) == 4
    assert np.array_equal(found.output, np.concatenate([y, v]))
    assert np.allclose(tiny.evaluate(x), y, atol=1e-5)


@pytest.mark.parametrize(("condition", "equal"), [
    ("(>= (abs (- f.Y[0,0] g.Y[0,0])) 0.01)", EQUAL), ("(>= f.Y[0,0] g.Y[0,0])", EQUAL),
    ("(>= g.Y[0,0] 9.01)", WIRED), ("(>= g.Y[0,0] 8.99)", WIRED)])
def test_the_program_says_the_same(condition, equal, tiny, models, program, tmp_path):
    path = tmp_path / "query.vnnlib"
    path.write_text(query(condition, equal=equal), encoding="utf-8")
    ours = bf_aot.verify({"f": tiny, "g": tiny}, path, jobs=1)
    model = models / "tiny.onnx"
    done = subprocess.run([program, "verify", path, "--network", f"f={model}", "--network", f"g={model}", "--json",
                           "--jit", "off", "--jobs", "1"], stdout=subprocess.PIPE, check=True)
    theirs = json.loads(done.stdout)
    assert theirs["verdict"] == str(ours.verdict)
    assert [name.split()[0] for name in theirs["methods"]] == ours.methods
    assert (theirs["cases"], theirs["verified_cases"]) == (ours.cases, ours.verified_cases)
    if ours.verified:  # a search takes turns by the clock
        assert (theirs["boxes"], theirs["points"], theirs["neuron_nodes"], theirs["difference_boxes"]) == (
            ours.boxes, ours.points, ours.nodes, ours.difference_boxes)
    else:
        assert len(theirs["counterexample"]["x"]) == len(ours.exact_witness) == 4
        assert len(theirs["counterexample"]["y"]) == len(ours.output) == 4


def test_errors(tiny, avoid, models, tmp_path):
    twice = models / "properties/tiny_twice.vnnlib"
    with pytest.raises(bf_aot.Error, match="BF3413"):
        bf_aot.verify({}, twice)
    with pytest.raises(bf_aot.Error, match="BF3413.*'g', which is not given"):
        bf_aot.verify({"f": tiny}, twice)
    with pytest.raises(bf_aot.Error, match="BF3408"):
        bf_aot.verify({"f": tiny, "g": avoid}, twice)
    with pytest.raises(bf_aot.Error, match="BF3410"):
        tiny.verify(twice)
    assert bf_aot.verify({"f": tiny, "g": tiny}, twice, proof=True).proof.missing == ""
    with pytest.raises(bf_aot.Error, match="BF3020"):
        bf_aot.verify({"f": tiny, "g": tiny}, twice, branch_seconds=0, checkpoint=tmp_path / "none.json")
    with pytest.raises(TypeError, match="there is no option"):
        bf_aot.verify({"f": tiny, "g": tiny}, twice, tiles=3)
