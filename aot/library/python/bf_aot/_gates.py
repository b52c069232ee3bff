"""What fails where a network is not proven: assertions, and the fixtures of pytest on them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, List, Union

from ._arrays import exact_number
from ._certified import Certified, Curve
from ._certify import certify
from ._load import load
from ._model import Model
from ._verdict import VerifyResult


def loaded(model: Any, example: Any) -> Model:
    """A Model, or what load() takes."""
    if isinstance(model, Model):
        return model
    return load(model, example=example) if hasattr(model, "state_dict") else load(model)


@dataclass(frozen=True)
class Share:
    """The samples that are certified at a radius, and the share that must be.

    Attributes:
        eps, at_least: as they were given.
        result: of all samples.
        passed: whether there are samples, and as many are certified.
    """

    eps: Any
    at_least: Any
    result: Certified

    @property
    def passed(self) -> bool:
        count = len(self.result.status)
        return count > 0 and self._certified >= _share(self.at_least) * count

    @property
    def _certified(self) -> int:
        return int(self.result.certified.sum())

    def __str__(self) -> str:
        return (f"eps {self.eps}: {self._certified} of {len(self.result.status)} samples are certified, "
                f"at least {self.at_least} of them is asked for")


def shares_of(found: Union[Certified, Curve], eps: Any, at_least: Any) -> List[Share]:
    """Each radius with its share; one share may be that of all radii."""
    results = found.results if isinstance(found, Curve) else [found]
    radii = found.eps if isinstance(found, Curve) else [eps]
    shares = list(at_least) if isinstance(at_least, (list, tuple)) else [at_least] * len(radii)
    if len(shares) != len(radii):
        raise ValueError(f"{len(shares)} shares for {len(radii)} radii")
    for share in shares:
        _share(share)
    return [Share(*each) for each in zip(radii, shares, results)]


def missed(name: str, shares: List[Share]) -> str:
    """What an assertion says; empty where all passed."""
    texts = [str(share) for share in shares if not share.passed]
    return f"{name}: " + "; ".join(texts) if texts else ""


def not_verified(name: str, result: VerifyResult) -> str:
    """What an assertion says; empty where the property is verified."""
    if result.verified:
        return ""
    where = f" at {[str(each) for each in result.exact_witness]}" if result.falsified else ""
    return f"{name}: the property is {result.verdict}{where}"


def assert_robust(model: Any, X: Any, y: Any, eps: Any, *, at_least: Any = 1, **options: Any
                  ) -> Union[Certified, Curve]:
    """Raises AssertionError where a classifier is certified around too few samples.

    Args:
        model, X, y, eps, options: those of certify().
        at_least: the share of samples, 0 to 1, that must be certified: a number, or a text as
            "9/10"; of several radii one for each may be given.

    Returns:
        What certify() returns.

    Raises:
        AssertionError: at a radius fewer samples are certified, or there is none.
        ValueError: a share that is none. Those of certify().

    >>> with np.load("models/examples/robustness/digits_test.npz") as data:
    ...     X, y = data["x"][:20] / 16, data["y"][:20]
    >>> bf_aot.assert_robust("models/examples/robustness/digits_cnn.onnx", X, y, "0.01", clip=(0, 1))
    <20 samples: 20 certified, 0 unknown, 0 falsified, 0 wrong>
    """
    network = loaded(model, X[:1])
    found = certify(network, X, y, eps, **options)
    text = missed(network.name, shares_of(found, eps, at_least))
    if text:
        raise AssertionError(text)
    return found


def assert_verified(model: Any, property: Any, *, example: Any = None, **options: Any) -> VerifyResult:
    """Raises AssertionError where a property is falsified, or not decided.

    Args:
        model: a Model, or what load() takes, with `example` for a torch.nn.Module.
        property, options: those of Model.verify().

    Returns:
        VerifyResult.

    Raises:
        AssertionError: the property is not verified; with the exact counterexample where there is
            one. Those of load() and Model.verify().

    >>> tiny = bf_aot.load("models/tiny.onnx")
    >>> str(bf_aot.assert_verified(tiny, "models/properties/tiny_holds.vnnlib").verdict)
    'verified'
    """
    network = loaded(model, example)
    result = network.verify(property, **options)
    text = not_verified(network.name, result)
    if text:
        raise AssertionError(text)
    return result


def _share(share: Any) -> Fraction:
    exact = exact_number(share, "at_least")
    if not 0 <= exact <= 1:
        raise ValueError(f"at_least is {share}: a share is from 0 to 1")
    return exact
