"""Builds the Python package as a wheel and installs it: build_wheel.py SOURCE BUILD WORK CXX.

In a virtual environment WORK/venv, with what PyPI has; exit code 77 where that cannot be reached.
The wheel's module links the library that is built already, as `cmake --install` installs it.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import venv

NEEDED = ["numpy", "mypy", "pytest", "pytest-xdist", "scikit-build-core>=0.10", "nanobind>=2.4"]
PIP = ["-m", "pip", "--quiet", "--disable-pip-version-check"]
SKIPPED = 77


def run(*command, check=True):
    print("$", *map(str, command), flush=True)
    return subprocess.run([str(word) for word in command], check=check)


def make_environment(folder):
    """Its interpreter; None where packages cannot be had. Made once for a list of packages."""
    python, stamp = folder / "bin/python", folder / "made_of.txt"
    made_of = "\n".join([sys.version, *NEEDED])
    if stamp.exists() and stamp.read_text(encoding="utf-8") == made_of:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    try:
        venv.create(folder, with_pip=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"skipped: no virtual environment: {error}")
        return None
    if run(python, *PIP, "install", *NEEDED, check=False).returncode:
        print("skipped: pip cannot install", *NEEDED)
        return None
    stamp.write_text(made_of, encoding="utf-8")
    return python


def main():
    source, build, work = (pathlib.Path(each).resolve() for each in sys.argv[1:4])
    work.mkdir(parents=True, exist_ok=True)
    python = make_environment(work / "venv")
    if python is None:
        return SKIPPED
    for folder in ("prefix", "wheels"):
        shutil.rmtree(work / folder, ignore_errors=True)
    run("cmake", "--install", build, "--prefix", work / "prefix")
    defines = {"BF_AOT_PYTHON_INSTALLED": "ON", "bf_aot_ROOT": work / "prefix",
               "CMAKE_CXX_COMPILER": sys.argv[4]}
    if shutil.which("ccache"):
        defines["CMAKE_CXX_COMPILER_LAUNCHER"] = "ccache"
    settings = [f"build-dir={work / 'build'}"]
    settings += [f"cmake.define.{name}={value}" for name, value in defines.items()]
    # The short -C is of pip 23.1, which Debian 12 does not have yet.
    options = [word for setting in settings for word in ("--config-settings", setting)]
    # The tools of the environment, whatever else is in $PATH.
    os.environ["PATH"] = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    run(python, *PIP, "wheel", source, "--no-build-isolation", "--no-deps", "-w", work / "wheels",
        *options)
    wheels = list((work / "wheels").glob("bf_aot-*.whl"))
    assert len(wheels) == 1, wheels
    run(python, *PIP, "install", "--force-reinstall", "--no-deps", wheels[0])
    return 0


if __name__ == "__main__":
    sys.exit(main())
