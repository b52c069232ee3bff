"""What is installed: types, stubs, headers, the version, the time to import it."""

import ast
import importlib.metadata
import inspect
import os
import pathlib
import shutil
import subprocess
import sys
import typing

import pytest

import bf_aot
from bf_aot import _native, _types

FOLDER = pathlib.Path(bf_aot.__file__).parent


def test_it_is_typed():
    assert (FOLDER / "py.typed").exists()
    assert bf_aot.__version__ == importlib.metadata.version("bf-aot")
    for name in bf_aot.__all__:
        assert getattr(bf_aot, name).__doc__ or name == "__version__", name


def test_public_functions_are_annotated_and_documented():
    for owner in (bf_aot, bf_aot.Model, bf_aot.Verifier, bf_aot.Property, bf_aot.Report, bf_aot.Bounds,
                  bf_aot.Certified, bf_aot.Curve):
        for name, member in vars(owner).items():
            if name.startswith("_") or not inspect.isfunction(member):
                continue
            signature = inspect.signature(member)
            assert signature.return_annotation is not inspect.Signature.empty, name
            for parameter in list(signature.parameters.values()):
                assert parameter.name == "self" or parameter.annotation is not parameter.empty, name
            assert member.__doc__, name


def test_the_stub_names_what_the_module_has():
    tree = ast.parse((FOLDER / "_native.pyi").read_text(encoding="utf-8"))
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    assert set(classes) == {name for name, value in vars(_native).items() if inspect.isclass(value)}
    for name, node in classes.items():
        stub = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
        real = {each for each in vars(getattr(_native, name)) if not each.startswith("_")}
        assert stub - {"__init__"} == real, name


USER = """import bf_aot
model = bf_aot.load("m")
model.bounds(0, 1, method="nonsense")
model.bounds(0, 1, granularity="steps")
model.bounds(0, 1, nothing=1)
model.verify("p", norm="l2", cxx="g++", method="CROWN")
"""


def test_types_hold(tmp_path):
    """Of the package, and of a program that has wrong options in its lines 3 to 5."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    # Beside other installed packages mypy would take those for the project's, too.
    shutil.copytree(FOLDER, tmp_path / "bf_aot", ignore=shutil.ignore_patterns("compat", "train.py"))
    (tmp_path / "user.py").write_text(USER)
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir=/dev/null", "bf_aot", "user.py"],
                          cwd=tmp_path, capture_output=True, text=True, check=False)
    errors = [line.split(": ")[0] for line in done.stdout.splitlines() if ": error: " in line]
    assert errors == ["user.py:3", "user.py:4", "user.py:5"], done.stdout


def test_types_name_what_the_table_has():
    table = {name: choices for name, choices, _ in _native.OPTIONS}
    names = {"method": _types.Method, "semantics": _types.Semantics, "alpha": _types.Alpha,
             "jit": _types.Jit, "norm": typing.get_args(_types.Norm)[0]}
    for name, typed in names.items():
        plain = {"crown-optimized": "alpha-crown"}
        values = {plain.get(each.lower(), each.lower()) for each in typing.get_args(typed)}
        assert values == set(table[name]), name
    plan = {name for name, _, of_decisions in _native.OPTIONS if not of_decisions}
    assert set(_types.PlanOptions.__annotations__) < plan
    assert set(_types.DecisionOptions.__annotations__) < set(table)


def test_headers_are_there():
    assert (bf_aot.include() / "bf.h").exists() and (bf_aot.include() / "bf.cpp").exists()


def test_import_is_quick():
    """Processor time, NumPy's own aside."""
    code = ("import time, numpy; t = time.process_time(); import bf_aot; "
            "print(time.process_time() - t)")
    times = [float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True,
                                  text=True).stdout) for _ in range(3)]
    assert min(times) < 0.1


def test_the_command_line(tmp_path):
    """`python -m bf_aot` and the script are the program that came with the package, else the installed one."""
    program = os.environ.get("BF_AOT")
    if not (FOLDER / "bin/bf-aot").exists() and not program:
        pytest.skip("there is no bf-aot")
    path = str(pathlib.Path(program).parent) if program else ""
    done = subprocess.run([sys.executable, "-m", "bf_aot", "--version"], stdout=subprocess.PIPE, text=True, check=True,
                          env=dict(os.environ, PATH=path), cwd=tmp_path)
    assert done.stdout.startswith(bf_aot.__version__ + "\n")
    code = subprocess.run([sys.executable, "-m", "bf_aot", "run", "none.onnx"], capture_output=True, check=False,
                          env=dict(os.environ, PATH=path), cwd=tmp_path).returncode
    assert code == 2
    if (FOLDER / "bin/bf-aot").exists():
        script = pathlib.Path(sys.executable).parent / "bf-aot"
        done = subprocess.run([script, "run", "--help"], capture_output=True, text=True, check=True, cwd=tmp_path,
                              env=dict(os.environ, PATH=str(tmp_path)))
        page = pathlib.Path(done.stdout.rsplit("More: ", 1)[1].strip())
        assert page.is_file() and FOLDER in page.parents, page
    else:
        done = subprocess.run([sys.executable, "-m", "bf_aot"], capture_output=True, text=True, check=False,
                              env=dict(os.environ, PATH=str(tmp_path)), cwd=tmp_path)
        assert done.returncode == 1 and "built without the program" in done.stderr


def test_the_checker_of_certificates(models, tmp_path):
    """`python -m bf_aot.check` is the program that came with the package."""
    assert (FOLDER / "bin/bf-check").exists()
    network, question = models / "tiny.onnx", models / "properties/tiny_holds.vnnlib"
    bf_aot.load(network).verify(question, proof=tmp_path / "answer.bfc.gz")
    for start in ([sys.executable, "-m", "bf_aot.check"], [pathlib.Path(sys.executable).parent / "bf-check"]):
        done = subprocess.run([*start, network, question, tmp_path / "answer.bfc.gz"], stdout=subprocess.PIPE, text=True,
                              check=True, cwd=tmp_path)
        assert done.stdout == "checked: verified\n"
