"""Networks."""

from __future__ import annotations

import collections
import os
import threading
from html import escape
from pathlib import Path
from typing import (TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, OrderedDict, Sequence,
                    Tuple, Union)

import numpy as np
import numpy.typing as npt

from . import _native
from ._arrays import Arrays, Boxes, as_array, clip_ends, exact_number, exact_texts
from ._certified import Certified, Disturbed, Explanation, boxes_around
from ._errors import Error
from ._measure import Measured, measured_of
from ._options import Rows, batch_of, choice, choices_of, groups_of_rows, texts
from ._property import Number, Property
from ._report import Report
from ._types import Alpha, Arithmetic, DecisionOptions, Jit, Method, Norm, PlanOptions, Semantics
from ._verdict import (AsksForProof, Progress, StopEvent, VerifyResult, proof_option, result_of, text_or_path,
                       told)
from ._verifier import Bounds, Floats, Verifier, bounded, is_there, joined

if TYPE_CHECKING:
    from typing_extensions import Unpack

_ARITHMETIC = ["float", "integer", "auto"]
# Outputs, inputs, shapes, sets of token ids and fixed integers: see load().
_Cut = Tuple[Sequence[str], Sequence[str], Mapping[str, Sequence[int]],
             Mapping[str, Sequence[Sequence[int]]], Mapping[str, Sequence[int]]]
_MOST_VERIFIERS = 16  # that a model keeps


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
        self._last: Tuple[Any, Optional[Verifier]] = ((), None)  # options without rows, and their verifier
        self._inner: Dict[Tuple[str, ...], "Model"] = {}  # cut at tensors that were asked for
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
        return self._native.box_of_ids([set_of(entry) for entry in sets or ()])

    @property
    def output_count(self) -> int:
        """Elements of all output tensors."""
        return self._native.output_count

    @property
    def parameter_count(self) -> int:
        """Elements of all constants."""
        return self._native.parameter_count

    @property
    def onnx(self) -> bytes:
        """The bytes that were read, or what a torch.nn.Module was exported to; see proof of verify()."""
        return self._source if isinstance(self._source, bytes) else Path(self._source).read_bytes()

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

    def bounds(self, lower: Boxes, upper: Boxes, *, method: Method = "crown",
               C: Optional[npt.ArrayLike] = None, d: Optional[npt.ArrayLike] = None,
               semantics: Semantics = "real", iterations: int = 20, row_tile: int = 0,
               memory_budget: int = 0, batch: Optional[int] = None, threads: int = 1,
               norm: Norm = "linf", timeout: float = 0,
               progress: Optional[Callable[[int, int], None]] = None, **options: "Unpack[PlanOptions]") -> Bounds:
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
            C: rows to bound instead of y, [rows, outputs]; tighter than what follows from y. Or rows
                for each box, of the batch shape in front: a verifier is planned for each C that
                differs.
            d: offsets of the rows, [rows], or for each box; zeros when left out.
            semantics: "real"; "float32": bounds hold for every evaluation in float32;
                "float32-exact": for that of Verifier.evaluate, in its own order of sums;
                "quantised-any": codes of a quantised network may be one more or less.
            iterations: of "alpha-crown", 1 to 1000.
            row_tile: rows of backward bounds made together, 2 to 2**20; 0 chooses.
            memory_budget: bytes of one workspace; 0 for none. The bounds are the same.
            batch: boxes that are bounded together, 1 to 65536; by default 16 for "ibp", "crown-ibp"
                and "forward", else 1, as for one box.
            threads: most that share the boxes of a call, 1 to 256; with the same bits.
            norm: "linf", or inf: bounds hold for the box. "l2", "l1", or 2, 1: for the ball in it, that is with its
                centre c and half widths r for all x of which ((x - c) / r)**2, or |x - c| / r, sum
                up to 1 at most; by "crown-ibp", "crown" and "alpha-crown".
            timeout: seconds after which no box is bounded by `method`; 0 is never. All boxes are
                then bounded by "ibp" first, which is never stopped, and where there is time by
                "crown-ibp"; `methods` of the result says which. Not counted: planning a verifier.
            progress: called as progress(done, boxes) now and then, on this thread; with a timeout
                `done` begins anew with each method. What it raises ends the call.
            options: others by their names (docs/reference/options.md), as alpha="all"; device="opencl"
                or "cuda" bounds there. Arrays in the memory of that device of CUDA, as tensors of
                torch and arrays of CuPy, are taken by DLPack, without copies: float32, contiguous,
                both of one shape; timeout and rows C for each box copy them.

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

        >>> model = bf_aot.load("models/tiny.onnx")
        >>> lower, upper = model.bounds([0, 0], [1, 0], C=[[1, -1]])
        >>> bool(lower[0] <= 0.25 <= upper[0])
        True

        Source: Gowal et al. 2018 (IBP), Zhang et al. 2018, 2020 (CROWN, CROWN-IBP), Xu et al. 2021
        (alpha-CROWN).
        """
        chosen: Dict[str, Any] = dict(options, method=method, semantics=semantics, iterations=iterations,
                      row_tile=row_tile, memory_budget=memory_budget, batch=batch,
                      threads=threads, norm=norm)
        one = np.ndim(0 if C is None else C) <= 2 and np.ndim(0 if d is None else d) <= 1
        if timeout == 0 and one and is_there(options.get("device"), lower, upper):
            chosen["batch"] = batch or 1
            return self.verifier(C=C, d=d, **chosen).bounds(lower, upper, progress=progress)
        low, high, shape = self._arrays.boxes(lower, upper)
        if batch is None:
            chosen["batch"] = 1 if low.size == self._count else batch_of(method)
        groups = groups_of_rows(C, d, shape, self.output_count)
        if groups is None:
            verifier = self.verifier(C=C, d=d, **chosen)
            return bounded(verifier, low, high, shape, progress, timeout)
        low, high = low.reshape(-1, self._count), high.reshape(-1, self._count)
        parts = [(members, bounded(self.verifier(C=rows, d=offsets, **chosen), low[members],
                                   high[members], (len(members),), progress, timeout))
                 for members, rows, offsets in groups]
        return joined(parts, shape)

    def intermediate_bounds(self, lower: Boxes, upper: Boxes,
                            tensors: Union[str, Sequence[str]], **options: Any
                            ) -> Dict[str, Bounds]:
        """Bounds of tensors within the network, by their names in its file.

        Args:
            lower, upper: as in bounds().
            tensors: which ones; the network's outputs may be among them.
            options: those of bounds() but C and d.

        Returns:
            By name, Bounds of the batch shape + the tensor's, without its leading 1.

        Raises:
            Error: BF1017, there is no such tensor; those of bounds().

        >>> model = bf_aot.load("models/collision_avoidance_6x50.onnx")
        >>> x = np.full((3, 5), 0.1)
        >>> inner = model.intermediate_bounds(x, x + 0.01, "relu_3", method="ibp")
        >>> inner["relu_3"].lower.shape
        (3, 50)
        """
        if "C" in options or "d" in options:
            raise TypeError("C and d are about outputs: use bounds()")
        names = names_of(tensors)
        with self._lock:
            cut = self._inner.get(tuple(names))
        if cut is None:
            if self._derived:
                raise TypeError("a network of derivatives has no tensors of the file")
            cut = _again(self.onnx, self._name, self.sha256, (names, *self._cut[1:]), ())
            with self._lock:
                self._inner[tuple(names)] = cut
        found = cut.bounds(lower, upper, **options)
        shapes = dict(cut.outputs)
        made, first = {}, 0
        for name in names:
            shape = shapes[name][1:] if shapes[name][:1] == (1,) else shapes[name]
            count = int(np.prod(shape))
            made[name] = found.part(slice(first, first + count), shape)
            first += count
        return made

    def verifier(self, *, method: Method = "crown", C: Optional[npt.ArrayLike] = None,
                 d: Optional[npt.ArrayLike] = None, semantics: Semantics = "real", iterations: int = 20,
                 row_tile: int = 0, memory_budget: int = 0, batch: int = 1, threads: int = 1,
                 norm: Norm = "linf", **options: "Unpack[PlanOptions]") -> Verifier:
        """The verifier that bounds() uses with these options; it is made when it is not there.

        The model keeps the last 16. Arguments and errors as in bounds().
        """
        rows = Rows(C, d, self.output_count) if C is not None or d is not None else None
        asked = (method, semantics, iterations, row_tile, memory_budget, batch, threads, norm) if not (
            rows or options) else None
        with self._lock:
            if asked is not None and asked == self._last[0] and self._last[1] is not None:
                return self._last[1]
        given = texts({"method": method, "semantics": semantics, "iterations": iterations,
                       "row_tile": row_tile, "memory_budget": memory_budget, "batch": batch,
                       "norm": norm, **options})
        key = (tuple(sorted(given.items())), threads, rows.key if rows else None)
        with self._lock:
            found = self._verifiers.get(key)
            if found is not None:
                self._verifiers.move_to_end(key)
                self._last = (asked, found)
                return found
        native = self._native.verifier(_native.Options(given, threads), rows.rows if rows else None,
                                       rows.offsets if rows else None)
        made = Verifier(self._arrays, native, rows is not None, given["method"], threads, given.get("device"))
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
               method: Optional[Method] = None, semantics: Semantics = "real", timeout: float = 0,
               search_seconds: Optional[float] = None, branch_seconds: Optional[float] = None,
               iterations: int = 20, alpha: Alpha = "outputs", jit: Jit = "off",
               row_tile: int = 0, memory_budget: int = 0, jobs: int = 0,
               checkpoint: Union[None, str, "os.PathLike[str]"] = None,
               proof: AsksForProof = None,
               progress: Optional[Callable[[Progress], None]] = None,
               stop: Optional[StopEvent] = None, **options: "Unpack[DecisionOptions]") -> VerifyResult:
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
            proof: True, or where a certificate of the answer is written, for the program bf-check
                (``python -m bf_aot.check``), compressed where the name ends in ".gz". It is about
                the bytes of `onnx` and of the property's file or text. The result's `proof` has
                it, or says why there is none.
            progress: called with a Progress now and then, on this thread. What it raises ends the
                call.
            stop: a threading.Event, or what has is_set(); ends the call with an unknown verdict.
            options: others by their names (docs/reference/options.md), as cxx="clang++", or norm="l2":
                the question is about the ball in each box.

        Returns:
            VerifyResult.

        >>> model = bf_aot.load("models/tiny.onnx")
        >>> y = bf_aot.outputs(2)
        >>> result = model.verify(bf_aot.Property([0, 0], [1, 0], violated=[y[0] >= 0]))
        >>> str(result.verdict), result.exact_witness
        ('falsified', [Fraction(1, 1), Fraction(0, 1)])

        Raises:
            Error: BF34xx the property, BF3408 it is about another network; BF3022, BF3024 no
                certificate is about this question; those of bounds(). An error is never a verdict.
            KeyboardInterrupt: seen between boxes, and between passes while a verifier is planned.
        """
        text, path = self._property(property)
        given = texts({"method": method, "semantics": semantics, "alpha": alpha, "jit": jit,
                       "iterations": iterations, "row_tile": row_tile,
                       "memory_budget": memory_budget, "timeout": timeout,
                       "search_seconds": search_seconds, "branch_seconds": branch_seconds,
                       "jobs": jobs, "checkpoint": checkpoint, "proof": proof_option(proof), **options},
                      decisions=True)
        found = self._native.verify(text, path, given, told(progress), stop)
        shape = self._inputs[0][1] if len(self._inputs) == 1 else None
        return result_of(found, shape[:-1] if shape and self.token_sets else shape, proof)

    def measure(self, property: Union[str, "os.PathLike[str]", Property], width: Union[str, Number] = "0.01", *,
                method: Optional[Method] = None, semantics: Semantics = "real", timeout: float = 0,
                jobs: int = 0, **options: "Unpack[DecisionOptions]") -> List[Measured]:
        """How much of a property's boxes is proven, and how much is refuted, by volume.

        Args:
            property, method, semantics, jobs, options: as in verify(). At most 16 inputs may vary.
            width: the open share of each case's box at which it ends: a number, or a text.
            timeout: seconds after which what is open stays so; 0 is never.

        Returns:
            A list of Measured, one for each case. Its `inner` and `outer` cells bound the set of
            inputs that violate the property: the preimage of the outputs that its conditions name.

        >>> model = bf_aot.load("models/tiny.onnx")
        >>> y = bf_aot.outputs(2)
        >>> model.measure(bf_aot.Property([0, 0], [1, 1], violated=[y[0] >= -1]), "1/50")
        [<83.203 % proven, 14.893 % refuted, 1.904 % open>]

        Raises:
            Error: BF3020 more inputs vary; those of verify().
        """
        text, path = self._property(property)
        given = texts({"method": method, "semantics": semantics, "timeout": timeout, "jobs": jobs,
                       **options}, decisions=True)
        return measured_of(self._native.measure(text, path, given, str(width)), self._count)

    def certify(self, samples: Boxes, labels: npt.ArrayLike, radius: Any, *,
                clip: Union[None, str, Tuple[Number, Number]] = None, method: Method = "crown",
                semantics: Semantics = "real", decide: bool = False, decide_seconds: float = 5,
                iterations: int = 20, memory_budget: int = 0, batch: Optional[int] = None,
                threads: int = 1, norm: Norm = "linf", complete: bool = False, timeout: float = 0,
                progress: Optional[Callable[[int, int], None]] = None,
                **options: "Unpack[PlanOptions]") -> Certified:
        """Around which samples a classifier keeps the right answer.

        A sample's box is all x with |x - sample| <= radius in each input, and within `clip`. The
        answer is the class of the largest output; a tie answers no class.

        Args:
            samples: as `lower` of bounds(); one batch axis, or none. float64 is rounded to nearest
                where it is evaluated; its box holds the exact one.
            labels: [samples], classes from 0.
            radius: a number; or one for each input, for each sample ([samples, 1]), or for each
                sample and input. Fractions, decimals and text ("8/255", "0.03") are exact.
            clip: the least and greatest value that inputs have: (0, 1), or the text "0,1".
            norm: "linf"; "l2", "l1": of the ball around a sample. `clip` cuts its counterexamples
                alone.
            decide: decide each sample that bounds leave open, by search and splitting.
            decide_seconds: most, of each.
            complete: decide all by stages, from bounds by "ibp" and an attack to splits; `method`
                is not used.
            timeout: seconds after which what is open stays unknown; 0 is never. Samples that are
                likely to be decided come first.
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
        classes = np.atleast_1d(as_array(labels))
        if len(shape) > 1 or classes.shape != (count,):
            raise ValueError(f"there are labels of shape {list(classes.shape)} "
                             f"for samples of shape {list(shape)}")
        if classes.dtype.kind not in "iu" or (count and classes.min() < 0):
            raise TypeError("labels are numbers of classes, from 0")
        ball = choice(choices_of("norm"), norm, "norm")
        ends = self._sample_ends(points, radius, clip, ball)
        with np.errstate(over="ignore"):
            rounded = points.astype(np.float32)
        if batch is None:
            batch = batch_of(method)
        given = texts({"method": method, "semantics": semantics, "iterations": iterations,
                       "memory_budget": memory_budget, "batch": batch, "norm": ball, **options})
        certifier = self._certifier(given, threads, decide, decide_seconds, complete)
        # Signals are seen between groups, and between the samples of a complete run.
        group = threads if decide else 64 * threads
        if complete or timeout > 0:
            group = max(count, 1)
        watching = progress if group == count and (complete or timeout > 0) else None
        status: List[str] = []
        answers: List[int] = []
        rivals: List[int] = []
        margins: List[float] = []
        examples: Dict[int, npt.NDArray[np.float64]] = {}
        stages: List[str] = []
        for first in range(0, count, group):
            some = slice(first, first + group)
            part = certifier.certify(rounded[some], ends[0][some], ends[1][some], ends[2][some],
                                     ends[3][some], ends[4][some], ends[5][some],
                                     classes[some].tolist(), timeout, watching)
            status += part[0]
            answers += part[1]
            rivals += part[2]
            margins += part[3]
            stages += part[5]
            examples.update({first + i: np.array(x) for i, x in part[4].items()})
            if progress is not None:
                progress(min(first + group, count), count)
        return Certified(status, np.array(answers, np.intp), np.array(rivals, np.intp),
                         np.array(margins, np.float32), examples, stages)

    def certify_disturbed(self, pictures: npt.ArrayLike, labels: npt.ArrayLike,
                          disturbances: Union[str, Sequence[str]], *,
                          clip: Union[None, str, Tuple[Number, Number]] = None, scale: Any = None,
                          mean: Any = None, std: Any = None, channels_last: bool = False,
                          method: Method = "crown", seconds: float = 5, threads: int = 1,
                          batch: Optional[int] = None,
                          progress: Optional[Callable[[int, int], None]] = None,
                          **options: "Unpack[PlanOptions]") -> Disturbed:
        """Whether a classifier keeps the right answer for all disturbances of a range.

        The range of the parameters is split until each part is certified. What the disturbances
        are is in docs/guide/disturbances.md.

        Args:
            pictures: [samples, height, width], [samples, channels, height, width] or with
                `channels_last` [samples, height, width, channels], in the order of the model.
            labels: [samples], classes from 0.
            disturbances: "rotation=-5..5"; several apply together: "contrast=0.9..1.1,fog=0..0.1".
            clip: the least and greatest value that disturbed pictures have, as "0,1".
            scale: what numbers are divided by first.
            mean, std: what is subtracted from disturbed numbers, and what they are divided by then:
                a number, or one for each channel or input.
            seconds: most, of one thread, for each picture; what is open then is unknown.
            method, threads, batch, options: as in bounds().
            progress: called as progress(done, pictures) now and then.

        Returns:
            Disturbed.

        Raises:
            Error: BF3013 disturbances; BF3502, BF3503 as certify(); BF3501 an option.

        >>> with np.load("models/examples/robustness/digits_test.npz") as data:
        ...     X, y = data["x"][:20], data["y"][:20]
        >>> model = bf_aot.load("models/examples/robustness/digits_cnn.onnx")
        >>> model.certify_disturbed(X, y, "rotation=-5..5", scale=16, clip=(0, 1))
        <20 samples: 20 certified, 0 unknown, 0 falsified, 0 wrong>
        """
        points = as_array(pictures).astype(np.float64)
        if points.ndim not in (3, 4):
            raise ValueError(f"pictures of shape {list(points.shape)} have no height and width")
        shape = list(points.shape[1:])
        if len(shape) == 2:
            shape.insert(2 if channels_last else 0, 1)
        if channels_last:
            shape = [shape[2], shape[0], shape[1]]
        classes = np.atleast_1d(as_array(labels))
        if classes.shape != (len(points),):
            raise ValueError(f"there are labels of shape {list(classes.shape)} "
                             f"for {len(points)} pictures")
        if classes.dtype.kind not in "iu" or (len(points) and classes.min() < 0):
            raise TypeError("labels are numbers of classes, from 0")
        numbers = {"scale": [] if scale is None else [str(exact_number(scale, "scale"))],
                   "mean": exact_texts(mean, "mean"), "std": exact_texts(std, "std"),
                   "clip": [] if clip is None else exact_texts(
                       clip.replace(",", " ").split() if isinstance(clip, str) else clip, "clip")}
        kinds = disturbances.split(",") if isinstance(disturbances, str) else list(disturbances)
        given = texts({"method": method, "batch": batch_of(method) if batch is None else batch,
                       **options})
        certifier = self._native.disturbance_certifier(_native.Options(given, threads), kinds, shape,
                                                       channels_last, numbers, seconds)
        found = certifier.certify(np.ascontiguousarray(points).reshape(-1), classes.tolist(),
                                  progress)
        return Disturbed(found[0], np.array(found[1], np.intp), np.array(found[2], np.intp),
                         np.array(found[3], np.float32),
                         {i: np.array(x) for i, x in found[7].items()}, [], certifier.parameters,
                         {i: np.array(x) for i, x in found[6].items()}, np.array(found[4]),
                         np.array(found[5], np.intp))

    def explain(self, sample: Boxes, label: int, radius: Any, *,
                clip: Union[None, str, Tuple[Number, Number]] = None, method: Method = "crown",
                semantics: Semantics = "real", decide_seconds: float = 5, threads: int = 1,
                norm: Norm = "linf", **options: "Unpack[PlanOptions]") -> Optional[Explanation]:
        """A small set of inputs that keep the answer of a sample in its box.

        Inputs are freed one after the other, those of the least influence first, as long as the
        answer is proven.

        Args:
            sample: one sample. label, radius, clip, norm, options: as in certify().
            decide_seconds: most, of each question.

        Returns:
            An Explanation; None where the answer at the sample itself is not proven to be the label.

        >>> model = bf_aot.load("models/tiny.onnx")
        >>> model.explain([0.5, 0.25], 1, 2)
        Explanation(fixed=[0, 1], minimal=True, smallest=True)
        """
        points, _ = self._arrays.points(sample, "sample")
        points = np.ascontiguousarray(points).reshape(-1, self._count)
        if len(points) != 1:
            raise ValueError(f"there are {len(points)} samples, and one is explained")
        ball = choice(choices_of("norm"), norm, "norm")
        ends = self._sample_ends(points, radius, clip, ball)
        given = texts({"method": method, "semantics": semantics, "batch": batch_of(method), "norm": ball,
                       **options})
        certifier = self._certifier(given, threads, True, decide_seconds, False)
        with np.errstate(over="ignore"):
            rounded = points.astype(np.float32)
        found = certifier.explain(rounded, ends[0], ends[1], ends[2], ends[3], ends[4], ends[5],
                                  label)
        if not found["exists"]:
            return None
        return Explanation(found["fixed"], found["minimal"], found["smallest"])

    def _sample_ends(self, points: npt.NDArray[Any], radius: Any, clip: Any, ball: str
                     ) -> Tuple[npt.NDArray[Any], ...]:
        """Boxes of samples, doubles within them, and where counterexamples of balls lie, too."""
        radii = self._arrays.radius(radius, len(points))
        cut = boxes_around(points, radii, clip_ends(clip))
        nowhere = np.empty((len(points), 0))
        if ball == "linf":
            return (*cut, nowhere, nowhere)
        whole = boxes_around(points, radii, clip_ends(None))
        _native.hold_balls(whole[0], whole[1], ball)
        return (*whole, nowhere, nowhere) if clip is None else (*whole, *cut[2:])

    def _certifier(self, given: Dict[str, str], threads: int, decide: bool, seconds: float,
                   complete: bool) -> "_native.Certifier":
        key = (tuple(sorted(given.items())), threads, decide, seconds, complete)
        with self._lock:
            if self._certified is not None and self._certified[0] == key:
                return self._certified[1]
        made = self._native.certifier(_native.Options(given, threads), decide, seconds, complete)
        with self._lock:
            self._certified = (key, made)
        return made

    # ---- code

    def compile(self, path: Union[str, "os.PathLike[str]"], *, target: str = "host",
                method: Method = "crown", C: Optional[npt.ArrayLike] = None,
                d: Optional[npt.ArrayLike] = None,
                property: Union[None, str, "os.PathLike[str]", Property] = None,
                semantics: Semantics = "real", iterations: int = 20, row_tile: int = 0,
                memory_budget: int = 0, batch: int = 1, workers: int = 1,
                arithmetic: Arithmetic = "float", name: Optional[str] = None, decide: bool = False,
                single_file: bool = False, dispatch: bool = False, library: bool = False,
                cxx: str = "", cxx_flags: Sequence[str] = (), norm: Norm = "linf",
                items: Optional[int] = None, **options: "Unpack[PlanOptions]") -> List[Path]:
        """Writes a verifier in C++, C99, OpenCL C or CUDA: its source, header and manifest, tables of large networks.

        The code has no heap and no dependency but the headers in include(), unless `single_file`.

        Args:
            path: of the source; ends in ".cpp", in ".c" for C99, ".cl" for OpenCL, ".cu" for CUDA.
            target: "host", "cortex-m4", "x86-64-v3", ... (docs/reference/targets.md).
            items: of the group that bounds a box on a device; 1 for processors; by default 64.
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
        given = texts({"method": method, "semantics": semantics, "iterations": iterations,
                       "row_tile": row_tile, "memory_budget": memory_budget, "batch": batch,
                       "norm": norm, **options})
        plan, rows, more = self._code(given, workers, C, d, target, arithmetic, name, property,
                                      decide, single_file, dispatch, library, cxx, cxx_flags, items)
        return list(self._native.compile_to_files(source, plan, rows.rows, rows.offsets, more))

    def code(self, stem: str = "verifier", *, target: str = "host", method: Method = "crown",
             C: Optional[npt.ArrayLike] = None, d: Optional[npt.ArrayLike] = None,
             property: Union[None, str, "os.PathLike[str]", Property] = None,
             semantics: Semantics = "real", iterations: int = 20, row_tile: int = 0,
             memory_budget: int = 0, batch: int = 1, workers: int = 1, arithmetic: Arithmetic = "float",
             name: Optional[str] = None, decide: bool = False, single_file: bool = False,
             dispatch: bool = False, norm: Norm = "linf", items: Optional[int] = None,
             **options: "Unpack[PlanOptions]") -> Dict[str, bytes]:
        """What compile() writes, as {"STEM.cpp": bytes, "STEM.h": ..., "STEM.json": ...}.

        The language is the target's: "opencl" gives STEM.cl, "cuda" STEM.cu.
        """
        given = texts({"method": method, "semantics": semantics, "iterations": iterations,
                       "row_tile": row_tile, "memory_budget": memory_budget, "batch": batch,
                       "norm": norm, **options})
        plan, rows, more = self._code(given, workers, C, d, target, arithmetic, name, property,
                                      decide, single_file, dispatch, False, "", (), items)
        return self._native.compile(stem, plan, rows.rows, rows.offsets, more)

    def _property(self, property: Union[str, "os.PathLike[str]", Property]
                  ) -> Tuple[str, Optional[Path]]:
        """Its text, or where it stands."""
        if isinstance(property, Property):
            return property.vnnlib(max(property.outputs, self.output_count)), None
        return text_or_path(property)

    def _code(self, given: Dict[str, str], workers: int, C: Optional[npt.ArrayLike],
              d: Optional[npt.ArrayLike], target: str, arithmetic: str, name: Optional[str],
              property: Union[None, str, "os.PathLike[str]", Property], decide: bool,
              single_file: bool, dispatch: bool, library: bool, cxx: str, cxx_flags: Sequence[str],
              items: Optional[int]) -> Tuple["_native.Options", Rows, Dict[str, Any]]:
        text, file = ("", None) if property is None else self._property(property)
        more = {"target": target, "items": items,
                "arithmetic": choice(_ARITHMETIC, arithmetic, "arithmetic"), "name": name or "",
                "property": text, "property_file": file, "decide": decide,
                "single_file": single_file, "dispatch": dispatch, "library": library, "cxx": cxx,
                "cxx_flags": list(cxx_flags)}
        return _native.Options(given, workers), Rows(C, d, self.output_count), more

    def report(self, lower: Optional[Boxes] = None, upper: Optional[Boxes] = None, *,
               method: Method = "crown", C: Optional[npt.ArrayLike] = None,
               d: Optional[npt.ArrayLike] = None, semantics: Semantics = "real", iterations: int = 20,
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
        rows = Rows(C, d, self.output_count)
        given = texts({"method": method, "semantics": semantics, "iterations": iterations,
                       "row_tile": row_tile, "memory_budget": memory_budget, "batch": batch,
                        **options})
        return Report(self._native.report(_native.Options(given, 1), rows.rows, rows.offsets, low, high))

    # ---- pickling

    def __reduce__(self) -> Tuple[Any, ...]:
        return _again, (self.onnx, self._name, self.sha256, self._cut, self._derived)


def _again(data: bytes, name: str, sha256: str, cut: _Cut,
           derived: Tuple[Tuple[int, ...], ...]) -> Model:
    native = _native.Model.from_bytes(data, name, cut)
    if native.sha256 != sha256:
        raise Error("BF1001", name, "the file has changed since the model was read",
                    "load it again")
    for inputs in derived:
        native = native.derivative(list(inputs))
    return Model(native, name, data, cut, derived)


def names_of(tensors: Union[None, str, Sequence[str]]) -> List[str]:
    return [tensors] if isinstance(tensors, str) else list(tensors or ())


def set_of(entry: Union[int, Sequence[int]]) -> List[int]:
    if isinstance(entry, (int, np.integer)):
        return [int(entry)]
    return [int(each) for each in entry]
