"""One attempt of one node: what it needs while it runs, and how it can end."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from .capture import NodeLogHandler, OutputScope, message_of, uncaptured
from .errors import TaskExited
from .plan import TaskStep
from .planner import NodeRun
from .task_context import TaskContext, WaitRequested

if TYPE_CHECKING:
    from .context import Context
    from .records import TaskRecord
    from .timers import Timer


class NodeHost(Protocol):
    """What the performer does for a running node."""

    def answer_for(self, work: Work, key: str) -> dict[str, Any] | None: ...

    def tell_progress(self, work: Work, percent: float, message: str | None) -> None: ...


class Work:
    """One attempt. Whoever ends it first (the task itself, a time-out, a forced cancel) closes it; the rest is late."""

    __slots__ = (
        "_host",
        "_logger",
        "aio_task",
        "closed",
        "inputs",
        "name",
        "node",
        "number",
        "output",
        "record",
        "started_at",
        "step",
        "task",
        "thread",
        "timer",
    )

    def __init__(self, node: NodeRun, step: TaskStep, number: int, record: TaskRecord, host: NodeHost) -> None:
        self.node = node
        self.step = step
        self.number = number
        self.task = step.task
        self.name = step.task.name
        self.record = record
        self.started_at = time.time()
        self.closed = False
        self.inputs: dict[str, Any] = {}
        self.output: OutputScope
        # Where it runs: in a thread, on an event loop, or (between the two) nowhere.
        self.thread: threading.Thread | None = None
        self.aio_task: asyncio.Task[Any] | None = None
        self.timer: Timer | None = None
        self._host = host
        self._logger: logging.Logger | None = None

    # What TaskContext asks of a running node

    @property
    def logger(self) -> logging.Logger:
        if self._logger is None:
            # Not registered by name: it lives as long as the task that asked for it.
            self._logger = logging.Logger(f"pyoco.task.{self.name}", logging.DEBUG)
            self._logger.addHandler(_WorkLogHandler(self))
        return self._logger

    def answer(self, key: str) -> dict[str, Any] | None:
        return self._host.answer_for(self, key)

    def progress(self, percent: float, message: str | None) -> None:
        self.record.progress = (percent, message)
        if not self.closed:
            self._host.tell_progress(self, percent, message)

    def arguments(self, ctx: Context) -> dict[str, Any]:
        """Binds what the function needs; raises what a bad reference raises."""
        binder = self.step.binder
        if not (binder.takes_ctx or binder.names or self.task.inputs):
            return {}
        view = TaskContext(ctx, self.node.scope, self)
        arguments = binder.bind(self.task, view)
        self.inputs = self.record.inputs = arguments
        if not binder.takes_ctx:
            return arguments
        view.inputs = arguments
        return {**arguments, "ctx": view}


class _WorkLogHandler(NodeLogHandler):
    """Log records of a task: to its node, and visibly to standard error when nobody else shows them."""

    def __init__(self, work: Work) -> None:
        super().__init__()
        self._work = work

    def emit(self, record: logging.LogRecord) -> None:
        text = message_of(record)
        if record.exc_info:
            text += "\n" + logging.Formatter().formatException(record.exc_info)
        output = self._work.output
        if not output.closed:
            output.log(record.levelname, text)
        if output.pass_through:
            with uncaptured():
                sys.stderr.write(f"{record.levelname} {self._work.name}: {text}\n")


@dataclass(slots=True)
class Returned:
    value: Any


@dataclass(slots=True)
class Raised:
    error: BaseException


@dataclass(slots=True)
class Waits:
    key: str
    prompt: str | None


Outcome = Returned | Raised | Waits


def outcome_of(error: BaseException) -> Raised | Waits:
    """What it means that a task raised something. Waiting inside a task group comes wrapped in a group."""
    wait = _requested_wait(error)
    return Raised(error) if wait is None else Waits(wait.key, wait.prompt)


def _requested_wait(error: BaseException) -> WaitRequested | None:
    if isinstance(error, WaitRequested):
        return error
    if isinstance(error, BaseExceptionGroup):
        waits = [_requested_wait(inner) for inner in error.exceptions]
        return waits[0] if all(waits) else None
    return None


def as_failure(name: str, error: BaseException) -> Exception:
    """The exception a run fails with: the task's own, unless it is one that would take the whole process along."""
    if isinstance(error, Exception):
        return error
    exited = TaskExited(name, error)
    exited.__cause__ = error
    return exited
