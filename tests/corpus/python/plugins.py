"""§8 Entry-point plugins: the registry, the reports, and tasks from an installed distribution."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from observe import Lab, Observation, case, table

from pyoco import task
from pyoco.core.models import Task
from pyoco.discovery.loader import TaskLoader
from pyoco.discovery.plugins import CallablePluginTask, PluginRegistry, iter_entry_points, list_available_plugins
from pyoco.schemas.config import PyocoConfig

PLUGIN = """
from pyoco.core.models import Task

class Double(Task):
    def __init__(self, factor=2, name="corpus/double"):
        super().__init__(func=self.run, name=name)
        self.factor = factor
    def run(self, x=1):
        return x * self.factor

def triple(x=1):
    return x * 3

def register(registry):
    registry.task_class(Double)
    registry.register_callable(triple, name="corpus/triple", inputs={"x": 4}, outputs=["scratch.triple"])
    registry.task_info(
        name="corpus/triple", summary="three times as much", usage="corpus/triple", tags=["math"],
        inputs=[{"name": "x", "type": "int", "required": True}],
        outputs=[{"name": "triple", "type": "int", "required": False, "constraints": ["> 0"]}],
    )

def broken(registry):
    raise RuntimeError("broken plug-in")
"""


@contextlib.contextmanager
def installed(lab: Lab, **entry_points: str) -> Iterator[None]:
    """A distribution with these entry points of group `pyoco.tasks`, on sys.path for a while."""
    lines = "\n".join(f"{name} = {value}" for name, value in entry_points.items())
    with lab.importable(corpus_plugin=PLUGIN):
        home = "modules/corpus_plugin-1.2.dist-info"
        lab.write(f"{home}/METADATA", "Metadata-Version: 2.1\nName: corpus-plugin\nVersion: 1.2\n")
        lab.write(f"{home}/entry_points.txt", f"[pyoco.tasks]\n{lines}\n")
        importlib.invalidate_caches()
        try:
            yield
        finally:
            sys.modules.pop("corpus_plugin", None)


def loader(lab: Lab, text: str = "", strict: bool = False) -> TaskLoader:
    return TaskLoader(PyocoConfig.from_yaml(str(lab.write("flow.yaml", text))), strict=strict)


def registry(lab: Lab) -> tuple[PluginRegistry, TaskLoader]:
    owner = loader(lab)
    return PluginRegistry(owner, "corpus"), owner


class Sub(Task):
    def __init__(self, factor: int = 1, name: str = "sub") -> None:
        super().__init__(func=lambda: factor, name=name)


def function(x: int = 1) -> int:
    return x


@task
def wrapped() -> str:
    return "wrapped"


WAYS: dict[str, Callable[[PluginRegistry], Any]] = {
    "task_class": lambda r: r.task_class(Sub),
    "task_class_with_arguments": lambda r: r.task_class(Sub, 5, name="ns/five"),
    "register_callable": lambda r: r.register_callable(function, name="ns/f", inputs={"x": 2}, outputs=["scratch.f"]),
    "register_callable_by_its_name": lambda r: r.register_callable(function),
    "decorator": lambda r: r.task(function),
    "decorator_with_arguments": lambda r: r.task(name="ns/d", inputs={"x": 3})(function),
    "add_wrapper": lambda r: r.add(wrapped),
    "add_task": lambda r: r.add(Task(func=function, name="raw")),
    "add_task_renamed": lambda r: r.add(Task(func=function, name="raw"), name="ns/new"),
    "add_callable": lambda r: r.add(function, name="ns/added"),
}


@table(WAYS)
def registering(lab: Lab, way: Callable[[PluginRegistry], Any]) -> Observation:
    one, owner = registry(lab)
    way(one)
    return {
        "records": [[row["name"], row["origin"], row["class"], bool(row["warnings"])] for row in one.records],
        "tasks": {name: [found.name, found.inputs, found.outputs] for name, found in owner.tasks.items()},
    }


@case()
def decorator_returns_the_function(lab: Lab) -> Observation:
    one, _ = registry(lab)
    return {"bare": one.task(function) is function, "called": one.task(name="other")(function) is function}


REFUSED: dict[str, Callable[[PluginRegistry], Any]] = {
    "task_class_of_a_plain_class": lambda r: r.task_class(int),  # type: ignore[type-var]
    "add_number": lambda r: r.add(3),
}


@table(REFUSED)
def refuses(lab: Lab, way: Callable[[PluginRegistry], Any]) -> Observation:
    return lab.builds(lambda: way(registry(lab)[0]))


FIELDS: dict[str, dict[str, Any]] = {
    "only_a_name": {"name": "t"},
    "no_summary": {"name": "t", "inputs": [], "outputs": []},
    "no_outputs": {"name": "t", "summary": "s", "inputs": []},
    "bad_input": {"name": "t", "summary": "s", "inputs": [3], "outputs": []},
}


@table(FIELDS)
def incomplete_task_info(lab: Lab, fields: dict[str, Any]) -> Observation:
    try:
        registry(lab)[0].task_info(**fields)
    except Exception as error:
        return {"class": type(error).__name__, "fields": getattr(error, "fields", None)}
    return {"class": None}


@case()
def complete_task_info(lab: Lab) -> Observation:
    one, owner = registry(lab)
    one.task_info(
        name="t", summary="s", inputs=[{"name": "x", "type": "int", "required": True}], outputs=[], tags=["a"]
    )
    info: Any = owner.task_infos["t"]
    item = info.inputs[0]
    return {
        "info": [info.name, info.summary, info.usage, info.origin, info.tags, info.outputs],
        "input": [item.name, item.type, item.required, item.constraints],
    }


@case()
def callable_plugin_task_is_a_task(lab: Lab) -> Observation:
    one = CallablePluginTask(func=function, name="n")
    return {"task": isinstance(one, Task), "name": one.name, "call": one.func(3)}


@case()
def entry_points_are_listed(lab: Lab) -> Observation:
    with installed(lab, good="corpus_plugin:register"):
        return {"names": [point.name for point in iter_entry_points()], "available": list_available_plugins()}


@case()
def installed_plugin_brings_tasks(lab: Lab) -> Observation:
    text = "tasks:\n  mine: {use: corpus/triple, inputs: {x: 5}}\n  twice: {use: corpus/double}\n"
    with installed(lab, good="corpus_plugin:register"):
        one = loader(lab, text)
        one.load()
    from pyoco.dsl.graph import build_flow_from_graph

    seen = lab.run(build_flow_from_graph(graph="mine >> twice", tasks=one.tasks), {"x": 2})
    return seen | {"tasks": sorted(one.tasks), "described": "corpus/triple" in one.task_infos}


@case()
def plugin_report(lab: Lab) -> Observation:
    with installed(lab, good="corpus_plugin:register"):
        one = loader(lab)
        one.load()
    report = one.plugin_reports[0]
    return {key: report[key] for key in ("name", "version", "value", "module")} | {
        "tasks": [[row["name"], row["origin"]] for row in report["tasks"]],
        "warnings": len(report["warnings"]),
        "infos": [row["name"] for row in report["task_infos"]],
    }


@case()
def broken_plugin_is_reported_and_skipped(lab: Lab) -> Observation:
    with installed(lab, bad="corpus_plugin:broken", good="corpus_plugin:register"), lab.stdout() as out:
        one = loader(lab)
        one.load()
    errors = {report["name"]: report.get("error") for report in one.plugin_reports}
    return {"errors": errors, "tasks": sorted(one.tasks), "printed": "bad" in out.getvalue()}


@case()
def broken_plugin_is_raised_when_strict(lab: Lab) -> Observation:
    with installed(lab, bad="corpus_plugin:broken"), lab.stdout():
        return lab.builds(lambda: loader(lab, strict=True).load(), mention=("broken plug-in",))


@case()
def registry_knows_its_provider(lab: Lab) -> Observation:
    one, owner = registry(lab)
    return {"provider": one.provider_name, "owner": one.loader is owner, "records": one.records}
