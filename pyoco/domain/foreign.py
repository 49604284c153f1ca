"""Documents that a pyoco-server 0.5 process wrote last: how they are told apart, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .records import NodeState
from .run import CancelRequest, Run, RunStatus, Work, WorkState

# The status that a run has right after these events, as far as they say it alone.
_STATUS_AFTER = {
    "RunCreated": RunStatus.PENDING,
    "RunStarted": RunStatus.RUNNING,
    "RunCancelRequested": RunStatus.CANCELLING,
    "RunCancelled": RunStatus.CANCELLED,
    "RunCompleted": RunStatus.COMPLETED,
    "RunFailed": RunStatus.FAILED,
}
_NOT_ENDED = (NodeState.PENDING, NodeState.RUNNING, NodeState.WAITING)
_WORK_AFTER = {RunStatus.PENDING: WorkState.QUEUED, RunStatus.RUNNING: WorkState.CLAIMED}


def was_written_by_v0(document: Mapping[str, Any]) -> bool:
    """A v0 process leaves out what it does not know, or leaves its own fields in disagreement with our events.

    Each of our writes but a heartbeat sets `updated_at` to the time of its last event; each of theirs sets it to now.
    """
    events = document.get("events")
    if "work" not in document or not events:
        return True
    if document.get("version") != events[-1].get("n") or document.get("updated_at") != events[-1].get("at"):
        return True
    for event in reversed(events):
        status = _STATUS_AFTER.get(event.get("type"))
        if status is None and event.get("type") == "RunObserved":
            status = event.get("data", {}).get("status")
        if status is not None:
            return bool(document.get("status") != status)
    return False


def as_left_by_v0(run: Run) -> Run:
    """Its own fields win; who is responsible follows from the status, and is nobody that we can judge."""
    cancel = run.cancel
    if cancel is None and run.status is RunStatus.CANCELLING:
        cancel = CancelRequest(run.updated_at)
    status = run.status
    if cancel is not None and not status.is_terminal:
        status = RunStatus.CANCELLING
    work = Work(WorkState.NONE, run.work.gen)
    if not status.is_terminal:
        # Also a run that is being cancelled may be in the hands of a v0 worker, which ends it.
        state = _WORK_AFTER.get(run.status, WorkState.CLAIMED)
        work = Work(state, run.work.gen, run.worker_id, since=run.updated_at, foreign=True)
    # v0 writes values as they look, not as they were: no outcome in its records can stand for running the node.
    nodes = {
        name: record if record.state in _NOT_ENDED else replace(record, replay=False)
        for name, record in run.nodes.items()
    }
    return run.changed({"status": status, "cancel": cancel, "work": work, "nodes": nodes, "unseen_write": True})
