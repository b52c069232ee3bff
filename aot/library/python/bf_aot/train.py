"""Bounds of torch modules with gradients, to train networks that bf_aot certifies then.

    import bf_aot
    from bf_aot.train import fit

    fit(net, X, y, eps=0.05, clip=(0, 1), epochs=60)
    bf_aot.certify(net, X_test, y_test, "0.05", clip=(0, 1))

These bounds are made by torch in its own arithmetic: they are for losses, and prove nothing. Their gradients go to the
module's parameters and to the ends of boxes. What is trained with them is certified by certify() and verify().
"""

from __future__ import annotations

import operator
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch
from torch import fx, nn
from torch.nn import functional

Tensor = torch.Tensor
Ends = Tuple[Tensor, Tensor]

# Modules and functions by what is known of them. Affine ones are evaluated; monotone ones rise.
_AFFINE = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d, nn.AdaptiveAvgPool2d,
           nn.BatchNorm1d, nn.BatchNorm2d, nn.Flatten, nn.Unflatten, nn.Identity, nn.Dropout)
_MONOTONE = (nn.ReLU, nn.LeakyReLU, nn.Sigmoid, nn.Tanh, nn.MaxPool1d, nn.MaxPool2d, nn.ELU, nn.Softplus, nn.Hardtanh)
_RELU = (functional.relu, torch.relu, "relu")
_SHAPED = (torch.flatten, "flatten", "view", "reshape")
_SUMS = (operator.add, torch.add, "add", operator.sub, torch.sub, "sub")


class _Node:
    """A node of the traced module: its function of its operands."""

    def __init__(self, node: fx.Node, module: nn.Module) -> None:
        self.name = node.name
        self.operands = [each.name for each in node.args if isinstance(each, fx.Node)]
        self.kind, self.apply = self._read(node, module)

    def _read(self, node: fx.Node, module: nn.Module) -> Tuple[str, Callable[..., Tensor]]:
        if node.op == "call_module":
            inner = module.get_submodule(str(node.target))
            if isinstance(inner, nn.ReLU):
                return "relu", functional.relu
            if isinstance(inner, _AFFINE):
                return "affine", _evaluated(inner)
            if isinstance(inner, _MONOTONE):
                return "monotone", inner
            raise TypeError(f"{node.name}: bounds of {type(inner).__name__} have no gradients here")
        rest = list(node.args[len(self.operands):])
        if node.target in _RELU:
            return "relu", functional.relu
        if node.target in _SHAPED:
            function = torch.flatten if node.target in (torch.flatten, "flatten") else torch.Tensor.reshape
            return "affine", lambda x: function(x, *rest, **node.kwargs)
        if node.target in _SUMS and len(self.operands) == 2:
            sign = 1 if node.target in _SUMS[:3] else -1
            return ("add" if sign > 0 else "sub"), lambda x, y: x + sign * y
        raise TypeError(f"{node.name}: bounds of {node.target} have no gradients here")


def _evaluated(inner: nn.Module) -> Callable[[Tensor], Tensor]:
    """An affine module as it is in evaluation: normalisation by its running statistics, and no dropout."""
    if isinstance(inner, nn.Dropout):
        return lambda x: x
    if not isinstance(inner, (nn.BatchNorm1d, nn.BatchNorm2d)):
        return inner
    return lambda x: functional.batch_norm(x, inner.running_mean, inner.running_var, inner.weight, inner.bias, False,
                                           0.0, inner.eps)


class Network:
    """A module whose bounds have gradients: a graph of affine layers, ReLUs, monotone functions and sums.

    Args:
        module: its forward() is traced by torch.fx, and takes one tensor. Parameters are read at each call.

    Raises:
        TypeError: an operator that has no bounds here.
    """

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self._nodes: List[_Node] = []
        self._input = self._output = ""
        for node in fx.symbolic_trace(module).graph.nodes:
            if node.op == "output":
                self._output = node.args[0].name
            elif node.op.startswith("call_"):
                self._nodes.append(_Node(node, module))
            elif node.op == "get_attr" or self._input:
                raise TypeError(f"{node.name}: forward() is to read one tensor")
            else:
                self._input = node.name

    def bounds(self, lower: Tensor, upper: Tensor, C: Optional[Tensor] = None, method: str = "ibp") -> Ends:
        """Bounds of the rows C y of the outputs y, or of y, on each box of the batch.

        Args:
            lower, upper: [batch, ...]. C: [batch, rows, outputs]; None: the outputs themselves.
            method: "ibp", intervals; "crown-ibp", one backward pass over intervals.

        Returns:
            (lower, upper), each [batch, rows].
        """
        ends = self._intervals(lower, upper)
        if C is None:
            low, high = ends[self._output]
            if method == "ibp":
                return low.flatten(1), high.flatten(1)
            count = low[0].numel()
            C = torch.eye(count, dtype=low.dtype, device=low.device).expand(len(low), count, count)
        if method == "ibp":
            return self._rows_by_intervals(C, ends)
        if method == "crown-ibp":
            return self._backward(C, ends), -self._backward(-C, ends)
        raise ValueError(f"method {method!r} is neither ibp nor crown-ibp")

    def _intervals(self, lower: Tensor, upper: Tensor) -> Dict[str, Ends]:
        ends = {self._input: (lower, upper)}
        for node in self._nodes:
            of = [ends[name] for name in node.operands]
            if node.kind == "affine":
                ends[node.name] = _affine_ends(node.apply, *of[0])
            elif node.kind == "add":
                ends[node.name] = (of[0][0] + of[1][0], of[0][1] + of[1][1])
            elif node.kind == "sub":
                ends[node.name] = (of[0][0] - of[1][1], of[0][1] - of[1][0])
            else:
                ends[node.name] = (node.apply(of[0][0]), node.apply(of[0][1]))
        return ends

    def _rows_by_intervals(self, C: Tensor, ends: Dict[str, Ends]) -> Ends:
        """Rows of the last layer, which C is folded into where it is affine."""
        last = self._nodes[-1]
        if last.kind != "affine" or last.name != self._output:
            low, high = (each.flatten(1)[..., None] for each in ends[self._output])
            above, below = C.clamp(min=0), C.clamp(max=0)
            return (above @ low + below @ high)[..., 0], (above @ high + below @ low)[..., 0]
        low, high = ends[last.operands[0]]
        rows, offset = _pulled(last.apply, C, low)
        middle, radius = (low + high) / 2, (high - low) / 2
        centre = (rows * middle[:, None]).flatten(2).sum(2) + offset
        reach = (rows.abs() * radius[:, None]).flatten(2).sum(2)
        return centre - reach, centre + reach

    def _backward(self, C: Tensor, ends: Dict[str, Ends]) -> Tensor:
        """Lower bounds of C y: lines through the layers, from the outputs to the box."""
        rows: Dict[str, Tensor] = {self._output: C.reshape(*C.shape[:2], *ends[self._output][0].shape[1:])}
        total = torch.zeros(C.shape[:2], dtype=C.dtype, device=C.device)

        def give(name: str, what: Tensor) -> None:
            rows[name] = rows[name] + what if name in rows else what

        for node in reversed(self._nodes):
            if node.name not in rows:
                continue
            own = rows.pop(node.name)
            if node.kind in ("add", "sub"):
                give(node.operands[0], own)
                give(node.operands[1], own if node.kind == "add" else -own)
                continue
            low, high = ends[node.operands[0]]
            if node.kind == "affine":
                made, offset = _pulled(node.apply, own, low)
                total = total + offset
            elif node.kind == "relu":
                made, offset = _through_relu(own, low, high)
                total = total + offset
            else:
                raise TypeError(f"{node.name}: crown-ibp has lines of ReLU alone; ibp takes all")
            give(node.operands[0], made)
        own = rows[self._input]
        low, high = (each[:, None] for each in ends[self._input])
        return total + (own.clamp(min=0) * low + own.clamp(max=0) * high).flatten(2).sum(2)


def _affine_ends(apply: Callable[[Tensor], Tensor], low: Tensor, high: Tensor) -> Ends:
    """A x + b on a box, for any affine function whose weights are not at hand: |A| by the weights where they are."""
    middle, radius = (low + high) / 2, (high - low) / 2
    centre = apply(middle)
    weight = getattr(apply, "weight", None)
    if isinstance(apply, nn.Linear):
        reach = functional.linear(radius, weight.abs())
    elif isinstance(apply, (nn.Conv1d, nn.Conv2d, nn.Conv3d)):
        reach = apply._conv_forward(radius, weight.abs(), None)
    elif isinstance(apply, nn.Module):  # means, and what moves elements: no factor is below 0
        reach = apply(radius)
    else:  # a normalisation, whose factors have the sign of its weight, or a shape
        zero = apply(torch.zeros_like(radius))
        reach = (apply(radius) - zero).abs()
    return centre - reach, centre + reach


def _pulled(apply: Callable[[Tensor], Tensor], rows: Tensor, like: Tensor) -> Tuple[Tensor, Tensor]:
    """Rows [batch, rows, ...] of an affine function's results as rows of what it reads, and what they add."""
    batch, count = rows.shape[:2]
    zero = torch.zeros(batch * count, *like.shape[1:], dtype=like.dtype, device=like.device, requires_grad=True)
    with torch.enable_grad():
        value = apply(zero)
        given = rows.reshape(batch * count, *value.shape[1:])
        made, = torch.autograd.grad(value, zero, given, create_graph=True)
    offset = (given * value).flatten(1).sum(1)
    return made.reshape(batch, count, *like.shape[1:]), offset.reshape(batch, count)


def _through_relu(rows: Tensor, low: Tensor, high: Tensor) -> Tuple[Tensor, Tensor]:
    """Lines of ReLU: above from end to end, below through 0 with slope 0 or 1, whichever is nearer."""
    unstable = (low < 0) & (high > 0)
    width = torch.where(unstable, high - low, torch.ones_like(low))
    active = (low >= 0).to(low.dtype)
    above = torch.where(unstable, high / width, active)
    below = torch.where(unstable, (high > -low).to(low.dtype), active)
    offset = torch.where(unstable, -low * above, torch.zeros_like(low))
    up, down = rows.clamp(min=0), rows.clamp(max=0)
    made = up * below[:, None] + down * above[:, None]
    return made, (down * offset[:, None]).flatten(2).sum(2)


def rivals(labels: Tensor, classes: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Rows y_label - y_j for all j, in their order, [batch, classes, classes]; that of the label is 0."""
    eye = torch.eye(classes, dtype=dtype, device=labels.device)
    return eye[labels][:, None] - eye[None]


def margins(network: Network, lower: Tensor, upper: Tensor, labels: Tensor, classes: int, method: str = "ibp"
            ) -> Tensor:
    """Lower bounds of y_label - y_j, [batch, classes]."""
    return network.bounds(lower, upper, rivals(labels, classes, lower.dtype), method)[0]


def certified_loss(network: Network, x: Tensor, labels: Tensor, eps: float, *,
                   clip: Optional[Tuple[float, float]] = None, share: float = 0.5, backward: float = 0.0) -> Tensor:
    """Cross entropy of the samples, and of the worst that bounds leave in their boxes.

    Args:
        share: of the second. backward: the part of its bounds that is crown-ibp's, the rest is ibp's.
    """
    scores = network.module(x)
    natural = functional.cross_entropy(scores, labels)
    if share == 0 or eps == 0:
        return natural
    lower, upper = x - eps, x + eps
    if clip is not None:
        lower, upper = lower.clamp(*clip), upper.clamp(*clip)
    worst: Any = 0
    for method, part in (("ibp", 1 - backward), ("crown-ibp", backward)):
        if part > 0:
            worst = worst + part * margins(network, lower, upper, labels, scores.shape[1], method)
    return (1 - share) * natural + share * functional.cross_entropy(-worst, labels)


def fit(module: nn.Module, X: Any, y: Any, eps: float, *, clip: Optional[Tuple[float, float]] = None,
        epochs: int = 60, batch: int = 128, rate: float = 1e-3, share: float = 0.5, method: str = "ibp",
        seed: int = 0, progress: Optional[Callable[[int, float], None]] = None) -> nn.Module:
    """Trains a classifier to keep its answers in boxes of radius `eps`, in place.

    A tenth of the epochs are for the samples alone. Radius and share of the worst case then grow until 60 % are over.
    The rate falls to a tenth behind 75 % of the epochs, and again behind 90 %. With "crown-ibp" the bounds go from
    those to intervals, as the radius grows.

    Args:
        X: samples, [samples, ...]. y: labels, from 0.
        share: of the worst case in the loss, at the end. seed: of the order of samples.
        progress: called as progress(epoch, loss) after each.
    """
    points = torch.as_tensor(X, dtype=torch.float32)
    labels = torch.as_tensor(y, dtype=torch.long)
    network = Network(module)
    optimiser = torch.optim.Adam(module.parameters(), lr=rate)
    rates = torch.optim.lr_scheduler.MultiStepLR(optimiser, [int(0.75 * epochs), int(0.9 * epochs)], 0.1)
    order = torch.Generator().manual_seed(seed)
    steps = (len(points) + batch - 1) // batch
    module.train()
    for epoch in range(epochs):
        total = 0.0
        for step, some in enumerate(torch.randperm(len(points), generator=order).split(batch)):
            at = (epoch + step / steps) / epochs
            grown = min(max((at - 0.1) / 0.5, 0.0), 1.0)
            loss = certified_loss(network, points[some], labels[some], eps * grown, clip=clip, share=share * grown,
                                  backward=1 - grown if method == "crown-ibp" else 0.0)
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(module.parameters(), 10.0)
            optimiser.step()
            total += float(loss.detach()) * len(some)
        rates.step()
        if progress is not None:
            progress(epoch, total / len(points))
    return module.eval()
