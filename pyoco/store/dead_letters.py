"""Dead letters: what could not be worked on, kept for people to look at."""

from __future__ import annotations

import logging
from collections import deque
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime

from ..domain.values import Document, Unreadable, encode
from .codec import json_object
from .failures import Missing, translated
from .names import MSG_ID, Names
from .session import REQUEST_SECONDS, Session
from .stream_reader import Message, StreamReader

INVALID_JOB = "invalid_job"
FLOW_NOT_FOUND = "flow_not_found"
EXECUTION_ERROR = "execution_error"
MAX_DELIVER = "max_deliver"
_log = logging.getLogger("pyoco.store")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """The fields of v0. `subject` is the one the job came from."""

    timestamp: float
    reason: str
    error: str | None
    run_id: str | None = None
    flow_name: str | None = None
    tag: str | None = None
    tags: tuple[str, ...] | None = None
    worker_id: str | None = None
    num_delivered: int | None = None
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class StoredLetter:
    """A dead letter as it is stored, whoever wrote it; `seq` is its name."""

    seq: int
    tag: str
    stored_at: datetime | None
    document: Document


@dataclass(frozen=True, slots=True)
class LetterPage:
    """Newest first; `before` asks for the following page, None if there is none."""

    letters: list[StoredLetter]
    before: int | None


def letter_to_json(letter: DeadLetter) -> Document:
    """`error` is always there, as in v0; what is not known is left out."""
    optional: Document = {
        "run_id": letter.run_id,
        "flow_name": letter.flow_name,
        "tag": letter.tag,
        "tags": list(letter.tags) if letter.tags is not None else None,
        "worker_id": letter.worker_id,
        "num_delivered": letter.num_delivered,
        "subject": letter.subject,
    }
    known = {name: value for name, value in optional.items() if value is not None}
    return {"timestamp": letter.timestamp, "reason": letter.reason, "error": letter.error, **known}


class DeadLetters:
    def __init__(self, session: Session, names: Names) -> None:
        self._session = session
        self._names = names
        self._stream = StreamReader(session, names.dlq_stream)

    async def publish(self, letter: DeadLetter, message_id: str) -> bool:
        """False if the server has seen this id already."""
        with translated():
            answer = await self._session.js.publish(
                self._subject(letter),
                encode(letter_to_json(letter)),
                timeout=REQUEST_SECONDS,
                headers={MSG_ID: message_id},
            )
        return not answer.duplicate

    async def count(self) -> int:
        with translated():
            info = await self._session.js.stream_info(self._names.dlq_stream)
        return info.state.messages

    async def get(self, seq: int) -> StoredLetter:
        """Missing if there is none, Unreadable if it is none."""
        message = await self._stream.at(seq)
        if message is None:
            raise Missing(f"there is no dead letter {seq}")
        return self._letter(message)

    async def delete(self, seq: int) -> None:
        """Missing if there is none."""
        if await self._stream.at(seq) is None:
            raise Missing(f"there is no dead letter {seq}")
        with translated():
            await self._session.js.delete_msg(self._names.dlq_stream, seq)

    async def newest(self, limit: int, before: int | None = None, tag: str | None = None) -> LetterPage:
        """The newest ones, or those before a sequence number. What cannot be read is skipped and logged."""
        with translated():
            state = (await self._session.js.stream_info(self._names.dlq_stream)).state
        end = state.last_seq + 1 if before is None else min(before, state.last_seq + 1)
        found: list[Message] = []
        first, window = max(1, state.first_seq), limit + 1
        # A stream is read forwards only: look at ranges from its end, larger each time, until there are enough.
        while end > first and len(found) <= limit:
            start = max(first, end - window)
            found = [*await self._last_in(start, end, limit + 1 - len(found), tag), *found]
            end, window = start, window * 2
        more = len(found) > limit
        page = found[-limit:][::-1]
        letters = [letter for message in page if (letter := self._readable(message)) is not None]
        return LetterPage(letters, page[-1].seq if more else None)

    async def _last_in(self, start: int, end: int, count: int, tag: str | None) -> list[Message]:
        """The last messages with a sequence from `start` up to before `end`."""
        kept: deque[Message] = deque(maxlen=count)
        subject = self._names.dlq_subject(">" if tag is None else tag)
        async with aclosing(self._stream.read(subject, start)) as messages:
            async for message in messages:
                if message.seq >= end:
                    break
                kept.append(message)
        return [*kept]

    def _subject(self, letter: DeadLetter) -> str:
        """A job that says no tag is filed under the one it was queued with."""
        tag = letter.tag or (letter.subject or "").removeprefix(f"{self._names.work_prefix}.")
        return self._names.dlq_subject(tag or "unknown")

    def _letter(self, message: Message) -> StoredLetter:
        tag = message.subject.removeprefix(f"{self._names.dlq_prefix}.")
        return StoredLetter(message.seq, tag, message.time, json_object(message.data))

    def _readable(self, message: Message) -> StoredLetter | None:
        try:
            return self._letter(message)
        except Unreadable as error:
            _log.warning("dead letter %d cannot be read: %s", message.seq, error)
            return None
