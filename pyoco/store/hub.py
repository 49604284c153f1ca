"""Watching runs: any number of watchers of any run share the one feed of the process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from ..domain.run import Run
from ..domain.values import Unreadable
from .bucket import Bucket
from .codec import run_from_bytes
from .feed import Change, Position

_log = logging.getLogger("pyoco.store")


@dataclass(frozen=True, slots=True)
class RunChange:
    """A run as it is since this revision; None where it was removed. `time` is the server's."""

    revision: int
    run: Run | None
    time: float

    @property
    def is_last(self) -> bool:
        return self.run is None or self.run.is_terminal


class Watcher:
    """An async iterator over the changes of one run; a slow reader gets the newest only. Ends after the last one.

    Reading can be given up (time-out, cancel) and taken up again without losing anything.
    """

    def __init__(self) -> None:
        self._waiting: RunChange | None = None
        self._arrived = asyncio.Event()
        self._after = 0
        self._known: tuple[int, float, str] | None = None
        self._ended = False

    def seen(self, revision: int, run: Run) -> None:
        """The reader knows this much already, from reading the document itself after it began to watch."""
        self._after = max(self._after, revision)
        if self._waiting is not None and self._waiting.revision <= revision:
            self._waiting = None
            self._arrived.clear()
        if self._waiting is None:
            self._known = _identity(run)

    def __aiter__(self) -> Watcher:
        return self

    async def __anext__(self) -> RunChange:
        if self._ended:
            raise StopAsyncIteration
        while self._waiting is None:
            await self._arrived.wait()
        change, self._waiting = self._waiting, None
        self._arrived.clear()
        self._ended = change.is_last
        return change

    def offer(self, change: RunChange) -> None:
        if change.revision <= self._after:
            return
        ended = self._waiting is not None and self._waiting.is_last
        if ended and (change.run is None or not change.run.is_terminal):
            return  # such as the removal of a run whose end was not read yet: its end is what the reader waits for
        self._after = change.revision
        identity = _identity(change.run) if change.run is not None else None
        if identity is not None and identity == self._known:
            return  # a heartbeat
        self._known = identity
        self._waiting = change
        self._arrived.set()

    def forget(self) -> None:
        """Revisions count from the start again."""
        self._after, self._known = 0, None


class Hub:
    """A listener of the feed. Begin to watch first, then read the document: nothing can fall in between."""

    def __init__(self) -> None:
        self._watchers: dict[str, set[Watcher]] = {}
        self._position: Position | None = None

    @property
    def position(self) -> Position | None:
        return self._position

    @property
    def watched(self) -> int:
        """How many runs are watched."""
        return len(self._watchers)

    @asynccontextmanager
    async def watch(self, run_id: str) -> AsyncIterator[Watcher]:
        watcher = Watcher()
        self._watchers.setdefault(run_id, set()).add(watcher)
        try:
            yield watcher
        finally:
            others = self._watchers[run_id]
            others.discard(watcher)
            if not others:
                del self._watchers[run_id]

    async def start_at(self, position: Position) -> None:
        self._position = position
        for watchers in self._watchers.values():
            for watcher in watchers:
                watcher.forget()

    async def resumed(self, bucket: Bucket) -> None:
        """A run that vanished without a trace has ended before; its watchers time out."""

    async def changed(self, changes: Sequence[Change]) -> None:
        for change in changes:
            watchers = self._watchers.get(change.run_id)
            if watchers:
                self._offer(change, watchers)
        assert self._position is not None
        self._position = Position(self._position.stream, changes[-1].revision)

    @staticmethod
    def _offer(change: Change, watchers: set[Watcher]) -> None:
        """Reads the document once, for all of them."""
        try:
            run = None if change.data is None else run_from_bytes(change.data)
        except (Unreadable, RecursionError) as error:
            _log.warning("the document of run %s cannot be read: %s", change.run_id, error)
            return
        told = RunChange(change.revision, run, change.time)
        for watcher in watchers:
            watcher.offer(told)


def _identity(run: Run) -> tuple[int, float, str]:
    """What a heartbeat does not change."""
    return run.version, run.updated_at, run.status.value
