"""What is known about each task: its task_info, or else what signature and docstring tell."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..builtin_tasks import BUILTIN_TASKS
from ..document import PyocoConfig
from ..errors import TaskNotFoundError
from ..loader import TaskLoader
from ..task import Task
from ..task_info import SupportFilters, TaskInfo, TaskIO

BUILTIN_ORIGIN = "pyoco"


def collect(config: PyocoConfig, filters: SupportFilters) -> list[TaskInfo]:
    """One TaskInfo per task that the flow.yaml can use; built-in tasks only when asked for by name."""
    # What the loader has to say belongs on the screen, not into a description that may be piped into a file.
    loader = TaskLoader(config, say=_silent)
    loader.load()
    infos = [
        loader.task_infos.get(name) or describe_task(name, task, loader.origins[name])
        for name, task in loader.tasks.items()
    ]
    for name in filters.name or []:
        if name in BUILTIN_TASKS and name not in loader.tasks:
            infos.append(describe_task(name, BUILTIN_TASKS[name], BUILTIN_ORIGIN))
    return sorted(infos, key=lambda info: (info.origin or "", info.name))


def select(infos: list[TaskInfo], filters: SupportFilters) -> list[TaskInfo]:
    """The infos that match; TaskNotFoundError if there is none."""
    chosen = [
        info
        for info in infos
        if (filters.name is None or info.name in filters.name)
        and (filters.origin is None or info.origin in filters.origin)
        and (filters.tag is None or set(info.tags or ()) & set(filters.tag))
    ]
    if not chosen:
        given = {"name": filters.name, "origin": filters.origin, "tag": filters.tag}
        raise TaskNotFoundError(" ".join(f"{key}={','.join(values)}" for key, values in given.items() if values) or "*")
    return chosen


def describe_task(name: str, task: Task, origin: str) -> TaskInfo:
    return TaskInfo(
        name=name,
        summary=_summary(task),
        inputs=_inputs(task),
        outputs=_outputs(task),
        origin=origin,
        tags=[],
    )


def _silent(message: str) -> None:
    pass


def _summary(task: Task) -> str:
    # For a method the class it belongs to may say it; `inspect.getdoc` would answer for a base class instead.
    owner = getattr(task.func, "__self__", None)
    text = task.func.__doc__ or (type(owner).__doc__ if owner is not None else "") or ""
    first_paragraph = inspect.cleandoc(text).split("\n\n")[0]
    return " ".join(first_paragraph.split()) or f"Runs {_code_name(task.func)}."


def _code_name(func: Callable[..., Any]) -> str:
    named = func if hasattr(func, "__qualname__") else type(func)
    return f"{named.__module__}.{named.__qualname__}"


def _signature(func: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(func)
    except (TypeError, ValueError):  # some callables written in C do not tell
        return inspect.Signature()


def _inputs(task: Task) -> list[TaskIO]:
    entries = []
    for parameter in _signature(task.func).parameters.values():
        if parameter.name == "ctx" or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        constraints = []
        if parameter.default is not parameter.empty:
            constraints.append(f"default: {parameter.default!r}")
        if parameter.name in task.inputs:
            constraints.append("already set")  # the value itself may be nobody else's business
        entries.append(TaskIO(parameter.name, _type_name(parameter.annotation), not constraints, constraints or None))
    return entries


def _outputs(task: Task) -> list[TaskIO]:
    returned = _type_name(_signature(task.func).return_annotation)
    return [TaskIO("result", returned, True), *(TaskIO(path, returned, True) for path in task.outputs)]


def _type_name(annotation: Any) -> str:
    if annotation is inspect.Signature.empty:
        return "any"
    if annotation is None or annotation is type(None):
        return "none"
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)
