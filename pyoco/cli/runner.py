"""Puts a run together from what the command line says: flow, parameters, view, answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..engine.errors import FlowCycleError
from . import flow_file, result
from .answers import GivenAnswers, ask
from .failure import complain
from .session import Outcome, Session, open_execution
from .views import choose_view, is_interactive


@dataclass(frozen=True)
class RunRequest:
    path: str
    params: dict[str, Any]
    answers: list[tuple[str, Any]]
    rejections: list[tuple[str, str]]
    trace: bool
    cute: bool | None
    grace: float
    may_ask: bool


def perform(request: RunRequest) -> Outcome:
    loaded = flow_file.load(request.path, "executing flow")
    assert loaded.config.flow is not None
    for warning in [*loaded.config.warnings, *loaded.flow.build_warnings]:
        complain(f"Warning: {request.path}: {warning}")
    nodes = [task.name for task in loaded.flow.ordered_tasks() if task not in loaded.flow.declared]
    given = GivenAnswers(request.answers, request.rejections)
    given.check(nodes)
    view = choose_view(nodes, trace=request.trace, cute=request.cute)
    try:
        execution = open_execution(loaded.flow, {**loaded.config.flow.defaults, **request.params}, view)
    except FlowCycleError as exc:
        raise flow_file.impossible_order(exc, request.path) from exc
    person = ask if request.may_ask and is_interactive() else None
    outcome = Session(execution, view, given, person, request.grace).run()
    for target in given.unused():
        complain(f"Warning: the answer for {target!r} was not needed")
    return outcome


def report(outcome: Outcome, print_document: Callable[[Any], None] | None) -> int:
    """Says what the run came to; the result is the exit code."""
    if print_document is not None:
        print_document(result.as_document(outcome))
    else:
        result.tell(outcome)
    result.complain_about(outcome)
    return result.exit_code(outcome)
