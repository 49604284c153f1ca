"""Edges between named nodes, for graphs of several statements."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import GraphValidationError
from .names import NodeNames
from .source import Mark, located
from .terms import GroupTerm, Pipeline, TaskTerm, Term

# A few long groups in a row would otherwise multiply to any number of edges.
MAX_EDGES = 100_000


class Wiring:
    """Collects what each statement says about the order of nodes."""

    def __init__(self, names: NodeNames) -> None:
        self._names = names
        self._drawn = 0
        self.edges: dict[tuple[str, str], Mark] = {}
        self.any_targets: list[TaskTerm] = []

    def add(self, pipeline: Pipeline) -> tuple[list[TaskTerm], list[TaskTerm]]:
        """Draws the edges of a pipeline; gives its first and its last tasks."""
        first: list[TaskTerm] = []
        last: list[TaskTerm] = []
        before: Term | None = None
        for term in pipeline.terms:
            heads, tails = self._ends(term)
            self._connect(last, heads, term.mark)
            if before is None:
                first = heads
            elif joins_any(before):
                self.any_targets.extend(heads)
            before, last = term, tails
        return first, last

    def _ends(self, term: Term) -> tuple[list[TaskTerm], list[TaskTerm]]:
        if isinstance(term, TaskTerm):
            return [term], [term]
        ends = [self.add(part) for part in term.parts()]
        return [task for heads, _ in ends for task in heads], [task for _, tails in ends for task in tails]

    def _connect(self, sources: list[TaskTerm], targets: list[TaskTerm], mark: Mark) -> None:
        self._drawn += len(sources) * len(targets)
        if self._drawn > MAX_EDGES:
            raise located(GraphValidationError, f"the graph has more than {MAX_EDGES} edges", mark)
        for source in sources:
            for target in targets:
                edge = self._names.node_name(source), self._names.node_name(target)
                self.edges.setdefault(edge, mark)


def joins_any(term: Term) -> bool:
    """Whether the step after this one waits for only one of its branches."""
    while isinstance(term, GroupTerm) and len(term.branches) == 1:
        term = term.branches[0].terms[-1]
    return isinstance(term, GroupTerm) and term.join == "ANY"


def refuse_circles(edges: dict[tuple[str, str], Mark]) -> None:
    """GraphValidationError if the edges contain a circle: none of its nodes could ever start."""
    circle = _find_circle(edges)
    if circle:
        mark = edges[circle[-2], circle[-1]]
        message = f"the statements go round in circles: {' >> '.join(circle)}"
        raise located(GraphValidationError, message, mark, "one task runs once; use a loop or an alias to run it again")


def _find_circle(edges: Iterable[tuple[str, str]]) -> list[str] | None:
    targets: dict[str, list[str]] = {}
    for source, target in edges:
        targets.setdefault(source, []).append(target)
    finished: set[str] = set()
    for start in list(targets):
        path: dict[str, None] = {}
        stack = [(start, False)]
        while stack:
            name, leaving = stack.pop()
            if leaving:
                path.pop(name)
                finished.add(name)
            elif name in path:
                trail = list(path)
                return [*trail[trail.index(name) :], name]
            elif name not in finished:
                path[name] = None
                stack.append((name, True))
                stack.extend((target, False) for target in targets.get(name, ()))
    return None
