"""The rules: what a command makes happen to a run, or why it is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from . import commands as c
from .decide_nodes import NODE_RULES
from .events import (
    Body,
    Event,
    JournalWritten,
    NodeCancelled,
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
from .evolve import evolve
from .guards import Decision, closed_to_progress, refuse
from .records import NodeState
from .rejection import Reason, Rejection
from .run import Run, WorkState


@dataclass(frozen=True, slots=True)
class Applied:
    """The run after a batch of commands, and what happened. No events: nothing has to be written."""

    run: Run
    events: tuple[Event, ...]


def decide(run: Run | None, command: c.Command) -> list[Event] | Rejection:
    """What happens, in order, when this command meets this run. A command that was applied before emits nothing."""
    if _was_applied(run, command):
        return []
    return _decide(run, command)


def apply_all(run: Run | None, batch: Iterable[c.Command]) -> Applied | Rejection:
    """All commands of one write, or the first refusal: then nothing of the batch counts."""
    before, events = run, []
    for index, command in enumerate(batch):
        # Commands of one batch may share a digest (a submit creates and queues): only earlier writes count.
        if _was_applied(before, command):
            continue
        decided = _decide(run, command)
        if isinstance(decided, Rejection):
            return replace(decided, index=index)
        run_id = command.run_id if isinstance(command, c.CreateExecution) else None
        for event in decided:
            run = evolve(run, event, run_id=run_id)
        events += decided
    if run is None:
        return Rejection("Nothing", Reason.RUN_UNKNOWN, "there is no such execution")
    return Applied(run, tuple(events))


def _was_applied(run: Run | None, command: c.Command) -> bool:
    return run is not None and command.cmd is not None and command.cmd in run.history.applied


def _decide(run: Run | None, command: c.Command) -> list[Event] | Rejection:
    if isinstance(command, c.CreateExecution):
        bodies = _create(run, command)
    elif run is None:
        return refuse(command, Reason.RUN_UNKNOWN, "there is no such execution")
    else:
        bodies = _guarded(run, command)
    if isinstance(bodies, Rejection) or not bodies:
        return bodies if isinstance(bodies, Rejection) else []
    if run is None:
        return _numbered(bodies, command, 0, command.at)
    if run.unseen_write:
        bodies = [RunObserved(run.status.value, run.work.state.value, run.worker_id), *bodies]
    return _numbered(bodies, command, run.version, max(command.at, run.updated_at))


def _numbered(bodies: list[Body], command: c.Command, version: int, at: float) -> list[Event]:
    return [Event(n, at, body, command.by, command.cmd) for n, body in enumerate(bodies, version + 1)]


def _guarded(run: Run, command: c.Command) -> Decision:
    holder = command.holder
    if holder is not None and not run.is_claimed_by(holder.instance_id, holder.attempt):
        return refuse(command, Reason.NOT_HOLDER, "the claim it speaks for does not stand")
    return _RULES[type(command)](run, command)


def _create(run: Run | None, command: c.CreateExecution) -> Decision:
    if run is not None:
        return refuse(command, Reason.RUN_EXISTS, "the execution exists")
    return [
        RunCreated(
            flow_name=command.flow_name,
            tag=command.tag,
            tags=command.tags,
            params=command.params,
            tenant_id=command.tenant_id,
            api_key_id=command.api_key_id,
            workflow_yaml_sha256=command.workflow_yaml_sha256,
            workflow_yaml_bytes=command.workflow_yaml_bytes,
            flow_sha256=command.flow_sha256,
            correlation_id=command.correlation_id,
            batch_id=command.batch_id,
            parent_run_id=command.parent_run_id,
            open=command.open,
            declared=command.declared,
            inherited=command.inherited,
        )
    ]


def _start(run: Run, command: c.StartExecution) -> Decision:
    if refusal := closed_to_progress(run, command):
        return refusal
    if run.submission.open:
        return [] if run.attempt else [RunStarted(attempt=1)]
    if run.work.state is not WorkState.NONE:
        return []
    return [RunQueued(run.work.gen + 1, "start")]


def _queue(run: Run, command: c.Queue) -> Decision:
    if refusal := closed_to_progress(run, command):
        return refusal
    work = run.work
    if run.submission.open or work.foreign:
        return refuse(command, Reason.WORK_STATE, "its nodes are not driven by our workers")
    if work.state is WorkState.CLAIMED and work.instance_id != command.dead_instance:
        return refuse(command, Reason.WORK_STATE, "a worker has claimed it")
    if work.state is WorkState.QUEUED and work.gen != command.lost_gen:
        return refuse(command, Reason.WORK_STATE, "it is queued")
    return [RunQueued(work.gen + 1, command.reason)]


def _claim(run: Run, command: c.Claim) -> Decision:
    if refusal := closed_to_progress(run, command):
        return refusal
    work = run.work
    if command.gen is not None and command.gen != work.gen and not work.foreign:
        return refuse(command, Reason.WRONG_GEN, f"the message has gen {command.gen}, the execution {work.gen}")
    claimable = (
        work.state is WorkState.QUEUED
        or (work.state is WorkState.CLAIMED and work.foreign)
        or (work.state is WorkState.CLAIMED and work.instance_id == command.dead_instance)
    )
    if not claimable:
        return refuse(command, Reason.WORK_STATE, f"its work is {work.state}")
    return [RunStarted(run.attempt + 1, command.worker_id, command.instance_id, command.note)]


def _park(run: Run, command: c.Park) -> Decision:
    if refusal := closed_to_progress(run, command) or _must_be_held(run, command):
        return refusal
    open_nodes = [record.state for _, record in run.places() if record.is_open]
    if not open_nodes or any(state is not NodeState.WAITING for state in open_nodes):
        return refuse(command, Reason.NODES_OPEN, "not every open node waits")
    return [RunParked()]


def _release(run: Run, command: c.Release) -> Decision:
    if refusal := closed_to_progress(run, command):
        return refusal
    work = run.work
    if work.state is not WorkState.CLAIMED or work.instance_id != command.instance_id:
        return refuse(command, Reason.NOT_HOLDER, "that instance does not hold it")
    return [RunReleased(work.gen + 1, command.reason.value)]


def _cancel(run: Run, command: c.CancelExecution) -> Decision:
    if run.is_terminal or run.cancel is not None:
        return []
    requested = RunCancelRequested(command.reason)
    if run.work.state is WorkState.CLAIMED:
        return [requested]
    return [requested, *_open_nodes_cancelled(run, by_execution=True), RunCancelled()]


def _confirm_cancelled(run: Run, command: c.ConfirmCancelled) -> Decision:
    if run.is_terminal:
        return refuse(command, Reason.TERMINAL, f"execution is {run.status}")
    if run.cancel is None:
        return refuse(command, Reason.CANCEL_NOT_REQUESTED, "nobody requested a cancel")
    return [*_open_nodes_cancelled(run, by_execution=True), RunCancelled()]


def _complete(run: Run, command: c.CompleteExecution) -> Decision:
    if refusal := closed_to_progress(run, command):
        return refusal
    if command.holder is not None:
        ended = RunCompleted(command.output, command.output_ref)
        return [*_open_nodes_cancelled(run, by_execution=False), ended]
    if not run.submission.open:
        return refuse(command, Reason.DRIVEN_BY_WORKER, "workers drive this execution")
    if any(record.is_open for record in run.nodes.values()):
        return refuse(command, Reason.NODES_OPEN, "a node is running or waiting")
    failed = [name for name, record in run.nodes.items() if record.state is NodeState.FAILED]
    if failed:
        return [RunFailed(f"failed: {', '.join(failed)}")]
    outputs = {name: node.output for name, node in run.nodes.items() if node.state is NodeState.SUCCEEDED}
    return [RunCompleted(next(iter(outputs.values())) if len(outputs) == 1 else outputs or None)]


def _fail(run: Run, command: c.FailExecution) -> Decision:
    if refusal := closed_to_progress(run, command):
        return refusal
    work = run.work
    if command.queued_gen is not None and (work.state is not WorkState.QUEUED or work.gen != command.queued_gen):
        return refuse(command, Reason.WORK_STATE, f"it is no longer queued with gen {command.queued_gen}")
    return [*_open_nodes_cancelled(run, by_execution=False), RunFailed(command.error)]


def _archive(run: Run, command: c.ArchiveExecution) -> Decision:
    if not run.is_terminal:
        return refuse(command, Reason.NOT_TERMINAL, f"execution is {run.status}")
    return [] if run.archived_at is not None else [RunArchived()]


def _add_tag(run: Run, command: c.AddTag) -> Decision:
    return [] if command.tag in run.tags else [TagsChanged((*run.tags, command.tag))]


def _remove_tag(run: Run, command: c.RemoveTag) -> Decision:
    if command.tag not in run.tags:
        return []
    return [TagsChanged(tuple(tag for tag in run.tags if tag != command.tag))]


def _declare_nodes(run: Run, command: c.DeclareNodes) -> Decision:
    if refusal := closed_to_progress(run, command) or _must_be_held(run, command):
        return refusal
    new = tuple(name for name in command.nodes if name not in run.nodes)
    return [NodesDeclared(command.nodes)] if new else []


def _write_journal(run: Run, command: c.WriteJournal) -> Decision:
    if refusal := closed_to_progress(run, command) or _must_be_held(run, command):
        return refusal
    context = None if command.context == run.context else command.context
    if context is None and not command.decisions:
        return []
    return [JournalWritten(command.decisions, context)]


def _must_be_held(run: Run, command: c.Command) -> Rejection | None:
    """For commands that only the worker which executes the run can mean."""
    if command.holder is None:
        return refuse(command, Reason.NOT_HOLDER, "only the worker that holds it may say so")
    return None


def _open_nodes_cancelled(run: Run, *, by_execution: bool) -> list[Body]:
    return [
        NodeCancelled(record.node or place, record.path, by_execution)
        for place, record in run.places()
        if record.is_open
    ]


_RULES: dict[type[c.Command], Callable[[Run, Any], Decision]] = {
    c.StartExecution: _start,
    c.Queue: _queue,
    c.Claim: _claim,
    c.Park: _park,
    c.Release: _release,
    c.CancelExecution: _cancel,
    c.ConfirmCancelled: _confirm_cancelled,
    c.CompleteExecution: _complete,
    c.FailExecution: _fail,
    c.ArchiveExecution: _archive,
    c.AddTag: _add_tag,
    c.RemoveTag: _remove_tag,
    c.DeclareNodes: _declare_nodes,
    c.WriteJournal: _write_journal,
    **NODE_RULES,
}
