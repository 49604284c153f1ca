"""The trace where no live display is possible or wanted: one line per event."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from ..engine.capture import uncaptured
from ..engine.console import ConsoleTraceBackend
from ..engine.events import ContextSource, LogLine, NodeRetrying, NodeWaiting, StuckThread, Transition
from .board import duration
from .failure import complain
from .output import forget_output


class LineTrace(ConsoleTraceBackend):
    """A trace backend, and a sink for what backends are not told: attempts that failed, waits."""

    def __init__(self, style: str | None = None) -> None:
        super().__init__(style)
        # A person may be debugging, and needs prompts as they are written. A file gets whole lines, because what
        # parallel tasks print would run into each other.
        self.passes_output = sys.stdin.isatty()

    @property
    def trace(self) -> LineTrace:
        return self

    def transition(self, event: Transition, context: ContextSource) -> None:
        if isinstance(event, NodeRetrying):
            lead = "🔁 retry" if self._cute else "WARNING pyoco retry"
            pause = duration(event.pause)
            self._say(f"{lead} node={event.node} attempt {event.attempt} failed, next in {pause}: {event.error}")
        elif isinstance(event, NodeWaiting):
            lead = "✋ wait" if self._cute else "INFO pyoco wait"
            self._say(f"{lead} node={event.node} {event.prompt or ''}".rstrip())

    def line(self, line: LogLine) -> None:
        if self.passes_output:
            return
        text = f"{line.level} {line.node}: {line.text}" if line.level else line.text
        stream = sys.stdout if line.stream == "stdout" else sys.stderr
        with uncaptured(), _reader_may_leave():
            stream.write(text + "\n")
            stream.flush()

    def stuck(self, thread: StuckThread) -> None:
        """The engine logs a warning itself."""

    def say(self, text: str) -> None:
        with uncaptured():
            complain(text)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        pass

    def _say(self, line: str) -> None:
        with _reader_may_leave():
            super()._say(line)


class Quiet(LineTrace):
    """Shows nothing of the run but what the command itself has to say."""

    def __init__(self) -> None:
        super().__init__("plain")

    def _say(self, line: str) -> None:
        pass


@contextmanager
def _reader_may_leave() -> Iterator[None]:
    """`pyoco run … | head` must not fail the run."""
    try:
        yield
    except BrokenPipeError:
        forget_output()
