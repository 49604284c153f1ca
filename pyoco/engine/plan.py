"""The plan of a flow: blocks of steps with counted dependencies. Made once per run, never changed by it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .binding import Binder
from .errors import FlowCycleError
from .flow import BY_FLOW, BY_OPERATOR
from .nodes import (
    CaseValue,
    DSLNode,
    ForEachNode,
    ParallelNode,
    RepeatNode,
    SubFlowNode,
    SwitchNode,
    TaskNode,
    UntilNode,
)

if TYPE_CHECKING:
    from .expression import Expression
    from .flow import Flow
    from .task import Task

LoopNode = RepeatNode | ForEachNode | UntilNode


@dataclass(slots=True, eq=False)
class Step:
    """One step of a block. `label` names it in journal paths, unique within the innermost loop around it."""

    label: str
    index: int
    any_trigger: bool = False


@dataclass(slots=True, eq=False)
class TaskStep(Step):
    task: Task = field(kw_only=True)
    binder: Binder = field(kw_only=True)


@dataclass(slots=True, eq=False)
class LoopStep(Step):
    node: LoopNode = field(kw_only=True)
    body: Block = field(kw_only=True)


@dataclass(slots=True, eq=False)
class SwitchStep(Step):
    expression: Expression = field(kw_only=True)
    cases: list[tuple[CaseValue, Block]] = field(kw_only=True)
    default: Block | None = field(kw_only=True)


@dataclass(slots=True, eq=False)
class Block:
    """Steps and the edges between them."""

    steps: list[Step] = field(default_factory=list)
    successors: list[list[int]] = field(default_factory=list)
    needs: list[int] = field(default_factory=list)

    @property
    def ends(self) -> list[Step]:
        return [step for step in self.steps if not self.successors[step.index]]

    def task_steps(self) -> Iterator[TaskStep]:
        """Every task below, also inside loops and branches."""
        for step in self.steps:
            if isinstance(step, TaskStep):
                yield step
            for block in inner_blocks(step):
                yield from block.task_steps()


def inner_blocks(step: Step) -> list[Block]:
    if isinstance(step, LoopStep):
        return [step.body]
    if isinstance(step, SwitchStep):
        return [block for _, block in step.cases] + ([step.default] if step.default is not None else [])
    return []


def make_plan(flow: Flow) -> Block:
    """Compiles a flow; FlowCycleError if some task could never start."""
    block = _Compiler(_Labels()).block(flow.build_program())
    # Beside loops and switches only what is attached to the sequence runs; plain graphs run all their tasks.
    if all(isinstance(step, TaskStep) for step in block.steps):
        _add_loose_tasks(block, flow)
        _add_task_edges(block, flow)
    _refuse_cycles(block)
    return block


class _Labels:
    """Hands out labels; the second mention of `a` in a loop body is `a#2`."""

    def __init__(self) -> None:
        self._used: dict[str, int] = {}

    def take(self, name: str) -> str:
        label = name if name.isidentifier() else "".join(_quote(char) for char in name)
        count = self._used[label] = self._used.get(label, 0) + 1
        return label if count == 1 else f"{label}#{count}"


def _quote(char: str) -> str:
    return f"%{ord(char):02X}" if char in "%/[]#" else char


class _Compiler:
    """Walks the written structure of one block, keeping the steps that the next one has to wait for."""

    def __init__(self, labels: _Labels) -> None:
        self._labels = labels
        self._block = Block()
        self._frontier: list[int] = []
        self._join_any = False

    def block(self, program: SubFlowNode) -> Block:
        self._sequence(program)
        return self._block

    def _sequence(self, program: SubFlowNode) -> None:
        for node in program.steps:
            self._node(node)

    def _node(self, node: DSLNode) -> None:
        if isinstance(node, TaskNode):
            any_trigger = self._join_any or node.task.trigger_policy == "ANY"
            label = self._labels.take(node.task.name)
            self._place(TaskStep(label, -1, any_trigger, task=node.task, binder=Binder(node.task.func)))
        elif isinstance(node, SubFlowNode):
            self._sequence(node)
        elif isinstance(node, ParallelNode):
            self._parallel(node)
        elif isinstance(node, SwitchNode):
            self._place(self._switch(node))
        elif isinstance(node, (RepeatNode, ForEachNode, UntilNode)):
            kind = type(node).__name__.removesuffix("Node").lower()
            body = _Compiler(_Labels()).block(node.body)
            if not body.steps:
                raise ValueError(f"a {kind} loop needs at least one task in its body")
            self._place(LoopStep(self._labels.take(kind), -1, self._join_any, node=node, body=body))
        else:
            raise TypeError(f"a flow cannot hold {type(node).__name__}")

    def _switch(self, node: SwitchNode) -> SwitchStep:
        cases: list[tuple[CaseValue, Block]] = []
        default: Block | None = None
        label = self._labels.take("switch")
        for case in node.cases:
            # Branches share the labels of the loop around them: a path then never depends on which one was taken.
            target = _Compiler(self._labels).block(case.target)
            if not case.is_default:
                cases.append((case.value, target))
            elif default is None:
                default = target
        return SwitchStep(label, -1, self._join_any, expression=node.expression, cases=cases, default=default)

    def _parallel(self, node: ParallelNode) -> None:
        start, start_any = self._frontier, self._join_any
        ends: list[int] = []
        for branch in node.branches:
            self._frontier, self._join_any = start, start_any
            self._sequence(branch)
            if self._frontier is not start:
                ends.extend(self._frontier)
        if ends:
            self._frontier, self._join_any = ends, node.join == "ANY"

    def _place(self, step: Step) -> None:
        add_step(self._block, step)
        for index in self._frontier:
            add_edge(self._block, index, step.index)
        self._frontier, self._join_any = [step.index], False


def add_step(block: Block, step: Step) -> None:
    step.index = len(block.steps)
    block.steps.append(step)
    block.successors.append([])
    block.needs.append(0)


def add_edge(block: Block, source: int, target: int) -> None:
    block.successors[source].append(target)
    block.needs[target] += 1


def _add_loose_tasks(block: Block, flow: Flow) -> None:
    mentioned = {step.task.name for step in block.task_steps()}
    labels = _Labels()
    for task in flow.ordered_tasks():
        if task.name not in mentioned and task not in flow.declared:
            mentioned.add(task.name)
            any_trigger = task.trigger_policy == "ANY"
            label = labels.take(task.name)
            add_step(block, TaskStep(label, -1, any_trigger, task=task, binder=Binder(task.func)))


def _add_task_edges(block: Block, flow: Flow) -> None:
    """Edges from outside the sequence: the flow's own, those added by hand, those drawn by operators."""
    steps: dict[str, TaskStep] = {}
    for step in block.steps:
        if isinstance(step, TaskStep):
            steps.setdefault(step.task.name, step)
    known = {(index, target) for index, targets in enumerate(block.successors) for target in targets}

    def connect(source: int, target: int) -> None:
        if (source, target) not in known:
            known.add((source, target))
            add_edge(block, source, target)

    for source, target in flow.edges:
        connect(steps[source.name].index, steps[target.name].index)
    drawn_by_operators: list[tuple[int, int]] = []
    for step in steps.values():
        step.any_trigger = step.any_trigger or step.task in flow.any_joins
        drawn = step.task.drawn_edges
        foreign = [task for task in step.task.dependencies if drawn.get(task) != BY_FLOW]
        for dependency in sorted(foreign, key=lambda task: task.name):
            kind = drawn.get(dependency)
            source_step = steps.get(dependency.name)
            if source_step is None:
                # An operator edge to a task of another flow is that flow's business.
                if kind == BY_OPERATOR and dependency.placed:
                    continue
                raise FlowCycleError(
                    f"deadlock: task {step.task.name!r} depends on {dependency.name!r}, which is not in flow "
                    f"{flow.name!r}; append it too, e.g. flow >> {dependency.name} >> {step.task.name}"
                )
            if kind == BY_OPERATOR:
                drawn_by_operators.append((source_step.index, step.index))
            else:
                connect(source_step.index, step.index)
    # They yield to the flow's own order, but not to each other: a circle of them is a mistake, not a choice.
    accepted = [edge for edge in drawn_by_operators if edge not in known and not _reaches(block, edge[1], edge[0])]
    for edge in accepted:
        connect(*edge)


def _reaches(block: Block, start: int, goal: int) -> bool:
    seen = {start}
    queue = [start]
    while queue:
        index = queue.pop()
        if index == goal:
            return True
        for successor in block.successors[index]:
            if successor not in seen:
                seen.add(successor)
                queue.append(successor)
    return False


def _refuse_cycles(block: Block) -> None:
    waiting = list(block.needs)
    queue = deque(index for index, count in enumerate(waiting) if count == 0)
    reached = 0
    while queue:
        reached += 1
        for successor in block.successors[queue.popleft()]:
            waiting[successor] -= 1
            if waiting[successor] == 0:
                queue.append(successor)
    if reached < len(block.steps):
        names = ", ".join(repr(block.steps[index].label) for index, count in enumerate(waiting) if count > 0)
        raise FlowCycleError(f"deadlock: a dependency cycle keeps these nodes from ever starting: {names}")
