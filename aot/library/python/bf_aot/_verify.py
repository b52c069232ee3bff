"""Verdicts about several networks."""

from __future__ import annotations

import os
from typing import Any, Callable, Mapping, Optional, Union

from . import _native
from ._model import Model
from ._options import texts
from ._types import Method, Semantics
from ._verdict import (AsksForProof, Progress, StopEvent, VerifyResult, proof_option, result_of, text_or_path,
                       told)


def verify(networks: Mapping[str, Model], query: Union[str, "os.PathLike[str]"], *,
           method: Optional[Method] = None, semantics: Semantics = "real", timeout: float = 0,
           search_seconds: Optional[float] = None, branch_seconds: Optional[float] = None,
           jobs: int = 0, checkpoint: Union[None, str, "os.PathLike[str]"] = None,
           proof: AsksForProof = None,
           progress: Optional[Callable[[Progress], None]] = None,
           stop: Optional[StopEvent] = None, **options: Any) -> VerifyResult:
    """Decides a query of VNN-LIB 2.0, which says what must not happen, about one network or several.

    Args:
        networks: a Model for each network that the query declares, by its name. One that is
            `equal-to` another needs none.
        query: the path of a VNN-LIB file, or its text, which starts with a parenthesis or a comment.
        proof: as in Model.verify(). checkpoint: too, of a query about one network.
        method and all others: as in Model.verify().

    Returns:
        VerifyResult. Its `witness` has the inputs of all networks, one after the other, and its
        `networks` those of each. The program's `bf-aot verify QUERY --network NAME=FILE` says the
        same.

    >>> tiny = bf_aot.load("models/tiny.onnx")
    >>> str(bf_aot.verify({"f": tiny, "g": tiny}, "models/properties/tiny_twice.vnnlib").verdict)
    'verified'

    Raises:
        Error: BF3413 other names than the query declares; BF3415 networks that are not as equal as
            the query says; BF3020 a checkpoint of several networks; those
            of Model.verify().
    """
    text, path = text_or_path(query)
    given = texts({"method": method, "semantics": semantics, "timeout": timeout,
                   "search_seconds": search_seconds, "branch_seconds": branch_seconds, "jobs": jobs,
                   "checkpoint": checkpoint, "proof": proof_option(proof), **options}, decisions=True)
    found = _native.verify({name: model._native for name, model in networks.items()}, text, path,
                           given, told(progress), stop)
    return result_of(found, None, proof)
