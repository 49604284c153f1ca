"""The Python way to write a flow: `@task`, `>>`, `&`, `|`, loops in brackets, `switch`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, overload

from .expression import Expression, ensure_expression
from .flow import BY_OPERATOR, as_branch, as_node, contains_control_flow, draw_edge, head_tasks, tail_tasks, tasks_of
from .nodes import (
    COLLECT_MODES,
    DEFAULT_CASE,
    CaseNode,
    DSLNode,
    ForEachNode,
    ParallelNode,
    RepeatNode,
    SubFlowNode,
    SwitchNode,
    TaskNode,
    UntilNode,
)
from .task import POLICIES, Task

RESERVED_NAMES = frozenset({"params", "results", "scratch", "loop", "loops", "env", "artifacts"})
_AS = re.compile(r"\s+as\s+")


class FlowFragment:
    """A sequence of steps that is not part of a flow yet."""

    def __init__(self, nodes: Sequence[DSLNode]) -> None:
        self._nodes = list(nodes)

    def to_subflow(self) -> SubFlowNode:
        return SubFlowNode(list(self._nodes))

    def to_node(self) -> DSLNode:
        return self._nodes[0] if len(self._nodes) == 1 else self.to_subflow()

    def task_nodes(self) -> list[Task]:
        return tasks_of(self.to_subflow())

    def has_control_flow(self) -> bool:
        return contains_control_flow(self.to_subflow())

    def __rshift__(self, other: Any) -> FlowFragment:
        node = _operand(other)
        if node is None:
            return NotImplemented
        for source in tail_tasks(self._nodes[-1]):
            for target in head_tasks(node):
                draw_edge(source, target, BY_OPERATOR)
        return FlowFragment([*self._nodes, *(node.steps if isinstance(node, SubFlowNode) else [node])])

    def __rrshift__(self, value: Any) -> CaseNode:
        return CaseNode(value=DEFAULT_CASE if value == "*" else value, target=self.to_subflow())

    def __and__(self, other: Any) -> Parallel:
        return NotImplemented if _operand(other) is None else Parallel([self, *_members(other, Parallel)])

    def __rand__(self, other: Any) -> Parallel:
        return NotImplemented if _operand(other) is None else Parallel([other, self])

    def __or__(self, other: Any) -> Branch:
        return NotImplemented if _operand(other) is None else Branch([self, *_members(other, Branch)])

    def __ror__(self, other: Any) -> Branch:
        return NotImplemented if _operand(other) is None else Branch([other, self])

    def __getitem__(self, selector: Any) -> FlowFragment:
        body = self.to_subflow()
        if isinstance(selector, str):
            source, alias = parse_foreach_selector(selector)
            return FlowFragment([ForEachNode(body, ensure_expression(source), alias)])
        if isinstance(selector, Expression):
            return FlowFragment([RepeatNode(body, selector)])
        if isinstance(selector, int):
            if selector < 0:
                raise ValueError(f"cannot repeat {selector} times; use 0 or more")
            return FlowFragment([RepeatNode(body, selector)])
        raise TypeError(f"[...] takes a count, an Expression or 'source as name', not {type(selector).__name__}")

    # Without this, Python would take __getitem__ as a way to iterate, which never ends.
    __iter__ = None

    def __mod__(self, condition: Any) -> FlowFragment:
        max_iter = None
        if isinstance(condition, tuple):
            if len(condition) != 2:
                raise ValueError("until takes an expression, or (expression, max_iter)")
            condition, max_iter = condition
        return FlowFragment([UntilNode(self.to_subflow(), ensure_expression(condition), max_iter)])

    def foreach(
        self,
        over: str | Expression,
        *,
        item: str | None = None,
        index: str | None = None,
        collect: str | None = None,
        parallel: int = 1,
    ) -> FlowFragment:
        """Runs this fragment once per element of `over`, up to `parallel` at a time."""
        for name in (item, index):
            if name is not None:
                check_alias(name)
        if collect is not None and collect not in COLLECT_MODES:
            raise ValueError(f"collect must be one of {', '.join(COLLECT_MODES)}, not {collect!r}")
        if isinstance(parallel, bool) or not isinstance(parallel, int) or parallel < 1:
            raise ValueError(f"parallel must be a whole number of 1 or more, not {parallel!r}")
        return FlowFragment([ForEachNode(self.to_subflow(), ensure_expression(over), item, index, collect, parallel)])


class TaskWrapper(FlowFragment):
    """What `@task` gives: the task as a building block. Calling it runs nothing and returns it again."""

    def __init__(self, task: Task) -> None:
        super().__init__([TaskNode(task)])
        self.task = task

    def __call__(self, *args: Any, **kwargs: Any) -> TaskWrapper:
        return self

    def __get__(self, instance: object, owner: type | None = None) -> TaskWrapper:
        """As a method: a wrapper whose function is bound to the instance."""
        if instance is None:
            return self
        bound = self.task.clone(self.task.name)
        bound.func = self.task.func.__get__(instance, owner)
        return TaskWrapper(bound)

    def __repr__(self) -> str:
        return f"<TaskWrapper {self.task.name}>"


class _Group(list[Any]):
    """Things that start together; `>>` makes the next step wait for them."""

    join = "ALL"

    def to_node(self) -> ParallelNode:
        return ParallelNode([as_branch(item) for item in self], self.join)

    def __rshift__(self, other: Any) -> Any:
        node = _operand(other)
        if node is None:
            return NotImplemented
        for target in head_tasks(node):
            for source in tail_tasks(self.to_node()):
                draw_edge(source, target, BY_OPERATOR)
            if self.join == "ANY":
                target.trigger_policy = "ANY"
        return other

    def __rrshift__(self, value: Any) -> CaseNode:
        return CaseNode(value=DEFAULT_CASE if value == "*" else value, target=SubFlowNode([self.to_node()]))

    def __and__(self, other: Any) -> Parallel:
        return NotImplemented if _operand(other) is None else Parallel([*_members(self, Parallel), other])

    def __or__(self, other: Any) -> Branch:
        return NotImplemented if _operand(other) is None else Branch([*_members(self, Branch), other])


class Parallel(_Group):
    """`a & b`: the next step waits for all."""


class Branch(_Group):
    """`a | b`: the next step waits for the first."""

    join = "ANY"


@dataclass
class SwitchBuilder:
    """`switch(expression)[case, case, …]`."""

    expression: Expression

    def __getitem__(self, cases: Any) -> FlowFragment:
        listed = list(cases) if isinstance(cases, (tuple, list)) else [cases]
        if not listed:
            raise ValueError("switch needs at least one case")
        for case in listed:
            if not isinstance(case, CaseNode):
                raise TypeError(f"switch takes cases like 'value >> task', not {type(case).__name__}")
        return FlowFragment([SwitchNode(self.expression, listed)])


def switch(expression: str | Expression) -> SwitchBuilder:
    """Chooses one of several branches: `switch("$ctx.params.kind")["a" >> x, "*" >> y]`."""
    return SwitchBuilder(ensure_expression(expression))


@overload
def task(func: Callable[..., Any], /) -> TaskWrapper: ...
@overload
def task(
    *,
    name: str | None = None,
    inputs: dict[str, Any] | None = None,
    outputs: Iterable[str] | None = None,
    **policies: Any,
) -> Callable[[Callable[..., Any]], TaskWrapper]: ...
def task(
    func: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    inputs: dict[str, Any] | None = None,
    outputs: Iterable[str] | None = None,
    **policies: Any,
) -> TaskWrapper | Callable[[Callable[..., Any]], TaskWrapper]:
    """Makes a task of a function: `@task`, or `@task(retries=3, timeout_sec=10, …)`."""
    unknown = [key for key in policies if key not in POLICIES]
    if unknown:
        raise TypeError(f"@task does not know {unknown[0]!r}; known are name, inputs, outputs, {', '.join(POLICIES)}")

    def wrap(function: Callable[..., Any]) -> TaskWrapper:
        made = Task(
            func=function, name=name or function.__name__, inputs=dict(inputs or {}), outputs=list(outputs or [])
        )
        made.set_policies(policies)
        return TaskWrapper(made)

    return wrap if func is None else wrap(func)


def parse_foreach_selector(selector: str) -> tuple[str, str | None]:
    """Splits "source as name"; the name is optional."""
    source, *rest = _AS.split(selector.strip(), maxsplit=1)
    if not rest:
        return source, None
    alias = rest[0].strip()
    check_alias(alias)
    return source.strip(), alias


def check_alias(alias: str) -> None:
    if not alias.isidentifier():
        raise ValueError(f"loop variable {alias!r} is not an identifier")
    if alias in RESERVED_NAMES:
        raise ValueError(f"loop variable {alias!r} is a reserved name; choose another")


def ensure_fragment(value: Any) -> FlowFragment:
    """Any operand as a fragment."""
    return value if isinstance(value, FlowFragment) else FlowFragment([as_node(value)])


def _operand(value: Any) -> DSLNode | None:
    try:
        return as_node(value)
    except TypeError:
        return None


def _members(value: Any, kind: type[_Group]) -> list[Any]:
    return list(value) if isinstance(value, kind) else [value]
