"""Finds the tasks a flow.yaml can use: declared callables, discovery modules, plugins, and `use`."""

from __future__ import annotations

import difflib
import importlib
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

from .builtin_tasks import BUILTIN_TASKS
from .document import TaskConfig
from .dsl import TaskWrapper
from .plugins import PluginRegistry, describe_entry_point, iter_entry_points
from .resolve import NotAvailable, load_task
from .task import POLICIES, Task
from .task_info import TaskInfo

DISCOVERY_VARIABLE = "PYOCO_DISCOVERY_MODULES"
DECLARED = "flow.yaml"


class TaskLoader:
    """`load()` fills `tasks`, `task_infos`, `plugin_reports`, `origins` (task name to where it comes from),
    `missing` (task name to why it is not available) and `messages` (every line that was said)."""

    def __init__(self, config: Any, strict: bool = False, say: Callable[[str], None] = print) -> None:
        self.config = config
        self.strict = strict
        self._say = say
        self._reset()

    def _reset(self) -> None:
        self.tasks: dict[str, Task] = {}
        self.task_infos: dict[str, TaskInfo] = {}
        self.plugin_reports: list[dict[str, Any]] = []
        self.origins: dict[str, str] = {}
        self.missing: dict[str, str] = {}
        self.messages: list[str] = []
        self._declared: dict[str, TaskConfig] = {}
        self._finished: set[str] = set()

    def load(self) -> None:
        """Imports what is declared. Starts afresh when called again."""
        self._reset()
        config = self.config
        entries = config.get("tasks") if isinstance(config, Mapping) else config.tasks
        self._declared = {name: _task_config(name, entry) for name, entry in (entries or {}).items()}
        for name, declared in self._declared.items():
            if declared.callable:
                self._load_callable(name, declared)
        for module_name in os.environ.get(DISCOVERY_VARIABLE, "").replace(",", " ").split():
            self._load_module(module_name)
        self._load_plugins()
        for name in self._declared:
            self._finish(name)

    def get_task(self, name: str) -> Task | None:
        return self.tasks.get(name)

    def register_task(self, name: str, task: Task, origin: str) -> None:
        """Takes a discovered task, unless flow.yaml says by `callable` what this name means."""
        if name in self._declared and self._declared[name].callable:
            return
        present = self.tasks.get(name)
        # The same object twice is no conflict: a module that imports the tasks of another shows them again.
        if present is not None and present is not task:
            problem = f"task {name!r} of {self.origins[name]} is defined again by {origin}"
            if self.strict:
                raise ValueError(problem)
            self._tell(f"Warning: {problem}, which replaces it")
        self.tasks[name] = task
        self.origins[name] = origin

    def register_task_info(self, info: TaskInfo) -> None:
        self.task_infos[info.name] = info

    def _tell(self, message: str) -> None:
        self.messages.append(message)
        self._say(message)

    def _load_callable(self, name: str, declared: TaskConfig) -> None:
        try:
            task = load_task(str(declared.callable), name)
        except NotAvailable as exc:
            self.missing[name] = str(exc)
            self._tell(f"Error: task {name!r} is not available: {exc}")
            return
        _overlay(task, declared)
        self.tasks[name] = task
        self.origins[name] = DECLARED

    def _load_module(self, module_name: str) -> None:
        try:
            module = importlib.import_module(module_name)
        except ImportError as exc:
            self._tell(f"Warning: cannot import module {module_name!r} of {DISCOVERY_VARIABLE} ({exc})")
            return
        for name, value in list(vars(module).items()):
            task = value.task if isinstance(value, TaskWrapper) else value
            if isinstance(task, Task):
                self.register_task(name, task, module_name)

    def _load_plugins(self) -> None:
        for entry_point in iter_entry_points():
            registry = PluginRegistry(self, entry_point.name)
            report = describe_entry_point(entry_point)
            report.update(tasks=registry.records, warnings=registry.warnings, task_infos=[])
            self.plugin_reports.append(report)
            try:
                register = entry_point.load()
                if not callable(register):
                    raise TypeError(f"{entry_point.value} is not callable")
                register(registry)
            except Exception as exc:  # foreign code: one broken plugin must not hide all the others
                if self.strict:
                    raise
                report["error"] = str(exc) or type(exc).__name__
                self._tell(f"Warning: plugin {entry_point.name!r} is left out: {report['error']}")
            report["task_infos"] = [asdict(info) for info in registry.task_infos.values()]

    def _finish(self, name: str) -> None:
        """Completes an entry that has no callable of its own, after the entries it builds on."""
        chain = [name]
        while (target := self._declared[chain[-1]].use) in self._declared and target != chain[-1]:
            if target in chain:
                raise ValueError(f"tasks.{name}: 'use' goes round in a circle: {' -> '.join([*chain, target])}")
            chain.append(target)
        for entry in reversed(chain):
            if entry not in self._finished:
                self._finished.add(entry)
                self._complete(entry, self._declared[entry])

    def _complete(self, name: str, declared: TaskConfig) -> None:
        if declared.callable:
            return
        if declared.use:
            task = self._used(name, declared.use).clone(name)
            self.origins[name] = DECLARED
            if declared.use in self.task_infos:
                self.task_infos[name] = replace(self.task_infos[declared.use], name=name)
        elif name in self.tasks:
            # a copy: the discovered object belongs to its module and serves other flows too
            task = self.tasks[name].clone(self.tasks[name].name)
        else:
            self.missing[name] = "it has neither 'callable' nor 'use', and no discovered module or plugin provides it"
            return
        _overlay(task, declared)
        self.tasks[name] = task

    def _used(self, name: str, target: str) -> Task:
        task = self.tasks.get(target) or BUILTIN_TASKS.get(target)
        if task is None:
            known = sorted({*self.tasks, *BUILTIN_TASKS})
            close = difflib.get_close_matches(target, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"
            raise ValueError(f"tasks.{name}: the used task {target!r} does not exist; {self.missing.get(target, hint)}")
        return task


def _task_config(name: str, entry: Any) -> TaskConfig:
    if isinstance(entry, Mapping):
        entry = TaskConfig(
            callable=entry.get("callable"),
            use=entry.get("use"),
            inputs=entry.get("inputs") or {},
            outputs=entry.get("outputs") or [],
            policies={key: entry[key] for key in POLICIES if key in entry},
        )
    if not isinstance(entry, TaskConfig):
        raise TypeError(f"tasks.{name} must be a TaskConfig or a mapping, not {type(entry).__name__}")
    if entry.callable and entry.use:
        raise ValueError(f"tasks.{name}: 'callable' and 'use' exclude each other")
    return entry


def _overlay(task: Task, declared: TaskConfig) -> None:
    """What flow.yaml says comes on top of what the code says."""
    task.inputs.update(declared.inputs or {})
    task.outputs.extend(declared.outputs or [])
    try:
        task.set_policies(declared.policies)
    except ValueError as exc:
        raise ValueError(f"tasks.{task.name}: {exc}") from None
