"""Answers the questions of loops and switches, from the journal where it knows them already."""

from __future__ import annotations

import os
from collections import ChainMap
from typing import Any

from .context import Context
from .errors import JournalMismatch, SwitchNoMatch, UntilMaxIterationsExceeded
from .expression import Expression
from .journal import Journal
from .loops import loop_count
from .nodes import ForEachNode, RepeatNode, UntilNode
from .plan import LoopStep, Step, SwitchStep
from .planner import NodeRun, Planner, Progress
from .scope import Scope
from .task_context import TaskContext
from .values import decode


class Decider:
    """Evaluates control steps for one run. Decisions stand in the journal, because what they looked at may have changed
    by the time a run is continued."""

    def __init__(self, ctx: Context, journal: Journal) -> None:
        self._ctx = ctx
        self._journal = journal

    def evaluate(self, node: NodeRun) -> Any:
        """The answer to what the step asks now; raises what the evaluation raises."""
        path = question_path(node)
        if path in self._journal.decisions:
            return _fitting(node.step, path, decode(self._journal.decisions[path]))
        step = node.step
        if isinstance(step, SwitchStep):
            return self._choose(step, node.scope)
        assert isinstance(step, LoopStep)
        if isinstance(step.node, RepeatNode):
            count = step.node.count
            return self._value(count, node.scope) if isinstance(count, Expression) else count
        if isinstance(step.node, ForEachNode):
            return self._value(step.node.source, node.scope)
        if node.loop is None:
            return loop_count(step, None)
        assert node.loop.scope is not None
        return bool(self._value(step.node.condition, node.loop.scope))

    def _choose(self, step: SwitchStep, scope: Scope) -> int | None:
        value = self._value(step.expression, scope)
        for number, (case, _) in enumerate(step.cases):
            if case == value:
                return number
        if step.default is None:
            raise SwitchNoMatch(step.expression.source)
        return None

    def _value(self, expression: Expression, scope: Scope) -> Any:
        # A chain, not a merged copy: most expressions never look at the environment.
        env = ChainMap(self._ctx.env, os.environ)
        return expression.evaluate(ctx=TaskContext(self._ctx, scope).expression_data(), env=env)


def _fitting(step: Step, path: str, recorded: Any) -> Any:
    """A recorded answer, unless the flow has changed so much since that it makes no sense any more."""
    if isinstance(step, SwitchStep):
        fits = step.default is not None if recorded is None else recorded in range(len(step.cases))
    elif isinstance(step, LoopStep) and isinstance(step.node, ForEachNode):
        fits = isinstance(recorded, (list, tuple))
    else:
        fits = isinstance(recorded, int)
    if not fits:
        raise JournalMismatch(path, recorded)
    return recorded


def question_path(node: NodeRun) -> str:
    """Where the journal keeps the answer; the condition of an `until` is asked once per iteration."""
    return node.path if node.loop is None else f"{node.path}[{node.loop.next_index - 1}]"


def proceed(planner: Planner, node: NodeRun, answer: Any) -> Progress:
    """Tells the planner what was decided."""
    step = node.step
    if isinstance(step, SwitchStep):
        return planner.chosen(node, answer)
    assert isinstance(step, LoopStep)
    if node.loop is None:
        items = answer if isinstance(step.node, ForEachNode) else None
        return planner.entered(node, loop_count(step, answer), items)
    assert isinstance(step.node, UntilNode)
    if not answer and node.loop.next_index >= node.loop.count:
        raise UntilMaxIterationsExceeded(step.node.condition.source, node.loop.count)
    return planner.checked(node, answer)
