"""Drawings of graphs: what runs after what must be visible, whatever the shape."""

from __future__ import annotations

import textwrap

from hypothesis import given
from hypothesis import strategies as st

from pyoco.cli.drawing import ASCII, UNICODE, draw
from pyoco.cli.mermaid import mermaid
from pyoco.cli.structure import Part, Series, Tangle, Together, structure
from pyoco.engine.graph import build_flow_from_graph
from pyoco.engine.plan import Block, Step, TaskStep, add_edge, add_step, make_plan
from pyoco.engine.task import Task


def plan(graph: str, names: str = "a b c d e f") -> Block:
    tasks = {name: Task(func=lambda: None, name=name) for name in names.split()}
    return make_plan(build_flow_from_graph(graph=graph, tasks=tasks))


def picture(text: str) -> str:
    return textwrap.dedent(text).strip("\n")


def test_a_sequence_is_one_line() -> None:
    assert draw(plan("a >> b >> c")) == "a ─▶ b ─▶ c"


def test_a_long_sequence_is_broken_into_lines_of_the_given_width() -> None:
    names = [f"step_{number}" for number in range(50)]
    lines = draw(plan(" >> ".join(names), " ".join(names)), width=80).splitlines()
    assert len(lines) < 15
    assert max(map(len, lines)) <= 80
    assert " ─▶ ".join(lines).replace(" ─▶ ─▶ ", " ─▶ ").replace("  ", "").split(" ─▶ ") == names


def test_parallel_branches_stand_in_a_box() -> None:
    assert draw(plan("flow >> a >> (b & c >> d) >> e", "a b c d e")) == picture(
        """
        a
          ▼
        ┌─ in parallel ─┐
        │ b             │
        │ c ─▶ d        │
        └───────────────┘
          ▼
        e
        """
    )


def test_loops_and_switches_nest() -> None:
    graph = """
    foreach(over={{files}}, item=file, parallel=4) {
      switch(on={{kind}}) { text: a >> b; default: repeat(count=3) { c } }
    } >> until(cond={{$ctx.results.d.done}}, max_iter=9) { d }
    """
    assert draw(plan(graph)) == picture(
        """
        ┌─ foreach file in params.files, 4 at a time ─┐
        │ ┌─ switch on params.kind ─┐                 │
        │ │ text:                   │                 │
        │ │   a ─▶ b                │                 │
        │ ├╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌┤                 │
        │ │ default:                │                 │
        │ │   ┌─ repeat 3 times ─┐  │                 │
        │ │   │ c                │  │                 │
        │ │   └──────────────────┘  │                 │
        │ └─────────────────────────┘                 │
        └─────────────────────────────────────────────┘
          ▼
        ┌─ repeat until results.d.done, at most 9 times ─┐
        │ d                                              │
        └────────────────────────────────────────────────┘
        """
    )


def test_an_order_that_is_neither_series_nor_parallel_names_what_each_waits_for() -> None:
    drawn = draw(plan("a >> c\nb >> c\nb >> d\n(c | d) >> e", "a b c d e"), ASCII)
    assert "| c   (after a, b)" in drawn
    assert "| d   (after b)" in drawn
    assert drawn.endswith("v\ne (after any)")


def test_ascii_drawings_have_no_other_characters() -> None:
    graph = "a >> switch(on={{x}}) { k: b >> c; default: repeat(count=2) { d } } >> e"
    assert draw(plan(graph), ASCII).isascii()
    assert not draw(plan(graph), UNICODE).isascii()


def test_wide_characters_do_not_bend_the_frame() -> None:
    lines = draw(plan("repeat(count=2) { 準備 >> b }", "準備 b")).splitlines()
    assert lines[1] == "│ 準備 ─▶ b        │"


def test_an_empty_plan_says_so() -> None:
    assert draw(Block()) == "(nothing runs)"


def test_mermaid_connects_through_switches_and_loops() -> None:
    graph = "a >> switch(on={{x}}) { 'k\"': b >> c; default: repeat(count=2) { d } } >> e"
    assert mermaid(plan(graph)) == picture(
        """
        flowchart TD
          n1["a"]
          n2{"switch on params.x"}
          n3["b"]
          n4["c"]
          subgraph n5["repeat 2 times"]
            n6["d"]
          end
          n7["e"]
          n3 --> n4
          n2 -->|"k#quot;"| n3
          n2 -->|"default"| n5
          n1 --> n2
          n4 --> n7
          n5 --> n7
        """
    )


@st.composite
def blocks(draw_value: st.DrawFn) -> Block:
    count = draw_value(st.integers(1, 9))
    block = Block()
    for number in range(count):
        add_step(block, Step(f"s{number}", -1))
    for target in range(count):
        for source in draw_value(st.sets(st.integers(0, target - 1))) if target else ():
            add_edge(block, source, target)
    return block


def claims(part: Part) -> set[tuple[str, str]]:
    """Every pair (earlier, later) that the tree says, with tangles taken at their word."""
    if isinstance(part, (Series, Together)):
        inner = set().union(*(claims(child) for child in part.parts))
        if isinstance(part, Series):
            for index, later in enumerate(part.parts):
                for earlier in part.parts[:index]:
                    inner |= {(one, two) for one in labels(earlier) for two in labels(later)}
        return inner
    if isinstance(part, Tangle):
        return closed({(before.label, step.label) for step, earlier in part.steps for before in earlier})
    return set()


def labels(part: Part) -> list[str]:
    if isinstance(part, (Series, Together)):
        return [label for child in part.parts for label in labels(child)]
    return [step.label for step, _ in part.steps] if isinstance(part, Tangle) else [part.label]


def closed(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    while more := {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs:
        pairs = pairs | more
    return pairs


@given(blocks())
def test_the_tree_says_exactly_the_order_of_the_plan(block: Block) -> None:
    tree = structure(block)
    order = {
        (block.steps[source].label, block.steps[target].label)
        for source, targets in enumerate(block.successors)
        for target in targets
    }
    assert claims(tree) == closed(order)
    assert sorted(labels(tree)) == sorted(step.label for step in block.steps)


def test_steps_of_a_plan_are_tasks() -> None:
    assert isinstance(structure(plan("a")), TaskStep)
