"""Where the tasks of a flow.yaml come from, which of them wins, and what is said when one is missing."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import pytest

from pyoco.engine.builtin_tasks import BUILTIN_TASKS
from pyoco.engine.document import PyocoConfig, TaskConfig
from pyoco.engine.loader import TaskLoader

if TYPE_CHECKING:
    from conftest import Project

CODE = """
from pyoco.engine.dsl import task
from pyoco.engine.task import BaseTask, Task

@task(retries=3, inputs={"q": 1}, outputs=["scratch.z"])
def decorated(x):
    return x

def plain(x, y=2):
    return x

raw = Task(func=plain, name="raw_name", inputs={"a": 1}, timeout_sec=5)
other_name = decorated
number = 5

class Service:
    def run(self, x):
        return (type(self).__name__, x)

    @task(retries=4)
    def stepped(self, x):
        return (type(self).__name__, x)

    @staticmethod
    def static(x):
        return x

    @classmethod
    def made(cls, x):
        return (cls.__name__, x)

    class Inner:
        def run(self, x):
            return ("inner", x)

class Needy:
    def __init__(self, wanted):
        self.wanted = wanted

    def run(self):
        return self.wanted

class Based(BaseTask):
    def run(self, ctx):
        return "based"

class Unfinished(BaseTask):
    pass

class Typed(Task):
    def __init__(self):
        super().__init__(func=self.work, name="typed", retries=2)

    def work(self):
        return "typed"

instance = Service()
based = Based()
"""


@pytest.fixture
def said() -> list[str]:
    return []


def load(
    said: list[str],
    tasks: dict[str, Any],
    *,
    strict: bool = False,
    modules: str = "",
    env: pytest.MonkeyPatch | None = None,
) -> TaskLoader:
    if env is not None:
        env.setenv("PYOCO_DISCOVERY_MODULES", modules)
    loader = TaskLoader(PyocoConfig(version=1, flow=None, tasks=tasks), strict=strict, say=said.append)
    loader.load()
    return loader


# -- callable --------------------------------------------------------------------------------------------------------


def test_a_callable_becomes_a_task_with_the_inputs_and_outputs_of_the_file(project: Project, said: list[str]) -> None:
    project.module("usercode", CODE)
    loader = load(said, {"a": TaskConfig(callable="usercode:plain", inputs={"x": 1}, outputs=["scratch.q"])})
    task = loader.tasks["a"]
    assert (task.name, task.inputs, task.outputs) == ("a", {"x": 1}, ["scratch.q"])
    assert task.func(7) == 7
    assert loader.get_task("a") is task
    assert loader.get_task("b") is None
    assert said == []


def test_a_decorated_task_keeps_what_its_code_says_under_what_the_file_says(project: Project, said: list[str]) -> None:
    project.module("usercode", CODE)
    declared = TaskConfig(
        callable="usercode:decorated", inputs={"x": 1}, outputs=["scratch.q"], policies={"timeout_sec": 9.0}
    )
    task = load(said, {"a": declared}).tasks["a"]
    assert task.inputs == {"q": 1, "x": 1}
    assert task.outputs == ["scratch.z", "scratch.q"]
    assert (task.retries, task.timeout_sec) == (3, 9.0)


def test_loading_leaves_the_task_of_the_module_as_it_was(project: Project, said: list[str]) -> None:
    project.module("usercode", CODE)
    load(said, {"a": TaskConfig(callable="usercode:decorated", inputs={"x": 1}, policies={"retries": 0})})
    original = importlib.import_module("usercode").decorated.task
    assert (original.inputs, original.retries) == ({"q": 1}, 3)


@pytest.mark.parametrize(
    ("path", "arguments", "result"),
    [
        ("usercode:Service.run", (1,), ("Service", 1)),
        ("usercode:Service.stepped", (1,), ("Service", 1)),
        ("usercode:Service.static", (1,), 1),
        ("usercode:Service.made", (1,), ("Service", 1)),
        ("usercode:Service.Inner.run", (1,), ("inner", 1)),
        ("usercode:instance.run", (1,), ("Service", 1)),
        ("usercode:Based", (None,), "based"),
        ("usercode:Based.run", (None,), "based"),
        ("usercode:based", (None,), "based"),
        ("usercode:Typed", (), "typed"),
        ("usercode:raw", (4,), 4),
    ],
)
def test_methods_and_classes_can_be_callables(
    project: Project, said: list[str], path: str, arguments: tuple[Any, ...], result: Any
) -> None:
    project.module("usercode", CODE)
    task = load(said, {"a": TaskConfig(callable=path)}).tasks["a"]
    assert task.func(*arguments) == result
    assert task.name == "a"


def test_policies_of_a_decorated_method_and_of_a_task_class_are_kept(project: Project, said: list[str]) -> None:
    project.module("usercode", CODE)
    declared = {"m": TaskConfig(callable="usercode:Service.stepped"), "t": TaskConfig(callable="usercode:Typed")}
    tasks = load(said, declared).tasks
    assert (tasks["m"].retries, tasks["t"].retries) == (4, 2)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("nowhere.at.all:f", "cannot import module 'nowhere.at.all'"),
        ("broken:f", "No module named 'not_installed'"),
        ("usercode:decoratd", "did you mean 'decorated'"),
        ("usercode:Service.walk", "there is no 'walk'"),
        ("usercode:number", "of type int, which cannot be called"),
        ("usercode:Needy.run", "cannot create a Needy without arguments"),
        ("usercode:Unfinished", "cannot create a Unfinished"),
    ],
)
def test_a_callable_that_cannot_be_had_is_dropped_with_one_line(
    project: Project, said: list[str], path: str, reason: str
) -> None:
    project.module("usercode", CODE)
    project.module("broken", "import not_installed")
    loader = load(said, {"bad": TaskConfig(callable=path), "good": TaskConfig(callable="usercode:plain")})
    assert list(loader.tasks) == ["good"]
    assert reason in loader.missing["bad"]
    assert said == loader.messages
    (line,) = said
    assert "'bad'" in line
    assert reason in line


def test_lines_go_to_stdout_unless_somebody_else_listens(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    TaskLoader(PyocoConfig(tasks={"a": TaskConfig(callable="nowhere:f")})).load()
    assert "cannot import module 'nowhere'" in capsys.readouterr().out


def test_other_errors_of_a_module_are_passed_on(project: Project, said: list[str]) -> None:
    project.module("explosive", "raise RuntimeError('boom')")
    with pytest.raises(RuntimeError, match="boom"):
        load(said, {"a": TaskConfig(callable="explosive:f")})


@pytest.mark.parametrize("path", ["plain", "usercode:a:b", ":f", ".code:plain"])
def test_a_malformed_callable_is_a_value_error(said: list[str], path: str) -> None:
    with pytest.raises(ValueError, match=r"module\.path:name"):
        load(said, {"a": TaskConfig(callable=path)})


# -- discovery modules -----------------------------------------------------------------------------------------------


def test_discovery_modules_give_their_tasks_by_attribute_name(project: Project, said: list[str]) -> None:
    project.module("usercode", CODE)
    project.module("more", "from pyoco.engine.dsl import task\n@task\ndef extra(): ...")
    project.discover(" usercode , more")
    loader = load(said, {})
    assert set(loader.tasks) == {"decorated", "other_name", "raw", "extra"}
    assert loader.tasks["raw"].name == "raw_name"
    assert loader.tasks["other_name"] is loader.tasks["decorated"]
    assert loader.origins["extra"] == "more"
    assert said == []


def test_a_discovery_module_that_cannot_be_imported_is_only_a_warning(project: Project, said: list[str]) -> None:
    project.module("usercode", CODE)
    project.discover("nowhere usercode")
    loader = load(said, {}, strict=True)
    assert "decorated" in loader.tasks
    (line,) = said
    assert "'nowhere'" in line


def test_other_errors_of_a_discovery_module_are_passed_on(project: Project, said: list[str]) -> None:
    project.module("explosive", "raise RuntimeError('boom')")
    project.discover("explosive")
    with pytest.raises(RuntimeError, match="boom"):
        load(said, {})


def test_of_two_discovered_tasks_the_later_wins_with_a_warning(project: Project, said: list[str]) -> None:
    project.module("one", "from pyoco.engine.dsl import task\n@task\ndef same(): return 1")
    project.module("two", "from pyoco.engine.dsl import task\n@task\ndef same(): return 2")
    project.discover("one two")
    loader = load(said, {})
    assert loader.tasks["same"].func() == 2
    (line,) = said
    assert "'same'" in line
    with pytest.raises(ValueError, match="'same'"):
        load(said, {}, strict=True)


def test_a_module_that_imports_the_task_of_another_is_no_conflict(project: Project, said: list[str]) -> None:
    project.module("one", "from pyoco.engine.dsl import task\n@task\ndef same(): return 1")
    project.module("two", "from one import same")
    project.discover("one two")
    assert load(said, {}, strict=True).tasks["same"].func() == 1
    assert said == []


def test_a_callable_beats_discovered_tasks_of_the_same_name(project: Project, said: list[str]) -> None:
    project.module("usercode", CODE)
    project.discover("usercode")
    tasks = {"decorated": TaskConfig(callable="usercode:plain")}
    loader = load(said, tasks, strict=True)
    assert loader.tasks["decorated"].func.__name__ == "plain"
    assert said == []


def test_a_callable_that_fails_is_not_replaced_by_a_namesake(project: Project, said: list[str]) -> None:
    project.module("usercode", CODE)
    project.discover("usercode")
    loader = load(said, {"decorated": TaskConfig(callable="nowhere:f")})
    assert "decorated" not in loader.tasks
    assert "decorated" in loader.missing


def test_an_entry_without_callable_and_use_adds_to_the_discovered_task(project: Project, said: list[str]) -> None:
    project.module("usercode", CODE)
    project.discover("usercode")
    declared = {"decorated": TaskConfig(inputs={"q": 9}, outputs=["scratch.o"], policies={"retries": 1})}
    for _ in range(2):  # a second loader must not find what the first one added
        task = load(said, declared).tasks["decorated"]
        assert (task.inputs, task.outputs, task.retries) == ({"q": 9}, ["scratch.z", "scratch.o"], 1)


def test_an_entry_that_nobody_provides_does_nothing_but_tells_why(project: Project, said: list[str]) -> None:
    loader = load(said, {"ghost": TaskConfig(inputs={"x": 1})})
    assert loader.tasks == {}
    assert "neither 'callable' nor 'use'" in loader.missing["ghost"]
    assert said == []


# -- use -------------------------------------------------------------------------------------------------------------


def test_use_copies_a_task_and_adds_to_it(project: Project, said: list[str]) -> None:
    project.module("usercode", CODE)
    project.discover("usercode")
    declared = TaskConfig(use="decorated", inputs={"q": 2, "x": 3}, outputs=["scratch.o"], policies={"retries": 7})
    loader = load(said, {"mine": declared})
    task = loader.tasks["mine"]
    assert (task.name, task.inputs, task.outputs) == ("mine", {"q": 2, "x": 3}, ["scratch.z", "scratch.o"])
    assert task.retries == 7
    assert loader.tasks["decorated"].inputs == {"q": 1}
    assert loader.tasks["decorated"].retries == 3


@pytest.mark.parametrize("order", [["a", "b", "c"], ["c", "b", "a"], ["b", "c", "a"]])
def test_use_may_build_on_use_in_any_order(project: Project, said: list[str], order: list[str]) -> None:
    project.module("usercode", CODE)
    entries = {
        "a": TaskConfig(use="b", inputs={"from_a": 1}),
        "b": TaskConfig(use="c", inputs={"from_b": 1}),
        "c": TaskConfig(callable="usercode:plain", inputs={"from_c": 1}),
    }
    loader = load(said, {name: entries[name] for name in order})
    assert loader.tasks["a"].inputs == {"from_c": 1, "from_b": 1, "from_a": 1}
    assert loader.tasks["b"].inputs == {"from_c": 1, "from_b": 1}


def test_use_sees_what_the_file_adds_to_a_discovered_task(project: Project, said: list[str]) -> None:
    project.module("usercode", CODE)
    project.discover("usercode")
    entries = {"mine": TaskConfig(use="decorated"), "decorated": TaskConfig(inputs={"added": 1})}
    assert load(said, entries).tasks["mine"].inputs == {"q": 1, "added": 1}


def test_an_entry_may_use_the_discovered_task_of_its_own_name(project: Project, said: list[str]) -> None:
    project.module("usercode", CODE)
    project.discover("usercode")
    entries = {"decorated": TaskConfig(use="decorated", inputs={"x": 1})}
    assert load(said, entries).tasks["decorated"].inputs == {"q": 1, "x": 1}


def test_use_in_a_circle_is_a_value_error(said: list[str]) -> None:
    entries = {"a": TaskConfig(use="b"), "b": TaskConfig(use="c"), "c": TaskConfig(use="b")}
    with pytest.raises(ValueError, match="a -> b -> c -> b"):
        load(said, entries)


def test_use_of_an_unknown_task_names_both(project: Project, said: list[str]) -> None:
    with pytest.raises(ValueError, match=r"tasks\.a.*'pyoco/aproval'.*did you mean 'pyoco/approval'"):
        load(said, {"a": TaskConfig(use="pyoco/aproval")})


def test_use_of_a_task_that_could_not_be_imported_tells_why(project: Project, said: list[str]) -> None:
    with pytest.raises(ValueError, match=r"tasks\.a.*'b'.*cannot import module 'nowhere'"):
        load(said, {"a": TaskConfig(use="b"), "b": TaskConfig(callable="nowhere:f")})


@pytest.mark.parametrize("name", sorted(BUILTIN_TASKS))
def test_built_in_tasks_can_be_used(said: list[str], name: str) -> None:
    loader = load(said, {"gate": TaskConfig(use=name, inputs={"prompt": "go?"})})
    assert list(loader.tasks) == ["gate"]
    assert loader.tasks["gate"].func is BUILTIN_TASKS[name].func
    assert BUILTIN_TASKS[name].inputs == {}


def test_callable_and_use_together_are_a_value_error(said: list[str]) -> None:
    with pytest.raises(ValueError, match=r"tasks\.a.*exclude"):
        load(said, {"a": TaskConfig(callable="m:f", use="x")})


# -- shapes of the config --------------------------------------------------------------------------------------------


def test_entries_and_config_may_be_plain_mappings(project: Project, said: list[str]) -> None:
    project.module("usercode", CODE)
    entry = {"callable": "usercode:plain", "inputs": {"x": 1}, "retries": 2}
    loader = TaskLoader({"tasks": {"a": entry}}, say=said.append)
    loader.load()
    assert (loader.tasks["a"].inputs, loader.tasks["a"].retries) == ({"x": 1}, 2)
    assert load(said, {"a": entry}).tasks["a"].retries == 2


def test_a_wrong_policy_in_a_plain_mapping_names_the_task(project: Project, said: list[str]) -> None:
    project.module("usercode", CODE)
    with pytest.raises(ValueError, match=r"tasks\.a: retries"):
        load(said, {"a": {"callable": "usercode:plain", "retries": -1}})


def test_an_entry_of_another_type_is_a_type_error(said: list[str]) -> None:
    with pytest.raises(TypeError, match=r"tasks\.a"):
        load(said, {"a": "usercode:plain"})


def test_a_second_load_starts_afresh(project: Project, said: list[str]) -> None:
    project.module("usercode", CODE)
    loader = TaskLoader(PyocoConfig(tasks={"a": TaskConfig(callable="usercode:decorated", outputs=["scratch.q"])}))
    loader.load()
    loader.load()
    assert loader.tasks["a"].outputs == ["scratch.z", "scratch.q"]
