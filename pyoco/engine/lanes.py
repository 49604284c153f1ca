"""Event loops for tasks that are coroutines.

A coroutine that blocks holds up its whole event loop, so it must not be the loop that moves the run on, and coroutines
that were not started yet must be able to go elsewhere: to another lane.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from .capture import UnmarkedThread

BLOCKED_AFTER_SEC = 0.1
_log = logging.getLogger("pyoco.engine")


@dataclass(slots=True)
class CoroutineJob:
    """`lost` hears of a job that did not run to its end: its task was cancelled from outside, or it raised."""

    start: Callable[[], Coroutine[Any, Any, None]]
    variables: contextvars.Context
    lost: Callable[[BaseException], None]

    def finished(self, task: asyncio.Task[None]) -> None:
        if task.cancelled():
            self.lost(asyncio.CancelledError("somebody cancelled a coroutine of the run"))
        elif (error := task.exception()) is not None:
            self.lost(error)


class Lane:
    """Coroutines on one event loop: a given one, or that of a thread which the lane starts itself."""

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._inbox: deque[tuple[float, CoroutineJob]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread: threading.Thread | None = None
        self.borrowed = loop is not None
        self._loop = loop if loop is not None else asyncio.new_event_loop()
        if not self.borrowed:
            self._thread = UnmarkedThread(target=self._serve, name="pyoco-async", daemon=True)
            self._thread.start()

    def put(self, jobs: list[CoroutineJob]) -> None:
        now = time.monotonic()
        self._inbox.extend((now, job) for job in jobs)
        if self._thread is threading.current_thread():
            self._loop.call_soon(self._start_jobs)
        else:
            self._loop.call_soon_threadsafe(self._start_jobs)

    @property
    def has_waiting(self) -> bool:
        return len(self._inbox) > 0

    def is_blocked(self) -> bool:
        """Whether jobs have been lying in the inbox for longer than a healthy loop needs to fetch them."""
        try:
            since, _ = self._inbox[0]
        except IndexError:
            return False
        return time.monotonic() - since > BLOCKED_AFTER_SEC

    def take_back(self) -> list[CoroutineJob]:
        """Empties the inbox; what is taken will not start here."""
        jobs = []
        while True:
            try:
                jobs.append(self._inbox.popleft()[1])
            except IndexError:
                return jobs

    def ask_to_end(self) -> None:
        if self._thread is not None:
            self._loop.call_soon_threadsafe(self._end)

    def join(self, deadline: float) -> None:
        if self._thread is not None:
            self._thread.join(max(0.0, deadline - time.monotonic()))

    def _start_jobs(self) -> None:
        """Starts one job and comes back for the next, so that behind one that blocks the others can still be taken."""
        try:
            _, job = self._inbox.popleft()
        except IndexError:
            return
        task = self._loop.create_task(job.start(), context=job.variables)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(job.finished)
        if self._inbox:
            self._loop.call_soon(self._start_jobs)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
        finally:
            asyncio.set_event_loop(None)
            self._loop.close()

    def _end(self) -> None:
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        if left:
            waiting = asyncio.gather(*left, return_exceptions=True)
            waiting.add_done_callback(lambda _: self._loop.stop())
        else:
            self._loop.stop()


class Lanes:
    """The lanes of one run; usually one, another one whenever the newest is blocked."""

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._lanes = [Lane(loop)] if loop is not None else []
        self._lock = threading.Lock()
        self._closed = False

    def put(self, jobs: list[CoroutineJob]) -> bool:
        """False if the run is over and nothing can start any more."""
        with self._lock:
            if self._closed:
                return False
            if not self._lanes:
                self._lanes.append(Lane())
            self._lanes[-1].put(jobs)
            return True

    def move_on_if_blocked(self) -> bool:
        """True while jobs wait for their lane. A lane given by the caller is left alone: its coroutines belong on the
        caller's loop."""
        with self._lock:
            newest = self._lanes[-1] if self._lanes else None
            if newest is None or newest.borrowed:
                return False
            if newest.is_blocked():
                jobs = newest.take_back()
                if jobs:
                    _log.warning("a coroutine blocks its event loop; %d others continue on a new one", len(jobs))
                    newest = Lane()
                    self._lanes.append(newest)
                    newest.put(jobs)
            return newest.has_waiting

    def close(self, deadline: float) -> None:
        """Ends all lanes that let themselves be ended in time."""
        with self._lock:
            self._closed = True
            lanes = list(self._lanes)
        for lane in lanes:
            lane.ask_to_end()
        for lane in lanes:
            lane.join(deadline)
