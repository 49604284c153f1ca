"""Finds the tasks that have to run next: goes through loops, switches and what the journal already knows."""

from __future__ import annotations

from collections import deque
from typing import Any

from .context import Context
from .decisions import Decider, proceed, question_path
from .errors import RecordedFailure
from .journal import FAILED, WAITING, Entry, Journal
from .plan import TaskStep
from .planner import NodeRun, Planner, Progress
from .reporter import Reporter
from .run_state import RunState
from .work import as_failure


class Navigator:
    """The planner of one run, driven by decisions and recorded outcomes."""

    def __init__(self, planner: Planner, ctx: Context, journal: Journal, state: RunState, reporter: Reporter) -> None:
        self._planner = planner
        self._ctx = ctx
        self._journal = journal
        self._state = state
        self._reporter = reporter
        self._decider = Decider(ctx, journal)

    def start(self) -> list[NodeRun]:
        return self._tasks_of(self._planner.start())

    def succeeded(self, node: NodeRun, name: str, value: Any) -> list[NodeRun]:
        """A node has its result: the tasks that follow."""
        with self._state.lock:
            progress = self._keep_result(node, name, value)
        return self._tasks_of(progress)

    def failed_alone(self, node: NodeRun) -> list[NodeRun]:
        """A node failed and the rest of the run goes on without what depends on it."""
        with self._state.lock:
            progress = self._planner.finished(node, ok=False)
        return self._tasks_of(progress)

    def output(self) -> Any:
        """The output of the run: that of its last node; of several end nodes, by name."""
        return self._planner.output(self._ctx.results)

    def _tasks_of(self, progress: Progress) -> list[NodeRun]:
        if not progress.ready and not progress.skipped:
            return []
        state = self._state
        tasks: list[NodeRun] = []
        queue = deque(progress.ready)
        self._tell_skipped(progress)
        while queue and not state.halted:
            node = queue.popleft()
            step = node.step
            if not isinstance(step, TaskStep):
                following = self._decide(node)
            else:
                entry = self._journal.nodes.get(node.path)
                if entry is not None and entry.is_final:
                    following = self._replay(node, step, entry)
                elif entry is not None and self._keep_waiting(node, step, entry):
                    continue
                else:
                    tasks.append(node)
                    continue
            self._tell_skipped(following)
            queue.extend(following.ready)
        return [] if state.halted else tasks

    def _decide(self, node: NodeRun) -> Progress:
        try:
            path = question_path(node)
            answer = self._decider.evaluate(node)
            with self._state.lock:
                progress = proceed(self._planner, node, answer)
                if path not in self._journal.decisions:
                    self._reporter.tell_decided(node, path, answer)
        except BaseException as error:  # noqa: BLE001 - whatever an evaluation raises is what the run fails with
            self._state.stop(as_failure(node.step.label, error))
            return Progress()
        return progress

    def _replay(self, node: NodeRun, step: TaskStep, entry: Entry) -> Progress:
        """Takes the outcome of a node from the journal instead of running it."""
        name = step.task.name
        if entry.state != FAILED:
            output = self._journal.output_of(node.path)
            self._reporter.restore(name, entry, output)
            with self._state.lock:
                return self._keep_result(node, name, output)
        self._reporter.restore(name, entry, None)
        if step.task.fail_policy != "isolate":
            self._state.stop(RecordedFailure(entry.error))
            return Progress()
        with self._state.lock:
            return self._planner.finished(node, ok=False)

    def _keep_waiting(self, node: NodeRun, step: TaskStep, entry: Entry) -> bool:
        """Whether a node that waited when the run stopped has still got no answer."""
        with self._state.lock:
            if entry.state != WAITING or self._journal.has_answer(node.path, entry.wait_key):
                return False
            self._reporter.restore_waiting(step.task.name, entry)
            self._state.waiting[node.path] = (node, entry)
            return True

    def _keep_result(self, node: NodeRun, name: str, value: Any) -> Progress:
        # Past the bookkeeping of who changed what: a node's own output is recorded with the node.
        node.scope.results.keep(name, value)
        self._planner.collect(node, value)
        return self._planner.finished(node, ok=True)

    def _tell_skipped(self, progress: Progress) -> None:
        if progress.skipped:
            with self._state.lock:
                for name, path in progress.skipped:
                    entry = self._journal.nodes.get(path)
                    if entry is not None and entry.skipped:
                        self._reporter.restore(name, entry, None)
                    else:
                        self._reporter.tell_skipped(name, path)
