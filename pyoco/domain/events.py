"""Everything that can happen to a run, and the JSON form in which it is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

from .values import Document, Json, Unreadable


@dataclass(frozen=True, slots=True)
class RunCreated:
    """`inherited` is what a rerun takes over from another run, in the form of the document's own fields."""

    flow_name: str
    tag: str = "default"
    tags: tuple[str, ...] = ()
    params: Mapping[str, Json] = field(default_factory=dict)
    tenant_id: str | None = None
    api_key_id: str | None = None
    workflow_yaml_sha256: str | None = None
    workflow_yaml_bytes: int | None = None
    flow_sha256: str | None = None
    correlation_id: str | None = None
    batch_id: str | None = None
    parent_run_id: str | None = None
    open: bool = False
    declared: tuple[str, ...] | None = None
    inherited: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunQueued:
    gen: int
    reason: str


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A worker claimed the run, or (without an instance) an open execution began. `note` is the worker's own remark."""

    attempt: int
    worker_id: str | None = None
    instance_id: str | None = None
    note: Json = None


@dataclass(frozen=True, slots=True)
class RunParked:
    pass


@dataclass(frozen=True, slots=True)
class RunReleased:
    gen: int
    reason: str


@dataclass(frozen=True, slots=True)
class RunCancelRequested:
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class RunCancelled:
    pass


@dataclass(frozen=True, slots=True)
class RunCompleted:
    output: Json = None
    output_ref: str | None = None


@dataclass(frozen=True, slots=True)
class RunFailed:
    error: str | None = None


@dataclass(frozen=True, slots=True)
class RunArchived:
    pass


@dataclass(frozen=True, slots=True)
class RunObserved:
    """A v0 process has written the document in between; this is what it left."""

    status: str
    work: str
    worker_id: str | None = None


@dataclass(frozen=True, slots=True)
class TagsChanged:
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodesDeclared:
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JournalWritten:
    """What loops and switches decided, and the whole context as of this write (None: unchanged)."""

    decisions: Mapping[str, Json] = field(default_factory=dict)
    context: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class NodeEvent:
    """`path` is given for nodes inside loops."""

    node: str
    path: str | None = None

    @property
    def place(self) -> str:
        return self.node if self.path is None else self.path


@dataclass(frozen=True, slots=True)
class NodeStarted(NodeEvent):
    attempt: int = 0
    worker_id: str | None = None


@dataclass(frozen=True, slots=True)
class NodeProgressed(NodeEvent):
    """`earlier` remembers the commands (digest, event number) of the progress events that this one replaces."""

    progress: float = -1.0
    message: str | None = None
    earlier: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class NodeWaiting(NodeEvent):
    wait_key: str = ""
    prompt: Json = None
    external: bool = False


@dataclass(frozen=True, slots=True)
class NodeResumed(NodeEvent):
    wait_key: str = ""
    payload: Json = None


@dataclass(frozen=True, slots=True)
class NodeSucceeded(NodeEvent):
    output: Json = None
    output_ref: str | None = None
    inputs: Mapping[str, Json] = field(default_factory=dict)
    replay: bool = True


@dataclass(frozen=True, slots=True)
class NodeFailed(NodeEvent):
    error: str = ""
    code: str | None = None
    traceback: str | None = None
    inputs: Mapping[str, Json] = field(default_factory=dict)
    retrying: bool = False
    skipped: bool = False


@dataclass(frozen=True, slots=True)
class NodeSkipped(NodeEvent):
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class NodeCancelled(NodeEvent):
    by_execution: bool = False


@dataclass(frozen=True, slots=True)
class UnknownEvent:
    """Written by a newer version of this program. The fold passes over it."""

    type: str
    data: Mapping[str, Json] = field(default_factory=dict)


Body = (
    RunCreated
    | RunQueued
    | RunStarted
    | RunParked
    | RunReleased
    | RunCancelRequested
    | RunCancelled
    | RunCompleted
    | RunFailed
    | RunArchived
    | RunObserved
    | TagsChanged
    | NodesDeclared
    | JournalWritten
    | NodeEvent
    | UnknownEvent
)

EVENT_TYPES: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        RunCreated,
        RunQueued,
        RunStarted,
        RunParked,
        RunReleased,
        RunCancelRequested,
        RunCancelled,
        RunCompleted,
        RunFailed,
        RunArchived,
        RunObserved,
        TagsChanged,
        NodesDeclared,
        JournalWritten,
        NodeStarted,
        NodeProgressed,
        NodeWaiting,
        NodeResumed,
        NodeSucceeded,
        NodeFailed,
        NodeSkipped,
        NodeCancelled,
    )
}


@dataclass(frozen=True, slots=True)
class Event:
    """`n` counts from 1 within the run; `cmd` is the digest of the idempotency scope and key behind it."""

    n: int
    at: float
    body: Body
    by: str | None = None
    cmd: str | None = None

    @property
    def type(self) -> str:
        return self.body.type if isinstance(self.body, UnknownEvent) else type(self.body).__name__


def _default_of(spec: Any) -> Any:
    return spec.default if spec.default_factory is MISSING else spec.default_factory()


_FIELDS = {kind: tuple((spec.name, _default_of(spec)) for spec in fields(kind)) for kind in EVENT_TYPES.values()}
_TUPLES = frozenset({"tags", "nodes", "declared"})


def event_to_json(event: Event, run_id: str) -> Document:
    body = event.body
    document: Document = {"id": f"{run_id}:{event.n}", "n": event.n, "type": event.type, "at": event.at}
    if event.by is not None:
        document["by"] = event.by
    if event.cmd is not None:
        document["cmd"] = event.cmd
    if isinstance(body, UnknownEvent):
        document["data"] = body.data
        return document
    data: Document = {}
    for name, default in _FIELDS[type(body)]:
        value = getattr(body, name)
        if value != default:
            data[name] = list(value) if name in _TUPLES else value
    if data.get("earlier"):
        data["earlier"] = [list(pair) for pair in data["earlier"]]
    document["data"] = data
    return document


def event_from_json(document: object) -> Event:
    """The event behind its stored form. Values that were left out to save room are missing from it."""
    if not isinstance(document, dict):
        raise Unreadable("an event is not an object")
    try:
        body = _body_from_json(document["type"], document.get("data", {}))
        return Event(document["n"], document["at"], body, document.get("by"), document.get("cmd"))
    except (KeyError, TypeError, AttributeError) as problem:
        raise Unreadable(f"unreadable event: {problem}") from problem


def _body_from_json(kind: str, data: Document) -> Body:
    cls = EVENT_TYPES.get(kind)
    if cls is None:
        return UnknownEvent(kind, data)
    values = {name: data[name] for name, _ in _FIELDS[cls] if name in data}
    for name in _TUPLES & values.keys():
        values[name] = tuple(values[name])
    if "earlier" in values:
        values["earlier"] = tuple((cmd, n) for cmd, n in values["earlier"])
    body: Body = cls(**values)
    return body
