"""The fold of node events: records by name, entries by place, answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from .events import (
    Event,
    JournalWritten,
    NodeCancelled,
    NodeEvent,
    NodeFailed,
    NodeProgressed,
    NodeResumed,
    NodesDeclared,
    NodeSkipped,
    NodeStarted,
    NodeSucceeded,
    NodeWaiting,
)
from .records import PENDING_NODE, NodeRecord, NodeState
from .run import Run

Changes = dict[str, Any]

# An attempt that got this far was not lost for nothing: something is recorded that the next one builds on.
_RECORDED = (NodeSucceeded, NodeFailed, NodeWaiting, NodeSkipped)


def node_changes(run: Run, event: Event, body: NodeEvent) -> Changes:
    before = run.at(body.place) or PENDING_NODE
    record = _RECORDERS[type(body)](before, event, body)
    journal = run.journal
    if body.path is not None:
        record = replace(record, node=body.node, path=body.path)
        journal = replace(journal, nodes={**journal.nodes, body.path: record})
    if isinstance(body, NodeResumed):
        answers = {**journal.answers.get(body.place, {}), body.wait_key: {"payload": body.payload}}
        journal = replace(journal, answers={**journal.answers, body.place: answers})
    changes: Changes = {"nodes": {**run.nodes, body.node: record}}
    if journal is not run.journal:
        changes["journal"] = journal
    if run.crashes and isinstance(body, _RECORDED):
        changes["crashes"] = 0
    return changes


def nodes_back_to_pending(run: Run) -> Changes:
    """What the lost attempt had begun begins again; what it recorded stays."""
    changes: Changes = {}
    if any(record.state is NodeState.RUNNING for record in run.nodes.values()):
        changes["nodes"] = _begun_again(run.nodes)
    if any(record.state is NodeState.RUNNING for record in run.journal.nodes.values()):
        changes["journal"] = replace(run.journal, nodes=_begun_again(run.journal.nodes))
    return changes


def nodes_cancelled(run: Run, event: Event) -> Changes:
    """Nodes that nobody started will not be started any more."""
    if not any(record.state is NodeState.PENDING for record in run.nodes.values()):
        return {}
    return {
        "nodes": {
            name: replace(record, state=NodeState.CANCELLED, ended_at=event.at, canceled_by_execution=True)
            if record.state is NodeState.PENDING
            else record
            for name, record in run.nodes.items()
        }
    }


def nodes_declared(run: Run, event: Event, body: NodesDeclared) -> Changes:
    return {"nodes": {**dict.fromkeys(body.nodes, PENDING_NODE), **run.nodes}}


def context_written(run: Run, event: Event, body: JournalWritten) -> Changes:
    changes: Changes = {}
    if body.context is not None:
        changes["context"] = body.context
    if body.decisions:
        changes["journal"] = replace(run.journal, decisions={**run.journal.decisions, **body.decisions})
    return changes


def _begun_again(records: Mapping[str, NodeRecord]) -> dict[str, NodeRecord]:
    return {
        place: NodeRecord(attempt=record.attempt, node=record.node, path=record.path)
        if record.state is NodeState.RUNNING
        else record
        for place, record in records.items()
    }


def _started(before: NodeRecord, event: Event, body: NodeStarted) -> NodeRecord:
    return NodeRecord(state=NodeState.RUNNING, started_at=event.at, attempt=body.attempt, worker_id=body.worker_id)


def _progressed(before: NodeRecord, event: Event, body: NodeProgressed) -> NodeRecord:
    return replace(before, progress=body.progress, message=body.message)


def _waiting(before: NodeRecord, event: Event, body: NodeWaiting) -> NodeRecord:
    return replace(
        before,
        state=NodeState.WAITING,
        wait_key=body.wait_key,
        prompt=body.prompt,
        external=body.external,
        resumed=False,
    )


def _resumed(before: NodeRecord, event: Event, body: NodeResumed) -> NodeRecord:
    return replace(before, state=NodeState.RUNNING, wait_key=None, prompt=None, resumed=True)


def _succeeded(before: NodeRecord, event: Event, body: NodeSucceeded) -> NodeRecord:
    return _ended(
        before,
        event,
        state=NodeState.SUCCEEDED,
        inputs=body.inputs,
        output=body.output,
        output_ref=body.output_ref,
        replay=body.replay,
    )


def _failed(before: NodeRecord, event: Event, body: NodeFailed) -> NodeRecord:
    return _ended(
        before,
        event,
        state=NodeState.FAILED,
        inputs=body.inputs,
        error=body.error,
        error_code=body.code,
        traceback=body.traceback,
        retrying=body.retrying,
        skipped=body.skipped,
    )


def _skipped(before: NodeRecord, event: Event, body: NodeSkipped) -> NodeRecord:
    return _ended(before, event, state=NodeState.SKIPPED, error=body.reason)


def _cancelled(before: NodeRecord, event: Event, body: NodeCancelled) -> NodeRecord:
    return _ended(before, event, state=NodeState.CANCELLED, canceled_by_execution=body.by_execution)


def _ended(before: NodeRecord, event: Event, **outcome: Any) -> NodeRecord:
    started = before.started_at
    return NodeRecord(
        started_at=started,
        ended_at=event.at,
        duration_ms=None if started is None else round((event.at - started) * 1000, 3),
        attempt=before.attempt,
        worker_id=before.worker_id,
        progress=before.progress,
        message=before.message,
        **outcome,
    )


_RECORDERS: Mapping[type[Any], Callable[[NodeRecord, Event, Any], NodeRecord]] = {
    NodeStarted: _started,
    NodeProgressed: _progressed,
    NodeWaiting: _waiting,
    NodeResumed: _resumed,
    NodeSucceeded: _succeeded,
    NodeFailed: _failed,
    NodeSkipped: _skipped,
    NodeCancelled: _cancelled,
}
