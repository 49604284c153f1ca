"""The feed: every change of a run document, told in order to all listeners of this process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol

from .bucket import Bucket, BucketState
from .failures import StoreError
from .names import kv_key
from .session import Session
from .tap import Interrupted, Message, Tap

_FIRST_PAUSE_SEC = 0.05
_LONGEST_PAUSE_SEC = 5.0
_log = logging.getLogger("pyoco.store")


@dataclass(frozen=True, slots=True)
class Change:
    """What was written to a run's document; `data` is None where the run was removed. `time` is the server's."""

    revision: int
    run_id: str
    data: bytes | None
    time: float


@dataclass(frozen=True, slots=True)
class Position:
    """How far a listener got, and in which stream: a recreated one counts from the start again."""

    stream: str = ""
    sequence: int = 0


class Listener(Protocol):
    """`position` is the listener's own: one that steps back is told again what it lost."""

    @property
    def position(self) -> Position | None:
        """None: from now on."""
        ...

    async def start_at(self, position: Position) -> None:
        """What was told before is void; the next change comes after this position."""
        ...

    async def resumed(self, bucket: Bucket) -> None:
        """There was a time without listening: a removal in it may have left no trace to be told."""
        ...

    async def changed(self, changes: Sequence[Change]) -> None:
        """Must move the position to the last of them. One that raises is told the same again."""
        ...


class Feed:
    """One subscription per process, whatever the number of listeners. Use as an async context manager."""

    def __init__(self, session: Session, bucket: str, listeners: Sequence[Listener]) -> None:
        self._session = session
        self._bucket = Bucket(session, bucket)
        self._listeners = tuple(listeners)
        self._tap: Tap | None = None
        self._task: asyncio.Task[None] | None = None
        self._again = asyncio.Event()
        self._pause = _FIRST_PAUSE_SEC
        self._goal = 0
        self._told = 0
        self.caught_up = asyncio.Event()  # everybody has been told what was stored when the feed last began

    async def __aenter__(self) -> Feed:
        self._session.on_reconnect(self._reconnected)
        self._task = asyncio.create_task(self._run(), name="feed")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._session.remove_listener(self._reconnected)
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _reconnected(self) -> None:
        """A consumer of the old connection is deaf for seconds, or gone."""
        self._again.set()
        if self._tap is not None:
            self._tap.interrupt("connected again")

    async def _run(self) -> None:
        while True:
            await self._session.connected.wait()
            self._again.clear()
            try:
                await self._follow()
            except Interrupted as reason:
                _log.info("the feed of runs starts again: %s", reason)
            except StoreError as error:
                _log.warning("the feed of runs has to wait: %s", error)
            except Exception:  # noqa: BLE001 - whatever a listener raises
                # Nothing is lost by trying again, and without the feed this process would show old runs for ever.
                _log.exception("the feed of runs failed and starts again")
            await self._rest()

    async def _rest(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._pause):
                await self._again.wait()
        self._pause = min(self._pause * 2, _LONGEST_PAUSE_SEC)

    async def _follow(self) -> None:
        state = await self._bucket.state()
        await self._place(state)
        self._told = self._lowest()
        self._tap = await self._bucket.tap(self._told)
        try:
            while True:
                if self._lowest() >= self._goal:
                    self.caught_up.set()
                messages = await self._tap.take()
                self._pause = _FIRST_PAUSE_SEC
                await self._tell([self._change(message) for message in messages])
        finally:
            tap, self._tap = self._tap, None
            await tap.close()

    async def _place(self, state: BucketState) -> None:
        self._goal = state.last
        for listener in self._listeners:
            position = listener.position
            if position is None:
                await listener.start_at(Position(state.created, state.last))
            elif position.stream != state.created or position.sequence > state.last:
                if position.stream:
                    _log.warning("the stream of runs is another one than before; reading it from its start")
                await listener.start_at(Position(state.created, 0))
            await listener.resumed(self._bucket)
        if self._lowest() < self._goal:
            self.caught_up.clear()

    def _lowest(self) -> int:
        return min((self._sequence(listener) for listener in self._listeners), default=0)

    @staticmethod
    def _sequence(listener: Listener) -> int:
        position = listener.position
        return position.sequence if position is not None else 0

    def _change(self, message: Message) -> Change:
        return Change(message.sequence, kv_key(self._bucket.name, message.subject), message.data, message.time)

    async def _tell(self, changes: list[Change]) -> None:
        """Each what is new to it: after a restart for one of them the others have heard a part already."""
        for listener in self._listeners:
            known = self._sequence(listener)
            fresh = changes if not changes or changes[0].revision > known else _after(changes, known)
            if fresh:
                await listener.changed(fresh)
        if changes:
            self._told = changes[-1].revision
        if self._lowest() < self._told:
            raise Interrupted("a listener has lost what it was told")


def _after(changes: list[Change], revision: int) -> list[Change]:
    return [change for change in changes if change.revision > revision]
