"""From graph text to a flow: the newer graphs as one sequence, the older operator dialect by its own rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..errors import GraphValidationError
from ..flow import Flow
from ..nodes import ParallelNode
from ..task import Task
from .check import refuse_invalid
from .convert import NodeMaker
from .names import NodeNames
from .parser import parse_graph
from .pipes import resolve_pipe_refs
from .source import located
from .terms import BlockTerm, GroupTerm, LoopTerm, Pipeline, PipeRefTerm, SwitchTerm, TaskTerm, Term, terms_of
from .wiring import Wiring, refuse_circles


def build_flow_from_graph(
    *, graph: str, tasks: Mapping[str, Task], pipes: Mapping[str, str] | None = None, flow_name: str = "main"
) -> Flow:
    """The flow that a graph describes. Every error is a ValueError that shows the place."""
    written = parse_graph(graph)
    old = not pipes and _is_operator_dialect(written, tasks)
    statements = _Statements.of(resolve_pipe_refs(written, pipes), tasks)
    for pipeline in statements.all:
        refuse_invalid(pipeline)
    return _Builder(statements, tasks, Flow(flow_name)).build(old)


@dataclass
class _Statements:
    """`attached` is what `flow >> …` lines say, one after the other; `loose` are all the others."""

    attached: Pipeline | None = None
    loose: list[Pipeline] = field(default_factory=list)

    @classmethod
    def of(cls, pipeline: Pipeline, tasks: Mapping[str, Task]) -> _Statements:
        found = cls()
        for statement in _split(pipeline):
            if not _begins_with_flow(statement, tasks):
                found.loose.append(statement)
            else:
                before = found.attached.terms if found.attached else ()
                found.attached = Pipeline((*before, *statement.terms[1:]), mark=statement.mark)
        return found

    @property
    def all(self) -> list[Pipeline]:
        return [*([self.attached] if self.attached else []), *self.loose]


class _Builder:
    def __init__(self, statements: _Statements, tasks: Mapping[str, Task], flow: Flow) -> None:
        self._statements = statements
        self._tasks = tasks
        self._flow = flow
        self._names = NodeNames(tasks, statements.all)
        self._maker = NodeMaker(self._names)

    def build(self, old: bool) -> Flow:
        # Drawn for every graph, since this also limits how many edges a text can ask for.
        wirings = [Wiring(self._names) for _ in self._statements.all]
        for wiring, pipeline in zip(wirings, self._statements.all, strict=True):
            wiring.add(pipeline)
        if old:
            self._build_old(wirings)
        elif len(self._statements.all) == 1:
            self._append(self._statements.all[0])
        elif any(_controls(pipeline) for pipeline in self._statements.all):
            self._append_side_by_side()
        else:
            self._wire(wirings)
        return self._flow

    def _build_old(self, wirings: list[Wiring]) -> None:
        """All tasks belong to the flow. Loops and switches count only after `flow >>`, and then nothing else runs."""
        attached = self._statements.attached
        if attached is not None and _controls(attached):
            self._append(attached)
            self._declare_rest()
            return
        for pipeline in self._statements.loose:
            for term in _controls(pipeline):
                self._flow.build_warnings.append(
                    f"{term.mark}: this loop or switch has no effect, its tasks run once; write 'flow >>' in front"
                )
        self._wire(wirings)
        rest = [task for task in self._tasks.values() if task not in self._flow.tasks]
        for task in rest:
            self._flow.add_task(task)
        if rest:
            names = ", ".join(dict.fromkeys(task.name for task in rest))
            self._flow.build_warnings.append(
                f"run although the graph does not mention them, as always with '&', '|' or several statements: {names}"
            )

    def _wire(self, wirings: list[Wiring]) -> None:
        """One graph of named nodes; each statement adds edges."""
        attached, loose = self._statements.attached, self._statements.loose
        if attached is not None:
            self._append(attached)
        edges = {edge: mark for wiring in wirings for edge, mark in wiring.edges.items()}
        if attached is None or not _repeats_a_task(attached, self._names):
            refuse_circles(edges)
        for pipeline in loose:
            for term in terms_of(pipeline):
                if isinstance(term, TaskTerm):
                    self._flow.add_task(self._names.task(term))
        for wiring in wirings[len(wirings) - len(loose) :]:
            for source, target in wiring.edges:
                self._flow.connect(self._names.node(source), self._names.node(target))
            for term in wiring.any_targets:
                self._flow.join_any(self._names.task(term))

    def _append(self, pipeline: Pipeline) -> None:
        for node in self._maker.sequence(pipeline).steps:
            self._flow.append(node)

    def _append_side_by_side(self) -> None:
        """With loops or switches there is no edge to a node inside them, so statements can only run independently."""
        used: dict[str, TaskTerm] = {}
        for pipeline in self._statements.all:
            own = {self._names.node_name(term): term for term in terms_of(pipeline) if isinstance(term, TaskTerm)}
            for name in own.keys() & used.keys():
                message = f"{name!r} stands in two statements of a graph with loops or switches"
                raise located(GraphValidationError, message, own[name].mark, "join the statements with '>>'")
            used.update(own)
        self._flow.append(ParallelNode([self._maker.sequence(pipeline) for pipeline in self._statements.all]))

    def _declare_rest(self) -> None:
        attached = {task.name for task in self._flow.tasks}
        rest = [task for task in self._tasks.values() if task.name not in attached]
        for task in rest:
            self._flow.declare(task)
        if rest:
            names = ", ".join(dict.fromkeys(task.name for task in rest))
            self._flow.build_warnings.append(f"not attached with 'flow >>', so never run: {names}")


def _split(pipeline: Pipeline) -> tuple[Pipeline, ...]:
    first = pipeline.terms[0]
    return first.statements if isinstance(first, BlockTerm) else (pipeline,)


def _begins_with_flow(statement: Pipeline, tasks: Mapping[str, Task]) -> bool:
    first = statement.terms[0]
    return isinstance(first, TaskTerm) and first.name == "flow" and first.node_name is None and "flow" not in tasks


def _is_operator_dialect(written: Pipeline, tasks: Mapping[str, Task]) -> bool:
    """Uses something that only the operator dialect has, and nothing that only the newer graphs have."""
    terms = list(terms_of(written))
    older = any(isinstance(term, (BlockTerm, GroupTerm)) or _is_control(term, old=True) for term in terms)
    newer = any(
        isinstance(term, PipeRefTerm)
        or (isinstance(term, TaskTerm) and term.node_name is not None)
        or _is_control(term, old=False)
        for term in terms
    )
    return not newer and (older or any(_begins_with_flow(statement, tasks) for statement in _split(written)))


def _is_control(term: Term, old: bool) -> bool:
    return isinstance(term, (LoopTerm, SwitchTerm)) and term.old is old


def _controls(pipeline: Pipeline) -> list[Term]:
    return [term for term in terms_of(pipeline) if isinstance(term, (LoopTerm, SwitchTerm))]


def _repeats_a_task(pipeline: Pipeline, names: NodeNames) -> bool:
    used = [names.node_name(term) for term in terms_of(pipeline) if isinstance(term, TaskTerm)]
    return len(used) != len(set(used))
