"""The read model: what lists, totals and housekeeping ask, kept up to date by the feed."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import Concatenate, ParamSpec, TypeVar

from ..domain.run import RunStatus
from . import model_database as database
from . import model_queries as queries
from . import model_work as work
from .bucket import Bucket
from .cursor import CreatedKey, Cursor
from .documents import Documents
from .failures import Unavailable
from .feed import Change, Position
from .model_queries import CreatedPage, Filters, Page
from .model_rows import RunSummary
from .model_work import EndedRun, TagLoad, WorkRow

_READERS = 2
_CHECKED_ONE_BY_ONE = 1000
_log = logging.getLogger("pyoco.store")

P = ParamSpec("P")
T = TypeVar("T")


class ReadModel:
    """A listener of the feed. Use as an async context manager around the feed; no call blocks the event loop.

    The file is a copy: where it is missing, broken or of another version, the feed fills a new one. Until
    `Feed.caught_up` the answers may be older than what is stored.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = Position()
        self._writer: sqlite3.Connection | None = None
        self._readers: SimpleQueue[sqlite3.Connection] = SimpleQueue()
        self._writing = ThreadPoolExecutor(1, "read-model-writer")
        self._reading = ThreadPoolExecutor(_READERS, "read-model-reader")
        self._opened = 0
        self._swap = asyncio.Lock()
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    async def __aenter__(self) -> ReadModel:
        try:
            await self._in_writer(self._open)
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._in_writer(self._reading.shutdown)  # waits for reads under way
        await self._in_writer(self._close)
        self._writing.shutdown()

    # What the feed tells.

    @property
    def position(self) -> Position:
        return self._position

    async def start_at(self, position: Position) -> None:
        await self._write(database.start_over, position)
        self._position = position

    async def resumed(self, bucket: Bucket) -> None:
        """Tombstones disappear after a minute: what was removed while nobody listened is found by comparing."""
        upto = self._position
        if upto.sequence == 0:
            return
        known = await self._read(work.known_until, upto.sequence)
        candidates = known - await bucket.keys() if known else known
        if len(candidates) > _CHECKED_ONE_BY_ONE:
            await self.start_at(Position(upto.stream, 0))
            return
        documents = Documents(bucket.session, bucket.name)
        vanished = [run_id for run_id in candidates if await documents.get(run_id) is None]
        if vanished:
            _log.info("%d runs were removed while the read model was not listening", len(vanished))
            await self._write(database.remove, vanished, upto.sequence)

    async def changed(self, changes: Sequence[Change]) -> None:
        position = Position(self._position.stream, changes[-1].revision)
        await self._write(database.apply, changes, position)
        self._position = position
        self._wake()

    async def wait_for(self, revision: int, seconds: float) -> bool:
        """Until the model holds what was written at this revision; false if that takes longer."""
        if self._position.sequence >= revision:
            return True
        arrived: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (revision, arrived)
        self._waiting.append(entry)
        try:
            async with asyncio.timeout(seconds):
                await arrived
        except TimeoutError:
            return False
        finally:
            if entry in self._waiting:
                self._waiting.remove(entry)
        return True

    # What everybody else asks.

    async def newest(self, filters: Filters, limit: int) -> tuple[RunSummary, ...]:
        return await self._read(queries.newest, filters, limit)

    async def newest_created(self, filters: Filters, limit: int, after: CreatedKey | None = None) -> CreatedPage:
        return await self._read(queries.newest_created, filters, limit, after)

    async def page(self, filters: Filters, limit: int, cursor: Cursor | None, now: float) -> Page:
        return await self._read(queries.page, filters, limit, cursor, now)

    async def totals(self) -> dict[RunStatus, int]:
        return await self._read(work.totals)

    async def load_by_tag(self) -> tuple[TagLoad, ...]:
        return await self._read(work.load_by_tag)

    async def queued(self, tag: str) -> tuple[WorkRow, ...]:
        return await self._read(work.queued, tag)

    async def claimed(self, instance_id: str | None = None) -> tuple[WorkRow, ...]:
        return await self._read(work.claimed, instance_id)

    async def cancelling(self) -> tuple[WorkRow, ...]:
        return await self._read(work.cancelling)

    async def ended_before(self, moment: float, limit: int) -> tuple[EndedRun, ...]:
        return await self._read(work.ended_before, moment, limit)

    # Threads and connections.

    def _wake(self) -> None:
        due = [entry for entry in self._waiting if entry[0] <= self._position.sequence]
        for entry in due:
            self._waiting.remove(entry)
            if not entry[1].done():
                entry[1].set_result(None)

    def _open(self) -> None:
        self._writer = database.open_or_rebuild(self._path)
        self._position = database.position_in(self._writer)
        for _ in range(_READERS):
            self._readers.put(database.connect(self._path))
            self._opened += 1

    def _close(self) -> None:
        """Waits for the reads under way: each gives its connection back."""
        while self._opened:
            self._readers.get().close()
            self._opened -= 1
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    async def _in_writer(self, function: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._writing, function)

    async def _write(
        self, function: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kw: P.kwargs
    ) -> T:
        writer = self._writer

        def in_thread() -> T:
            assert self._writer is not None
            return function(self._writer, *args, **kw)

        try:
            return await self._in_writer(in_thread)
        except sqlite3.Error as error:
            await self._after(error, writer)
            raise Unavailable(f"the read model cannot be written: {error}") from error

    async def _read(
        self, function: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kw: P.kwargs
    ) -> T:
        writer = self._writer

        def in_thread() -> T:
            connection = self._readers.get()
            try:
                return function(connection, *args, **kw)
            finally:
                self._readers.put(connection)

        try:
            return await asyncio.get_running_loop().run_in_executor(self._reading, in_thread)
        except sqlite3.Error as error:
            await self._after(error, writer)
            raise Unavailable(f"the read model cannot be read: {error}") from error

    async def _after(self, error: sqlite3.Error, writer: sqlite3.Connection | None) -> None:
        """Replaces a damaged file by an empty one, once however many notice; the feed sees the step back."""
        async with self._swap:
            if database.is_broken(error) and writer is self._writer:
                _log.error("the read model %s is broken (%s); building it anew", self._path.name, error)
                await self._in_writer(self._replace)
                self._position = Position()

    def _replace(self) -> None:
        self._close()
        database.rebuild(self._path).close()
        self._open()
