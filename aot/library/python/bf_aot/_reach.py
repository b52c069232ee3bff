"""Closed loops: a controller in its plant."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _native
from ._load import exported, load
from ._model import Model
from ._options import texts
from ._show import Shown
from ._types import Method, Semantics
from ._verdict import StopEvent, Verdict

Time = Union[int, float, str, Fraction]
Ends = Tuple[Sequence[float], Sequence[float]]


@dataclass(frozen=True)
class Reach(Shown):
    """Where a loop goes, and whether it does what is required.

    Attributes:
        verdict: a Verdict; None where nothing is required.
        times: float64 [pieces, 2], of the pieces of the tube: instants, and the times between them.
        lower, upper: float64 [pieces, states]; no trajectory leaves them.
        violation: a trajectory that breaks a requirement, when falsified: a dictionary with its
            `requirement`, times `from` and `to`, `start`, `disturbances`, and `trajectory`.
        obstacle: where the search for a proof has ended, when unknown: a dictionary with its
            `period`, `requirement`, `reason`, `state` and `cell`.
        state_names: of the columns.
        details: all of the answer, as `bf-aot reach --json` prints it.
        svg: a drawing, which notebooks show; empty where none was asked for.
        seconds: in all.
    """

    verdict: Optional[Verdict]
    times: npt.NDArray[np.float64]
    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]
    violation: Optional[Dict[str, Any]] = None
    obstacle: Optional[Dict[str, Any]] = None
    state_names: List[str] = field(default_factory=list)
    details: Dict[str, Any] = field(default_factory=dict)
    svg: str = ""
    seconds: float = 0.0

    @property
    def verified(self) -> bool:
        return self.verdict is Verdict.VERIFIED

    @property
    def falsified(self) -> bool:
        return self.verdict is Verdict.FALSIFIED

    def _columns(self) -> Dict[str, Any]:
        """The tube, a line for each piece."""
        made: Dict[str, Any] = {"from": self.times[:, 0], "to": self.times[:, 1]}
        for i, name in enumerate(self.state_names):
            made[name + " lower"], made[name + " upper"] = self.lower[:, i], self.upper[:, i]
        return made

    def _repr_html_(self) -> str:
        return self.svg or super()._repr_html_()

    def __bool__(self) -> bool:
        raise TypeError("a result may be unknown: ask result.verified or result.falsified")

    def __repr__(self) -> str:
        return f"<{self.details['answer']}: {self.details['cells']} tubes, {self.seconds:.3g} s>"


def _time(value: Time) -> Union[int, float, str]:
    """A time as a question has it: decimals are exact as they are printed."""
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    if isinstance(value, str):
        return value
    return int(value) if isinstance(value, (int, np.integer)) else float(value)


def _floats(values: Any) -> List[float]:
    return [float(each) for each in np.asarray(values, dtype=np.float64).reshape(-1)]


def _box(ends: Ends) -> Dict[str, Any]:
    lower, upper = ends
    return {"lower": _floats(lower), "upper": _floats(upper)}


def _network(source: Any, role: str, sizes: Sequence[int], inputs: Sequence[str]) -> Model:
    """The network of a role; a torch.nn.Module is exported with inputs of these sizes and names."""
    if isinstance(source, Model):
        return source
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(source, torch.nn.Module):
        example = tuple(torch.zeros(1, size) for size in sizes)
        return load(exported(source, example, inputs), name=f"{type(source).__name__}.onnx")
    try:
        return load(source)
    except TypeError as error:
        raise TypeError(f"{role}: {error}") from None


def _networks(controller: Any, plant: Any, observer: Any, states: int, further: Mapping[str, Ends]) -> Dict[str, Model]:
    """The loop's networks by their roles."""
    made: Dict[str, Model] = {}
    sizes, names, read = [states], ["x"], states
    if observer is not None:
        made["observer"] = _network(observer, "observer", [states], ["x"])
        read = made["observer"].output_count
    if controller is not None:
        made["controller"] = _network(controller, "controller", [read], ["x"])
        sizes, names = [states, made["controller"].output_count], ["x", "u"]
    sizes += [len(_floats(ends[0])) for ends in further.values()]
    made["plant"] = _network(plant, "plant", sizes, [*names, *further])
    return made


def _requirements(always: Sequence[str], never: Sequence[str], at: Sequence[Tuple[Time, str]],
                  within: Sequence[Tuple[Time, Time, str]]) -> List[Dict[str, Any]]:
    for name, conditions in (("always", always), ("never", never)):
        if isinstance(conditions, str):
            raise TypeError(f"{name} is a list of conditions: [{conditions!r}]")
    return [*({"always": each} for each in always), *({"never": each} for each in never),
            *({"at": _time(when), "holds": each} for when, each in at),
            *({"within": [_time(begin), _time(end)], "holds": each} for begin, end, each in within)]


def reach(controller: Any, plant: Any = None, box: Optional[Ends] = None, *,
          period: Optional[Time] = None, steps: Optional[int] = None, kind: str = "continuous",
          substeps: Optional[int] = None, always: Sequence[str] = (), never: Sequence[str] = (),
          at: Sequence[Tuple[Time, str]] = (), within: Sequence[Tuple[Time, Time, str]] = (),
          disturbances: Optional[Mapping[str, Ends]] = None,
          constants: Optional[Mapping[str, Ends]] = None,
          changing: Optional[Mapping[str, Ends]] = None, observer: Any = None,
          delayed: bool = False, first_control: Any = None,
          state_names: Optional[Sequence[str]] = None, timeout: float = 60,
          method: Optional[Method] = None, semantics: Semantics = "real", jobs: int = 0, order: int = 0,
          symbols: int = 0, drawing: bool = True,
          progress: Optional[Callable[[int, float], None]] = None,
          stop: Optional[StopEvent] = None, **options: Any) -> Reach:
    """Bounds a controller in its plant over time, and decides what is required.

    Args:
        controller: a network from the state to the control: a Model, or what load() reads; a
            torch.nn.Module takes [1, states]. None: the plant has no control. Without `plant`: the
            path of a question's file, and then no argument about the loop is given.
        plant: a network from the state, the control and disturbances to dx/dt or, of kind
            "discrete", to the next state.
        box: lower and upper ends of the state at the start. Numbers are the decimals that Python
            prints, and the doubles next to them belong to the box.
        period: seconds that a control is held for; of discrete plants steps (default: 1).
        steps: periods that are looked ahead.
        kind: "continuous"; "euler", whose next state is x + h dx; or "discrete".
        substeps: of a period: Euler's steps, or steps of the tube.
        always, never: conditions, as VNN-LIB 2.0 writes them, over x[i], u[j], x0[i] and names.
        at: pairs of a time, or "end", and a condition that holds then.
        within: two times and a condition that holds from one to the other.
        disturbances: boxes of further inputs of the plant, by their names, which have another value
            in each period; `constants` have one value, `changing` any one at any time. A
            torch.nn.Module takes them in this order.
        observer: a network from the state to what the controller reads.
        delayed, first_control: the control of a period is held in the next one.
        state_names: that conditions may use.
        timeout: seconds; then the verdict is unknown.
        method, semantics, options: of the controller's bounds, as in Model.verify().
        order, symbols: of tubes; 0 chooses.
        drawing: whether the answer is drawn.
        progress: is called with the number of tubes and the part of the box that is proven.
        jobs, stop: as in Model.verify().

    Returns:
        Reach. The program's `bf-aot reach` gives the same.

    >>> loops = "models/examples/loops/"
    >>> bf_aot.reach(loops + "controller.onnx", loops + "plant.onnx", ([0.2, -0.2], [0.4, 0.2]), period=0.05,
    ...              steps=40, always=["(<= -0.5 x[0] 0.5)"]).verified
    True

    Raises:
        Error: BF36xx what does not fit together; those of load().
    """
    more = texts({"method": method, "semantics": semantics, **options})
    tubes = {"seconds": float(timeout), "jobs": jobs, "order": order, "symbols": symbols, "drawing": drawing}
    if plant is None:
        if box is not None or not isinstance(controller, (str, os.PathLike)):
            raise TypeError("give a controller, a plant and a box, or the path of a question")
        return _result(_native.reach("", Path(os.path.abspath(os.fspath(controller))), {}, more, tubes, progress, stop))
    if box is None or steps is None:
        raise TypeError("a loop needs a box, and the number of its steps")
    further = {**(disturbances or {}), **(constants or {}), **(changing or {})}
    networks = _networks(controller, plant, observer, len(_floats(box[0])), further)
    question: Dict[str, Any] = {
        "kind": kind, "steps": steps, "substeps": substeps, "initial": _box(box),
        "period": None if period is None else _time(period), "delayed": delayed or None,
        "first_control": None if first_control is None else _floats(first_control),
        "state_names": None if state_names is None else list(state_names),
        "disturbances": {name: {**_box(ends), "constant": name in (constants or {}),
                                 "changing": name in (changing or {})}
                         for name, ends in further.items()},
        "requirements": _requirements(always, never, at, within),
        **{role: f"{role} {model.name}" for role, model in networks.items()}}
    text = json.dumps({key: value for key, value in question.items() if value is not None}, allow_nan=False)
    given = {question[role]: model._native for role, model in networks.items()}
    states = len(question["initial"]["lower"])
    return _result(_native.reach(text, None, given, more, tubes, progress, stop), states)


def _result(found: Dict[str, str], states: int = 0) -> Reach:
    """The answer. A loop that is stopped at its start has no piece of a tube to tell the number of states."""
    answer = json.loads(found["json"])
    tube = answer["tube"]
    states = len(tube[0]["state"]) if tube else len(answer["state_names"] or ()) or states
    state = np.array([piece["state"] for piece in tube], dtype=np.float64).reshape(len(tube), states, 2)
    verdict = None if answer["answer"] == "bounded" else Verdict(answer["answer"])
    names = list(answer["state_names"] or (f"x[{i}]" for i in range(states)))
    return Reach(verdict, np.array([[piece["from"], piece["to"]] for piece in tube]).reshape(-1, 2), state[..., 0],
                 state[..., 1], answer["violation"], answer["obstacle"], names, answer, found["svg"], answer["seconds"])
