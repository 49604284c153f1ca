"""§9 The graph language: what runs, in which order, with which names and frames."""

from __future__ import annotations

from typing import Any

from observe import Lab, Observation, case, table

from pyoco.core.models import Task
from pyoco.dsl.graph import build_flow_from_graph

PARAMS: dict[str, Any] = {
    "n": 2,
    "xs": [10, 20],
    "rows": [[1], [2, 3]],
    "yes": True,
    "no": False,
    "k": "x",
    "one": 1,
    "text_one": "1",
    "obj": {"kind": "x", "list": ["p"]},
}
PIPES = {
    "pair": "a >> b",
    "nested": "pipe(pair) >> c",
    "quoted": 'pipe("pair")',
    "loop": "repeat(count=2){ a }",
    "aliased": "first:a >> second:a",
    "never parsed": "((",
}
NAMES = "a b c d switch repeat foreach until pipe default größe タスク"


def run_graph(lab: Lab, graph: str, pipes: dict[str, str] | None = None, names: str = NAMES) -> Observation:
    """Each node notes its name, the variables `i`, `j`, `ix`, and where the loops are."""
    notes: list[Any] = []

    def note(ctx: Any) -> int:
        found = {name: ctx.get_var(name) for name in ("i", "j", "ix") if ctx.get_var(name) is not None}
        notes.append([found, ctx.loop.path if ctx.loop else None])
        return len(notes)

    tasks = {name: Task(func=note, name=name) for name in names.split()}
    built = lab.attempt(
        lambda: build_flow_from_graph(graph=graph, tasks=tasks, pipes=PIPES if pipes is None else pipes)
    )
    if built["outcome"] == "raised":
        return built
    flow = built["value"]
    seen = lab.run(flow, PARAMS, show=("status", "states", "trace"))
    seen["trace"] = [event for event in seen["trace"] if event.startswith(("start", "error"))]
    return seen | {"notes": notes, "control_flow": flow.has_control_flow(), "name": flow.name}


GOOD = {
    "one": "a",
    "sequence": "a >> b >> c",
    "no_blanks": "a>>b",
    "newlines": "a\n  >> b\n>>\nc",
    "comments": "a # first\n# only a comment\n>> b",
    "alias": "x:a >> y:a",
    "alias_of_its_own_name": "a:a",
    "alias_blanks": "x : a >> b",
    "alias_beside_bare": "a >> x:a",
    "unicode": "größe >> タスク",
    "unicode_alias": "größter:a",
    "keywords_as_tasks": "switch >> repeat >> foreach >> until >> pipe",
    "default_as_a_task": "default",
    "pipe": "pipe(pair) >> c",
    "pipe_quoted": 'pipe("pair")',
    "pipe_nested": "pipe(nested)",
    "pipe_with_loop": "pipe(loop) >> b",
    "pipe_in_a_loop": "repeat(count=2){ pipe(pair) }",
    "pipe_in_a_case": "switch(on=k){ x: pipe(pair) }",
    "pipe_aliases": "pipe(aliased)",
    "repeat": "repeat(count=2){ a >> b }",
    "repeat_zero": "repeat(count=0){ a } >> b",
    "repeat_quoted": 'repeat(count="2"){ a }',
    "repeat_bare_param": "repeat(count=n){ a }",
    "repeat_quoted_param": 'repeat(count="n"){ a }',
    "repeat_template": "repeat(count={{ n }}){ a }",
    "repeat_params_path": "repeat(count={{ params.n }}){ a }",
    "repeat_ctx_path": "repeat(count={{ ctx.params.n }}){ a }",
    "repeat_expression": "repeat(count={{ $ctx.params.n + 1 }}){ a }",
    "repeat_template_no_blanks": "repeat(count={{n}}){a}",
    "repeat_last_argument_wins": "repeat(count=1, count=3){ a }",
    "repeat_collect": "repeat(count=2, collect=list){ a }",
    "repeat_collect_quoted": 'repeat(count=2, collect="last"){ a }',
    "repeat_nested": "repeat(count=2){ repeat(count=2){ a } >> b }",
    "foreach": "foreach(over=xs, item=i){ a }",
    "foreach_no_item": "foreach(over=xs){ a }",
    "foreach_index": "foreach(over=xs, item=i, index=ix){ a }",
    "foreach_template": "foreach(over={{ params.xs }}, item=i){ a }",
    "foreach_expression": "foreach(over={{ $ctx.params.xs }}, item=i){ a }",
    "foreach_field": "foreach(over={{ params.obj.list }}, item=i){ a }",
    "foreach_collect_flatten": "foreach(over=xs, item=i, collect=flatten){ a }",
    "foreach_collect_first": "foreach(over=xs, item=i, collect=first){ a }",
    "foreach_nested_by_path": "foreach(over=rows, item=i){ foreach(over={{ ctx.i }}, item=j){ a } }",
    "until": "until(cond={{ $ctx.loop.iteration >= 2 }}){ a }",
    "until_limit": "until(cond={{ $ctx.loop.iteration >= 2 }}, max_iter=5){ a }",
    "until_limit_quoted": 'until(cond={{ params.yes }}, max_iter="3"){ a }',
    "until_over": "until(cond={{ params.no }}, max_iter=2){ a }",
    "until_path": "until(cond={{ params.yes }}){ a }",
    "until_results": "until(cond={{ $ctx.results.a >= 3 }}){ a }",
    "until_quoted_expression": 'until(cond="$ctx.results.a >= 2"){ a }',
    "until_loop_path": "until(cond={{ loop.iteration }}){ a }",
    "switch": "switch(on=k){ x: a; y: b }",
    "switch_quoted": 'switch(on=k){ "x": a; default: b; }',
    "switch_single_quotes": "switch(on=k){ 'x': a }",
    "switch_default": "switch(on=k){ y: a; default: b }",
    "switch_number": "switch(on=n){ 1: a; 2: b }",
    "switch_true": "switch(on=yes){ true: a; false: b }",
    "switch_false": "switch(on=no){ true: a; false: b }",
    "switch_capital_true_is_text": "switch(on=yes){ True: a; default: b }",
    "switch_one_equals_true": "switch(on=one){ true: a; default: b }",
    "switch_text_is_no_number": "switch(on=text_one){ 1: a; default: b }",
    "switch_first_wins": "switch(on=k){ x: a; x: b }",
    "switch_semicolons": "switch(on=k){ ;; x: a ;; }",
    "switch_quoted_branch": 'switch(on=k){ x: "a >> b" }',
    "switch_quoted_default_is_a_key": 'switch(on=k){ "default": a; x: b }',
    "switch_then": "switch(on=k){ x: a >> b; default: c } >> d",
    "switch_expression": "switch(on={{ $ctx.params.n > 1 }}){ true: a; false: b }",
    "switch_path": "switch(on={{ params.obj.kind }}){ x: a }",
    "switch_result": "a >> switch(on={{ results.a }}){ 1: b }",
    "switch_nested": "switch(on=k){ x: switch(on=n){ 2: b } }",
    "switch_no_match": "a >> switch(on=k){ y: b } >> c",
    "switch_in_foreach": "foreach(over=xs, item=i){ switch(on={{ ctx.i }}){ 10: a; 20: b } }",
    "loop_in_a_case": "switch(on=k){ x: repeat(count=2){ a } >> b }",
    "same_task_in_program_mode": "repeat(count=1){ a } >> a >> b >> a",
    "missing_param": "repeat(count={{ params.nope }}){ a }",
    "missing_env": "repeat(count={{ env.CORPUS_NOPE }}){ a }",
    "over_is_no_list": "foreach(over=k){ a }",
    "all_together": """
        x:a >> foreach(over=xs, item=i){ repeat(count=2){ b } }
        >> switch(on=k){ x: pipe(pair) } >> until(cond={{ params.yes }}){ d }
    """,
}


@table(GOOD)
def runs(lab: Lab, graph: str) -> Observation:
    return run_graph(lab, graph)


TWICE: dict[str, str] = {"task": "a >> b >> a", "neighbours": "a >> a", "pipe": "pipe(pair) >> pipe(pair)"}


@table(TWICE, fixed="Q3", expect={"deadlock": False})
def same_node_twice(lab: Lab, graph: str) -> Observation:
    seen = run_graph(lab, graph)
    return {"deadlock": "status" in seen and seen["outcome"] == "raised"}


@table(
    {
        "number": ('switch(on=text_one){ "1": a; default: b }', "start a"),
        "true": ('switch(on=yes){ "true": b; default: a }', "start a"),
    },
    fixed="Q12",
    expect={"ran": True},
)
def quoted_case_keys_are_text(lab: Lab, row: tuple[str, str]) -> Observation:
    return {"ran": run_graph(lab, row[0]).get("trace") == [row[1]]}


REFUSED_NOW = {
    "two_defaults": ("Q12", "switch(on=k){ default: a; default: b }"),
    "template_key": ("Q12", "switch(on=k){ {{ x }}: a; default: b }"),
    "unknown_argument": ("Q13", "repeat(count=1, bogus=2){ a }"),
    "reserved_item": ("Q13", "foreach(over=xs, item=params){ a }"),
    "reserved_index": ("Q13", "foreach(over=xs, item=i, index=loop){ a }"),
}
for _name, (_quirk, _graph) in REFUSED_NOW.items():

    @table(
        {_name: _graph}, prefix="is_refused_now", fixed=_quirk, expect={"outcome": "raised", "raises": ["ValueError"]}
    )
    def is_refused_now(lab: Lab, graph: str) -> Observation:
        return {key: value for key, value in run_graph(lab, graph).items() if key in ("outcome", "raises")}


@case(
    fixed="Q14",
    expect={"status": "COMPLETED", "notes": [{"i": [1], "j": 1}, {"i": [2, 3], "j": 2}, {"i": [2, 3], "j": 3}]},
)
def bare_alias_in_a_nested_source(lab: Lab) -> Observation:
    seen = run_graph(lab, "foreach(over=rows, item=i){ foreach(over=i, item=j){ a } }")
    return {"status": seen["status"], "notes": [note[0] for note in seen["notes"]]}


@case(fixed="Q14", expect={"status": "COMPLETED", "passes": 1})
def bare_param_as_a_condition(lab: Lab) -> Observation:
    seen = run_graph(lab, "until(cond=yes, max_iter=3){ a }")
    return {"status": seen["status"], "passes": len(seen["notes"])}


@case(
    fixed="Q15",
    expect={"status": "COMPLETED", "outer": [["start a", 10], ["start c", 10], ["start a", 20], ["start c", 20]]},
)
def inner_item_of_the_same_name(lab: Lab) -> Observation:
    seen = run_graph(lab, "foreach(over=xs, item=i){ a >> foreach(over=rows, item=i){ b } >> c }")
    pairs = [[event, note[0].get("i")] for event, note in zip(seen["trace"], seen["notes"], strict=True)]
    return {"status": seen["status"], "outer": [pair for pair in pairs if pair[0] != "start b"]}


@case()
def alias_is_an_independent_copy(lab: Lab) -> Observation:
    base = Task(func=lambda x: x, name="a", inputs={"x": 1}, outputs=["scratch.o"], retries=2)
    flow = build_flow_from_graph(graph="x:a >> y:a", tasks={"a": base})
    copies = {one.name: one for one in flow.tasks}
    copies["x"].inputs["x"] = 5
    return lab.run(flow, show=("results",)) | {
        "retries": [copies["x"].retries, copies["y"].retries],
        "outputs": [copies["x"].outputs, copies["y"].outputs],
        "base": base.inputs,
    }


@case()
def alias_is_the_reference_name(lab: Lab) -> Observation:
    tasks = {
        "src": Task(func=lambda: 5, name="src"),
        "dst": Task(func=lambda v: v, name="dst", inputs={"v": "$node.first.output"}),
    }
    return lab.run(build_flow_from_graph(graph="first:src >> dst", tasks=tasks))


@case()
def base_name_of_an_alias_has_no_result(lab: Lab) -> Observation:
    tasks = {
        "src": Task(func=lambda: 5, name="src"),
        "dst": Task(func=lambda v: v, name="dst", inputs={"v": "$node.src.output"}),
    }
    return lab.run(
        build_flow_from_graph(graph="first:src >> dst", tasks=tasks), show=("status", "states"), mention=("src",)
    )


@case()
def flow_name_and_unmentioned_tasks(lab: Lab) -> Observation:
    tasks = {name: Task(func=lambda: 1, name=name) for name in "ab"}
    flow = build_flow_from_graph(graph="a", tasks=tasks, flow_name="mine")
    return {"name": flow.name, "tasks": sorted(one.name for one in flow.tasks)}


@case()
def task_keeps_its_own_name_under_another_key(lab: Lab) -> Observation:
    flow = build_flow_from_graph(graph="key", tasks={"key": Task(func=lambda: 1, name="own")})
    return lab.run(flow)


DEPTHS = {"127": 127, "128": 128}


@table(DEPTHS)
def pipe_depth(lab: Lab, depth: int) -> Observation:
    pipes = {f"p{number}": f"pipe(p{number + 1})" for number in range(depth)} | {f"p{depth}": "a"}
    tasks = {"a": Task(func=lambda: 1, name="a")}
    return lab.builds(lambda: build_flow_from_graph(graph="pipe(p0)", tasks=tasks, pipes=pipes))


@case()
def too_many_expanded_terms(lab: Lab) -> Observation:
    pipes = {f"p{number}": f"pipe(p{number + 1}) >> pipe(p{number + 1})" for number in range(13)} | {"p13": "a"}
    tasks = {"a": Task(func=lambda: 1, name="a")}
    return lab.builds(lambda: build_flow_from_graph(graph="pipe(p0)", tasks=tasks, pipes=pipes))
