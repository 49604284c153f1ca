"""Where the nodes of a run are performed: threads for functions, event loops for coroutines."""

from __future__ import annotations

import asyncio
import threading
import time

from .lanes import BLOCKED_AFTER_SEC, CoroutineJob, Lanes
from .run_state import RunState
from .threads import GROW_AFTER_SEC, Job, ThreadPool


class Places:
    """Looks after its threads and loops with the timers of the run: adds threads, moves on from a blocked loop."""

    def __init__(self, state: RunState, max_threads: int, loop: asyncio.AbstractEventLoop | None) -> None:
        self._state = state
        self._threads = ThreadPool(max_threads)
        self._lanes = Lanes(loop)
        self._lanes_watched = False

    def put_functions(self, jobs: list[Job]) -> None:
        self._threads.put(jobs)
        self._grow_later()

    def put_coroutines(self, jobs: list[CoroutineJob]) -> bool:
        """False if the run is over and nothing can start any more."""
        taken = self._lanes.put(jobs)
        with self._state.lock:
            if taken and not self._lanes_watched:
                self._lanes_watched = True
                self._state.add_timer(BLOCKED_AFTER_SEC, self._watch_lanes)
        return taken

    def abandon(self, thread: threading.Thread) -> None:
        self._threads.abandon(thread)

    def close(self, patience: float) -> float:
        """Ends what lets itself be ended; gives the moment until which its owner may go on waiting."""
        self._threads.close()
        deadline = time.monotonic() + patience
        self._lanes.close(deadline)
        return deadline

    def _grow_later(self) -> None:
        if self._threads.has_backlog:
            self._state.add_timer(GROW_AFTER_SEC, self._grow)

    def _grow(self) -> None:
        self._threads.grow()
        self._grow_later()

    def _watch_lanes(self) -> None:
        waiting = self._lanes.move_on_if_blocked()
        with self._state.lock:
            self._lanes_watched = waiting
            if waiting:
                self._state.add_timer(BLOCKED_AFTER_SEC, self._watch_lanes)
