"""Properties that are written in Python, exactly."""

import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import bf_aot
from bf_aot._property import _text

NUMBERS = [0, -3, 0.1, -0.1, 1e300, 5e-324, -1.7976931348623157e308, 2**70, np.float32(0.1),
           np.int8(-7), Fraction(3, 8), Fraction(-1, 3), Decimal("0.10"), Decimal("-1e-40"), 1e22]


def read(text):
    quotient = re.fullmatch(r"\(/ (-?\d+) (\d+)\)", text)
    return Fraction(int(quotient[1]), int(quotient[2])) if quotient else Fraction(text)


@pytest.mark.parametrize("number", NUMBERS, ids=str)
def test_numbers_are_written_with_all_digits(number):
    exact = Fraction(number.item() if isinstance(number, np.generic) else number)
    text = _text(exact)
    assert read(text) == exact and "e" not in text


def test_random_floats_are_written_exactly():
    generator = np.random.default_rng(4)
    for value in generator.integers(0, 2**63, 500, dtype=np.uint64).view(np.float64):
        if np.isfinite(value):
            assert read(_text(Fraction(value.item()))) == Fraction(value.item())


def test_terms():
    x, y = bf_aot.inputs(2), bf_aot.outputs(3)
    condition = 2 * y[0] - y[1] / 4 + 1 >= x[1] + np.float32(0.5)
    assert condition.vnnlib() == "(<= (+ X_1 (* -2 Y_0) (* 0.25 Y_1)) 0.5)"
    assert (y[0] < 1).vnnlib() == "(< Y_0 1)" and (1 < y[0]).vnnlib() == "(< (* -1 Y_0) -1)"
    assert (np.float64(2) * y[0] <= np.float64(1)).vnnlib() == "(<= (* 2 Y_0) 1)"
    assert (y[0] - y[0] <= -1).vnnlib() == "(<= 0 -1)"
    assert (y[0] / 3 <= 0).vnnlib() == "(<= (* (/ 1 3) Y_0) 0)"
    with pytest.raises(TypeError):
        bool(y[0] <= 1)
    with pytest.raises(TypeError):
        y[0] <= y[1] <= y[2]  # Python asks for a truth value here
    with pytest.raises(TypeError):
        y[0] * y[1]
    for bad in (float("nan"), float("inf")):
        with pytest.raises(ValueError):
            y[0] <= bad


def test_wrong_properties():
    y = bf_aot.outputs(2)
    clause = [y[0] <= 0]
    with pytest.raises(ValueError, match="above"):
        bf_aot.Property([1], [0], [clause])
    with pytest.raises(ValueError, match="1 lower and 2 upper"):
        bf_aot.Property([1], [1, 2], [clause])
    with pytest.raises(ValueError, match="clauses"):
        bf_aot.Property([0], [1], [])
    with pytest.raises(ValueError, match="finite"):
        bf_aot.Property([0], [float("inf")], [clause])
    with pytest.raises(TypeError, match="lower"):
        bf_aot.Property(["a"], [1], [clause])
    with pytest.raises(TypeError, match="condition"):
        bf_aot.Property([0], [1], [[True]])
    with pytest.raises(ValueError, match="does not have"):
        bf_aot.Property([0], [1], [bf_aot.inputs(3)[2] <= 0])
    with pytest.raises(ValueError, match="does not have"):
        bf_aot.Property([0], [1], [y[1] <= 0], outputs=1)
    with pytest.raises(ValueError, match="label"):
        bf_aot.Property.robustness([0], 1, 3, 3)


def test_it_is_decided_as_it_is_written(tiny, tmp_path):
    """On x_1 = 0, x_0 in [0, 1]: y_0 = 0.5 x_0 - 0.5 and y_1 = -0.375 x_0 - 0.75."""
    y = bf_aot.outputs(2)
    at = dict(lower=[0, 0], upper=[1, 0])
    assert tiny.verify(bf_aot.Property(**at, violated=[y[0] > 0.001])).verified
    reached = bf_aot.Property(**at, violated=[y[0] >= 0])
    result = tiny.verify(reached)
    assert result.falsified and result.exact_witness == [1, 0]
    # A strict condition that only its end would meet does not fail.
    assert not tiny.verify(bf_aot.Property(**at, violated=[y[0] > 0])).falsified
    # Two conditions that hold nowhere together, each of which holds somewhere.
    both = bf_aot.Property(**at, violated=[[y[0] >= -0.125, y[1] >= -0.875]])
    assert tiny.verify(both).verified
    either = bf_aot.Property(**at, violated=[[y[0] >= -0.125], [y[1] >= -0.875]])
    assert tiny.verify(either).falsified
    always = bf_aot.Property(**at, violated=[[]])
    assert tiny.verify(always).falsified
    path = tmp_path / "p.vnnlib"
    bf_aot.Property(**at, violated=[y[0] >= 0], outputs=2).write(path)
    assert tiny.verify(path).falsified and tiny.verify(str(path)).falsified
    assert "clauses" in repr(reached)


def test_robustness(digits):
    x = np.zeros((1, 8, 8), np.float32)
    label = int(np.argmax(digits.evaluate(x)))
    near = bf_aot.Property.robustness(x, 1e-4, label, 10, clip=(0, 1))
    assert near.lower == [0] * 64 and near.upper == [Fraction(1e-4)] * 64
    assert len(near.clauses) == 9 and digits.verify(near).verified
    wrong = bf_aot.Property.robustness(x, 0.1, (label + 1) % 10, 10)
    result = digits.verify(wrong)
    assert result.falsified and result.witness.shape == (1, 1, 8, 8)
    around = bf_aot.Property.robustness([0.5, 0.5], [0, 0.25], 0, 2)
    assert around.lower == [Fraction(1, 2), Fraction(1, 4)]
