"""The fold: what a run is after an event."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .events import (
    Event,
    JournalWritten,
    NodeEvent,
    NodesDeclared,
    RunArchived,
    RunCancelled,
    RunCancelRequested,
    RunCompleted,
    RunCreated,
    RunFailed,
    RunObserved,
    RunParked,
    RunQueued,
    RunReleased,
    RunStarted,
    TagsChanged,
)
from .evolve_nodes import context_written, node_changes, nodes_back_to_pending, nodes_cancelled, nodes_declared
from .history import EMPTY_HISTORY, append, forget
from .records import PENDING_NODE, journal_from_json, records_from_json
from .run import CancelRequest, Run, RunStatus, Submission, Work, WorkState
from .transitions import IllegalEvent, next_status

Changes = dict[str, Any]


def evolve(run: Run | None, event: Event, *, run_id: str | None = None) -> Run:
    """The run after the event. The first one is RunCreated, and needs the id of the run that it makes."""
    body = event.body
    if run is None:
        if not isinstance(body, RunCreated) or run_id is None:
            raise IllegalEvent(f"{event.type} cannot be the first event of a run")
        return _created(body, event, run_id)
    status = next_status(run.status, type(body))
    changes: Changes
    if isinstance(body, NodeEvent):
        changes = node_changes(run, event, body)
    else:
        handler = _HANDLERS.get(type(body))
        changes = handler(run, event, body) if handler is not None else {}
    changes["status"] = status
    changes["version"] = event.n
    changes["updated_at"] = max(run.updated_at, event.at)
    changes["history"] = append(changes.get("history", run.history), event, run.run_id)
    return run.changed(changes)


def fold(run_id: str, events: Iterable[Event]) -> Run:
    """The run that these events make, from nothing."""
    run: Run | None = None
    for event in events:
        run = evolve(run, event, run_id=run_id)
    if run is None:
        raise IllegalEvent("no events, no run")
    return run


def _created(body: RunCreated, event: Event, run_id: str) -> Run:
    submission = Submission(
        run_id=run_id,
        flow_name=body.flow_name,
        created_at=event.at,
        tag=body.tag,
        params=body.params,
        tenant_id=body.tenant_id,
        api_key_id=body.api_key_id,
        workflow_yaml_sha256=body.workflow_yaml_sha256,
        workflow_yaml_bytes=body.workflow_yaml_bytes,
        flow_sha256=body.flow_sha256,
        correlation_id=body.correlation_id,
        batch_id=body.batch_id,
        parent_run_id=body.parent_run_id,
        open=body.open,
        declared=body.declared,
    )
    inherited: Changes = dict(body.inherited)
    return Run(
        submission=submission,
        status=RunStatus.PENDING,
        tags=body.tags,
        version=event.n,
        updated_at=event.at,
        heartbeat_at=event.at,
        nodes=dict.fromkeys(body.declared or (), PENDING_NODE) | records_from_json(inherited.get("task_records", {})),
        journal=journal_from_json(inherited.get("journal", {})),
        context=inherited.get("context", {}),
        history=append(EMPTY_HISTORY, event, run_id),
    )


def _queued(run: Run, event: Event, body: RunQueued) -> Changes:
    crashed = run.work.state is WorkState.CLAIMED
    return {
        "work": Work(WorkState.QUEUED, body.gen, since=event.at),
        "crashes": run.crashes + 1 if crashed else run.crashes,
    }


def _started(run: Run, event: Event, body: RunStarted) -> Changes:
    changes: Changes = {"attempt": body.attempt}
    if run.start_time is None:
        changes["start_time"] = event.at
    if body.instance_id is None:
        return changes
    if run.work.state is WorkState.CLAIMED and not run.work.foreign:
        changes["crashes"] = run.crashes + 1
    changes["work"] = Work(WorkState.CLAIMED, run.work.gen, body.worker_id, body.instance_id, event.at)
    changes["worker_id"] = body.worker_id
    return changes | nodes_back_to_pending(run)


def _parked(run: Run, event: Event, body: RunParked) -> Changes:
    return {"work": Work(WorkState.PARKED, run.work.gen, since=event.at)}


def _released(run: Run, event: Event, body: RunReleased) -> Changes:
    lost = body.reason == "worker_lost"
    return {
        "work": Work(WorkState.QUEUED, body.gen, since=event.at),
        "crashes": run.crashes + 1 if lost else run.crashes,
    }


def _cancel_requested(run: Run, event: Event, body: RunCancelRequested) -> Changes:
    return {"cancel": CancelRequest(event.at, event.by, body.reason)}


def _ended(run: Run, event: Event) -> Changes:
    return {"work": Work(WorkState.NONE, run.work.gen, since=event.at), "end_time": event.at}


def _cancelled(run: Run, event: Event, body: RunCancelled) -> Changes:
    return _ended(run, event) | nodes_cancelled(run, event)


def _completed(run: Run, event: Event, body: RunCompleted) -> Changes:
    return _ended(run, event) | {"output": body.output, "output_ref": body.output_ref}


def _failed(run: Run, event: Event, body: RunFailed) -> Changes:
    return _ended(run, event) | {"error": body.error}


def _archived(run: Run, event: Event, body: RunArchived) -> Changes:
    return {"archived_at": event.at}


def _observed(run: Run, event: Event, body: RunObserved) -> Changes:
    # The state was read from the v0 fields already; only that it happened is new.
    return {"unseen_write": False, "history": forget(run.history)}


def _tags_changed(run: Run, event: Event, body: TagsChanged) -> Changes:
    return {"tags": body.tags}


_HANDLERS: dict[type[Any], Callable[[Run, Event, Any], Changes]] = {
    RunQueued: _queued,
    RunStarted: _started,
    RunParked: _parked,
    RunReleased: _released,
    RunCancelRequested: _cancel_requested,
    RunCancelled: _cancelled,
    RunCompleted: _completed,
    RunFailed: _failed,
    RunArchived: _archived,
    RunObserved: _observed,
    TagsChanged: _tags_changed,
    NodesDeclared: nodes_declared,
    JournalWritten: context_written,
}
