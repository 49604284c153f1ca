"""Threads for tasks that are plain functions."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Sequence

from .capture import UnmarkedThread

Job = Callable[[], None]
GROW_AFTER_SEC = 0.001
_FIRST_THREADS = 2
_numbers = itertools.count(1)


class ThreadPool:
    """Grows on demand up to `size`. A thread that got stuck can be abandoned; another one takes its place.

    Under the GIL more threads make short jobs slower, not faster. So it starts with two, and its owner calls `grow`
    every GROW_AFTER_SEC while there is a backlog: jobs that take long get all their threads within milliseconds.

    The threads are daemons, because a stuck one must not keep the process from ending; `close` waits for all others.
    Jobs must not raise.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._jobs: deque[Job] = deque()
        self._lock = threading.Lock()
        self._work_added = threading.Condition(self._lock)
        self._idle = 0  # waiting threads that nobody has woken yet
        self._threads: set[threading.Thread] = set()
        self._abandoned: set[threading.Thread] = set()
        self._closed = False
        self._taken = 0
        self._taken_before = 0

    def put(self, jobs: Sequence[Job]) -> None:
        with self._lock:
            self._jobs.extend(jobs)
            woken = min(len(jobs), self._idle)
            if woken:
                self._idle -= woken
                self._work_added.notify(woken)
            self._add_threads(min(len(jobs) - woken, _FIRST_THREADS - len(self._threads)))

    @property
    def has_backlog(self) -> bool:
        return len(self._jobs) > 0 and len(self._threads) < self._size

    def grow(self) -> None:
        """Doubles the threads if jobs are waiting and those at work have hardly moved since the last call."""
        with self._lock:
            taken, self._taken_before = self._taken - self._taken_before, self._taken
            if taken < 2 * len(self._threads):
                self._add_threads(min(len(self._jobs), max(1, len(self._threads))))

    def abandon(self, thread: threading.Thread) -> None:
        """Gives up on a thread: it ends by itself when its job does, if ever."""
        with self._lock:
            self._threads.discard(thread)
            self._abandoned.add(thread)
            self._add_threads(min(len(self._jobs), 1))

    def close(self) -> None:
        """Lets every thread end that is not stuck, and waits for it."""
        with self._lock:
            self._closed = True
            self._work_added.notify_all()
            threads = list(self._threads)
        for thread in threads:
            thread.join()

    def _add_threads(self, wanted: int) -> None:
        # Under the lock also while they start: `close` must not meet a thread that is not running yet.
        for _ in range(min(wanted, self._size - len(self._threads))):
            thread = UnmarkedThread(target=self._serve, name=f"pyoco-task-{next(_numbers)}", daemon=True)
            self._threads.add(thread)
            thread.start()

    def _serve(self) -> None:
        me = threading.current_thread()
        while me not in self._abandoned:
            try:
                job = self._jobs.popleft()
            except IndexError:
                if not self._wait_for_jobs():
                    break
            else:
                self._taken += 1  # a rough count is enough
                job()
                # A finished job must not live on in this frame while the thread waits for the next one.
                del job
        with self._lock:
            self._abandoned.discard(me)
            self._pass_on()

    def _pass_on(self) -> None:
        """The wake-up for a job may have reached a thread that may not take it any more."""
        if self._jobs and self._idle:
            self._idle -= 1
            self._work_added.notify()
        elif self._jobs:
            self._add_threads(1)

    def _wait_for_jobs(self) -> bool:
        with self._lock:
            while not self._jobs:
                if self._closed:
                    return False
                self._idle += 1
                self._work_added.wait()
        return True
