"""Reads the messages of one subject of a stream, one by one or in batches, without a consumer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from datetime import datetime

from nats.aio.msg import Msg
from nats.js.api import RawStreamMsg

from .failures import Missing, Unavailable, translated
from .session import REQUEST_SECONDS, Session

BATCH_VERSION = (2, 11, 0)
_BATCH_MESSAGES = 256
_BATCH_BYTES = 1 << 20
_END_OF_BATCH = "204"
_NOTHING_THERE = "404"


@dataclass(frozen=True, slots=True)
class Message:
    """A stored message."""

    seq: int
    subject: str
    data: bytes
    headers: Mapping[str, str]
    time: datetime | None = None


class StreamReader:
    """`last` and `first` ask the leader. The others may be answered by a replica that is a moment behind."""

    def __init__(self, session: Session, stream: str) -> None:
        self._session = session
        self._stream = stream

    async def last(self, subject: str) -> Message | None:
        return await self._get(subject=subject)

    async def first(self, subject: str) -> Message | None:
        return await self._get(subject=subject, seq=1, next=True)

    async def next(self, subject: str, seq: int) -> Message | None:
        """The first message at or after that sequence number."""
        return await self._get(subject=subject, seq=max(seq, 1), next=True, direct=True)

    async def at(self, seq: int) -> Message | None:
        return await self._get(seq=seq)

    async def read(self, subject: str, seq: int) -> AsyncGenerator[Message, None]:
        """All messages at or after that number, fetched as they are consumed: first one, then more and more at once.

        Close it (`contextlib.aclosing`) when you leave before its end.
        """
        batched = self._session.version >= BATCH_VERSION
        size = 1
        while True:
            before = seq
            async with aclosing(self._fetch(subject, seq, size)) as messages:
                async for message in messages:
                    yield message
                    seq = message.seq + 1
            if seq == before:
                return
            if batched:
                size = min(size * 4, _BATCH_MESSAGES)

    async def _fetch(self, subject: str, seq: int, size: int) -> AsyncGenerator[Message, None]:
        if size > 1:
            async with aclosing(self._batch(subject, seq, size)) as messages:
                async for message in messages:
                    yield message
        elif (found := await self.next(subject, seq)) is not None:
            yield found

    async def _get(
        self, subject: str | None = None, seq: int | None = None, next: bool = False, direct: bool = False
    ) -> Message | None:
        try:
            with translated():
                found = await self._session.js.get_msg(self._stream, seq=seq, subject=subject, next=next, direct=direct)
        except Missing:
            return None
        return _lifted(found)

    async def _batch(self, subject: str, seq: int, size: int) -> AsyncGenerator[Message, None]:
        """One batched direct get: its messages, then an empty one with a status."""
        client = self._session.client
        request = {
            "seq": max(seq, 1),
            "next_by_subj": subject,
            "batch": size,
            "max_bytes": _BATCH_BYTES,
        }
        with translated():
            inbox = await client.subscribe(client.new_inbox())
        try:
            with translated():
                await client.publish(
                    f"$JS.API.DIRECT.GET.{self._stream}", json.dumps(request).encode(), reply=inbox.subject
                )
            while True:
                with translated():
                    answer = await inbox.next_msg(timeout=REQUEST_SECONDS)
                status = _status(answer)
                if status in (_END_OF_BATCH, _NOTHING_THERE):
                    return
                if status is not None:
                    raise Unavailable(f"stream {self._stream} answers {status}")
                yield _message(answer)
        finally:
            with suppress(Unavailable), translated():
                await asyncio.shield(inbox.unsubscribe())


def _status(answer: Msg) -> str | None:
    return answer.headers.get("Status") if answer.headers and not answer.data else None


def _message(answer: Msg) -> Message:
    headers = answer.headers or {}
    return Message(
        int(headers["Nats-Sequence"]),
        headers["Nats-Subject"],
        answer.data,
        headers,
        datetime.fromisoformat(headers["Nats-Time-Stamp"]),
    )


def _lifted(found: RawStreamMsg) -> Message:
    return Message(found.seq or 0, found.subject or "", found.data or b"", found.headers or {}, found.time)
