"""Moving through the tokens of a graph: looking ahead, expecting, and saying what was expected."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import GraphSyntaxError
from .lexer import END, Token, tokenize
from .source import Mark, Source, located
from .terms import Value, ValueKind

# Low enough that neither parsing nor any later walk of the tree comes near Python's recursion limit.
MAX_NESTING = 80

_VALUE_KINDS: dict[str, ValueKind] = {
    "name": "name",
    "path": "path",
    "number": "number",
    "text": "text",
    "template": "template",
}


class Cursor:
    """A place in the tokens. `depth` counts the brackets and braces around it."""

    def __init__(self, source: Source, depth: int) -> None:
        self.source = source
        self.depth = depth
        self._tokens = tokenize(source)
        self._next = 0

    @property
    def peek(self) -> Token:
        return self._tokens[self._next]

    @property
    def after_next(self) -> Token:
        return self._tokens[min(self._next + 1, len(self._tokens) - 1)]

    def advance(self) -> Token:
        token = self._tokens[self._next]
        if token.kind != END:
            self._next += 1
        return token

    def take(self, kind: str) -> bool:
        """Goes past the next token if it is of this kind."""
        if self.peek.kind != kind:
            return False
        self._next += 1
        return True

    def expect(self, kind: str, expected: str) -> Token:
        if self.peek.kind != kind:
            raise self.unexpected(expected)
        return self.advance()

    def unexpected(self, expected: str, token: Token | None = None) -> GraphSyntaxError:
        found = token or self.peek
        return located(GraphSyntaxError, f"expected {expected}, found {found}", found.mark)

    def whole(self, token: Token) -> Value:
        if not token.text.isdecimal():
            raise self.unexpected("a whole number of 0 or more", token)
        return value_of(token)

    @contextmanager
    def nested(self, opening: Token) -> Iterator[None]:
        if self.depth >= MAX_NESTING:
            raise too_deep(opening.mark)
        self.depth += 1
        yield
        self.depth -= 1


def is_value(token: Token) -> bool:
    return token.kind in _VALUE_KINDS


def value_of(token: Token) -> Value:
    return Value(token.text, _VALUE_KINDS[token.kind], mark=token.mark)


def too_deep(mark: Mark) -> GraphSyntaxError:
    return located(GraphSyntaxError, f"more than {MAX_NESTING} levels inside each other", mark, "use a pipe")
