"""What the read model keeps of a run document: a row to find it by, and a summary to show."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..domain.housekeeping import needs_message
from ..domain.run import Run, RunStatus
from ..domain.values import Unreadable, encode
from .codec import run_from_bytes
from .feed import Change

_LONGEST_ERROR = 1000
_LARGEST_WHOLE = 2**63 - 1


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run as lists show it. `tasks` counts its nodes by state; a long error is cut."""

    run_id: str
    revision: int
    status: RunStatus
    flow_name: str
    tag: str
    tags: tuple[str, ...]
    created_at: float
    updated_at: float
    heartbeat_at: float
    version: int
    attempt: int
    tenant_id: str | None = None
    worker_id: str | None = None
    start_time: float | None = None
    end_time: float | None = None
    error: str | None = None
    cancel_requested_at: float | None = None
    workflow_yaml_sha256: str | None = None
    workflow_yaml_bytes: int | None = None
    flow_sha256: str | None = None
    correlation_id: str | None = None
    batch_id: str | None = None
    parent_run_id: str | None = None
    archived_at: float | None = None
    open: bool = False
    tasks: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """`columns` are those of the table `runs`, by name."""

    run_id: str
    identity: tuple[int, float, str]
    status: str
    created_at: float
    tags: tuple[str, ...]
    columns: Mapping[str, Any]


def row_of(change: Change) -> Row:
    """Unreadable if the document is none, or holds what no database can order or store."""
    assert change.data is not None
    try:
        run = run_from_bytes(change.data)
        if run.run_id != change.run_id:
            raise Unreadable(f"it says that it is run {run.run_id!r}")
        return _row(run, change)
    except (RecursionError, OverflowError) as error:
        raise Unreadable(f"{error}") from error


def plain(text: str) -> str:
    """Text as the database takes it; half a surrogate pair, which JSON can carry, becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def searchable(text: str) -> str:
    return plain(text).casefold()


def summary_from(run_id: str, revision: int, heartbeat_at: float, created_at: float, stored: str) -> RunSummary:
    """The summary of a row; the columns beside it change without it."""
    fields = json.loads(stored)
    fields["status"] = RunStatus(fields["status"])
    fields["tags"] = tuple(fields["tags"])
    return RunSummary(
        run_id=run_id, revision=revision, heartbeat_at=heartbeat_at, **(fields | {"created_at": created_at})
    )


def _row(run: Run, change: Change) -> Row:
    submission, work = run.submission, run.work
    created_at, updated_at = _finite(submission.created_at), _finite(run.updated_at)
    tags = tuple(dict.fromkeys(map(plain, run.tags)))
    ended_at = run.updated_at if run.end_time is None else run.end_time
    search = "\n".join((run.run_id, submission.flow_name, submission.tag, *run.tags))
    columns = {
        "run_id": change.run_id,
        "revision": change.revision,
        "changed": change.revision,
        "version": _whole(run.version),
        "status": run.status.value,
        "flow_name": plain(submission.flow_name),
        "tag": plain(submission.tag),
        "tenant_id": _plain_or_none(submission.tenant_id),
        "created_at": created_at,
        "updated_at": updated_at,
        "heartbeat_at": _finite(run.heartbeat_at),
        "written_at": change.time,
        "ended_at": _finite(ended_at) if run.is_terminal else None,
        "workflow_yaml_sha256": _plain_or_none(submission.workflow_yaml_sha256),
        "batch_id": _plain_or_none(submission.batch_id),
        "work_state": work.state.value,
        "work_gen": _whole(work.gen),
        "work_instance_id": _plain_or_none(work.instance_id),
        "work_worker_id": _plain_or_none(work.worker_id),
        "work_since": None if work.since is None else _finite(work.since),
        "work_foreign": int(work.foreign),
        "needs_message": int(needs_message(run)),
        "cancel_at": None if run.cancel is None else _finite(run.cancel.at),
        "tags": json.dumps(tags),
        "search": searchable(search),
        "summary": _summary(run),
    }
    return Row(change.run_id, (run.version, updated_at, run.status.value), run.status.value, created_at, tags, columns)


def _summary(run: Run) -> str:
    submission = run.submission
    fields: dict[str, Any] = {
        "status": run.status.value,
        "flow_name": submission.flow_name,
        "tag": submission.tag,
        "tags": run.tags,
        "updated_at": run.updated_at,
        "version": run.version,
        "attempt": run.attempt,
        "tenant_id": submission.tenant_id,
        "worker_id": run.worker_id,
        "start_time": run.start_time,
        "end_time": run.end_time,
        "error": None if run.error is None else run.error[:_LONGEST_ERROR],
        "cancel_requested_at": None if run.cancel is None else run.cancel.at,
        "workflow_yaml_sha256": submission.workflow_yaml_sha256,
        "workflow_yaml_bytes": submission.workflow_yaml_bytes,
        "flow_sha256": submission.flow_sha256,
        "correlation_id": submission.correlation_id,
        "batch_id": submission.batch_id,
        "parent_run_id": submission.parent_run_id,
        "archived_at": run.archived_at,
        "open": submission.open,
        "tasks": Counter(record.state.value for record in run.nodes.values()),
    }
    try:
        return encode({name: value for name, value in fields.items() if value is not None}).decode()
    except ValueError as error:  # a number that JSON does not know
        raise Unreadable(f"{error}") from error


def _plain_or_none(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return None if value is None else plain(value)
    raise Unreadable(f"{value!r} is not text")


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise Unreadable(f"{value} is no time")
    return float(value)


def _whole(value: int) -> int:
    if not -_LARGEST_WHOLE <= value <= _LARGEST_WHOLE:
        raise Unreadable("a number is too large")
    return value
