"""Reading networks."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import _native
from ._model import Model, names_of, set_of


def exported(module: Any, example: Any, inputs: Optional[Sequence[str]] = None) -> bytes:
    """A torch.nn.Module as ONNX, exported in memory. inputs: their names; None: the exporter's."""
    import inspect
    import io
    import warnings

    torch: Any = sys.modules["torch"]
    if example is None:
        raise TypeError("a torch.nn.Module needs an example input: load(module, example=x)")
    buffer = io.BytesIO()
    arguments = tuple(torch.as_tensor(each) if isinstance(each, np.ndarray) else each
                      for each in (example if isinstance(example, tuple) else (example,)))
    # The exporter of TorchScript, the only one of old versions; the other needs more packages.
    known = inspect.signature(torch.onnx.export).parameters
    older = {"dynamo": False} if "dynamo" in known else {}
    was_training = module.training
    module.eval()
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(module, arguments, buffer, input_names=inputs, **older)
    finally:
        module.train(was_training)
    return buffer.getvalue()


def _token_inputs(tokens: Mapping[str, Sequence[Union[int, Sequence[int]]]]
                  ) -> Tuple[Dict[str, List[List[int]]], Dict[str, List[int]]]:
    """The inputs that vary, and those that are fixed."""
    sets: Dict[str, List[List[int]]] = {}
    fixed: Dict[str, List[int]] = {}
    for tensor, entries in tokens.items():
        made = [set_of(entry) for entry in entries]
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

    >>> bf_aot.load("models/tiny.onnx")
    <tiny.onnx: x [1, 2] -> y [1, 2]>

    Raises:
        Error: BF10xx, all problems of the model together.
        TypeError: the source is none of these.
    """
    cut = (names_of(output_tensor), names_of(input_tensor),
           {tensor: [int(size) for size in sizes] for tensor, sizes in (shape or {}).items()},
           *_token_inputs(tokens or {}))
    if isinstance(source, (str, os.PathLike)):
        path = os.path.abspath(os.fspath(source))
        return Model(_native.Model.load(Path(path), cut), name or os.path.basename(path), path, cut)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(source, torch.nn.Module):
        data = exported(source, example)
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
