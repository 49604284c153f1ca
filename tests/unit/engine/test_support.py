"""Descriptions of tasks and of the file format for language models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pyoco.engine import support
from pyoco.engine.builtin_tasks import BUILTIN_TASKS
from pyoco.engine.document import PyocoConfig
from pyoco.engine.errors import InvalidFilterError, InvalidFormatError, OutputWriteError, TaskNotFoundError
from pyoco.engine.graph import build_flow_from_graph
from pyoco.engine.support.guide import TEMPLATE
from pyoco.engine.task import Task
from pyoco.engine.task_info import SupportFilters

if TYPE_CHECKING:
    from conftest import Project

CODE = '''
from pyoco.engine.task import BaseTask, Task

class Based(BaseTask):
    """Does based work."""
    def run(self, ctx):
        return 1

def load(ctx, path: str, limit: int = 10, *rest, **others) -> list[str]:
    """Reads lines
    from a file.

    Details follow."""

def silent(x): ...

class Typed(Task):
    """Does typed work."""
    def __init__(self):
        super().__init__(func=self.work, name="acme/typed")
    def work(self, q):
        return q

def register(registry):
    registry.task_class(Typed)
    registry.task(silent, name="acme/told")
    registry.task_info(
        name="acme/told", summary="Told | all", usage="use: acme/told", tags=["t1", "t2"],
        inputs=[{"name": "x", "type": "int", "required": True, "constraints": ["x > 1"]}],
        outputs=[{"name": "o", "type": "str", "required": False}],
    )
'''
FLOW = """
flow: {graph: mine >> quiet}
tasks:
  mine: {callable: "support_code:load", inputs: {path: notes.txt}, outputs: [scratch.lines]}
  quiet: {callable: "support_code:silent"}
"""


@pytest.fixture
def path(project: Project) -> str:
    project.module("support_code", CODE)
    project.distribution("acme", "1.0", {"acme": "support_code:register"})
    return project.flow_file(FLOW)


def as_json(kind: str, path: str, filters: Any = None) -> dict[str, Any]:
    result = json.loads(support.build(kind, path, format="json", filters=filters))
    assert isinstance(result, dict)
    return result


def names(description: dict[str, Any]) -> list[str]:
    return [task["name"] for group in description["groups"] for task in group["tasks"]]


def test_tasks_are_grouped_by_origin_in_a_fixed_order(path: str) -> None:
    description = as_json("tasks", path)
    assert description["kind"] == "tasks"
    assert [group["origin"] for group in description["groups"]] == ["acme", "flow.yaml"]
    assert names(description) == ["acme/told", "acme/typed", "mine", "quiet"]


def test_a_task_info_is_shown_as_it_was_given(path: str) -> None:
    description = as_json("task", path, filters=SupportFilters(name=["acme/told"]))
    assert description["groups"][0]["tasks"] == [
        {
            "name": "acme/told",
            "summary": "Told | all",
            "inputs": [{"name": "x", "type": "int", "required": True, "constraints": ["x > 1"]}],
            "outputs": [{"name": "o", "type": "str", "required": False, "constraints": []}],
            "origin": "acme",
            "tags": ["t1", "t2"],
        }
    ]


def test_without_task_info_signature_and_docstring_speak(path: str) -> None:
    (task,) = as_json("task", path, filters={"name": ["mine"]})["groups"][0]["tasks"]
    assert task["summary"] == "Reads lines from a file."
    assert task["inputs"] == [
        {"name": "path", "type": "str", "required": False, "constraints": ["already set"]},
        {"name": "limit", "type": "int", "required": False, "constraints": ["default: 10"]},
    ]
    assert [(output["name"], output["type"]) for output in task["outputs"]] == [
        ("result", "list[str]"),
        ("scratch.lines", "list[str]"),
    ]


def test_without_any_docstring_the_code_is_named(path: str) -> None:
    (task,) = as_json("task", path, filters={"name": ["quiet"]})["groups"][0]["tasks"]
    assert task["summary"] == "Runs support_code.silent."
    assert task["inputs"] == [{"name": "x", "type": "any", "required": True, "constraints": []}]


def test_a_method_is_described_by_its_class_and_not_by_ours(project: Project, path: str) -> None:
    (typed,) = as_json("task", path, filters={"name": ["acme/typed"]})["groups"][0]["tasks"]
    assert typed["summary"] == "Does typed work."
    text = "tasks: {based: {callable: 'support_code:Based'}}"
    (based,) = as_json("task", project.flow_file(text), filters={"name": ["based"]})["groups"][0]["tasks"]
    assert based["summary"] == "Does based work."


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (SupportFilters(name=["mine", "nobody"]), ["mine"]),
        (SupportFilters(origin=["acme"]), ["acme/told", "acme/typed"]),
        (SupportFilters(tag=["t2", "t9"]), ["acme/told"]),
        (SupportFilters(origin=["acme"], tag=["t1"]), ["acme/told"]),
        ({"origin": ["flow.yaml"]}, ["mine", "quiet"]),
    ],
)
def test_filters_choose_tasks(path: str, filters: Any, expected: list[str]) -> None:
    assert names(as_json("tasks", path, filters=filters)) == expected


@pytest.mark.parametrize("filters", [{"name": ["nobody"]}, {"tag": ["t9"]}, {"name": ["mine"], "tag": ["t1"]}])
def test_no_match_is_an_error_that_repeats_the_filter(path: str, filters: dict[str, list[str]]) -> None:
    with pytest.raises(TaskNotFoundError) as caught:
        support.build("tasks", path, filters=filters)
    assert all(values[0] in str(caught.value) for values in filters.values())


def test_a_file_without_tasks_has_nothing_to_describe(project: Project) -> None:
    with pytest.raises(TaskNotFoundError):
        support.build("tasks", project.flow_file("flow: {graph: a}"))


@pytest.mark.parametrize("filters", [{"name": []}, {"name": [""]}, {"origin": [3]}, {"nam": ["x"]}])
def test_a_malformed_filter_is_refused(path: str, filters: dict[str, Any]) -> None:
    with pytest.raises(InvalidFilterError):
        support.build("tasks", path, filters=filters)


def test_one_task_needs_a_name(path: str) -> None:
    with pytest.raises(InvalidFilterError, match="name"):
        support.build("task", path)


def test_unknown_formats_and_kinds_are_refused(path: str) -> None:
    with pytest.raises(InvalidFormatError, match="xml"):
        support.build("tasks", path, format="xml")
    with pytest.raises(ValueError, match="everything"):
        support.build("everything", path)


@pytest.mark.parametrize("name", sorted(BUILTIN_TASKS))
def test_built_in_tasks_are_described_when_asked_for(path: str, name: str) -> None:
    assert name not in names(as_json("tasks", path))
    (group,) = as_json("task", path, filters={"name": [name]})["groups"]
    assert group["origin"] == "pyoco"


def test_the_loader_is_not_heard_in_a_description(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.module("support_code", CODE)
    text = "tasks: {a: {callable: 'nowhere:f'}, b: {callable: 'support_code:load'}}"
    assert names(as_json("tasks", project.flow_file(text))) == ["b"]
    assert capsys.readouterr().out == ""


def test_prompt_and_markdown_tell_the_same_facts(path: str) -> None:
    for format in ("prompt", "md"):
        text = support.build("tasks", path, format=format)
        for fact in ("acme/told", "use: acme/told", "x > 1", "t1, t2", "Reads lines from a file.", "list[str]"):
            assert fact in text


def test_a_bar_does_not_break_a_markdown_table(project: Project) -> None:
    project.module("bars", "def f(x: 'int | str', y: 'a\\n|b' = '|'): ...")
    text = support.build("tasks", project.flow_file("tasks: {a: {callable: 'bars:f'}}"), format="md")
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert {row.replace("\\|", "").count("|") for row in rows} == {5}


def test_the_result_is_also_written_to_a_file(path: str, tmp_path: Path) -> None:
    target = tmp_path / "new" / "guide.txt"
    text = support.build("tasks", path, output_path=str(target))
    assert target.read_text(encoding="utf-8") == text
    with pytest.raises(OutputWriteError, match="new"):
        support.build("tasks", path, output_path=str(target.parent))


@pytest.mark.parametrize("format", ["prompt", "json", "md"])
def test_the_guide_needs_no_file(format: str) -> None:
    text = support.build("guide", "there/is/no/such.yaml", format=format)
    assert "pyoco/approval" in text
    if format == "json":
        assert list(json.loads(text)) == ["kind", "template", "graph_syntax", "input_refs"]


def test_the_example_of_the_guide_builds_as_it_stands() -> None:
    config = PyocoConfig.from_text(TEMPLATE)
    assert config.flow is not None
    assert config.warnings == []
    tasks = {name: Task(func=print, name=name) for name in config.tasks}
    flow = build_flow_from_graph(graph=config.flow.graph, tasks=tasks, pipes=config.pipes)
    assert {task.name for task in flow.tasks} == set(config.tasks)


def test_the_service_can_be_called_directly(path: str) -> None:
    info = support.SupportInfoService().describe("tasks", path, "prompt", {"name": ["mine"]})
    assert (info.kind, info.format, info.filters.name) == ("tasks", "prompt", ["mine"])
    assert "mine" in info.content
    assert (
        support.SupportInfoService().build(kind="tasks", config_path=path, filters={"name": ["mine"]}) == info.content
    )
