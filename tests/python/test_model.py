"""load(), what a model says of itself, pickling, errors."""

import ctypes
import gc
import gzip
import pickle
import platform
import shutil
import weakref

import numpy as np
import pytest

import bf_aot
from bf_aot._arrays import Arrays


def bounds_of(model):
    x = np.full(model.input_count, 0.1)
    return model.bounds(x, x + 0.1, method="ibp").lower


def test_it_says_what_it_is(digits):
    assert digits.inputs == [("input", (1, 1, 8, 8))] or digits.inputs[0][1] == (1, 1, 8, 8)
    assert (digits.input_count, digits.output_count) == (64, 10)
    assert len(digits.sha256) == 64 and digits.parameter_count > 8000
    assert "digits_64x2.onnx" in repr(digits) and "[1, 1, 8, 8]" in repr(digits)
    assert digits._repr_html_().startswith("<table>")


def test_sources(models, tmp_path, tiny):
    path = models / "tiny.onnx"
    data = path.read_bytes()

    class Proto:
        def SerializeToString(self):
            return data

    packed = tmp_path / "tiny.onnx.gz"
    packed.write_bytes(gzip.compress(data))
    for source in (str(path), data, bytearray(data), memoryview(data), Proto(), packed):
        assert np.array_equal(bounds_of(bf_aot.load(source)), bounds_of(tiny))
    assert bf_aot.load(data, name="mine.onnx").name == "mine.onnx"
    with pytest.raises(TypeError, match="a model is"):
        bf_aot.load(7)


def test_a_thread_must_round_to_nearest(models, tiny, tmp_path):
    upward = {"x86_64": 0x800, "aarch64": 0x400000}.get(platform.machine())
    library = ctypes.CDLL(None)
    if upward is None or not hasattr(library, "fesetround"):
        pytest.skip("how to round upwards is not known here")
    path = models / "tiny.onnx"
    for call in (lambda: bf_aot.load(path), lambda: tiny.verifier(row_tile=16), lambda: bounds_of(tiny),
                 lambda: tiny.compile(tmp_path / "v.cpp"), lambda: tiny.code("v"),
                 lambda: tiny.verify(models / "properties/tiny_holds.vnnlib")):
        library.fesetround(upward)
        try:
            with pytest.raises(bf_aot.Error, match="BF3306"):
                call()
        finally:
            library.fesetround(0)
    assert not list(tmp_path.iterdir())
    assert np.array_equal(bounds_of(bf_aot.load(path)), bounds_of(tiny))


def test_an_onnx_proto(models, tiny):
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    if not hasattr(onnx, "load"):
        pytest.skip("onnx is an empty folder")
    proto = onnx.load(models / "tiny.onnx")
    assert np.array_equal(bounds_of(bf_aot.load(proto)), bounds_of(tiny))


def test_a_torch_module():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    module = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    model = bf_aot.load(module, example=torch.zeros(1, 3))
    x = np.random.default_rng(0).uniform(-1, 1, (20, 3)).astype(np.float32)
    y = module(torch.from_numpy(x)).detach().numpy()
    assert np.allclose(model.evaluate(x), y, atol=1e-5)
    lower, upper = model.bounds(x - 0.1, x + 0.1)
    assert np.all(lower <= y) and np.all(y <= upper)
    with pytest.raises(TypeError, match="example"):
        bf_aot.load(module)


def test_errors_carry_all_that_the_program_says(tmp_path):
    with pytest.raises(bf_aot.Error) as caught:
        bf_aot.load(tmp_path / "none.onnx")
    error = caught.value
    assert error.code == "BF1001" and error.message and error.hint and error.others == []
    again = pickle.loads(pickle.dumps(error))
    assert (again.code, again.hint, str(again)) == (error.code, error.hint, str(error))
    with pytest.raises(bf_aot.Error) as caught:
        bf_aot.load(b"no model", name="mine")
    assert (caught.value.code, caught.value.where) == ("BF1004", "mine")


def test_a_model_is_pickled_with_its_bytes(models, tmp_path, tiny):
    path = tmp_path / "net.onnx"
    shutil.copy(models / "tiny.onnx", path)
    model = bf_aot.load(path)
    data = pickle.dumps(model)
    path.unlink()
    assert np.array_equal(bounds_of(pickle.loads(data)), bounds_of(tiny))
    shutil.copy(models / "tiny_scale.onnx", path)
    with pytest.raises(bf_aot.Error, match="has changed"):
        pickle.loads(pickle.dumps(model))


def test_tensors_that_are_to_be_outputs(models):
    path = models / "collision_avoidance_6x50.onnx"
    whole = bf_aot.load(path)
    inner = "relu_3"
    cut = bf_aot.load(path, output_tensor=inner)
    assert [name for name, _ in cut.outputs] == [inner] and cut.output_count == 50
    both = bf_aot.load(path.read_bytes(), output_tensor=[inner, whole.outputs[0][0]])
    assert both.output_count == 55
    x = np.full((3, 5), 0.1)
    assert np.array_equal(both.evaluate(x)[:, 50:], whole.evaluate(x))
    assert np.array_equal(pickle.loads(pickle.dumps(cut)).evaluate(x), cut.evaluate(x))
    with pytest.raises(bf_aot.Error, match="BF1017"):
        bf_aot.load(path, output_tensor="none")


def test_a_network_may_begin_within(models):
    path = models / "collision_avoidance_6x50.onnx"
    behind = bf_aot.load(path, input_tensor="relu_3", shape={"relu_3": (1, 50)})
    assert behind.inputs == [("relu_3", (1, 50))]
    x = np.full((3, 5), 0.1)
    hidden = bf_aot.load(path, output_tensor="relu_3").evaluate(x)
    assert np.allclose(behind.evaluate(hidden), bf_aot.load(path).evaluate(x))
    again = pickle.loads(pickle.dumps(behind))
    assert np.array_equal(again.evaluate(hidden), behind.evaluate(hidden))
    with pytest.raises(bf_aot.Error, match="BF1008"):
        bf_aot.load(path, input_tensor="none")


def test_token_ids_stand_in_sets(models):
    path = models / "examples" / "text" / "classifier.onnx"
    sets = [[1, 3], 4, [10, 11], 14, [18, 23, 26], 0]
    model = bf_aot.load(path, tokens={"ids": sets})
    assert model.token_sets == [[1, 3], [4], [10, 11], [14], [18, 23, 26], [0]]
    whole = model.bounds(*model.ids())
    for last in (18, 23, 26):
        low, high = model.ids([1, 4, [11], 14, last, 0])
        assert np.array_equal(low, high)
        scores = model.evaluate(low)
        assert np.all(whole.lower <= scores + 1e-5) and np.all(whole.upper >= scores - 1e-5)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.bounds(*again.ids()).lower, whole.lower)
    found = model.verify(path.parent / "good.vnnlib")
    assert found.verdict == "falsified" and found.witness.shape == (1, 6)
    assert found.witness[0, 4] == 26 and found.witness[0, 1] == 4
    with pytest.raises(bf_aot.Error, match="BF3021"):
        model.ids([1, 4, 10, 14, 5, 0])
    one = bf_aot.load(path, tokens={"ids": [1, 4, 10, 14, 18, 0]})  # numbers alone are one text
    bounds = one.bounds(*one.ids())
    assert np.all(bounds.lower >= whole.lower - 1e-5) and np.all(bounds.upper <= whole.upper + 1e-5)


def test_a_model_is_freed_with_its_last_name(models):
    model = bf_aot.load(models / "tiny.onnx")
    x = np.zeros((3, 2))
    model.bounds(x, x + 1)
    model.bounds(x, x + 1, C=[[1, -1]])
    model.evaluate(x)
    model.certify(x, [0, 0, 0], 0.1)
    model.verify("(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)"
                 "(declare-const Y_1 Real)(assert (and (<= 0 X_0 1) (<= 0 X_1 1)))"
                 "(assert (>= Y_0 100))", progress=lambda _: None)
    kept = model.verifier(method="ibp")
    gone = weakref.ref(model)
    gc.disable()
    try:
        del model
        assert gone() is None
    finally:
        gc.enable()
    assert np.all(kept.bounds(x, x).lower <= kept.evaluate(x))  # by itself


def test_derivatives(tiny):
    slopes = tiny.derivative([0, 1])
    # Both neurons are on; then the first alone.
    lower, upper = slopes.bounds([[2.5, -0.1], [3, -2]], [[3, 0.1], [3.5, -1.9]])
    expected = [[0.5, -0.375, -5, 1.75], [1, -0.5, -2, 1]]
    assert np.allclose(lower, expected, atol=1e-5) and np.allclose(upper, expected, atol=1e-5)
    assert np.all(lower <= expected) and np.all(upper >= expected)
    one = pickle.loads(pickle.dumps(tiny.derivative(1)))
    assert [name for name, _ in one.outputs] == ["d(y)/d(x[1])"]
    point = [3, -2]
    assert np.array_equal(one.bounds(point, point).lower, slopes.bounds(point, point).lower[2:])
    for inputs, code in [([2], "BF2121"), ([], "BF2121")]:
        with pytest.raises(bf_aot.Error, match=code):
            tiny.derivative(inputs)
    for inputs in [-1, 0.5]:
        with pytest.raises(ValueError):
            tiny.derivative(inputs)
    with pytest.raises(bf_aot.Error, match="BF3501"):
        slopes.bounds([0, 0], [1, 1], semantics="float32")


def test_several_inputs():
    """The joining of tensors."""
    arrays = Arrays([("a", (1, 2)), ("b", (1, 3))], 5)
    a, b = np.ones((4, 2), np.float32), np.arange(3, dtype=np.float32)
    for values in ([a, b], {"b": b, "a": a}):
        joined, batch = arrays.points(values, "lower")
        assert batch == (4,) and joined.dtype == np.float32
        assert joined.tolist() == [[1, 1, 0, 1, 2]] * 4
    assert arrays.points(np.zeros((7, 5)), "lower")[1] == (7,)
    with pytest.raises(ValueError, match="the inputs are"):
        arrays.points({"a": a}, "lower")
    with pytest.raises(ValueError, match="'b'"):
        arrays.points([a, a], "lower")
