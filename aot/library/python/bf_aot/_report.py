"""Pages about plans."""

from __future__ import annotations

import importlib
import os
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple, Union


class _Tables(HTMLParser):
    """The tables of a page, and the headings above them."""

    def __init__(self) -> None:
        super().__init__()
        self._heading = ""
        self._text: Optional[List[str]] = None  # of the heading or cell that is being read
        self._found: List[Tuple[str, List[List[str]]]] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag == "table":
            self._found.append((self._heading, []))
        elif tag == "tr" and self._found:
            self._found[-1][1].append([])
        elif tag in ("h1", "h2", "h3", "td", "th"):
            self._text = []

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if self._text is None or tag not in ("h1", "h2", "h3", "td", "th"):
            return
        text = " ".join("".join(self._text).split())
        self._text = None
        if tag.startswith("h"):
            self._heading = text
        elif self._found and self._found[-1][1]:
            self._found[-1][1][-1].append(text)

    def tables(self) -> Iterator[Tuple[str, List[str], List[List[str]]]]:
        """Heading, names of columns and lines; a number tells tables of one heading apart."""
        seen: Dict[str, int] = {}
        for title, lines in self._found:
            lines = [line for line in lines if line]
            width = max((len(line) for line in lines), default=0)
            if len(lines) < 2:
                continue
            seen[title] = seen.get(title, 0) + 1
            name = title if seen[title] == 1 else f"{title} ({seen[title]})"
            filled = [line + [""] * (width - len(line)) for line in lines]
            yield name, filled[0], filled[1:]


class Report:
    """A page in HTML; a notebook shows it."""

    def __init__(self, html: str) -> None:
        self.html = html

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the page."""
        Path(path).write_text(self.html, encoding="utf-8")

    def to_pandas(self) -> Dict[str, Any]:
        """Its tables as pandas.DataFrame by their headings, of text; this needs pandas."""
        pandas = importlib.import_module("pandas")
        reader = _Tables()
        reader.feed(self.html)
        return {title: pandas.DataFrame(lines, columns=head)
                for title, head, lines in reader.tables()}

    def _repr_html_(self) -> str:
        return (f'<iframe srcdoc="{escape(self.html)}" sandbox style="width:100%;height:640px;'
                'border:1px solid #8888"></iframe>')

    def __repr__(self) -> str:
        return f"<report: {len(self.html)} bytes of HTML>"
