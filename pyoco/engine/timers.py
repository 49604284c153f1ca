"""Things to do later, for a loop that sleeps until the next of them is due."""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field

Callback = Callable[[], None]


@dataclass(order=True, slots=True)
class Timer:
    due: float
    number: int
    callback: Callback | None = field(compare=False)

    def cancel(self) -> None:
        self.callback = None


class Timers:
    """Not thread-safe: its owner's lock guards it."""

    def __init__(self) -> None:
        self._heap: list[Timer] = []
        self._numbers = itertools.count()

    def add(self, delay: float, callback: Callback) -> Timer:
        timer = Timer(time.monotonic() + delay, next(self._numbers), callback)
        heapq.heappush(self._heap, timer)
        return timer

    def until_next(self) -> float | None:
        """Seconds until the next timer is due (0 if it is), None without one."""
        while self._heap and self._heap[0].callback is None:
            heapq.heappop(self._heap)
        return max(0.0, self._heap[0].due - time.monotonic()) if self._heap else None

    def take_due(self) -> list[Callback]:
        now = time.monotonic()
        due: list[Callback] = []
        while self._heap and (self._heap[0].due <= now or self._heap[0].callback is None):
            callback = heapq.heappop(self._heap).callback
            if callback is not None:
                due.append(callback)
        return due
