"""§9 Graphs that are refused while building, and by which class."""

from __future__ import annotations

from observe import Lab, Observation, case, table

from pyoco.core.models import Task
from pyoco.dsl.graph import build_flow_from_graph, parse_graph, resolve_pipe_refs, validate_graph_terms

PIPES = {
    "p": "a >> b",
    "one": "pipe(two)",
    "two": "pipe(one)",
    "self": "pipe(self)",
    "bad": ">> a",
    "empty": "",
    "alias": "x:a",
}

BAD = {
    "empty": "",
    "blank": "  \n ",
    "only_a_comment": "# nothing",
    "ends_with_arrow": "a >>",
    "starts_with_arrow": ">> a",
    "two_arrows": "a >> >> b",
    "two_names": "a b",
    "single_arrow": "a > b",
    "dot": "a.b",
    "slash": "a/b",
    "minus": "a-b",
    "number_first": "1a",
    "bare_number": "1",
    "bare_string": '"a"',
    "string_as_a_step": 'a >> "b"',
    "unclosed_string": 'pipe("p',
    "unclosed_template": "repeat(count={{ n ){ a }",
    "unknown_form": "foo(x=1)",
    "unknown_form_with_body": "foo(x=1){ a }",
    "unknown_task": "nope",
    "unknown_task_later": "a >> nope",
    "unknown_task_in_a_loop": "repeat(count=1){ nope }",
    "unknown_task_in_a_case": "switch(on=k){ x: nope }",
    "unknown_aliased_task": "x:nope",
    "keyword_as_an_unknown_task": "switch",
    "unknown_pipe": "pipe(nope)",
    "unknown_pipe_in_a_case": "switch(on=k){ x: pipe(nope) }",
    "cyclic_pipes": "pipe(one)",
    "pipe_of_itself": "pipe(self)",
    "pipe_with_bad_text": "pipe(bad)",
    "pipe_with_empty_text": "pipe(empty)",
    "pipe_without_a_name": "pipe()",
    "pipe_of_a_number": "pipe(3)",
    "pipe_of_two": "pipe(p, p)",
    "alias_of_a_pipe": "x:pipe(p)",
    "alias_of_a_loop": "x:repeat(count=1){ a }",
    "alias_without_a_task": "x:",
    "alias_of_an_alias": "x:y:a",
    "duplicate_alias": "x:a >> x:b",
    "duplicate_alias_same_task": "x:a >> x:a",
    "alias_equals_a_bare_task": "a >> a:b",
    "alias_equals_a_later_bare_task": "a:b >> a",
    "duplicate_alias_over_branches": "switch(on=k){ x: n:a; y: n:b }",
    "duplicate_alias_in_a_loop": "repeat(count=2){ x:a } >> x:b",
    "duplicate_alias_by_a_pipe": "pipe(alias) >> pipe(alias)",
    "repeat_without_count": "repeat(){ a }",
    "repeat_positional": "repeat(2){ a }",
    "repeat_without_body": "repeat(count=2)",
    "repeat_empty_body": "repeat(count=2){}",
    "repeat_open_body": "repeat(count=2){ a",
    "repeat_negative": "repeat(count=-1){ a }",
    "repeat_decimal": "repeat(count=1.5){ a }",
    "repeat_trailing_comma": "repeat(count=1,){ a }",
    "repeat_number_template": "repeat(count={{ 2 }}){ a }",
    "repeat_sum_without_dollar": "repeat(count={{ n + 1 }}){ a }",
    "repeat_empty_template": "repeat(count={{}}){ a }",
    "repeat_bad_collect": "repeat(count=1, collect=bogus){ a }",
    "repeat_call": "repeat(count={{ len($ctx.params.xs) }}){ a }",
    "foreach_without_over": "foreach(item=i){ a }",
    "foreach_over_a_number": "foreach(over=5){ a }",
    "foreach_empty_body": "foreach(over=xs){ }",
    "foreach_bad_collect": "foreach(over=xs, collect=all){ a }",
    "foreach_missing_value": "foreach(over=){ a }",
    "until_without_cond": "until(max_iter=3){ a }",
    "until_limit_zero": "until(cond=done, max_iter=0){ a }",
    "until_limit_template": "until(cond=done, max_iter={{ n }}){ a }",
    "until_limit_word": "until(cond=done, max_iter=many){ a }",
    "until_comparison_without_dollar": "until(cond={{ n == 1 }}){ a }",
    "until_bad_expression": "until(cond={{ $ctx.params.n + }}){ a }",
    "switch_without_on": "switch(){ x: a }",
    "switch_without_cases": "switch(on=k){}",
    "switch_only_semicolons": "switch(on=k){ ; }",
    "switch_empty_case": "switch(on=k){ x: }",
    "switch_case_without_colon": "switch(on=k){ x a }",
    "switch_without_semicolon": "switch(on=k){ x: a y: b }",
    "switch_with_commas": "switch(on=k){ x: a, y: b }",
    "switch_method_call": "switch(on={{ $ctx.params.k.upper() }}){ x: a }",
    "switch_bad_quoted_branch": 'switch(on=k){ x: "a >>" }',
    "stray_brace": "a }",
    "stray_paren": "a )",
    "dollar": "$ctx.params.x",
    "question_mark": "a ?",
}


@table(BAD)
def is_refused(lab: Lab, graph: str) -> Observation:
    tasks = {name: Task(func=lambda: 1, name=name) for name in "abc"}
    return lab.builds(lambda: build_flow_from_graph(graph=graph, tasks=tasks, pipes=PIPES))


NAMED = {
    "task": ("a >> missing_one", "missing_one"),
    "pipe": ("pipe(missing_one)", "missing_one"),
    "alias": ("twice:a >> twice:b", "twice"),
    "collect": ("repeat(count=1, collect=odd){ a }", "odd"),
    "cycle": ("pipe(one)", "two"),
}


@table(NAMED)
def message_names_the_culprit(lab: Lab, row: tuple[str, str]) -> Observation:
    tasks = {name: Task(func=lambda: 1, name=name) for name in "abc"}
    return lab.builds(lambda: build_flow_from_graph(graph=row[0], tasks=tasks, pipes=PIPES), mention=(row[1],))


@case()
def parsing_alone_needs_no_tasks(lab: Lab) -> Observation:
    return lab.builds(lambda: resolve_pipe_refs(parse_graph("nope >> pipe(p)"), {"p": "x:nope"}))


@table(
    {
        "clean": "a >> switch(on=k){ x: a; default: b }",
        "no_default": "switch(on=k){ x: a }",
        "bad_collect": "repeat(count=1, collect=odd){ a }",
        "duplicate_case": "switch(on=k){ x: a; x: b; default: c }",
    }
)
def validation_report(lab: Lab, graph: str) -> Observation:
    report = validate_graph_terms(parse_graph(graph))
    return {"status": report.status, "warnings": len(report.warnings), "errors": len(report.errors)}
