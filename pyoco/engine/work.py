"""One attempt of one node: binds the arguments, calls the function, catches whatever comes out.

The outcome is a value; what follows from it is the executor's business.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from .capture import NodeLogHandler, OutputScope, uncaptured
from .errors import TaskExited
from .plan import TaskStep
from .planner import NodeRun
from .task_context import TaskContext

if TYPE_CHECKING:
    from .context import Context
    from .records import TaskRecord


class NodeHost(Protocol):
    """What the performer does for a running node."""

    def answer_for(self, work: Work, key: str) -> dict[str, Any] | None: ...

    def tell_progress(self, work: Work, percent: float, message: str | None) -> None: ...


class Work:
    """One attempt. Whoever ends it first (the task itself, a time-out, a forced cancel) closes it; the rest is late."""

    __slots__ = (
        "_host",
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
        self.thread: threading.Thread | None = None
        self.aio_task: asyncio.Task[Any] | None = None
        self._host = host

    # What TaskContext asks of a running node

    @property
    def logger(self) -> logging.Logger:
        # Not registered by name: it lives as long as the task that asked for it.
        logger = logging.Logger(f"pyoco.task.{self.name}", logging.DEBUG)
        logger.addHandler(_WorkLogHandler(self))
        return logger

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
        text = self.format(record)
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


def as_failure(name: str, error: BaseException) -> Exception:
    """The exception a run fails with: the task's own, unless it is one that would take the whole process along."""
    if isinstance(error, Exception):
        return error
    exited = TaskExited(name, error)
    exited.__cause__ = error
    return exited
