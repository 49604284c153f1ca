"""Graphs in the older operator dialect, which used to be run as Python; the outcomes were observed there."""

from __future__ import annotations

from typing import Any

import pytest

from pyoco.engine.engine import Engine
from pyoco.engine.errors import GraphReferenceError, GraphValidationError
from pyoco.engine.flow import Flow
from pyoco.engine.graph import build_flow_from_graph
from pyoco.engine.plan import make_plan
from pyoco.engine.records import RunContext, TaskState
from pyoco.engine.task import Task
from pyoco.engine.trace import SilentTrace


def build(graph: str, calls: list[str] | None = None, names: str = "abcd") -> Flow:
    def recorder(name: str) -> Any:
        return lambda: (calls if calls is not None else []).append(name)

    return build_flow_from_graph(graph=graph, tasks={name: Task(func=recorder(name), name=name) for name in names})


def run(graph: str, **params: Any) -> tuple[list[str], str]:
    """The calls in order, and the names of the tasks that stayed PENDING."""
    calls: list[str] = []
    record = RunContext()
    Engine(SilentTrace()).run(build(graph, calls), params, record)
    return calls, "".join(sorted(name for name, state in record.tasks.items() if state is TaskState.PENDING))


def edges(flow: Flow) -> set[str]:
    return {source.name + target.name for source, target in flow.edges}


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ("a >> b\nb >> c\n(a & c) >> d", "ab bc ad cd"),
        ("a >> b; c >> d", "ab cd"),
        ("a; b", ""),
        ("a & b", ""),
        ("(a & b) >> (c & d)", "ac ad bc bd"),
        ("(a & b) >> c >> d", "ac bc cd"),
        ("a >> (b & c)", "ab ac"),
        ("[a, b] >> c", "ac bc"),
        ("a() >> b()\nc >> d()", "ab cd"),
        ("(a, b) >> c", "ac bc"),
        ("(a & b & c) >> d", "ad bd cd"),
        ("(a >> b\n >> c)", "ab bc"),
        ("(a >> b) & c", "ab"),
        ("((a >> b) & c) >> d", "ab bd cd"),
        ("a[3]", ""),
        ("a >> b[2]", "ab"),
        ("(a >> b)[2] >> c", "ab bc"),
        ('a >> b % "True"', "ab"),
        ('switch("$ctx.params.m")["x" >> a, "*" >> (b >> c)]', "bc"),
        ('a >> switch("1")["x" >> b, "*" >> c] >> d', "ab ac bd cd"),
    ],
)
def test_statements_draw_edges_and_every_task_runs_once(graph: str, expected: str) -> None:
    assert edges(build(graph)) == set(expected.split())
    calls, pending = run(graph)
    assert sorted(calls) == list("abcd")
    assert pending == ""
    for before, after in expected.split():
        assert calls.index(before) < calls.index(after)


def test_a_bar_lets_the_next_task_start_after_any() -> None:
    assert {task.name for task in build("(a | b) >> (c & d)").any_joins} == {"c", "d"}
    assert {task.name for task in build("((a | b)) >> c\nd >> c").any_joins} == {"c"}
    assert build("(a & b) >> (c | d)").any_joins == set()


def test_a_bar_changes_nothing_about_the_task_for_other_flows() -> None:
    flow = build("(a | b) >> c")
    assert {task.trigger_policy for task in flow.tasks} == {"ALL"}
    (step,) = [step for step in make_plan(flow).steps if step.label == "c"]
    assert step.any_trigger


def test_a_switch_that_matches_nothing_is_passed_over() -> None:
    calls, pending = run('flow >> a >> switch("$ctx.results.a")["no" >> b] >> c')
    assert calls == ["a", "c"]
    assert pending == "bd"


@pytest.mark.parametrize(
    ("graph", "before"),
    [
        ("flow >> a >> (b & c) >> d", "ab ac bd cd"),
        ("flow >> a >> b\nflow >> c", "ab bc"),
        ("flow >> a >> b\nc >> d", "ab cd"),
        ("flow >> [a, b] >> c", "ac bc"),
        ("flow >> [a >> b, c] >> d", "ab bd cd"),
        ("flow >> (a >> b) >> c", "ab bc"),
        ("flow>>a>>b>>c;d>>a", "ab bc da"),
        ("flow", ""),
    ],
)
def test_flow_appends_and_the_other_tasks_still_run(graph: str, before: str) -> None:
    calls, pending = run(graph)
    assert sorted(calls) == list("abcd")
    assert pending == ""
    for first, second in before.split():
        assert calls.index(first) < calls.index(second)


@pytest.mark.parametrize(
    ("graph", "calls", "pending"),
    [
        ("flow >> a[2] >> b", "aab", "cd"),
        ("flow >> a[0]", "", "abcd"),
        ("flow >> a[2][2]", "aaaa", "bcd"),
        ("flow >> (a >> b)[2] >> c", "ababc", "d"),
        ("flow >> a >> b[2]\nc >> d", "abb", "cd"),
        ("flow >> a[2]\nb", "aa", "bcd"),
        ("flow >> a\nflow >> b[2]\nflow >> c", "abbc", "d"),
        ("flow >> a[2]\n(a & b) >> c", "aa", "bcd"),
        ('flow >> a["$ctx.params.l as i"]', "aa", "bcd"),
        ('flow >> a["$ctx.params.l"] >> b', "aab", "cd"),
        ('flow >> a % "True" >> b', "ab", "cd"),
        ('flow >> a[2] % "True"', "aa", "bcd"),
        ('flow >> (a >> b) % ("$ctx.loop.index == 1", 5) >> c', "ababc", "d"),
        ('flow >> switch("$ctx.params.m")["x" >> a, "*" >> (b >> c)] >> d', "ad", "bc"),
        ('flow >> switch("$ctx.params.m")["y" >> a, "*" >> (b >> c)] >> d', "bcd", "a"),
        ('flow >> switch("$ctx.params.n")[2 >> a, 3.5 >> b, True >> c, -1 >> d]', "a", "bcd"),
        ('flow >> switch("$ctx.params.m")["x" >> a[2]]', "aa", "bcd"),
    ],
)
def test_with_loops_only_what_is_attached_runs(graph: str, calls: str, pending: str) -> None:
    assert run(graph, l=[1, 2], m="x", n=2) == (list(calls), pending)


def test_a_loop_that_has_no_effect_is_a_warning() -> None:
    (warning,) = build("a >> b\nb >> c[3]", names="abc").build_warnings
    assert warning.startswith("graph, line 2, column 6: this loop or switch has no effect")
    assert len(build('a[2][3]\nswitch("1")[1 >> b]', names="ab").build_warnings) == 3


def test_tasks_that_run_without_being_mentioned_are_a_warning() -> None:
    (warning,) = build("(a & b) >> c").build_warnings
    assert warning.startswith("run although the graph does not mention them")
    assert warning.endswith(": d")


def test_tasks_left_out_of_a_flow_with_loops_are_a_warning() -> None:
    (warning,) = build("flow >> a[2]\nb >> c").build_warnings
    assert "never run: b, c, d" in warning
    assert build("flow >> [a, b] >> c[2] >> d").build_warnings == []


@pytest.mark.parametrize("graph", ["a >> b", "a", "a >> b # note", "a\n>> b", "a >> b;"])
def test_a_plain_sequence_is_not_the_old_dialect(graph: str) -> None:
    assert {task.name for task in build(graph).tasks} <= {"a", "b"}


@pytest.mark.parametrize("graph", ["x:a >> (b & c)", "repeat(count=1){a} >> b[2]", "flow >> x:a", "x:a\nb"])
def test_a_graph_with_newer_forms_is_not_the_old_dialect(graph: str) -> None:
    assert "d" not in {task.name for task in build(graph).tasks}


def test_tasks_may_run_again_in_a_sequence_but_not_in_a_circle() -> None:
    assert run("flow >> a >> b >> a")[0].count("a") == 2
    for graph in ("a >> b\nb >> a", "(a >> b) >> a", "flow >> a >> b\nb >> c\nc >> a", "a >> (a & b)"):
        with pytest.raises(GraphValidationError, match=r"round in circles: .*a"):
            build(graph)


def test_a_long_circle_is_found_without_recursion() -> None:
    names = [f"t{number}" for number in range(2000)]
    text = "\n".join(f"{first} >> {second}" for first, second in zip(names, [*names[1:], names[0]], strict=True))
    with pytest.raises(GraphValidationError, match="round in circles"):
        build_flow_from_graph(graph=text, tasks={name: Task(func=print, name=name) for name in names})


def test_flow_is_a_task_if_there_is_one_of_that_name() -> None:
    tasks = {name: Task(func=lambda: None, name=name) for name in ("flow", "a", "b")}
    flow = build_flow_from_graph(graph="flow >> a", tasks=tasks)
    assert [task.name for task in flow.ordered_tasks()] == ["flow", "a"]


def test_flow_stands_only_at_the_beginning() -> None:
    with pytest.raises(GraphReferenceError, match="put parentheses around what follows it"):
        build("flow >> a & b")


@pytest.mark.parametrize(
    "graph",
    ["__import__('os').system('id')", "a.task.func()", "[x for x in a]", "exec('a')", "a if b else c"],
)
def test_code_is_never_run(graph: str) -> None:
    with pytest.raises(ValueError):
        build(graph)
