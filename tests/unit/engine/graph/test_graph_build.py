"""From graph text to the structure of a flow."""

from __future__ import annotations

from typing import Any

import pytest

from pyoco.engine.errors import (
    ExpressionSyntaxError,
    GraphError,
    GraphReferenceError,
    GraphSyntaxError,
    GraphValidationError,
)
from pyoco.engine.expression import Expression, NameExpression
from pyoco.engine.flow import Flow
from pyoco.engine.graph import build_flow_from_graph
from pyoco.engine.nodes import (
    CaseNode,
    DSLNode,
    ForEachNode,
    ParallelNode,
    RepeatNode,
    SubFlowNode,
    SwitchNode,
    TaskNode,
    UntilNode,
)
from pyoco.engine.task import Task


def tasks(names: str = "a b c d") -> dict[str, Task]:
    return {name: Task(func=lambda: None, name=name) for name in names.split()}


def build(graph: str, names: str = "a b c d", **kwargs: Any) -> Flow:
    return build_flow_from_graph(graph=graph, tasks=tasks(names), **kwargs)


def shape(node: DSLNode) -> Any:
    """A flow's structure as plain lists: names, lists for sequences, (kind, …) for the rest."""
    match node:
        case TaskNode(task=task):
            return task.name
        case SubFlowNode(steps=steps):
            return [shape(step) for step in steps]
        case ParallelNode(branches=branches, join=join):
            return (join, *map(shape, branches))
        case RepeatNode(body=body, count=count):
            return ("repeat", count, shape(body))
        case ForEachNode(body=body):
            return ("foreach", shape(body))
        case UntilNode(body=body):
            return ("until", shape(body))
        case SwitchNode(cases=cases):
            return ("switch", *((case.value, shape(case.target)) for case in cases))
    raise AssertionError(node)


def only(flow: Flow) -> Any:
    (step,) = flow.build_program().steps
    return step


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ("a >> b >> c", ["a", "b", "c"]),
        ("a >> b >> a", ["a", "b", "a"]),
        ("x:a >> y:a >> b", ["x", "y", "b"]),
        ("x:a >> a", ["x", "a"]),
        ("a >> repeat(count=2){b >> c} >> d", ["a", ("repeat", 2, ["b", "c"]), "d"]),
        ("foreach(over=x){until(cond=y){a}}", [("foreach", [("until", ["a"])])]),
        ('switch(on=x){k: "a >> b"; 2: c}', [("switch", ("k", ["a", "b"]), (2, ["c"]))]),
    ],
)
def test_a_newer_graph_is_one_sequence_of_the_named_tasks(graph: str, expected: Any) -> None:
    flow = build(graph)
    assert shape(flow.build_program()) == expected
    assert flow.build_warnings == []


def test_tasks_that_are_not_mentioned_stay_out() -> None:
    assert {task.name for task in build("a >> x:b").tasks} == {"a", "x"}


def test_the_flow_has_the_given_name() -> None:
    assert build("a").name == "main"
    assert build("a", flow_name="nightly").name == "nightly"


def test_an_alias_is_an_independent_copy() -> None:
    original = Task(func=lambda: None, name="fetch", inputs={"url": "u"}, outputs=["scratch.x"], retries=3)
    flow = build_flow_from_graph(graph="first:fetch >> second:fetch", tasks={"fetch": original})
    by_name = {task.name: task for task in flow.tasks}
    assert by_name.keys() == {"first", "second"}
    by_name["first"].inputs["url"] = "other"
    by_name["first"].outputs.append("scratch.y")
    assert by_name["second"].inputs == original.inputs == {"url": "u"}
    assert by_name["second"].outputs == original.outputs == ["scratch.x"]
    assert by_name["second"].retries == 3
    assert by_name["second"].func is original.func


def test_a_bare_task_is_the_task_itself_with_its_own_name() -> None:
    registered = Task(func=lambda: None, name="real")
    flow = build_flow_from_graph(graph="shown", tasks={"shown": registered})
    assert only(flow).task is registered


@pytest.mark.parametrize(
    "graph",
    [
        "x:a >> x:b",
        "x:a >> x:a",
        "b:a >> b",
        "b >> b:a",
        "repeat(count=1){x:a} >> x:b",
        "switch(on=k){p: x:a; default: x:b}",
        "switch(on=k){p: b:a} >> b",
    ],
)
def test_a_node_name_stands_for_one_node(graph: str) -> None:
    with pytest.raises(GraphValidationError, match="is already used at graph, line 1"):
        build(graph)


def test_a_pipe_with_aliases_can_be_used_once() -> None:
    assert shape(build("pipe(p) >> b", pipes={"p": "x:a"}).build_program()) == ["x", "b"]
    with pytest.raises(GraphValidationError, match="used twice, since its pipe is"):
        build("pipe(p) >> pipe(p)", pipes={"p": "x:a"})
    assert shape(build("pipe(p) >> pipe(p)", pipes={"p": "a"}).build_program()) == ["a", "a"]


def test_an_unknown_task_is_named_with_the_nearest_one() -> None:
    with pytest.raises(GraphReferenceError, match="no task is called 'fecth'") as caught:
        build("store >> repeat(count=1){fecth}", names="fetch store")
    assert "line 1, column 26" in str(caught.value)
    assert "did you mean 'fetch'?" in str(caught.value)
    with pytest.raises(GraphReferenceError, match="known are"):
        build("zzzz")
    with pytest.raises(GraphReferenceError):
        build("x:nope")
    with pytest.raises(GraphReferenceError, match="none is known"):
        build("a", names="")


@pytest.mark.parametrize(
    ("value", "source"),
    [
        ("'$ctx.params.n + 1'", "$ctx.params.n + 1"),
        ("{{ $env.N }}", "$env.N"),
        ("'{{ $ctx.params.n }}'", "$ctx.params.n"),
        ("'env.N'", "$env.N"),
        ("{{ ctx.x.y }}", "$ctx.x.y"),
        ("{{ params.n }}", "$ctx.params.n"),
        ("params.n", "$ctx.params.n"),
        ("'results.a.b'", "$ctx.results.a.b"),
        ("{{ item.n }}", "$ctx.item.n"),
        ("loop", "$ctx.loop"),
        ("params", "$ctx.params"),
    ],
)
@pytest.mark.parametrize("form", ["repeat(count={})", "foreach(over={})", "until(cond={})", "switch(on={})"])
def test_a_path_becomes_an_expression(form: str, value: str, source: str) -> None:
    body = "{k: a}" if form.startswith("switch") else "{a}"
    node = only(build(form.format(value) + body))
    found = getattr(node, {"r": "count", "f": "source", "u": "condition", "s": "expression"}[form[0]])
    assert found == Expression(source)


@pytest.mark.parametrize("value", ["n", "'n'", "{{ n }}"])
def test_a_bare_name_is_a_variable_or_else_a_parameter(value: str) -> None:
    repeat = only(build(f"repeat(count={value}){{a}}"))
    assert repeat.count == NameExpression("$ctx.params.n", "n")
    assert repeat.count.evaluate(ctx={"params": {"n": 1}, "n": 2}) == 2
    until = only(build(f"until(cond={value}){{a}}"))
    assert until.condition.source == "$ctx.n"
    assert until.condition.evaluate(ctx={"params": {"n": 1}}) == 1
    assert only(build(f"switch(on={value}){{k: a}}")).expression.source == "$ctx.params.n"
    assert only(build(f"foreach(over={value}){{a}}")).source.source == "$ctx.params.n"


@pytest.mark.parametrize(("value", "count"), [("3", 3), ("007", 7), ("'3'", 3), ("0", 0)])
def test_a_count_in_digits_is_that_number(value: str, count: int) -> None:
    assert only(build(f"repeat(count={value}){{a}}")).count == count


def test_a_constant_condition_is_that_constant() -> None:
    assert only(build("until(cond=True){a}")).condition == Expression("True")


@pytest.mark.parametrize("value", ["'n + 1'", "'-1'", "{{ }}", "'a b'", "'x-y'", "'a..b'", "'1' ", "1", "{{ 3 }}"])
@pytest.mark.parametrize("form", ["switch(on={}){{k: a}}", "foreach(over={}){{a}}"])
def test_what_is_neither_path_nor_expression_is_refused(form: str, value: str) -> None:
    with pytest.raises(GraphValidationError, match=r"unsupported expression|expression is empty"):
        build(form.format(value))


@pytest.mark.parametrize("value", ["{{ 3 }}", "'-1'", "'1.5'", "'" + "9" * 30 + "'"])
def test_a_count_is_plain_digits_or_an_expression(value: str) -> None:
    with pytest.raises(GraphValidationError, match="unsupported expression"):
        build(f"repeat(count={value}){{a}}")


@pytest.mark.parametrize(
    "graph",
    [
        "repeat(count='len($ctx.a)'){a}",
        "until(cond={{ $ctx.a + }}){a}",
        'flow >> a % "x"',
        'flow >> switch("f()")[1 >> a]',
    ],
)
def test_an_expression_outside_the_language_is_shown_in_its_graph(graph: str) -> None:
    with pytest.raises(ExpressionSyntaxError, match="invalid expression") as caught:
        build(graph)
    assert "(graph, line 1, column " in str(caught.value)
    assert graph in str(caught.value)


def test_loops_take_their_arguments() -> None:
    loop = only(build("foreach(over=x, item=i, index='j', collect=last, parallel=4){a}"))
    assert (loop.alias, loop.index_alias, loop.collect, loop.parallel) == ("i", "j", "last", 4)
    plain = only(build("foreach(over=x){a}"))
    assert (plain.alias, plain.index_alias, plain.collect, plain.parallel) == (None, None, None, 1)
    until = only(build("until(cond=x, max_iter=7){a}"))
    assert until.max_iter == 7
    assert only(build("until(cond=x){a}")).max_iter is None


def test_case_keys_are_numbers_booleans_or_words_unless_quoted() -> None:
    graph = 'switch(on=x){1: a; true: a; false: a; True: a; k: a; "1": a; "true": a; "*": a; -2: a; 1.5: a; default: b}'
    switch = only(build(graph))
    keys = [case.value for case in switch.cases[:-1]]
    assert [(type(key), key) for key in keys] == [
        (int, 1),
        (bool, True),
        (bool, False),
        (str, "True"),
        (str, "k"),
        (str, "1"),
        (str, "true"),
        (str, "*"),
        (int, -2),
        (float, 1.5),
    ]
    assert [case.is_default for case in switch.cases] == [False] * 10 + [True]
    assert isinstance(switch.cases[0], CaseNode)


def test_unknown_arguments_are_refused() -> None:
    with pytest.raises(GraphSyntaxError, match="repeat has no argument 'times'"):
        build("repeat(count=1, times=2){a}")
    with pytest.raises(GraphSyntaxError, match="switch has no argument 'parallel'"):
        build("switch(on=x, parallel=2){k: a}")


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ("x:a >> (b & c) >> d", ["x", ("ALL", ["b"], ["c"]), "d"]),
        ("x:a >> (b | c >> d)", ["x", ("ANY", ["b"], ["c", "d"])]),
        ("repeat(count=2){[a, b] >> c}", [("repeat", 2, [("ALL", ["a"], ["b"]), "c"])]),
        ("x:a >> (b >> c)[2]", ["x", ("repeat", 2, ["b", "c"])]),
        ("flow >> x:a >> b\nflow >> c", ["x", "b", "c"]),
        ("x:a >> repeat(count=2){b}\nc >> d", [("ALL", ["x", ("repeat", 2, ["b"])], ["c", "d"])]),
    ],
)
def test_both_languages_mix(graph: str, expected: Any) -> None:
    flow = build(graph)
    assert shape(flow.build_program()) == expected
    assert flow.declared == set()


def test_statements_with_aliases_share_their_nodes() -> None:
    flow = build("x:a >> b\nx >> c\n(b | c) >> d")
    assert {(source.name, target.name) for source, target in flow.edges} == {
        ("x", "b"),
        ("x", "c"),
        ("b", "d"),
        ("c", "d"),
    }
    assert {task.name for task in flow.any_joins} == {"d"}


def test_statements_around_a_loop_must_be_independent() -> None:
    with pytest.raises(GraphValidationError, match="'b' stands in two statements"):
        build("x:a >> repeat(count=2){b}\nb >> d")


def test_graphs_with_pipes_never_run_unmentioned_tasks() -> None:
    flow = build("(a & b) >> c", pipes={"unused": "d"})
    assert {task.name for task in flow.tasks} == {"a", "b", "c"}


def test_groups_cannot_multiply_to_countless_edges() -> None:
    group = "(" + " & ".join(["a"] * 1000) + ")"
    for graph in (f"{group} >> {group}", f"x:b >> {group} >> {group}"):
        with pytest.raises(GraphValidationError, match="more than 100000 edges"):
            build(graph)


def test_every_problem_of_a_graph_is_a_value_error() -> None:
    assert issubclass(GraphError, ValueError)
    for graph in ("a >>", "nope", "x:a >> x:b", "until(cond='$ctx.'){a}", None):
        with pytest.raises(ValueError):
            build(graph)  # type: ignore[arg-type]


def test_the_deepest_graph_can_be_built() -> None:
    deep = "repeat(count=1){" * 49 + "(a & b)" + "}" * 49
    assert build(deep).has_control_flow()
    pipes = {**{f"p{number}": f"pipe(p{number + 1})" for number in range(127)}, "p127": deep}
    assert build("pipe(p0)", pipes=pipes).has_control_flow()
