"""The written structure of a flow: a tree of steps, before it is planned."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .expression import Expression
    from .task import Task

CaseValue = str | int | float | bool
DEFAULT_CASE = "__default__"  # the value of a default case; Python code writes it "*"
COLLECT_MODES = ("list", "last", "first", "flatten")
DEFAULT_MAX_ITER = 1000


class DSLNode:
    """One element of a flow."""


@dataclass
class TaskNode(DSLNode):
    task: Task


@dataclass
class SubFlowNode(DSLNode):
    """A sequence: each step starts when the one before it has ended."""

    steps: list[DSLNode] = field(default_factory=list)


@dataclass
class ParallelNode(DSLNode):
    """Branches that start together. `join` says what the next step waits for: ALL of them or ANY."""

    branches: list[SubFlowNode] = field(default_factory=list)
    join: str = "ALL"


@dataclass
class RepeatNode(DSLNode):
    body: SubFlowNode
    count: int | Expression
    collect: str | None = None


@dataclass
class ForEachNode(DSLNode):
    body: SubFlowNode
    source: Expression
    alias: str | None = None
    index_alias: str | None = None
    collect: str | None = None
    parallel: int = 1


@dataclass
class UntilNode(DSLNode):
    body: SubFlowNode
    condition: Expression
    max_iter: int | None = None
    collect: str | None = None


@dataclass
class CaseNode(DSLNode):
    """One branch of a switch. `is_default` tells the default case from an ordinary key of the same text."""

    value: CaseValue
    target: SubFlowNode
    is_default: bool | None = None

    def __post_init__(self) -> None:
        if self.is_default is None:
            self.is_default = self.value == DEFAULT_CASE


@dataclass
class SwitchNode(DSLNode):
    expression: Expression
    cases: list[CaseNode] = field(default_factory=list)


LOOP_NODES = (RepeatNode, ForEachNode, UntilNode)
CONTROL_NODES = (*LOOP_NODES, SwitchNode)
