"""Engine: runs flows, from a thread, inside a running event loop, nested in a task, many at once."""

from __future__ import annotations

import asyncio
from typing import Any

from .capture import UnmarkedThread
from .console import ConsoleTraceBackend, cute_by_environment
from .context import Context
from .events import Sink
from .executor import Execution
from .flow import Flow
from .journal import Journal
from .plan import Block, make_plan
from .records import CANCEL_STATUSES, RunContext, RunStatus, TaskRecord, TaskState
from .trace import SilentTrace


class Engine:
    """Holds the runs that are under way. Safe to share between threads."""

    def __init__(self, trace_backend: Any = None) -> None:
        self.trace = trace_backend if trace_backend is not None else ConsoleTraceBackend()
        self.active_runs: dict[str, RunContext] = {}
        self._executions: dict[str, Execution] = {}

    def get_run(self, run_id: str) -> RunContext | None:
        """The run, while it is under way."""
        return self.active_runs.get(run_id)

    def cancel(self, run_id: str, grace: float | None = None) -> None:
        """Asks a run to end (see Execution.cancel); an unknown id is ignored."""
        execution = self._executions.get(run_id)
        if execution is not None:
            execution.cancel(grace)

    def run(
        self,
        flow: Flow,
        params: dict[str, Any] | None = None,
        run_context: RunContext | None = None,
        *,
        sink: Sink | None = None,
        journal: Journal | None = None,
        artifact_dir: str | None = None,
    ) -> Context:
        """Runs a flow and blocks until it has ended; raises the exception of the task that failed it."""
        run = run_context if run_context is not None else RunContext()
        ctx = prepare(flow, params, run, artifact_dir)
        execution = self._open(flow, ctx, run, sink, journal, None)
        try:
            execution.run()
        finally:
            self._forget(run)
        return _result(execution)

    async def arun(
        self,
        flow: Flow,
        params: dict[str, Any] | None = None,
        run_context: RunContext | None = None,
        *,
        sink: Sink | None = None,
        journal: Journal | None = None,
        artifact_dir: str | None = None,
    ) -> Context:
        """The same for asyncio: coroutines of the flow run on the calling event loop. Cancelling the caller cancels
        the run."""
        loop = asyncio.get_running_loop()
        run = run_context if run_context is not None else RunContext()
        ctx = prepare(flow, params, run, artifact_dir)
        execution = self._open(flow, ctx, run, sink, journal, loop)
        ended = asyncio.Event()

        def conduct() -> None:
            try:
                execution.run()
            finally:
                loop.call_soon_threadsafe(ended.set)

        conductor = UnmarkedThread(target=conduct, name="pyoco-run", daemon=True)
        conductor.start()
        cancelled: asyncio.CancelledError | None = None
        while not ended.is_set():
            try:
                await ended.wait()
            except asyncio.CancelledError as error:
                cancelled = error
                execution.cancel(grace=0)
        conductor.join()
        self._forget(run)
        if cancelled is not None:
            raise cancelled
        return _result(execution)

    def _open(
        self,
        flow: Flow,
        ctx: Context,
        run: RunContext,
        sink: Sink | None,
        journal: Journal | None,
        loop: asyncio.AbstractEventLoop | None,
    ) -> Execution:
        plan = self._plan(flow, run)
        execution = Execution(plan, ctx, run, self.trace, sink=sink, journal=journal, loop=loop)
        self.active_runs[run.run_id] = run
        self._executions[run.run_id] = execution
        return execution

    def _plan(self, flow: Flow, run: RunContext) -> Block:
        try:
            return make_plan(flow)
        except Exception:
            run.status = RunStatus.FAILED
            raise

    def _forget(self, run: RunContext) -> None:
        self.active_runs.pop(run.run_id, None)
        self._executions.pop(run.run_id, None)


def prepare(flow: Flow, params: dict[str, Any] | None, run: RunContext, artifact_dir: str | None = None) -> Context:
    """The context of a new run; fills the RunContext in place, so that its owner can watch it."""
    ctx = Context(params=params, artifact_dir=artifact_dir, run_context=run)
    run.flow_name = flow.name
    run.params = ctx.params
    for task in flow.ordered_tasks():
        run.tasks[task.name] = TaskState.PENDING
        run.task_records[task.name] = TaskRecord()
    if run.status not in CANCEL_STATUSES:
        run.status = RunStatus.RUNNING
    return ctx


def run(flow: Flow, params: dict[str, Any] | None = None, trace: bool = True, cute: bool = True) -> Context:
    """Runs a flow with a trace on standard output; PYOCO_CUTE=0 makes it plain, `trace=False` silent."""
    if not trace:
        return Engine(SilentTrace()).run(flow, params)
    style = "cute" if cute and cute_by_environment() else "plain"
    return Engine(ConsoleTraceBackend(style=style)).run(flow, params)


def _result(execution: Execution) -> Context:
    if execution.failure is not None and execution.run_context.status is RunStatus.FAILED:
        raise execution.failure
    return execution.ctx
