"""From terms to the nodes of a flow."""

from __future__ import annotations

from ..expression import Expression
from ..nodes import (
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
from .arguments import case_value, literal_expression, named_expression, whole_number
from .names import NodeNames
from .terms import (
    ForEachTerm,
    GroupTerm,
    LoopTerm,
    Pipeline,
    RepeatTerm,
    SwitchCase,
    SwitchTerm,
    TaskTerm,
    Term,
    UntilTerm,
    Value,
)

_PARAMETER = "$ctx.params"
_VARIABLE = "$ctx"


class NodeMaker:
    def __init__(self, names: NodeNames) -> None:
        self._names = names

    def sequence(self, pipeline: Pipeline) -> SubFlowNode:
        """The steps of a pipeline; plain parentheses leave no trace."""
        steps: list[DSLNode] = []
        for term in pipeline.terms:
            if isinstance(term, GroupTerm) and len(term.branches) == 1:
                steps.extend(self.sequence(term.branches[0]).steps)
            else:
                steps.append(self._node(term))
        return SubFlowNode(steps)

    def _node(self, term: Term) -> DSLNode:
        match term:
            case TaskTerm():
                return TaskNode(self._names.task(term))
            case GroupTerm():
                return ParallelNode([self.sequence(branch) for branch in term.branches], term.join)
            case LoopTerm():
                return self._loop(term)
            case SwitchTerm():
                return self._switch(term)
        raise TypeError(f"{type(term).__name__} must be resolved before it becomes a node")

    def _loop(self, term: LoopTerm) -> DSLNode:
        body = self.sequence(term.body)
        collect = _text(term.collect)
        match term:
            case RepeatTerm(count=count):
                number = whole_number(count)
                times = _expression(count, term.old, _PARAMETER) if number is None else number
                return RepeatNode(body, times, collect)
            case ForEachTerm(over=over, item=item, index=index, parallel=parallel):
                source = _expression(over, term.old, _PARAMETER)
                return ForEachNode(body, source, _text(item), _text(index), collect, _number(parallel) or 1)
            case UntilTerm(cond=cond, max_iter=max_iter):
                return UntilNode(body, _expression(cond, term.old, _VARIABLE), _number(max_iter), collect)
        raise TypeError(f"unknown loop {type(term).__name__}")

    def _switch(self, term: SwitchTerm) -> SwitchNode:
        cases = [self._case(case) for case in term.cases]
        if term.old and not any(case.is_default for case in cases):
            # In the operator dialect a switch that matches nothing is passed over.
            cases.append(CaseNode(DEFAULT_CASE, SubFlowNode(), is_default=True))
        return SwitchNode(_expression(term.on, term.old, _PARAMETER), cases)

    def _case(self, case: SwitchCase) -> CaseNode:
        value = DEFAULT_CASE if case.key is None else case_value(case.key)
        return CaseNode(value, self.sequence(case.branch), is_default=case.key is None)


def _expression(value: Value, old: bool, bare_root: str) -> Expression:
    return literal_expression(value) if old else named_expression(value, bare_root)


def _text(value: Value | None) -> str | None:
    return None if value is None else value.text


def _number(value: Value | None) -> int | None:
    return None if value is None else whole_number(value)
