"""Reading graph text: the trees it gives and the errors it shows."""

from __future__ import annotations

import contextlib

import pytest

from pyoco.engine.errors import GraphError, GraphSyntaxError, GraphValidationError
from pyoco.engine.graph import parse_graph
from pyoco.engine.graph.terms import (
    BlockTerm,
    ForEachTerm,
    GroupTerm,
    Pipeline,
    PipeRefTerm,
    RepeatTerm,
    SwitchCase,
    SwitchTerm,
    TaskTerm,
    Term,
    UntilTerm,
    Value,
)
from tests.support.effort import calls_made

A, B, C, D = (TaskTerm(name) for name in "abcd")


def seq(*terms: Term) -> Pipeline:
    return Pipeline(terms)


def name(text: str) -> Value:
    return Value(text, "name")


def text(content: str) -> Value:
    return Value(content, "text")


def number(digits: str) -> Value:
    return Value(digits, "number")


def template(content: str) -> Value:
    return Value(content, "template")


@pytest.mark.parametrize(
    ("graph", "terms"),
    [
        ("a", [A]),
        ("a >> b", [A, B]),
        ("a\n>> b # and then\n  >>\n c", [A, B, C]),
        ("x:a >> b", [TaskTerm("a", "x"), B]),
        ("pipe(p) >> pipe('p q')", [PipeRefTerm("p"), PipeRefTerm("p q")]),
        ("repeat >> pipe >> default", [TaskTerm("repeat"), TaskTerm("pipe"), TaskTerm("default")]),
        ("größe", [TaskTerm("größe")]),
        ("repeat(count=3){a}", [RepeatTerm(seq(A), number("3"))]),
        ("repeat\n(count=3)\n{a}", [RepeatTerm(seq(A), number("3"))]),
        ("repeat(count=1, count=2){a}", [RepeatTerm(seq(A), number("2"))]),
        ("repeat(count={{ n }}, collect=list){a >> b}", [RepeatTerm(seq(A, B), template("n"), collect=name("list"))]),
        (
            "foreach(over=params.l, item=i, index=j, parallel=4){a}",
            [ForEachTerm(seq(A), Value("params.l", "path"), name("i"), name("j"), number("4"))],
        ),
        (r'until(cond="x == \"y\\", max_iter=3){a}', [UntilTerm(seq(A), text('x == "y\\'), number("3"))]),
        (
            'switch(on=x){;k: a >> b; "k": c;; 1: d; -1.5: d; default: "a >> b"}',
            [
                SwitchTerm(
                    name("x"),
                    (
                        SwitchCase(name("k"), seq(A, B)),
                        SwitchCase(text("k"), seq(C)),
                        SwitchCase(number("1"), seq(D)),
                        SwitchCase(number("-1.5"), seq(D)),
                        SwitchCase(None, seq(A, B)),
                    ),
                )
            ],
        ),
        ('switch(on=x){"default": a}', [SwitchTerm(name("x"), (SwitchCase(text("default"), seq(A)),))]),
        ("repeat(count=1){repeat(count=2){a}}", [RepeatTerm(seq(RepeatTerm(seq(A), number("2"))), number("1"))]),
    ],
)
def test_the_brace_language(graph: str, terms: list[Term]) -> None:
    assert parse_graph(graph) == Pipeline(tuple(terms))


@pytest.mark.parametrize(
    ("graph", "terms"),
    [
        ("(a & b) >> c", [GroupTerm((seq(A), seq(B))), C]),
        ("[a, b] >> c", [GroupTerm((seq(A), seq(B))), C]),
        ("(a, b) >> c", [GroupTerm((seq(A), seq(B))), C]),
        ("(a | b) >> c", [GroupTerm((seq(A), seq(B)), "ANY"), C]),
        ("a & b & c", [GroupTerm((seq(A), seq(B), seq(C)))]),
        ("a >> b & c", [GroupTerm((seq(A, B), seq(C)))]),
        ("a & b | c", [GroupTerm((seq(GroupTerm((seq(A), seq(B)))), seq(C)), "ANY")]),
        ("(a >> b) & c", [GroupTerm((seq(GroupTerm((seq(A, B),))), seq(C)))]),
        ("(a\n >> b\n)", [GroupTerm((seq(A, B),))]),
        ("a[3]", [RepeatTerm(seq(A), number("3"), old=True)]),
        ("(a >> b)[3]", [RepeatTerm(seq(A, B), number("3"), old=True)]),
        ("(a & b)[3]", [RepeatTerm(seq(GroupTerm((seq(A), seq(B)))), number("3"), old=True)]),
        ('a["$ctx.x as y"]', [ForEachTerm(seq(A), text("$ctx.x"), name("y"), old=True)]),
        ('a["$ctx.x"]', [ForEachTerm(seq(A), text("$ctx.x"), old=True)]),
        ('a % "c"', [UntilTerm(seq(A), text("c"), old=True)]),
        ('a % ("c", 5) >> b', [UntilTerm(seq(A), text("c"), number("5"), old=True), B]),
        ('a[2] % "c"', [UntilTerm(seq(RepeatTerm(seq(A), number("2"), old=True)), text("c"), old=True)]),
        (
            'switch("e")["k" >> a, 1 >> b >> c, True >> (a >> b), "*" >> d,]',
            [
                SwitchTerm(
                    text("e"),
                    (
                        SwitchCase(text("k"), seq(A)),
                        SwitchCase(number("1"), seq(B, C)),
                        SwitchCase(name("true"), seq(GroupTerm((seq(A, B),)))),
                        SwitchCase(None, seq(D)),
                    ),
                    old=True,
                )
            ],
        ),
        ("a >> \\\n b", [A, B]),
    ],
)
def test_the_operator_language(graph: str, terms: list[Term]) -> None:
    assert parse_graph(graph) == Pipeline(tuple(terms))


@pytest.mark.parametrize(
    "graph",
    ["a >> b\nc\n(a & c) >> d", "a >> b; c; (a & c) >> d;", "\n\na >> b # x\n\n;c\r\n(a\n& c) >> d\n"],
)
def test_statements_end_with_a_line_or_a_semicolon(graph: str) -> None:
    statements = (seq(A, B), seq(C), seq(GroupTerm((seq(A), seq(C))), D))
    assert parse_graph(graph) == seq(BlockTerm(statements))


def test_a_bracket_on_the_next_line_begins_a_statement() -> None:
    assert parse_graph("a >> b\n[c, d]") == seq(BlockTerm((seq(A, B), seq(GroupTerm((seq(C), seq(D)))))))


def test_terms_know_where_they_stand() -> None:
    (first, loop) = parse_graph("a >>\n  repeat(count=2){\n b}").terms
    assert isinstance(loop, RepeatTerm)
    assert [(term.line, term.column) for term in (first, loop, loop.body.terms[0], loop.count)] == [
        (1, 1),
        (2, 3),
        (3, 2),
        (2, 16),
    ]


@pytest.mark.parametrize(
    ("graph", "line", "column", "message"),
    [
        ("", 1, 1, "the graph is empty"),
        (" # nothing\n ", 2, 2, "the graph is empty"),
        ("a >>", 1, 5, "expected a task name, found the end"),
        (">> a", 1, 1, "expected a task name, found '>>'"),
        ("a >> >> b", 1, 6, "expected a task name"),
        ("a b", 1, 3, "expected '>>' or the end of the statement, found 'b'"),
        ("a >\nb", 1, 3, "unexpected character '>'"),
        ("a -> b", 1, 3, "unexpected character '-'"),
        ("a.b", 1, 1, "expected a task name, found 'a.b'"),
        ("ns/a", 1, 3, "unexpected character '/'"),
        ("1a", 1, 1, "expected a task name"),
        ('a >> "b"', 1, 6, "expected a task name, found the text 'b'"),
        ('pipe("p', 1, 6, "no closing quote"),
        ("repeat(count={{ n ){a}", 1, 14, "no closing '}}'"),
        ("repeat(count={{n}){a}", 1, 14, "no closing '}}'"),
        ("x:pipe(p)", 1, 1, "only a task can have another name"),
        ("x:repeat(count=1){a}", 1, 1, "only a task can have another name"),
        ("x:", 1, 3, "expected the name of a task"),
        ("foo(x=1)", 1, 1, "'foo' is not a form"),
        ("repeat(count=3){}", 1, 17, "expected a task name, found '}'"),
        ("repeat(){a}", 1, 1, "repeat needs count="),
        ('repeat(count=""){a}', 1, 1, "repeat needs count="),
        ("foreach(item=i){a}", 1, 1, "foreach needs over="),
        ("until(max_iter=1){a}", 1, 1, "until needs cond="),
        ("switch(){k: a}", 1, 1, "switch needs on="),
        ("repeat(3){a}", 1, 8, "expected an argument such as count="),
        ("repeat(count=3,){a}", 1, 16, "expected an argument"),
        ("repeat(count=3 collect=list){a}", 1, 16, "expected ',' or ')'"),
        ("repeat(count=-1){a}", 1, 14, "expected a whole number"),
        ("repeat(count=1.5){a}", 1, 14, "expected a whole number"),
        ("repeat(count=){a}", 1, 14, "expected a value for count"),
        ("repeat(count=2)", 1, 16, "expected '{'"),
        ("repeat(count=2){a", 1, 18, "expected '>>' or '}', found the end"),
        ("repeat(count=2){a\nb}", 2, 1, "expected '>>' or '}', found 'b'"),
        ("switch(on=x){k: a k2: b}", 1, 19, "expected '>>', ';' before the next case"),
        ("switch(on=x){k: ;}", 1, 17, "expected a task name"),
        ("switch(on=x){k a}", 1, 16, "expected ':' after the case key"),
        ("switch(on=x){a.b: a}", 1, 14, "expected a case"),
        ("switch(on=x){k: a", 1, 18, "expected '>>', ';'"),
        ("switch(on=x){", 1, 14, "expected a case"),
        ("pipe()", 1, 6, "expected the name of a pipe"),
        ("pipe(a, b)", 1, 7, "expected ')'"),
        ("pipe(1)", 1, 6, "expected the name of a pipe"),
        ("(a & b", 1, 7, "expected ')', ',' or '>>', found the end"),
        ("()", 1, 2, "expected a task name"),
        ("[]", 1, 2, "expected a task name"),
        ("a)", 1, 2, "expected '>>' or the end"),
        ("a[]", 1, 3, "expected a number or a text"),
        ("a[-1]", 1, 3, "expected a whole number"),
        ("a[1.5]", 1, 3, "expected a whole number"),
        ("a[b]", 1, 3, "expected a number or a text"),
        ("a % 3", 1, 5, "expected a condition in quotes"),
        ('a % ("c", "d")', 1, 11, "expected the largest number"),
        ('switch("e")', 1, 12, "expected '[' and the cases"),
        ('switch("e")[]', 1, 13, 'expected a case such as "key" >> task'),
        ('switch("e")[a >> b]', 1, 13, "expected a case"),
        ("x = a >> b", 1, 3, "found '='"),
        ("import os", 1, 8, "found 'os'"),
        ("repeat(count=" + "9" * 101 + "){a}", 1, 14, "more than 100 digits"),
    ],
)
def test_a_syntax_error_shows_the_place(graph: str, line: int, column: int, message: str) -> None:
    with pytest.raises(GraphSyntaxError) as caught:
        parse_graph(graph)
    first, shown, caret, *_ = str(caught.value).split("\n")
    assert message in first
    assert first.endswith(f"(graph, line {line}, column {column})")
    assert graph.split("\n")[line - 1].strip().startswith(shown.strip())
    assert caret.strip() == "^"


def test_the_caret_stands_below_the_problem() -> None:
    with pytest.raises(GraphSyntaxError) as caught:
        parse_graph("first\n>> second >> ]\n>> third")
    assert str(caught.value).split("\n")[1:3] == ["  >> second >> ]", "               ^"]


def test_the_caret_minds_wide_characters_tabs_and_long_lines() -> None:
    with pytest.raises(GraphSyntaxError) as caught:
        parse_graph("\t取得 >> ]")
    assert str(caught.value).split("\n")[1:3] == ["   取得 >> ]", "           ^"]
    with pytest.raises(GraphSyntaxError) as caught:
        parse_graph("a >> " * 1000 + "] >> " + "a >> " * 1000)
    _, shown, caret, *_ = str(caught.value).split("\n")
    assert len(shown) < 120
    assert shown[caret.index("^")] == "]"


@pytest.mark.parametrize(
    ("graph", "hint"),
    [
        ("a > b", "joined with '>>'"),
        ("forech(over=x){a}", "did you mean 'foreach'?"),
        ("repeat(cuont=2){a}", "did you mean 'count'?"),
        ("foreach(over=x, itme=y){a}", "did you mean 'item'?"),
        ("a(x)", "a task is written without parentheses"),
    ],
)
def test_a_syntax_error_helps_where_it_can(graph: str, hint: str) -> None:
    with pytest.raises(GraphSyntaxError, match="hint: ") as caught:
        parse_graph(graph)
    assert hint in str(caught.value)


def test_an_error_in_a_quoted_case_says_where_the_text_is() -> None:
    with pytest.raises(GraphSyntaxError, match=r"\(case text of line 2, line 1, column 5\)"):
        parse_graph('switch(on=x){\n k: "a >>"}')
    with pytest.raises(GraphSyntaxError, match="one sequence, not several statements"):
        parse_graph('switch(on=x){k: "a; b"}')


@pytest.mark.parametrize("alias", ["1x", "params", "a b"])
def test_the_variable_of_a_loop_operator_is_checked(alias: str) -> None:
    with pytest.raises(GraphValidationError, match="loop variable"):
        parse_graph(f'a["$ctx.x as {alias}"]')


def test_only_text_is_a_graph() -> None:
    with pytest.raises(GraphSyntaxError, match="must be text, not int"):
        parse_graph(5)  # type: ignore[arg-type]
    assert issubclass(GraphSyntaxError, ValueError)


@pytest.mark.parametrize(
    "graph",
    [
        "(" * 100_000,
        "(" * 100_000 + "a" + ")" * 100_000,
        "[" * 100_000,
        "a" + "[1]" * 100_000,
        "a" + ' % "c"' * 100_000,
        "repeat(count=1){" * 60_000,
        "switch(on=x){k:" * 60_000,
        'switch("e")["k" >> ' * 50_000,
        "a & (" * 100_000,
        "(" + "(" * 40 + "a" + ")" * 40 + "[1]" * 40 + ")" + "[1]" * 20,
    ],
    ids=lambda graph: graph[:20],
)
def test_no_depth_of_nesting_overflows_the_stack(graph: str) -> None:
    with pytest.raises(GraphSyntaxError, match="levels inside each other"):
        parse_graph(graph)


def test_eighty_levels_are_allowed() -> None:
    parse_graph("(" * 80 + "a" + ")" * 80)
    with pytest.raises(GraphError):
        parse_graph("(" * 81 + "a" + ")" * 81)


def test_quoted_cases_count_as_levels() -> None:
    graph = "a"
    for _ in range(12):
        quoted = graph.replace("\\", "\\\\").replace('"', '\\"')
        graph = f'switch(on=x){{k: "{quoted}"}}' if len(graph) < 20_000 else f"repeat(count=1){{{graph}}}"
    for _ in range(75):
        graph = f"repeat(count=1){{{graph}}}"
    with pytest.raises(GraphSyntaxError, match="levels inside each other"):
        parse_graph(graph)


@pytest.mark.parametrize("piece", ["a >> ", "a & ", "a\n", "x:a >> ", "pipe(p) >> ", "a # c\n >> ", '"', "{{ }} "])
def test_the_effort_grows_only_with_the_length(piece: str) -> None:
    def effort(count: int) -> int:
        def parse() -> None:
            with contextlib.suppress(GraphError):
                parse_graph(piece * count + "a")

        return calls_made(parse)

    # Ten times the text: quadratic work would be a hundred times as much.
    assert effort(2000) < 15 * effort(200)


def test_a_text_of_any_length_is_refused_early() -> None:
    with pytest.raises(GraphSyntaxError, match="longer than"):
        parse_graph("a" * 1_000_001)
