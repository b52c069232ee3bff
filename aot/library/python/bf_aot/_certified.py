"""Boxes around samples, and the verdicts on a classifier's answers in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Tuple

import numpy as np
import numpy.typing as npt

from . import _native
from ._arrays import as_array, clip_ends, enclosing, exact_doubles, exact_number
from ._options import choice, choices_of
from ._show import Shown, axes_of
from ._types import Norm


@dataclass(frozen=True)
class Certified(Shown):
    """One entry for each sample.

    Attributes:
        status: "certified": everywhere in the box the answer is the label, proven. "falsified":
            somewhere it is not, proven. "unknown". "wrong": it is not at the sample itself, or
            another class's output is equal there: a tie answers no class.
        answer: the class of the largest output at the sample, evaluated in float32.
        rival: the class that comes closest to the label.
        margin: a lower bound of output[label] - output[rival] in the box; of "wrong" the
            difference at the sample, rounded.
        counterexamples: of the falsified, by index: an input of the box, proven, flat.
        stage: the last that the sample went through, which decided it if any did: "sample",
            "attack", a method, or "split".
    """

    status: List[str]
    answer: npt.NDArray[np.intp]
    rival: npt.NDArray[np.intp]
    margin: npt.NDArray[np.float32]
    counterexamples: Dict[int, npt.NDArray[np.float64]]
    stage: List[str] = field(default_factory=list)

    @property
    def certified(self) -> npt.NDArray[np.bool_]:
        """The samples that are certified, as a mask."""
        return np.array([each == "certified" for each in self.status], dtype=bool)

    @property
    def tied(self) -> npt.NDArray[np.bool_]:
        """A mask of wrong samples that tie: another output equals the label's, the largest."""
        wrong = np.array([each == "wrong" for each in self.status], dtype=bool)
        tied: npt.NDArray[np.bool_] = wrong & (self.margin == 0)
        return tied

    @property
    def accuracy(self) -> float:
        """The share of samples that are certified: answered rightly everywhere in their box."""
        return float(np.mean(self.certified)) if self.status else float("nan")

    def _columns(self) -> Dict[str, Any]:
        return {"status": self.status, "answer": self.answer, "rival": self.rival,
                "margin": self.margin}

    def plot(self, ax: Any = None) -> Any:
        """Draws the margins in order, those above 0 certified; returns the axes.

        This needs matplotlib.
        """
        axes = axes_of(ax)
        axes.step(np.arange(len(self.status)), np.sort(self.margin)[::-1], where="mid")
        axes.axhline(0, color="0.5", linewidth=0.8)
        axes.set_xlabel("samples, by margin")
        axes.set_ylabel("margin, at least")
        axes.set_title(f"{100 * self.accuracy:.1f} % certified")
        return axes

    def __repr__(self) -> str:
        kinds = ("certified", "unknown", "falsified", "wrong")
        counts = ", ".join(f"{self.status.count(kind)} {kind}" for kind in kinds)
        return f"<{len(self.status)} samples: {counts}>"


@dataclass(frozen=True, repr=False)
class Disturbed(Certified):
    """One entry for each picture, as Certified, of all disturbances of a range.

    Attributes:
        names: of the parameters, as "rotation" or "occlusion row".
        parameters: of the falsified, by index: parameters at which the answer is not the label,
            proven; the doubles nearest to them. Their disturbed pictures are in `counterexamples`.
        share: the part of the range that is certified, 0 to 1.
        parts: how many parts of the range were bounded.
    """

    names: List[str] = field(default_factory=list)
    parameters: Dict[int, npt.NDArray[np.float64]] = field(default_factory=dict)
    share: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    parts: npt.NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, np.intp))

    def _columns(self) -> Dict[str, Any]:
        return {**super()._columns(), "share": self.share}


@dataclass(frozen=True)
class Explanation:
    """Inputs of a sample that keep its answer while all others are anywhere in its box.

    Attributes:
        fixed: their indices, ascending; empty where the sample is certified.
        minimal: without any one of them there is a counterexample, proven.
        smallest: no smaller set keeps the answer, proven; tried where at most 12 inputs vary.
    """

    fixed: List[int]
    minimal: bool
    smallest: bool


@dataclass(frozen=True)
class Curve(Shown):
    """Certified accuracy by radius, as certify() returns it for several.

    Attributes:
        eps: the radii, as they were given.
        results: a Certified for each.
    """

    eps: List[Any]
    results: List[Certified]

    @property
    def accuracy(self) -> npt.NDArray[np.float64]:
        """The share of samples that are certified, for each radius."""
        return np.array([each.accuracy for each in self.results])

    def _columns(self) -> Dict[str, Any]:
        kinds = ("certified", "unknown", "falsified", "wrong")
        columns: Dict[str, Any] = {"eps": [str(each) for each in self.eps]}
        for kind in kinds:
            columns[kind] = [each.status.count(kind) for each in self.results]
        columns["accuracy"] = self.accuracy
        return columns

    def plot(self, ax: Any = None) -> Any:
        """Draws certified accuracy over the radius; returns the axes. This needs matplotlib."""
        axes = axes_of(ax)
        axes.plot([float(exact_number(each, "eps")) for each in self.eps], 100 * self.accuracy,
                  marker="o")
        axes.set_xlabel("eps")
        axes.set_ylabel("certified accuracy in %")
        axes.set_ylim(0, 100)
        return axes

    def __repr__(self) -> str:
        shares = ", ".join(f"{eps}: {100 * each.accuracy:.1f} %"
                           for eps, each in zip(self.eps, self.results))
        return f"<certified by eps: {shares}>"


def round_down(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """The greatest float32 that is not above."""
    with np.errstate(over="ignore"):
        near = values.astype(np.float32)
    return np.where(near > values, np.nextafter(near, np.float32(-np.inf)), near)


_Ends = Tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]


def _difference(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> _Ends:
    """The doubles next to a - b: at most, and at least it; both are a - b where that is a double."""
    with np.errstate(over="ignore", invalid="ignore"):
        near = a - b
        # What the difference lost (Knuth's two-sum); no number where it overflowed.
        of_b = a - near
        lost = (a - (near + of_b)) + (of_b - b)
    return (np.where(lost >= 0, near, np.nextafter(near, -np.inf)),
            np.where(lost <= 0, near, np.nextafter(near, np.inf)))


def boxes_around(samples: npt.NDArray[Any], radius: _Ends,
                 clip: Tuple[Tuple[float, float], Tuple[float, float]]
                 ) -> Tuple[npt.NDArray[Any], ...]:
    """Boxes that hold all x within `radius` of a sample and within `clip`: float32 lower and upper.

    Then doubles that are within these sets, of which counterexamples are taken. Exact radii and
    ends lie between two doubles each.
    """
    centres = samples.astype(np.float64)
    least, most = radius
    (low_below, low_above), (high_below, high_above) = clip
    outer_low = np.maximum(_difference(centres, most)[0], low_below)
    outer_high = np.minimum(_difference(centres, -most)[1], high_above)
    inner_low = np.maximum(_difference(centres, least)[1], low_above)
    inner_high = np.minimum(_difference(centres, -least)[0], high_below)
    return round_down(outer_low), -round_down(-outer_high), inner_low, inner_high


def box(x: Any, eps: Any, clip: Any = None, norm: Norm = "linf"
        ) -> Tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Lower and upper ends, for Model.bounds(), of the box of all points within `eps` of x.

    Args:
        x: an array or tensor of samples; float64 is taken exactly.
        eps: a number, or an array of numbers that broadcasts against x, or one for each sample,
            [samples]. Fractions, decimals and text ("8/255", "0.03") are exact.
        clip: the least and greatest value that inputs have: (0, 1), or the text "0,1".
        norm: "l2", "l1": ends so wide that the ball in the box, which bounds(norm=) is about, holds
            all points within `eps` of a sample in that norm. Axis 0 is then that of samples.

    Returns:
        Two float32 arrays of x's shape, rounded outward.

    >>> lower, upper = bf_aot.box([[0.5, 0.25], [0, 1]], ["1/4", "1/8"], clip=(0, 1))
    >>> lower.tolist(), upper.tolist()
    ([[0.25, 0.0], [0.0, 0.875]], [[0.75, 0.5], [0.125, 1.0]])
    """
    samples = as_array(x)
    if samples.dtype.kind != "f":
        samples = exact_doubles(samples, "x")
    ends = []
    for around in enclosing(eps, "eps"):
        if not np.all(around >= 0):
            raise ValueError("eps is negative, or no number")
        if around.ndim == 1 and samples.ndim > 1 and around.shape[0] == samples.shape[0]:
            around = around.reshape((-1,) + (1,) * (samples.ndim - 1))
        ends.append(np.broadcast_to(around, samples.shape))
    ball = choice(choices_of("norm"), norm, "norm")
    if ball != "linf" and (clip is not None or samples.ndim < 2):
        raise ValueError(f"norm {ball}: x is [samples, ...], and a ball is not clipped")
    low, high, _, _ = boxes_around(samples, (ends[0], ends[1]), clip_ends(clip))
    if ball != "linf":
        _native.hold_balls(low.reshape(len(low), -1), high.reshape(len(high), -1), ball)
    if not np.all(low <= high):
        raise ValueError("a box has no part within clip")
    return low, high
