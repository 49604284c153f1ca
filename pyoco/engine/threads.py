"""Threads for tasks that are plain functions."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Sequence

from .capture import UnmarkedThread

Job = Callable[[], None]
_numbers = itertools.count(1)


class ThreadPool:
    """Grows on demand up to `size`. A thread that got stuck can be abandoned; another one takes its place.

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

    def put(self, jobs: Sequence[Job]) -> None:
        with self._lock:
            self._jobs.extend(jobs)
            woken = min(len(jobs), self._idle)
            if woken:
                self._idle -= woken
                self._work_added.notify(woken)
            started = self._make_threads(len(jobs) - woken)
        for thread in started:
            thread.start()

    def abandon(self, thread: threading.Thread) -> None:
        """Gives up on a thread: it ends by itself when its job does, if ever."""
        with self._lock:
            self._threads.discard(thread)
            self._abandoned.add(thread)
            started = self._make_threads(len(self._jobs))
        for replacement in started:
            replacement.start()

    def close(self) -> None:
        """Lets every thread end that is not stuck, and waits for it."""
        with self._lock:
            self._closed = True
            self._work_added.notify_all()
            threads = list(self._threads)
        for thread in threads:
            thread.join()

    def _make_threads(self, wanted: int) -> list[threading.Thread]:
        count = min(wanted, self._size - len(self._threads))
        made: list[threading.Thread] = [
            UnmarkedThread(target=self._serve, name=f"pyoco-task-{next(_numbers)}", daemon=True) for _ in range(count)
        ]
        self._threads.update(made)
        return made

    def _serve(self) -> None:
        me = threading.current_thread()
        while me not in self._abandoned:
            try:
                job = self._jobs.popleft()
            except IndexError:
                if not self._wait_for_jobs():
                    break
            else:
                job()
                # A finished job must not live on in this frame while the thread waits for the next one.
                del job
        with self._lock:
            self._abandoned.discard(me)

    def _wait_for_jobs(self) -> bool:
        with self._lock:
            while not self._jobs:
                if self._closed:
                    return False
                self._idle += 1
                self._work_added.wait()
        return True
