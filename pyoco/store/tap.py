"""An ordered consumer of our own: each message of a stream once and in order, or an interruption."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.js import api

from .failures import StoreError, translated
from .names import KV_OPERATION
from .session import Session

_HEARTBEAT_SEC = 1.0
_SILENCE_SEC = 2.5 * _HEARTBEAT_SEC
_ROOM = 512  # the most changes in one batch: it bounds memory, and how long one transaction of a listener takes
_STATUS = "Status"
_STALLED = "Nats-Consumer-Stalled"
_LAST_CONSUMER_SEQUENCE = "Nats-Last-Consumer"
_MARKER = "Nats-Marker-Reason"


class Interrupted(Exception):
    """The consumer cannot be trusted any more; a new one has to go on behind the last message taken."""


@dataclass(frozen=True, slots=True)
class Message:
    """One stored value of a bucket; `data` is None where it was removed, `time` is the server's."""

    sequence: int
    subject: str
    data: bytes | None
    time: float


class Tap:
    """Use `opened`; then `take` until it raises Interrupted, then `close`.

    The library's ordered consumer needs seconds to notice a reconnect and restarts behind the back of its user.
    """

    def __init__(self, session: Session, stream: str, after: int) -> None:
        self._session = session
        self._stream = stream
        self._after = after
        self._expected = 1  # the consumer counts what it sends: a hole means that something got lost
        self._buffer: list[Message] = []
        self._problem: str | None = None
        self._heard = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._inbox: Subscription | None = None

    @classmethod
    async def opened(cls, session: Session, stream: str, after: int) -> Tap:
        tap = cls(session, stream, after)
        try:
            await tap._open()
        except BaseException:
            await tap.close()
            raise
        return tap

    async def take(self) -> list[Message]:
        """What has arrived, at most a second later: an empty list is a sign of life."""
        if not self._buffer and self._problem is None:
            self._heard.clear()
            try:
                async with asyncio.timeout(_SILENCE_SEC):
                    await self._heard.wait()
            except TimeoutError:
                self.interrupt("no sign of life")
        if self._problem is not None:
            raise Interrupted(self._problem)
        taken, self._buffer = self._buffer, []
        self._room.set()
        return taken

    def interrupt(self, why: str) -> None:
        """Makes `take` raise; what arrived and was not taken comes again from the next consumer."""
        self._problem = why
        self._heard.set()
        self._room.set()

    async def close(self) -> None:
        """Without interest in its inbox the server forgets the consumer by itself."""
        self.interrupt("closed")
        inbox, self._inbox = self._inbox, None
        if inbox is not None:
            with suppress(StoreError), translated():
                await inbox.unsubscribe()

    async def _open(self) -> None:
        client = self._session.client
        with translated():
            subject = client.new_inbox()
            self._inbox = await client.subscribe(subject, cb=self._receive)
            wanted = api.ConsumerConfig(
                deliver_subject=subject,
                deliver_policy=api.DeliverPolicy.BY_START_SEQUENCE,
                opt_start_seq=self._after + 1,
                ack_policy=api.AckPolicy.NONE,
                max_deliver=1,
                flow_control=True,
                idle_heartbeat=_HEARTBEAT_SEC,
                mem_storage=True,
                num_replicas=1,
            )
            await self._session.js.add_consumer(self._stream, wanted)

    async def _receive(self, message: Msg) -> None:
        if self._problem is not None:
            return
        headers = message.headers or {}
        if not message.data and headers.get(_STATUS) == "100":
            await self._sign_of_life(message, headers)
            return
        found = _positions(message.reply)
        if found is None:
            return
        sequence, counted, nanoseconds = found
        if counted != self._expected:
            self.interrupt(f"message {self._expected} got lost")
            return
        self._expected += 1
        removed = KV_OPERATION in headers or _MARKER in headers
        data = None if removed else message.data
        self._buffer.append(Message(sequence, message.subject, data, nanoseconds / 1e9))
        self._heard.set()
        if len(self._buffer) >= _ROOM:
            # Not taking more is what slows the server down: its flow control waits for an answer behind this message.
            self._room.clear()
            await self._room.wait()

    async def _sign_of_life(self, message: Msg, headers: dict[str, str]) -> None:
        sent = headers.get(_LAST_CONSUMER_SEQUENCE)
        if sent is not None and int(sent) != self._expected - 1:
            self.interrupt(f"messages up to {sent} got lost")
            return
        self._heard.set()
        answer = message.reply or headers.get(_STALLED)
        if answer:
            with suppress(StoreError):
                await self._session.publish(answer)


def _positions(reply: str) -> tuple[int, int, int] | None:
    """Sequence in the stream, number of the delivery, and the server's time, as the reply subject tells them."""
    parts = reply.split(".")
    if len(parts) < 9 or not reply.startswith("$JS.ACK."):
        return None
    first = 5 if len(parts) == 9 else 7  # newer servers may put a domain and an account in front
    return int(parts[first]), int(parts[first + 1]), int(parts[first + 2])
