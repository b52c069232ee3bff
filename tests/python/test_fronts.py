"""The same question by every front: the program, its runs over many instances, and the package."""

import csv
import gzip
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import time

import numpy as np
import pytest

import bf_aot

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/cli"))
import decision_options  # noqa: E402

# Model, property, and options by their names in Python.
QUESTIONS = [
    ("tiny", "tiny_holds", {}),
    ("tiny", "tiny_violated", {}),
    ("collision_avoidance_6x50", "collision_avoidance_6x50", {}),
    ("collision_avoidance_6x50", "collision_avoidance_6x50", {"method": "ibp", "branch_seconds": 0, "search_seconds": 0.5}),
    ("collision_avoidance_6x50", "collision_avoidance_6x50_wide", {}),
    ("collision_avoidance_6x50", "collision_avoidance_6x50_wide",
     {"method": "alpha-crown", "alpha": "all", "iterations": 5}),
    ("collision_avoidance_6x50", "collision_avoidance_6x50_wide",
     {"method": "alpha-crown", "alpha": "outputs", "iterations": 5, "row_tile": 8}),
    ("collision_avoidance_6x50", "collision_avoidance_6x50_wide", {"semantics": "float32"}),
    ("collision_avoidance_6x50", "collision_avoidance_6x50_wide",
     {"method": "crown", "branch_seconds": 0, "search_seconds": 0}),
    ("collision_avoidance_6x50", "collision_avoidance_6x50_wide", {"jit": "wait"}),
    ("collision_avoidance_6x50", "collision_avoidance_6x50_wide",
     {"granularity": "step", "disable_pass": "exact-centres", "libm_ulps": 8}),
]
# Options of bounds by their names in Python.
BOUNDS = [{"method": "ibp"}, {"method": "crown-ibp", "norm": "l1"}, {"method": "crown", "norm": "l2", "row_tile": 8},
          {"method": "alpha-crown", "alpha": "all", "iterations": 4}, {"method": "CROWN", "semantics": "float32", "libm_ulps": 8},
          {"method": "crown", "disable_pass": "exact-centres"}, {"method": "crown", "memory_budget": "1M"}]
OPTIONS = {"search_seconds": "search", "branch_seconds": "branch"}
COMPETITION = {"verified": "unsat", "falsified": "sat", "unknown": "unknown"}


def as_options(given):
    return [text for name, value in given.items()
            for text in (f"--{OPTIONS.get(name, name).replace('_', '-')}", str(value))]


def run(*arguments):
    return subprocess.run([os.environ["BF_AOT"], *map(str, arguments)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("model", "prop", "given"), QUESTIONS)
def test_fronts_agree(model, prop, given, models, tmp_path):
    network, property_file = models / f"{model}.onnx", models / "properties" / f"{prop}.vnnlib"
    ours = bf_aot.load(network).verify(property_file, **given)

    # Bits of compiled code may differ from the engine's, and so may the boxes that it takes.
    options = as_options({"jit": "off", **given})
    done = run("verify", network, property_file, "--json", "--jobs", 1, *options)
    program = json.loads(done.stdout)
    assert program["verdict"] == str(ours.verdict), done.stderr
    assert program["cases"] == ours.cases and program["verified_cases"] == ours.verified_cases
    assert [name.split()[0] for name in program["methods"]] == list(ours.methods)
    if given.get("jit") is None:
        assert program["boxes"] == ours.boxes and program["neuron_nodes"] == ours.nodes

    instances, results = tmp_path / "instances.csv", tmp_path / "results.csv"
    instances.write_text(f"{network},{property_file},60\n", encoding="utf-8")
    done = run("verify", "--instances", instances, "--results", results, "--jobs", 1, *options)
    assert done.returncode == 0, done.stderr
    with results.open(encoding="utf-8") as file:
        (line,) = csv.reader(file)
    assert COMPETITION[str(ours.verdict)] in line


@pytest.mark.parametrize("given", BOUNDS)
def test_bounds_agree(given, models, tmp_path):
    model = bf_aot.load(models / "collision_avoidance_6x50.onnx")
    box = {"lower": [-0.125] * 5, "upper": [0.25] * 5}
    ours = model.bounds(box["lower"], box["upper"], **given)
    (tmp_path / "box.json").write_text(json.dumps(box), encoding="utf-8")
    done = run("run", models / "collision_avoidance_6x50.onnx", "--box", tmp_path / "box.json", "--json", "--jit", "off",
               *as_options(given))
    assert done.returncode == 0, done.stderr
    outputs = json.loads(done.stdout)["outputs"]
    assert np.array_equal(np.float32(outputs["lower"]), ours.lower) and np.array_equal(np.float32(outputs["upper"]), ours.upper)


def test_a_tree_goes_from_front_to_front(models, tmp_path):
    network, property_file = models / "collision_avoidance_6x50.onnx", models / "properties/collision_avoidance_6x50_wide.vnnlib"
    asked = ["verify", network, property_file, "--json", "--jobs", 1, "--jit", "off", "--search", 0]
    whole = json.loads(run(*asked, "--checkpoint", tmp_path / "whole.json").stdout)
    model, tree = bf_aot.load(network), tmp_path / "tree.json"
    ours = model.verify(property_file, checkpoint=tree, search_seconds=0, jobs=1)  # threads try other points
    assert (str(ours.verdict), ours.boxes) == (whole["verdict"], whole["boxes"])
    left, right = (json.loads(path.read_text(encoding="utf-8")) for path in (tree, tmp_path / "whole.json"))
    assert left == right
    done = run(*asked, "--checkpoint", tree)
    assert json.loads(done.stdout)["verdict"] == whole["verdict"], done.stderr
    again = model.verify(property_file, checkpoint=tmp_path / "whole.json", search_seconds=0)
    assert again.verified and again.boxes == whole["boxes"]
    with pytest.raises(bf_aot.Error, match="BF3018"):
        model.verify(models / "properties/collision_avoidance_6x50.vnnlib", checkpoint=tree)


def test_certificates_are_those_of_the_program(models, tmp_path):
    network = models / "collision_avoidance_6x50.onnx"
    question = models / "properties/collision_avoidance_6x50.vnnlib"
    run("verify", network, question, "--proof", tmp_path / "theirs.bfc", "--jit", "off")
    model = bf_aot.load(network)
    found = model.verify(question, proof=tmp_path / "ours.bfc")
    assert found.verified and found.proof.missing == ""
    assert found.proof.bytes == (tmp_path / "ours.bfc").stat().st_size
    assert (tmp_path / "ours.bfc").read_bytes() == (tmp_path / "theirs.bfc").read_bytes()
    packed = model.verify(question, proof=str(tmp_path / "packed.bfc.gz")).proof
    kept = model.verify(question, proof=True).proof
    kept.save(tmp_path / "saved.bfc")
    kept.save(tmp_path / "saved.bfc.gz")
    for each in (found.proof, packed, kept):
        assert each.certificate == (tmp_path / "theirs.bfc").read_bytes() and each.bytes == len(each.certificate)
        assert each.sha256 == hashlib.sha256(each.certificate).hexdigest() and each.leaves == kept.leaves
    assert (packed.path, kept.path) == (tmp_path / "packed.bfc.gz", None)
    assert (tmp_path / "saved.bfc").read_bytes() == kept.certificate
    assert gzip.decompress((tmp_path / "saved.bfc.gz").read_bytes()) == kept.certificate
    of_memory = bf_aot.load(model.onnx).verify(question, proof=True).proof
    assert of_memory.certificate == kept.certificate
    late = model.verify(question, proof=tmp_path / "late.bfc", proof_seconds=1e-9)
    assert late.verified and "time" in late.proof.missing and not (tmp_path / "late.bfc").exists()
    with pytest.raises(ValueError, match="no certificate"):
        print(late.proof.certificate)
    assert model.verify(question, proof=False).proof is None
    assert model.verify(question).proof is None
    with pytest.raises(bf_aot.Error, match="BF3024"):
        model.verify(question, proof=tmp_path / "none.bfc", semantics="float32-exact")


@pytest.mark.parametrize("name", decision_options.HONOURED)
def test_each_option_of_decisions_is_honoured(name, models, tmp_path, monkeypatch):
    (model, prop), given, honoured = decision_options.HONOURED[name]
    monkeypatch.chdir(tmp_path)
    start, verdict, error = time.monotonic(), None, ""
    try:
        verdict = str(bf_aot.load(models / model).verify(models / "properties" / prop, **given).verdict)
    except bf_aot.Error as refused:
        error = str(refused)
    answer = decision_options.Answer(tmp_path, time.monotonic() - start, verdict, error)
    assert honoured(answer), f"{verdict} {error}"


def test_the_options_of_decisions_are_those_of_the_table(avoid):
    taken, others = decision_options.of_the_table(SOURCE)
    assert taken == set(decision_options.HONOURED)
    for name in others:
        with pytest.raises(TypeError, match="there is no option"):
            avoid.verify("(assert (<= X_0 0))", **{name.replace("-", "_"): "0"})


def test_options_that_there_are_not(avoid):
    with pytest.raises(TypeError, match="row_tile"):
        avoid.bounds([-1] * 5, [1] * 5, tiles=8)
    with pytest.raises(TypeError, match="there is no option 'jit'"):
        avoid.bounds([-1] * 5, [1] * 5, jit="off")
    with pytest.raises(ValueError, match="granularity"):
        avoid.bounds([-1] * 5, [1] * 5, granularity="box")
    with pytest.raises(bf_aot.Error, match="BF3501: norm"):
        avoid.measure(bf_aot.Property([0] * 5, [1] * 5, violated=[bf_aot.outputs(5)[0] >= 0]), norm="l2")
    with pytest.raises(bf_aot.Error, match="BF3501: row_tile"):
        avoid.bounds([-1] * 5, [1] * 5, row_tile=1)


def test_the_table_has_each_verdict_and_both_kinds_of_splits():
    """A table that asks one kind of question compares little."""
    names = {prop for _, prop, _ in QUESTIONS}
    assert {"tiny_holds", "tiny_violated", "collision_avoidance_6x50_wide"} <= names
    assert {option for _, _, given in QUESTIONS for option in given} >= {
        "method", "alpha", "iterations", "row_tile", "semantics", "jit", "branch_seconds", "search_seconds"}
