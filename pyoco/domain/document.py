"""The run document: a Run as plain JSON, with the fields of v0 under their v0 names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .foreign import as_left_by_v0, was_written_by_v0
from .history import History
from .records import (
    NodeRecord,
    journal_from_json,
    journal_to_json,
    node_state,
    record_to_json,
    records_from_json,
)
from .run import CancelRequest, Run, RunStatus, Submission, Work, WorkState
from .values import Document, Unreadable, mapping_or_empty, number_or_none, text_or_none, texts_or, whole_or

SCHEMA_VERSION = 1

# Written only when they say something, so that the document of a plain run stays small.
_SUBMISSION_OPTIONAL = (
    "tenant_id",
    "api_key_id",
    "workflow_yaml_sha256",
    "workflow_yaml_bytes",
    "flow_sha256",
    "correlation_id",
    "batch_id",
    "parent_run_id",
)
_RUN_OPTIONAL = ("worker_id", "start_time", "end_time", "output_ref", "archived_at")


def to_document(run: Run) -> Document:
    submission, history = run.submission, run.history
    document: Document = dict(run.extra)
    document.update(
        schema_version=SCHEMA_VERSION,
        run_id=submission.run_id,
        flow_name=submission.flow_name,
        status=run.status.value,
        params=submission.params,
        tag=submission.tag,
        tags=list(run.tags),
        tasks={name: record.task_state.value for name, record in run.nodes.items()},
        task_records={name: record_to_json(record) for name, record in run.nodes.items()},
        task_records_truncated=run.records_truncated,
        error=run.error,
        heartbeat_at=run.heartbeat_at,
        updated_at=run.updated_at,
        created_at=submission.created_at,
        version=run.version,
        attempt=run.attempt,
        crashes=run.crashes,
        work=_work_to_json(run.work),
        output=run.output,
        context=run.context,
        journal=journal_to_json(run.journal),
        events=list(history.entries),
        events_truncated=history.truncated,
        applied={cmd: list(numbers) for cmd, numbers in history.applied.items()},
    )
    _add_given(document, submission, _SUBMISSION_OPTIONAL)
    _add_given(document, run, _RUN_OPTIONAL)
    if submission.open:
        document["open"] = True
    if submission.declared is not None:
        document["declared_nodes"] = list(submission.declared)
    if run.cancel is not None:
        document["cancel_requested_at"] = run.cancel.at
        document["cancel_requested_by"] = run.cancel.by
        document["cancel_requested_reason"] = run.cancel.reason
    return document


def from_document(document: Mapping[str, Any]) -> Run:
    """The run behind a document, whoever wrote it last. Unreadable if it is none."""
    try:
        run = _read(document)
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise Unreadable(f"not a run document: {problem!r}") from problem
    return as_left_by_v0(run) if was_written_by_v0(document) else run


def _read(document: Mapping[str, Any]) -> Run:
    return Run(
        submission=_submission(document),
        status=RunStatus(document["status"]),
        tags=texts_or(document, "tags", (document.get("tag", "default"),)),
        version=whole_or(document, "version", 0),
        updated_at=_time(document, "updated_at"),
        work=_work_from_json(mapping_or_empty(document, "work")),
        attempt=whole_or(document, "attempt", 0),
        crashes=whole_or(document, "crashes", 0),
        worker_id=text_or_none(document, "worker_id"),
        start_time=number_or_none(document, "start_time"),
        end_time=number_or_none(document, "end_time"),
        error=text_or_none(document, "error"),
        cancel=_cancel(document),
        nodes=_nodes(document),
        journal=journal_from_json(document.get("journal", {})),
        context=mapping_or_empty(document, "context"),
        output=document.get("output"),
        output_ref=text_or_none(document, "output_ref"),
        archived_at=number_or_none(document, "archived_at"),
        history=_history(document),
        records_truncated=document.get("task_records_truncated") is True,
        heartbeat_at=_time(document, "heartbeat_at"),
        extra={name: value for name, value in document.items() if name not in _KNOWN},
    )


def _submission(document: Mapping[str, Any]) -> Submission:
    declared = texts_or(document, "declared_nodes", ()) if "declared_nodes" in document else None
    created_at = number_or_none(document, "created_at")
    return Submission(
        run_id=_text(document, "run_id"),
        flow_name=_text(document, "flow_name"),
        created_at=_time(document, "updated_at") if created_at is None else created_at,
        tag=text_or_none(document, "tag") or "default",
        params=mapping_or_empty(document, "params"),
        open=document.get("open") is True,
        declared=declared,
        **{name: document.get(name) for name in _SUBMISSION_OPTIONAL},
    )


def _nodes(document: Mapping[str, Any]) -> dict[str, NodeRecord]:
    """Records by name. Where they were cut, some are kept in the journal; of the others only the state is known."""
    kept = mapping_or_empty(mapping_or_empty(document, "journal"), "kept")
    records = records_from_json(kept) | records_from_json(mapping_or_empty(document, "task_records"))
    tasks = mapping_or_empty(document, "tasks")
    nodes = {
        name: records[name] if name in records else NodeRecord(state=node_state(state), replay=state == "PENDING")
        for name, state in tasks.items()
    }
    return nodes | {name: record for name, record in records.items() if name not in nodes}


def _cancel(document: Mapping[str, Any]) -> CancelRequest | None:
    at = number_or_none(document, "cancel_requested_at")
    if at is None:
        return None
    return CancelRequest(
        at, text_or_none(document, "cancel_requested_by"), text_or_none(document, "cancel_requested_reason")
    )


def _history(document: Mapping[str, Any]) -> History:
    entries = document.get("events", [])
    if not isinstance(entries, list) or not all(map(_is_event, entries)):
        raise Unreadable("events is not a list of events")
    applied = mapping_or_empty(document, "applied")
    return History(
        entries=tuple(entries),
        applied={cmd: tuple(numbers) for cmd, numbers in applied.items()},
        truncated=document.get("events_truncated") is True,
        size=-1,
    )


def _is_event(entry: object) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("data"), dict) and "type" in entry and "n" in entry


def _work_to_json(work: Work) -> Document:
    document: Document = {
        "state": work.state.value,
        "gen": work.gen,
        "worker_id": work.worker_id,
        "instance_id": work.instance_id,
        "since": work.since,
    }
    if work.foreign:
        document["foreign"] = True
    return document


def _work_from_json(document: Mapping[str, Any]) -> Work:
    return Work(
        state=WorkState(document.get("state", "none")),
        gen=whole_or(document, "gen", 0),
        worker_id=text_or_none(document, "worker_id"),
        instance_id=text_or_none(document, "instance_id"),
        since=number_or_none(document, "since"),
        foreign=document.get("foreign") is True,
    )


def _add_given(document: Document, source: object, names: tuple[str, ...]) -> None:
    for name in names:
        value = getattr(source, name)
        if value is not None:
            document[name] = value


def _text(document: Mapping[str, Any], key: str) -> str:
    value = text_or_none(document, key)
    if value is None:
        raise Unreadable(f"{key} is missing")
    return value


def _time(document: Mapping[str, Any], key: str) -> float:
    value = number_or_none(document, key)
    if value is None:
        raise Unreadable(f"{key} is missing")
    return value


_KNOWN = frozenset(
    {
        *_SUBMISSION_OPTIONAL,
        *_RUN_OPTIONAL,
        *("schema_version", "run_id", "flow_name", "status", "params", "tag", "tags", "tasks", "task_records"),
        *("task_records_truncated", "error", "heartbeat_at", "updated_at", "created_at", "version", "attempt"),
        *("crashes", "work", "output", "context", "journal", "events", "events_truncated", "applied", "open"),
        *("declared_nodes", "cancel_requested_at", "cancel_requested_by", "cancel_requested_reason"),
    }
)
