"""One run inside the executor, from StartRun to RunEnded."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

from pyoco.engine.capture import OutputScope, enter_scope, leave_scope
from pyoco.engine.engine import prepare
from pyoco.engine.events import LogLine
from pyoco.engine.executor import Execution
from pyoco.engine.journal import Journal
from pyoco.engine.loading import user_frames
from pyoco.engine.records import RunContext, RunStatus
from pyoco.engine.trace import SilentTrace

from .channel import Channel
from .flows import FlowNotFound, Flows
from .lines import Ticker
from .loading import Loaded
from .messages import (
    AnswerWait,
    EndStatus,
    ErrorKind,
    RunEnded,
    RunError,
    RunLoaded,
    StartRun,
    ThreadStuck,
    Wait,
)
from .recording import recorded
from .report import Report

_END_STATUS: dict[RunStatus, EndStatus] = {
    RunStatus.COMPLETED: "COMPLETED",
    RunStatus.FAILED: "FAILED",
    RunStatus.CANCELLED: "CANCELLED",
}


class Run:
    """`perform` blocks until the run has ended here; the other methods come from the reading thread meanwhile."""

    def __init__(
        self, order: StartRun, flows: Flows, channel: Channel, ticker: Ticker, forget: Callable[[Run], None]
    ) -> None:
        self.run_id = order.run_id
        self._order = order
        self._flows = flows
        self._channel = channel
        self._ticker = ticker
        self._forget = forget
        self._report = Report(order.run_id, channel, ticker, order.journal.get("context", {}))
        self._lock = threading.Lock()
        self._context = RunContext(run_id=order.run_id)
        self._execution: Execution | None = None
        self._thread: threading.Thread | None = None
        self._decided = False  # how the run ends; an answer comes too late then
        self._end_lock = threading.Lock()
        self.ended = False
        self._stopping = False
        self._lease = order.lease

    def perform(self) -> None:
        self._thread = threading.current_thread()
        try:
            execution = self._open()
        except FlowNotFound as exc:
            self._end(self._failed("flow_not_found", str(exc)))
        except (Exception, SystemExit) as exc:  # noqa: BLE001 - loading runs user code, which may raise anything
            self._end(self._failed("load_error", _text(exc), _user_traceback(exc)))
        else:
            if execution is not None:
                self._conduct(execution)

    # Orders of the worker

    def cancel(self, grace: float | None) -> None:
        with self._lock:
            if self._execution is not None:
                self._execution.cancel(grace)
                return
            self._context.status = RunStatus.CANCELLING
        if grace is not None:
            self._ticker.call_later(grace, self._give_up_loading)

    def answer(self, order: AnswerWait) -> None:
        with self._lock:
            if self._execution is None or self._decided:
                return
            if order.error is not None:
                self._execution.refuse(order.path, order.key, order.error)
            else:
                self._execution.answer(order.path, order.key, order.payload)

    def renew(self, lease: float) -> None:
        self._lease = lease

    def stop(self) -> None:
        """No node starts any more."""
        self._stopping = True

    def leave(self, deadline: float) -> None:
        """Ends the run here, once its running nodes have ended or the time is over. It goes on elsewhere."""
        if self._execution is not None:
            self._report.wait_for_nodes(deadline)
        self._end(RunEnded(run_id=self.run_id, status="STOPPED"))

    # The way of a run

    def _may_start(self) -> bool:
        lease = self._lease
        return not self._stopping and (lease is None or time.monotonic() < lease)

    def _open(self) -> Execution | None:
        order = self._order
        loaded = self._load()
        journal = Journal.from_json(order.journal)
        ctx = prepare(loaded.flow, {**loaded.defaults, **order.params}, self._context, order.artifact_dir)
        ctx.exposed_env = loaded.exposed_env
        execution = Execution(
            loaded.plan,
            ctx,
            self._context,
            SilentTrace(),
            sink=self._report,
            journal=journal,
            keep_logs=False,
            pass_through=False,
            gate=self._may_start,
        )
        with self._lock:
            if self.ended:
                return None
            self._execution = execution
        self._channel.send_with_next(RunLoaded(run_id=self.run_id, nodes=list(self._context.tasks)))
        return execution

    def _load(self) -> Loaded:
        """Importing user code may print; that belongs to the run as well."""
        order, report = self._order, self._report

        def deliver(stream: str, text: str, level: str | None) -> None:
            report.line(LogLine("", "", stream, text, time.time(), level))

        def say(message: str) -> None:
            deliver("log", message, "ERROR" if message.startswith("Error") else "WARNING")

        scope = OutputScope(None, deliver, keep_text=False, pass_through=False)
        token = enter_scope(scope)
        try:
            if order.workflow_yaml is not None:
                return self._flows.submitted(order.workflow_yaml, say)
            return self._flows.named(order.flow_name, say)
        finally:
            leave_scope(token)
            scope.close()

    def _conduct(self, execution: Execution) -> None:
        ended: RunEnded | None = None
        while ended is None:
            try:
                execution.run()
            except Exception as exc:  # noqa: BLE001 - a mistake of ours must end the run, not leave it hanging
                ended = self._failed("execution_error", _text(exc), "".join(traceback.format_exception(exc)))
            with self._lock:
                if ended is None and not _is_answered(execution):
                    ended = self._outcome(execution)
                self._decided = ended is not None
        self._end(ended)

    def _outcome(self, execution: Execution) -> RunEnded:
        status = self._context.status
        if status is RunStatus.RUNNING:
            waits = [Wait(path=path, key=key, prompt=prompt) for path, (key, prompt) in execution.waits().items()]
            return RunEnded(run_id=self.run_id, status="PARKED", waits=waits)
        if status is RunStatus.FAILED and execution.failure is not None:
            text = "".join(traceback.format_exception(execution.failure))
            return self._failed("execution_error", _text(execution.failure), text)
        if status is RunStatus.COMPLETED:
            output, is_recorded = recorded(execution.ctx.output)
            return RunEnded(run_id=self.run_id, status="COMPLETED", output=output, recorded=is_recorded)
        return RunEnded(run_id=self.run_id, status=_END_STATUS[status])

    def _failed(self, kind: ErrorKind, message: str, trace: str | None = None) -> RunEnded:
        if self._execution is None and self._context.status is RunStatus.CANCELLING:
            return RunEnded(run_id=self.run_id, status="CANCELLED")
        error = RunError(kind=kind, message=message, traceback=trace)
        return RunEnded(run_id=self.run_id, status="FAILED", error=error)

    def _give_up_loading(self) -> None:
        if self._execution is None and not self.ended:
            thread = self._thread.name if self._thread is not None else ""
            reason = "the code of the flow was still being imported when the grace period after the cancel was over"
            self._channel.send(ThreadStuck(run_id=self.run_id, path="", node="", thread=thread, reason=reason))
            self._end(RunEnded(run_id=self.run_id, status="CANCELLED"))

    def _end(self, message: RunEnded) -> None:
        """Says once how the run ended, and returns when that was said, by whomever."""
        with self._end_lock:
            if not self.ended:
                self.ended = True
                self._report.end(message)
        self._forget(self)


def _is_answered(execution: Execution) -> bool:
    """Whether an answer came between the last moment of `run` and now: then the run goes on."""
    has_answer = execution.journal.has_answer
    return execution.parked and any(has_answer(path, key) for path, (key, _) in execution.waits().items())


def _text(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _user_traceback(error: BaseException) -> str | None:
    """The traceback, if user code has a part in it; our own frames tell nobody what to correct."""
    chain: list[Any] = [error, error.__cause__, error.__context__]
    if any(link is not None and user_frames(link) for link in chain):
        return "".join(traceback.format_exception(error))
    return None
