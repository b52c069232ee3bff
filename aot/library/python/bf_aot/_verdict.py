"""The result of deciding a property."""

from __future__ import annotations

import builtins
import enum
import gzip
import hashlib
import os
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Protocol, Tuple, Union

import numpy as np
import numpy.typing as npt

from ._show import Plain, Shown


class Verdict(str, enum.Enum):
    """VERIFIED: no input violates the property. FALSIFIED: an input does. Both are proven."""

    VERIFIED = "verified"
    FALSIFIED = "falsified"
    UNKNOWN = "unknown"

    def __str__(self) -> str:
        return self.value


class StopEvent(Protocol):
    """An event that ends a call, such as a threading.Event."""

    def is_set(self) -> bool: ...


class Progress(NamedTuple):
    """The work that verify() is doing."""

    phase: str  #: "bound" (of cases), "search" (for a counterexample), "split" (boxes or neurons)
    cases_done: int  #: of "bound" and "search"
    cases: int
    boxes: int  #: or nodes of neuron splits, bounded so far, of "split"
    proven: float  #: the part of the case, 0 to 1, of "split"


@dataclass(frozen=True)
class Proof(Plain):
    """A certificate of an answer, for the program bf-check.

    Attributes:
        bytes, leaves: of the certificate, not compressed.
        seconds: that it took, after deciding.
        missing: why none was made, in words; empty: it was.
        rechecked: whether it was there, and was checked in place of deciding: option `recheck`.
        path: where it was written; None: it is kept here.
    """

    bytes: int
    leaves: int
    seconds: float
    missing: str
    rechecked: bool = False
    kept: builtins.bytes = field(default=b"", repr=False)
    path: Optional[Path] = None

    @property
    def certificate(self) -> builtins.bytes:
        """The certificate itself, not compressed.

        Raises:
            ValueError: there is none.
        """
        if self.missing:
            raise ValueError(f"there is no certificate: {self.missing}")
        if self.path is None:
            return self.kept
        written = self.path.read_bytes()
        return gzip.decompress(written) if written[:2] == b"\x1f\x8b" else written

    @property
    def sha256(self) -> str:
        """The digest of `certificate`."""
        return hashlib.sha256(self.certificate).hexdigest()

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the certificate, compressed where the name ends in ".gz"."""
        packs = os.fspath(path).endswith(".gz")
        Path(path).write_bytes(gzip.compress(self.certificate, mtime=0) if packs else self.certificate)


@dataclass(frozen=True)
class VerifyResult(Shown):
    """A verdict, what proves it, and what it took.

    A result has no truth value, as there are three verdicts: compare `verdict`, or ask `verified`.

    Attributes:
        verdict: a Verdict, which equals its text: ``result.verdict == "verified"``.
        witness: an input that violates the property, float64 in the shape of the model's input
            (flat for several), when falsified; of a network with tokens its ids. Proven on the
            network as it was read.
        exact_witness: the same as exact fractions, flat; `witness` has the nearest doubles.
        output: the outputs there, rounded, flat.
        case, clause: which case of the property, and which of its clauses, the witness violates.
        rational: the witness is proven in rational arithmetic, else in double with error bounds.
        stopped: unknown as a timeout or `stop` ended it.
        cases, verified_cases: boxes of the property, and those that are proven.
        methods: that were run, in order.
        boxes, points: bounded and tried while boxes were split.
        nodes: bounded while neurons were split.
        difference_boxes: in which a difference of two networks was bounded.
        seconds, plan_seconds: in all, and of that to plan verifiers.
        proof: a Proof, where a certificate was asked for and there is an answer.
        networks: of a query about several networks, when falsified: by their names, parts of
            `witness` and of `output`, flat.
    """

    verdict: Verdict
    witness: Optional[npt.NDArray[np.float64]] = None
    exact_witness: List[Fraction] = field(default_factory=list)
    output: Optional[npt.NDArray[np.float64]] = None
    case: Optional[int] = None
    clause: Optional[int] = None
    rational: bool = False
    stopped: bool = False
    cases: int = 0
    verified_cases: int = 0
    methods: List[str] = field(default_factory=list)
    boxes: int = 0
    points: int = 0
    nodes: int = 0
    difference_boxes: int = 0
    seconds: float = 0.0
    plan_seconds: float = 0.0
    proof: Optional[Proof] = None
    networks: Dict[str, Tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]] = field(default_factory=dict)

    @property
    def verified(self) -> bool:
        return self.verdict is Verdict.VERIFIED

    @property
    def falsified(self) -> bool:
        return self.verdict is Verdict.FALSIFIED

    def _columns(self) -> Dict[str, Any]:
        """The witness, a line for each input; none without one."""
        return {"input": list(range(len(self.exact_witness))),
                "value": [float(each) for each in self.exact_witness],
                "exact": [str(each) for each in self.exact_witness]}

    def __bool__(self) -> bool:
        raise TypeError("a result may be unknown: ask result.verified or result.falsified")

    def __repr__(self) -> str:
        text = f"<{self.verdict}: {self.verified_cases} of {self.cases} cases proven"
        if self.boxes:
            text += f", {self.boxes} boxes"
        if self.nodes:
            text += f", {self.nodes} nodes"
        if self.difference_boxes:
            text += f", {self.difference_boxes} boxes of differences"
        return text + f", {self.seconds:.3g} s>"


#: What a certificate is asked for by: True, or the file that it is written to.
AsksForProof = Union[None, bool, str, "os.PathLike[str]"]


def told(progress: Optional[Callable[[Progress], None]]) -> Optional[Callable[..., None]]:
    """What the extension module calls for a function of the caller's."""
    return None if progress is None else lambda *at: progress(Progress(*at))


def text_or_path(property: Union[str, "os.PathLike[str]"]) -> Tuple[str, Optional[Path]]:
    """A property's text, which starts with a parenthesis or a comment, or where it stands."""
    if isinstance(property, os.PathLike) or property.lstrip()[:1] not in ("(", ";"):
        return "", Path(property)
    return property, None


KEPT = "-"  # of the option proof: the result has the certificate


def proof_option(proof: AsksForProof) -> Union[None, str, "os.PathLike[str]"]:
    return (KEPT if proof else None) if isinstance(proof, bool) else proof


def result_of(found: Dict[str, Any], shape: Optional[Tuple[int, ...]], proof: AsksForProof = None) -> VerifyResult:
    """Of what the extension module says. shape: of a witness; None: flat. proof: what was asked for."""
    example = found.pop("counterexample")
    if found["proof"] is not None:
        asked = proof_option(proof)
        found["proof"] = Proof(**found["proof"], path=None if asked in (None, KEPT) else Path(asked).absolute())
    found["verdict"] = Verdict(found["verdict"])
    if example is None:
        return VerifyResult(**found)
    witness, output = np.array(example.pop("input")), np.array(example.pop("output"))
    exact = [Fraction(text) for text in example.pop("exact_input")]
    networks, first, first_output = {}, 0, 0
    for name, inputs, outputs in example.pop("networks"):
        networks[name] = (witness[first:first + inputs], output[first_output:first_output + outputs])
        first, first_output = first + inputs, first_output + outputs
    return VerifyResult(**found, witness=witness if shape is None else witness.reshape(shape),
                        exact_witness=exact, output=output, networks=networks, **example)
