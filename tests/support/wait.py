"""Waiting for a condition instead of for time."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(
    condition: Callable[[], bool], what: str, *, seconds: float = 10.0, show: Callable[[], object] | None = None
) -> None:
    """Returns as soon as the condition holds; fails with what it waited for."""
    deadline = time.monotonic() + seconds
    pause = 0.0005
    while not condition():
        if time.monotonic() > deadline:
            state = f": {show()!r}" if show is not None else ""
            raise AssertionError(f"waited {seconds}s for {what}{state}")
        time.sleep(pause)
        pause = min(pause * 2, 0.05)
