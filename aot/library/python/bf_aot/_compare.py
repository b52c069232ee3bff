"""How far apart two networks are."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Dict, List, Optional

import numpy as np
import numpy.typing as npt

from ._arrays import Boxes
from ._model import Model
from ._options import texts
from ._show import Plain
from ._types import Method, Semantics
from ._verdict import StopEvent, Verdict


@dataclass(frozen=True)
class Comparison(Plain):
    """Statements about ``second - first`` for every input of a box.

    Attributes:
        lower, upper: float64 [outputs], of the difference.
        proven: no output differs by more, anywhere in the box.
        attained: output `output` differs by so much or more at `point`, proven; 0: no point is known.
        output, point, exact_point: where; None and [] where `attained` is 0. `point` is flat float64,
            `exact_point` the same as exact fractions.
        within, classes: a Verdict where it was asked for, else None.
        seconds: in all.
    """

    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]
    proven: float
    attained: float
    output: Optional[int] = None
    point: Optional[npt.NDArray[np.float64]] = None
    exact_point: List[Fraction] = field(default_factory=list)
    within: Optional[Verdict] = None
    classes: Optional[Verdict] = None
    seconds: float = 0.0

    def __repr__(self) -> str:
        return f"<differ by at most {self.proven:.6g}, and somewhere by {self.attained:.6g}>"


def compare(first: Model, second: Model, lower: Boxes, upper: Boxes, *,
            within: Optional[float] = None, classes: bool = False, timeout: float = 20,
            method: Optional[Method] = None, semantics: Semantics = "real", jobs: int = 0,
            stop: Optional[StopEvent] = None, **options: Any) -> Comparison:
    """Bounds how far the outputs of two networks are apart in a box.

    Args:
        first, second: of as many inputs, and outputs.
        lower, upper: one box, as in Model.bounds(), of the first network's inputs.
        within: decide whether every output differs by at most so much; the double that it is.
        classes: decide whether both networks have the same largest output.
        timeout: seconds, in which `proven` and `attained` are brought together.
        method: of the bounds; None is "alpha-crown".
        semantics, jobs, stop, options: as in Model.verify().

    Returns:
        Comparison. The program's `bf-aot compare` gives the same.

    Raises:
        Error: BF3416 networks of other inputs or outputs; those of Model.verify().
    """
    low, high, batch = first._arrays.boxes(lower, upper)
    if batch not in ((), (1,)):
        raise ValueError(f"one box is compared, not a batch of shape {batch}")
    given: Dict[str, str] = texts({"method": method, "semantics": semantics, **options}, decisions=True)
    found = first._native.compare(second._native, low.astype(np.float64).reshape(-1),
                                  high.astype(np.float64).reshape(-1), given, within, classes, timeout,
                                  jobs, stop)
    exact = [Fraction(text) for text in found["exact_point"]]
    known = found["attained"] > 0

    def verdict(name: str) -> Optional[Verdict]:
        return None if found[name] is None else Verdict(found[name]["verdict"])

    return Comparison(np.array(found["lower"]), np.array(found["upper"]), found["proven"],
                      found["attained"], found["output"] if known else None,
                      np.array([float(x) for x in exact]) if known else None, exact,
                      verdict("within"), verdict("classes"), found["seconds"])
