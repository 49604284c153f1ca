"""Writes down what happens to nodes: run records, trace hooks, sink."""

from __future__ import annotations

import logging
import time
import traceback
from typing import TYPE_CHECKING, Any

from .capture import OutputScope, current_scope
from .events import (
    Decided,
    LogLine,
    NodeCancelled,
    NodeFailed,
    NodeProgressed,
    NodeRetrying,
    NodeStarted,
    NodeSucceeded,
    NodeWaiting,
    Sink,
    StuckThread,
    Transition,
)
from .journal import FAILED, ContextRecorder, Entry
from .records import Attempt, RunContext, TaskRecord, TaskState

if TYPE_CHECKING:
    from .context import Context
    from .planner import NodeRun
    from .work import Work

_log = logging.getLogger("pyoco.engine")


class Reporter:
    """The only writer of a run's records. The `tell_…` methods run under the executor's lock, in event order."""

    def __init__(
        self, run: RunContext, ctx: Context, trace: Any, sink: Sink | None, *, keep_logs: bool, pass_through: bool
    ) -> None:
        self._run = run
        self._trace = trace
        self._sink = sink
        self._keep_logs = keep_logs
        self._pass_through = pass_through
        self._broken_hooks: set[str] = set()
        self._outer = current_scope()  # the task that runs this flow, if one does
        self.context = ContextRecorder(ctx)

    # Trace hooks: user code, called without any lock

    def hook(self, name: str, *arguments: Any) -> None:
        """Calls a trace hook. Watching a run must not be able to break it."""
        try:
            getattr(self._trace, name)(*arguments)
        except BaseException:  # noqa: BLE001 - hooks are user code: reported, not obeyed
            if name not in self._broken_hooks:  # once is enough: it will fail for every node
                self._broken_hooks.add(name)
                _log.exception("the trace hook %s raised; the run goes on", name)

    # Output of tasks

    def open_output(self, work: Work) -> OutputScope:
        path, name, sink = work.node.path, work.name, self._sink
        if sink is None:
            # The output of a flow inside a task is output of that task too.
            deliver_to = self._outer.deliver_line if self._outer is not None else None
            return OutputScope(path, deliver_to, keep_text=self._keep_logs, pass_through=self._pass_through)

        def deliver(stream: str, text: str, level: str | None) -> None:
            sink.line(LogLine(path, name, stream, text, time.time(), level))

        return OutputScope(path, deliver, keep_text=self._keep_logs, pass_through=self._pass_through)

    def close_output(self, work: Work) -> None:
        for stream, text in work.output.close().items():
            self._run.append_log(work.name, stream, text)

    # Records and transitions

    def record_for(self, name: str, *, again: bool = False) -> TaskRecord:
        """A fresh record for a node that starts; the one it has if it goes on after a wait."""
        if again:
            return self._run.ensure_task_record(name)
        record = self._run.task_records.get(name)
        if record is None or record.state is not TaskState.PENDING:
            record = self._run.task_records[name] = TaskRecord()
        return record

    def tell_started(self, work: Work) -> None:
        record = work.record
        if record.started_at is None:
            record.started_at = work.started_at
        record.state = TaskState.RUNNING
        self._run.tasks[work.name] = TaskState.RUNNING
        if self._sink is not None:
            event = NodeStarted(work.node.path, work.name, work.started_at, work.number)
            self._report(event)

    def tell_progress(self, work: Work, percent: float, message: str | None) -> None:
        if self._sink is not None:
            event = NodeProgressed(work.node.path, work.name, time.time(), percent, message)
            self._report(event)

    def tell_succeeded(self, work: Work, value: Any, ended_at: float) -> None:
        self._settle(work)
        record = work.record
        record.attempts.append(Attempt(work.number, work.started_at, ended_at))
        record.output = value
        record.error = record.traceback = record.wait_key = record.prompt = None
        self._end(work.name, record, TaskState.SUCCEEDED, ended_at)
        if self._sink is not None:
            event = NodeSucceeded(
                work.node.path, work.name, ended_at, work.number, value, work.inputs, record.started_at
            )
            self._report(event)

    def tell_retrying(self, work: Work, error: BaseException, pause: float) -> None:
        self._settle(work)
        now = time.time()
        text, message = _traceback(error), text_of(error)
        work.record.attempts.append(Attempt(work.number, work.started_at, now, message, text))
        if self._sink is not None:
            event = NodeRetrying(work.node.path, work.name, now, work.number, message, text, pause)
            self._report(event)

    def tell_failed(self, work: Work, error: BaseException, ended_at: float) -> None:
        self._settle(work)
        record = work.record
        record.error, record.traceback = text_of(error), _traceback(error)
        record.attempts.append(Attempt(work.number, work.started_at, ended_at, record.error, record.traceback))
        self._end(work.name, record, TaskState.FAILED, ended_at)
        if self._sink is not None:
            event = NodeFailed(
                work.node.path,
                work.name,
                ended_at,
                work.number,
                record.error,
                record.traceback,
                inputs=work.inputs,
                started_at=record.started_at,
            )
            self._report(event)

    def tell_waiting(self, work: Work, key: str, prompt: str | None) -> None:
        self._settle(work)
        work.record.wait_key, work.record.prompt = key, prompt
        if self._sink is not None:
            event = NodeWaiting(work.node.path, work.name, time.time(), work.number, key, prompt)
            self._report(event)

    def tell_skipped(self, name: str, path: str) -> None:
        """A node that will not run, because something it needs has failed."""
        now = time.time()
        record = self.record_for(name)
        record.error = "not run: a node it depends on failed"
        self._end(name, record, TaskState.FAILED, now)
        if self._sink is not None:
            self._report(NodeFailed(path, name, now, 0, record.error, skipped=True))

    def tell_cancelled(self, name: str, path: str) -> None:
        self._end(name, self._run.ensure_task_record(name), TaskState.CANCELLED, time.time())
        if self._sink is not None:
            self._report(NodeCancelled(path, name, time.time()))

    def tell_decided(self, node: NodeRun, path: str, value: Any) -> None:
        if self._sink is not None:
            self._report(Decided(path, node.step.label, time.time(), value))

    def tell_stuck(self, work: Work, reason: str) -> None:
        thread = work.thread.name if work.thread is not None else "event loop"
        _log.warning("task %s does not end (%s); its thread is abandoned", work.name, reason)
        if self._sink is not None:
            self._sink.stuck(StuckThread(work.node.path, work.name, thread, reason))

    def restore(self, name: str, entry: Entry, output: Any) -> None:
        """Shows a recorded outcome; nothing is reported, because it was before."""
        record = self.record_for(name)
        failed = entry.state == FAILED
        record.state = self._run.tasks[name] = TaskState.FAILED if failed else TaskState.SUCCEEDED
        record.output, record.error, record.traceback = output, entry.error, entry.traceback

    def restore_waiting(self, name: str, entry: Entry) -> None:
        record = self.record_for(name)
        record.state = self._run.tasks[name] = TaskState.RUNNING
        record.wait_key, record.prompt = entry.wait_key, entry.prompt

    def _settle(self, work: Work) -> None:
        """What the node has changed so far counts from now on."""
        if self._sink is not None:
            self.context.settle(work.node.path, work.node.scope)

    def _report(self, event: Transition) -> None:
        if self._sink is not None:
            self._sink.transition(event, self.context)

    def _end(self, name: str, record: TaskRecord, state: TaskState, at: float) -> None:
        record.state = self._run.tasks[name] = state
        record.ended_at = at
        if record.started_at is not None:
            record.duration_ms = (at - record.started_at) * 1000


def text_of(error: BaseException) -> str:
    """What an exception says; some cannot even do that."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - __str__ is user code
        return f"{type(error).__name__}, which has no readable text"


def _traceback(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))
