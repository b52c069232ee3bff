"""Shares of a property's boxes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Dict, List, Tuple

import numpy as np
import numpy.typing as npt

from ._show import Shown

Cells = Tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]


@dataclass(frozen=True)
class Measured(Shown):
    """The shares of the box of one case of a property, by volume. Their sum is 1.

    Attributes:
        proven: the share in which nothing violates the property.
        refuted: the share in which everything does.
        open: the rest, of which neither is proven.
        bounded: cells that were bounded.
        reached: `open` is at most the width that was asked for.
        inner: lower and upper ends, [cells, inputs], of cells in which everything violates it.
        outer: those of cells that hold every violation: the inner ones, and the open ones.
    """

    proven: Fraction
    refuted: Fraction
    open: Fraction
    bounded: int
    reached: bool
    inner: Cells
    outer: Cells

    def _columns(self) -> Dict[str, Any]:
        return {"share": ["proven", "refuted", "open"],
                "value": [float(self.proven), float(self.refuted), float(self.open)]}

    def __repr__(self) -> str:
        return (f"<{100 * float(self.proven):.3f} % proven, {100 * float(self.refuted):.3f} % refuted, "
                f"{100 * float(self.open):.3f} % open>")


def _cells(of: List[Tuple[List[float], List[float]]], inputs: int) -> Cells:
    ends = np.array(of, np.float32).reshape(-1, 2, inputs)
    return ends[:, 0], ends[:, 1]


def measured_of(found: List[Dict[str, Any]], inputs: int) -> List[Measured]:
    """The cases that the library has measured."""
    return [Measured(Fraction(case["proven"]), Fraction(case["refuted"]), Fraction(case["open"]),
                     case["bounded"], case["reached"], _cells(case["inner"], inputs),
                     _cells(case["inner"] + case["open_cells"], inputs)) for case in found]
