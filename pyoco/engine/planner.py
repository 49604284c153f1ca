"""The pure scheduler: which steps may start now, given what has finished. No clock, no I/O, no threads.

Every step, loop and switch included, goes the same way: it comes out as ready, its driver performs it (runs the task,
or answers the question that a loop or switch asks) and says how that went. Work per event grows with the edges of the
step concerned, never with the size of the flow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .loops import LoopMemory, LoopRun, collected_value, collects, iteration_scope
from .nodes import ForEachNode, UntilNode
from .plan import Block, LoopStep, Step, SwitchStep, TaskStep, inner_blocks
from .scope import Scope
from .shared import LayeredDict, SharedDict

_WAITING, _STARTED, _DONE = range(3)


class NodeRun:
    """One execution of one step."""

    __slots__ = ("block_run", "loop", "path", "scope", "step")

    def __init__(self, block_run: BlockRun, step: Step) -> None:
        self.block_run = block_run
        self.step = step
        self.scope = block_run.scope
        self.path = self.scope.prefix + step.label
        self.loop: LoopRun | None = None


class BlockRun:
    """One execution of a block: the top of the flow, an iteration, or a branch."""

    __slots__ = (
        "all_ok",
        "any_ok",
        "block",
        "end_names",
        "failed",
        "missing",
        "open_steps",
        "owner",
        "scope",
        "states",
    )

    def __init__(self, block: Block, scope: Scope, owner: NodeRun | None) -> None:
        self.block = block
        self.scope = scope
        self.owner = owner
        self.missing = list(block.needs)
        self.failed = [0] * len(block.needs)
        self.states = bytearray(len(block.needs))
        self.open_steps = len(block.needs)
        self.all_ok = True
        self.any_ok = not block.steps
        self.end_names: dict[str, None] = {}  # the tasks that ended it, in order


@dataclass(slots=True)
class Progress:
    """What follows from an event: executions that may start, and tasks (name, path) that never will."""

    ready: list[NodeRun] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)


class Planner:
    """Keeps the counters of one run."""

    def __init__(
        self,
        plan: Block,
        results: SharedDict,
        collected: dict[str, Any] | None = None,
        memory: LoopMemory | None = None,
    ) -> None:
        self.root = BlockRun(plan, Scope(results, {} if collected is None else collected), None)
        self.iterations: dict[str, Scope] = {}  # those under way, by their prefix
        self.loops: dict[str, LoopRun] = {}  # likewise, by their path
        self._memory = memory

    def start(self) -> Progress:
        progress = Progress()
        self._begin(self.root, progress)
        return progress

    def finished(self, node: NodeRun, ok: bool) -> Progress:
        """A task has ended for good. A failure here is an isolated one; others stop the run and need no planner."""
        progress = Progress()
        self._close(node.block_run, node.step, ok, ok, progress)
        return progress

    def chosen(self, node: NodeRun, case: int | None) -> Progress:
        """A switch has chosen the case with this number, or its default."""
        step = node.step
        assert isinstance(step, SwitchStep)
        target = step.default if case is None else step.cases[case][1]
        assert target is not None
        progress = Progress()
        self._begin(BlockRun(target, node.scope, node), progress)
        return progress

    def entered(self, node: NodeRun, count: int, items: list[Any] | tuple[Any, ...] | None = None) -> Progress:
        """The head of a loop has been evaluated."""
        # A copy: tasks may change the list while the loop goes over it.
        node.loop = self.loops[node.path] = LoopRun(count, None if items is None else list(items), any_ok=count == 0)
        if self._memory is not None:
            self._memory.loop_entered(node.path, node.loop)
        progress = Progress()
        self._iterate(node, progress)
        return progress

    def checked(self, node: NodeRun, done: bool) -> Progress:
        """The condition of an `until` has been evaluated after an iteration."""
        loop = node.loop
        assert loop is not None
        loop.condition = done
        progress = Progress()
        if done:
            self._leave(node, progress)
        else:
            self._iterate(node, progress)
        return progress

    def output(self, results: dict[str, Any]) -> Any:
        """Of a finished run: the output of its last node; a mapping by name where several nodes end it."""
        outputs = {name: results.get(name) for name in self.root.end_names}
        if len(outputs) > 1 or len(self.root.block.ends) > 1:
            return outputs
        return next(iter(outputs.values()), None)

    def _begin(self, run: BlockRun, progress: Progress) -> None:
        if not run.block.steps:
            self._block_done(run, progress)
            return
        for index, needed in enumerate(run.block.needs):
            if needed == 0:
                run.states[index] = _STARTED
                progress.ready.append(NodeRun(run, run.block.steps[index]))

    def _close(self, run: BlockRun, step: Step, all_ok: bool, any_ok: bool, progress: Progress) -> None:
        """Ends a step and follows its edges; a failed input ends its successors in turn."""
        block = run.block
        ended = [(step, all_ok, any_ok)]
        while ended:
            step, all_ok, any_ok = ended.pop()
            run.states[step.index] = _DONE
            run.open_steps -= 1
            successors = block.successors[step.index]
            if not successors:
                if any_ok and isinstance(step, TaskStep):
                    run.end_names[step.task.name] = None
                run.all_ok = run.all_ok and all_ok
                run.any_ok = run.any_ok or any_ok
            for index in successors:
                if run.states[index] != _WAITING:
                    continue
                successor = block.steps[index]
                if successor.any_trigger:
                    if any_ok:
                        run.states[index] = _STARTED
                        progress.ready.append(NodeRun(run, successor))
                        continue
                    run.failed[index] += 1
                    if run.failed[index] < block.needs[index]:
                        continue
                elif all_ok:
                    run.missing[index] -= 1
                    if run.missing[index] == 0:
                        run.states[index] = _STARTED
                        progress.ready.append(NodeRun(run, successor))
                    continue
                run.states[index] = _DONE
                progress.skipped.extend(_tasks_below(successor, run.scope.prefix))
                ended.append((successor, False, False))
        if run.open_steps == 0:
            self._block_done(run, progress)

    def _block_done(self, run: BlockRun, progress: Progress) -> None:
        owner = run.owner
        if owner is None:
            return
        if not owner.block_run.block.successors[owner.step.index]:
            owner.block_run.end_names.update(run.end_names)
        if owner.loop is None:
            self._close(owner.block_run, owner.step, run.all_ok, run.any_ok, progress)
            return
        loop = owner.loop
        loop.active -= 1
        loop.all_ok = loop.all_ok and run.all_ok
        loop.any_ok = loop.any_ok or run.any_ok
        self._merge(owner, run)
        assert isinstance(owner.step, LoopStep)
        if isinstance(owner.step.node, UntilNode):
            progress.ready.append(owner)  # its condition has to be checked
        else:
            self._iterate(owner, progress)

    def _iterate(self, node: NodeRun, progress: Progress) -> None:
        """Starts as many iterations as the loop allows, or leaves it."""
        step, loop = node.step, node.loop
        assert isinstance(step, LoopStep)
        assert loop is not None
        width = step.node.parallel if isinstance(step.node, ForEachNode) else 1
        while loop.next_index < loop.count and loop.active < width:
            scope = iteration_scope(step, node.path, node.scope, loop)
            if width > 1:
                scope.isolate()
            self.iterations[scope.prefix] = loop.scope = scope
            if self._memory is not None:
                self._memory.iteration_opened(scope)
            loop.next_index += 1
            loop.active += 1
            self._begin(BlockRun(step.body, scope, node), progress)
        if loop.active == 0 and loop.next_index >= loop.count:
            self._leave(node, progress)

    def _leave(self, node: NodeRun, progress: Progress) -> None:
        step, loop = node.step, node.loop
        assert isinstance(step, LoopStep)
        assert loop is not None
        del self.loops[node.path]
        if collects(step):
            for name, values in loop.collected.items():
                in_order = [values[index] for index in sorted(values)]
                node.scope.collected[name] = collected_value(in_order, step.node.collect or "list")
        self._close(node.block_run, step, loop.all_ok, loop.any_ok, progress)

    def _merge(self, node: NodeRun, run: BlockRun) -> None:
        """Brings the results of an isolated iteration out; the highest index wins, as it would one after another."""
        loop, scope, outer = node.loop, run.scope, node.scope
        del self.iterations[scope.prefix]
        if not isinstance(scope.results, LayeredDict) or scope.results is outer.results:
            return
        assert loop is not None
        assert scope.frame is not None
        assert scope.frame.index is not None
        index = scope.frame.index
        for key, value in scope.results.own().items():
            if loop.is_newest(f"result {key}", index):
                outer.results.keep(key, value, scope.results.writers.get(key))
        if isinstance(scope.collected, LayeredDict):
            for key, value in scope.collected.own().items():
                if loop.is_newest(f"collected {key}", index):
                    outer.collected[key] = value

    def collect(self, node: NodeRun, value: Any) -> None:
        """Keeps the result of a task for the innermost loop around it, if that loop collects."""
        owner: NodeRun | None = node.block_run.owner
        while owner is not None and owner.loop is None:
            owner = owner.block_run.owner
        if owner is None or owner.loop is None or not collects(owner.step):
            return
        frame = node.scope.frame
        assert frame is not None
        assert frame.index is not None
        assert isinstance(node.step, TaskStep)
        owner.loop.collected.setdefault(node.step.task.name, {})[frame.index] = value


def _tasks_below(step: Step, prefix: str) -> Iterator[tuple[str, str]]:
    path = prefix + step.label
    if isinstance(step, TaskStep):
        yield step.task.name, path
    inside = f"{path}[]/" if isinstance(step, LoopStep) else prefix
    for block in inner_blocks(step):
        for inner in block.steps:
            yield from _tasks_below(inner, inside)
