"""The rules for nodes: who may move them, from which state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import commands as c
from .events import (
    Body,
    NodeCancelled,
    NodeFailed,
    NodeProgressed,
    NodeResumed,
    NodeSkipped,
    NodeStarted,
    NodeSucceeded,
    NodeWaiting,
    RunCompleted,
    RunQueued,
    RunStarted,
)
from .guards import Decision, closed_to_progress, refuse
from .records import NodeRecord, NodeState
from .rejection import Reason, Rejection
from .run import Run, WorkState

_SOON = 1.0


def _start_node(run: Run, command: c.StartNode) -> Decision:
    if refusal := closed_to_progress(run, command) or _driven_by_worker(run, command):
        return refusal
    declared = run.submission.declared
    if declared is not None and command.node not in declared:
        return refuse(command, Reason.NOT_DECLARED, f"node {command.node} was not declared")
    record = run.at(command.place)
    if record is not None and not _may_start(record, command):
        return refuse(command, Reason.NODE_STATE, f"node {command.place} is {record.state}")
    started = NodeStarted(command.node, command.path, command.attempt, command.worker_id)
    # On an open execution the first node implies the start of the execution.
    return [started] if run.attempt else [RunStarted(attempt=1), started]


def _may_start(record: NodeRecord, command: c.StartNode) -> bool:
    if record.state is NodeState.PENDING:
        return True
    if record.state is NodeState.FAILED and command.attempt > record.attempt:
        return True
    # For its worker a node also begins again after an answered wait, and when its outcome could not be recorded.
    again = record.resumed if record.state is NodeState.RUNNING else not record.replay
    return command.holder is not None and again


def _report_progress(run: Run, command: c.ReportNodeProgress) -> Decision:
    if refusal := closed_to_progress(run, command):
        return refusal
    if not 0 <= command.progress <= 100:
        return refuse(command, Reason.INVALID, "progress is not between 0 and 100")
    record = _found(run, command, NodeState.RUNNING)
    if isinstance(record, Rejection):
        return record
    return [NodeProgressed(*_place(command, record), progress=command.progress, message=command.message)]


def _put_waiting(run: Run, command: c.PutNodeWaiting) -> Decision:
    if refusal := closed_to_progress(run, command) or _driven_by_worker(run, command):
        return refusal
    record = _found(run, command, NodeState.RUNNING)
    if isinstance(record, Rejection):
        return record
    return [NodeWaiting(*_place(command, record), command.wait_key, command.prompt, command.external)]


def _resume(run: Run, command: c.ResumeNode) -> Decision:
    if refusal := closed_to_progress(run, command):
        return refusal
    waiting = _waits_of(run, command)
    if not waiting:
        record = run.at(command.place) or run.nodes.get(command.place)
        if record is None:
            return _unknown(command)
        # The node may be about to wait: whoever was asked can be faster than the write that says so.
        return refuse(command, Reason.NODE_STATE, f"node {command.place} is {record.state}", retry_after=_SOON)
    for record in waiting:
        if record.wait_key == command.resume_key:
            resumed = NodeResumed(*_place(command, record), command.resume_key, command.payload)
            return [resumed, *_queued_if_parked(run)]
    return refuse(command, Reason.WRONG_KEY, f"node {command.place} waits for another key")


def _waits_of(run: Run, command: c.ResumeNode) -> list[NodeRecord]:
    """Where the node waits: one place, or, when only the name of a node inside loops is given, any of its places."""
    exact = run.at(command.place)
    records = [exact] if exact is not None else [r for r in run.journal.nodes.values() if r.node == command.node]
    return [record for record in records if record.state is NodeState.WAITING]


def _succeed(run: Run, command: c.SucceedNode) -> Decision:
    record = _may_end(run, command)
    if isinstance(record, Rejection):
        return record
    succeeded = NodeSucceeded(
        *_place(command, record), command.output, command.output_ref, command.inputs, command.replay
    )
    return [succeeded, *_queued_if_parked(run), *_completed_with(run, command)]


def _completed_with(run: Run, command: c.SucceedNode) -> list[Body]:
    """An open execution with declared nodes completes by itself with the last of them."""
    declared = run.submission.declared
    if not declared or any(
        run.nodes[name].state is not NodeState.SUCCEEDED for name in declared if name != command.node
    ):
        return []
    outputs = {name: run.nodes[name].output for name in declared} | {command.node: command.output}
    return [RunCompleted(command.output if len(outputs) == 1 else outputs)]


def _fail(run: Run, command: c.FailNode) -> Decision:
    record = _never_started(run, command) if command.skipped else _may_end(run, command)
    if isinstance(record, Rejection):
        return record
    failed = NodeFailed(
        *_place(command, record),
        command.error,
        command.code,
        command.traceback,
        command.inputs,
        command.retrying,
        command.skipped,
    )
    return [failed, *_queued_if_parked(run)]


def _skip(run: Run, command: c.SkipNode) -> Decision:
    record = _never_started(run, command)
    if isinstance(record, Rejection):
        return record
    return [NodeSkipped(command.node, command.path, command.reason)]


def _cancel_node(run: Run, command: c.CancelNode) -> Decision:
    if refusal := closed_to_progress(run, command) or _from_outside(command):
        return refusal
    record = run.at(command.place)
    if record is None or not (record.is_open or record.state is NodeState.PENDING):
        return refuse(command, Reason.NODE_STATE, f"node {command.place} is not open")
    return [NodeCancelled(command.node, command.path)]


def _may_end(run: Run, command: c.SucceedNode | c.FailNode) -> NodeRecord | Rejection:
    """A RUNNING node ends by whoever drives it; one that waits for the outside ends from outside."""
    if refusal := closed_to_progress(run, command):
        return refusal
    record = run.at(command.place) or run.nodes.get(command.place)
    if record is not None and record.external and record.state is NodeState.WAITING:
        return record
    return _driven_by_worker(run, command) or _found(run, command, NodeState.RUNNING)


def _never_started(run: Run, command: c.NodeCommand) -> NodeRecord | Rejection | None:
    """Only the worker that walks the flow knows that it passed a node by."""
    if refusal := closed_to_progress(run, command) or _from_outside(command):
        return refusal
    record = run.at(command.place)
    if record is not None and record.state is not NodeState.PENDING:
        return refuse(command, Reason.NODE_STATE, f"node {command.place} is {record.state}")
    return record


def _driven_by_worker(run: Run, command: c.Command) -> Rejection | None:
    if command.holder is None and not run.submission.open:
        return refuse(command, Reason.DRIVEN_BY_WORKER, "workers drive this execution")
    return None


def _from_outside(command: c.Command) -> Rejection | None:
    if command.holder is None:
        return refuse(command, Reason.DRIVEN_BY_WORKER, "only the worker that holds it may say so")
    return None


def _found(run: Run, command: c.NodeCommand, state: NodeState) -> NodeRecord | Rejection:
    record = run.at(command.place) or run.nodes.get(command.place)
    if record is None:
        return _unknown(command)
    if record.state is not state:
        return refuse(command, Reason.NODE_STATE, f"node {command.place} is {record.state}")
    return record


def _unknown(command: c.NodeCommand) -> Rejection:
    return refuse(command, Reason.NODE_UNKNOWN, f"nobody started node {command.place}")


def _place(command: c.NodeCommand, record: NodeRecord | None) -> tuple[str, str | None]:
    """From outside a node inside a loop is called by its path or by its name; the record knows both."""
    if record is None or record.path is None:
        return command.node, command.path
    return record.node or command.node, record.path


def _queued_if_parked(run: Run) -> list[Body]:
    return [RunQueued(run.work.gen + 1, "resume")] if run.work.state is WorkState.PARKED else []


NODE_RULES: dict[type[c.Command], Callable[[Run, Any], Decision]] = {
    c.StartNode: _start_node,
    c.ReportNodeProgress: _report_progress,
    c.PutNodeWaiting: _put_waiting,
    c.ResumeNode: _resume,
    c.SucceedNode: _succeed,
    c.FailNode: _fail,
    c.SkipNode: _skip,
    c.CancelNode: _cancel_node,
}
