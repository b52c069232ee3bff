"""Runs a file of tests with the package that build_wheel.py installed: run_tests.py WORK FILE."""

import pathlib
import subprocess
import sys

SKIPPED = 77
NO_TESTS = 5  # of pytest, where a whole file is skipped


def main():
    python = pathlib.Path(sys.argv[1]) / "venv/bin/python"
    # Of an environment that was made, but for which no wheel could be: python.wheel has failed.
    if not (python.parent.parent / "made_of.txt").exists():
        print("skipped: python.wheel was skipped")
        return SKIPPED
    command = [str(python), "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", sys.argv[2]]
    code = subprocess.run(command, check=False, cwd=python.parent).returncode
    return SKIPPED if code == NO_TESTS else code


if __name__ == "__main__":
    sys.exit(main())
