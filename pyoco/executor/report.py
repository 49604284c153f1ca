"""The sink of one run: turns what the engine tells into messages."""

from __future__ import annotations

import threading
import time
from typing import Any

from pyoco.engine.events import (
    ContextSource,
    LogLine,
    NodeProgressed,
    NodeStarted,
    NodeSucceeded,
    StuckThread,
    Transition,
)

from .channel import Channel
from .lines import LineBundler, Ticker
from .messages import RunEnded, ThreadStuck, Transitioned
from .protocol import FrameTooLarge
from .recording import ContextTracker, describe

_END_OF_TIME = threading.Event()  # never set


class Report:
    """`transition` comes under the lock of the run, one call at a time; `line` and `stuck` from anywhere."""

    def __init__(self, run_id: str, channel: Channel, ticker: Ticker, context: dict[str, Any]) -> None:
        self._run_id = run_id
        self._channel = channel
        self._lines = LineBundler(run_id, channel, ticker)
        self._context = ContextTracker(context)
        self._running: set[str] = set()
        self._changed = threading.Condition()
        self._ended = False

    def transition(self, event: Transition, context: ContextSource) -> None:
        with self._changed:
            if not self._ended:
                self._follow(event)
                self._lines.flush()
                try:
                    self._channel.send(describe(self._run_id, event, self._context, context))
                except Exception as exc:  # noqa: BLE001 - whatever a value does to us, the run must not hang on it
                    self._channel.send(self._without_values(event, exc))
                return
        if isinstance(event, NodeStarted):
            # The run was given back, because the executor stops: a node that is about to start must not run here.
            _END_OF_TIME.wait()

    def line(self, line: LogLine) -> None:
        if not self._ended:
            self._lines.add(line)

    def stuck(self, thread: StuckThread) -> None:
        if not self._ended:
            self._channel.send(
                ThreadStuck(
                    run_id=self._run_id,
                    path=thread.path,
                    node=thread.node,
                    thread=thread.thread,
                    reason=thread.reason,
                )
            )

    def wait_for_nodes(self, deadline: float) -> None:
        """Returns once no node runs, or at the deadline of the monotonic clock."""
        with self._changed:
            while self._running and (left := deadline - time.monotonic()) > 0:
                self._changed.wait(left)

    def end(self, message: RunEnded) -> None:
        """The last word about the run."""
        with self._changed:
            self._lines.flush()
            self._ended = True
            try:
                self._channel.send(message)
            except FrameTooLarge as exc:
                ended = RunEnded(run_id=message.run_id, status=message.status, output=str(exc), recorded=False)
                self._channel.send(ended)

    def _follow(self, event: Transition) -> None:
        if isinstance(event, NodeStarted):
            self._running.add(event.path)
        elif not isinstance(event, NodeProgressed):
            self._running.discard(event.path)
            self._changed.notify_all()

    def _without_values(self, event: Transition, problem: Exception) -> Transitioned:
        kind: Any = type(event).__name__
        reason = f"not recorded: {type(problem).__name__}: {problem}"
        attempt = getattr(event, "attempt", 0)
        return Transitioned(
            run_id=self._run_id,
            event=kind,
            path=event.path,
            node=event.node,
            at=event.at,
            attempt=attempt,
            replay=False,
            output=reason if isinstance(event, NodeSucceeded) else None,
            error=getattr(event, "error", None),
            skipped=getattr(event, "skipped", False),
        )
