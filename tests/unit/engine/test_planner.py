"""The pure scheduler, driven step by step without running anything."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyoco.engine.dsl import task
from pyoco.engine.errors import FlowCycleError
from pyoco.engine.flow import Flow
from pyoco.engine.plan import TaskStep, make_plan
from pyoco.engine.planner import NodeRun, Planner, Progress
from pyoco.engine.shared import SharedDict
from pyoco.engine.task import Task


def make_task(name: str, trigger: str = "ALL") -> Task:
    return Task(func=lambda: None, name=name, trigger_policy=trigger)


def names(progress: Progress) -> list[str]:
    return [node.step.label for node in progress.ready]


# A random graph: for each node the earlier nodes it depends on, and whether ANY of them is enough.
graphs = st.lists(st.tuples(st.sets(st.integers(0, 11), max_size=3), st.booleans()), min_size=1, max_size=12)


def build(graph: list[tuple[set[int], bool]]) -> tuple[Flow, dict[str, set[str]], dict[str, bool]]:
    flow = Flow()
    tasks = [make_task(f"n{number}", "ANY" if wants_any else "ALL") for number, (_, wants_any) in enumerate(graph)]
    needs: dict[str, set[str]] = {}
    for number, (dependencies, _) in enumerate(graph):
        flow.add_task(tasks[number])
        needs[f"n{number}"] = {f"n{other % number}" for other in dependencies} if number else set()
        for name in needs[f"n{number}"]:
            tasks[number].dependencies.add(tasks[int(name[1:])])
    return flow, needs, {f"n{number}": wants_any for number, (_, wants_any) in enumerate(graph)}


@settings(max_examples=200)
@given(graph=graphs, failing=st.sets(st.integers(0, 11)), seed=st.integers())
def test_every_node_runs_once_after_what_it_needs_or_is_skipped_with_a_failed_input(
    graph: list[tuple[set[int], bool]], failing: set[int], seed: int
) -> None:
    flow, needs, wants_any = build(graph)
    planner = Planner(make_plan(flow), SharedDict())
    shuffle = random.Random(seed)
    succeeded: set[str] = set()
    failed: set[str] = set()
    started: list[str] = []
    open_nodes: list[NodeRun] = []

    def take(progress: Progress) -> None:
        for node in progress.ready:
            name = node.step.label
            met = needs[name] & succeeded
            assert name not in started
            assert (met if wants_any[name] else met == needs[name]) or not needs[name]
            started.append(name)
            open_nodes.append(node)
        for name, _ in progress.skipped:
            lost = needs[name] & failed
            assert (needs[name] <= failed) if wants_any[name] else lost
            failed.add(name)

    take(planner.start())
    while open_nodes:
        node = open_nodes.pop(shuffle.randrange(len(open_nodes)))
        ok = int(node.step.label[1:]) not in failing
        # What is skipped names this node as failed, so it has to be known before.
        (succeeded if ok else failed).add(node.step.label)
        take(planner.finished(node, ok))
    assert succeeded | failed == set(needs)
    assert not succeeded & failed
    assert planner.root.open_steps == 0


def test_finishing_a_node_touches_only_its_own_edges() -> None:
    """The cost of a completion must not grow with the size of the flow."""
    width = 500
    flow = Flow() >> make_task("first") >> [make_task(f"n{number}") for number in range(width)] >> make_task("last")
    plan = make_plan(flow)
    assert sum(len(edges) for edges in plan.successors) == 2 * width
    planner = Planner(plan, SharedDict())
    (first,) = planner.start().ready
    wide = planner.finished(first, ok=True).ready
    assert len(wide) == width
    followers = [planner.finished(node, ok=True) for node in wide]
    assert all(not progress.ready for progress in followers[:-1])
    assert names(followers[-1]) == ["last"]


def test_the_second_mention_of_a_task_is_a_step_of_its_own() -> None:
    a, b = make_task("a"), make_task("b")
    plan = make_plan(Flow() >> a >> b >> a)
    assert [step.label for step in plan.steps] == ["a", "b", "a#2"]
    assert plan.successors == [[1], [2], []]


def test_a_cycle_is_refused_before_anything_runs() -> None:
    a, b = make_task("a"), make_task("b")
    a.dependencies.add(b)
    b.dependencies.add(a)
    flow = Flow()
    flow.add_task(a)
    flow.add_task(b)
    with pytest.raises(FlowCycleError, match=r"(?i)deadlock.*'a'.*'b'"):
        make_plan(flow)


def test_a_dependency_that_is_in_no_flow_is_refused_with_its_name() -> None:
    a, missing = make_task("a"), make_task("missing")
    a.dependencies.add(missing)
    with pytest.raises(RuntimeError, match="'missing', which is not in flow"):
        make_plan(Flow() >> a)


def test_edges_of_another_flow_do_not_count() -> None:
    a, b, c = (task(name=name)(lambda: None) for name in "abc")
    Flow("one") >> a >> c >> b
    plan = make_plan(Flow("two") >> b >> c)
    assert [step.label for step in plan.steps] == ["b", "c"]
    assert plan.successors == [[1], []]


def test_operator_edges_count_for_tasks_added_without_an_order() -> None:
    a, b, c = (task(name=name)(lambda: None) for name in "abc")
    (a & b) >> c
    flow = Flow()
    for wrapper in (c, a, b):
        flow.add_task(wrapper.task)
    plan = make_plan(flow)
    by_name = {step.label: step.index for step in plan.steps}
    assert plan.successors[by_name["a"]] == [by_name["c"]]
    assert plan.successors[by_name["b"]] == [by_name["c"]]


def drive(planner: Planner, answers: dict[str, Any]) -> list[str]:
    """Runs everything to the end; loops and switches get their answers by label."""
    order: list[str] = []
    queue = planner.start().ready
    while queue:
        node = queue.pop(0)
        if isinstance(node.step, TaskStep):
            order.append(node.path)
            queue.extend(planner.finished(node, ok=True).ready)
        else:
            answer = answers[node.step.label]
            queue.extend(planner.entered(node, len(answer), answer).ready)
    return order


def test_paths_name_the_place_in_the_loops() -> None:
    inner = task(name="inner")(lambda: None)
    outer = task(name="outer")(lambda: None)
    body = outer >> inner["$ctx.params.y as y"]
    plan = make_plan(Flow() >> body["$ctx.params.x as x"])
    order = drive(Planner(plan, SharedDict()), {"foreach": ["p", "q"]})
    assert order == [
        "foreach[0]/outer",
        "foreach[0]/foreach[0]/inner",
        "foreach[0]/foreach[1]/inner",
        "foreach[1]/outer",
        "foreach[1]/foreach[0]/inner",
        "foreach[1]/foreach[1]/inner",
    ]


@given(width=st.integers(1, 5), count=st.integers(0, 12), seed=st.integers())
def test_a_parallel_loop_keeps_to_its_width_and_runs_every_item(width: int, count: int, seed: int) -> None:
    body = task(name="body")(lambda: None)
    plan = make_plan(Flow() >> body.foreach("$ctx.params.x", parallel=width))
    planner = Planner(plan, SharedDict())
    (loop,) = planner.start().ready
    shuffle = random.Random(seed)
    open_nodes = planner.entered(loop, count, list(range(count))).ready
    seen: list[str] = []
    while open_nodes:
        assert len(open_nodes) <= width
        node = open_nodes.pop(shuffle.randrange(len(open_nodes)))
        seen.append(node.path)
        open_nodes.extend(planner.finished(node, ok=True).ready)
    assert sorted(seen) == sorted(f"foreach[{index}]/body" for index in range(count))
    assert planner.root.open_steps == 0


def test_a_circle_drawn_by_operators_is_refused() -> None:
    a, b = (task(name=name)(lambda: None) for name in "ab")
    a >> b
    b >> a
    flow = Flow()
    flow.add_task(a.task)
    flow.add_task(b.task)
    with pytest.raises(FlowCycleError):
        make_plan(flow)
