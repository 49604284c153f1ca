"""The wire between worker and executor: frames of a length and a JSON object, checked against the message's types."""

from __future__ import annotations

import json
import struct
import types
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from .messages import RunEnded, ToExecutor, ToWorker

MAX_FRAME_BYTES = 256 * 1024 * 1024
_LENGTH = struct.Struct(">I")
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False)
_TYPE = "type"

Message = TypeVar("Message", bound="ToExecutor | ToWorker")
Reader = Callable[[Any], Any]


class ProtocolError(Exception):
    """The other side sent something that is no message."""


class FrameTooLarge(ValueError):
    """A message is larger than a frame may be."""


def encode(message: ToExecutor | ToWorker) -> bytes:
    """The frame of a message. Half surrogate pairs become '?', so that every text that arrives is valid UTF-8."""
    document = _to_json(message)
    document[_TYPE] = type(message).__name__
    body = _JSON.encode(document).encode("utf-8", "replace")
    if len(body) > MAX_FRAME_BYTES:
        raise FrameTooLarge(f"a message of {len(body)} bytes is over the limit of {MAX_FRAME_BYTES}")
    return _LENGTH.pack(len(body)) + body


class FrameReader(Generic[Message]):
    """Takes bytes as they come and gives back the messages that are complete."""

    def __init__(self, readers: dict[str, Reader]) -> None:
        self._readers = readers
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Message]:
        """The messages that end in `data`. After a ProtocolError nothing more can be read."""
        buffer = self._buffer
        buffer += data
        messages: list[Message] = []
        start, size = 0, len(buffer)
        while size - start >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(buffer, start)
            if length > MAX_FRAME_BYTES:
                raise ProtocolError(f"a frame of {length} bytes is over the limit of {MAX_FRAME_BYTES}")
            end = start + _LENGTH.size + length
            if size < end:
                break
            messages.append(self._message(bytes(buffer[start + _LENGTH.size : end])))
            start = end
        del buffer[:start]
        return messages

    def _message(self, body: bytes) -> Message:
        try:
            document = json.loads(body)
            message: Message = self._readers[document.pop(_TYPE)](document)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as exc:
            raise ProtocolError(f"{type(exc).__name__}: {exc} in the frame {body[:200]!r}") from exc
        return message


def executor_reader() -> FrameReader[ToExecutor]:
    """Reads what a worker sends."""
    return FrameReader(_TO_EXECUTOR)


def worker_reader() -> FrameReader[ToWorker]:
    """Reads what an executor sends."""
    return FrameReader(_TO_WORKER)


def _to_json(message: Any) -> dict[str, Any]:
    """The fields that differ from their defaults."""
    document: dict[str, Any] = {}
    for name, default in _DEFAULTS[type(message)]:
        value = getattr(message, name)
        if value is not default and value != default:
            document[name] = value
    if "error" in document and is_dataclass(document["error"]):
        document["error"] = _to_json(message.error)
    if "waits" in document:
        document["waits"] = [_to_json(wait) for wait in message.waits]
    return document


# Reading: one function for each type that occurs in a message, made once


def _reader(hint: Any) -> Reader:
    if hint is Any:
        return _anything
    if hint is float:
        return _number
    if isinstance(hint, type) and is_dataclass(hint):
        return _object_reader(hint)
    if isinstance(hint, type) and issubclass(hint, tuple):
        return _tuple_reader(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return _choice_reader(frozenset(arguments))
    if origin in (Union, types.UnionType):
        (inner,) = (argument for argument in arguments if argument is not types.NoneType)
        return _optional_reader(_reader(inner))
    if origin is list:
        return _list_reader(_reader(arguments[0]))
    if origin is dict:
        return _dict_reader(_reader(arguments[1]))
    return _exact_reader(hint)


def _anything(value: Any) -> Any:
    return value


def _number(value: Any) -> Any:
    if type(value) is not float and type(value) is not int:
        raise TypeError(f"{value!r:.100} is not a number")
    return value


def _exact_reader(kind: type) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise TypeError(f"{value!r:.100} is not of type {kind.__name__}")
        return value

    return read


def _choice_reader(choices: frozenset[str]) -> Reader:
    def read(value: Any) -> Any:
        if value not in choices:
            raise ValueError(f"{value!r:.100} is none of {sorted(choices)}")
        return value

    return read


def _optional_reader(inner: Reader) -> Reader:
    return lambda value: None if value is None else inner(value)


def _list_reader(inner: Reader) -> Reader:
    is_list = _exact_reader(list)
    return lambda value: [inner(item) for item in is_list(value)]


def _dict_reader(inner: Reader) -> Reader:
    is_dict = _exact_reader(dict)
    if inner is _anything:
        return is_dict
    return lambda value: {key: inner(item) for key, item in is_dict(value).items()}


def _tuple_reader(kind: Any) -> Reader:
    readers = [_reader(hint) for hint in get_type_hints(kind).values()]
    is_list = _exact_reader(list)
    return lambda value: kind(*(read(item) for read, item in zip(readers, is_list(value), strict=True)))


def _object_reader(kind: type) -> Reader:
    readers = {name: _reader(hint) for name, hint in get_type_hints(kind).items()}
    is_dict = _exact_reader(dict)
    # A missing field is a TypeError of the class itself, an unknown one a KeyError here.
    return lambda value: kind(**{name: readers[name](item) for name, item in is_dict(value).items()})


def _defaults(kind: Any) -> list[tuple[str, Any]]:
    found = []
    for spec in fields(kind):
        default = spec.default if spec.default_factory is MISSING else spec.default_factory()
        found.append((spec.name, default))
    return found


_TO_EXECUTOR = {kind.__name__: _object_reader(kind) for kind in get_args(ToExecutor)}
_TO_WORKER = {kind.__name__: _object_reader(kind) for kind in get_args(ToWorker)}
_PARTS = [argument for hint in ("error", "waits") for argument in get_args(get_type_hints(RunEnded)[hint])]
_DEFAULTS = {
    kind: _defaults(kind)
    for kind in (*get_args(ToExecutor), *get_args(ToWorker), *_PARTS)
    if kind is not types.NoneType
}
