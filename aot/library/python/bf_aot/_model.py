"""Networks, and verifiers of them."""

from __future__ import annotations

import collections
import os
import sys
import threading
import time
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import (Any, Callable, Dict, List, Mapping, NamedTuple, Optional, OrderedDict, Protocol,
                    Sequence, Tuple, Union)

import numpy as np
import numpy.typing as npt

from . import _native
from ._arrays import Arrays, Boxes, clip_ends, exact_doubles
from ._certified import Certified, boxes_around
from ._errors import Error
from ._property import Number, Property
from ._verdict import Progress, Proof, Verdict, VerifyResult

Floats = npt.NDArray[np.float32]

# The library's table: the names of an option's values, where it has names.
_CHOICES: Dict[str, List[str]] = {name: choices for name, choices, _ in _native.OPTIONS}
_OF_DECISIONS = {name for name, _, of_decisions in _native.OPTIONS if of_decisions}
_ARITHMETIC = ["float", "integer", "auto"]
# Outputs, inputs, shapes, sets of token ids and fixed integers: see load().
_Cut = Tuple[Sequence[str], Sequence[str], Mapping[str, Sequence[int]],
             Mapping[str, Sequence[Sequence[int]]], Mapping[str, Sequence[int]]]
_MOST_VERIFIERS = 16  # that a model keeps
_LONG_SECONDS = 10.0  # what is predicted to take so long is said to

# Boxes that are bounded together where nothing else is asked for. Backward bounds of each neuron
# leave out what is zero on the box: together, on all boxes of the batch, which is less
# (docs/measurements/python.md).
_BATCH = {"ibp": 16, "crown-ibp": 16, "forward": 16, "crown": 1, "alpha-crown": 1}


class StopEvent(Protocol):
    """An event that ends a call, such as a threading.Event."""

    def is_set(self) -> bool: ...


class _Pair(NamedTuple):
    lower: Floats
    upper: Floats


class Bounds(_Pair):
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


def _bounded(verifier: "Verifier", low: npt.NDArray[Any], high: npt.NDArray[Any],
             shape: Tuple[int, ...], progress: Optional[Callable[[int, int], None]],
             timeout: float) -> Bounds:
    native = verifier._native
    boxes = max(1, low.size // max(1, native.input_count))
    line = _Line(verifier, boxes, timeout)

    def told(done: int, count: int, share: float, method: int) -> None:
        line.show(share, _native.METHODS[method])
        if progress is not None:
            progress(done, count)

    try:
        lower, upper, methods = native.bounds(verifier._rows, low, high, shape, told, timeout)
    finally:
        line.end()
    made = Bounds(lower, upper)
    made.methods = np.array([_native.METHODS[each] for each in methods]).reshape(shape)
    return made


class _Line:
    """A line on stderr before a call that takes long, on a terminal also while it runs."""

    def __init__(self, verifier: "Verifier", boxes: int, timeout: float) -> None:
        self._start = self._shown = time.monotonic()
        seconds = verifier._native.predicted_seconds * boxes / verifier._threads
        self._terminal = sys.stderr is not None and sys.stderr.isatty()
        self._written = False
        if seconds >= _LONG_SECONDS and sys.stderr is not None:
            limit = ("" if timeout > 0 else
                     "; timeout=SECONDS limits it, methods crown-ibp and ibp take less")
            sys.stderr.write(f"bf_aot: {verifier._method} is predicted to take "
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


def _choice(choices: Sequence[str], name: Any, what: str) -> str:
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
    if isinstance(value, (list, tuple)):
        return ",".join(_text(each) for each in value)
    return str(value)


def _texts(options: Mapping[str, Any], decisions: bool = False) -> Dict[str, str]:
    """Options as the library's table reads them; None is left out."""
    texts: Dict[str, str] = {}
    for name, value in options.items():
        if name not in _CHOICES or (name in _OF_DECISIONS and not decisions):
            known = ", ".join(each for each in _CHOICES if decisions or each not in _OF_DECISIONS)
            raise TypeError(f"there is no option {name!r}: there are {known}")
        if value is None:
            continue
        texts[name] = _choice(_CHOICES[name], value, name) if _CHOICES[name] else _text(value)
    return texts


class _Rows:
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


class Verifier:
    """Bounds of one network by one method, with the memory that it needs. Made by Model.verifier.

    Calls may be made from several threads at once; each takes a workspace of its own.
    """

    def __init__(self, arrays: Arrays, native: "_native.Verifier", rows: bool, method: str,
                 threads: int) -> None:
        self._arrays, self._native, self._rows = arrays, native, rows
        self._method, self._threads = method, threads

    def bounds(self, lower: Boxes, upper: Boxes, *, timeout: float = 0,
               progress: Optional[Callable[[int, int], None]] = None) -> Bounds:
        """Bounds of the outputs, or of rows C y - d if made with C; otherwise as Model.bounds."""
        low, high, batch = self._arrays.boxes(lower, upper)
        return _bounded(self, low, high, batch, progress, timeout)

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


class Report:
    """A page in HTML; a notebook shows it."""

    def __init__(self, html: str) -> None:
        self.html = html

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        return (f'<iframe srcdoc="{escape(self.html)}" sandbox style="width:100%;height:640px;'
                'border:1px solid #8888"></iframe>')

    def __repr__(self) -> str:
        return f"<report: {len(self.html)} bytes of HTML>"


class Model:
    """A network as it was read, immutable. Made by load().

    All calls may be made from several threads at once: they release the interpreter's lock. A model
    can be pickled, as for worker processes: the other side reads the same bytes.
    """

    def __init__(self, native: "_native.Model", name: str, source: Union[bytes, str],
                 cut: _Cut = ((), (), {}, {}, {}), derived: Tuple[Tuple[int, ...], ...] = ()) -> None:
        self._native, self._name, self._source = native, name, source
        # Made of the source by load() with this cut, then by derivative() for these inputs.
        self._cut, self._derived = cut, derived
        self._inputs: List[Tuple[str, Tuple[int, ...]]] = native.inputs
        self._outputs: List[Tuple[str, Tuple[int, ...]]] = native.outputs
        self._count: int = native.input_count
        self._arrays = Arrays(self._inputs, self._count)
        self._verifiers: "OrderedDict[Any, Verifier]" = collections.OrderedDict()
        self._certified: Optional[Tuple[Any, "_native.Certifier"]] = None  # the last one
        self._lock = threading.Lock()

    # ---- what it is

    @property
    def name(self) -> str:
        """The file's name, for messages."""
        return self._name

    @property
    def inputs(self) -> List[Tuple[str, Tuple[int, ...]]]:
        """Name and shape of each input tensor."""
        return list(self._inputs)

    @property
    def outputs(self) -> List[Tuple[str, Tuple[int, ...]]]:
        """Name and shape of each output tensor."""
        return list(self._outputs)

    @property
    def input_count(self) -> int:
        """Elements of all input tensors."""
        return self._count

    @property
    def token_sets(self) -> List[List[int]]:
        """By position: the ids that load() was given as tokens; empty without them."""
        return self._native.token_sets

    def ids(self, sets: Optional[Sequence[Union[int, Sequence[int]]]] = None
            ) -> Tuple[Floats, Floats]:
        """The box in which the ids of `sets` may stand at each position, for bounds().

        Args:
            sets: for each position an id or several of those of token_sets; None: all of them.

        Raises:
            Error: BF3021, other numbers of positions, or an id that is not in token_sets.
        """
        return self._native.box_of_ids([_set(entry) for entry in sets or ()])

    @property
    def output_count(self) -> int:
        """Elements of all output tensors."""
        return self._native.output_count

    @property
    def parameter_count(self) -> int:
        """Elements of all constants."""
        return self._native.parameter_count

    @property
    def sha256(self) -> str:
        """The SHA-256 of the bytes that were read, in hexadecimal."""
        return self._native.sha256

    def __repr__(self) -> str:
        def text(tensors: Sequence[Tuple[str, Tuple[int, ...]]]) -> str:
            return ", ".join(f"{name} {list(shape)}" for name, shape in tensors)

        return f"<{self._name}: {text(self._inputs)} -> {text(self._outputs)}>"

    def _repr_html_(self) -> str:
        rows = [("inputs", tensor) for tensor in self._inputs]
        rows += [("outputs", tensor) for tensor in self._outputs]
        cells = "".join(f"<tr><td>{kind}</td><td>{escape(name)}</td><td>{list(shape)}</td></tr>"
                        for kind, (name, shape) in rows)
        caption = (f"{escape(self._name)}: {self.parameter_count} parameters, "
                   f"SHA-256 {self.sha256[:12]}…")
        return (f"<table><caption>{caption}</caption>"
                f"<tr><th></th><th>name</th><th>shape</th></tr>{cells}</table>")

    # ---- its derivatives

    def derivative(self, inputs: Union[int, Sequence[int]]) -> "Model":
        """The network of partial derivatives, on the same inputs.

        It has for each of `inputs` one output for each output y of this network: all dy/dx_i. Let
        their bounds on a box be [l, u]. Then l t <= y(x + t e_i) - y(x) <= u t for all points x
        and x + t e_i of the box, t >= 0, kinks of ReLU and the like included; l >= 0 proves that y
        does not fall with x_i.

        Args:
            inputs: numbers of elements of the flat input, up to 64.

        Raises:
            Error: BF2120 operators that jump, such as Floor; BF2121 inputs that there are not. Its
                bounds are of real arithmetic alone (BF3501).
        """
        chosen: Tuple[Any, ...] = tuple(np.atleast_1d(inputs).tolist())
        numbers = tuple(int(each) for each in chosen)
        if any(number != each or number < 0 for number, each in zip(numbers, chosen)):
            raise ValueError("inputs are numbers of elements, counted from 0")
        return Model(self._native.derivative(list(numbers)), self._name, self._source,
                     self._cut, (*self._derived, numbers))

    # ---- bounds

    def bounds(self, lower: Boxes, upper: Boxes, *, method: str = "crown",
               C: Optional[npt.ArrayLike] = None, d: Optional[npt.ArrayLike] = None,
               semantics: str = "real", iterations: int = 20, row_tile: int = 0,
               memory_budget: int = 0, batch: Optional[int] = None, threads: int = 1,
               norm: str = "linf", timeout: float = 0,
               progress: Optional[Callable[[int, int], None]] = None, **options: Any) -> Bounds:
        """Bounds of the outputs y, or of the rows C y - d, on boxes { x : lower <= x <= upper }.

        For every real x in a box, lower <= y <= upper in each output of the network in real
        arithmetic; all rounding is outward, of weights as well. No box's bounds depend on the
        others.

        The verifier that this plans is kept in the model for the next call with the same options;
        planning takes milliseconds for small networks, seconds for large ones.

        Args:
            lower, upper: arrays of any batch shape and then the input's shape, without its leading
                1, or its number of elements: [..., inputs]. They broadcast against each other. Of
                several inputs: a sequence or a mapping of such arrays, of one batch shape. float32
                is taken as it is, without a copy when it is contiguous; float64 and integers are
                rounded outward to float32.
            method: "ibp", "crown-ibp", "crown", "alpha-crown", from fast to tight; or "forward"
                (docs/guide/methods.md).
            C: rows to bound instead of y, [rows, outputs]; tighter than what follows from y.
            d: offsets of the rows, [rows]; zeros when left out.
            semantics: "real"; "float32": bounds hold for every evaluation in float32;
                "float32-exact": for that of Verifier.evaluate, in its own order of sums;
                "quantised-any": codes of a quantised network may be one more or less.
            iterations: of "alpha-crown", 1 to 1000.
            row_tile: rows of backward bounds made together, 2 to 2**20; 0 chooses.
            memory_budget: bytes of one workspace; 0 for none. The bounds are the same.
            batch: boxes that are bounded together, 1 to 65536; by default 16 for "ibp", "crown-ibp"
                and "forward", else 1, as for one box.
            threads: most that share the boxes of a call, 1 to 256; with the same bits.
            norm: "linf": bounds hold for the box. "l2", "l1": for the ball in it, that is with its
                centre c and half widths r for all x of which ((x - c) / r)**2, or |x - c| / r, sum
                up to 1 at most; by "crown-ibp", "crown" and "alpha-crown".
            timeout: seconds after which no box is bounded by `method`; 0 is never. All boxes are
                then bounded by "ibp" first, which is never stopped, and where there is time by
                "crown-ibp"; `methods` of the result says which. Not counted: planning a verifier.
            progress: called as progress(done, boxes) now and then, on this thread; with a timeout
                `done` begins anew with each method. What it raises ends the call.
            options: others by their names (docs/reference/options.md), as alpha="all".

        What is predicted to take over 10 seconds is said to on stderr, and how far it is when that
        is a terminal.

        Returns:
            Bounds(lower, upper), two float32 arrays of shape batch + (rows,); its `methods` says
            what made each box's bounds.

        Raises:
            Error: BF3501 an option; BF3503 a box, named by its index; BF2007, BF2009 C and d;
                BF20xx, BF21xx the network cannot be bounded so; BF3504 memory; BF3306 the
                processor's floating-point mode.
            ValueError, TypeError: shapes and types of arrays.
            KeyboardInterrupt: seen between tiles of rows.

        Source: Gowal et al. 2018 (IBP), Zhang et al. 2018, 2020 (CROWN, CROWN-IBP), Xu et al. 2021
        (alpha-CROWN).
        """
        low, high, shape = self._arrays.boxes(lower, upper)
        if batch is None:
            batch = 1 if low.size == self._count else _batch_of(method)
        verifier = self.verifier(method=method, C=C, d=d, semantics=semantics,
                                 iterations=iterations, row_tile=row_tile,
                                 memory_budget=memory_budget, batch=batch, threads=threads,
                                 norm=norm, **options)
        return _bounded(verifier, low, high, shape, progress, timeout)

    def verifier(self, *, method: str = "crown", C: Optional[npt.ArrayLike] = None,
                 d: Optional[npt.ArrayLike] = None, semantics: str = "real", iterations: int = 20,
                 row_tile: int = 0, memory_budget: int = 0, batch: int = 1, threads: int = 1,
                 norm: str = "linf", **options: Any) -> Verifier:
        """The verifier that bounds() uses with these options; it is made when it is not there.

        The model keeps the last 16. Arguments and errors as in bounds().
        """
        rows = _Rows(C, d, self.output_count) if C is not None or d is not None else None
        texts = _texts({"method": method, "semantics": semantics, "iterations": iterations,
                        "row_tile": row_tile, "memory_budget": memory_budget, "batch": batch,
                        "norm": norm, **options})
        key = (tuple(sorted(texts.items())), threads, rows.key if rows else None)
        with self._lock:
            found = self._verifiers.get(key)
            if found is not None:
                self._verifiers.move_to_end(key)
                return found
        native = self._native.verifier(_native.Options(texts, threads), rows.rows if rows else None,
                                       rows.offsets if rows else None)
        made = Verifier(self._arrays, native, rows is not None, texts["method"], threads)
        with self._lock:
            kept = self._verifiers.setdefault(key, made)  # another thread may have been faster
            if len(self._verifiers) > _MOST_VERIFIERS:
                self._verifiers.popitem(last=False)
        return kept

    def evaluate(self, x: Boxes) -> Floats:
        """The network at points x, in plain float32: rounded, without guarantee.

        Args:
            x: as `lower` of bounds(); float64 is rounded to nearest.

        Returns:
            float32 of shape batch + (outputs,).

        Raises:
            Error: BF3503 a point that is not finite; BF3306.
        """
        return self.verifier(method="crown-ibp" if self.token_sets else "ibp").evaluate(x)

    # ---- verdicts

    def verify(self, property: Union[str, "os.PathLike[str]", Property], *,
               method: Optional[str] = None, semantics: str = "real", timeout: float = 0,
               search_seconds: Optional[float] = None, branch_seconds: Optional[float] = None,
               iterations: int = 20, alpha: str = "outputs", jit: str = "off",
               row_tile: int = 0, memory_budget: int = 0, jobs: int = 0,
               checkpoint: Union[None, str, "os.PathLike[str]"] = None,
               proof: Union[None, str, "os.PathLike[str]"] = None, proof_seconds: float = 0,
               progress: Optional[Callable[[Progress], None]] = None,
               stop: Optional[StopEvent] = None, **options: Any) -> VerifyResult:
        """Decides a property: what must not happen.

        Args:
            property: a Property, the path of a VNN-LIB file, or its text, which starts with a
                parenthesis or a comment.
            method: as in bounds(); None is "crown", after "ibp" for many cases or large networks.
            semantics: as in bounds(); a VNN-LIB 2.0 query about float32 is decided so in any case.
            timeout: seconds after which the verdict is unknown, as by `stop`; 0 is never.
            search_seconds: most, to search for a counterexample; None is 5, or with a timeout as long as
                that allows.
            branch_seconds: most, to split boxes of at most 16 inputs that vary, else neurons; 0 splits
                nothing, None is 20, or with a timeout as long as that allows.
            alpha: of method "alpha-crown", whose slopes are improved: "outputs", or "all" rows.
            jit: "off", "auto" or "wait": code that a C++ compiler of this machine makes for calls that
                take the time. The last bits of bounds may differ.
            jobs: threads that bound and split; 0 is as many as there are cores.
            checkpoint: a file that keeps the tree of the search, written every minute and at the end;
                where it is there, the search goes on from it. That of the program's --checkpoint.
            proof: where a certificate of the answer is written, for the program bf-check. It is about
                the bytes of the model's and of the property's file, or of the property's text. The
                result's `proof` says whether it was.
            proof_seconds: most, to make the certificate after deciding; 0 is no limit.
            progress: called with a Progress now and then, on this thread. What it raises ends the
                call.
            stop: a threading.Event, or what has is_set(); ends the call with an unknown verdict.
            options: others by their names (docs/reference/options.md), as cxx="clang++".

        Returns:
            VerifyResult.

        Raises:
            Error: BF34xx the property, BF3408 it is about another network; BF3022, BF3024 no
                certificate is about this question; those of bounds(). An error is never a verdict.
            KeyboardInterrupt: seen between boxes, not while a verifier is planned.
        """
        text, path = self._property(property)
        watched = None if progress is None else lambda *at: progress(Progress(*at))
        texts = _texts({"method": method, "semantics": semantics, "alpha": alpha, "jit": jit,
                        "iterations": iterations, "row_tile": row_tile,
                        "memory_budget": memory_budget, **options}, decisions=True)
        found = self._native.verify(text, path, texts, search_seconds, branch_seconds, timeout,
                                    jobs, None if checkpoint is None else Path(checkpoint),
                                    None if proof is None else Path(proof), proof_seconds, watched, stop)
        example = found.pop("counterexample")
        if found["proof"] is not None:
            found["proof"] = Proof(**found["proof"])
        found["verdict"] = Verdict(found["verdict"])
        if example is None:
            return VerifyResult(**found)
        witness = np.array(example.pop("input"))
        if len(self._inputs) == 1:
            shape = self._inputs[0][1]
            witness = witness.reshape(shape[:-1] if self.token_sets else shape)
        exact = [Fraction(text) for text in example.pop("exact_input")]
        return VerifyResult(**found, witness=witness, exact_witness=exact,
                            output=np.array(example.pop("output")), **example)

    def certify(self, samples: Boxes, labels: npt.ArrayLike, radius: Any, *,
                clip: Union[None, str, Tuple[Number, Number]] = None, method: str = "crown",
                semantics: str = "real", decide: bool = False, decide_seconds: float = 5,
                iterations: int = 20, memory_budget: int = 0, batch: Optional[int] = None,
                threads: int = 1, progress: Optional[Callable[[int, int], None]] = None,
                **options: Any) -> Certified:
        """Around which samples a classifier keeps the right answer.

        A sample's box is all x with |x - sample| <= radius in each input, and within `clip`. The
        answer is the class of the largest output; a tie answers no class.

        Args:
            samples: as `lower` of bounds(); one batch axis, or none. float64 is rounded to nearest
                where it is evaluated; its box holds the exact one.
            labels: [samples], classes from 0.
            radius: a number, or one for each input, or for each sample and input. Fractions,
                decimals and text ("8/255", "0.03") are exact.
            clip: the least and greatest value that inputs have: (0, 1), or the text "0,1".
            decide: decide each sample that bounds leave open, by search and splitting.
            decide_seconds: most, of each.
            method, semantics, iterations, memory_budget, batch, threads, options: as in bounds().
            progress: called as progress(done, samples) now and then.

        Returns:
            Certified.

        Raises:
            Error: BF3502 sizes; BF3503 a sample that is not finite or outside `clip`, or a label
                that is no class; those of bounds() and verify().
            KeyboardInterrupt: seen after each group of samples.
        """
        points, shape = self._arrays.points(samples, "samples")
        points = np.ascontiguousarray(points).reshape(-1, self._count)
        count = len(points)
        classes = np.atleast_1d(np.asarray(labels))
        if len(shape) > 1 or classes.shape != (count,):
            raise ValueError(f"there are labels of shape {list(classes.shape)} "
                             f"for samples of shape {list(shape)}")
        if classes.dtype.kind not in "iu" or (count and classes.min() < 0):
            raise TypeError("labels are numbers of classes, from 0")
        ends = boxes_around(points, self._arrays.radius(radius, count), clip_ends(clip))
        with np.errstate(over="ignore"):
            rounded = points.astype(np.float32)
        if batch is None:
            batch = _batch_of(method)
        texts = _texts({"method": method, "semantics": semantics, "iterations": iterations,
                        "memory_budget": memory_budget, "batch": batch, **options})
        certifier = self._certifier(texts, threads, decide, decide_seconds)
        group = threads if decide else 64 * threads  # between which signals are seen
        status: List[str] = []
        answers: List[int] = []
        rivals: List[int] = []
        margins: List[float] = []
        examples: Dict[int, npt.NDArray[np.float64]] = {}
        for first in range(0, count, group):
            some = slice(first, first + group)
            part = certifier.certify(rounded[some], ends[0][some], ends[1][some], ends[2][some],
                                     ends[3][some], classes[some].tolist())
            status += part[0]
            answers += part[1]
            rivals += part[2]
            margins += part[3]
            examples.update({first + i: np.array(x) for i, x in part[4].items()})
            if progress is not None:
                progress(min(first + group, count), count)
        return Certified(status, np.array(answers, np.intp), np.array(rivals, np.intp),
                         np.array(margins, np.float32), examples)

    def _certifier(self, texts: Dict[str, str], threads: int, decide: bool, seconds: float
                   ) -> "_native.Certifier":
        key = (tuple(sorted(texts.items())), threads, decide, seconds)
        with self._lock:
            if self._certified is not None and self._certified[0] == key:
                return self._certified[1]
        made = self._native.certifier(_native.Options(texts, threads), decide, seconds)
        with self._lock:
            self._certified = (key, made)
        return made

    # ---- code

    def compile(self, path: Union[str, "os.PathLike[str]"], *, target: str = "host",
                method: str = "crown", C: Optional[npt.ArrayLike] = None,
                d: Optional[npt.ArrayLike] = None,
                property: Union[None, str, "os.PathLike[str]", Property] = None,
                semantics: str = "real", iterations: int = 20, row_tile: int = 0,
                memory_budget: int = 0, batch: int = 1, workers: int = 1,
                arithmetic: str = "float", name: Optional[str] = None, decide: bool = False,
                single_file: bool = False, dispatch: bool = False, library: bool = False,
                cxx: str = "", cxx_flags: Sequence[str] = (), norm: str = "linf",
                **options: Any) -> List[Path]:
        """Writes a verifier in C++: PATH.cpp, its header, its manifest, tables of large networks.

        The code has no heap and no dependency but the headers in include(), unless `single_file`.

        Args:
            path: of the source; ends in ".cpp".
            target: "host", "cortex-m4", "x86-64-v3", ... (docs/reference/targets.md).
            method, C, d, semantics, iterations, row_tile, memory_budget, batch, norm, options: as
                in bounds().
            property: as in verify(); instead of C. The code gets NAME_verify().
            workers: that may share the work of a call.
            arithmetic: "float"; "integer" for quantised networks on their grids; "auto".
            name: prefix of the symbols; by default from the model's name.
            decide: with a property, NAME_decide() as well, which splits boxes.
            single_file: the source and its header hold what they need of the runtime.
            dispatch: code for each x86-64 level up to the target; calls go to the highest that the
                processor offers. Not with single_file.
            library: also libNAME.a, by a C++ compiler.
            cxx, cxx_flags: that compiler and further flags; by default $CXX or the first found.

        Returns:
            The paths of all files; either all are written, or none.

        Raises:
            Error: BF31xx files and names; BF32xx the compiler; those of bounds() and verify().
        """
        source = Path(path)
        texts = _texts({"method": method, "semantics": semantics, "iterations": iterations,
                        "row_tile": row_tile, "memory_budget": memory_budget, "batch": batch,
                        "norm": norm, **options})
        plan, rows, more = self._code(texts, workers, C, d, target, arithmetic, name, property,
                                      decide, single_file, dispatch, library, cxx, cxx_flags)
        return list(self._native.compile_to_files(source, plan, rows.rows, rows.offsets, more))

    def code(self, stem: str = "verifier", *, target: str = "host", method: str = "crown",
             C: Optional[npt.ArrayLike] = None, d: Optional[npt.ArrayLike] = None,
             property: Union[None, str, "os.PathLike[str]", Property] = None,
             semantics: str = "real", iterations: int = 20, row_tile: int = 0,
             memory_budget: int = 0, batch: int = 1, workers: int = 1, arithmetic: str = "float",
             name: Optional[str] = None, decide: bool = False, single_file: bool = False,
             dispatch: bool = False, norm: str = "linf", **options: Any) -> Dict[str, bytes]:
        """What compile() writes, as {"STEM.cpp": bytes, "STEM.h": ..., "STEM.json": ...}."""
        texts = _texts({"method": method, "semantics": semantics, "iterations": iterations,
                        "row_tile": row_tile, "memory_budget": memory_budget, "batch": batch,
                        "norm": norm, **options})
        plan, rows, more = self._code(texts, workers, C, d, target, arithmetic, name, property,
                                      decide, single_file, dispatch, False, "", ())
        return self._native.compile(stem, plan, rows.rows, rows.offsets, more)

    def _property(self, property: Union[str, "os.PathLike[str]", Property]
                  ) -> Tuple[str, Optional[Path]]:
        """Its text, or where it stands."""
        if isinstance(property, Property):
            return property.vnnlib(max(property.outputs, self.output_count)), None
        if isinstance(property, os.PathLike) or property.lstrip()[:1] not in ("(", ";"):
            return "", Path(property)
        return property, None

    def _code(self, texts: Dict[str, str], workers: int, C: Optional[npt.ArrayLike],
              d: Optional[npt.ArrayLike], target: str, arithmetic: str, name: Optional[str],
              property: Union[None, str, "os.PathLike[str]", Property], decide: bool,
              single_file: bool, dispatch: bool, library: bool, cxx: str, cxx_flags: Sequence[str]
              ) -> Tuple["_native.Options", _Rows, Dict[str, Any]]:
        text, file = ("", None) if property is None else self._property(property)
        more = {"target": target, "arithmetic": _choice(_ARITHMETIC, arithmetic, "arithmetic"),
                "name": name or "", "property": text, "property_file": file, "decide": decide,
                "single_file": single_file, "dispatch": dispatch, "library": library, "cxx": cxx,
                "cxx_flags": list(cxx_flags)}
        return _native.Options(texts, workers), _Rows(C, d, self.output_count), more

    def report(self, lower: Optional[Boxes] = None, upper: Optional[Boxes] = None, *,
               method: str = "crown", C: Optional[npt.ArrayLike] = None,
               d: Optional[npt.ArrayLike] = None, semantics: str = "real", iterations: int = 20,
               row_tile: int = 0, memory_budget: int = 0, batch: int = 1,
               **options: Any) -> Report:
        """A page about the plan: network, tasks, memory over time, kernels.

        Args:
            lower, upper: sample boxes, as in bounds(); with them it shows the bounds of each layer
                on the first few.
            method and what follows: as in bounds().
        """
        low = high = None
        if lower is not None and upper is not None:
            low, high, _ = self._arrays.boxes(lower, upper)
            low, high = low.astype(np.float64), high.astype(np.float64)
        rows = _Rows(C, d, self.output_count)
        texts = _texts({"method": method, "semantics": semantics, "iterations": iterations,
                        "row_tile": row_tile, "memory_budget": memory_budget, "batch": batch,
                        **options})
        return Report(self._native.report(_native.Options(texts, 1), rows.rows, rows.offsets, low, high))

    # ---- pickling

    def __reduce__(self) -> Tuple[Any, ...]:
        data = self._source
        if isinstance(data, str):
            data = Path(data).read_bytes()
        return _again, (data, self._name, self.sha256, self._cut, self._derived)


def _batch_of(method: str) -> int:
    return _BATCH[_choice(_CHOICES["method"], method, "method")]


def _again(data: bytes, name: str, sha256: str, cut: _Cut,
           derived: Tuple[Tuple[int, ...], ...]) -> Model:
    native = _native.Model.from_bytes(data, name, cut)
    if native.sha256 != sha256:
        raise Error("BF1001", name, "the file has changed since the model was read",
                    "load it again")
    for inputs in derived:
        native = native.derivative(list(inputs))
    return Model(native, name, data, cut, derived)


def _exported(module: Any, example: Any) -> bytes:
    """A torch.nn.Module as ONNX, exported in memory."""
    import inspect
    import io
    import warnings

    torch: Any = sys.modules["torch"]
    if example is None:
        raise TypeError("a torch.nn.Module needs an example input: load(module, example=x)")
    buffer = io.BytesIO()
    arguments = example if isinstance(example, tuple) else (example,)
    # The exporter of TorchScript, the only one of old versions; the other needs more packages.
    known = inspect.signature(torch.onnx.export).parameters
    older = {"dynamo": False} if "dynamo" in known else {}
    was_training = module.training
    module.eval()
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(module, arguments, buffer, **older)
    finally:
        module.train(was_training)
    return buffer.getvalue()


def _names(tensors: Union[None, str, Sequence[str]]) -> List[str]:
    return [tensors] if isinstance(tensors, str) else list(tensors or ())


def _set(entry: Union[int, Sequence[int]]) -> List[int]:
    if isinstance(entry, (int, np.integer)):
        return [int(entry)]
    return [int(each) for each in entry]


def _token_inputs(tokens: Mapping[str, Sequence[Union[int, Sequence[int]]]]
                  ) -> Tuple[Dict[str, List[List[int]]], Dict[str, List[int]]]:
    """The inputs that vary, and those that are fixed."""
    sets: Dict[str, List[List[int]]] = {}
    fixed: Dict[str, List[int]] = {}
    for tensor, entries in tokens.items():
        made = [_set(entry) for entry in entries]
        if all(isinstance(entry, (int, np.integer)) for entry in entries):
            fixed[tensor] = [each[0] for each in made]
        else:
            sets[tensor] = made
    return sets, fixed


def load(source: Any, *, name: Optional[str] = None, example: Any = None,
         output_tensor: Union[None, str, Sequence[str]] = None,
         input_tensor: Union[None, str, Sequence[str]] = None,
         shape: Optional[Mapping[str, Sequence[int]]] = None,
         tokens: Optional[Mapping[str, Sequence[Union[int, Sequence[int]]]]] = None) -> Model:
    """Reads a network.

    Args:
        source: the path of an ONNX file, plain or compressed by gzip; its bytes; an
            onnx.ModelProto; or a torch.nn.Module, which is exported in memory.
        name: in messages and of symbols; by default the file's name.
        example: of a torch.nn.Module: an input, with a leading axis of 1, or a tuple of inputs.
        output_tensor: tensors of the network that are to be its outputs instead of its own, in this
            order; what none of them depends on is not read.
        input_tensor: tensors of the network that are to be its inputs, in this order, whatever
            makes them; inputs of the network that something still depends on follow them.
        shape: shapes of inputs, by name, which the file may leave open.
        tokens: inputs of token ids, by name: for each position, in row-major order, an id or the
            ids that may stand there. An input of plain integers alone is a constant, as a mask is;
            any other becomes a one-hot input, see Model.ids().

    Raises:
        Error: BF10xx, all problems of the model together.
        TypeError: the source is none of these.
    """
    cut = (_names(output_tensor), _names(input_tensor),
           {tensor: [int(size) for size in sizes] for tensor, sizes in (shape or {}).items()},
           *_token_inputs(tokens or {}))
    if isinstance(source, (str, os.PathLike)):
        path = os.path.abspath(os.fspath(source))
        return Model(_native.Model.load(Path(path), cut), name or os.path.basename(path), path, cut)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(source, torch.nn.Module):
        data = _exported(source, example)
        name = name or f"{type(source).__name__}.onnx"
    elif hasattr(source, "SerializeToString"):
        data = source.SerializeToString()
    elif isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
    else:
        raise TypeError(f"a model is a path, bytes, an onnx.ModelProto or a torch.nn.Module, "
                        f"not {type(source).__name__}")
    name = name or "model.onnx"
    return Model(_native.Model.from_bytes(data, name, cut), name, data, cut)


def include() -> Path:
    """The folder of the headers that compiled verifiers include: for -I."""
    return Path(__file__).parent / "include"
