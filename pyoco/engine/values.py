"""Values that survive JSON unchanged, with tags for the types JSON lacks.

`encode` refuses whatever would come back different: subclasses, objects, cycles. Such a value is not recordable.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

_MAX_DEPTH = 100
_MAX_INT_BITS = 12_000  # beyond this Python refuses to read the decimal digits back


class NotRecordable(ValueError):
    """The value would not come back from JSON as it was."""


def encode(value: Any, depth: int = 0) -> Any:
    """The JSON form of a value; NotRecordable if it has none."""
    kind = type(value)
    if value is None or kind is bool:
        return value
    encoder = _ENCODERS.get(kind)
    if encoder is None:
        raise NotRecordable(f"{kind.__name__} cannot be recorded")
    if depth > _MAX_DEPTH:
        raise NotRecordable("nested too deeply, or in a circle")
    return encoder(value, depth + 1)


def decode(value: Any) -> Any:
    """The value behind its JSON form."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((tag, content),) = value.items()
        decoder = _DECODERS.get(tag)
        if decoder is not None:
            return decoder(content)
    return {key: decode(item) for key, item in value.items()}


def _int(value: int, depth: int) -> int:
    if value.bit_length() > _MAX_INT_BITS:
        raise NotRecordable("the number has too many digits")
    return value


def _float(value: float, depth: int) -> Any:
    return value if math.isfinite(value) else {"$float": repr(value)}


def _str(value: str, depth: int) -> str:
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise NotRecordable("the text has characters that UTF-8 cannot hold") from None
    return value


def _items(values: Any, depth: int) -> list[Any]:
    # list() first: another task may be changing the container while it is read
    return [encode(item, depth) for item in list(values)]


def _dict(value: dict[Any, Any], depth: int) -> Any:
    items = list(value.items())
    if all(type(key) is str and not key.startswith("$") for key, _ in items):
        return {_str(key, depth): encode(item, depth) for key, item in items}
    return {"$dict": [[encode(key, depth), encode(item, depth)] for key, item in items]}


def _datetime(value: datetime, depth: int) -> Any:
    zone = value.tzinfo
    if zone is None or type(zone) is timezone:
        return {"$datetime": [value.isoformat(), None, value.fold]}
    if type(zone) is ZoneInfo and zone.key:
        return {"$datetime": [value.replace(tzinfo=None).isoformat(), zone.key, value.fold]}
    raise NotRecordable("the time zone cannot be recorded")


def _decode_datetime(content: list[Any]) -> datetime:
    text, key, fold = content
    value = datetime.fromisoformat(text).replace(fold=fold)
    return value.replace(tzinfo=ZoneInfo(key)) if key else value


def _time(value: time, depth: int) -> Any:
    if value.tzinfo is not None and type(value.tzinfo) is not timezone:
        raise NotRecordable("the time zone cannot be recorded")
    return {"$time": [value.isoformat(), value.fold]}


_ENCODERS: dict[type, Callable[[Any, int], Any]] = {
    int: _int,
    float: _float,
    str: _str,
    list: _items,
    dict: _dict,
    tuple: lambda value, depth: {"$tuple": _items(value, depth)},
    set: lambda value, depth: {"$set": _items(value, depth)},
    frozenset: lambda value, depth: {"$frozenset": _items(value, depth)},
    bytes: lambda value, depth: {"$bytes": base64.b64encode(value).decode("ascii")},
    Decimal: lambda value, depth: {"$decimal": str(value)},
    datetime: _datetime,
    date: lambda value, depth: {"$date": value.isoformat()},
    time: _time,
    timedelta: lambda value, depth: {"$timedelta": [value.days, value.seconds, value.microseconds]},
}

_DECODERS: dict[str, Callable[[Any], Any]] = {
    "$float": float,
    "$dict": lambda content: {decode(key): decode(item) for key, item in content},
    "$tuple": lambda content: tuple(decode(item) for item in content),
    "$set": lambda content: {decode(item) for item in content},
    "$frozenset": lambda content: frozenset(decode(item) for item in content),
    "$bytes": base64.b64decode,
    "$decimal": Decimal,
    "$datetime": _decode_datetime,
    "$date": date.fromisoformat,
    "$time": lambda content: time.fromisoformat(content[0]).replace(fold=content[1]),
    "$timedelta": lambda content: timedelta(*content),
}
