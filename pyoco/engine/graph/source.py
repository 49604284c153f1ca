"""Where something stands in a graph text, and errors that show it."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import TypeVar

_LINE_END = re.compile(r"\r\n|\n|\r")
_SHOWN_BEFORE = 60
_SHOWN_AFTER = 40
_NAMES_SHOWN = 8

ErrorT = TypeVar("ErrorT", bound=Exception)


@dataclass(frozen=True)
class Source:
    """A text and what to call it in messages."""

    text: str
    name: str = "graph"

    @cached_property
    def line_starts(self) -> list[int]:
        return [0, *(found.end() for found in _LINE_END.finditer(self.text))]


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a text; lines and columns count from 1."""

    source: Source
    offset: int

    @property
    def line(self) -> int:
        return bisect_right(self.source.line_starts, self.offset)

    @property
    def column(self) -> int:
        return self.offset - self.source.line_starts[self.line - 1] + 1

    def __str__(self) -> str:
        return f"{self.source.name}, line {self.line}, column {self.column}"

    def excerpt(self) -> str:
        """The line with a caret below the place; a long line is cut around it."""
        start = self.source.line_starts[self.line - 1]
        line = _LINE_END.split(self.source.text[start : self.offset + _SHOWN_AFTER], maxsplit=1)[0]
        first = max(self.column - 1 - _SHOWN_BEFORE, 0)
        before = _printable(line[first : self.column - 1])
        shown = before + _printable(line[self.column - 1 :])
        # East Asian characters take two columns on a terminal.
        width = sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in before)
        return f"  {shown}\n  {' ' * width}^"


NOWHERE = Mark(Source(""), 0)


def located(kind: type[ErrorT], message: str, mark: Mark, hint: str = "") -> ErrorT:
    """An error whose text shows the place, and how to put it right if that is known."""
    text = f"{message} ({mark})\n{mark.excerpt()}"
    return kind(f"{text}\nhint: {hint}" if hint else text)


def suggestion(name: str, known: Iterable[str]) -> str:
    """A hint for a name that is not known: the nearest one, else some that are."""
    names = sorted(known)
    if close := get_close_matches(name, names, n=1):
        return f"did you mean {close[0]!r}?"
    more = ", …" if len(names) > _NAMES_SHOWN else ""
    return f"known are {', '.join(names[:_NAMES_SHOWN])}{more}" if names else "none is known"


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)
