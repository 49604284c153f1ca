"""Findings about well-formed graphs."""

from __future__ import annotations

import pytest

from pyoco.engine.errors import GraphValidationError
from pyoco.engine.graph import build_flow_from_graph, parse_graph, validate_graph_terms
from pyoco.engine.task import Task

TASKS = {name: Task(func=lambda: None, name=name) for name in "abc"}


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ("switch(on=x){}", "no cases"),
        ("switch(on=x){default: a; k: b; default: c}", "two default cases"),
        ('switch("1")["*" >> a, "*" >> b]', "two default cases"),
        ("switch(on=x){ {{ k }}: a; default: b}", "a case key cannot be a template"),
        ("repeat(count=1, collect=sum){a}", "collect must be one of list, last, first, flatten, not 'sum'"),
        ("foreach(over=x, collect=''){a}", "collect must be one of"),
        ("until(cond=x, max_iter=0){a}", "max_iter must be a whole number of 1 or more"),
        ("until(cond=x, max_iter=n){a}", "max_iter must be"),
        ("until(cond=x, max_iter={{ n }}){a}", "max_iter must be"),
        ('a % ("1", 0)', "max_iter must be"),
        ("foreach(over=x, parallel=0){a}", "parallel must be a whole number of 1 or more"),
        ("foreach(over=x, parallel=many){a}", "parallel must be"),
        ("foreach(over=x, item=params){a}", "'params' is a reserved name"),
        ("foreach(over=x, index=loop){a}", "'loop' is a reserved name"),
        ("foreach(over=x, item='a b'){a}", "not an identifier"),
        ("foreach(over=x, item=''){a}", "not an identifier"),
        ("foreach(over=x, item=1){a}", "not an identifier"),
        ("foreach(over=x, item=i, index=i){a}", "item and index have the same name"),
    ],
)
def test_an_impossible_graph_is_an_error_of_the_report_and_cannot_be_built(graph: str, message: str) -> None:
    report = validate_graph_terms(parse_graph(f"c >> {graph}"))
    assert report.status == "error"
    assert [error for error in report.errors if message in error]
    assert report.errors[0].startswith("graph, line 1, column ")
    with pytest.raises(GraphValidationError, match=message):
        build_flow_from_graph(graph=f"c >> {graph}", tasks=TASKS)


@pytest.mark.parametrize(
    "cases", ["k: a; k: b", "1: a; true: b", '"k": a; k: b', "0: a; 0: b", "-1: a; -1: b"], ids=repr
)
def test_a_case_that_is_never_reached_is_reported_but_built(cases: str) -> None:
    graph = f"switch(on=x){{{cases}; default: c}}"
    (error,) = validate_graph_terms(parse_graph(graph)).errors
    assert "duplicate case" in error
    build_flow_from_graph(graph=graph, tasks=TASKS)


@pytest.mark.parametrize("cases", ['"1": a; 1: b', '"true": a; true: b', '"*": a; k: b', '"default": a; k: b'])
def test_a_quoted_key_is_another_key(cases: str) -> None:
    assert validate_graph_terms(parse_graph(f"switch(on=x){{{cases}; default: c}}")).status == "ok"


def test_a_switch_without_default_is_a_warning() -> None:
    report = validate_graph_terms(parse_graph("a >> repeat(count=2){switch(on=x){k: b}}"))
    assert report.status == "warning"
    assert report.to_dict() == {
        "status": "warning",
        "warnings": ["graph, line 1, column 22: the switch has no default case"],
        "errors": [],
    }


def test_a_good_graph_has_no_findings() -> None:
    graph = "a >> foreach(over=x, item=i, index=j, collect=flatten, parallel=3){switch(on=i){k: b; default: c}}"
    assert validate_graph_terms(parse_graph(graph)).to_dict() == {"status": "ok", "warnings": [], "errors": []}


def test_findings_come_in_the_order_of_the_text() -> None:
    report = validate_graph_terms(
        parse_graph("until(cond=x, max_iter=0){repeat(count=1, collect=x){a}} >> switch(on=x){}")
    )
    assert [error.split(": ")[0] for error in report.errors] == [
        "graph, line 1, column 24",
        "graph, line 1, column 51",
        "graph, line 1, column 61",
    ]
