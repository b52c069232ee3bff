"""The errors that calls raise."""

from __future__ import annotations

from typing import List, Sequence


class Error(Exception):
    """A call that cannot be answered, as the program bf-aot says it.

    Attributes:
        code: stable, "BF1003"; docs/reference/diagnostics.md has all of them.
        where: what it is about, "Conv 'Conv_12' (node 7)" or "box 3, input 0"; may be empty.
        message: what is wrong.
        hint: what to do about it; may be empty.
        others: what else is wrong with the same model.
    """

    def __init__(self, code: str, where: str = "", message: str = "", hint: str = "",
                 others: Sequence["Error"] = ()) -> None:
        super().__init__(code, where, message, hint, list(others))
        self.code = code
        self.where = where
        self.message = message
        self.hint = hint
        self.others: List[Error] = list(others)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        text = f"{self.code}: {place}{self.message}"
        if self.hint:
            text += f"\n  hint: {self.hint}"
        return "\n".join([text, *map(str, self.others)])


Error.__module__ = "bf_aot"  # as tracebacks name it
