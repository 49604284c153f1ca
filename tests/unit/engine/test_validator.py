"""What `check` says about a flow before it runs."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from pyoco.engine.document import FlowConfig, PyocoConfig, TaskConfig
from pyoco.engine.dsl import switch, task
from pyoco.engine.flow import Flow
from pyoco.engine.graph import build_flow_from_graph
from pyoco.engine.nodes import CaseNode, SubFlowNode
from pyoco.engine.task import Task
from pyoco.engine.validator import FlowValidator, ValidationReport, check_flow


@task
def a() -> int:
    return 1


@task
def b() -> int:
    return 2


def check(
    graph: str,
    functions: dict[str, Any],
    defaults: dict[str, Any] | None = None,
    *,
    dry_run: bool = False,
    **entries: TaskConfig,
) -> ValidationReport:
    """Checks a graph over declared tasks, each made of its function and the inputs of its entry."""
    declared = {name: entries.get(name, TaskConfig(callable=f"m:{name}")) for name in functions}
    tasks = {
        name: Task(func=function, name=name, inputs=declared[name].inputs, outputs=declared[name].outputs)
        for name, function in functions.items()
    }
    config = PyocoConfig(flow=FlowConfig(graph, defaults or {}), tasks=declared)
    return check_flow(config, tasks, build_flow_from_graph(graph=graph, tasks=tasks), dry_run)


def nothing() -> None: ...


def takes_x(x: int) -> int:
    return x


# -- structure -------------------------------------------------------------------------------------------------------


def test_a_plain_flow_is_ok() -> None:
    report = FlowValidator(Flow() >> a >> (a & b)).validate()
    assert report.to_dict() == {"status": "ok", "warnings": [], "errors": []}


def test_until_without_max_iter_is_a_warning() -> None:
    report = FlowValidator(Flow() >> a >> (b % "$ctx.params.x") >> (b % ("$ctx.params.x", 3))).validate()
    (warning,) = report.warnings
    assert warning.startswith("flow.step[1]: until has no max_iter")
    assert report.status == "warning"


def test_switch_without_default_is_a_warning() -> None:
    report = FlowValidator(Flow() >> switch("$ctx.params.x")["k" >> a] >> switch("$ctx.params.x")["*" >> a]).validate()
    (warning,) = report.warnings
    assert warning.startswith("flow.step[0]: switch has no default")


def test_a_case_value_given_twice_is_an_error() -> None:
    flow = Flow() >> switch("$ctx.params.x")["k" >> a, "k" >> b, 1 >> a, True >> b, "*" >> a]
    report = FlowValidator(flow).validate()
    assert report.status == "error"
    assert [error.split(":")[0] for error in report.errors] == ["flow.step[0].case[1]", "flow.step[0].case[3]"]
    assert report.warnings == []


def test_a_second_default_is_an_error() -> None:
    report = FlowValidator(Flow() >> switch("$ctx.params.x")["*" >> a, "*" >> b]).validate()
    (error,) = report.errors
    assert error.startswith("flow.step[0].case[1]: ")
    assert "default" in error


def test_an_ordinary_case_whose_key_is_a_star_is_not_the_default() -> None:
    star = CaseNode(value="*", target=SubFlowNode([]), is_default=False)
    report = FlowValidator(Flow() >> switch("$ctx.params.x")[star]).validate()
    assert "no default" in report.warnings[0]


def test_problems_are_found_at_any_depth_and_named_by_their_path() -> None:
    inner = switch("$ctx.params.x")["k" >> (a % "$ctx.params.y")]
    flow = Flow() >> a >> (inner["$ctx.params.z as item"])[2] >> [a, (b >> (b % "$ctx.params.y"))]
    assert [warning.split(": ")[0] for warning in FlowValidator(flow).validate().warnings] == [
        "flow.step[1].repeat.step[0].foreach.step[0]",
        "flow.step[1].repeat.step[0].foreach.step[0].case[0].target.step[0]",
        "flow.step[2].branch[1].step[1]",
    ]


# -- check_flow ------------------------------------------------------------------------------------------------------


def test_only_a_dry_run_speaks_about_max_iter() -> None:
    graph = "until(cond=x) { f } >> switch(on=x) { k: f; }"
    plain = check(graph, {"f": nothing})
    dry = check(graph, {"f": nothing}, dry_run=True)
    assert [warning.split(": ")[0] for warning in plain.warnings] == ["flow.step[1]"]
    assert [warning.split(": ")[0] for warning in dry.warnings] == ["flow.step[0]", "flow.step[1]"]


def test_warnings_of_file_and_graph_come_along() -> None:
    flow = Flow() >> a
    flow.build_warnings.append("the graph is odd")
    config = PyocoConfig(flow=FlowConfig("a"), tasks={"a": TaskConfig()}, warnings=["the file is odd"])
    assert check_flow(config, {"a": a.task}, flow).warnings == ["the file is odd", "the graph is odd"]


def test_a_declared_task_that_does_not_run_is_orphaned() -> None:
    report = check("f", {"f": nothing, "lost": nothing})
    (warning,) = report.warnings
    assert "'lost'" in warning
    assert "orphaned" in warning


def test_a_declared_task_that_could_not_be_loaded_and_is_not_used_is_orphaned_too() -> None:
    config = PyocoConfig(flow=FlowConfig("a"), tasks={"a": TaskConfig(), "lost": TaskConfig(callable="m:f")})
    (warning,) = check_flow(config, {"a": a.task}, Flow() >> a).warnings
    assert "'lost'" in warning


def test_of_a_task_that_stands_beside_a_loop_only_the_graph_speaks() -> None:
    # in the older dialect such a task is part of the flow and never runs
    report = check("flow >> f[2]", {"f": nothing, "beside": nothing})
    (warning,) = report.warnings
    assert "beside" in warning
    assert "flow >>" in warning


def test_a_task_that_runs_under_another_name_is_not_orphaned() -> None:
    assert check("copy: f >> again: f", {"f": nothing}).warnings == []


def test_a_task_that_others_build_on_is_not_orphaned() -> None:
    assert check("mine", {"base": nothing, "mine": nothing}, mine=TaskConfig(use="base")).warnings == []


@pytest.mark.parametrize(
    ("graph", "defaults", "entry"),
    [
        ("f", {"x": 1}, TaskConfig()),
        ("f", {}, TaskConfig(inputs={"x": "$env.X"})),
        ("x >> f", {}, TaskConfig()),
        ("foreach(over=params.many, item=x) { f }", {}, TaskConfig()),
        ("foreach(over=params.many, item=it, index=x) { repeat(count=2) { f } }", {}, TaskConfig()),
    ],
    ids=["defaults", "inputs", "result of a node", "loop variable", "loop index"],
)
def test_an_argument_with_a_source_is_fine(graph: str, defaults: dict[str, Any], entry: TaskConfig) -> None:
    functions = {"f": takes_x, **({"x": nothing} if "x >>" in graph else {})}
    assert check(graph, functions, defaults, f=entry).warnings == []


def test_an_argument_fed_by_the_outputs_of_another_task_is_fine() -> None:
    report = check("save >> f", {"save": nothing, "f": takes_x}, save=TaskConfig(outputs=["params.x"]))
    assert report.warnings == []


def test_an_argument_without_a_source_is_a_warning() -> None:
    (warning,) = check("f", {"f": takes_x}).warnings
    assert "'f'" in warning
    assert "'x'" in warning


def test_a_node_cannot_feed_itself() -> None:
    assert len(check("x", {"x": takes_x}).warnings) == 1


def test_a_loop_variable_counts_only_where_every_mention_can_see_it() -> None:
    (warning,) = check("f >> foreach(over=params.many, item=x) { f }", {"f": takes_x}).warnings
    assert "'x'" in warning


def test_only_arguments_that_must_be_given_count() -> None:
    def function(ctx: Any, y: int = 2, *rest: int, z: int = 3, **others: int) -> None: ...

    assert check("f", {"f": function}).warnings == []


def test_an_input_that_the_function_does_not_take_is_a_warning() -> None:
    def takes_any(**others: int) -> None: ...

    entry = TaskConfig(inputs={"extra": 1})
    (warning,) = check("f", {"f": nothing}, f=entry).warnings
    assert "'extra'" in warning
    assert check("f", {"f": takes_any}, f=entry).warnings == []


def test_callables_without_a_signature_are_left_alone() -> None:
    assert check("f", {"f": functools.partial(dict.fromkeys, ())}).status == "ok"
    assert check("f", {"f": type("Odd", (), {"__signature__": 3, "__call__": nothing})()}).status == "ok"


def test_a_flow_that_can_never_start_is_an_error() -> None:
    first, second = Task(func=nothing, name="first"), Task(func=nothing, name="second")
    flow = Flow()
    for member in (first, second):
        flow.add_task(member)
    first.dependencies.add(second)
    second.dependencies.add(first)
    config = PyocoConfig(flow=FlowConfig("…"), tasks={"first": TaskConfig(), "second": TaskConfig()})
    report = check_flow(config, {"first": first, "second": second}, flow)
    assert report.status == "error"
    assert report.warnings == []


def test_environment_variables_that_a_file_uses_but_does_not_expose_are_warned_of() -> None:
    graph = "until(cond={{ $env.DONE == 'yes' }}, max_iter=2){ a }"
    tasks = {"a": Task(func=takes_x, name="a", inputs={"x": "$env.TOKEN"})}
    config = PyocoConfig(flow=FlowConfig(graph), tasks={"a": TaskConfig(callable="m:a")})
    flow = build_flow_from_graph(graph=graph, tasks=tasks)
    config.runtime.expose_env = ["TOKEN"]
    assert [text for text in check_flow(config, tasks, flow).warnings if "expose_env" in text] == [
        "$env.DONE is used, but runtime.expose_env does not list DONE"
    ]
    config.runtime.expose_env = []
    assert not [text for text in check_flow(config, tasks, flow).warnings if "expose_env" in text]
