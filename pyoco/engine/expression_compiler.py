"""From the text of an expression to checked steps. Python's own parser reads it; nothing of it is ever executed."""

from __future__ import annotations

import ast
import re
import time
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from typing import Any

from .errors import ExpressionSyntaxError
from .expression_lookup import Scope, Step, path_step
from .expression_operators import BINARY, COMPARISON, UNARY

MAX_LENGTH = 4000
MAX_DEPTH = 100
# Python's parser descends about twenty calls per bracket; fewer brackets keep it safe on a small thread stack.
MAX_BRACKETS = 50

ALLOWED = (
    "allowed are $ctx.path, $env.NAME, text, numbers, True, False, None, [lists], "
    "and or not, == != < <= > >= in, + - * / % **"
)

_SCAN = re.compile(
    r"""
      (?P<text> '{3}(?:\\.|[^\\])*?'{3} | "{3}(?:\\.|[^\\])*?"{3} | '(?:\\.|[^'\\\n])*' | "(?:\\.|[^"\\\n])*" )
    | \#[^\n]*
    | \$(?P<root>ctx|env)\.(?P<path>[A-Za-z_][\w.]*)
    | (?P<dollar>\$) | (?P<open>[(\[{]) | (?P<close>[)\]}])
    | (?P<glued>\b[0-9][\w.]*?(?:and|or|in|is|if|else|not|for))
    """,
    re.VERBOSE | re.DOTALL,
)
_LONG_PREFIX = re.compile(rf"(?:(?:[-+~]|\bnot\b)\s*){{{MAX_BRACKETS}}}")

# Python warns about a backslash that escapes nothing, and silencing warnings is not thread-safe. So such a
# backslash travels through the parser as this noncharacter, which no honest text contains.
_BACKSLASH = "\ufdd0"
_ESCAPE = re.compile(r"\\(?:([\n\\'\"abfnrtvxNuU]|[0-3][0-7]{2}|[0-7]{1,2}(?![0-7]))|(.))", re.DOTALL)


def compile_source(source: str) -> Step:
    """Raises ExpressionSyntaxError for everything that is not in the allowed subset."""
    if len(source) > MAX_LENGTH:
        raise ExpressionSyntaxError(f"it is longer than {MAX_LENGTH} characters")
    return _Compiler(source).compile()


class _Compiler:
    """Holds the text, its references by position, and turns offsets into columns."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._references: dict[int, tuple[int, Step]] = {}
        self._masked = self._mask()
        self._skipped = len(self._masked) - len(self._masked.lstrip())
        self._lines = self._masked.lstrip().split("\n")
        self._line_starts = [0, *accumulate(len(line) + 1 for line in self._lines)]

    def compile(self) -> Step:
        return self._step(self._parse().body, MAX_DEPTH)

    def _mask(self) -> str:
        """Each reference becomes an identifier of the same length, so that every column stays true."""
        # Python's parser reads a carriage return as a line end, which would shift the positions.
        text = self._source.replace("\r", " ").replace(_BACKSLASH, "\ufffd")
        if found := _LONG_PREFIX.search(text):
            raise self._error(found.start(), "too many signs in a row")
        self._check_brackets(text)
        return _SCAN.sub(self._mask_one, text)

    def _mask_one(self, found: re.Match[str]) -> str:
        if found["dollar"]:
            raise self._error(found.start(), "a reference is written $ctx.path or $env.NAME")
        if found["glued"]:
            raise self._error(found.start(), f"a blank is missing in {found[0]!r}")
        if found["text"]:
            return _ESCAPE.sub(lambda escape: escape[0] if escape[1] else _BACKSLASH + escape[0][1:], found[0])
        if found["root"]:
            if "" in found["path"].split("."):
                raise self._error(found.start(), f"{found[0]} has a dot without a name")
            self._references[found.start()] = (len(found[0]), path_step(found["root"], found["path"]))
            return "_" * len(found[0])
        return found[0]

    def _check_brackets(self, text: str) -> None:
        depth = 0
        for found in _SCAN.finditer(text):
            depth += bool(found["open"]) - bool(found["close"])
            if depth > MAX_BRACKETS:
                raise self._error(found.start(), f"more than {MAX_BRACKETS} brackets inside each other")

    def _parse(self) -> ast.Expression:
        if not any(self._lines):
            raise ExpressionSyntaxError("it is empty")
        try:
            return ast.parse("\n".join(self._lines), mode="eval")
        except SyntaxError as error:
            line = min(max(error.lineno or 1, 1), len(self._lines))
            offset = self._line_starts[line - 1] + max((error.offset or 1) - 1, 0)
            raise self._error(self._skipped + offset, error.msg) from error
        except (ValueError, RecursionError, MemoryError) as error:
            raise ExpressionSyntaxError(str(error) or "it is nested too deeply") from error

    def _position(self, node: ast.expr) -> int:
        # Python counts columns in UTF-8 bytes, people in characters.
        before = self._lines[node.lineno - 1].encode()[: node.col_offset]
        return self._skipped + self._line_starts[node.lineno - 1] + len(before.decode())

    def _forbidden(self, node: ast.expr, what: str) -> ExpressionSyntaxError:
        error = self._error(self._position(node), f"{what} is not allowed")
        return ExpressionSyntaxError(f"{error}; {ALLOWED}")

    def _error(self, position: int, reason: str) -> ExpressionSyntaxError:
        starts = [0, *(found.end() for found in re.finditer("\n", self._source))]
        line = bisect_right(starts, position)
        column = position - starts[line - 1] + 1
        place = f"column {column}" if len(starts) == 1 else f"line {line}, column {column}"
        return ExpressionSyntaxError(f"{reason} at {place}")

    def _step(self, node: ast.expr, depth: int) -> Step:
        if depth == 0:
            raise self._error(self._position(node), f"more than {MAX_DEPTH} operations inside each other")
        match node:
            case ast.Constant(value=str() as text):
                return _constant(text.replace(_BACKSLASH, "\\"))
            case ast.Constant(value=bool() | int() | float() | complex() | None as value):
                return _constant(value)
            case ast.Name():
                return self._reference(node)
            case ast.List(elts=elements):
                return _list([self._step(element, depth - 1) for element in elements])
            case ast.BoolOp(op=op, values=values):
                return _either(isinstance(op, ast.Or), [self._step(value, depth - 1) for value in values])
            case ast.UnaryOp(op=op, operand=operand) if sign := UNARY.get(type(op).__name__):
                return _unary(sign, self._step(operand, depth - 1))
            case ast.BinOp(left=left, op=op, right=right) if operator := BINARY.get(type(op).__name__):
                return _binary(operator, self._step(left, depth - 1), self._step(right, depth - 1))
            case ast.Compare(left=left, ops=ops, comparators=rest) if all(
                type(op).__name__ in COMPARISON for op in ops
            ):
                operators = [COMPARISON[type(op).__name__] for op in ops]
                return _compare(self._step(left, depth - 1), operators, [self._step(r, depth - 1) for r in rest])
        raise self._forbidden(node, _described(node))

    def _reference(self, node: ast.Name) -> Step:
        position = self._position(node)
        length, step = self._references.get(position, (0, None))
        if step is None or length != len(node.id):
            raise self._forbidden(node, f"the name {self._source[position : position + len(node.id)]!r}")
        return step


def _constant(value: Any) -> Step:
    return lambda scope: value


def _list(elements: list[Step]) -> Step:
    return lambda scope: [element(scope) for element in elements]


def _either(stop_at: bool, values: list[Step]) -> Step:
    """`or` stops at the first true value, `and` at the first false one; both give that value itself."""
    *first, last = values

    def choose(scope: Scope) -> Any:
        for step in first:
            value = step(scope)
            if bool(value) is stop_at:
                return value
        return last(scope)

    return choose


def _unary(operator: Callable[[Any], Any], operand: Step) -> Step:
    return lambda scope: operator(operand(scope))


def _binary(operator: Callable[[Any, Any], Any], left: Step, right: Step) -> Step:
    def apply(scope: Scope) -> Any:
        _check_time(scope)
        return operator(left(scope), right(scope))

    return apply


def _compare(first: Step, operators: list[Callable[[Any, Any], Any]], rest: list[Step]) -> Step:
    """`a < b < c` evaluates b once and stops at the first comparison that is false."""
    links = list(zip(operators, rest, strict=True))

    def compare(scope: Scope) -> Any:
        left, result = first(scope), None
        for operator, step in links:
            _check_time(scope)
            right = step(scope)
            result = operator(left, right)
            if len(links) > 1 and not result:
                break
            left = right
        return result

    return compare


def _check_time(scope: Scope) -> None:
    if time.monotonic() > scope.deadline:
        raise TimeoutError("it takes too long")


_DESCRIPTIONS = {
    "Call": "a call",
    "Attribute": "a dot",
    "Subscript": "an index",
    "IfExp": "'if … else'",
    "Lambda": "a lambda",
    "JoinedStr": "an f-string",
    "Tuple": "a tuple",
    "Dict": "a mapping",
    "Set": "a set",
    "Constant": "this kind of constant",
    "FloorDiv": "'//'",
    "MatMult": "'@'",
    "BitAnd": "'&'",
    "BitOr": "'|'",
    "BitXor": "'^'",
    "LShift": "'<<'",
    "RShift": "'>>'",
    "Invert": "'~'",
    "Is": "'is'",
    "IsNot": "'is not'",
}


def _described(node: ast.expr) -> str:
    match node:
        case ast.BinOp(op=op) | ast.UnaryOp(op=op):
            kind = type(op).__name__
        case ast.Compare(ops=ops):
            kind = next(type(op).__name__ for op in ops if type(op).__name__ not in COMPARISON)
        case _:
            kind = type(node).__name__
    return _DESCRIPTIONS.get(kind, f"this kind of syntax ({kind})")
