"""Reads .env files: `NAME=value` lines with comments and quotes. Nothing in a value is ever expanded.

python-dotenv would do, but it changes os.environ, expands `${…}` and cannot say on which line a value stands.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_START = re.compile(r"[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_.]*)[ \t]*=[ \t]*")
_FIRST_WORD = re.compile(r"[ \t]*([A-Za-z0-9_]*)")
_SINGLE = re.compile(r"'([^']*)'")
_DOUBLE = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_NOTHING_MORE = re.compile(r"[ \t]*(?:#[^\n]*)?(?=\n|\Z)")
_COMMENT = re.compile(r"[ \t]#")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}


@dataclass(frozen=True, slots=True)
class Line:
    """One assignment; `value` is None if the line cannot be read, `name` then only what surely is one."""

    name: str
    value: str | None
    number: int


def parse(text: str) -> list[Line]:
    """Every assignment in order. Lines that cannot be read are there too: whoever asked decides what they mean."""
    text = text.replace("\r\n", "\n")
    lines: list[Line] = []
    position, number = 0, 1
    while position < len(text):
        end = _line_end(text, position)
        if not _NOTHING_MORE.match(text, position):
            line, end = _assignment(text, position, number)
            lines.append(line)
        number += text.count("\n", position, end + 1)
        position = end + 1
    return lines


def _assignment(text: str, position: int, number: int) -> tuple[Line, int]:
    """The assignment that starts here, and where its last line ends."""
    start = _START.match(text, position)
    if start is None:
        word = _FIRST_WORD.match(text, position)
        return Line(word[1] if word else "", None, number), _line_end(text, position)
    name, at = start[1], start.end()
    if text[at : at + 1] not in {"'", '"'}:
        end = _line_end(text, at)
        # As in a shell, `#` begins a comment only after a blank, be it the one after `=`.
        blank = 1 if text[at - 1] in " \t" else 0
        return Line(name, _COMMENT.split(text[at - blank : end], maxsplit=1)[0].strip(), number), end
    quoted = (_SINGLE if text[at] == "'" else _DOUBLE).match(text, at)
    closed = quoted and _NOTHING_MORE.match(text, quoted.end())
    if not quoted or not closed:
        return Line(name, None, number), _line_end(text, position)
    value = quoted[1] if text[at] == "'" else _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), quoted[1])
    return Line(name, value, number), closed.end()


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end
