"""Flow: tasks and the order in which they run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from .nodes import CONTROL_NODES, CaseNode, DSLNode, ParallelNode, SubFlowNode, SwitchNode, TaskNode
from .task import Task

# How an edge came to stand on a Task object (Task.drawn_edges). Edges that are not listed there were added by hand.
BY_FLOW = "flow"  # mirrored from a flow's own order: counts in that flow only
BY_OPERATOR = "operator"  # drawn between tasks (`a >> b`, `(a & b) >> c`): counts wherever it contradicts nothing


@dataclass(eq=False)
class Flow:
    """An ordered structure of tasks. `flow >> x` appends x after what is there and returns the flow."""

    name: str = "main"
    tasks: set[Task] = field(default_factory=set)
    edges: list[tuple[Task, Task]] = field(default_factory=list, init=False, repr=False)
    any_joins: set[Task] = field(default_factory=set, init=False, repr=False)
    declared: set[Task] = field(default_factory=set, init=False, repr=False)
    build_warnings: list[str] = field(default_factory=list, init=False, repr=False)
    _program: SubFlowNode = field(default_factory=SubFlowNode, init=False, repr=False)
    _order: dict[str, Task] = field(default_factory=dict, init=False, repr=False)
    _tail: list[Task] = field(default_factory=list, init=False, repr=False)

    def __rshift__(self, other: Any) -> Flow:
        self.append(as_node(other))
        return self

    def append(self, node: DSLNode) -> None:
        """Adds a step after the current tail."""
        self._program.steps.append(node)
        for task in tasks_of(node):
            self._enter(task)
        for source in self._tail:
            for target in head_tasks(node):
                draw_edge(source, target, BY_FLOW)
        _draw_inside(node)
        self._tail = tail_tasks(node)

    def add_task(self, task: Task) -> None:
        """Adds a task that nothing is connected to (it starts with the flow)."""
        task = getattr(task, "task", task)
        if not isinstance(task, Task):
            raise TypeError(f"add_task needs a Task, not {type(task).__name__}")
        self._enter(task)

    def declare(self, task: Task) -> None:
        """Lists a task as part of the flow without ever running it."""
        self._enter(task)
        self.declared.add(task)

    def connect(self, source: Task, target: Task) -> None:
        """Makes `target` wait for `source`; both are tasks of this flow."""
        self.edges.append((source, target))
        draw_edge(source, target, BY_FLOW)

    def join_any(self, task: Task) -> None:
        """In this flow the task starts after the first of its dependencies that succeeds."""
        self.any_joins.add(task)

    def has_control_flow(self) -> bool:
        return contains_control_flow(self._program)

    def build_program(self) -> SubFlowNode:
        """The written structure."""
        return SubFlowNode(list(self._program.steps))

    def ordered_tasks(self) -> list[Task]:
        """All tasks in the order of first mention; those put straight into `tasks` come last, by name."""
        extra = sorted((task for task in self.tasks if task.name not in self._order), key=lambda task: task.name)
        return [*self._order.values(), *extra]

    def _enter(self, task: Task) -> None:
        task.placed = True
        if task.name not in self._order:
            self._order[task.name] = task
            self.tasks.add(task)


def as_node(value: Any) -> DSLNode:
    """Turns what stands right of `>>` into a node: task, wrapper, fragment, group, or list."""
    if isinstance(value, DSLNode):
        return value
    if isinstance(value, Task):
        return TaskNode(value)
    to_node = getattr(value, "to_node", None)
    if to_node is not None:
        node = to_node()
        assert isinstance(node, DSLNode)
        return node
    if isinstance(value, (list, tuple)):
        return ParallelNode([as_branch(item) for item in value])
    raise TypeError(f"cannot put {type(value).__name__} into a flow; use a @task, a Task, a fragment or a list of them")


def as_branch(value: Any) -> SubFlowNode:
    node = as_node(value)
    return node if isinstance(node, SubFlowNode) else SubFlowNode([node])


def children(node: DSLNode) -> Iterable[DSLNode]:
    """The nodes directly below a node."""
    match node:
        case SubFlowNode(steps=steps):
            return steps
        case ParallelNode(branches=branches):
            return branches
        case SwitchNode(cases=cases):
            return [case.target for case in cases]
        case CaseNode(target=target):
            return [target]
    body = getattr(node, "body", None)
    return [] if body is None else [body]


def tasks_of(node: DSLNode) -> list[Task]:
    """Every task mentioned below a node, in written order, repeated mentions included."""
    if isinstance(node, TaskNode):
        return [node.task]
    return [task for child in children(node) for task in tasks_of(child)]


def contains_control_flow(node: DSLNode) -> bool:
    return isinstance(node, CONTROL_NODES) or any(contains_control_flow(child) for child in children(node))


def draw_edge(source: Task, target: Task, kind: str) -> None:
    """Notes an edge on the task objects, where existing user code looks for it."""
    if source not in target.dependencies:
        target.dependencies.add(source)
        target.drawn_edges[source] = kind
    source.dependents.add(target)


def head_tasks(node: DSLNode) -> list[Task]:
    """Tasks that start first; nothing for control flow, whose order the task objects cannot express."""
    match node:
        case TaskNode(task=task):
            return [task]
        case SubFlowNode(steps=[first, *_]):
            return head_tasks(first)
        case ParallelNode(branches=branches):
            return [task for branch in branches for task in head_tasks(branch)]
    return []


def tail_tasks(node: DSLNode) -> list[Task]:
    match node:
        case TaskNode(task=task):
            return [task]
        case SubFlowNode(steps=[*_, last]):
            return tail_tasks(last)
        case ParallelNode(branches=branches):
            return [task for branch in branches for task in tail_tasks(branch)]
    return []


def _draw_inside(node: DSLNode) -> None:
    if isinstance(node, SubFlowNode):
        for before, after in zip(node.steps, node.steps[1:], strict=False):
            for source in tail_tasks(before):
                for target in head_tasks(after):
                    draw_edge(source, target, BY_FLOW)
    if isinstance(node, (SubFlowNode, ParallelNode)):
        for child in children(node):
            _draw_inside(child)
