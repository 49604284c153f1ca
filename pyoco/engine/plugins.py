"""Tasks that installed distributions offer through the entry point group `pyoco.tasks`."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeVar, overload

from .dsl import TaskWrapper
from .errors import MissingTaskMetadataError
from .task import Task
from .task_info import TaskInfo, TaskIO

ENTRY_POINT_GROUP = "pyoco.tasks"

F = TypeVar("F", bound=Callable[..., Any])


class TaskSink(Protocol):
    """Where a registry puts what a plugin offers: the loader."""

    def register_task(self, name: str, task: Task, origin: str) -> None: ...

    def register_task_info(self, info: TaskInfo) -> None: ...


class CallablePluginTask(Task):
    """A task made of a bare callable."""

    def __init__(self, func: Callable[..., Any], name: str) -> None:
        super().__init__(func=func, name=name)


class PluginRegistry:
    """What the function behind an entry point receives, to register its tasks."""

    def __init__(self, loader: TaskSink, provider_name: str) -> None:
        self.loader = loader
        self.provider_name = provider_name
        self.registered_names: list[str] = []
        self.records: list[dict[str, Any]] = []
        self.warnings: list[str] = []
        self.task_infos: dict[str, TaskInfo] = {}

    def task_class(self, task_cls: type[Task], *args: Any, name: str | None = None, **kwargs: Any) -> Task:
        """Creates and registers one task of a Task subclass; the recommended way."""
        if not (isinstance(task_cls, type) and issubclass(task_cls, Task)):
            raise TypeError(f"task_class needs a subclass of Task, not {task_cls!r}")
        task = task_cls(*args, **kwargs)
        if name:
            task.name = name
        self._register(task, "task_class")
        return task

    def register_callable(
        self,
        func: Callable[..., Any],
        *,
        name: str | None = None,
        inputs: Mapping[str, Any] | None = None,
        outputs: Iterable[str] | None = None,
    ) -> Task:
        if not callable(func):
            raise TypeError(f"register_callable needs a callable, not {func!r}")
        task = CallablePluginTask(func, str(name or getattr(func, "__name__", f"{self.provider_name}_task")))
        task.inputs.update(inputs or {})
        task.outputs.extend(outputs or [])
        self._register(task, "callable")
        return task

    @overload
    def task(self, func: F) -> F: ...
    @overload
    def task(
        self,
        func: None = None,
        *,
        name: str | None = None,
        inputs: Mapping[str, Any] | None = None,
        outputs: Iterable[str] | None = None,
    ) -> Callable[[F], F]: ...
    def task(
        self,
        func: F | None = None,
        *,
        name: str | None = None,
        inputs: Mapping[str, Any] | None = None,
        outputs: Iterable[str] | None = None,
    ) -> F | Callable[[F], F]:
        """Decorator, with or without arguments; gives the function back unchanged."""

        def register(function: F) -> F:
            self.register_callable(function, name=name, inputs=inputs, outputs=outputs)
            return function

        return register if func is None else register(func)

    def add(self, obj: Any, *, name: str | None = None) -> None:
        """Registers a decorated task, a Task, or any callable."""
        if isinstance(obj, type) and issubclass(obj, Task):
            self.task_class(obj, name=name)
        elif isinstance(obj, TaskWrapper):
            self._register(_named(obj.task, name), "wrapper", type(obj.task))
        elif isinstance(obj, Task):
            self._register(_named(obj, name), "task", type(obj))
        elif callable(obj):
            self.register_callable(obj, name=name)
        else:
            raise TypeError(f"cannot make a task of {obj!r}")

    def task_info(
        self,
        *,
        name: str | None = None,
        summary: str | None = None,
        inputs: list[Any] | None = None,
        outputs: list[Any] | None = None,
        usage: str | None = None,
        tags: list[str] | None = None,
        origin: str | None = None,
    ) -> None:
        """Describes a task for people and language models. `inputs` and `outputs` hold TaskIO or mappings."""
        given = {"name": name, "summary": summary, "inputs": inputs, "outputs": outputs}
        lacking = [field for field, value in given.items() if value is None or value == ""]
        if not name or not summary or inputs is None or outputs is None:
            raise MissingTaskMetadataError(name or "<unnamed>", lacking)
        info = TaskInfo(
            name=name,
            summary=summary,
            inputs=_task_ios(name, "inputs", inputs),
            outputs=_task_ios(name, "outputs", outputs),
            usage=usage,
            origin=origin or self.provider_name,
            tags=list(tags or []),
        )
        self.task_infos[name] = info
        self.loader.register_task_info(info)

    def _register(self, task: Task, origin: str, task_class: type[Task] | None = None) -> None:
        warnings = []
        if not task.name:
            task.name = f"{self.provider_name}_{len(self.registered_names) + 1}"
            warnings.append(f"has no name; called {task.name!r} for now")
        if not callable(task.func):
            warnings.append("its func is not callable")
        if origin == "callable":
            warnings.append("is a bare callable; a Task subclass can say more about itself")
        if origin == "task" and (task_class or type(task)) is Task:
            warnings.append("is a bare Task; a Task subclass can say more about itself")
        self.registered_names.append(task.name)
        class_name = (task_class or type(task)).__name__
        self.records.append({"name": task.name, "origin": origin, "class": class_name, "warnings": warnings})
        self.warnings.extend(f"{task.name}: {warning}" for warning in warnings)
        self.loader.register_task(task.name, task, self.provider_name)


def iter_entry_points(group: str = ENTRY_POINT_GROUP) -> list[importlib.metadata.EntryPoint]:
    """The entry points of a group by name, so that which of two equal task names wins does not depend on the disk."""
    return sorted(importlib.metadata.entry_points(group=group), key=lambda entry: (entry.name, entry.value))


def describe_entry_point(entry_point: importlib.metadata.EntryPoint) -> dict[str, Any]:
    return {
        "name": entry_point.name,
        "version": entry_point.dist.version if entry_point.dist else None,
        "value": entry_point.value,
        "module": entry_point.module,
    }


def list_available_plugins() -> list[dict[str, Any]]:
    """Name, version, value and module of every installed plugin, without importing any."""
    return [describe_entry_point(entry_point) for entry_point in iter_entry_points()]


def plugin_issues(reports: Iterable[Mapping[str, Any]]) -> list[str]:
    """What `plugins lint` finds in `TaskLoader.plugin_reports`."""
    issues = []
    for report in reports:
        provider = report["name"]
        if "error" in report:
            issues.append(f"{provider}: {report['error']}")
        issues.extend(f"{provider}: {warning}" for warning in report["warnings"])
        told = {info["name"] for info in report["task_infos"] if (info["usage"] or "").strip()}
        untold = [record["name"] for record in report["tasks"] if record["name"] not in told]
        issues.extend(f"{provider}: {name}: has no usage text; give one with registry.task_info" for name in untold)
    return issues


def _named(task: Task, name: str | None) -> Task:
    # a copy, because the object belongs to the plugin's own code and may be registered under several names
    return task.clone(name) if name and name != task.name else task


def _task_ios(task_name: str, field: str, items: Iterable[Any]) -> list[TaskIO]:
    result, lacking = [], []
    for index, item in enumerate(items):
        if not isinstance(item, (TaskIO, Mapping)):
            lacking.append(f"{field}[{index}]")
            continue
        entry = item if isinstance(item, TaskIO) else TaskIO.from_dict(item)
        parts = {"name": entry.name, "type": entry.type, "required": entry.required}
        lacking.extend(f"{field}[{index}].{part}" for part, value in parts.items() if value is None)
        result.append(entry)
    if lacking:
        raise MissingTaskMetadataError(task_name, lacking)
    return result
