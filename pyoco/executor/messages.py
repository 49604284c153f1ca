"""What a worker and its executor say to each other.

Values that come from outside (`params`, `payload`) are plain JSON. Values that tasks have made (`output`, `inputs`,
`value`, contexts, journals) are in the recorded form of `engine.values`; what cannot be recorded appears as its repr.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

EventKind = Literal[
    "NodeStarted",
    "NodeProgressed",
    "NodeRetrying",
    "NodeWaiting",
    "NodeSucceeded",
    "NodeFailed",
    "NodeCancelled",
    "Decided",
]
# STOPPED: the executor was told to stop; the run goes on elsewhere from its journal.
EndStatus = Literal["COMPLETED", "FAILED", "CANCELLED", "PARKED", "STOPPED"]
ErrorKind = Literal["flow_not_found", "load_error", "execution_error"]


# Worker to executor


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The first message. `paths` come after `code_dir` at the front of the module path."""

    code_dir: str | None = None
    paths: list[str] = field(default_factory=list)
    flow_resolver: str | None = None
    allowed_callables: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRun:
    """With `workflow_yaml` that text is the flow, else `flow_name` is looked up.

    `journal` is `Journal.to_json()` of what is recorded so far. `lease` is a time of the monotonic clock, which all
    processes of a machine share; no node starts after it (see RenewLeases). None: no limit.
    """

    run_id: str
    flow_name: str
    workflow_yaml: str | None = None
    params: dict[str, Any] = field(default_factory=dict)
    journal: dict[str, Any] = field(default_factory=dict)
    artifact_dir: str | None = None
    lease: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RenewLeases:
    """New limits by run; runs that are not here are skipped."""

    leases: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelRun:
    """Nothing new starts; what still runs after `grace` seconds is cut off. None: no limit."""

    run_id: str
    grace: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerWait:
    """With `error` the wait is refused. Ignored when the run is not here (any more): its journal must hold it then."""

    run_id: str
    path: str
    key: str
    payload: Any = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Nothing new starts in any run. Each ends as STOPPED once its running nodes have, or after `grace` seconds; then
    the process exits with 0."""

    grace: float


# Executor to worker


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """The answer to Setup. `problems` says what could not be imported."""

    pid: int
    python: str
    flows: list[str]
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLoaded:
    """The flow was found and begins; the names of all its nodes."""

    run_id: str
    nodes: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transitioned:
    """Something happened to a node. Which of the fields below `at` are set depends on `event`.

    `replay` is false when the node would have to run again in a continued run: its output cannot be recorded.
    `context` is the change of the recorded context (see recording.py), None if there is none. `lost` are the paths of
    nodes that wrote something into the context which cannot be recorded, so that they would have to run again too.
    """

    run_id: str
    event: EventKind
    path: str
    node: str
    at: float
    attempt: int = 0
    started_at: float | None = None
    inputs: dict[str, Any] = field(default_factory=dict)
    output: Any = None
    replay: bool = True
    error: str | None = None
    traceback: str | None = None
    skipped: bool = False
    pause: float | None = None
    wait_key: str | None = None
    prompt: str | None = None
    percent: float | None = None
    message: str | None = None
    value: Any = None
    context: dict[str, Any] | None = None
    lost: list[str] = field(default_factory=list)


class Line(NamedTuple):
    """One line of output. `stream` is stdout, stderr, log (with a level), or process for what nobody can be named for;
    `node` is empty outside of nodes."""

    at: float
    path: str
    node: str
    stream: str
    text: str
    level: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    run_id: str
    lines: list[Line]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadStuck:
    """A thread that was given up still runs user code: this executor should not take new runs."""

    run_id: str
    path: str
    node: str
    thread: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunError:
    kind: ErrorKind
    message: str
    traceback: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    path: str
    key: str
    prompt: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded:
    """The last message about a run. `recorded` is false when the output has no recorded form."""

    run_id: str
    status: EndStatus
    output: Any = None
    recorded: bool = True
    error: RunError | None = None
    waits: list[Wait] = field(default_factory=list)


ToExecutor = Setup | StartRun | RenewLeases | CancelRun | AnswerWait | Stop
ToWorker = Ready | RunLoaded | Transitioned | Lines | ThreadStuck | RunEnded
