"""Runs a file of tests with the package that build_wheel.py installed: run_tests.py WORK FILE."""

import pathlib
import subprocess
import sys

SKIPPED = 77


def main():
    python = pathlib.Path(sys.argv[1]) / "venv/bin/python"
    # Of an environment that was made, but for which no wheel could be: python.wheel has failed.
    if not (python.parent.parent / "made_of.txt").exists():
        print("skipped: python.wheel was skipped")
        return SKIPPED
    command = [str(python), "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", sys.argv[2]]
    return subprocess.run(command, check=False, cwd=python.parent).returncode


if __name__ == "__main__":
    sys.exit(main())
