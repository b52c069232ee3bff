"""Arrays of points and boxes, as users give them and as the library takes them."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

Boxes = Union[npt.ArrayLike, Sequence[npt.ArrayLike], Mapping[str, npt.ArrayLike]]


_CPU, _CUDA = 1, 2  # kinds of devices of DLPack


def _kind(values: Any) -> Tuple[int, int]:
    """The kind of device and the number of the one whose memory holds an array; (0, 0): it does not say."""
    if isinstance(values, np.ndarray) or not hasattr(values, "__dlpack_device__"):
        return 0, 0
    kind, number = values.__dlpack_device__()
    return int(kind), int(number)


def cuda_device(lower: Any, upper: Any) -> Optional[int]:
    """The number of the device of CUDA whose memory holds both; None: there is none."""
    low, high = _kind(lower), _kind(upper)
    return low[1] if low == high and low[0] == _CUDA else None


def as_array(values: Any) -> npt.NDArray[Any]:
    """The values as NumPy has them; those of a torch.Tensor on any device, with a gradient or not.

    Arrays in this processor's memory are not copied, also those of other libraries that have DLPack.
    """
    if hasattr(values, "detach") and hasattr(values, "cpu"):
        tensor = values.detach().cpu()
        if str(tensor.dtype) == "torch.bfloat16":  # which NumPy does not have
            tensor = tensor.float()
        return np.asarray(tensor.numpy())
    if _kind(values)[0] == _CPU and hasattr(np, "from_dlpack"):
        try:
            return np.from_dlpack(values)
        except (BufferError, RuntimeError, TypeError):  # a type that DLPack of NumPy does not have
            pass
    return np.asarray(values)


def exact_doubles(values: npt.ArrayLike, name: str) -> npt.NDArray[np.float64]:
    """The values as float64. An integer that may be no float64 is refused."""
    array = as_array(values)
    if array.dtype == np.float64:
        return array
    if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        raise TypeError(f"{name} has type {array.dtype}: give float64")
    doubles = array.astype(np.float64)
    if array.dtype.itemsize == 8 and np.any(np.abs(doubles) >= 2.0**53):
        raise ValueError(f"{name} has integers of 2**53 or more, which may be no float64")
    return doubles


def _ends(values: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    """The values as float32 if exact, else as float64, which the library rounds outward."""
    array = as_array(values)
    if array.dtype == np.float32 or array.dtype == np.float64:
        return array
    if array.dtype == np.float16:
        return array.astype(np.float32)
    return exact_doubles(array, name)


def _features(shape: Tuple[int, ...]) -> Tuple[int, ...]:
    """A point's shape in a batch: without the batch axis of 1. A scalar is one number."""
    return (tuple(shape[1:]) if shape[:1] == (1,) else tuple(shape)) or (1,)


def exact_number(value: Any, name: str) -> Fraction:
    """The number itself. Text is a decimal or a quotient, as on the command line: "8/255"."""
    if isinstance(value, (np.floating, np.integer)):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float, Fraction, Decimal, str)):
        raise TypeError(f"{name}: {value!r} is no number")
    try:
        if isinstance(value, str) and "/" in value:
            above, below = value.split("/")
            return Fraction(above) / Fraction(below)
        return Fraction(value)
    except (OverflowError, ValueError, ZeroDivisionError):
        raise ValueError(f"{name}: {value!r} is no finite number") from None


def exact_texts(values: Any, name: str) -> List[str]:
    """Texts of the exact numbers: of one, of several, or of None, which has none."""
    if values is None:
        return []
    several = [values] if np.ndim(values) == 0 or isinstance(values, str) else list(values)
    return [str(exact_number(each, name)) for each in several]


def _enclosed(exact: Fraction) -> Tuple[float, float]:
    """The doubles next to it."""
    near = float(exact)
    return (near if near <= exact else math.nextafter(near, -math.inf),
            near if near >= exact else math.nextafter(near, math.inf))


def enclosing(values: Any, name: str) -> Tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Arrays of the doubles next to exact numbers: at most, and at least them."""
    array = as_array(values)
    if array.dtype.kind in "fiub":
        doubles = exact_doubles(array, name)
        return doubles, doubles
    ends = np.array([_enclosed(exact_number(each, name)) for each in array.reshape(-1)])
    ends = ends.reshape(array.shape + (2,))
    return ends[..., 0], ends[..., 1]


def clip_ends(clip: Any) -> Tuple[Tuple[float, float], Tuple[float, float]]:
    """The doubles next to the least and to the greatest value of inputs; None: no ends."""
    if clip is None:
        return (-math.inf, -math.inf), (math.inf, math.inf)
    parts = clip.replace(",", " ").split() if isinstance(clip, str) else list(clip)
    if len(parts) != 2:
        raise ValueError(f"clip has {len(parts)} numbers: it is the least and the greatest value")
    ends = [(each, each) if isinstance(each, float) and math.isinf(each)
            else _enclosed(exact_number(each, "clip")) for each in parts]
    if not ends[0][0] <= ends[1][1]:
        raise ValueError("clip: the least value is above the greatest")
    return ends[0], ends[1]


class Arrays:
    """The input tensors of a network, and arrays of points and boxes as the library takes them.

    A verifier holds this and not its model, which holds the verifier: a model is freed with its
    last name.
    """

    def __init__(self, inputs: List[Tuple[str, Tuple[int, ...]]], count: int) -> None:
        self._inputs, self._count = inputs, count
        self._features = [_features(shape) for _, shape in inputs]

    def boxes(self, lower: Boxes, upper: Boxes
              ) -> Tuple[npt.NDArray[Any], npt.NDArray[Any], Tuple[int, ...]]:
        """Contiguous, of one type and shape, and the shape of the batch."""
        if self._are_ready(lower, upper):
            return self._ready(lower, upper)
        low, low_batch = self.points(lower, "lower")
        high, high_batch = self.points(upper, "upper")
        if low.dtype != high.dtype:
            low, high = low.astype(np.float64), high.astype(np.float64)
        batch = low_batch
        if low_batch != high_batch:
            batch = np.broadcast_shapes(low_batch, high_batch)
            low = np.broadcast_to(low.reshape(low_batch + (self._count,)), batch + (self._count,))
            high = np.broadcast_to(high.reshape(high_batch + (self._count,)), low.shape)
        if not low.flags.c_contiguous:
            low = np.ascontiguousarray(low)
        if not high.flags.c_contiguous:
            high = np.ascontiguousarray(high)
        return low, high, batch

    def _ready(self, lower: Any, upper: Any
               ) -> Tuple[npt.NDArray[Any], npt.NDArray[Any], Tuple[int, ...]]:
        return lower, upper, self.batch_shape(lower.shape, self._features[0], self._count, "lower")

    def _are_ready(self, lower: Any, upper: Any) -> bool:
        """Whether they are what boxes() makes: the shortest way for who calls it often."""
        return (type(lower) is np.ndarray and type(upper) is np.ndarray and len(self._inputs) == 1
                and lower.dtype == np.float32 and upper.dtype == np.float32 and lower.shape == upper.shape
                and lower.flags.c_contiguous and upper.flags.c_contiguous)

    def points(self, values: Any, name: str) -> Tuple[npt.NDArray[Any], Tuple[int, ...]]:
        """One array of [batch, inputs], in this or the tensor's shape, and the batch's shape."""
        if len(self._inputs) == 1:
            if isinstance(values, Mapping):
                values = self._in_order(values, name)[0]
            array = _ends(values, name)
            return array, self.batch_shape(array.shape, self._features[0], self._count, name)
        parts = self._in_order(values, name)
        if parts is None:
            array = _ends(values, name)
            return array, self.batch_shape(array.shape, (self._count,), self._count, name)
        arrays, batches = [], []
        for part, feature, (tensor, _) in zip(parts, self._features, self._inputs):
            array = _ends(part, f"{name}[{tensor!r}]")
            size = int(np.prod(feature))
            batches.append(self.batch_shape(array.shape, feature, size, f"{name}[{tensor!r}]"))
            arrays.append(array.reshape(batches[-1] + (size,)))
        batch = np.broadcast_shapes(*batches)
        wide = [np.broadcast_to(array, batch + array.shape[-1:]) for array in arrays]
        return np.concatenate(wide, axis=-1), batch

    def shape_there(self, values: Any, name: str) -> Tuple[int, ...]:
        """The batch's shape of an array in the memory of a device, which holds all inputs."""
        if "float32" not in str(values.dtype):
            raise TypeError(f"{name} has type {values.dtype}: give float32 to a device")
        feature = self._features[0] if len(self._inputs) == 1 else (self._count,)
        return self.batch_shape(tuple(values.shape), feature, self._count, name)

    def radius(self, values: Any, count: int
               ) -> Tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """The doubles next to the radii, [count, inputs]."""
        ends = []
        for around in enclosing(values, "radius"):
            if not np.all(around >= 0):
                raise ValueError("a radius is negative, or no number")
            if around.ndim == 2 and around.shape == (count, 1):  # one for each sample
                around = np.broadcast_to(around, (count, self._count))
            elif around.ndim and around.shape[-1] != self._count and around.size != 1:
                batch = self.batch_shape(around.shape, self._features[0], self._count, "radius")
                around = around.reshape(batch + (self._count,))
            ends.append(np.broadcast_to(around, (count, self._count)))
        return ends[0], ends[1]

    def _in_order(self, values: Any, name: str) -> Any:
        """The arrays of the input tensors; None where `values` is one array of them all."""
        if isinstance(values, Mapping):
            names = [tensor for tensor, _ in self._inputs]
            if set(values) != set(names):
                raise ValueError(f"{name} has {sorted(values)}: the inputs are {names}")
            return [values[tensor] for tensor in names]
        if isinstance(values, (list, tuple)) and len(values) == len(self._inputs) and any(
                np.ndim(value) for value in values):
            return values
        return None

    def batch_shape(self, shape: Tuple[int, ...], feature: Tuple[int, ...], count: int,
                    name: str) -> Tuple[int, ...]:
        rank = len(feature)
        if shape[len(shape) - rank:] == feature and len(shape) >= rank:
            return shape[:len(shape) - rank]
        if shape and shape[-1] == count:
            return shape[:-1]
        wanted = f"[..., {', '.join(map(str, feature))}]"
        flat = "" if feature == (count,) else f" or [..., {count}]"
        raise ValueError(f"{name} has shape {list(shape)}: the network takes {wanted}{flat}")
