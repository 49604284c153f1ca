"""Ctrl-C: turns it into messages while a run is under way, and ends the process without a traceback."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from .failure import INTERRUPTED
from .output import flush_output

_EXIT_PATIENCE_SEC = 1.0


@contextmanager
def interrupts_as(callback: Callable[[], None]) -> Iterator[None]:
    """Calls back at each SIGINT, in the middle of whatever the main thread does: the callback must not take locks."""

    def handle(signum: int, frame: FrameType | None) -> None:
        callback()

    previous = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def leave(code: int) -> int:
    """Prepares the end of the process. The interpreter waits for threads that tasks left behind: after an interrupt
    only for a moment, otherwise until somebody presses Ctrl-C."""
    flush_output()
    signal.signal(signal.SIGINT, lambda signum, frame: os._exit(INTERRUPTED))
    if code == INTERRUPTED:
        impatience = threading.Timer(_EXIT_PATIENCE_SEC, os._exit, (code,))
        impatience.daemon = True
        impatience.start()
    return code
