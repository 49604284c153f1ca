"""The Run: one frozen value that every surface shows and every command is judged by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from operator import attrgetter
from typing import Any

from .history import EMPTY_HISTORY, History
from .records import EMPTY_JOURNAL, Journal, NodeRecord
from .values import Json


class RunStatus(StrEnum):
    PENDING = "PENDING"
    RUNNING = "RUNNING"
    CANCELLING = "CANCELLING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"

    @property
    def is_terminal(self) -> bool:
        return self in TERMINAL


TERMINAL = frozenset({RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED})

JOB_STATUS = {
    RunStatus.PENDING: "pending",
    RunStatus.RUNNING: "running",
    RunStatus.CANCELLING: "running",
    RunStatus.COMPLETED: "completed",
    RunStatus.FAILED: "failed",
    RunStatus.CANCELLED: "canceled",
}
EXECUTION_STATUS = {
    RunStatus.PENDING: "ACTIVE",
    RunStatus.RUNNING: "ACTIVE",
    RunStatus.CANCELLING: "ACTIVE",
    RunStatus.COMPLETED: "COMPLETED",
    RunStatus.FAILED: "FAILED",
    RunStatus.CANCELLED: "CANCELED",
}


class WorkState(StrEnum):
    NONE = "none"
    QUEUED = "queued"
    CLAIMED = "claimed"
    PARKED = "parked"


@dataclass(frozen=True, slots=True)
class Work:
    """Who is responsible for moving the run on.

    `foreign`: a v0 process queued or runs it. It has no instance id and its message no gen, so that we can neither
    judge its life nor publish its message again.
    """

    state: WorkState = WorkState.NONE
    gen: int = 0
    worker_id: str | None = None
    instance_id: str | None = None
    since: float | None = None
    foreign: bool = False


@dataclass(frozen=True, slots=True)
class CancelRequest:
    at: float
    by: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Submission:
    """What was asked for. It never changes afterwards.

    `open`: no flow is known, its nodes come into being by StartNode and are driven from outside; `declared` are the
    names it may use, if it was created with any.
    """

    run_id: str
    flow_name: str
    created_at: float
    tag: str = "default"
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


@dataclass(frozen=True, slots=True)
class Run:
    """The folded state of one run, with its own bounded event list.

    `crashes` counts the attempts lost in a row without a newly recorded node. `heartbeat_at` is the one field outside
    the fold. `unseen_write`: a v0 process wrote the document last, which our next write notes as RunObserved. `extra`
    are fields of the document that we do not know.
    """

    submission: Submission
    status: RunStatus
    tags: tuple[str, ...]
    version: int
    updated_at: float
    work: Work = field(default_factory=Work)
    attempt: int = 0
    crashes: int = 0
    worker_id: str | None = None
    start_time: float | None = None
    end_time: float | None = None
    error: str | None = None
    cancel: CancelRequest | None = None
    nodes: Mapping[str, NodeRecord] = field(default_factory=dict)
    journal: Journal = EMPTY_JOURNAL
    context: Mapping[str, Json] = field(default_factory=dict)
    output: Json = None
    output_ref: str | None = None
    archived_at: float | None = None
    history: History = EMPTY_HISTORY
    records_truncated: bool = False
    heartbeat_at: float = 0.0
    unseen_write: bool = False
    extra: Mapping[str, Json] = field(default_factory=dict)

    @property
    def run_id(self) -> str:
        return self.submission.run_id

    @property
    def is_terminal(self) -> bool:
        return self.status in TERMINAL

    def is_claimed_by(self, instance_id: str, attempt: int) -> bool:
        work = self.work
        return work.state is WorkState.CLAIMED and work.instance_id == instance_id and self.attempt == attempt

    def emitted(self, cmd: str) -> tuple[str, ...] | None:
        """Ids of the events that a command with this digest has emitted before, if it is still remembered."""
        numbers = self.history.applied.get(cmd)
        return None if numbers is None else tuple(f"{self.run_id}:{n}" for n in numbers)

    def places(self) -> Iterator[tuple[str, NodeRecord]]:
        """Every recorded place: nodes outside loops by name, nodes inside loops by path."""
        for name, record in self.nodes.items():
            if record.path is None:
                yield name, record
        yield from self.journal.nodes.items()

    def at(self, place: str) -> NodeRecord | None:
        """The record of a place, given as a path or as the name of a node outside loops."""
        record = self.nodes.get(place)
        if record is not None and record.path is None:
            return record
        return self.journal.nodes.get(place)

    def changed(self, changes: Mapping[str, Any]) -> Run:
        """A copy with some fields replaced. `dataclasses.replace` takes more than twice as long, and runs per event."""
        copy = object.__new__(Run)
        for put, value in zip(_SETTERS, _GET_ALL(self), strict=True):
            put(copy, value)
        for name, value in changes.items():
            object.__setattr__(copy, name, value)
        return copy

    def with_heartbeat(self, at: float) -> Run:
        """Neither a change for watchers nor an event."""
        return self.changed({"heartbeat_at": max(at, self.heartbeat_at)})


_NAMES = tuple(spec.name for spec in fields(Run))
_GET_ALL = attrgetter(*_NAMES)
_SETTERS = tuple(getattr(Run, name).__set__ for name in _NAMES)
