"""Performs nodes: plain functions in threads, coroutines on event loops.

Whoever ends a node moves the run on and goes straight to a node that this made ready: a strand. So no scheduler stands
between two nodes, and no busy task can hold one up.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
import time
from collections.abc import Coroutine
from functools import partial
from typing import Any

from .capture import enter_scope, leave_scope
from .context import Context
from .journal import RETRYING, WAITING, Entry, Journal
from .lanes import CoroutineJob, Lanes
from .navigator import Navigator
from .plan import TaskStep
from .planner import NodeRun
from .reporter import Reporter
from .run_state import RunState
from .task import Backoff
from .task_context import WaitRequested
from .threads import GROW_AFTER_SEC, Job, ThreadPool
from .work import Outcome, Raised, Returned, Waits, Work, as_failure

_DEFAULT_BACKOFF = Backoff()


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
    ) -> None:
        self._ctx = ctx
        self._journal = journal
        self._state = state
        self._reporter = reporter
        self._navigator = navigator
        # Tasks see the context variables of whoever started the run; what they set stays their own.
        self._variables = contextvars.copy_context()
        self._threads = ThreadPool(max_threads)
        self.lanes = Lanes(loop)
        self._cut_coroutines: list[Work] = []

    def start(self, nodes: list[NodeRun]) -> None:
        """Hands out nodes that are counted already."""
        jobs: list[Job] = []
        coroutines: list[CoroutineJob] = []
        for node in nodes:
            if _is_async(node):
                coroutines.append(partial(self._strand_in_loop, node))
            else:
                jobs.append(partial(self._strand, node))
        if coroutines:
            self.lanes.put(coroutines)
        if jobs:
            self._put(jobs)

    def _put(self, jobs: list[Job]) -> None:
        self._threads.put(jobs)
        if self._threads.has_backlog:
            with self._state.lock:
                self._state.add_timer_locked(GROW_AFTER_SEC, self._grow)

    def _grow(self) -> None:
        self._threads.grow()
        if self._threads.has_backlog:
            with self._state.lock:
                self._state.add_timer_locked(GROW_AFTER_SEC, self._grow)

    def close(self) -> None:
        """Ends threads and event loops; those that will not end are reported."""
        self._threads.close()
        if self.lanes.close():
            for work in self._cut_coroutines:
                if work.aio_task is not None and not work.aio_task.done():
                    self._reporter.tell_stuck(work, "the coroutine does not react to being cancelled")

    # Strands

    def _strand(self, node: NodeRun | None, failed: Work | None = None) -> None:
        """Runs a node in this thread, then one after another what it made ready."""
        while node is not None:
            node = self._variables.copy().run(self._perform, node, failed)
            failed = None

    async def _strand_in_loop(self, node: NodeRun | None, failed: Work | None = None) -> None:
        while node is not None:
            node = await self._perform_in_loop(node, failed)
            failed = None

    def _go_on(self, tasks: list[NodeRun], in_loop: bool) -> NodeRun | None:
        """Starts the tasks that follow an ended node, but for one that the calling strand can run itself."""
        if len(tasks) != 1:
            self._state.count(len(tasks) - 1)
            if not tasks:
                return None
        if _is_async(tasks[0]) != in_loop:
            self.start(tasks)
            return None
        if len(tasks) > 1:
            self.start(tasks[1:])
        return tasks[0]

    def _perform(self, node: NodeRun, failed: Work | None) -> NodeRun | None:
        work = self._begin(node, failed)
        if work is None:
            return None
        work.thread = threading.current_thread()
        token = enter_scope(work.output)
        outcome: Outcome
        try:
            value = work.task.func(**work.arguments(self._ctx))
            if inspect.iscoroutine(value):
                self.lanes.put([partial(self._await_rest, work, value)])
                return None
            outcome = Returned(value)
        except WaitRequested as wait:
            outcome = Waits(wait.key, wait.prompt)
        except BaseException as error:  # noqa: BLE001 - a task may raise anything; it becomes the node's outcome
            outcome = Raised(error)
        finally:
            leave_scope(token)
        return self._end(work, outcome, in_loop=False)

    async def _perform_in_loop(self, node: NodeRun, failed: Work | None) -> NodeRun | None:
        work = self._begin(node, failed)
        if work is None:
            return None
        return await self._finish_in_loop(work, None)

    async def _await_rest(self, work: Work, coroutine: Coroutine[Any, Any, Any]) -> None:
        """A plain function gave back a coroutine: what that comes to is the result."""
        work.thread = None
        await self._strand_in_loop(await self._finish_in_loop(work, coroutine))

    async def _finish_in_loop(self, work: Work, coroutine: Coroutine[Any, Any, Any] | None) -> NodeRun | None:
        work.aio_task = asyncio.current_task()
        token = enter_scope(work.output)
        outcome: Outcome
        try:
            if coroutine is None:
                coroutine = work.task.func(**work.arguments(self._ctx))
            outcome = Returned(await coroutine)
        except WaitRequested as wait:
            outcome = Waits(wait.key, wait.prompt)
        except BaseException as error:
            # A cancel that was meant for the strand itself ends it; the work is closed then, so nothing is lost.
            if work.closed and isinstance(error, asyncio.CancelledError):
                raise
            outcome = Raised(error)
        finally:
            leave_scope(token)
        return self._end(work, outcome, in_loop=True)

    # Beginning and ending an attempt

    def _begin(self, node: NodeRun, failed: Work | None) -> Work | None:
        """Opens an attempt; None if the run has been stopped since the node became ready."""
        state, reporter = self._state, self._reporter
        if state.cancelled if failed is not None else state.halted:
            with state.lock:
                if failed is not None:
                    reporter.tell_cancelled(failed.name, node.path)
                state.count_locked(-1)
            return None
        if failed is not None:
            work = Work(node, failed.step, failed.number + 1, failed.record, self)
        else:
            step = node.step
            assert isinstance(step, TaskStep)
            entry = self._journal.nodes.get(node.path)
            attempts = entry.attempt if entry is not None and entry.state == RETRYING else 0
            work = Work(node, step, attempts + 1, reporter.record_for(step.task.name), self)
        work.output = reporter.open_output(work)
        with state.lock:
            state.working.add(work)
            reporter.tell_started(work)
            if work.task.timeout_sec is not None:
                state.add_timer_locked(work.task.timeout_sec, partial(self._time_out, work))
        if failed is None:
            reporter.hook("on_node_start", work.name)
        return work

    def answer_for(self, work: Work, key: str) -> dict[str, Any] | None:
        answers = self._journal.answers.get(work.node.path)
        return None if answers is None else answers.get(key)

    def tell_progress(self, work: Work, percent: float, message: str | None) -> None:
        with self._state.lock:
            self._reporter.tell_progress(work, percent, message)

    def _end(self, work: Work, outcome: Outcome, in_loop: bool) -> NodeRun | None:
        if isinstance(outcome, Returned):
            return self._succeed(work, outcome.value, in_loop)
        self._reporter.close_output(work)
        if not self._state.close(work):
            return None
        if isinstance(outcome, Waits):
            self._wait(work, outcome)
            return None
        return self._fail(work, outcome.error, in_loop)

    def _succeed(self, work: Work, value: Any, in_loop: bool) -> NodeRun | None:
        state, reporter, node = self._state, self._reporter, work.node
        reporter.close_output(work)
        with state.lock:
            if not state.close_locked(work):
                return None
            # Past the bookkeeping of SharedDict: a node's own output is recorded with the node.
            dict.__setitem__(node.scope.results, work.name, value)
            for path in work.task.outputs:
                self._ctx.save_output(path, value, writer=node.path)
            reporter.tell_succeeded(work, value, time.time())
        reporter.hook("on_node_end", work.name, work.record.duration_ms)
        return self._go_on(self._navigator.succeeded(node, work.name, value), in_loop)

    def _wait(self, work: Work, wait: Waits) -> None:
        entry = Entry(WAITING, wait_key=wait.key, prompt=wait.prompt)
        with self._state.lock:
            self._reporter.tell_waiting(work, wait.key, wait.prompt)
            self._state.waiting[work.node.path] = (work.node, entry)
            self._state.count_locked(-1)

    def _fail(self, work: Work, error: BaseException, in_loop: bool) -> NodeRun | None:
        state, task = self._state, work.task
        if isinstance(error, Exception) and work.number <= task.retries and not state.cancelled:
            self._pause(work, error)
            return None
        failure = as_failure(work.name, error)
        with state.lock:
            self._reporter.tell_failed(work, failure, time.time())
        self._reporter.hook("on_node_error", work.name, failure)
        if task.fail_policy == "isolate":
            return self._go_on(self._navigator.failed_alone(work.node), in_loop)
        state.stop(failure)
        state.count(-1)
        return None

    def _pause(self, work: Work, error: Exception) -> None:
        backoff = _DEFAULT_BACKOFF if work.task.backoff is None else Backoff.of(work.task.backoff)
        pause = backoff.pause(work.number)
        with self._state.lock:
            self._reporter.tell_retrying(work, error, pause)
            self._state.paused[work] = self._state.add_timer_locked(pause, partial(self._try_again, work))

    def _try_again(self, failed: Work) -> None:
        with self._state.lock:
            self._state.paused.pop(failed, None)
        if _is_async(failed.node):
            self.lanes.put([partial(self._strand_in_loop, failed.node, failed)])
        else:
            self._put([partial(self._strand, failed.node, failed)])

    # Attempts that do not end by themselves

    def _time_out(self, work: Work) -> None:
        if not self._state.close(work):
            return
        seconds = work.task.timeout_sec
        self._abandon(work, f"timeout of {seconds}s")
        error = TimeoutError(f"task {work.name!r} exceeded its timeout of {seconds}s")
        following = self._fail(work, error, in_loop=False)
        if following is not None:
            self.start([following])

    def cut_off(self) -> None:
        """Gives up on everything that still runs."""
        for work in list(self._state.working):
            if self._state.close(work):
                self._abandon(work, "the grace period after the cancel is over")
                with self._state.lock:
                    self._reporter.tell_cancelled(work.name, work.node.path)
                    self._state.count_locked(-1)

    def _abandon(self, work: Work, reason: str) -> None:
        self._reporter.close_output(work)
        if work.aio_task is not None:
            self._cut_coroutines.append(work)
            work.aio_task.get_loop().call_soon_threadsafe(work.aio_task.cancel)
        elif work.thread is not None:
            self._threads.abandon(work.thread)
            self._reporter.tell_stuck(work, reason)


def _is_async(node: NodeRun) -> bool:
    step = node.step
    assert isinstance(step, TaskStep)
    return step.binder.is_async
