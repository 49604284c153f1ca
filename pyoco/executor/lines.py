"""Lines of output on their way to the worker: the first one at once, then in bundles."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Callable

from pyoco.engine.capture import UnmarkedThread
from pyoco.engine.events import LogLine

from .channel import Channel
from .messages import Line, Lines

BUNDLE_SEC = 0.05
BUNDLE_BYTES = 64 * 1024
_LINE_OVERHEAD = 64


class Ticker:
    """Calls functions later, all on one thread of its own. They must be quick and must not raise."""

    def __init__(self) -> None:
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def call_later(self, delay: float, callback: Callable[[], None]) -> None:
        with self._changed:
            heapq.heappush(self._due, (time.monotonic() + delay, next(self._numbers), callback))
            if self._thread is None:
                self._thread = UnmarkedThread(target=self._serve, name="pyoco-ticker", daemon=True)
                self._thread.start()
            elif self._due[0][2] is callback:
                self._changed.notify()

    def _serve(self) -> None:
        while True:
            self._next()()

    def _next(self) -> Callable[[], None]:
        with self._changed:
            while True:
                if not self._due:
                    self._changed.wait()
                elif (left := self._due[0][0] - time.monotonic()) > 0:
                    self._changed.wait(left)
                else:
                    return heapq.heappop(self._due)[2]


class LineBundler:
    """The output of one run. Sends what it has before anything else is said about the run: see `flush`."""

    def __init__(self, run_id: str, channel: Channel, ticker: Ticker) -> None:
        self._run_id = run_id
        self._channel = channel
        self._ticker = ticker
        self._lock = threading.Lock()
        self._lines: list[Line] = []
        self._bytes = 0
        self._sent_at = 0.0
        self._timer_set = False

    def add(self, line: LogLine) -> None:
        with self._lock:
            self._lines.append(Line(line.at, line.path, line.node, line.stream, line.text, line.level))
            self._bytes += len(line.text) + _LINE_OVERHEAD
            age = time.monotonic() - self._sent_at
            if age >= BUNDLE_SEC or self._bytes >= BUNDLE_BYTES:
                self._send()
            elif not self._timer_set:
                self._timer_set = True
                self._ticker.call_later(BUNDLE_SEC - age, self._on_timer)

    def flush(self) -> None:
        if self._lines:
            with self._lock:
                self._send()

    def _on_timer(self) -> None:
        with self._lock:
            self._timer_set = False
            self._send()

    def _send(self) -> None:
        if self._lines:
            lines, self._lines, self._bytes = self._lines, [], 0
            self._sent_at = time.monotonic()
            self._channel.send(Lines(run_id=self._run_id, lines=lines))
