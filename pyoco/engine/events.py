"""What an executor reports about a run while it goes on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .journal import RecordedContext


@dataclass(frozen=True, slots=True)
class Transition:
    """Something happened to the node at `path` (its place in the flow, e.g. `foreach[2]/process`)."""

    path: str
    node: str
    at: float


@dataclass(frozen=True, slots=True)
class NodeStarted(Transition):
    attempt: int


@dataclass(frozen=True, slots=True)
class NodeProgressed(Transition):
    percent: float
    message: str | None


@dataclass(frozen=True, slots=True)
class NodeRetrying(Transition):
    """An attempt failed and another one follows after `pause` seconds."""

    attempt: int
    error: str
    traceback: str | None
    pause: float


@dataclass(frozen=True, slots=True)
class NodeWaiting(Transition):
    attempt: int
    wait_key: str
    prompt: str | None


@dataclass(frozen=True, slots=True)
class NodeSucceeded(Transition):
    attempt: int
    output: Any
    inputs: dict[str, Any] = field(default_factory=dict)
    started_at: float | None = None


@dataclass(frozen=True, slots=True)
class NodeFailed(Transition):
    """`skipped`: the node never ran, because something it depends on failed."""

    attempt: int
    error: str
    traceback: str | None = None
    skipped: bool = False
    inputs: dict[str, Any] = field(default_factory=dict)
    started_at: float | None = None


@dataclass(frozen=True, slots=True)
class NodeCancelled(Transition):
    pass


@dataclass(frozen=True, slots=True)
class Decided(Transition):
    """A loop or switch was evaluated: the case number, the count, the items, or the condition."""

    value: Any


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line that a task printed (`stdout`, `stderr`) or logged (`log`, with a level)."""

    path: str
    node: str
    stream: str
    text: str
    at: float
    level: str | None = None


@dataclass(frozen=True, slots=True)
class StuckThread:
    """A thread that a time-out or a cancel has given up on still runs user code."""

    path: str
    node: str
    thread: str
    reason: str


class ContextSource(Protocol):
    """Gives the recorded form of a run's context, as of the moment of the call."""

    def record(self) -> RecordedContext: ...


class Sink(Protocol):
    """Receives the events of one run.

    `transition` is called for one event at a time, in order, while the run cannot move on: it must be quick and must
    not call back into the engine. `line` and `stuck` may come from any thread.
    """

    def transition(self, event: Transition, context: ContextSource) -> None: ...

    def line(self, line: LogLine) -> None: ...

    def stuck(self, thread: StuckThread) -> None: ...
