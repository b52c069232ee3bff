"""The same question by every front: the program, its runs over many instances, and the package."""

import csv
import json
import os
import subprocess

import pytest

import bf_aot

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
]
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


def test_the_table_has_each_verdict_and_both_kinds_of_splits():
    """A table that asks one kind of question compares little."""
    names = {prop for _, prop, _ in QUESTIONS}
    assert {"tiny_holds", "tiny_violated", "collision_avoidance_6x50_wide"} <= names
    assert {option for _, _, given in QUESTIONS for option in given} >= {
        "method", "alpha", "iterations", "row_tile", "semantics", "jit", "branch_seconds", "search_seconds"}
