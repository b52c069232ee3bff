"""The verdicts on a classifier's answers around samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Tuple

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Certified:
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
    """

    status: List[str]
    answer: npt.NDArray[np.intp]
    rival: npt.NDArray[np.intp]
    margin: npt.NDArray[np.float32]
    counterexamples: Dict[int, npt.NDArray[np.float64]]

    @property
    def certified(self) -> npt.NDArray[np.bool_]:
        """The samples that are certified, as a mask."""
        return np.array([each == "certified" for each in self.status], dtype=bool)

    @property
    def tied(self) -> npt.NDArray[np.bool_]:
        """A mask of wrong samples that tie: another output equals the label's, the largest."""
        wrong = np.array([each == "wrong" for each in self.status], dtype=bool)
        return wrong & (self.margin == 0)

    @property
    def accuracy(self) -> float:
        """The share of samples that are certified: answered rightly everywhere in their box."""
        return float(np.mean(self.certified)) if self.status else float("nan")

    def __repr__(self) -> str:
        kinds = ("certified", "unknown", "falsified", "wrong")
        counts = ", ".join(f"{self.status.count(kind)} {kind}" for kind in kinds)
        return f"<{len(self.status)} samples: {counts}>"


def round_down(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """The greatest float32 that is not above."""
    with np.errstate(over="ignore"):
        near = values.astype(np.float32)
    return np.where(near > values, np.nextafter(near, np.float32(-np.inf)), near)


_Ends = Tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]


def boxes_around(samples: npt.NDArray[Any], radius: _Ends,
                 clip: Tuple[Tuple[float, float], Tuple[float, float]]
                 ) -> Tuple[npt.NDArray[Any], ...]:
    """Boxes that hold all x within `radius` of a sample and within `clip`: float32 lower and upper.

    Then doubles that are within these sets, of which counterexamples are taken. Exact radii and
    ends lie between two doubles each. A difference of doubles is rounded by less than the step to
    the next one.
    """
    centres = samples.astype(np.float64)
    least, most = radius
    (low_below, low_above), (high_below, high_above) = clip
    outer_low = np.maximum(np.nextafter(centres - most, -np.inf), low_below)
    outer_high = np.minimum(np.nextafter(centres + most, np.inf), high_above)
    inner_low = np.maximum(np.nextafter(centres - least, np.inf), low_above)
    inner_high = np.minimum(np.nextafter(centres + least, -np.inf), high_below)
    return round_down(outer_low), -round_down(-outer_high), inner_low, inner_high
