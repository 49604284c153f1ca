"""JSON values, the only foreign values that the rules carry, and how large they are."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None
else:
    Json = Any

Document: TypeAlias = dict[str, Any]
"""A JSON object as it is stored."""


class Unreadable(ValueError):
    """A stored value that is not what its place says it is."""


_AS_IT_IS = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_ESCAPED = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


def encode(value: object) -> bytes:
    """Compact UTF-8 JSON; what has no UTF-8 form (half a surrogate pair) is written as an escape."""
    try:
        return _AS_IT_IS.encode(value).encode()
    except UnicodeEncodeError:
        return _ESCAPED.encode(value).encode()


def size_of(value: object) -> int:
    return len(encode(value))


def text_or_none(document: Mapping[str, Any], key: str) -> str | None:
    value = document.get(key)
    if value is None or isinstance(value, str):
        return value
    raise Unreadable(f"{key} is not text")


def number_or_none(document: Mapping[str, Any], key: str) -> float | None:
    value = document.get(key)
    if value is None:
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    raise Unreadable(f"{key} is not a number")


def whole_or(document: Mapping[str, Any], key: str, default: int) -> int:
    value = document.get(key, default)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise Unreadable(f"{key} is not a whole number")


def mapping_or_empty(document: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = document.get(key)
    if value is None:
        return {}
    if isinstance(value, dict):
        return value
    raise Unreadable(f"{key} is not an object")


def texts_or(document: Mapping[str, Any], key: str, default: tuple[str, ...]) -> tuple[str, ...]:
    value = document.get(key)
    if value is None:
        return default
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise Unreadable(f"{key} is not a list of texts")
