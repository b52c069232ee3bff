"""Model.bounds and Model.evaluate: shapes, types, soundness, threads, progress."""

import concurrent.futures
import json
import signal
import threading
import time

import numpy as np
import pytest

import bf_aot

FLOAT = np.float32


def exact_tiny(x):
    """In doubles, which hold all its values at multiples of 1/8."""
    h0 = np.maximum(x[..., 0] - 2 * x[..., 1], 0)
    h1 = np.maximum(0.5 * x[..., 0] + 3 * x[..., 1] + 1, 0)
    return np.stack([h0 - h1 + 0.5, -0.5 * h0 + 0.25 * h1 - 1], axis=-1)


@pytest.mark.parametrize("method", ["ibp", "crown-ibp", "crown", "alpha-crown", "forward"])
def test_bounds_hold(tiny, method):
    lower, upper = tiny.bounds([-1, -0.5], [0.5, 1], method=method)
    grid = np.stack(np.meshgrid(np.arange(-1, 0.625, 0.125), np.arange(-0.5, 1.125, 0.125)), -1)
    y = exact_tiny(grid)
    assert lower.dtype == FLOAT and lower.shape == (2,)
    assert np.all(lower <= y) and np.all(y <= upper)


def test_they_are_those_of_the_goldens(avoid, models):
    golden = json.loads((models / "golden/collision_avoidance_6x50.json").read_text())
    box = json.loads((models / "boxes/collision_avoidance_6x50.json").read_text())
    lower, upper = avoid.bounds(box["lower"], box["upper"])
    text = json.dumps(golden)
    assert "crown" in text  # the file's own bounds are compared by `bf-aot check`; here their order
    ibp = avoid.bounds(box["lower"], box["upper"], method="ibp")
    assert np.all(ibp.lower <= lower) and np.all(upper <= ibp.upper)


def test_rows_are_tighter_than_what_follows_from_bounds(avoid):
    x = np.full(5, 0.1)
    c = np.array([[1, -1, 0, 0, 0], [0, 0, 2, 0, -1]])
    rows = avoid.bounds(x - 0.01, x + 0.01, C=c, d=[0.5, 0])
    y = avoid.bounds(x - 0.01, x + 0.01)
    assert rows.lower.shape == (2,)
    assert rows.lower[0] >= y.lower[0] - y.upper[1] - 0.5
    assert rows.upper[1] <= 2 * y.upper[2] - y.lower[4] + 1e-6
    again = avoid.bounds(x - 0.01, x + 0.01, C=c[None], d=[0.5, 0])  # as auto_LiRPA has it
    one = avoid.bounds(x - 0.01, x + 0.01, C=c[0], d=0.5)
    assert np.array_equal(again.lower, rows.lower) and one.lower.shape == (1,)


@pytest.mark.parametrize("shape, batch", [
    ((64,), ()), ((1, 8, 8), ()), ((1, 1, 8, 8), (1,)), ((3, 64), (3,)), ((3, 1, 8, 8), (3,)),
    ((2, 3, 64), (2, 3)), ((2, 3, 1, 8, 8), (2, 3)), ((0, 3, 64), (0, 3))])
def test_batch_shapes(digits, shape, batch):
    x = np.zeros(shape, FLOAT)
    if 0 in shape:
        with pytest.raises(bf_aot.Error, match="BF3502"):
            digits.bounds(x, x)
        return
    lower, upper = digits.bounds(x, x + FLOAT(0.1), method="ibp")
    assert lower.shape == upper.shape == batch + (10,)
    assert digits.evaluate(x).shape == batch + (10,)


@pytest.mark.parametrize("shape", [(), (63,), (8, 8, 1), (64, 1)])
def test_wrong_shapes(digits, shape):
    with pytest.raises(ValueError, match=r"\[..., 1, 8, 8\] or \[..., 64\]"):
        digits.bounds(np.zeros(shape), np.zeros(shape))


def test_ends_broadcast(avoid):
    centres = np.linspace(0, 0.2, 15).reshape(3, 5)
    wide = avoid.bounds(np.full(5, -0.1), centres + 0.1)
    each = avoid.bounds(np.tile(np.full(5, -0.1), (3, 1)), centres + 0.1)
    assert wide.lower.shape == (3, 5) and np.array_equal(wide.lower, each.lower)


def test_no_box_depends_on_the_others(avoid):
    x = np.random.default_rng(1).uniform(-0.3, 0.3, (37, 5)).astype(FLOAT)
    low, high = x - FLOAT(0.01), x + FLOAT(0.01)
    all_of_them = avoid.bounds(low, high)
    for options in ({"batch": 1}, {"batch": 8, "threads": 3}):
        again = avoid.bounds(low, high, **options)
        assert np.array_equal(again.lower, all_of_them.lower)
        assert np.array_equal(again.upper, all_of_them.upper)
    one = avoid.bounds(low[5], high[5])
    assert np.array_equal(one.lower, all_of_them.lower[5])
    strided = avoid.bounds(np.asfortranarray(low), np.asfortranarray(high))
    assert np.array_equal(strided.lower, all_of_them.lower)


def test_float64_is_rounded_outward(avoid):
    """A caller's cast to float32 would make boxes smaller in one of two cases."""
    low, high = np.full(5, 0.1), np.full(5, 0.2)  # neither is a float32
    down, up = FLOAT(0.1), FLOAT(0.2)
    assert float(down) > 0.1 and float(up) > 0.2
    outer = avoid.bounds(np.full(5, np.nextafter(down, FLOAT(0))), np.full(5, up))
    inner = avoid.bounds(np.full(5, down), np.full(5, up))
    rounded = avoid.bounds(low, high)
    assert np.array_equal(rounded.lower, outer.lower)
    assert not np.array_equal(rounded.lower, inner.lower)
    mixed = avoid.bounds(low, np.full(5, up))
    assert np.array_equal(mixed.lower, outer.lower)


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.int64, np.uint32, bool])
def test_other_types_are_taken_exactly(avoid, dtype):
    low, high = np.zeros(5, dtype), np.ones(5, dtype)
    expected = avoid.bounds(np.zeros(5, FLOAT), np.ones(5, FLOAT))
    assert np.array_equal(avoid.bounds(low, high).upper, expected.upper)


def test_types_without_a_float64_are_refused(avoid):
    for values in (np.zeros(5, np.longdouble), np.zeros(5, complex), ["a"] * 5):
        with pytest.raises(TypeError):
            avoid.bounds(values, values)
    with pytest.raises(ValueError, match="integers"):
        avoid.bounds(np.full(5, 2**53 + 1), np.full(5, 2**53 + 1))


def test_float32_is_not_copied(avoid):
    low = np.zeros((4, 5), FLOAT)
    taken, _, _ = avoid._arrays.boxes(low, low)
    assert taken is low
    lower, _ = avoid.bounds(low, low)
    assert lower.flags.owndata is False and lower.flags.writeable  # the library's own memory


def test_wrong_boxes_and_options(avoid):
    x = np.zeros((3, 5))
    bad = x.copy()
    bad[1, 2] = np.nan
    with pytest.raises(bf_aot.Error) as caught:
        avoid.bounds(x, bad)
    assert (caught.value.code, caught.value.where) == ("BF3503", "box 1, input 2")
    assert "BF3503: box 1, input 2: " in str(caught.value)
    with pytest.raises(bf_aot.Error, match="BF3503"):
        avoid.bounds(x + 1, x)
    with pytest.raises(bf_aot.Error, match="BF3503"):
        avoid.evaluate(bad)
    with pytest.raises(bf_aot.Error, match="BF3501"):
        avoid.bounds(x, x, batch=0)
    with pytest.raises(ValueError, match="'crown'"):
        avoid.bounds(x, x, method="magic")
    with pytest.raises(ValueError, match="semantics"):
        avoid.bounds(x, x, semantics="decimal")
    with pytest.raises(ValueError, match=r"\[rows, 5\]"):
        avoid.bounds(x, x, C=np.eye(4))
    with pytest.raises(ValueError, match="2 elements"):
        avoid.bounds(x, x, C=np.eye(5), d=[1, 2])
    with pytest.raises(ValueError, match="no rows"):
        avoid.bounds(x, x, d=[1])


def test_a_timeout_gives_the_bounds_of_a_cheaper_method_by_its_name(avoid):
    x = np.zeros((3, 5), FLOAT)
    ibp = avoid.bounds(x, x + FLOAT(0.1), method="ibp")
    short = avoid.bounds(x, x + FLOAT(0.1), timeout=1e-9)
    assert short.methods.tolist() == ["ibp"] * 3 and short.method == "ibp"
    assert np.array_equal(short.lower, ibp.lower) and np.array_equal(short.upper, ibp.upper)
    crown = avoid.bounds(x, x + FLOAT(0.1))
    long = avoid.bounds(x, x + FLOAT(0.1), timeout=1000)
    assert crown.method == long.method == "crown" and np.array_equal(long.lower, crown.lower)
    assert not np.array_equal(crown.lower, ibp.lower)
    ball = avoid.bounds(x[0], x[0] + FLOAT(0.1), norm="l2", timeout=1e-9)
    assert ball.methods.shape == () and ball.method == "crown-ibp"  # ibp has no balls
    lower, upper = short
    assert lower is short.lower and upper is short.upper
    with pytest.raises(bf_aot.Error, match="BF3501"):
        avoid.bounds(x, x, timeout=-1)


def test_what_takes_long_is_said_before(avoid, capfd, monkeypatch):
    x = np.zeros(5, FLOAT)
    avoid.bounds(x, x)
    assert capfd.readouterr().err == ""
    monkeypatch.setattr("bf_aot._verifier._LONG_SECONDS", 0.0)
    avoid.bounds(x, x)
    said = capfd.readouterr().err
    assert said.startswith("bf_aot: crown is predicted to take ") and "timeout=" in said


def test_one_box_is_interrupted(digits):
    """Between its tiles of rows: progress is called within it, and what it raises ends it."""
    seen = []

    def progress(done, boxes):
        seen.append((done, boxes))
        raise RuntimeError("enough")

    x = np.zeros(64, FLOAT)
    slopes = digits.derivative(list(range(64)))  # 640 rows, which take much longer than 20 ms
    with pytest.raises(RuntimeError, match="enough"):
        slopes.bounds(x, x + FLOAT(0.5), method="alpha-crown", iterations=200, progress=progress)
    assert seen == [(0, 1)]


def test_names_of_methods_are_forgiving(avoid):
    x = np.zeros(5, FLOAT)
    expected = avoid.bounds(x, x + FLOAT(0.1), method="alpha-crown").lower
    for name in ("alpha-CROWN", "CROWN-Optimized", "alpha_crown"):
        assert np.array_equal(avoid.bounds(x, x + FLOAT(0.1), method=name).lower, expected)


def test_verifiers_are_kept(models):
    model = bf_aot.load(models / "tiny.onnx")
    assert model.verifier() is model.verifier(method="CROWN")
    assert model.verifier(C=np.eye(2)) is model.verifier(C=[[1, 0], [0, 1]])
    assert model.verifier(C=np.eye(2)) is not model.verifier(C=2 * np.eye(2))
    first = model.verifier(batch=2)
    for i in range(40):
        model.verifier(method="ibp", batch=i + 3)
    assert len(model._verifiers) == 16 and model.verifier(batch=2) is not first
    assert first.bounds([0, 0], [1, 1]).lower.shape == (2,) and first.rows == 2
    assert first.workspace_bytes > 0


def test_float32_semantics_are_wider(avoid):
    x = np.full(5, 0.1)
    real, rounded = (avoid.bounds(x, x + 0.01, semantics=each) for each in ("real", "float32"))
    assert np.all(rounded.lower < real.lower) and np.all(real.upper < rounded.upper)
    points = np.random.default_rng(2).uniform(x, x + 0.01, (50, 5)).astype(FLOAT)
    y = avoid.evaluate(points)
    assert np.all(rounded.lower <= y) and np.all(y <= rounded.upper)


def test_bounds_of_the_own_evaluation(avoid):
    x = np.full(5, 0.1)
    verifier = avoid.verifier(semantics="float32-exact")
    exact, real = verifier.bounds(x, x + 0.01), avoid.bounds(x, x + 0.01)
    any_order = avoid.bounds(x, x + 0.01, semantics="float32")
    assert np.all(any_order.lower <= exact.lower) and np.all(exact.lower <= real.lower)
    points = np.random.default_rng(2).uniform(x, x + 0.01, (50, 5)).astype(FLOAT)
    y = verifier.evaluate(points)
    assert np.all(exact.lower <= y) and np.all(y <= exact.upper)


def test_threads_work_at_once(avoid):
    x = np.random.default_rng(3).uniform(-0.3, 0.3, (64, 5)).astype(FLOAT)
    expected = avoid.bounds(x, x + FLOAT(0.01)).lower
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda part: avoid.bounds(part, part + FLOAT(0.01)).lower,
                              np.split(x, 16)))
    assert np.array_equal(np.concatenate(parts), expected)


def test_the_lock_is_released(avoid):
    """Another thread runs while bounds are made."""
    x = np.zeros((20000, 5), FLOAT)
    turns, done = [0], threading.Event()

    def count():
        while not done.is_set():
            turns[0] += 1
            time.sleep(0)

    other = threading.Thread(target=count)
    other.start()
    try:
        before = turns[0]
        avoid.bounds(x, x + FLOAT(0.1))
        assert turns[0] > before + 10
    finally:
        done.set()
        other.join()


def test_progress_reaches_the_end(avoid):
    told = []
    x = np.zeros((100, 5), FLOAT)
    avoid.bounds(x, x + FLOAT(0.1), progress=lambda done, boxes: told.append((done, boxes)))
    assert told[-1] == (100, 100) and told == sorted(told)


def test_what_progress_raises_ends_the_call(avoid):
    class Enough(Exception):
        pass

    def raise_it(done, boxes):
        raise Enough

    x = np.zeros((100000, 5), FLOAT)
    start = time.monotonic()
    with pytest.raises(Enough):
        avoid.bounds(x, x + FLOAT(0.1), method="alpha-crown", progress=raise_it)
    assert time.monotonic() - start < 20  # all boxes take minutes


def test_balls(avoid):
    x = np.array([0.234, -0.007, 0.496, 0.545, 0.5])
    radius = np.array([0.004, 0.002, 0.003, 0.009, 0.008])
    box, l2, l1 = (avoid.bounds(x - radius, x + radius, norm=norm) for norm in ("linf", "l2", "l1"))
    for wide, narrow in ((box, l2), (l2, l1)):
        assert np.all(wide.upper - wide.lower > 1.2 * (narrow.upper - narrow.lower))
    d = np.random.default_rng(3).normal(size=(500, 5))
    y = avoid.evaluate(x + radius * d / np.linalg.norm(d, axis=1, keepdims=True))
    assert np.all(l2.lower <= y + 1e-5) and np.all(y - 1e-5 <= l2.upper)
    y = avoid.evaluate(x + radius * d / np.abs(d).sum(axis=1, keepdims=True))
    assert np.all(l1.lower <= y + 1e-5) and np.all(y - 1e-5 <= l1.upper)
    with pytest.raises(bf_aot.Error, match="BF2117"):
        avoid.bounds(x, x, method="ibp", norm="l2")
    with pytest.raises(ValueError, match="norm"):
        avoid.bounds(x, x, norm="l0")
    for number, name in ((1, l1), (2.0, l2), (np.inf, box)):
        assert np.array_equal(avoid.bounds(x - radius, x + radius, norm=number).lower, name.lower)
    with pytest.raises(ValueError, match="norm 3"):
        avoid.bounds(x, x, norm=3)
    header = avoid.code("v", norm="l1")["v.h"]
    assert b"cross-polytope" in header



def test_an_interrupt_ends_the_call(avoid):
    x = np.zeros((200000, 5), FLOAT)
    avoid.bounds(x[:20], x[:20], method="alpha-crown")  # planned
    timer = threading.Timer(0.2, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        avoid.bounds(x, x + FLOAT(0.1), method="alpha-crown")
    assert time.monotonic() - start < 20  # all boxes take minutes
