"""The programs of aot/library/python/examples."""

import ast
import json
import subprocess
import sys

import pytest

from conftest import MODELS, SOURCE

FOLDER = SOURCE / "aot/library/python/examples"


def run(name, *arguments):
    done = subprocess.run([sys.executable, str(FOLDER / name), *map(str, arguments)], check=True,
                          capture_output=True, text=True, timeout=250)
    return done.stdout.splitlines()


def test_threads():
    lines = run("threads.py", MODELS / "collision_avoidance_6x50.onnx")
    assert len(lines) == 12 and all("robust: " in line for line in lines)


def test_dask():
    pytest.importorskip("dask.distributed", reason="dask.distributed is not installed")
    lines = run("dask_cluster.py", MODELS / "collision_avoidance_6x50.onnx")
    assert lines[-1] == "1000 boxes; as here: True"


def test_auto_lirpa():
    pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("auto_LiRPA", reason="auto_LiRPA is not installed")
    lines = run("auto_lirpa.py")
    assert len(lines) == 4 and all("at most" in line for line in lines)


def test_tutorial(monkeypatch):
    """Its cells, one after the other; each ends with a value, which a notebook shows."""
    monkeypatch.chdir(SOURCE)
    cells = json.loads((FOLDER / "tutorial.ipynb").read_text(encoding="utf-8"))["cells"]
    names = {}
    for cell in cells:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop()
        assert isinstance(last, ast.Expr), cell["source"]
        exec(compile(tree, cell["id"], "exec"), names)
        shown = eval(compile(ast.Expression(last.value), cell["id"], "eval"), names)
        assert shown is not None and getattr(shown, "_repr_html_", lambda: "shown")(), cell["id"]
    assert sum(cell["cell_type"] == "code" for cell in cells) > 8


def test_train_digits():
    """A short run: training by bounds certifies more."""
    pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    plain, certified = run("train_digits.py", 12, "0.1")
    assert float(certified.split()[-1]) > float(plain.split()[-1]) + 0.2
