"""Event loops for tasks that are coroutines.

A coroutine that blocks holds up its whole event loop, so it must not be the loop that moves the run on, and coroutines
that were not started yet must be able to go elsewhere: to another lane.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

from .capture import UnmarkedThread

CoroutineJob = Callable[[], Coroutine[Any, Any, None]]
BLOCKED_AFTER_SEC = 0.1
_CLOSE_PATIENCE_SEC = 1.0
_log = logging.getLogger("pyoco.engine")


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

    def close(self) -> bool:
        """Ends the lane's own thread; false if a coroutine will not let it."""
        if self._thread is None:
            return True
        self._loop.call_soon_threadsafe(self._end)
        self._thread.join(_CLOSE_PATIENCE_SEC)
        return not self._thread.is_alive()

    def _start_jobs(self) -> None:
        """Starts one job and comes back for the next, so that behind one that blocks the others can still be taken."""
        try:
            _, job = self._inbox.popleft()
        except IndexError:
            return
        task = self._loop.create_task(job())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if self._inbox:
            self._loop.call_soon(self._start_jobs)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
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

    @property
    def in_use(self) -> bool:
        return bool(self._lanes)

    def put(self, jobs: list[CoroutineJob]) -> None:
        with self._lock:
            if not self._lanes:
                self._lanes.append(Lane())
            self._lanes[-1].put(jobs)

    def move_on_if_blocked(self) -> None:
        """A lane given by the caller is left alone: its coroutines belong on the caller's loop."""
        with self._lock:
            newest = self._lanes[-1] if self._lanes else None
            if newest is None or newest.borrowed or not newest.is_blocked():
                return
            jobs = newest.take_back()
            if jobs:
                _log.warning("a coroutine blocks its event loop; %d others continue on a new one", len(jobs))
                self._lanes.append(Lane())
                self._lanes[-1].put(jobs)

    def close(self) -> int:
        """Ends all lanes; the number of those that would not end."""
        return sum(not lane.close() for lane in self._lanes)
