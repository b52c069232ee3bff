"""The common calls of auto_LiRPA, answered by bf_aot: change the import, keep the program.

    from bf_aot.compat.auto_lirpa import BoundedModule, BoundedTensor, PerturbationLpNorm

    module = BoundedModule(net, torch.zeros(1, 1, 28, 28))
    x = BoundedTensor(images, PerturbationLpNorm(norm=np.inf, eps=0.02))
    lower, upper = module.compute_bounds(x=(x,), method="CROWN", C=C)

Bounds are tensors of float32 on the CPU that count all rounding. They have no gradient. What this
does not answer raises NotImplementedError, and names it.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

import numpy as np
import numpy.typing as npt
import torch

from .._certified import box
from .._load import load
from .._model import Model
from .._options import choice, choices_of

_Ends = Tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]
# Names of methods that are not the same but for case.
_METHODS = {"backward": "crown", "crown-optimized": "alpha-crown"}
# Arguments that change how auto_LiRPA computes, not what is asked.
_NO_MATTER = {"reuse_ibp", "reuse_alpha", "average_A", "final_node_name", "bound_side", "cutter"}


class PerturbationLpNorm:
    """All inputs within `eps` of a tensor in a norm; or with norm inf between x_L and x_U.

    Args:
        eps: the radius: a number, or a tensor as eps of bf_aot.box().
        norm: inf, 2 or 1.
        x_L, x_U: ends, of the input's shape; float64 is rounded outward.
    """

    def __init__(self, eps: Any = 0, norm: float = np.inf, x_L: Any = None, x_U: Any = None) -> None:
        self.norm = choice(choices_of("norm"), norm, "norm")
        self.eps, self.x_L, self.x_U = eps, x_L, x_U
        if (x_L is not None or x_U is not None) and self.norm != "linf":
            raise ValueError("x_L and x_U are ends of a box: norm is inf")

    def ends(self, x: Any) -> _Ends:
        """float32 ends of x's shape."""
        if self.x_L is None and self.x_U is None:
            return box(x, self.eps, norm=self.norm)
        low, high = box(x, self.eps)
        if self.x_L is not None:
            low = np.broadcast_to(box(self.x_L, 0)[0], low.shape)
        if self.x_U is not None:
            high = np.broadcast_to(box(self.x_U, 0)[1], high.shape)
        return low, high

    def __repr__(self) -> str:
        return f"PerturbationLpNorm(norm={self.norm}, eps={self.eps})"


class BoundedTensor(torch.Tensor):
    """A tensor, and what may stand in its place."""

    ptb: Optional[PerturbationLpNorm]

    @staticmethod
    def __new__(cls, x: Any, ptb: Optional[PerturbationLpNorm] = None) -> "BoundedTensor":
        made: BoundedTensor = torch.Tensor._make_subclass(cls, torch.as_tensor(x))
        made.ptb = ptb
        return made

    def __init__(self, x: Any, ptb: Optional[PerturbationLpNorm] = None) -> None:
        pass

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with torch._C.DisableTorchFunction():
            return func(*args, **(kwargs or {}))


class BoundedModule:
    """A torch.nn.Module whose outputs are bounded.

    It is exported when bounds are asked for, and again when its parameters have changed since.

    Args:
        model: the module, in evaluation mode when it is exported.
        global_input: an input, or a tuple of inputs, with a batch axis; one sample is taken of it.
        bound_opts: none, or empty: relaxations are those of bf_aot.
        device: "cpu", or None.
    """

    def __init__(self, model: Any, global_input: Any, bound_opts: Optional[Dict[str, Any]] = None,
                 device: Any = None, verbose: bool = False) -> None:
        if bound_opts:
            raise NotImplementedError(f"bound_opts {sorted(bound_opts)}: relaxations are those of bf_aot")
        if device is not None and torch.device(device).type != "cpu":
            raise NotImplementedError(f"device {device}: bounds are made on the CPU")
        inputs = global_input if isinstance(global_input, (tuple, list)) else (global_input,)
        self._module = model
        self._example = tuple(torch.as_tensor(each)[:1].detach().clone() for each in inputs)
        self._exported: Tuple[Any, Optional[Model]] = ((), None)

    def __call__(self, *x: Any) -> Any:
        return self._module(*x)

    forward = __call__

    @property
    def model(self) -> Model:
        """The network as bf_aot has it now."""
        state = [*self._module.parameters(), *self._module.buffers()]
        version = tuple((each.data_ptr(), each._version) for each in state)
        if self._exported[1] is None or self._exported[0] != version:
            self._exported = version, load(self._module, example=self._example)
        made = self._exported[1]
        assert made is not None
        return made

    def compute_bounds(self, x: Any = None, C: Any = None, method: Optional[str] = "backward",
                       IBP: bool = False, forward: bool = False, bound_lower: bool = True,
                       bound_upper: bool = True, **more: Any
                       ) -> Tuple[Optional[torch.Tensor], Optional[torch.Tensor]]:
        """Bounds of the outputs, or of the rows C y, for all inputs that the perturbations allow.

        Args:
            x: a BoundedTensor or tensor for each input, all with the same batch axis.
            C: [batch, rows, outputs], or [1, rows, outputs] for all samples.
            method: "IBP", "CROWN-IBP", "CROWN" or "backward", "alpha-CROWN" or "CROWN-Optimized",
                "forward"; in any case.
            IBP: with "backward" or None: bounds within the network by intervals, which is "CROWN-IBP".
            bound_lower, bound_upper: the other is None.

        Returns:
            Two tensors of [batch, ...outputs] or [batch, rows].

        Raises:
            NotImplementedError: an argument of auto_LiRPA that is not answered here.
            ValueError: a method or shape. bf_aot.Error: those of Model.bounds().
        """
        for name, value in more.items():
            if name not in _NO_MATTER and value not in (None, False, ()):
                raise NotImplementedError(f"compute_bounds({name}=) is not answered by bf_aot")
        if x is None:
            raise ValueError("x is a tuple of inputs")
        inputs = [each if isinstance(each, torch.Tensor) else torch.as_tensor(each)
                  for each in (x if isinstance(x, (tuple, list)) else (x,))]
        model = self.model
        norms, lower, upper = _boxes(inputs)
        names = [name for name, _ in model.inputs]
        if len(names) != len(inputs):
            raise ValueError(f"there are {len(inputs)} tensors for the inputs {names}")
        made = model.bounds(dict(zip(names, lower)), dict(zip(names, upper)),
                            method=_method(method, IBP, forward),  # type: ignore[arg-type]
                            C=None if C is None else torch.as_tensor(C).detach().numpy(), norm=_norm(norms))
        batch = made.lower.shape[:-1]
        shape = batch + (made.lower.shape[-1:] if C is not None else _output_shape(model))
        low, high = (torch.from_numpy(np.ascontiguousarray(end).reshape(shape))
                     for end in (made.lower, made.upper))
        return low if bound_lower else None, high if bound_upper else None


def _boxes(inputs: List[Any]) -> Tuple[List[str], List[Any], List[Any]]:
    """The norms of perturbed inputs, and lower and upper ends of all."""
    norms, lower, upper = [], [], []
    for each in inputs:
        ptb = getattr(each, "ptb", None)
        if ptb is not None:
            norms.append(ptb.norm)
        low, high = ptb.ends(each) if ptb is not None else box(each, 0)
        lower.append(low)
        upper.append(high)
    return norms, lower, upper


def _norm(norms: List[str]) -> Any:
    """A ball is that of one input: of several, theirs would be one ball together."""
    if norms and any(norm != "linf" for norm in norms) and len(norms) > 1:
        raise NotImplementedError("norms 1 and 2 of several inputs")
    return norms[0] if norms else "linf"


def _method(method: Optional[str], ibp: bool, forward: bool) -> str:
    plain = (method or "backward").lower()
    if plain == "backward" and ibp:
        plain = "crown-ibp"
    if forward and plain != "forward":
        raise NotImplementedError("forward=True with a method of backward bounds")
    return choice(choices_of("method"), _METHODS.get(plain, plain), "method")


def _output_shape(model: Model) -> Tuple[int, ...]:
    if len(model.outputs) != 1:
        return (model.output_count,)
    shape = model.outputs[0][1]
    return shape[1:] if shape[:1] == (1,) else shape
