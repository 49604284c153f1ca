"""Pipes: what takes their place, and what stops them."""

from __future__ import annotations

import pytest

from pyoco.engine.errors import GraphReferenceError, GraphSyntaxError
from pyoco.engine.graph import parse_graph, resolve_pipe_refs


def resolved(graph: str, pipes: dict[str, str], **limits: int) -> object:
    return resolve_pipe_refs(parse_graph(graph), pipes, **limits)


@pytest.mark.parametrize(
    ("graph", "pipes", "expected"),
    [
        ("a >> pipe(p) >> b", {"p": "c >> d"}, "a >> c >> d >> b"),
        ("pipe(p) >> pipe(p)", {"p": "a"}, "a >> a"),
        ("pipe('p q')", {"p q": "a"}, "a"),
        ("pipe(p)", {"p": "a >> pipe(q)", "q": "b"}, "a >> b"),
        ("repeat(count=2){pipe(p)}", {"p": "a >> b"}, "repeat(count=2){a >> b}"),
        ("switch(on=x){k: pipe(p); default: a}", {"p": "x:a >> b"}, "switch(on=x){k: x:a >> b; default: a}"),
        ("(pipe(p) & b)[2]", {"p": "a >> c"}, "(a >> c & b)[2]"),
        ("pipe(p)", {"p": "(a & b) >> c"}, "(a & b) >> c"),
        ("pipe(p)\nb", {"p": "a"}, "a\nb"),
        ("a", {"broken": "a >>", "unused": "pipe(nowhere)"}, "a"),
    ],
)
def test_a_pipe_is_replaced_by_its_steps(graph: str, pipes: dict[str, str], expected: str) -> None:
    assert resolved(graph, pipes) == parse_graph(expected)


def test_an_unknown_pipe_is_named_with_the_nearest_one() -> None:
    with pytest.raises(GraphReferenceError, match="no pipe is called 'laod'") as caught:
        resolved("a >> pipe(laod)", {"load": "a", "store": "b"})
    assert "line 1, column 6" in str(caught.value)
    assert "did you mean 'load'?" in str(caught.value)
    with pytest.raises(GraphReferenceError):
        resolve_pipe_refs(parse_graph("pipe(p)"))


@pytest.mark.parametrize(
    ("pipes", "circle"),
    [({"p": "pipe(p)"}, "p >> p"), ({"p": "a >> pipe(q)", "q": "repeat(count=1){pipe(p)}"}, "p >> q >> p")],
)
def test_pipes_that_go_round_in_circles_are_refused(pipes: dict[str, str], circle: str) -> None:
    with pytest.raises(GraphReferenceError, match=f"circles: {circle}"):
        resolved("a >> pipe(p)", pipes)


def test_an_error_inside_a_pipe_names_the_pipe() -> None:
    with pytest.raises(GraphSyntaxError, match=r"expected a task name, found the end \(pipe 'p', line 2, column 3\)"):
        resolved("pipe(p)", {"p": "a\n>>"})
    with pytest.raises(GraphSyntaxError, match="the pipe 'p' is empty"):
        resolved("pipe(p)", {"p": " "})
    with pytest.raises(GraphSyntaxError, match="pipe 'p' has several statements"):
        resolved("pipe(p)", {"p": "a\nb"})
    with pytest.raises(GraphSyntaxError, match="pipe 'p' must be text, not int"):
        resolved("pipe(p)", {"p": 5})  # type: ignore[dict-item]


def chain(length: int) -> dict[str, str]:
    return {**{f"p{n}": f"pipe(p{n + 1})" for n in range(1, length)}, f"p{length}": "a"}


def test_pipes_may_be_nested_128_deep() -> None:
    assert resolved("pipe(p1)", chain(128)) == parse_graph("a")
    with pytest.raises(GraphReferenceError, match="more than 128 deep"):
        resolved("pipe(p1)", chain(129))
    with pytest.raises(GraphReferenceError, match="more than 3 deep"):
        resolved("pipe(p1)", chain(4), max_depth=3)


def test_a_graph_may_have_4096_terms() -> None:
    resolved("pipe(p)", {"p": " >> ".join(["a"] * 4096)})
    with pytest.raises(GraphReferenceError, match="more than 4096 terms"):
        resolved("pipe(p)", {"p": " >> ".join(["a"] * 4097)})
    with pytest.raises(GraphReferenceError, match="more than 2 terms"):
        resolved("a >> b >> c", {}, max_terms=2)


def test_doubling_pipes_come_to_an_end() -> None:
    pipes = {f"p{n}": f"pipe(p{n + 1}) >> pipe(p{n + 1})" for n in range(120)} | {"p120": "a"}
    with pytest.raises(GraphReferenceError, match="more than 4096 terms"):
        resolved("pipe(p0)", pipes)


def test_pipes_cannot_nest_loops_deeper_than_a_text_may() -> None:
    deep = "(" * 30 + "{}" + ")" * 30
    pipes = {"p": deep.format("pipe(q)"), "q": deep.format("pipe(r)"), "r": deep.format("a")}
    with pytest.raises(GraphSyntaxError, match="levels inside each other"):
        resolved("pipe(p)", pipes)
    assert resolved("pipe(q)", pipes) == parse_graph(deep.format(deep.format("a")))
