"""Certified accuracy of anything that load() takes."""

from __future__ import annotations

from typing import Any, Union

import numpy as np

from ._arrays import as_array
from ._certified import Certified, Curve
from ._load import load
from ._model import Model


def certify(model: Any, X: Any, y: Any, eps: Any, **options: Any) -> Union[Certified, Curve]:
    """Around which samples X a classifier keeps the right answers y.

    Args:
        model: a Model; or what load() takes: a path, bytes, an onnx.ModelProto, or a
            torch.nn.Module, whose input's shape is that of a sample.
        X: samples, [samples, ...], an array or tensor.
        y: labels, [samples], classes from 0.
        eps: the radius: a number, or a text as "8/255"; or a list of radii.
        options: those of Model.certify(), as clip=(0, 1), norm="l2", threads=4, decide=True.

    Returns:
        Certified; for a list of radii a Curve.

    Raises:
        Those of load() and Model.certify().

    >>> with np.load("models/examples/robustness/digits_test.npz") as data:
    ...     X, y = data["x"][:50] / 16, data["y"][:50]
    >>> bf_aot.certify("models/examples/robustness/digits_cnn.onnx", X, y, "0.01", clip=(0, 1))
    <50 samples: 50 certified, 0 unknown, 0 falsified, 0 wrong>
    """
    if not isinstance(model, Model):
        samples = X[:1]
        model = load(model, example=samples) if hasattr(model, "state_dict") else load(model)
    labels = as_array(y)
    if isinstance(eps, (list, tuple)) or (isinstance(eps, np.ndarray) and eps.ndim == 1):
        radii = list(eps)
        return Curve(radii, [model.certify(X, labels, each, **options) for each in radii])
    result: Certified = model.certify(X, labels, eps, **options)
    return result
