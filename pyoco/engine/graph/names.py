"""Which task stands behind each name of a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import GraphReferenceError, GraphValidationError
from ..task import Task
from .source import located, suggestion
from .terms import Pipeline, TaskTerm, terms_of


class NodeNames:
    """The tasks of a graph by node name. An alias is an independent copy; a bare task may be used many times."""

    def __init__(self, tasks: Mapping[str, Task], statements: Sequence[Pipeline]) -> None:
        self._tasks = tasks
        self._nodes: dict[str, Task] = {}
        self._first_use: dict[str, TaskTerm] = {}
        terms = [term for statement in statements for term in terms_of(statement) if isinstance(term, TaskTerm)]
        # Statements speak about the same nodes, so one may name what another has aliased.
        self._shared = {term.node_name for term in terms if term.node_name} if len(statements) > 1 else set()
        for term in terms:
            self._enter(term)

    def node(self, name: str) -> Task:
        return self._nodes[name]

    def task(self, term: TaskTerm) -> Task:
        return self._nodes[self.node_name(term)]

    def node_name(self, term: TaskTerm) -> str:
        return term.name if self._means_alias(term) else term.node_name or self._tasks[term.name].name

    def _means_alias(self, term: TaskTerm) -> bool:
        return term.node_name is None and term.name in self._shared and term.name not in self._tasks

    def _enter(self, term: TaskTerm) -> None:
        if self._means_alias(term):
            return
        task = self._tasks.get(term.name)
        if task is None:
            raise self._unknown(term)
        name = self.node_name(term)
        first = self._first_use.get(name)
        if first is None:
            self._first_use[name] = term
            self._nodes[name] = task.clone(name) if term.node_name else task
        elif term.node_name or first.node_name:
            raise _duplicate(name, first, term)

    def _unknown(self, term: TaskTerm) -> GraphReferenceError:
        hint = suggestion(term.name, self._tasks)
        if term.name == "flow":
            hint = "'flow >>' can only begin a statement; put parentheses around what follows it"
        return located(GraphReferenceError, f"no task is called {term.name!r}", term.mark, hint)


def _duplicate(name: str, first: TaskTerm, second: TaskTerm) -> GraphValidationError:
    if first is second:
        message = f"the node name {name!r} is used twice, since its pipe is"
        return located(GraphValidationError, message, second.mark, "a pipe with aliases can be used only once")
    message = f"the node name {name!r} is already used at {first.mark}"
    return located(GraphValidationError, message, second.mark, "give one of them another name")
