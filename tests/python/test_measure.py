"""Model.measure."""

from fractions import Fraction

import numpy as np
import pytest

import bf_aot


def test_shares_and_cells(tiny):
    y = bf_aot.outputs(2)
    question = bf_aot.Property([0, 0], [1, 1], violated=[y[0] >= -1])
    found, = tiny.measure(question, Fraction(1, 50), jobs=2)
    assert found.proven + found.refuted + found.open == 1 and found.reached
    assert found.open <= Fraction(1, 50) and found.refuted > 0
    inner = np.prod(found.inner[1] - found.inner[0], axis=1).sum()
    outer = np.prod(found.outer[1] - found.outer[0], axis=1).sum()
    assert Fraction(float(inner)) == found.refuted and Fraction(float(outer)) == 1 - found.proven
    corners = tiny.evaluate(found.inner[1])
    assert np.all(corners[:, 0] >= -1 - 1e-6)
    assert "proven" in repr(found)


def test_refusals(tiny, digits):
    y = bf_aot.outputs(2)
    question = bf_aot.Property([0, 0], [1, 1], violated=[y[0] >= -1])
    with pytest.raises(bf_aot.Error, match="BF3501"):
        tiny.measure(question, "2")
    with pytest.raises(bf_aot.Error, match="BF3020"):
        y = bf_aot.outputs(10)
        digits.measure(bf_aot.Property([0] * 64, [1] * 64, violated=[y[0] >= 0]))
