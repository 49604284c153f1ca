"""Properties of the graph language over random trees and random text."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from pyoco.engine.errors import ExpressionSyntaxError, GraphError
from pyoco.engine.graph import build_flow_from_graph, parse_graph, resolve_pipe_refs, validate_graph_terms
from pyoco.engine.graph.terms import (
    BlockTerm,
    ForEachTerm,
    GroupTerm,
    LoopTerm,
    Pipeline,
    PipeRefTerm,
    RepeatTerm,
    SwitchCase,
    SwitchTerm,
    TaskTerm,
    Term,
    UntilTerm,
    Value,
    terms_of,
)
from pyoco.engine.task import Task

# --- printing ----------------------------------------------------------------------------------------------------


def show(pipeline: Pipeline) -> str:
    return " >> ".join(show_term(term) for term in pipeline.terms)


def show_term(term: Term) -> str:
    match term:
        case TaskTerm(name=name, node_name=node_name):
            return f"{node_name}: {name}" if node_name else name
        case PipeRefTerm(name=name):
            return f"pipe({quoted(name)})"
        case BlockTerm(statements=statements):
            # A form may go on in the next line, so a task called `repeat` does not end a statement by itself.
            return ";\n".join(map(show, statements))
        case GroupTerm(branches=branches, join=join):
            return f"({(' & ' if join == 'ALL' else ' | ').join(map(show, branches))})"
        case SwitchTerm(old=True):
            cases = ", ".join(f"{show_old_key(case.key)} >> {show(case.branch)}" for case in term.cases)
            return f"switch({show_value(term.on)})[{cases}]"
        case SwitchTerm():
            cases = "; ".join(f"{show_key(case.key)}: {show(case.branch)}" for case in term.cases)
            return f"switch(on={show_value(term.on)}) {{ {cases} }}"
        case LoopTerm(old=True):
            return show_operator(term)
        case RepeatTerm(count=count):
            return show_form("repeat", term, count=count)
        case ForEachTerm(over=over, item=item, index=index, parallel=parallel):
            return show_form("foreach", term, over=over, item=item, index=index, parallel=parallel)
        case UntilTerm(cond=cond, max_iter=max_iter):
            return show_form("until", term, cond=cond, max_iter=max_iter)
    raise AssertionError(term)


def show_form(word: str, term: LoopTerm, **arguments: Value | None) -> str:
    given = {**arguments, "collect": term.collect}
    shown = ", ".join(f"{name}={show_value(value)}" for name, value in given.items() if value is not None)
    return f"{word}({shown}) {{ {show(term.body)} }}"


def show_operator(term: LoopTerm) -> str:
    body = f"({show(term.body)})"
    match term:
        case RepeatTerm(count=count):
            return f"{body}[{count.text}]"
        case ForEachTerm(over=over, item=item):
            return f"{body}[{quoted(over.text + (f' as {item.text}' if item else ''))}]"
        case UntilTerm(cond=cond, max_iter=max_iter):
            return f"{body} % ({quoted(cond.text)}{f', {max_iter.text}' if max_iter else ''})"
    raise AssertionError(term)


def show_value(value: Value) -> str:
    match value.kind:
        case "text":
            return quoted(value.text)
        case "template":
            return "{{ " + value.text + " }}"
    return value.text


def show_key(key: Value | None) -> str:
    return "default" if key is None else show_value(key)


def show_old_key(key: Value | None) -> str:
    if key is None:
        return '"*"'
    return key.text.capitalize() if key.kind == "name" else show_value(key)


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# --- random trees ------------------------------------------------------------------------------------------------

words = st.sampled_from(["a", "b", "c", "größe", "repeat", "switch", "pipe", "flow", "_x1", "default"])
whole = st.integers(0, 999).map(lambda number: Value(str(number), "number"))
texts = st.text(st.characters(codec="utf-8"), max_size=6).map(lambda text: Value(text, "text"))
paths = st.sampled_from([Value("params.l", "path"), Value("item.a.0", "path")])
templates = st.sampled_from(["x", "params.l", "$ctx.a + 1", ""]).map(lambda text: Value(text, "template"))
names = words.map(lambda word: Value(word, "name"))
values = st.one_of(names, whole, texts.filter(lambda value: value.text), paths, templates)
optional = st.one_of(st.none(), values)
keys = st.one_of(
    names.filter(lambda key: key.text != "default"),
    whole,
    texts,
    templates,
    st.sampled_from([Value("-1", "number"), Value("2.5", "number")]),
    st.none(),
)
old_keys = st.one_of(
    texts.filter(lambda key: key.text != "*"),
    whole,
    st.sampled_from([Value("true", "name"), Value("false", "name"), Value("-2.5", "number")]),
    st.none(),
)
sources = st.sampled_from(["$ctx.params.l", "$ctx.x", "[1, 2]"]).map(lambda text: Value(text, "text"))
aliases = st.one_of(st.none(), st.sampled_from(["i", "row"]).map(lambda word: Value(word, "name")))


def pipelines(terms: st.SearchStrategy[Term], most: int = 3) -> st.SearchStrategy[Pipeline]:
    return st.lists(terms, min_size=1, max_size=most).map(lambda found: Pipeline(tuple(found)))


def group(branches: list[Pipeline], join: str) -> GroupTerm:
    """As the parser gives it: parentheses around nothing but a real group are that group."""
    only = branches[0].terms[0]
    if len(branches) == 1 and len(branches[0].terms) == 1 and isinstance(only, GroupTerm) and len(only.branches) > 1:
        return only
    return GroupTerm(tuple(branches), "ALL" if len(branches) == 1 or join == "ALL" else "ANY")


def compound(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    bodies = pipelines(inner)
    cases = st.lists(st.builds(SwitchCase, keys, bodies), max_size=3).map(tuple)
    old_cases = st.lists(st.builds(SwitchCase, old_keys, bodies), min_size=1, max_size=3).map(tuple)
    forms = st.one_of(
        st.builds(RepeatTerm, bodies, values, collect=optional),
        st.builds(ForEachTerm, bodies, values, optional, optional, optional, collect=optional),
        st.builds(UntilTerm, bodies, values, optional, collect=optional),
        st.builds(SwitchTerm, values.filter(lambda value: value.kind != "text"), cases),
    )
    operators = st.one_of(
        st.builds(group, st.lists(bodies, min_size=1, max_size=3), st.sampled_from(["ALL", "ANY"])),
        st.builds(RepeatTerm, bodies, whole, old=st.just(True)),
        st.builds(ForEachTerm, bodies, sources, aliases, old=st.just(True)),
        st.builds(UntilTerm, bodies, texts, st.one_of(st.none(), whole), old=st.just(True)),
        st.builds(SwitchTerm, texts, old_cases, old=st.just(True)),
    )
    return st.one_of(forms, operators)


leaves = st.one_of(
    st.builds(TaskTerm, words, st.one_of(st.none(), words)),
    st.builds(PipeRefTerm, st.sampled_from(["p", "q r", ""])),
)
terms = st.recursive(leaves, compound, max_leaves=10)


def graph_of(statements: list[Pipeline]) -> Pipeline:
    return statements[0] if len(statements) == 1 else Pipeline((BlockTerm(tuple(statements)),))


graphs = st.lists(pipelines(terms), min_size=1, max_size=3).map(graph_of)


@settings(deadline=None)
@given(graphs)
def test_printing_a_tree_and_reading_it_gives_the_same_tree(graph: Pipeline) -> None:
    assert parse_graph(show(graph)) == graph


@settings(deadline=None)
@given(pipelines(terms), st.sampled_from(["", "\t ", " # note ; >>\n", "\n\n"]))
def test_blanks_and_comments_between_tokens_change_nothing(pipeline: Pipeline, gap: str) -> None:
    text = f"{gap}>>{gap}".join(show_term(term) for term in pipeline.terms)
    assert parse_graph(gap + text + gap) == pipeline


@settings(deadline=None)
@given(graphs)
def test_every_term_has_its_place_in_the_text(graph: Pipeline) -> None:
    text = show(graph)
    lines = text.split("\n")
    for term in terms_of(parse_graph(text)):
        if isinstance(term, TaskTerm) and "\r" not in text:
            assert lines[term.line - 1][term.column - 1 :].startswith(term.node_name or term.name)


# --- random text -------------------------------------------------------------------------------------------------

PIECES = ["a", "b", "flow", "x:", ">>", "&", "|", "(", ")", "[", "]", "{", "}", "{{", "}}", ",", ";", ":", "=", "%"]
PIECES += [
    "\n",
    " ",
    "#",
    '"',
    "'",
    "\\",
    "1",
    "-2.5",
    "pipe(",
    "pipe(p)",
    "switch(on=",
    'switch("$ctx.m")[',
    "repeat(",
]
PIECES += [
    "count=2",
    "){",
    "foreach(over=l){",
    "until(cond=x){",
    '"k" >>',
    "k: ",
    "default: ",
    '"$ctx.l as i"',
    "é",
    "\0",
]
hostile = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join))
hostile_tight = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@settings(deadline=None)
@given(st.one_of(hostile, hostile_tight), st.one_of(st.none(), hostile))
def test_random_text_is_a_flow_or_a_graph_error(graph: str, pipe: str | None) -> None:
    tasks = {name: Task(func=lambda: None, name=name) for name in "abk"}
    pipes = None if pipe is None else {"p": pipe}
    error = build_error(graph, tasks, pipes)
    if isinstance(error, ExpressionSyntaxError):
        assert re.search(r"\(.*, line \d+, column \d+\)", str(error))
    else:
        assert error is None or isinstance(error, GraphError)


def build_error(graph: str, tasks: dict[str, Task], pipes: dict[str, str] | None) -> Exception | None:
    try:
        validate_graph_terms(resolve_pipe_refs(parse_graph(graph), pipes))
        build_flow_from_graph(graph=graph, tasks=tasks, pipes=pipes)
    except Exception as error:
        return error
    return None


@settings(deadline=None)
@given(graphs)
def test_resolving_pipes_leaves_none_and_keeps_the_rest(graph: Pipeline) -> None:
    pipes = {"p": "one >> two", "q r": "pipe(p)", "": "pipe('q r') >> three"}
    resolved = list(terms_of(resolve_pipe_refs(graph, pipes)))
    assert not [term for term in resolved if isinstance(term, PipeRefTerm)]
    before = [replace(term) for term in terms_of(graph) if isinstance(term, TaskTerm)]
    after = [term for term in resolved if isinstance(term, TaskTerm) and term.name not in ("one", "two", "three")]
    assert after == before
