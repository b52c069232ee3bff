"""Model.certify."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import bf_aot
from bf_aot._arrays import clip_ends, enclosing
from bf_aot._certified import boxes_around


@pytest.fixture(scope="module")
def samples(digits):
    x = np.random.default_rng(5).uniform(0, 1, (30, 64))
    return x, digits.evaluate(x).argmax(axis=1)


def test_margins_are_those_of_bounds(digits, samples):
    x, labels = samples
    result = digits.certify(x, labels, 0.001, clip=(0, 1))
    assert set(result.status) <= {"certified", "unknown"} and result.certified.any()
    assert np.array_equal(result.answer, labels)
    for i, label in enumerate(labels):
        rows = -np.eye(10)
        rows[:, label] += 1
        lower, _ = digits.bounds(np.maximum(x[i] - 0.001, 0), np.minimum(x[i] + 0.001, 1),
                                 C=np.delete(rows, label, axis=0))
        assert (result.margin[i] > 0) == result.certified[i]
        assert result.margin[i] == pytest.approx(lower.min(), abs=1e-4)
    assert result.accuracy == result.certified.mean() and "30 samples" in repr(result)


def test_wrong_and_falsified(digits, samples):
    x, labels = samples
    wrong = digits.certify(x, (labels + 1) % 10, 0.001)
    assert set(wrong.status) == {"wrong"} and wrong.accuracy == 0
    told = []
    far = digits.certify(x[:3], labels[:3], 0.9, clip=(0, 1), decide=True, decide_seconds=2,
                         progress=lambda done, count: told.append((done, count)))
    assert far.status.count("falsified") == len(far.counterexamples) > 0
    for i, example in far.counterexamples.items():
        assert np.all(np.abs(example - x[i]) <= 0.9) and np.all((0 <= example) & (example <= 1))
        assert digits.evaluate(example).argmax() != labels[i]
    assert told == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("norm, power, radius", (("l1", 1, 1), (2, 2, 0.3)))
def test_balls_are_decided(digits, samples, norm, power, radius):
    x, labels = samples[0][:10], samples[1][:10]
    bounds = digits.certify(x, labels, radius, clip=(0, 1), norm=norm)
    for how in ({"decide": True}, {"complete": True}):
        found = digits.certify(x, labels, radius, clip=(0, 1), norm=norm, decide_seconds=1, **how)
        assert found.certified.sum() >= bounds.certified.sum()
        assert found.status.count("falsified") == len(found.counterexamples) > 0
        for i, example in found.counterexamples.items():
            size = (np.abs(example - x[i]) ** power).sum() ** (1 / power)
            assert size <= radius * (1 + 1e-9) and np.all((0 <= example) & (example <= 1))


def test_one_answer_whatever_the_groups(digits, samples):
    x, labels = samples
    all_of_them = digits.certify(x.reshape(30, 1, 8, 8), labels, 0.002)
    few = digits.certify(x, labels, np.full(64, 0.002), batch=1, threads=2)
    assert np.array_equal(all_of_them.margin, few.margin)
    one = digits.certify(x[3], labels[3], 0.002)
    assert one.margin == all_of_them.margin[3:4]


def test_boxes_of_balls_hold_them():
    """The ball in the box, with its centre and half widths, holds the exact one: by fractions."""
    x = np.random.default_rng(2).uniform(-1, 1, (20, 3))
    eps = Fraction(1, 10)
    for norm, power in (("l1", 1), (2, 2)):
        lower, upper = bf_aot.box(x, eps, norm=norm)
        for sample, low, high in zip(x, lower, upper):
            centres = [(Fraction(float(a)) + Fraction(float(b))) / 2 for a, b in zip(low, high)]
            widths = [(Fraction(float(b)) - Fraction(float(a))) / 2 for a, b in zip(low, high)]
            assert all(w < eps * Fraction(1001, 1000) for w in widths)
            for axis in range(3):
                for sign in (-1, 1):
                    point = [Fraction(float(each)) + (sign * eps if i == axis else 0)
                             for i, each in enumerate(sample)]
                    sum_of = sum((abs(p - c) / w) ** power for p, c, w in zip(point, centres, widths))
                    assert sum_of <= 1
    with pytest.raises(ValueError, match="a ball is not clipped"):
        bf_aot.box(x, eps, clip=(0, 1), norm="l2")


def test_boxes_hold_the_exact_ones():
    generator = np.random.default_rng(6)
    x = generator.normal(0, 1, (100, 3))
    radius = ["8/255", "0.001", Fraction(1, 3)]
    ends = enclosing(radius, "radius")
    assert ends[0][0] < Fraction(8, 255) < ends[1][0]
    some = tuple(np.broadcast_to(each, x.shape) for each in ends)
    low, high, inner_low, inner_high = boxes_around(x, some, clip_ends("-1/3,1"))
    for i, j in np.ndindex(x.shape):
        a = max(Fraction(x[i, j]) - Fraction(radius[j]), Fraction(-1, 3))
        b = min(Fraction(x[i, j]) + Fraction(radius[j]), 1)
        assert Fraction(low[i, j].item()) <= a and b <= Fraction(high[i, j].item())
        if inner_low[i, j] <= inner_high[i, j]:
            assert a <= Fraction(inner_low[i, j]) and Fraction(inner_high[i, j]) <= b


def test_numbers_as_the_command_line_has_them(digits, samples):
    x, labels = samples
    plain = digits.certify(x, labels, 1 / 512, clip=(0, 1))
    for radius in ["1/512", Fraction(1, 512), Decimal("0.001953125"), "1.953125e-3"]:
        for clip in ["0,1", "0 1", ("0", Fraction(1))]:
            assert np.array_equal(digits.certify(x, labels, radius, clip=clip).margin, plain.margin)
    for method in ["CROWN", "Crown", "crown"]:
        assert np.array_equal(digits.certify(x, labels, 1 / 512, clip=(0, 1), method=method).margin,
                              plain.margin)
    for radius in ["1/0", "one", "nan", "1/3/4"]:
        with pytest.raises(ValueError, match="radius"):
            digits.certify(x, labels, radius)
    with pytest.raises(ValueError, match="clip"):
        digits.certify(x, labels, 0.1, clip="0")
    with pytest.raises(ValueError, match="clip"):
        digits.certify(x, labels, 0.1, clip=(1, 0))


def test_no_samples(digits):
    none = digits.certify(np.zeros((0, 64)), np.zeros(0, int), 0.1)
    assert none.status == [] and none.margin.shape == (0,) and none.certified.shape == (0,)


def test_ties_are_named(tiny):
    """Both outputs are -1 at (2.125, 0.3125)."""
    assert tiny.evaluate([2.125, 0.3125]).tolist() == [-1, -1]
    result = tiny.certify([[2.125, 0.3125], [0.1, 0.2], [0.1, 0.2]], [0, 1, 0], 0.01)
    assert result.status == ["wrong", "certified", "wrong"]
    assert result.tied.tolist() == [True, False, False]


def test_wrong_arguments(digits, samples):
    x, labels = samples
    with pytest.raises(ValueError, match="labels"):
        digits.certify(x, labels[:3], 0.1)
    with pytest.raises(TypeError, match="classes"):
        digits.certify(x, labels * 1.0, 0.1)
    with pytest.raises(ValueError, match="radius"):
        digits.certify(x, labels, -1)
    with pytest.raises(bf_aot.Error, match="BF3503"):
        digits.certify(x, labels + 10, 0.1)
    with pytest.raises(bf_aot.Error, match="BF3503"):
        digits.certify(x + 2, labels, 0.1, clip=(0, 1))


def test_explanations(digits, samples):
    x, labels = samples
    kept = digits.explain(x[0], int(labels[0]), "0.05", decide_seconds=1)
    free = [i for i in range(64) if i not in kept.fixed]
    moved = np.repeat(x[:1], 50, axis=0)
    moved[:, free] += np.random.default_rng(1).uniform(-0.05, 0.05, (50, len(free)))
    assert np.all(digits.evaluate(moved).argmax(axis=1) == labels[0])
    assert digits.explain(x[0], int(labels[0] + 1) % 10, "0.05") is None
    with pytest.raises(ValueError, match="one is explained"):
        digits.explain(x[:2], 0, "0.05")


def test_complete_runs(digits, samples):
    x, labels = samples
    told = []
    plain = digits.certify(x, labels, "0.01", clip=(0, 1), decide=True, decide_seconds=20)
    found = digits.certify(x, labels, "0.01", clip=(0, 1), complete=True, decide_seconds=20, timeout=120,
                           threads=2, progress=lambda done, count: told.append((done, count)))
    assert found.status == plain.status
    assert len(found.stage) == 30 and set(found.stage) - {"sample"}
    assert all(count == 30 for _, count in told)
    late = digits.certify(x, (labels + 1) % 10, "0.01", complete=True, timeout=1e-6)
    assert set(late.status) == {"wrong"} and set(late.stage) == {"sample"}
