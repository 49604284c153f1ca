"""PURE: what follows when a process ends although nobody asked it to."""

from __future__ import annotations

import signal
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Exit:
    """How one process ended. A negative code is the number of the signal that ended it."""

    code: int
    uptime: float
    silent: bool = False

    @property
    def reason(self) -> str:
        if self.silent:
            return "gave no sign of life and was killed"
        if self.code < 0:
            return f"was ended by {_signal_name(-self.code)}"
        return f"ended with exit code {self.code}"


@dataclass(frozen=True)
class Policy:
    """Delays double from the first to the longest; a process that ran for `calm` seconds starts anew."""

    first_delay: float = 0.2
    longest_delay: float = 30.0
    calm: float = 30.0
    loop_after: int = 5  # ends in a row that make a crash loop


@dataclass(frozen=True)
class Record:
    """What restarts remember of one process."""

    failures: int = 0  # ends in a row, each after less than `calm` seconds
    restarts: int = 0


@dataclass(frozen=True)
class RestartAfter:
    delay: float
    record: Record
    crash_loop: bool = False  # true only the moment it becomes one: it is reported once


@dataclass(frozen=True)
class GiveUp:
    record: Record


def after_exit(policy: Policy, record: Record, end: Exit, *, vital: bool) -> RestartAfter | GiveUp:
    """A vital process in a crash loop ends the stack; any other is tried again for ever, ever more slowly."""
    failures = 1 if end.uptime >= policy.calm else record.failures + 1
    now = replace(record, failures=failures, restarts=record.restarts + 1)
    if vital and failures >= policy.loop_after:
        return GiveUp(now)
    # The exponent is bounded: a process that fails for weeks must not overflow a float.
    delay = min(policy.first_delay * 2 ** min(failures - 1, 30), policy.longest_delay)
    return RestartAfter(delay, now, crash_loop=failures == policy.loop_after)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
