"""The work queue: publishing jobs, and a pull loop of our own that resumes at once after a reconnect."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from .failures import Unavailable, translated
from .names import MSG_ID, Names, durable_name, next_subject
from .session import REQUEST_SECONDS, Session

_EXPIRES_SEC = 10.0
_HEARTBEAT_SEC = 1.0
_SILENCE_SEC = 2.2 * _HEARTBEAT_SEC
_ACK_TRIES = 3
_log = logging.getLogger("pyoco.store")


class WorkMessage:
    """A delivered job. Its handle is void after a reconnect: an old one could hit somebody else's message."""

    def __init__(self, session: Session, message: Msg) -> None:
        self._session = session
        self._epoch = session.epoch
        self._reply = message.reply
        self.data = message.data
        self.subject = message.subject
        self.delivered = message.metadata.num_delivered
        self.sequence = message.metadata.sequence.stream

    @property
    def valid(self) -> bool:
        return self._epoch == self._session.epoch and self._session.connected.is_set()

    async def ack(self) -> bool:
        """Removes the message; false if its handle is void by now."""
        return await self._settle(b"+ACK")

    async def retry_later(self, seconds: float) -> bool:
        delay = json.dumps({"delay": int(seconds * 1e9)})
        return await self._settle(f"-NAK {delay}".encode())

    async def terminate(self, reason: str) -> bool:
        """Never delivers it again; the reason appears in the server's advisory."""
        return await self._settle(f"+TERM {reason}".encode())

    async def in_progress(self) -> None:
        if self.valid:
            await self._session.publish(self._reply, b"+WPI")

    async def _settle(self, answer: bytes) -> bool:
        for _ in range(_ACK_TRIES):
            if not self.valid:
                return False
            with suppress(Unavailable):
                await self._session.request(self._reply, answer)
                return True
        return False


class WorkQueue:
    """Publishes jobs to tags."""

    def __init__(self, session: Session, names: Names) -> None:
        self._session = session
        self._names = names

    async def publish(self, tag: str, payload: bytes, message_id: str) -> bool:
        """Queues a job; false if the server has seen this id already."""
        with translated():
            answer = await self._session.js.publish(
                self._names.work_subject(tag), payload, timeout=REQUEST_SECONDS, headers={MSG_ID: message_id}
            )
        return not answer.duplicate


class Puller:
    """Asks the consumer of one tag for as many messages as `wanted` says, all the time. Use as a context manager."""

    def __init__(
        self,
        session: Session,
        names: Names,
        tag: str,
        wanted: Callable[[], int],
        deliver: Callable[[WorkMessage], None],
    ) -> None:
        self._session = session
        self._subject = next_subject(names.work_stream, durable_name(tag))
        self._tag = tag
        self._wanted = wanted
        self._deliver = deliver
        self._asked = 0
        self._heard = time.monotonic()
        self._inbox: Subscription | None = None
        self._watchdog: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Puller:
        self._session.on_reconnect(self._start_over)
        await self._open()
        self._watchdog = asyncio.create_task(self._watch(), name=f"pull-{self._tag}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._session.remove_listener(self._start_over)
        if self._watchdog is not None:
            self._watchdog.cancel()
            with suppress(asyncio.CancelledError):
                await self._watchdog
        await self._close()

    async def ask(self) -> None:
        """Asks for what is wanted beyond what was asked for already; call it when a slot gets free."""
        missing = self._wanted() - self._asked
        if missing <= 0 or self._inbox is None or not self._session.connected.is_set():
            return
        self._asked += missing
        request = {
            "batch": missing,
            "expires": int(_EXPIRES_SEC * 1e9),
            "idle_heartbeat": int(_HEARTBEAT_SEC * 1e9),
        }
        self._heard = time.monotonic()
        with suppress(Unavailable):
            await self._publish_request(json.dumps(request).encode())

    async def _publish_request(self, payload: bytes) -> None:
        assert self._inbox is not None
        with translated():
            await self._session.client.publish(self._subject, payload, reply=self._inbox.subject)

    async def _open(self) -> None:
        with translated():
            inbox = self._session.client.new_inbox()
            self._inbox = await self._session.client.subscribe(inbox, cb=self._receive)
        self._asked = 0
        await self.ask()

    async def _close(self) -> None:
        inbox, self._inbox = self._inbox, None
        if inbox is not None and self._session.connected.is_set():
            with suppress(Unavailable), translated():
                await inbox.unsubscribe()

    async def _start_over(self) -> None:
        """Pulls of the old connection are gone; a fresh inbox keeps their late answers apart."""
        await self._close()
        await self._open()

    async def _receive(self, message: Msg) -> None:
        self._heard = time.monotonic()
        status = message.headers.get("Status") if message.headers and not message.data else None
        if status == "100":
            return
        if status is None:
            self._asked -= 1
            self._deliver(WorkMessage(self._session, message))
            return
        left = message.headers.get("Nats-Pending-Messages") if message.headers else None
        self._asked = max(0, self._asked - int(left)) if left else 0
        if status == "503":
            await asyncio.sleep(0.2)
        await self.ask()

    async def _watch(self) -> None:
        """The net for lost answers: a pull without a sign of life is asked again."""
        while True:
            await asyncio.sleep(_HEARTBEAT_SEC)
            silent = time.monotonic() - self._heard > _SILENCE_SEC
            if self._session.connected.is_set() and self._asked and silent:
                _log.warning("no answer to the pull of tag %s; asking again", self._tag)
                self._asked = 0
            await self.ask()
