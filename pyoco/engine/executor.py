"""Execution: one run of one plan, from its start to its end or until it parks."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

from .capture import install
from .context import Context
from .events import Sink
from .journal import Journal
from .navigator import Navigator
from .performer import Performer
from .plan import Block, TaskStep
from .planner import Planner
from .records import RunContext, RunStatus, TaskState
from .reporter import Reporter
from .run_state import RunState

MAX_THREADS = 8
_LOOK_UP_SEC = 0.5


class Execution:
    """`run` blocks until the run has ended or parked; `cancel`, `answer` and `refuse` may come from anywhere meanwhile.
    A parked run goes on with an answer and another `run`, or elsewhere from its journal. No node is started while
    `gate` says false."""

    def __init__(
        self,
        plan: Block,
        ctx: Context,
        run: RunContext,
        trace: Any,
        *,
        sink: Sink | None = None,
        journal: Journal | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
        max_threads: int = MAX_THREADS,
        keep_logs: bool = True,
        pass_through: bool = True,
        gate: Callable[[], bool] | None = None,
    ) -> None:
        self.ctx = ctx
        self.run_context = run
        self.journal = journal if journal is not None else Journal()
        self._state = RunState(run)
        self._reporter = Reporter(run, ctx, trace, sink, keep_logs=keep_logs, pass_through=pass_through)
        recorder = self._reporter.context
        planner = Planner(plan, ctx.results, ctx.collected, recorder)
        if sink is not None:  # else nobody records, and the bookkeeping for it can rest
            recorder.track(planner)
        self._navigator = Navigator(planner, ctx, self.journal, self._state, self._reporter)
        self._max_threads = max_threads
        self._gate = gate
        self._performer = self._make_performer(loop)
        self._started = False

    @property
    def failure(self) -> Exception | None:
        """What the run failed with."""
        return self._state.failure

    @property
    def parked(self) -> bool:
        """Every open node waits for an answer."""
        return bool(self._state.waiting) and self.run_context.status is RunStatus.RUNNING

    def waits(self) -> dict[str, tuple[str, str | None]]:
        """The key and prompt of each node that waits, by its path."""
        with self._state.lock:
            waiting = dict(self._state.waiting)
        return {path: (entry.wait_key or "", entry.prompt) for path, (_, entry) in waiting.items()}

    def run(self) -> None:
        """Runs until nothing can move any more. Raises nothing of the tasks': `failure` and the status tell."""
        install()
        try:
            try:
                if not self._started:
                    self._start()
                self._conduct()
            except Exception as error:  # noqa: BLE001 - e.g. a journal that cannot be read; `failure` tells
                self._state.break_off(error)
            except BaseException:
                # Only an interrupt of the waiting thread comes this way; the tasks must not outlive it unowned.
                self.cancel(grace=0)
                self._conduct()
                raise
        finally:
            self._settle()

    def cancel(self, grace: float | None = None) -> None:
        """Nothing new starts, running tasks may finish; those that have not after `grace` seconds are cut off:
        coroutines are cancelled, threads abandoned."""
        state = self._state
        with state.lock:
            if self.run_context.status is RunStatus.RUNNING:
                self.run_context.status = RunStatus.CANCELLING
            if self.run_context.status is RunStatus.CANCELLING:
                state.hurry_paused()
                if grace is not None:
                    state.add_timer(grace, self._performer.cut_off)

    def answer(self, path: str, key: str, payload: Any = None) -> None:
        """Answers a wait; the node runs again and its wait returns the payload. A first answer stands."""
        with self._state.lock:
            self.journal.answer(path, key, payload)
            self._wake()

    def refuse(self, path: str, key: str, error: str) -> None:
        """Answers a wait with a failure."""
        with self._state.lock:
            self.journal.refuse(path, key, error)
            self._wake()

    def _wake(self) -> bool:
        """Starts the nodes whose answer has come, if somebody conducts the run."""
        state = self._state
        with state.lock:
            if state.at_rest or state.halted:
                return False
            ready = [
                path for path, (_, entry) in state.waiting.items() if self.journal.has_answer(path, entry.wait_key)
            ]
            nodes = []
            for path in ready:
                node, state.answered[path] = state.waiting.pop(path)
                nodes.append(node)
            state.count(len(nodes))
        self._performer.start(nodes)
        return bool(nodes)

    def _make_performer(self, loop: asyncio.AbstractEventLoop | None) -> Performer:
        return Performer(
            self.ctx, self.journal, self._state, self._reporter, self._navigator, self._max_threads, loop, self._gate
        )

    def _start(self) -> None:
        self._started = True
        self._reporter.hook("on_flow_start", self.run_context.flow_name, self.run_context.run_id)
        if self.journal.context:
            self._reporter.context.restore(self.journal.context)
        self._state.at_rest = False
        tasks = self._navigator.start()
        self._state.count(len(tasks))
        self._performer.start(tasks)

    def _conduct(self) -> None:
        """Sleeps, does what is due, and looks once more for answers before it calls the run parked."""
        # A signal that comes right before the main thread goes to sleep would not wake it.
        longest = _LOOK_UP_SEC if threading.current_thread() is threading.main_thread() else None
        while True:
            self._state.at_rest = False
            self._wake()
            while (due := self._state.sleep(longest)) is not None:
                for callback in due:
                    callback()
            with self._state.lock:
                self._state.at_rest = False
                if not self._wake():
                    self._state.at_rest = True
                    return

    def _settle(self) -> None:
        """Nothing moves any more: says what became of the run, and ends the threads."""
        run, state = self.run_context, self._state
        self._performer.close()
        with state.lock:
            if state.cancelled:
                run.status = RunStatus.CANCELLED
                self._cancel_rest()
            elif state.failure is not None:
                run.status = RunStatus.FAILED
                self._cancel_waiting()
            elif not state.waiting:
                run.status = RunStatus.COMPLETED
                self.ctx.output = self._navigator.output()
        if self.parked:
            self._performer = self._make_performer(None)
        else:
            run.end_time = time.time()
            self._reporter.hook("on_flow_end", run.flow_name)

    def _cancel_rest(self) -> None:
        self._cancel_waiting()
        for name, task_state in list(self.run_context.tasks.items()):
            if task_state is TaskState.PENDING:
                self._reporter.tell_cancelled(name, name)

    def _cancel_waiting(self) -> None:
        for path, (node, _) in self._state.waiting.items():
            assert isinstance(node.step, TaskStep)
            self._reporter.tell_cancelled(node.step.task.name, path)
        self._state.waiting.clear()
