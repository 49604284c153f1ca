"""The stored messages of a run's log: its ends, any message by position, all from one on."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass

from .failures import translated
from .log_lines import Entry, Place, entries, place_from_headers
from .names import Names
from .session import Session
from .stream_reader import Message, StreamReader


@dataclass(frozen=True, slots=True)
class LogMessage:
    """`seq` is its number in the stream, which all runs share; it never leaves the store."""

    seq: int
    place: Place
    data: bytes

    @classmethod
    def of(cls, message: Message) -> LogMessage:
        return cls(message.seq, place_from_headers(message.headers), message.data)

    def entries(self) -> list[Entry]:
        return entries(self.place, self.data)


class LogMessages:
    def __init__(self, session: Session, names: Names) -> None:
        self._session = session
        self._names = names
        self._stream = StreamReader(session, names.logs_stream)

    async def last(self, run_id: str) -> LogMessage | None:
        return _lifted(await self._stream.last(self._names.logs_subject(run_id)))

    async def first(self, run_id: str) -> LogMessage | None:
        return _lifted(await self._stream.first(self._names.logs_subject(run_id)))

    async def read(self, run_id: str, seq: int) -> AsyncGenerator[LogMessage, None]:
        """Every message from that stream sequence on. Close it when you leave before its end."""
        async with aclosing(self._stream.read(self._names.logs_subject(run_id), seq)) as messages:
            async for message in messages:
                yield LogMessage.of(message)

    async def holding_line(self, run_id: str, seq: int) -> LogMessage | None:
        """The message with that line; the oldest one if the line was dropped, None if it is not written yet."""
        return await self._holding(run_id, seq, lambda place: (place.first_seq, place.next_seq))

    async def holding_byte(self, run_id: str, offset: int) -> LogMessage | None:
        """The message with that byte; the oldest one if the byte was dropped, None if it is not written yet."""
        return await self._holding(run_id, offset, lambda place: (place.offset, place.end))

    async def drop(self, run_id: str, before: int | None = None) -> None:
        """Removes the messages before that stream sequence, or all."""
        with translated():
            await self._session.js.purge_stream(
                self._names.logs_stream, seq=before, subject=self._names.logs_subject(run_id)
            )

    async def _holding(self, run_id: str, target: int, span: Callable[[Place], tuple[int, int]]) -> LogMessage | None:
        """Positions grow with the stream sequence, so it is searched for as in a phone book."""
        high = await self.last(run_id)
        if high is None or target >= span(high.place)[1]:
            return None
        low = await self.first(run_id)
        if low is None or target < span(low.place)[0]:
            return low
        high_start = span(high.place)[0]
        if target >= high_start:
            return high
        above, halve = high.seq, False
        while target >= (low_end := span(low.place)[1]) and above - low.seq > 1:
            gap = above - low.seq - 1
            # Guess by proportion; as the lines of other runs lie between, halve at every second step.
            step = gap // 2 if halve else gap * (target - low_end) // max(1, high_start - low_end)
            probe, halve = low.seq + 1 + min(step, gap - 1), not halve
            found = _lifted(await self._stream.next(self._names.logs_subject(run_id), probe))
            if found is None or found.seq >= above:
                above = probe
            elif target < span(found.place)[0]:
                above, high_start = found.seq, span(found.place)[0]
            else:
                low = found
        return low


def _lifted(message: Message | None) -> LogMessage | None:
    return None if message is None else LogMessage.of(message)
