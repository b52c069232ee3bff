"""Goes on in a Python that has numpy, onnx and onnxruntime, or ends the test as skipped: exit code 77.

Import it before these packages. BF_RUNTIMES_PYTHON names such a Python; without it this one is taken.
"""
import importlib.util
import os
import sys

SKIPPED = 77


def _folder_of(python):
    return os.path.realpath(os.path.dirname(os.path.dirname(python)))


_wanted = os.environ.pop("BF_RUNTIMES_PYTHON", None)
if _wanted and os.path.realpath(sys.prefix) != _folder_of(_wanted):
    os.execv(_wanted, [_wanted, "-B", *sys.argv])

for _package in ("numpy", "onnx", "onnxruntime"):
    if importlib.util.find_spec(_package) is None:
        print(f"skipped: needs the Python package {_package}")
        sys.exit(SKIPPED)
