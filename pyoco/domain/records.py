"""What a run has recorded about its nodes, and the JSON form of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from .values import Document, Json, Unreadable, mapping_or_empty


class NodeState(StrEnum):
    PENDING = "PENDING"
    RUNNING = "RUNNING"
    WAITING = "WAITING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"
    CANCELLED = "CANCELLED"


# `tasks` of the document speaks the vocabulary of v0, which knows neither waiting nor skipping.
TASK_STATE = {state: state for state in NodeState} | {
    NodeState.WAITING: NodeState.RUNNING,
    NodeState.SKIPPED: NodeState.PENDING,
}
OPEN_STATES = frozenset({NodeState.RUNNING, NodeState.WAITING})


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """The newest execution of a node. The first eight fields are those of v0.

    `node` and `path` are its name and its place when it is inside a loop. `replay` is false when the outcome cannot be
    taken from the record, so that the node has to run again. `retrying`: it failed, and another attempt follows.
    `external`: it is finished from outside. `resumed`: its wait was answered and it has not been started since.
    """

    state: NodeState = NodeState.PENDING
    started_at: float | None = None
    ended_at: float | None = None
    duration_ms: float | None = None
    error: str | None = None
    traceback: str | None = None
    inputs: Mapping[str, Json] = field(default_factory=dict)
    output: Json = None
    attempt: int = 0
    node: str | None = None
    path: str | None = None
    worker_id: str | None = None
    progress: float | None = None
    message: str | None = None
    wait_key: str | None = None
    prompt: Json = None
    error_code: str | None = None
    output_ref: str | None = None
    replay: bool = True
    retrying: bool = False
    skipped: bool = False
    external: bool = False
    resumed: bool = False
    canceled_by_execution: bool = False

    @property
    def task_state(self) -> NodeState:
        """The state that v0 readers are shown."""
        return NodeState.RUNNING if self.retrying else TASK_STATE[self.state]

    @property
    def is_open(self) -> bool:
        """Started and not at its end: somebody still has to do something about it."""
        return self.retrying or self.state in OPEN_STATES


PENDING_NODE = NodeRecord()


@dataclass(frozen=True, slots=True)
class Journal:
    """Outcomes by place for nodes inside loops, what loops and switches decided, and answered waits of all nodes."""

    nodes: Mapping[str, NodeRecord] = field(default_factory=dict)
    decisions: Mapping[str, Json] = field(default_factory=dict)
    answers: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)


EMPTY_JOURNAL = Journal()

_V0_FIELDS = ("state", "started_at", "ended_at", "duration_ms", "error", "traceback", "inputs", "output")
_DEFAULTS: dict[str, Any] = {spec.name: spec.default for spec in fields(NodeRecord)} | {"inputs": {}}
_OURS = tuple((name, _DEFAULTS[name]) for name in _DEFAULTS if name not in (*_V0_FIELDS, "node"))
_IN_JOURNAL = tuple((name, _DEFAULTS[name]) for name in _DEFAULTS if name not in ("state", "path"))


def record_to_json(record: NodeRecord) -> Document:
    """An entry of `task_records`: all fields of v0, ours where they say something."""
    document: Document = {
        "state": record.state.value,
        "started_at": record.started_at,
        "ended_at": record.ended_at,
        "duration_ms": record.duration_ms,
        "error": record.error,
        "traceback": record.traceback,
        "inputs": record.inputs,
        "output": record.output,
    }
    _add(document, record, _OURS)
    return document


def record_from_json(document: object, **known: Any) -> NodeRecord:
    """Fields that we do not know are not kept: a record belongs to the process that wrote it."""
    if not isinstance(document, dict):
        raise Unreadable("a node record is not an object")
    found = {name: value for name, value in document.items() if name in _DEFAULTS}
    found["state"] = node_state(found.get("state"))
    if not isinstance(found.get("inputs", {}), dict):
        found["inputs"] = {}
    return NodeRecord(**(found | known))


def records_from_json(document: Mapping[str, Any]) -> dict[str, NodeRecord]:
    """`task_records` by name. A record with a path is that of a loop's newest round."""
    return {
        name: record_from_json(entry, node=name)
        if isinstance(entry, dict) and entry.get("path") is not None
        else record_from_json(entry)
        for name, entry in document.items()
    }


def node_state(value: object) -> NodeState:
    try:
        return NodeState(str(value))
    except ValueError:
        raise Unreadable(f"unknown node state {value!r}") from None


def journal_to_json(journal: Journal) -> Document:
    document: Document = {}
    if journal.nodes:
        document["nodes"] = {path: _entry_to_json(record) for path, record in journal.nodes.items()}
    if journal.decisions:
        document["decisions"] = journal.decisions
    if journal.answers:
        document["answers"] = journal.answers
    return document


def journal_from_json(document: object) -> Journal:
    if not isinstance(document, dict):
        raise Unreadable("the journal is not an object")
    if not document:
        return EMPTY_JOURNAL
    entries = mapping_or_empty(document, "nodes")
    return Journal(
        nodes={path: record_from_json(entry, path=path) for path, entry in entries.items()},
        decisions=mapping_or_empty(document, "decisions"),
        answers=mapping_or_empty(document, "answers"),
    )


def _entry_to_json(record: NodeRecord) -> Document:
    entry: Document = {"state": record.state.value}
    _add(entry, record, _IN_JOURNAL)
    return entry


def _add(document: Document, record: NodeRecord, names: tuple[tuple[str, Any], ...]) -> None:
    for name, default in names:
        value = getattr(record, name)
        if value != default:
            document[name] = value
