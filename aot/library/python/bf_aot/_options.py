"""Options as the library's table has them, and rows as it takes them."""

from __future__ import annotations

import math
import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np
import numpy.typing as npt

from . import _native
from ._arrays import exact_doubles

# The library's table: the names of an option's values, where it has names.
_CHOICES: Dict[str, List[str]] = {name: choices for name, choices, _ in _native.OPTIONS}
_OF_DECISIONS = {name for name, _, of_decisions in _native.OPTIONS if of_decisions}
# Boxes that are bounded together where nothing else is asked for. Backward bounds of each neuron
# leave out what is zero on the box: together, on all boxes of the batch, which is less
# (docs/measurements/python.md).
_BATCH = {"ibp": 16, "crown-ibp": 16, "forward": 16, "crown": 1, "alpha-crown": 1}


_NORMS = {1: "l1", 2: "l2", math.inf: "linf"}  # as numpy.linalg.norm has them


def choice(choices: Sequence[str], name: Any, what: str) -> str:
    if what == "norm" and isinstance(name, (int, float)):
        name = _NORMS.get(name, name)
    plain = name.lower().replace("_", "-") if isinstance(name, str) else name
    if plain == "crown-optimized":  # as auto_LiRPA has it
        plain = "alpha-crown"
    if plain not in choices:
        known = ", ".join(repr(each) for each in choices)
        raise ValueError(f"there is no {what} {name!r}: choose one of {known}")
    return str(plain)


def _text(value: Any) -> str:
    """A value as it would be typed."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if isinstance(value, (list, tuple)):
        return ",".join(_text(each) for each in value)
    return str(value)


def texts(options: Mapping[str, Any], decisions: bool = False) -> Dict[str, str]:
    """Options as the library's table reads them; None is left out."""
    made: Dict[str, str] = {}
    for name, value in options.items():
        if name not in _CHOICES or (name in _OF_DECISIONS and not decisions):
            known = ", ".join(each for each in _CHOICES if decisions or each not in _OF_DECISIONS)
            raise TypeError(f"there is no option {name!r}: there are {known}")
        if value is None:
            continue
        made[name] = choice(_CHOICES[name], value, name) if _CHOICES[name] else _text(value)
    return made


def choices_of(name: str) -> List[str]:
    """The values of an option."""
    return _CHOICES[name]


class Rows:
    """C and d as the library takes them."""

    __slots__ = ("count", "key", "offsets", "rows")

    def __init__(self, C: Optional[npt.ArrayLike], d: Optional[npt.ArrayLike],
                 outputs: int) -> None:
        self.rows: Optional[npt.NDArray[np.float64]] = None
        self.offsets: Optional[npt.NDArray[np.float64]] = None
        self.key: Tuple[Any, ...] = ()
        self.count = 0
        if C is None:
            if d is not None:
                raise ValueError("there are offsets d, but no rows C")
            return
        rows = np.ascontiguousarray(exact_doubles(C, "C"))
        if rows.ndim == 3 and rows.shape[0] == 1:  # as auto_LiRPA has it
            rows = rows[0]
        rows = np.atleast_2d(rows)
        if rows.ndim != 2 or rows.shape[1] != outputs or rows.shape[0] == 0:
            raise ValueError(f"C has shape {list(rows.shape)}: it is [rows, {outputs}]")
        self.rows, self.count = rows, rows.shape[0]
        if d is not None:
            self.offsets = np.ascontiguousarray(exact_doubles(d, "d")).reshape(-1)
            if self.offsets.size != self.count:
                raise ValueError(f"d has {self.offsets.size} elements, C has {self.count} rows")
        self.key = (rows.tobytes(), None if self.offsets is None else self.offsets.tobytes())


def batch_of(method: str) -> int:
    return _BATCH[choice(_CHOICES["method"], method, "method")]


_Group = Tuple[npt.NDArray[np.intp], npt.NDArray[np.float64], Optional[npt.NDArray[np.float64]]]


def groups_of_rows(C: Any, d: Any, batch: Tuple[int, ...], outputs: int) -> Optional[List[_Group]]:
    """The boxes that have the same rows, with these; None where C and d are those of all boxes."""
    if C is None:
        return None
    rows = exact_doubles(C, "C")
    offsets = None if d is None else exact_doubles(d, "d")
    if (rows.ndim < 3 or rows.shape[:-2] == (1,)) and (offsets is None or offsets.ndim < 2):
        return None
    rows = np.atleast_2d(rows)
    if rows.shape[-1] != outputs:
        raise ValueError(f"C has shape {list(rows.shape)}: it is [..., rows, {outputs}]")
    count, boxes = rows.shape[-2], int(np.prod(batch))
    try:
        rows = np.broadcast_to(rows, batch + (count, outputs)).reshape(boxes, count, outputs)
        if offsets is not None:
            offsets = np.broadcast_to(offsets, batch + (count,)).reshape(boxes, count)
    except ValueError:
        raise ValueError(f"C has shape {list(rows.shape)} for boxes of batch shape "
                         f"{list(batch)}") from None
    groups: Dict[bytes, List[int]] = {}
    for box in range(boxes):
        key = rows[box].tobytes() + (b"" if offsets is None else offsets[box].tobytes())
        groups.setdefault(key, []).append(box)
    return [(np.array(members, np.intp), rows[members[0]],
             None if offsets is None else offsets[members[0]]) for members in groups.values()]
