"""Checks a flow without running it: what is surely wrong (errors) and what looks wrong (warnings)."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .document import PyocoConfig
from .errors import FlowCycleError
from .flow import Flow
from .nodes import (
    DEFAULT_MAX_ITER,
    DSLNode,
    ForEachNode,
    ParallelNode,
    RepeatNode,
    SubFlowNode,
    SwitchNode,
    TaskNode,
    UntilNode,
)
from .plan import make_plan
from .report import ValidationReport
from .task import Task

_ENV_NAME = re.compile(r"\$env\.(\w+)")


@dataclass(frozen=True)
class _Place:
    """A node, the path that messages show, and the loop variables that can be seen there."""

    node: DSLNode
    path: str
    variables: frozenset[str] = frozenset()


class FlowValidator:
    """Looks at the loops and switches of a flow."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow

    def validate(self) -> ValidationReport:
        report = ValidationReport()
        for place in _places(self.flow):
            _check_until(place, report)
            _check_switch(place, report)
        return report


def check_flow(config: PyocoConfig, tasks: Mapping[str, Task], flow: Flow, dry_run: bool = False) -> ValidationReport:
    """All that `pyoco check` says about a flow that could be built. `tasks` are those the loader found."""
    report = ValidationReport(warnings=[*config.warnings, *flow.build_warnings])
    places = list(_places(flow))
    for place in places:
        _check_switch(place, report)
        if dry_run:
            _check_until(place, report)
    _check_order(flow, report)
    _check_unused(config, tasks, flow, report)
    _check_arguments(config, flow, places, report)
    _check_environment(config, flow, places, report)
    return report


def _places(flow: Flow) -> list[_Place]:
    """Every node of the flow in written order, outer before inner."""
    found: list[_Place] = []
    waiting = [_Place(flow.build_program(), "flow")]
    while waiting:
        place = waiting.pop()
        found.append(place)
        waiting.extend(reversed(_inner(place)))
    return found


def _inner(place: _Place) -> list[_Place]:
    path, seen = place.path, place.variables
    match place.node:
        case SubFlowNode(steps=steps):
            return [_Place(step, f"{path}.step[{index}]", seen) for index, step in enumerate(steps)]
        case ParallelNode(branches=branches):
            return [_Place(branch, f"{path}.branch[{index}]", seen) for index, branch in enumerate(branches)]
        case SwitchNode(cases=cases):
            return [_Place(case.target, f"{path}.case[{index}].target", seen) for index, case in enumerate(cases)]
        case RepeatNode(body=body):
            return [_Place(body, f"{path}.repeat", seen)]
        case UntilNode(body=body):
            return [_Place(body, f"{path}.until", seen)]
        case ForEachNode(body=body, alias=alias, index_alias=index_alias):
            return [_Place(body, f"{path}.foreach", seen | {name for name in (alias, index_alias) if name})]
    return []


def _check_until(place: _Place, report: ValidationReport) -> None:
    if isinstance(place.node, UntilNode) and not place.node.max_iter:
        report.warnings.append(f"{place.path}: until has no max_iter; it fails after {DEFAULT_MAX_ITER} iterations")


def _check_switch(place: _Place, report: ValidationReport) -> None:
    if not isinstance(place.node, SwitchNode):
        return
    values: list[Any] = []
    defaults = 0
    for index, case in enumerate(place.node.cases):
        if case.is_default:
            defaults += 1
            if defaults > 1:
                report.errors.append(f"{place.path}.case[{index}]: the switch has a default case already")
        elif case.value in values:  # by ==, as the run compares: 1 and true are one case
            report.errors.append(f"{place.path}.case[{index}]: an earlier case has the value {case.value!r} already")
        else:
            values.append(case.value)
    if not defaults:
        report.warnings.append(f"{place.path}: switch has no default case; a value without a case fails the run")


def _check_order(flow: Flow, report: ValidationReport) -> None:
    try:
        make_plan(flow)
    except FlowCycleError as exc:
        report.errors.append(str(exc))


def _check_unused(config: PyocoConfig, tasks: Mapping[str, Task], flow: Flow, report: ValidationReport) -> None:
    names = {task.name for task in flow.tasks}
    templates = {declared.use for declared in config.tasks.values()}
    # A node with a name of its own (`again: a` in the graph) is a copy of its task.
    copied = {task.copy_of for task in flow.tasks if task.name not in config.tasks}
    for name in config.tasks:
        task = tasks.get(name)
        if name in templates or (task is not None and (task.name in names or task.name in copied)):
            continue
        report.warnings.append(f"task {name!r} is orphaned: the graph does not mention it, so it does not run")


def _check_arguments(config: PyocoConfig, flow: Flow, places: list[_Place], report: ValidationReport) -> None:
    given = {task.name for task in flow.tasks} | set(config.flow.defaults if config.flow else ())
    given |= {name for task in flow.tasks for name in _saved_names(task)}
    variables: dict[str, frozenset[str]] = {}
    for place in places:
        if isinstance(place.node, TaskNode):
            name = place.node.task.name
            variables[name] = variables.get(name, place.variables) & place.variables
    for task in flow.ordered_tasks():
        known = (given - {task.name}) | variables.get(task.name, frozenset())
        report.warnings += [f"task {task.name!r}: {problem}" for problem in _argument_problems(task, known)]


def _check_environment(config: PyocoConfig, flow: Flow, places: list[_Place], report: ValidationReport) -> None:
    """A file that lists what it needs of the environment should list all of it: a server gives it nothing else."""
    exposed = config.runtime.expose_env
    if not exposed:
        return
    used = {name for place in places for text in _expressions(place.node) for name in _ENV_NAME.findall(text)}
    references = [value for task in flow.tasks for value in task.inputs.values() if isinstance(value, str)]
    used |= {value.removeprefix("$env.") for value in references if value.startswith("$env.")}
    for name in sorted(used - set(exposed)):
        report.warnings.append(f"$env.{name} is used, but runtime.expose_env does not list {name}")


def _expressions(node: DSLNode) -> list[str]:
    match node:
        case SwitchNode(expression=found) | UntilNode(condition=found) | ForEachNode(source=found):
            return [found.source]
        case RepeatNode(count=count) if not isinstance(count, int):
            return [count.source]
    return []


def _saved_names(task: Task) -> Iterator[str]:
    for path in task.outputs:
        root, _, name = path.partition(".")
        if root in ("params", "results"):
            yield name.partition(".")[0]


def _argument_problems(task: Task, known: set[str]) -> Iterator[str]:
    try:
        parameters = inspect.signature(task.func).parameters.values()
    except (TypeError, ValueError):  # some callables written in C do not tell
        return
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    names = {parameter.name for parameter in parameters}
    for name in task.inputs:
        if name not in names and not takes_any and name != "ctx":
            yield f"input {name!r} is not an argument of its function, so calling it fails"
    for parameter in parameters:
        name = parameter.name
        fillable = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        optional = parameter.default is not parameter.empty
        if fillable and not optional and name != "ctx" and name not in task.inputs and name not in known:
            yield f"argument {name!r} is found neither in its inputs nor in flow.defaults; each run must give it"
