"""The place of a walk through a list, as opaque text."""

from __future__ import annotations

import base64
import binascii
import json
import math
from dataclasses import dataclass
from typing import Any

_FORMAT = 1


class BadCursor(ValueError):
    """A text that no page ever gave."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """A walk through the runs, newest change first, and then through what changed meanwhile.

    Runs that stay as they were keep their place in the order and are met there. All that changed after revision
    `since` of `stream`, when the walk began, follow by run id; of those created after `started` none is owed. The
    revision decides instead of the time of the change, because times come from clocks that need not agree.
    """

    started: float
    stream: str
    since: int
    updated_at: float | None = None  # set on the first leg, behind a page
    run_id: str = ""
    changed_leg: bool = False

    def encode(self) -> str:
        leg = int(self.changed_leg)
        return _pack([_FORMAT, self.started, self.stream, self.since, leg, self.updated_at, self.run_id])

    @staticmethod
    def decode(text: str) -> Cursor:
        match _unpack(text):
            case [
                int(form),
                float() | int() as started,
                str(stream),
                int(since),
                int(leg),
                updated_at,
                str(run_id),
            ] if form == _FORMAT and leg in (0, 1) and _is_revision(since):
                key = None if updated_at is None else _time(updated_at)
                if (key is None) != bool(leg):
                    raise BadCursor("not a cursor of this list")
                return Cursor(_time(started), _text(stream), since, key, _text(run_id), bool(leg))
        raise BadCursor("not a cursor of this list")


@dataclass(frozen=True, slots=True)
class CreatedKey:
    """A place in the order by creation, which never changes: nothing else has to be remembered."""

    created_at: float
    run_id: str

    def encode(self) -> str:
        return _pack([self.created_at, self.run_id])

    @staticmethod
    def decode(text: str) -> CreatedKey:
        match _unpack(text):
            case [float() | int() as created_at, str(run_id)]:
                return CreatedKey(_time(created_at), _text(run_id))
        raise BadCursor("not a token of this list")


def _pack(parts: list[Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(parts, separators=(",", ":")).encode()).decode().rstrip("=")


def _unpack(text: str) -> Any:
    try:
        padded = text + "=" * (-len(text) % 4)
        return json.loads(base64.b64decode(padded.encode("ascii"), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError) as error:
        raise BadCursor("not a cursor") from error


def _time(value: object) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise BadCursor("not a time")
    try:
        number = float(value)
    except OverflowError as error:
        raise BadCursor("not a time") from error
    if not math.isfinite(number):
        raise BadCursor("not a time")
    return number


def _text(value: str) -> str:
    """Half a surrogate pair has no form that a database takes."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise BadCursor("not a text") from error
    return value


def _is_revision(value: int) -> bool:
    return not isinstance(value, bool) and 0 <= value < 2**63
