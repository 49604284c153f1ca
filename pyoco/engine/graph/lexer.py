"""From graph text to tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..errors import GraphSyntaxError
from .source import Mark, Source, located

END = "end"
MAX_CHARACTERS = 1_000_000
_MAX_DIGITS = 100

_TOKEN = re.compile(
    r"""
      (?P<newline> \r\n | \n | \r )
    | (?P<skip>     [^\S\r\n]+ | \#[^\r\n]* | \\(?:\r\n|\n|\r) )
    | (?P<path>     [^\W\d]\w*(?:\.\w+)+ )
    | (?P<name>     [^\W\d]\w* )
    | (?P<number>   -?[0-9]+(?:\.[0-9]+)? )
    | (?P<text>     "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*' )
    | (?P<template> \{\{.*?\}\} )
    | (?P<symbol>   >> | \{(?!\{) | [()}\[\],;:=&|%] )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)

_HINTS = {
    ">": "steps are joined with '>>'",
    "-": "steps are joined with '>>'",
    "→": "steps are joined with '>>'",
    "/": "a name has only letters, digits and '_'; give the task such a name under 'tasks:'",
    "$": "an expression is written in quotes or in {{ }}",
}


@dataclass(frozen=True, slots=True)
class Token:
    """`kind` is name, path, number, text, template, end, or the symbol itself; `fresh_line`: first of its line."""

    kind: str
    text: str
    mark: Mark
    fresh_line: bool

    def __str__(self) -> str:
        if self.kind == END:
            return "the end"
        return repr(self.text) if self.kind != "text" else f"the text {self.text!r}"


def tokenize(source: Source) -> list[Token]:
    """All tokens, closed by one of kind END."""
    text = source.text
    if len(text) > MAX_CHARACTERS:
        raise GraphSyntaxError(f"{source.name} is longer than {MAX_CHARACTERS} characters")
    tokens: list[Token] = []
    position, fresh_line = 0, True
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise _unreadable(source, position)
        group = found.lastgroup
        if group == "newline":
            fresh_line = True
        elif group is not None and group != "skip":
            tokens.append(_token(group, found[0], Mark(source, position), fresh_line))
            fresh_line = False
        position = found.end()
    tokens.append(Token(END, "", Mark(source, len(text)), fresh_line))
    return tokens


def _token(group: str, raw: str, mark: Mark, fresh_line: bool) -> Token:
    match group:
        case "symbol":
            return Token(raw, raw, mark, fresh_line)
        case "text":
            return Token(group, _ESCAPE.sub(r"\1", raw[1:-1]), mark, fresh_line)
        case "template":
            return Token(group, raw[2:-2].strip(), mark, fresh_line)
        case "number" if len(raw) > _MAX_DIGITS:
            raise located(GraphSyntaxError, f"a number of more than {_MAX_DIGITS} digits", mark)
    return Token(group, raw, mark, fresh_line)


def _unreadable(source: Source, position: int) -> GraphSyntaxError:
    mark = Mark(source, position)
    if source.text[position] in "\"'":
        return located(GraphSyntaxError, "this text has no closing quote", mark)
    if source.text.startswith("{{", position):
        return located(GraphSyntaxError, "this template has no closing '}}'", mark)
    char = source.text[position]
    return located(GraphSyntaxError, f"unexpected character {char!r}", mark, _HINTS.get(char, ""))
