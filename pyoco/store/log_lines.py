"""The wire format of a run's log: one message holds a batch of lines, its headers say where in the log it stands."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ..domain.values import Unreadable, encode
from .names import LOG_BYTE_COUNT, LOG_BYTE_OFFSET, LOG_FIRST_SEQ, LOG_LINE_COUNT, LOG_TERM, LOG_WRITER

BATCH_BYTES = 64 * 1024
# Written by the store itself, to say what happened to the log.
NOTICE_STREAM = "pyoco"


class Line(NamedTuple):
    """A line before it has a number. `task` is empty outside of tasks; `stream` is stdout, stderr, log or process."""

    at: float
    text: str
    task: str = ""
    stream: str = "stdout"
    level: str | None = None


class Entry(NamedTuple):
    """A line of the stored log; `seq` counts from 1 in each run."""

    timestamp: float
    message: str
    seq: int
    task: str
    stream: str
    level: str | None


class EncodedLine(NamedTuple):
    """A line ready to be sent: its JSON, and how many bytes it adds to the plain text."""

    data: bytes
    text_bytes: int


@dataclass(frozen=True, slots=True)
class Author:
    """Who writes: `term` grows with every takeover of the run, `name` is unique."""

    name: str
    term: int


@dataclass(frozen=True, slots=True)
class Place:
    """Where a message stands in the log: its lines from `first_seq`, its bytes from `offset`, and who wrote it."""

    first_seq: int
    offset: int
    lines: int
    text_bytes: int
    author: Author

    @property
    def next_seq(self) -> int:
        return self.first_seq + self.lines

    @property
    def end(self) -> int:
        """The offset after its last byte."""
        return self.offset + self.text_bytes

    def headers(self) -> dict[str, str]:
        return {
            LOG_FIRST_SEQ: str(self.first_seq),
            LOG_BYTE_OFFSET: str(self.offset),
            LOG_LINE_COUNT: str(self.lines),
            LOG_BYTE_COUNT: str(self.text_bytes),
            LOG_WRITER: self.author.name,
            LOG_TERM: str(self.author.term),
        }


def place_from_headers(headers: Mapping[str, str]) -> Place:
    try:
        return Place(
            first_seq=int(headers[LOG_FIRST_SEQ]),
            offset=int(headers[LOG_BYTE_OFFSET]),
            lines=int(headers[LOG_LINE_COUNT]),
            text_bytes=int(headers[LOG_BYTE_COUNT]),
            author=Author(headers[LOG_WRITER], int(headers[LOG_TERM])),
        )
    except (KeyError, ValueError) as error:
        raise Unreadable(f"not a log message: {error}") from error


def cut(text: str, max_bytes: int) -> str:
    """At most that many bytes of the text, and a mark behind them if something is missing."""
    # What has no UTF-8 form (half a surrogate pair) is replaced here: afterwards every text has its exact bytes.
    data = text.encode("utf-8", "replace")
    if len(data) <= max_bytes:
        return data.decode()
    kept = data[:max_bytes].decode("utf-8", "ignore")
    return f"{kept}… [{len(data) - len(kept.encode())} bytes cut]"


def encode_line(line: Line, max_bytes: int) -> EncodedLine:
    text = cut(line.text, max_bytes)
    data = encode((round(line.at, 6), text, cut(line.task, max_bytes), line.stream, line.level))
    return EncodedLine(data, len(text.encode()) + 1)


@dataclass(slots=True)
class Batch:
    """Lines that go into one message; it is full at the size limit, but takes at least one line."""

    limit: int = BATCH_BYTES
    size: int = 2
    text_bytes: int = 0
    lines: list[bytes] = field(default_factory=list)

    def add(self, line: EncodedLine) -> bool:
        """False if there is no room for it any more."""
        size = self.size + len(line.data) + 1
        if self.lines and size > self.limit:
            return False
        self.size = size
        self.text_bytes += line.text_bytes
        self.lines.append(line.data)
        return True

    def payload(self) -> bytes:
        return b"[" + b",".join(self.lines) + b"]"

    def place(self, first_seq: int, offset: int, author: Author) -> Place:
        return Place(first_seq, offset, len(self.lines), self.text_bytes, author)


def take_batch(waiting: deque[EncodedLine], limit: int = BATCH_BYTES) -> Batch:
    """The next lines that fit into one message; they leave the queue."""
    batch = Batch(limit)
    while waiting and batch.add(waiting[0]):
        waiting.popleft()
    return batch


def entries(place: Place, payload: bytes) -> list[Entry]:
    """The lines of a message, numbered."""
    try:
        rows = json.loads(payload)
        return [
            Entry(at, text, seq, task, stream, level)
            for seq, (at, text, task, stream, level) in enumerate(rows, place.first_seq)
        ]
    except (ValueError, TypeError) as error:
        raise Unreadable(f"not a log message: {error}") from error


def plain_text(found: Iterable[Entry]) -> bytes:
    """As it is shown: each message and a line end. Its length is what the offsets count."""
    return "".join(f"{entry.message}\n" for entry in found).encode()
