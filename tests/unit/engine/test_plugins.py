"""Entry points of the group pyoco.tasks: real distributions on sys.path, loaded by the real loader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pyoco.engine.document import PyocoConfig, TaskConfig
from pyoco.engine.dsl import task
from pyoco.engine.errors import MissingTaskMetadataError
from pyoco.engine.loader import TaskLoader
from pyoco.engine.plugins import (
    CallablePluginTask,
    PluginRegistry,
    iter_entry_points,
    list_available_plugins,
    plugin_issues,
)
from pyoco.engine.task import Task
from pyoco.engine.task_info import TaskInfo, TaskIO

if TYPE_CHECKING:
    from conftest import Project


class Typed(Task):
    def __init__(self, factor: int = 1) -> None:
        super().__init__(func=self.work, name="typed")
        self.factor = factor

    def work(self, x: int) -> int:
        return self.factor * x


class Target:
    """Keeps what a registry hands on."""

    def __init__(self) -> None:
        self.tasks: dict[str, Task] = {}
        self.infos: list[TaskInfo] = []

    def register_task(self, name: str, task: Task, origin: str) -> None:
        self.tasks[name] = task

    def register_task_info(self, info: TaskInfo) -> None:
        self.infos.append(info)


@pytest.fixture
def target() -> Target:
    return Target()


@pytest.fixture
def registry(target: Target) -> PluginRegistry:
    return PluginRegistry(target, "mine")


def double(x: int) -> int:
    return 2 * x


class Doubler:
    def __call__(self, x: int) -> int:
        return 2 * x


# -- registry --------------------------------------------------------------------------------------------------------


def test_a_task_class_is_created_with_its_arguments(registry: PluginRegistry, target: Target) -> None:
    assert registry.task_class(Typed, 3).func(2) == 6
    registry.task_class(Typed, factor=4, name="ns/typed")
    assert target.tasks["typed"].func(1) == 3
    assert target.tasks["ns/typed"].func(1) == 4
    assert registry.records == [
        {"name": "typed", "origin": "task_class", "class": "Typed", "warnings": []},
        {"name": "ns/typed", "origin": "task_class", "class": "Typed", "warnings": []},
    ]


@pytest.mark.parametrize("wrong", [Doubler, 3, "Typed"])
def test_task_class_wants_a_subclass_of_task(registry: PluginRegistry, wrong: Any) -> None:
    with pytest.raises(TypeError, match="subclass of Task"):
        registry.task_class(wrong)


def test_a_callable_is_registered_with_inputs_and_outputs(registry: PluginRegistry, target: Target) -> None:
    registry.register_callable(double, name="ns/double", inputs={"x": 1}, outputs=["scratch.d"])
    registry.register_callable(double)
    registry.register_callable(Doubler())
    assert list(target.tasks) == ["ns/double", "double", "mine_task"]
    made = target.tasks["ns/double"]
    assert isinstance(made, CallablePluginTask)
    assert (made.inputs, made.outputs) == ({"x": 1}, ["scratch.d"])
    assert {record["origin"] for record in registry.records} == {"callable"}
    assert all(record["warnings"] for record in registry.records)
    with pytest.raises(TypeError):
        registry.register_callable(3)  # type: ignore[arg-type]


def test_the_decorator_works_with_and_without_arguments_and_returns_the_function(
    registry: PluginRegistry, target: Target
) -> None:
    assert registry.task(double) is double
    assert registry.task()(double) is double
    assert registry.task(name="ns/double", inputs={"x": 2})(double) is double
    assert list(target.tasks) == ["double", "ns/double"]
    assert target.tasks["ns/double"].inputs == {"x": 2}


def test_add_takes_wrappers_tasks_classes_and_callables(registry: PluginRegistry, target: Target) -> None:
    wrapper = task(double)
    registry.add(wrapper)
    registry.add(wrapper, name="ns/wrapped")
    registry.add(Task(func=double, name="raw"))
    registry.add(Typed)
    registry.add(double, name="added")
    assert [(record["name"], record["origin"]) for record in registry.records] == [
        ("double", "wrapper"),
        ("ns/wrapped", "wrapper"),
        ("raw", "task"),
        ("typed", "task_class"),
        ("added", "callable"),
    ]
    assert wrapper.task.name == "double"
    assert target.tasks["ns/wrapped"].name == "ns/wrapped"
    with pytest.raises(TypeError, match="3"):
        registry.add(3)


def test_what_is_doubtful_about_a_task_becomes_a_warning(registry: PluginRegistry) -> None:
    registry.add(Task(func=double, name=""))
    registry.add(Task(func=3, name="lame"))  # type: ignore[arg-type]
    registry.add(task(double))
    assert registry.registered_names == ["mine_1", "lame", "double"]
    assert any(warning.startswith("mine_1: has no name") for warning in registry.warnings)
    assert any("lame: its func is not callable" in warning for warning in registry.warnings)
    assert not any(warning.startswith("double:") for warning in registry.warnings)


def test_task_info_is_handed_on_with_the_provider_as_origin(registry: PluginRegistry, target: Target) -> None:
    registry.task_info(
        name="double",
        summary="Doubles.",
        inputs=[{"name": "x", "type": "int", "required": True, "constraints": ["x > 0"]}],
        outputs=[TaskIO("result", "int", False)],
        usage="x: 3",
    )
    registry.task_info(name="other", summary="s", inputs=[], outputs=[], tags=["t"], origin="elsewhere")
    assert target.infos == [
        TaskInfo(
            "double",
            "Doubles.",
            [TaskIO("x", "int", True, ["x > 0"])],
            [TaskIO("result", "int", False)],
            "x: 3",
            "mine",
            [],
        ),
        TaskInfo("other", "s", [], [], None, "elsewhere", ["t"]),
    ]


@pytest.mark.parametrize(
    ("given", "lacking"),
    [
        ({}, ["name", "summary", "inputs", "outputs"]),
        ({"name": "x"}, ["summary", "inputs", "outputs"]),
        ({"name": "x", "summary": "", "inputs": [], "outputs": []}, ["summary"]),
        (
            {"name": "x", "summary": "s", "inputs": [{"name": "a"}], "outputs": []},
            ["inputs[0].type", "inputs[0].required"],
        ),
        ({"name": "x", "summary": "s", "inputs": [], "outputs": ["a", {"type": "t", "required": 0}]}, None),
    ],
)
def test_task_info_names_what_it_lacks(
    registry: PluginRegistry, target: Target, given: dict[str, Any], lacking: list[str] | None
) -> None:
    with pytest.raises(MissingTaskMetadataError) as caught:
        registry.task_info(**given)
    assert caught.value.fields == (lacking or ["outputs[0]", "outputs[1].name"])
    assert target.infos == []


# -- entry points ----------------------------------------------------------------------------------------------------

PLUGIN = """
from pyoco.engine.task import Task

class Typed(Task):
    def __init__(self):
        super().__init__(func=self.work, name="acme/typed")
    def work(self, x):
        return x

def register(registry):
    registry.task_class(Typed)
    registry.task(lambda: 1, name="acme/small")
    registry.task_info(name="acme/typed", summary="s", inputs=[], outputs=[], usage="use: acme/typed")

VALUE = 3

def broken(registry):
    registry.task(lambda: 1, name="early")
    raise RuntimeError("no licence")
"""


def install(project: Project, **entry_points: str) -> None:
    project.module("acme_plugin", PLUGIN)
    project.distribution("acme", "1.2", entry_points)


def load(tasks: dict[str, TaskConfig] | None = None, strict: bool = False) -> tuple[TaskLoader, list[str]]:
    said: list[str] = []
    loader = TaskLoader(PyocoConfig(tasks=tasks or {}), strict=strict, say=said.append)
    loader.load()
    return loader, said


def test_installed_plugins_are_listed_without_being_imported(project: Project) -> None:
    project.distribution("acme", "1.2", {"tools": "module_that_does_not_exist:register"})
    assert list_available_plugins() == [
        {
            "name": "tools",
            "version": "1.2",
            "value": "module_that_does_not_exist:register",
            "module": "module_that_does_not_exist",
        }
    ]
    assert [entry.name for entry in iter_entry_points()] == ["tools"]
    assert list(iter_entry_points("another.group")) == []


def test_a_plugin_gives_its_tasks_infos_and_a_report(project: Project) -> None:
    install(project, tools="acme_plugin:register")
    loader, said = load()
    assert set(loader.tasks) == {"acme/typed", "acme/small"}
    assert loader.task_infos["acme/typed"].origin == "tools"
    (report,) = loader.plugin_reports
    assert (report["name"], report["version"], report["module"]) == ("tools", "1.2", "acme_plugin")
    assert [record["name"] for record in report["tasks"]] == ["acme/typed", "acme/small"]
    assert [info["name"] for info in report["task_infos"]] == ["acme/typed"]
    assert len(report["warnings"]) == 1
    assert "error" not in report
    assert said == []


def test_a_broken_plugin_is_reported_and_the_others_still_load(project: Project) -> None:
    install(
        project,
        a_broken="acme_plugin:broken",
        b_missing="nowhere:register",
        c_value="acme_plugin:VALUE",
        d_fine="acme_plugin:register",
    )
    loader, said = load()
    assert "acme/typed" in loader.tasks
    assert [report.get("error") is not None for report in loader.plugin_reports] == [True, True, True, False]
    assert "no licence" in loader.plugin_reports[0]["error"]
    assert [f"'{name}'" in line for name, line in zip(["a_broken", "b_missing", "c_value"], said, strict=True)] == [
        True
    ] * 3


def test_a_broken_plugin_is_raised_in_strict_mode(project: Project) -> None:
    install(project, tools="acme_plugin:broken")
    with pytest.raises(RuntimeError, match="no licence"):
        load(strict=True)


def test_a_flow_file_can_use_and_extend_plugin_tasks(project: Project) -> None:
    install(project, tools="acme_plugin:register")
    mine = TaskConfig(use="acme/typed", inputs={"x": 1})
    loader, _ = load({"mine": mine, "acme/small": TaskConfig(outputs=["scratch.s"])})
    assert loader.tasks["mine"].func(5) == 5
    assert loader.tasks["mine"].inputs == {"x": 1}
    assert loader.tasks["acme/small"].outputs == ["scratch.s"]
    assert loader.task_infos["mine"].name == "mine"
    assert loader.task_infos["acme/typed"].name == "acme/typed"


def test_lint_names_errors_warnings_and_missing_usage(project: Project) -> None:
    install(project, a_broken="acme_plugin:broken", tools="acme_plugin:register")
    issues = plugin_issues(load()[0].plugin_reports)
    assert any(issue.startswith("a_broken: no licence") for issue in issues)
    assert any(issue.startswith("tools: acme/small: is a bare callable") for issue in issues)
    assert any(issue.startswith("tools: acme/small: has no usage text") for issue in issues)
    assert not any("acme/typed" in issue for issue in issues)
