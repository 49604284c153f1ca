"""Performs nodes: plain functions in threads, coroutines on event loops.

Whoever ends a node moves the run on. A thread goes straight to a node that this made ready: a strand. So no scheduler
stands between two nodes, and no busy task can hold one up.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from .capture import enter_scope, leave_scope
from .context import Context
from .journal import RETRYING, WAITING, Entry, Journal
from .lanes import CoroutineJob
from .navigator import Navigator
from .places import Places
from .plan import TaskStep
from .planner import NodeRun
from .reporter import Reporter
from .run_state import RunState
from .task import Backoff
from .task_context import TaskContext
from .threads import Job
from .work import Outcome, Returned, Waits, Work, as_failure, outcome_of

_DEFAULT_BACKOFF = Backoff()
_CLOSE_PATIENCE_SEC = 1.0
_GATE_POLL_SEC = 0.05


class Performer:
    """Starts nodes, ends them, tries them again."""

    def __init__(
        self,
        ctx: Context,
        journal: Journal,
        state: RunState,
        reporter: Reporter,
        navigator: Navigator,
        max_threads: int,
        loop: asyncio.AbstractEventLoop | None,
        gate: Callable[[], bool] | None = None,
    ) -> None:
        self._ctx = ctx
        self._journal = journal
        self._state = state
        self._reporter = reporter
        self._navigator = navigator
        self._gate = gate
        # Tasks see the context variables of whoever started the run; what they set stays their own.
        self._variables = contextvars.copy_context()
        self._variables.run(enter_scope, None)  # but their output is their own, also in a run that a task started
        self._places = Places(state, max_threads, loop)
        self._cut: list[tuple[Work, threading.Event]] = []  # coroutines that were cancelled, and whether they ended

    def start(self, nodes: list[NodeRun]) -> None:
        """Hands out nodes that are counted already."""
        jobs: list[Job] = []
        coroutines: list[CoroutineJob] = []
        for node in nodes:
            if _is_async(node):
                coroutines.append(self._coroutine_job(partial(self._perform_in_loop, node, None)))
            else:
                jobs.append(partial(self._strand, node))
        if coroutines:
            self._places.put_coroutines(coroutines)
        if jobs:
            self._places.put_functions(jobs)

    def close(self) -> None:
        """Ends threads and event loops; those that will not end are reported."""
        deadline = self._places.close(_CLOSE_PATIENCE_SEC)
        for work, ended in self._cut:
            if not ended.wait(max(0.0, deadline - time.monotonic())):
                self._reporter.tell_stuck(work, "the coroutine does not react to being cancelled")

    def _coroutine_job(self, start: Callable[[], Coroutine[Any, Any, None]]) -> CoroutineJob:
        return CoroutineJob(start, self._variables.copy(), self._lost)

    def _lost(self, error: BaseException) -> None:
        self._state.break_off(as_failure("of this run", error))

    # Performing an attempt

    def _strand(self, node: NodeRun | None, failed: Work | None = None) -> None:
        """Runs a node in this thread, then one after another what it made ready."""
        try:
            while node is not None:
                while self._must_wait():
                    time.sleep(_GATE_POLL_SEC)
                node = self._variables.copy().run(self._perform, node, failed)
                failed = None
        except BaseException as error:  # noqa: BLE001 - nobody else would ever hear of it, and the run would hang
            self._lost(error)

    def _must_wait(self) -> bool:
        """Whether the owner of the run has closed the gate. A run that was stopped need not wait: nothing starts."""
        return self._gate is not None and not self._gate() and not self._state.halted

    def _perform(self, node: NodeRun, failed: Work | None) -> NodeRun | None:
        work = self._begin(node, failed, thread=threading.current_thread())
        if work is None or work.closed:
            return None
        token = enter_scope(work.output)
        outcome: Outcome
        try:
            value = work.task.func(**work.arguments(self._ctx))
            if inspect.iscoroutine(value):
                self._hand_over(work, value)
                return None
            outcome = Returned(value)
        except BaseException as error:  # noqa: BLE001 - a task may raise anything; it becomes the node's outcome
            outcome = outcome_of(error)
        finally:
            leave_scope(token)
        following = self._end(work, outcome)
        return self._start_all_but_mine(following)

    def _hand_over(self, work: Work, coroutine: Coroutine[Any, Any, Any]) -> None:
        """A plain function gave back a coroutine: what that comes to is the result."""
        with self._state.lock:
            late = work.closed
            work.thread = None
        if late or not self._places.put_coroutines([self._coroutine_job(partial(self._await_rest, work, coroutine))]):
            coroutine.close()

    async def _await_rest(self, work: Work, coroutine: Coroutine[Any, Any, Any]) -> None:
        with self._state.lock:
            work.aio_task = asyncio.current_task()
            late = work.closed
        if late:
            coroutine.close()
        else:
            await self._finish_in_loop(work, coroutine)

    async def _perform_in_loop(self, node: NodeRun, failed: Work | None) -> None:
        while self._must_wait():  # noqa: ASYNC110 - a gate may open by the clock alone, without an event
            await asyncio.sleep(_GATE_POLL_SEC)
        work = self._begin(node, failed, aio_task=asyncio.current_task())
        if work is not None:
            await self._finish_in_loop(work, None)

    async def _finish_in_loop(self, work: Work, coroutine: Coroutine[Any, Any, Any] | None) -> None:
        token = enter_scope(work.output)
        outcome: Outcome
        try:
            if coroutine is None:
                coroutine = work.task.func(**work.arguments(self._ctx))
            outcome = Returned(await coroutine)
        except BaseException as error:  # noqa: BLE001 - a task may raise anything; it becomes the node's outcome
            outcome = outcome_of(error)
        finally:
            leave_scope(token)
        self.start(self._end(work, outcome))

    def _start_all_but_mine(self, nodes: list[NodeRun]) -> NodeRun | None:
        """Starts what follows, except for one plain function that the calling strand runs itself."""
        if not nodes:
            return None
        if _is_async(nodes[0]):
            self.start(nodes)
            return None
        if len(nodes) > 1:
            self.start(nodes[1:])
        return nodes[0]

    # Beginning and ending an attempt

    def _begin(
        self,
        node: NodeRun,
        failed: Work | None,
        thread: threading.Thread | None = None,
        aio_task: asyncio.Task[Any] | None = None,
    ) -> Work | None:
        """Opens an attempt; None if the run has been stopped since the node became ready."""
        state, reporter = self._state, self._reporter
        step = node.step
        assert isinstance(step, TaskStep)
        with state.lock:
            if state.cancelled if failed is not None else state.halted:
                self._drop(node, step, failed)
                return None
            work = self._next_attempt(node, step, failed)
            work.thread, work.aio_task = thread, aio_task
            work.output = reporter.open_output(work)
            state.working.add(work)
            reporter.tell_started(work)
            if work.task.timeout_sec is not None:
                work.timer = state.add_timer(work.task.timeout_sec, partial(self._time_out, work))
        if failed is None:
            reporter.hook("on_node_start", work.name)
        return work

    def _drop(self, node: NodeRun, step: TaskStep, failed: Work | None) -> None:
        """A node that will not run any more. One that had begun before, and waited, is shown as cancelled."""
        if failed is not None or self._state.answered.pop(node.path, None) is not None:
            self._reporter.tell_cancelled(step.task.name, node.path)
        self._state.count(-1)

    def _next_attempt(self, node: NodeRun, step: TaskStep, failed: Work | None) -> Work:
        if failed is not None:
            return Work(node, step, failed.number + 1, failed.record, self)
        answered = self._state.answered.pop(node.path, None)
        entry = answered or self._journal.nodes.get(node.path)
        number = 1
        if entry is not None and entry.state in (RETRYING, WAITING):
            number = entry.attempt + (entry.state == RETRYING)
        return Work(node, step, number, self._reporter.record_for(step.task.name, again=answered is not None), self)

    def answer_for(self, work: Work, key: str) -> dict[str, Any] | None:
        with self._state.lock:
            return self._journal.answers.get(work.node.path, {}).get(key)

    def tell_progress(self, work: Work, percent: float, message: str | None) -> None:
        with self._state.lock:
            self._reporter.tell_progress(work, percent, message)

    def _end(self, work: Work, outcome: Outcome) -> list[NodeRun]:
        """Closes an attempt, unless that has been done; the nodes to start now, which are counted already."""
        if isinstance(outcome, Returned):
            return self._succeed(work, outcome.value)
        self._reporter.close_output(work)
        if not self._state.close(work):
            return []
        if isinstance(outcome, Waits):
            return self._wait(work, outcome)
        return self._fail(work, outcome.error)

    def _succeed(self, work: Work, value: Any) -> list[NodeRun]:
        state, reporter, node = self._state, self._reporter, work.node
        reporter.close_output(work)
        with state.lock:
            if not state.close(work):
                return []
            # Past the bookkeeping of who changed what: a node's own output is recorded with the node.
            node.scope.results.keep(work.name, value)
            if work.task.outputs:
                view = TaskContext(self._ctx, node.scope)
                for path in work.task.outputs:
                    view.save_output(path, value, writer=node.path)
            reporter.tell_succeeded(work, value, time.time())
        reporter.hook("on_node_end", work.name, work.record.duration_ms)
        return self._counted(self._navigator.succeeded(node, work.name, value))

    def _wait(self, work: Work, wait: Waits) -> list[NodeRun]:
        state, path = self._state, work.node.path
        entry = Entry(WAITING, work.number, wait_key=wait.key, prompt=wait.prompt)
        with state.lock:
            self._reporter.tell_waiting(work, wait.key, wait.prompt)
            if self._journal.has_answer(path, wait.key) and not state.halted:
                state.answered[path] = entry
                return [work.node]
            state.waiting[path] = (work.node, entry)
            state.count(-1)
            return []

    def _fail(self, work: Work, error: BaseException) -> list[NodeRun]:
        state, task = self._state, work.task
        if isinstance(error, Exception) and work.number <= task.retries and self._pause(work, error):
            return []
        failure = as_failure(work.name, error)
        with state.lock:
            self._reporter.tell_failed(work, failure, time.time())
        self._reporter.hook("on_node_error", work.name, failure)
        if task.fail_policy == "isolate":
            return self._counted(self._navigator.failed_alone(work.node))
        state.stop(failure)
        return self._counted([])

    def _counted(self, following: list[NodeRun]) -> list[NodeRun]:
        """One node has ended, so many follow."""
        if len(following) != 1:
            self._state.count(len(following) - 1)
        return following

    def _pause(self, work: Work, error: Exception) -> bool:
        """Plans another attempt; false if the run is being cancelled."""
        backoff = _DEFAULT_BACKOFF if work.task.backoff is None else Backoff.of(work.task.backoff)
        pause = backoff.pause(work.number)
        with self._state.lock:
            if self._state.cancelled:
                return False
            self._reporter.tell_retrying(work, error, pause)
            self._state.paused[work] = self._state.add_timer(pause, partial(self._try_again, work))
        return True

    def _try_again(self, failed: Work) -> None:
        with self._state.lock:
            if self._state.paused.pop(failed, None) is None:
                return
        if _is_async(failed.node):
            self._places.put_coroutines([self._coroutine_job(partial(self._perform_in_loop, failed.node, failed))])
        else:
            self._places.put_functions([partial(self._strand, failed.node, failed)])

    # Attempts that do not end by themselves

    def _time_out(self, work: Work) -> None:
        if not self._state.close(work):
            return
        seconds = work.task.timeout_sec
        self._abandon(work, f"timeout of {seconds}s")
        self.start(self._fail(work, TimeoutError(f"task {work.name!r} exceeded its timeout of {seconds}s")))

    def cut_off(self) -> None:
        """Gives up on everything that still runs."""
        for work in list(self._state.working):
            if self._state.close(work):
                self._abandon(work, "the grace period after the cancel is over")
                with self._state.lock:
                    self._reporter.tell_cancelled(work.name, work.node.path)
                    self._state.count(-1)

    def _abandon(self, work: Work, reason: str) -> None:
        self._reporter.close_output(work)
        if work.aio_task is not None:
            ended = threading.Event()
            self._cut.append((work, ended))
            work.aio_task.get_loop().call_soon_threadsafe(_cancel, work.aio_task, ended)
        elif work.thread is not None:
            self._places.abandon(work.thread)
            self._reporter.tell_stuck(work, reason)


def _cancel(task: asyncio.Task[Any], ended: threading.Event) -> None:
    task.add_done_callback(lambda _: ended.set())
    task.cancel()


def _is_async(node: NodeRun) -> bool:
    step = node.step
    assert isinstance(step, TaskStep)
    return step.binder.is_async
