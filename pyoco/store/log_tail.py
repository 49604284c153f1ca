"""Follows the logs of runs as they grow: one consumer for all viewers of this process."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict, deque
from contextlib import suppress
from functools import partial
from types import TracebackType

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.js import api

from ..domain.values import Unreadable
from .failures import StoreError, Unavailable, translated
from .log_lines import Entry, Place, entries, place_from_headers
from .log_reader import LogReader
from .names import Names
from .session import Session

_HEARTBEAT_SECONDS = 1.0
_SILENCE_SECONDS = 2.5
_INACTIVE_SECONDS = 30.0
_RETRY_SECONDS = 0.2
_PAGE = 1000
_QUEUE = 256
_log = logging.getLogger("pyoco.store")

Live = tuple[Place, list[Entry]]


class Follower:
    """One viewer of one log. What arrives live is taken when it follows on what was given; else the log is read.

    So it does not matter what the live way loses or repeats: every line is given once, in order.
    """

    def __init__(self, tail: LogTail, run_id: str, since: int) -> None:
        self._tail = tail
        self.run_id = run_id
        self.position = since
        self._live: deque[Live] = deque()
        self._behind = True
        self._known = 0
        self._ending = False
        self._news = asyncio.Event()
        self._news.set()

    async def __aenter__(self) -> Follower:
        await self._tail.join(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._tail.leave(self)

    async def next(self, seconds: float) -> list[Entry] | None:
        """New entries, an empty list if there are none for that long, None after the last one (see `finish`)."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await self._next()
        return []

    def finish(self) -> None:
        """The log is complete: what is stored by now is given, then the end. Call it when the run has ended."""
        self._ending = True
        self.fall_behind()

    def offer(self, live: Live) -> None:
        self._known = max(self._known, live[0].next_seq - 1)
        if len(self._live) >= _QUEUE:
            self.fall_behind()
        elif not self._behind:
            self._live.append(live)
            self._news.set()

    def fall_behind(self) -> None:
        """What comes next has to be read."""
        self._live.clear()
        self._behind = True
        self._news.set()

    async def _next(self) -> list[Entry] | None:
        while True:
            await self._news.wait()
            if self._behind:
                ending = self._ending
                found = await self._read()
                if found:
                    return found
                if ending and await self._is_complete():
                    self._behind = True
                    return None
                if ending or self.position < self._known:
                    # A replica answered that is behind.
                    self._behind = True
                    await self._tail.pause()
            elif self._live:
                found = self._take(*self._live.popleft())
                if found:
                    return found
            else:
                self._news.clear()

    async def _read(self) -> list[Entry]:
        """A page of what is stored. Afterwards we are behind only if it held something, or somebody said so."""
        while True:
            # Before reading: what arrives meanwhile is new and must be kept.
            self._behind = False
            try:
                page = await self._tail.reader.entries(self.run_id, self.position, _PAGE)
            except Unavailable as error:
                _log.debug("the log of run %s has to wait: %s", self.run_id, error)
                self._behind = True
                await self._tail.pause()
            except BaseException:
                self._behind = True
                raise
            else:
                if page.entries:
                    self.position = page.next
                    self._behind = True
                return page.entries

    async def _is_complete(self) -> bool:
        """As the leader sees it: the page may have come from a replica."""
        try:
            return self.position >= (await self._tail.reader.state(self.run_id)).last_seq
        except Unavailable:
            return False

    def _take(self, place: Place, batch: list[Entry]) -> list[Entry]:
        """The part of a live batch that was not given yet."""
        if place.first_seq > self.position + 1:
            self.fall_behind()
            return []
        fresh = batch[self.position + 1 - place.first_seq :]
        if fresh:
            self.position = fresh[-1].seq
        return fresh


class LogTail:
    """Use as an async context manager; `follow` gives a viewer. The consumer exists while there are viewers."""

    def __init__(self, session: Session, names: Names) -> None:
        self._session = session
        self._names = names
        self.reader = LogReader(session, names)
        self._followers: defaultdict[str, set[Follower]] = defaultdict(set)
        self._consumer: str | None = None
        self._inbox: Subscription | None = None
        self._received = 0
        self._heard = 0.0
        self._changing = asyncio.Lock()
        self._renew = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> LogTail:
        self._session.on_reconnect(self._on_reconnect)
        self._task = asyncio.create_task(self._watch(), name="log-tail")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._session.remove_listener(self._on_reconnect)
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        async with self._changing:
            await self._close()

    def follow(self, run_id: str, since: int = 0) -> Follower:
        """The entries after `since`, then those to come. Use it as an async context manager."""
        return Follower(self, run_id, since)

    async def join(self, follower: Follower) -> None:
        self._followers[follower.run_id].add(follower)
        if self._inbox is None:
            self._renew.set()

    async def leave(self, follower: Follower) -> None:
        self._followers[follower.run_id].discard(follower)
        if not self._followers[follower.run_id]:
            del self._followers[follower.run_id]
        if not self._followers:
            async with self._changing:
                if not self._followers:
                    await self._close()

    async def pause(self) -> None:
        """For followers while NATS does not answer."""
        await asyncio.sleep(_RETRY_SECONDS)
        await self._session.connected.wait()

    async def _on_reconnect(self) -> None:
        self._renew.set()

    async def _watch(self) -> None:
        """Opens the consumer, and a new one after a reconnect, a gap or silence."""
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._renew.wait(), _HEARTBEAT_SECONDS)
            silent = self._inbox is not None and time.monotonic() - self._heard > _SILENCE_SECONDS
            if (not self._renew.is_set() and not silent) or not self._session.connected.is_set():
                await self._session.connected.wait()
                continue
            self._renew.clear()
            try:
                async with self._changing:
                    await self._close()
                    if self._followers:
                        await self._open()
            except StoreError as error:
                _log.warning("cannot follow the logs: %s; trying again", error)
                self._renew.set()
                await asyncio.sleep(_RETRY_SECONDS)

    async def _open(self) -> None:
        """From now on; whatever came before, the followers read."""
        client, inbox = self._session.client, self._session.client.new_inbox()
        wanted = api.ConsumerConfig(
            deliver_subject=inbox,
            deliver_policy=api.DeliverPolicy.NEW,
            ack_policy=api.AckPolicy.NONE,
            max_deliver=1,
            mem_storage=True,
            num_replicas=1,
            flow_control=True,
            idle_heartbeat=_HEARTBEAT_SECONDS,
            inactive_threshold=_INACTIVE_SECONDS,
        )
        self._received, self._heard = 0, time.monotonic()
        with translated():
            self._inbox = await client.subscribe(inbox, cb=partial(self._receive, inbox))
            self._consumer = (await self._session.js.add_consumer(self._names.logs_stream, wanted)).name
        for follower in self._everybody():
            follower.fall_behind()

    async def _close(self) -> None:
        inbox, self._inbox = self._inbox, None
        consumer, self._consumer = self._consumer, None
        if not self._session.connected.is_set():
            return
        # What cannot be removed now disappears by itself.
        with suppress(StoreError), translated():
            if inbox is not None:
                await inbox.unsubscribe()
            if consumer is not None:
                await self._session.js.delete_consumer(self._names.logs_stream, consumer)

    async def _receive(self, inbox: str, message: Msg) -> None:
        if self._inbox is None or self._inbox.subject != inbox:
            return
        self._heard = time.monotonic()
        if message.headers and message.headers.get("Status") == "100":
            await self._on_status(message)
            return
        self._received += 1
        metadata = message.metadata
        if metadata.sequence.consumer != self._received:
            self._renew.set()
            return
        followers = self._followers.get(_run_of(message, self._names))
        if not followers:
            return
        try:
            place = place_from_headers(message.headers or {})
            live = place, entries(place, message.data)
        except Unreadable as error:
            _log.warning("message %d of the logs: %s", metadata.sequence.stream, error)
            return
        for follower in followers:
            follower.offer(live)

    async def _on_status(self, message: Msg) -> None:
        """Flow control wants an answer; a heartbeat says how many messages there were."""
        headers = message.headers or {}
        answer_to = message.reply or headers.get("Nats-Consumer-Stalled")
        if answer_to:
            with suppress(Unavailable):
                await self._session.publish(answer_to)
        last = headers.get("Nats-Last-Consumer")
        if last is not None and int(last) != self._received:
            self._renew.set()

    def _everybody(self) -> list[Follower]:
        return [follower for followers in self._followers.values() for follower in followers]


def _run_of(message: Msg, names: Names) -> str:
    return message.subject.removeprefix(f"{names.logs_prefix}.")
