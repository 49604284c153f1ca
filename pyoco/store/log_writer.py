"""Writes a run's log: numbers the lines, sends them in batches, and never mixes with another writer."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType

from ..domain.values import Unreadable
from .failures import Conflict, Full, TooLarge, Unavailable, translated
from .log_lines import BATCH_BYTES, NOTICE_STREAM, Author, Batch, EncodedLine, Line, Place, encode_line, take_batch
from .log_messages import LogMessages
from .names import EXPECTED_REVISION, Names
from .session import REQUEST_SECONDS, Session

_RETRY_SECONDS = 0.2
_log = logging.getLogger("pyoco.store")


@dataclass(frozen=True, slots=True)
class LogLimits:
    """What settings decide, and how much a writer keeps in memory while NATS is away."""

    max_line_bytes: int = 16_384
    max_run_bytes: int = 16_777_216
    buffer_bytes: int = 2_097_152
    pace_seconds: float = 0.05

    @property
    def batch_bytes(self) -> int:
        """Small against the run's limit, because only whole messages can be dropped."""
        return max(1024, min(BATCH_BYTES, self.max_run_bytes // 8))


@dataclass(frozen=True, slots=True)
class _End:
    """The end of the log as this writer knows it."""

    next_seq: int = 1
    offset: int = 0
    stream_seq: int = 0


class LogWriter:
    """One per claimed run. Use as an async context manager: lines are sent by a task of its own.

    `term` is the revision of the document that made the claim, so that of two writers the later claim wins; the other
    one is `superseded` and its lines are dropped.
    """

    def __init__(self, session: Session, names: Names, run_id: str, term: int, limits: LogLimits) -> None:
        self._session = session
        self._subject = names.logs_subject(run_id)
        self._run_id = run_id
        self._author = Author(secrets.token_hex(6), term)
        self._limits = limits
        # JSON may need six bytes for one, and the message has a task name and headers too.
        room = min(session.max_payload, limits.buffer_bytes)
        self._line_bytes = max(1, min(limits.max_line_bytes, room // 16))
        self._batch_bytes = min(limits.batch_bytes, room // 2)
        self._messages = LogMessages(session, names)
        self._end = _End()
        self._wrote = False
        self._first_offset: int | None = 0
        self._waiting: deque[EncodedLine] = deque()
        self._waiting_bytes = 0
        self._missing = _Missing()
        self._sending: Batch | None = None
        self._sent_at = 0.0
        self._flushes = 0
        self._work = asyncio.Event()
        self._hurry = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._room = asyncio.Event()
        self._room.set()
        self._task: asyncio.Task[None] | None = None
        self.superseded = False

    async def __aenter__(self) -> LogWriter:
        self._task = asyncio.create_task(self._ship(), name=f"log-{self._run_id}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stops at once; `flush` first if what is still here matters."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    def write(self, lines: Iterable[Line]) -> None:
        """Takes lines. When the buffer is full its oldest lines go, and the log will say so."""
        if self.superseded:
            return
        for line in lines:
            encoded = encode_line(line, self._line_bytes)
            self._waiting.append(encoded)
            self._waiting_bytes += len(encoded.data)
        while self._waiting_bytes > self._limits.buffer_bytes and len(self._waiting) > 1:
            lost = self._waiting.popleft()
            self._waiting_bytes -= len(lost.data)
            self._missing.add(lost, away=not self._session.connected.is_set())
        if self._waiting:
            self._idle.clear()
            self._work.set()
        if self._waiting_bytes >= self._batch_bytes:
            self._hurry.set()
        if self._waiting_bytes > self._limits.buffer_bytes // 2 and self._session.connected.is_set():
            self._room.clear()

    async def room(self) -> None:
        """Waits while lines come faster than they can be stored; returns at once while NATS is away."""
        await self._room.wait()

    async def flush(self, seconds: float) -> bool:
        """True once everything written is stored; false if that did not happen in time, or there is a later writer."""
        self._flushes += 1
        self._hurry.set()
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._idle.wait()
        finally:
            self._flushes -= 1
        return not self.superseded and not self._has_work()

    def _has_work(self) -> bool:
        return bool(self._waiting or self._missing.lines) or self._sending is not None

    async def _ship(self) -> None:
        try:
            while not self.superseded:
                await self._work.wait()
                await self._pace()
                if await self._send_one():
                    self._note_progress()
                else:
                    # Nobody is held back by a NATS that does not answer.
                    self._room.set()
                    await asyncio.sleep(_RETRY_SECONDS)
        except Unreadable as error:
            _log.error("the log of run %s holds something else: %s", self._run_id, error)
            self._give_up()
        finally:
            self._idle.set()
            self._room.set()

    async def _pace(self) -> None:
        """The first line goes at once, later ones gather for a moment or until a message is full."""
        pause = self._sent_at + self._limits.pace_seconds - time.monotonic()
        if pause > 0 and self._waiting_bytes < self._batch_bytes:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), pause)

    def _note_progress(self) -> None:
        if self._waiting_bytes <= self._limits.buffer_bytes // 2:
            self._room.set()
        if not self._flushes:
            self._hurry.clear()
        if not self._has_work():
            self._work.clear()
            self._idle.set()

    async def _send_one(self) -> bool:
        """Sends one batch and keeps the log within its limit; false if NATS does not let us."""
        if self._sending is None:
            self._sending = self._take()
        try:
            while self._sending is not None:
                await self._publish(self._sending)
            await self._trim()
        except (Unavailable, Full) as error:
            _log.debug("the log of run %s has to wait: %s", self._run_id, error)
            return False
        return True

    def _take(self) -> Batch | None:
        if self._missing.lines:
            notice = encode_line(self._missing.notice(), self._line_bytes)
            self._waiting.appendleft(notice)
            self._waiting_bytes += len(notice.data)
            self._missing = _Missing()
        if not self._waiting:
            return None
        batch = take_batch(self._waiting, self._batch_bytes)
        self._waiting_bytes -= sum(map(len, batch.lines))
        return batch

    async def _publish(self, batch: Batch) -> None:
        place = batch.place(self._end.next_seq, self._end.offset, self._author)
        headers = {**place.headers(), EXPECTED_REVISION: str(self._end.stream_seq)}
        self._sent_at = time.monotonic()
        try:
            with translated():
                answer = await self._session.js.publish(
                    self._subject, batch.payload(), timeout=REQUEST_SECONDS, headers=headers
                )
        except Conflict:
            await self._look(place)
        except TooLarge:
            _log.warning("NATS takes no message of %d bytes: lines of run %s are lost", batch.size, self._run_id)
            for data in batch.lines:
                self._missing.add(EncodedLine(data, len(data)), away=False)
            self._sending = None
        else:
            self._stored(place, answer.seq)

    def _stored(self, place: Place, stream_seq: int) -> None:
        self._end = _End(place.next_seq, place.end, stream_seq)
        self._wrote, self._sending = True, None

    async def _look(self, sent: Place) -> None:
        """The log does not end where we thought: an answer got lost, we take over, or somebody took over from us."""
        last = await self._messages.last(self._run_id)
        if last is None:
            self._end = _End(self._end.next_seq, self._end.offset, 0)
        elif last.place == sent:
            self._stored(sent, last.seq)
        elif last.place.author.term > self._author.term or (
            last.place.author.term == self._author.term and self._wrote
        ):
            _log.warning("another worker writes the log of run %s now", self._run_id)
            self._give_up()
        else:
            self._end = _End(last.place.next_seq, last.place.end, last.seq)
            self._first_offset = None

    async def _trim(self) -> None:
        """Above the limit the oldest eighth goes, so that it is not one purge per message."""
        if self._end.offset <= self._limits.max_run_bytes:
            return
        if self._first_offset is None:
            first = await self._messages.first(self._run_id)
            self._first_offset = first.place.offset if first is not None else self._end.offset
        if self._end.offset - self._first_offset <= self._limits.max_run_bytes:
            return
        target = self._end.offset - self._limits.max_run_bytes * 7 // 8
        found = await self._messages.holding_byte(self._run_id, target)
        if found is None or found.seq >= self._end.stream_seq:
            await self._messages.drop(self._run_id, before=self._end.stream_seq)
            self._first_offset = None
        else:
            await self._messages.drop(self._run_id, before=found.seq + 1)
            self._first_offset = found.place.end

    def _give_up(self) -> None:
        self.superseded = True
        self._waiting.clear()
        self._waiting_bytes = 0
        self._sending = None


@dataclass(slots=True)
class _Missing:
    """Lines that were dropped and are not mentioned in the log yet."""

    lines: int = 0
    size: int = 0
    away: bool = False

    def add(self, line: EncodedLine, away: bool) -> None:
        self.lines += 1
        self.size += line.text_bytes
        self.away = self.away or away

    def notice(self) -> Line:
        why = "NATS could not be reached" if self.away else "they came faster than they could be stored"
        text = f"{self.lines} lines ({self.size} bytes) of the log are missing here: {why}"
        return Line(time.time(), text, stream=NOTICE_STREAM, level="WARNING")
