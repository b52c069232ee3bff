"""Verifiers of networks, and the bounds that they return."""

from __future__ import annotations

import sys
import time
from typing import Any, Callable, Dict, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import numpy.typing as npt

from . import _native
from ._arrays import Arrays, Boxes, cuda_device
from ._show import Shown, axes_of

Floats = npt.NDArray[np.float32]
_LONG_SECONDS = 10.0  # what is predicted to take so long is said to


class _Pair(NamedTuple):
    lower: Floats
    upper: Floats


class Bounds(Shown, _Pair):
    """`lower <= y <= upper`; float32, of the boxes' batch shape + (rows,). A tuple of the two.

    Attributes:
        methods: the method of each box's bounds, an array of the batch shape. With a timeout it may
            be one that takes less time than the method that was asked for.
    """

    methods: npt.NDArray[np.str_]

    @property
    def method(self) -> str:
        """The method of all boxes' bounds; of several, joined by ", "."""
        return ", ".join(sorted(set(self.methods.reshape(-1).tolist())))

    def part(self, rows: Any, shape: Tuple[int, ...] = ()) -> "Bounds":
        """Those of some rows; with `shape`, rows in that shape."""
        return _made(self.lower[..., rows].reshape(self.methods.shape + shape) if shape
                     else self.lower[..., rows],
                     self.upper[..., rows].reshape(self.methods.shape + shape) if shape
                     else self.upper[..., rows], self.methods)

    def _columns(self) -> Dict[str, Any]:
        """A line for each box and row: its indices, the ends, the method."""
        batch, rows = self.methods.shape, self.lower.shape[self.methods.ndim:]
        places = np.indices(self.lower.shape).reshape(self.lower.ndim, -1)
        names = [f"box_{i}" if len(batch) > 1 else "box" for i in range(len(batch))]
        names += [f"row_{i}" if len(rows) > 1 else "row" for i in range(len(rows))]
        columns: Dict[str, Any] = dict(zip(names, places))
        columns["lower"], columns["upper"] = self.lower.reshape(-1), self.upper.reshape(-1)
        count = int(np.prod(rows))
        columns["method"] = np.repeat(self.methods.reshape(-1), count)
        return columns

    def plot(self, ax: Any = None) -> Any:
        """Draws a bar from each lower to its upper bound, boxes side by side; returns the axes.

        This needs matplotlib.
        """
        axes = axes_of(ax)
        low = self.lower.reshape(self.methods.size, -1)
        high = self.upper.reshape(self.methods.size, -1)
        boxes = len(low)
        for box in range(boxes):
            at = np.arange(low.shape[1]) + (box + 1) / (boxes + 1) - 0.5
            axes.bar(at, high[box] - low[box], bottom=low[box], width=0.8 / (boxes + 1),
                     label=f"box {box}" if boxes > 1 else None)
        axes.set_xlabel("output")
        axes.set_ylabel(f"bounds by {self.method}")
        if 1 < boxes <= 10:
            axes.legend()
        return axes


def _made(lower: Floats, upper: Floats, methods: npt.NDArray[np.str_]) -> Bounds:
    made = Bounds(lower, upper)
    made.methods = methods
    return made


def joined(parts: Sequence[Tuple[npt.NDArray[np.intp], Bounds]], shape: Tuple[int, ...]) -> Bounds:
    """The bounds of all boxes, from those of some boxes each."""
    count, rows = int(np.prod(shape)), parts[0][1].lower.shape[-1]
    lower, upper = np.empty((count, rows), np.float32), np.empty((count, rows), np.float32)
    methods = np.empty(count, max((each.methods.dtype for _, each in parts), key=lambda t: t.itemsize))
    for members, bounds in parts:
        lower[members], upper[members] = bounds.lower, bounds.upper
        methods[members] = bounds.methods
    return _made(lower.reshape(shape + (rows,)), upper.reshape(shape + (rows,)),
                 methods.reshape(shape))


def bounded(verifier: "Verifier", low: npt.NDArray[Any], high: npt.NDArray[Any],
             shape: Tuple[int, ...], progress: Optional[Callable[[int, int], None]],
             timeout: float) -> Bounds:
    native = verifier._native
    boxes = max(1, low.size // max(1, native.input_count))
    seconds = verifier._predicted * boxes
    if progress is None and 100 * seconds < _LONG_SECONDS:  # it is over before a line would be shown
        lower, upper, methods = native.bounds(verifier._rows, low, high, shape, None, timeout)
        return _made(lower, upper, _names_of(methods, shape))
    line = _Line(verifier._method, seconds, timeout)

    def told(done: int, count: int, share: float, method: int) -> None:
        line.show(share, _native.METHODS[method])
        if progress is not None:
            progress(done, count)

    try:
        lower, upper, methods = native.bounds(verifier._rows, low, high, shape, told, timeout)
    finally:
        line.end()
    return _made(lower, upper, _names_of(methods, shape))


def is_there(device: Any, lower: Any, upper: Any) -> bool:
    """Whether both ends of boxes lie in the memory of the device of CUDA that the option names."""
    name, _, number = str(device or "").partition(":")
    return name == "cuda" and str(cuda_device(lower, upper)) == (number or "0")


# The name of one box's method, as an array that is never written to.
_ONE_NAME = [np.array(name) for name in _native.METHODS]
for _name in _ONE_NAME:
    _name.flags.writeable = False


def _names_of(methods: Sequence[int], shape: Tuple[int, ...]) -> npt.NDArray[np.str_]:
    if not shape:
        return _ONE_NAME[methods[0]]
    return np.array([_native.METHODS[each] for each in methods]).reshape(shape)


class _Line:
    """A line on stderr before a call that takes long, on a terminal also while it runs."""

    def __init__(self, method: str, seconds: float, timeout: float) -> None:
        self._start = self._shown = time.monotonic()
        self._terminal = sys.stderr is not None and sys.stderr.isatty()
        self._written = False
        if seconds >= _LONG_SECONDS and sys.stderr is not None:
            limit = ("" if timeout > 0 else
                     "; timeout=SECONDS limits it, methods crown-ibp and ibp take less")
            sys.stderr.write(f"bf_aot: {method} is predicted to take "
                             f"{_duration(seconds)}{limit}\n")
            sys.stderr.flush()

    def show(self, share: float, method: str) -> None:
        now = time.monotonic()
        if not self._terminal or now - self._start < 1 or now - self._shown < 0.1:
            return
        self._shown, self._written = now, True
        left = (now - self._start) / share * (1 - share) if share > 1e-3 else None
        rest = "" if left is None else f" (about {_duration(left)} left)"
        sys.stderr.write(f"\r\033[K{method} {100 * share:.0f} %{rest}")
        sys.stderr.flush()

    def end(self) -> None:
        if self._written:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


def _duration(seconds: float) -> str:
    """"40 s", "25 min", "6 h 12 min", "12 days"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    if seconds >= 2 * 86400:
        return f"{seconds / 86400:.0f} days"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min"


class Verifier:
    """Bounds of one network by one method, with the memory that it needs. Made by Model.verifier.

    Calls may be made from several threads at once; each takes a workspace of its own.
    """

    def __init__(self, arrays: Arrays, native: "_native.Verifier", rows: bool, method: str,
                 threads: int, device: Optional[str] = None) -> None:
        self._arrays, self._native, self._rows = arrays, native, rows
        self._method, self._device = method, device
        self._predicted = native.predicted_seconds / threads  # of a box

    def bounds(self, lower: Boxes, upper: Boxes, *, timeout: float = 0,
               progress: Optional[Callable[[int, int], None]] = None) -> Bounds:
        """Bounds of the outputs, or of rows C y - d if made with C; otherwise as Model.bounds."""
        if timeout == 0 and is_there(self._device, lower, upper):
            return self._bounds_there(lower, upper, progress)
        low, high, batch = self._arrays.boxes(lower, upper)
        return bounded(self, low, high, batch, progress, timeout)

    def _bounds_there(self, lower: Any, upper: Any, progress: Optional[Callable[[int, int], None]]) -> Bounds:
        """Of arrays in the memory of the device."""
        low, high = self._arrays.shape_there(lower, "lower"), self._arrays.shape_there(upper, "upper")
        if low != high:
            raise ValueError(f"lower and upper have batches {list(low)} and {list(high)}: give both one shape")
        told = None if progress is None else lambda done, count, share, method: progress(done, count)
        made = self._native.bounds_there(self._rows, lower, upper, low, told)
        return _made(made[0], made[1], _names_of(made[2], low))

    def evaluate(self, x: Boxes) -> Floats:
        """Outputs at points, as Model.evaluate; with "float32-exact" within the bounds."""
        points, batch = self._arrays.points(x, "x")
        with np.errstate(over="ignore"):  # the library says which
            points = np.ascontiguousarray(points, dtype=np.float32)
        return self._native.evaluate(points, batch)

    @property
    def rows(self) -> int:
        """That bounds() gives: rows of C, or outputs."""
        return self._native.spec_rows if self._rows else self._native.output_count

    @property
    def workspace_bytes(self) -> int:
        """That each call at a time needs."""
        return self._native.workspace_bytes

    def __repr__(self) -> str:
        return f"<verifier: {self.rows} rows, workspace {self.workspace_bytes} bytes>"
