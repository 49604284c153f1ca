"""The moving parts of one run that several threads share, and the lock that guards them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from .records import CANCEL_STATUSES, RunContext
from .timers import Callback, Timer, Timers

if TYPE_CHECKING:
    from .journal import Entry
    from .planner import NodeRun
    from .work import Work


class RunState:
    """`lock` guards everything here, the planner, and the order of what is reported. No task and no trace hook runs
    under it; the sink does, and so must be quick."""

    def __init__(self, run: RunContext) -> None:
        self.run = run
        # Re-entrant: a signal handler may cancel the run while the thread it interrupts holds the lock.
        self.lock = threading.RLock()
        self.failure: Exception | None = None
        self.working: set[Work] = set()
        self.paused: dict[Work, Timer] = {}  # failed attempts, until the next one starts
        self.waiting: dict[str, tuple[NodeRun, Entry]] = {}
        self.answered: dict[str, Entry] = {}  # nodes that waited and run again
        self.timers = Timers()
        self.at_rest = True  # nobody conducts: what becomes ready has to wait for the next `run`
        self._open = 0  # nodes handed out and not ended yet
        self._broken = False
        self._changed = threading.Condition(self.lock)

    @property
    def cancelled(self) -> bool:
        return self.run.status in CANCEL_STATUSES

    @property
    def halted(self) -> bool:
        """Nothing new may start."""
        return self.failure is not None or self.run.status in CANCEL_STATUSES

    def stop(self, error: Exception) -> None:
        """The run fails. The first error is the one it fails with."""
        with self.lock:
            if self.failure is None:
                self.failure = error

    def break_off(self, error: Exception) -> None:
        """The run fails at once, whatever is under way: the bookkeeping itself went wrong."""
        with self.lock:
            self.stop(error)
            self._broken = True
            self._changed.notify_all()

    def count(self, change: int) -> None:
        """So many nodes more (or less) are under way."""
        with self.lock:
            self._open += change
            if self._open == 0:
                self._changed.notify_all()

    def close(self, work: Work) -> bool:
        """Ends an attempt; false if somebody else did before."""
        with self.lock:
            if work.closed:
                return False
            work.closed = True
            self.working.discard(work)
            if work.timer is not None:
                work.timer.cancel()
            return True

    def add_timer(self, delay: float, callback: Callback) -> Timer:
        with self.lock:
            timer = self.timers.add(delay, callback)
            self._changed.notify_all()
            return timer

    def hurry_paused(self) -> None:
        """Attempts that wait for their next try need not wait any longer."""
        with self.lock:
            for timer in self.paused.values():
                callback = timer.callback
                timer.cancel()
                if callback is not None:
                    self.timers.add(0, callback)
            self._changed.notify_all()

    def sleep(self, at_most: float | None) -> list[Callback] | None:
        """Waits until a timer is due, something changes or the time is over; None once nothing is under way."""
        with self._changed:
            if self._open == 0 or self._broken:
                self.at_rest = True
                return None
            until_next = self.timers.until_next()
            limits = [seconds for seconds in (until_next, at_most) if seconds is not None]
            self._changed.wait(min(limits) if limits else None)
            return self.timers.take_due()
