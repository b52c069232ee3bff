"""Bounds and verdicts by devices, by their option; arrays in the memory of a device of CUDA are taken by DLPack without
copies. The driver is a false one, whose device is this processor: no GPU is needed."""

import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

import bf_aot

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/cli/device"))
from false_cuda import false_cuda  # noqa: E402

# An array as libraries of GPUs have them, in memory that the false device takes for its own.
THERE = """
import ctypes, os, sys
import numpy as np
import bf_aot

class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("kind", ctypes.c_int32), ("number", ctypes.c_int32),
                ("axes", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("offset", ctypes.c_uint64)]

class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]

make = ctypes.pythonapi.PyCapsule_New
make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

class There:
    def __init__(self, array, number=0):
        self.array, self.number = np.ascontiguousarray(array), number
        self.shape, self.dtype = self.array.shape, self.array.dtype
    def __dlpack_device__(self):
        return (2, self.number)
    def __dlpack__(self, **options):
        n = self.array.ndim
        self.extents = (ctypes.c_int64 * n)(*self.shape)
        self.made = Managed(Tensor(self.array.ctypes.data, 2, self.number, n, 2, 8 * self.dtype.itemsize, 1,
                                   self.extents, None, 0), None, None)
        return make(ctypes.addressof(self.made), b"dltensor", None)

model = bf_aot.load(sys.argv[1])
rng = np.random.default_rng(1)
centre = rng.uniform(-1, 1, (70, model.input_count)).astype(np.float32)
low, high = centre - np.float32(0.05), centre + np.float32(0.05)
copies = lambda: [int(size) for size in open(os.environ["BF_FALSE_COPIES"]).read().split()]
copied = lambda: sum(copies())
"""


def run(models, tmp_path, body, model="collision_avoidance_6x50"):
    """Runs a program that finds the false driver; returns what it prints."""
    if not shutil.which("g++"):
        pytest.skip("no g++")
    environment = dict(os.environ, BF_FALSE_COPIES=str(tmp_path / "copies"))
    false_cuda(tmp_path, environment)
    subprocess.run(["gcc", "-shared", "-fPIC", SOURCE / "tests/cli/device/false_opencl.c", "-o",
                    tmp_path / "cuda/libOpenCL.so.1"], check=True)
    made = subprocess.run([sys.executable, "-c", THERE + body, str(models / f"{model}.onnx"),
                           str(tmp_path / "tree.json")], env=environment,
                          capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return made.stdout


def test_arrays_there_are_not_copied(models, tmp_path):
    out = run(models, tmp_path, """
here = model.bounds(low, high)
host = model.bounds(low, high, device="cuda")
model.bounds(There(low), There(high), device="cuda", batch=16)
verifier = model.verifier(device="cuda:0", batch=16, C=[[1, -1, 0, 0, 0]])
before = copied()
rows = verifier.bounds(There(low.reshape(7, 10, -1)), There(high.reshape(7, 10, -1)))
assert copied() == before, "boxes were copied"
there = model.bounds(There(low), There(high), device="cuda", batch=16)
assert copied() == before, "boxes were copied"
assert np.array_equal(there.lower, host.lower) and np.array_equal(there.upper, host.upper)
assert np.allclose(there.lower, here.lower, atol=1e-4) and there.method == "crown"
apart = there.lower[:, 0] - there.upper[:, 1]
assert rows.lower.shape == (7, 10, 1) and np.all(rows.lower.reshape(-1) >= apart)
print("done")
""")
    assert out == "done\n"


def test_what_is_wrong_with_arrays_there(models, tmp_path):
    out = run(models, tmp_path, """
def refused(kind, words, *arguments, **options):
    try:
        model.bounds(*arguments, **{"device": "cuda", **options})
    except kind as error:
        assert words in str(error), str(error)
    else:
        raise AssertionError("not refused")

turned = high.copy()
turned[3, 2] = -9
refused(bf_aot.Error, "box 3, input 2", There(low), There(turned))
turned[3, 2] = np.nan
refused(bf_aot.Error, "BF3503", There(low), There(turned))
refused(ValueError, "batches [70] and [69]", There(low), There(high[1:]))
refused(TypeError, "float32", There(low.astype(np.float64)), There(high.astype(np.float64)))
refused(ValueError, "has shape [70, 4]", There(low[:, 1:]), There(high[:, 1:]))
print("done")
""")
    assert out == "done\n"


def test_verdicts_and_certificates(models, tmp_path):
    out = run(models, tmp_path, """
wide = sys.argv[1].replace("collision_avoidance_6x50.onnx", "properties/collision_avoidance_6x50_wide.vnnlib")
model.bounds(low, high, device="cuda")
# This processor may have decided before the device's compiler is done, which a tree in a file waits for.
there, here = model.verify(wide, device="cuda"), model.verify(wide)
assert there.verdict == here.verdict == "verified"
before = len(copies())
kept = model.verify(wide, device="cuda", checkpoint=sys.argv[2])
assert kept.verdict == "verified" and kept.boxes > 1
_, _, *sent = copies()[before:]  # numbers to probe, weights, then ends of boxes
assert sum(sent) >= 2 * 4 * 5 * kept.boxes, sent
try:
    model.verify(wide, device="cuda:7")
except bf_aot.Error as error:
    assert "BF3340" in str(error)
else:
    raise AssertionError("not refused")
labels = np.argmax(model.evaluate(centre), axis=-1)
before = copied()
one, other = (model.certify(centre, labels, 0.01, **more) for more in ({"device": "cuda"}, {}))
assert list(one.certified) == list(other.certified)
assert copied() > before + 2 * 4 * 5 * len(centre), "weights and boxes go there"
print("done")
""")
    assert out == "done\n"


def test_a_call_is_watched_between_groups_of_boxes(models, tmp_path):
    out = run(models, tmp_path, """
class Enough(Exception):
    pass

def progress(done, *rest):
    told.append(done)
    if 0 < done < len(low):
        raise Enough

os.environ["BF_FALSE_DEVICE"] = "sleeps"  # as long as progress is called once
for boxes in ((low, high), (There(low), There(high))):
    told = []
    try:
        model.bounds(*boxes, device="cuda", progress=progress)
    except Enough:
        assert 0 < told[-1] < 20, told  # the groups of the second call begin where those of the first ended
    else:
        raise AssertionError("not ended")
print("done")
""")
    assert out == "done\n"


def test_a_fork_is_refused_what_its_parent_used(models, tmp_path):
    out = run(models, tmp_path, """
wide = sys.argv[1].replace("collision_avoidance_6x50.onnx", "properties/collision_avoidance_6x50_wide.vnnlib")

def code_of(each, name, verifies=False):
    try:
        each.verify(wide, device=name) if verifies else each.bounds(low, high, device=name)
    except bf_aot.Error as error:
        return error.code
    return ""

here = model.bounds(low, high)
assert code_of(model, "cuda") == code_of(model, "cuda", True) == ""
assert code_of(model, "opencl") == "BF3343"  # which is false: it computes nothing
child = os.fork()
if child == 0:
    codes = {code_of(each, name, verifies) for each in (model, bf_aot.load(sys.argv[1]))
             for name in ("cuda", "opencl") for verifies in (False, True)}
    again = model.bounds(low, high)
    os._exit(0 if codes == {"BF3344"} and np.array_equal(again.lower, here.lower) else 1)
assert os.waitpid(child, 0)[1] == 0
print("done")
""")
    assert out == "done\n"


class OfDlpack:
    """An array of another library, which has DLPack alone."""

    def __init__(self, array):
        self._array = array

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)


@pytest.mark.skipif(not hasattr(np, "from_dlpack"), reason="NumPy has no from_dlpack")
def test_arrays_of_this_processor_come_by_dlpack(avoid):
    low = np.zeros((3, 5), np.float32)
    made, plain = avoid.bounds(OfDlpack(low), OfDlpack(low + 1)), avoid.bounds(low, low + 1)
    assert np.array_equal(made.lower, plain.lower) and np.array_equal(made.upper, plain.upper)


def test_no_such_device(avoid):
    with pytest.raises(bf_aot.Error, match="BF3340"):
        avoid.bounds(np.zeros(5), np.ones(5), device="opencl:9999")
    with pytest.raises(bf_aot.Error, match="names no device"):
        avoid.bounds(np.zeros(5), np.ones(5), device="gpu")
