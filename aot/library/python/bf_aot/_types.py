"""Names of options, for type checkers alone. The values are those of the library's table."""

from __future__ import annotations

from typing import Literal, Sequence, TypedDict, Union

Method = Literal["ibp", "crown-ibp", "crown", "alpha-crown", "forward",
                 "IBP", "CROWN-IBP", "CROWN", "CROWN-Optimized"]
Semantics = Literal["real", "float32", "float32-exact", "quantised-any"]
Norm = Union[Literal["linf", "l2", "l1"], int, float]
Alpha = Literal["outputs", "all"]
Jit = Literal["auto", "off", "wait"]
Arithmetic = Literal["float", "integer", "auto"]


class _Options(TypedDict, total=False):
    libm_ulps: int
    flush_to_zero: bool
    device: str
    granularity: Literal["step", "region", "entry"]
    disable_pass: Union[str, Sequence[str]]


class PlanOptions(_Options, total=False):
    """Options of plans that calls take besides their own: docs/reference/options.md."""

    alpha: Alpha


class DecisionOptions(_Options, total=False):
    """Options of decisions that calls take besides their own."""

    batch: int
    norm: Norm
    cxx: str
    cxx_flags: Union[str, Sequence[str]]
    proof_seconds: float
    recheck: bool
