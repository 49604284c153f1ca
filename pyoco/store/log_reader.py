"""Reads a run's log: entries by sequence number, plain text by byte range, and its state without reading it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from .log_lines import Entry, plain_text
from .log_messages import LogMessage, LogMessages
from .names import Names
from .session import Session

_REMEMBERED = 1024
_TEXT_CHUNK = 256 * 1024


@dataclass(frozen=True, slots=True)
class LogState:
    """Which lines are kept, first and last included, and which bytes: from `first_byte` up to before `end_byte`."""

    first_seq: int = 1
    last_seq: int = 0
    first_byte: int = 0
    end_byte: int = 0

    @property
    def truncated(self) -> bool:
        return self.first_seq > 1

    @property
    def version(self) -> str:
        """Differs whenever what can be read differs: a log only grows at its end and shrinks at its start."""
        return f"{self.first_seq}-{self.last_seq}-{self.end_byte}"


@dataclass(frozen=True, slots=True)
class LogPage:
    """`next` is the `since` of the following page. `truncated`: lines that this page should begin with are gone."""

    entries: list[Entry]
    next: int
    truncated: bool


class LogReader:
    """For any number of runs; remembers where a reader of pages stopped, so that the next page is not searched for."""

    def __init__(self, session: Session, names: Names) -> None:
        self._messages = LogMessages(session, names)
        self._stops: OrderedDict[tuple[str, int], int] = OrderedDict()

    async def state(self, run_id: str) -> LogState:
        """As the leader knows it; that of an empty log if there is none."""
        last = await self._messages.last(run_id)
        first = await self._messages.first(run_id) if last is not None else None
        if last is None or first is None:
            return LogState()
        return LogState(first.place.first_seq, last.place.next_seq - 1, first.place.offset, last.place.end)

    async def entries(self, run_id: str, since: int, limit: int) -> LogPage:
        """The entries after that sequence number, at most `limit`."""
        start = await self._start(run_id, since + 1)
        found: list[Entry] = []
        at = start or 1
        if start is not None:
            async with aclosing(self._messages.read(run_id, start)) as messages:
                async for message in messages:
                    at = message.seq
                    found += message.entries()[max(0, since + 1 - message.place.first_seq) :]
                    if len(found) >= limit:
                        break
        del found[limit:]
        if not found:
            return LogPage([], since, truncated=False)
        self._remember(run_id, found[-1].seq, at)
        return LogPage(found, found[-1].seq, truncated=found[0].seq > since + 1)

    async def text(self, run_id: str, start: int, stop: int) -> AsyncGenerator[bytes, None]:
        """The bytes from `start` up to before `stop` in pieces; fewer if the log has no more or loses them."""
        first = await self._messages.holding_byte(run_id, start) if start < stop else None
        if first is None or first.place.offset > start:
            return
        piece: list[bytes] = []
        async with aclosing(self._messages.read(run_id, first.seq)) as messages:
            async for message in messages:
                if message.place.offset > start or start >= stop:
                    break
                piece.append(_slice(message, start, stop))
                start = message.place.end
                if sum(map(len, piece)) >= _TEXT_CHUNK:
                    yield b"".join(piece)
                    piece.clear()
        if piece:
            yield b"".join(piece)

    async def delete(self, run_id: str) -> None:
        await self._messages.drop(run_id)

    async def _start(self, run_id: str, seq: int) -> int | None:
        """The stream sequence to read from, None if that line is not written yet."""
        if seq <= 1:
            return 1
        remembered = self._stops.get((run_id, seq - 1))
        if remembered is not None:
            return remembered
        holding = await self._messages.holding_line(run_id, seq)
        return None if holding is None else holding.seq

    def _remember(self, run_id: str, seq: int, stream_seq: int) -> None:
        self._stops[run_id, seq] = stream_seq
        if len(self._stops) > _REMEMBERED:
            self._stops.popitem(last=False)


def _slice(message: LogMessage, start: int, stop: int) -> bytes:
    offset = message.place.offset
    return plain_text(message.entries())[max(0, start - offset) : stop - offset]
