"""What an argument or a case key means: a number, a case value, or an expression."""

from __future__ import annotations

import re

from ..errors import ExpressionSyntaxError, GraphValidationError
from ..expression import Expression, NameExpression
from ..nodes import CaseValue
from .source import located
from .terms import Value

_ROOTS = frozenset({"params", "results", "scratch", "artifacts", "loop", "loops"})
_CONSTANTS = frozenset({"True", "False", "None"})
_BOOLEANS = {"true": True, "false": False}
_PATH = re.compile(r"[^\W\d]\w*(?:\.\w+)*")
# Longer ones are no counts, and Python refuses to read the longest.
_MAX_DIGITS = 18


def whole_number(value: Value) -> int | None:
    """The number that stands there, quoted or not; None for anything else, a template included."""
    text = value.text
    if value.kind == "template" or not text.isdecimal() or len(text) > _MAX_DIGITS:
        return None
    return int(text)


def case_value(key: Value) -> CaseValue:
    """Quoted keys are text; others are numbers, true, false, or a word."""
    if key.kind == "number":
        return float(key.text) if "." in key.text else int(key.text)
    if key.kind == "name":
        return _BOOLEANS.get(key.text, key.text)
    return key.text


def literal_expression(value: Value) -> Expression:
    """The text of an operator form (`a % "…"`), which is an expression as it stands."""
    try:
        return Expression(value.text)
    except ExpressionSyntaxError as error:
        raise located(ExpressionSyntaxError, str(error), value.mark) from error


def named_expression(value: Value, bare_root: str) -> Expression:
    """The value of a brace form. A bare word is a variable or else a parameter; `bare_root` is how it is shown."""
    text = _content(value)
    if not text:
        raise located(GraphValidationError, "the expression is empty", value.mark)
    if "$ctx." in text or "$env." in text:
        return _checked(text, value)
    if text in _CONSTANTS:
        return Expression(text)
    if not _PATH.fullmatch(text):
        hint = "write a path such as params.name, or an expression with $ctx. or $env."
        raise located(GraphValidationError, f"unsupported expression {text!r}", value.mark, hint)
    root, dot, rest = text.partition(".")
    if dot and root in ("ctx", "env"):
        return _checked(f"${root}.{rest}", value)
    if dot or root in _ROOTS:
        return _checked(f"$ctx.{text}", value)
    return NameExpression(f"{bare_root}.{text}", text)


def _content(value: Value) -> str:
    text = value.text.strip()
    if text.startswith("{{") and text.endswith("}}"):
        return text[2:-2].strip()
    return text


def _checked(text: str, value: Value) -> Expression:
    return literal_expression(Value(text, value.kind, mark=value.mark))
