"""Model.certify_disturbed."""

import numpy as np
import pytest

import bf_aot
from conftest import MODELS

EXAMPLE = MODELS / "examples" / "robustness"


@pytest.fixture(scope="module")
def model():
    return bf_aot.load(EXAMPLE / "digits_cnn.onnx")


@pytest.fixture(scope="module")
def digits():
    with np.load(EXAMPLE / "digits_test.npz") as data:
        return data["x"][:40], data["y"][:40]


def test_verdicts_and_parameters(model, digits):
    X, y = digits
    told = []
    found = model.certify_disturbed(X, y, "rotation=-20..20", scale=16, clip=(0, 1), threads=2,
                                    progress=lambda done, count: told.append((done, count)))
    assert found.names == ["rotation"] and len(found.status) == 40 and told
    assert set(found.status) <= {"certified", "falsified", "wrong"}
    assert found.status.count("certified") > 5 and found.status.count("falsified") > 5
    assert set(found.parameters) == set(found.counterexamples)
    for i, at in found.parameters.items():
        assert found.status[i] == "falsified" and -20 <= at[0] <= 20
        assert model.evaluate(found.counterexamples[i]).argmax() != y[i]
    assert np.all(found.share[found.certified] == 1)
    assert np.all(found.parts[found.certified] >= 1)
    assert "40 samples" in repr(found)


def test_numbers_are_exact_and_orders_known(model, digits):
    X, y = digits
    both = ["contrast=0.9..1.1", "brightness=-1/10..0.1"]
    first = model.certify_disturbed(X, y, both, scale="16", clip="0,1")
    second = model.certify_disturbed(X.reshape(40, 8, 8), y, ",".join(both), scale=16.0, clip=(0, 1))
    third = model.certify_disturbed(X.reshape(40, 8, 8, 1), y, both, scale=16, clip=(0, 1), channels_last=True)
    assert first.status == second.status == third.status
    assert first.names == ["contrast", "brightness"]


def test_what_is_refused(model, digits):
    X, y = digits
    with pytest.raises(ValueError, match="no height"):
        model.certify_disturbed(X.reshape(40, 64), y, "fog=0..1")
    with pytest.raises(ValueError, match="labels"):
        model.certify_disturbed(X, y[:3], "fog=0..1")
    with pytest.raises(TypeError, match="classes"):
        model.certify_disturbed(X, y.astype(float), "fog=0..1")
    with pytest.raises(bf_aot.Error, match="BF3013"):
        model.certify_disturbed(X, y, "spin=0..1")
    with pytest.raises(bf_aot.Error, match="BF3503"):
        model.certify_disturbed(X, y, "fog=0..1", clip=(0, 1))
