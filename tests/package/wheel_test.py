"""An installed Python package: wheel_test.py MODELS [--compiled]. Nothing of a clone is used but MODELS."""

import importlib.metadata
import pathlib
import subprocess
import sys
import tempfile

import bf_aot
import numpy as np


def run(*command, code=0, **more):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **more)
    assert done.returncode == code, (command, done.returncode, done.stdout)
    return done.stdout


def main():
    models = pathlib.Path(sys.argv[1]).resolve()
    program = [sys.executable, "-m", "bf_aot"]
    model = bf_aot.load(models / "collision_avoidance_6x50.onnx")
    x = np.array([0.234, -0.007, 0.496, 0.545, 0.5])
    lower, upper = model.bounds(x - 0.004, x + 0.004)
    assert (lower <= model.evaluate(x)).all() and (model.evaluate(x) <= upper).all()
    assert model.verify(models / "properties/collision_avoidance_6x50.vnnlib").verdict == "verified"
    version = importlib.metadata.version("bf-aot")
    assert bf_aot.__version__ == version, (bf_aot.__version__, version)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model.compile(folder / "avoid.cpp", target="cortex-m4", name="avoid")
        assert (folder / "avoid.h").exists()
        said = run(*program, "--version", cwd=folder)
        assert said.startswith(f"{version}\nbf-aot {version}"), said
        assert said == run(pathlib.Path(sys.executable).parent / "bf-aot", "--version", cwd=folder)
        property_ = models / "properties/collision_avoidance_6x50.vnnlib"
        assert "verified" in run(*program, "verify", models / "collision_avoidance_6x50.onnx", property_, cwd=folder)
        assert model.verify(property_, proof=folder / "answer.bfc").proof.missing == ""
        asked = models / "collision_avoidance_6x50.onnx", property_, folder / "answer.bfc"
        for checker in ([sys.executable, "-m", "bf_aot.check"], [pathlib.Path(sys.executable).parent / "bf-check"]):
            assert run(*checker, *asked, cwd=folder) == "checked: verified\n"
        run(*program, "run", folder / "none.onnx", code=2)
        # Its pages are with it.
        page = pathlib.Path(run(*program, "run", "--help", cwd=folder).rsplit("More: ", 1)[1].strip())
        assert page.is_file() and pathlib.Path(bf_aot.__file__).parent in page.parents, page
        # The runtime's headers are with it, so that verifiers can be compiled.
        run(*program, models / "tiny.onnx", "--project", "project", "--no-library", cwd=folder)
        run(*program, models / "tiny.onnx", "-o", "one.cpp", "--single-file", "--no-library", cwd=folder)
        files = importlib.metadata.files("bf-aot")
        assert {"LICENSE", "LICENSE.runtime", "py.typed"} <= {path.name for path in files}, files
        if "--compiled" in sys.argv:  # with the libraries of the machine
            return
        for library in ("gmp", "mpfr", "nettle"):  # replaceable, and with their licences
            assert any(path.name.startswith(f"lib{library}-") or path.name.startswith(f"lib{library}.so")
                       for path in files), library
            assert any(path.name == f"{library}.txt" for path in files), f"no licence of {library}"
    print("the package works")


if __name__ == "__main__":
    main()
