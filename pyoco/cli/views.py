"""Which trace a run gets."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..engine.events import ContextSource, LogLine, StuckThread, Transition
    from ..engine.trace import TraceBackend


class View(Protocol):
    """Shows a run. It is entered while the run moves, and left when the command wants the terminal for itself."""

    @property
    def trace(self) -> TraceBackend: ...

    @property
    def passes_output(self) -> bool: ...

    def transition(self, event: Transition, context: ContextSource) -> None: ...

    def line(self, line: LogLine) -> None: ...

    def stuck(self, thread: StuckThread) -> None: ...

    def say(self, text: str) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc_info: object) -> None: ...


def choose_view(nodes: Iterable[str], *, trace: bool, cute: bool | None) -> View:
    """Live where the terminal can, else lines; `cute` is what the command line says, None if it says nothing."""
    from ..engine.console import cute_by_environment
    from .lines import LineTrace, Quiet

    if not trace:
        return Quiet()
    if cute is None:
        cute = cute_by_environment()
    if cute and can_move_cursor():
        from .board import Board
        from .live import LiveTrace

        return LiveTrace(Board(nodes))
    return LineTrace("cute" if cute else "plain")


def can_move_cursor() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb", "unknown")


def is_interactive() -> bool:
    """Whether there is a person who can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()
