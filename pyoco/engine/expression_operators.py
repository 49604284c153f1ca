"""The operators of expressions, with limits so that no short text can fill the memory or hold the processor."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

MAX_ITEMS = 10_000_000
MAX_BITS = 1_000_000
MAX_EXPONENT = 100_000
MAX_FORMAT_WIDTH = 10_000
MAX_FORMAT_FIELDS = 100

# One whole field, conversion letter included, so that the next search starts after it.
_FORMAT_FIELD = re.compile(r"%(?:\([^()]*\))?[#0\- +]*(\*|[0-9]+)?(?:\.(\*|[0-9]+)?)?[hlL]?(.)", re.DOTALL)


class LimitExceeded(ValueError):
    """The result would be larger than an expression may produce."""


def add(left: Any, right: Any) -> Any:
    if isinstance(left, Sequence) and isinstance(right, Sequence):
        _check_items(len(left) + len(right))
    return left + right


def multiply(left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, int):
        _check_bits(left.bit_length() + right.bit_length())
    elif isinstance(left, Sequence) and isinstance(right, int):
        _check_items(len(left) * right)
    elif isinstance(left, int) and isinstance(right, Sequence):
        _check_items(left * len(right))
    return left * right


def power(base: Any, exponent: Any) -> Any:
    if isinstance(base, int) and isinstance(exponent, int):
        _check_bits(base.bit_length() * exponent)
    elif isinstance(exponent, int) and not isinstance(base, (float, complex)) and abs(exponent) > MAX_EXPONENT:
        raise LimitExceeded(f"the exponent is larger than {MAX_EXPONENT}")
    return base**exponent


def modulo(left: Any, right: Any) -> Any:
    if isinstance(left, (str, bytes)):
        _check_format(left if isinstance(left, str) else left.decode("latin-1"))
    return left % right


def contains(item: Any, container: Any) -> bool:
    # Searching an iterator uses it up, and an endless one would never return.
    if isinstance(container, Iterator):
        raise TypeError(f"cannot search in a {type(container).__name__}; use a list")
    return item in container


def contains_not(item: Any, container: Any) -> bool:
    return not contains(item, container)


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "Add": add,
    "Sub": operator.sub,
    "Mult": multiply,
    "Div": operator.truediv,
    "Mod": modulo,
    "Pow": power,
}
COMPARISON: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "In": contains,
    "NotIn": contains_not,
}
UNARY: dict[str, Callable[[Any], Any]] = {"Not": operator.not_, "UAdd": operator.pos, "USub": operator.neg}


def _check_items(count: int) -> None:
    if count > MAX_ITEMS:
        raise LimitExceeded(f"the result would have more than {MAX_ITEMS} items or characters")


def _check_bits(count: int) -> None:
    if count > MAX_BITS:
        raise LimitExceeded(f"the number would have more than {MAX_BITS} bits")


def _check_format(text: str) -> None:
    for position, field in enumerate(_FORMAT_FIELD.finditer(text)):
        width, precision, conversion = field.groups()
        if position >= MAX_FORMAT_FIELDS:
            raise LimitExceeded(f"a format may have at most {MAX_FORMAT_FIELDS} fields")
        if conversion == "(":
            raise LimitExceeded("the key of a format field must not contain parentheses")
        for size in (width or "0", precision or "0"):
            if size == "*" or len(size) > 9 or int(size) > MAX_FORMAT_WIDTH:
                raise LimitExceeded(f"a format width must be a number of at most {MAX_FORMAT_WIDTH}")
