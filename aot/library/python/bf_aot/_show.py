"""Results as tables: in a notebook, and as pandas has them. And the axes of pictures."""

from __future__ import annotations

import dataclasses
import enum
import importlib
import math
from collections.abc import Mapping
from html import escape
from typing import Any, Dict, List

import numpy as np

_MOST_LINES = 20  # that a notebook shows


class Plain:
    """A result whose fields can be told as JSON."""

    __slots__ = ()

    def to_dict(self) -> Dict[str, Any]:
        """The fields as JSON has them: lists for arrays, text for exact fractions and for numbers that are infinite."""
        names = ([each.name for each in dataclasses.fields(self) if not each.name.startswith("_")]
                 if dataclasses.is_dataclass(self) else [*getattr(self, "_fields", ()), "methods"])
        return {name: _plain(getattr(self, name)) for name in names}


def _plain(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, Plain):
        return value.to_dict()
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return str(value)


class Shown(Plain):
    """A result that is a table of columns."""

    __slots__ = ()

    def _columns(self) -> Dict[str, Any]:
        """The columns, by name; each as long as the others."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """The table as a pandas.DataFrame; this needs pandas."""
        pandas = importlib.import_module("pandas")
        return pandas.DataFrame({name: list(values) for name, values in self._columns().items()})

    def _repr_html_(self) -> str:
        return html_table(self._columns(), repr(self))


def html_table(columns: Dict[str, Any], caption: str) -> str:
    """A table of the first lines."""
    lines = list(zip(*columns.values()))
    rows: List[str] = []
    for line in lines[:_MOST_LINES]:
        rows.append("".join(f"<td>{escape(_text(value))}</td>" for value in line))
    more = len(lines) - len(rows)
    if more > 0:
        rows.append(f'<td colspan="{len(columns)}">… {more} more</td>')
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><caption>{escape(caption)}</caption><tr>{head}</tr>{body}</table>"


def _text(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        return f"{value:.6g}"
    return str(value)


def axes_of(ax: Any) -> Any:
    """The axes that are given, or those of a new figure."""
    if ax is not None:
        return ax
    return importlib.import_module("matplotlib.pyplot").figure().add_subplot()
