"""A run may stop after any recorded step and go on from its journal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pyoco.engine.context import Context
from pyoco.engine.dsl import TaskWrapper, switch, task
from pyoco.engine.engine import Engine
from pyoco.engine.errors import RecordedFailure
from pyoco.engine.flow import Flow
from pyoco.engine.journal import Journal
from pyoco.engine.records import RunContext, RunStatus
from pyoco.engine.trace import SilentTrace
from tests.support.recording import RecordingSink


# Trees of a random flow: ("task", behaviour), ("seq", [...]), ("par", [...]), ("repeat", n, tree), …
def trees_of(behaviours: list[str], *, width: int, until: bool) -> st.SearchStrategy[Any]:
    def grow(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        kinds = [
            st.tuples(st.just("seq"), st.lists(inner, min_size=1, max_size=3)),
            st.tuples(st.just("par"), st.lists(inner, min_size=2, max_size=3)),
            st.tuples(st.just("repeat"), st.integers(0, 2), inner),
            st.tuples(st.just("foreach"), st.integers(1, width), inner),
            st.tuples(st.just("switch"), inner, inner),
        ]
        return st.one_of(*kinds, *([st.tuples(st.just("until"), st.integers(1, 3), inner)] if until else []))

    leaf = st.tuples(st.just("task"), st.sampled_from(behaviours))
    return st.recursive(leaf, grow, max_leaves=7)


COUNTING = ["scratch", "var", "param", "result", "output", "plain", "async"]


class FlowMaker:
    """Builds a flow from a tree. Every task counts, under a key of its own, how often it ran."""

    def __init__(self) -> None:
        self.count = 0

    def build(self, tree: Any) -> Flow:
        return Flow() >> self.task("scratch") >> self.part(tree) >> self.task("plain")

    def task(self, behaviour: str) -> TaskWrapper:
        self.count += 1
        name = f"t{self.count}"
        outputs = [f"scratch.out.{name}"] if behaviour == "output" else []
        return task(name=name, outputs=outputs)(BEHAVIOURS[behaviour](name))

    def part(self, tree: Any) -> Any:
        kind, *rest = tree
        if kind == "task":
            return self.task(rest[0])
        if kind == "seq":
            first, *others = [self.part(inner) for inner in rest[0]]
            for other in others:
                first = first >> other if not isinstance(first, list) else Chain(first) >> other
            return first
        if kind == "par":
            return [self.part(inner) for inner in rest[0]]
        if kind == "switch":
            chosen, other = (as_fragment(self.part(inner)) for inner in rest)
            # What it looks at goes on changing afterwards.
            return switch("$ctx.scratch.t1")[1 >> chosen, "*" >> other]
        # A counter that iterations at the same time share would have no certain value, with or without a stop.
        counter = self.task("scratch" if kind == "until" else "plain")
        body = counter >> self.part(rest[1])
        if kind == "repeat":
            return body[rest[0]]
        if kind == "foreach":
            return body.foreach("$ctx.params.items", item="item", parallel=rest[0])
        return body % (f"$ctx.scratch.{counter.task.name} % {rest[0]} == 0", 10)


def as_fragment(value: Any) -> Any:
    return Chain(value) if isinstance(value, list) else value


def Chain(group: list[Any]) -> Any:
    from pyoco.engine.dsl import ensure_fragment

    return ensure_fragment(group)


def counting(name: str, read: Callable[[Any], Any], write: Callable[[Any, int], None]) -> Callable[..., Any]:
    def run(ctx: Any) -> Any:
        value = (read(ctx) or 0) + 1
        write(ctx, value)
        # Two loops deep in parallel the count depends on timing; the place in the loops does not.
        return [name, [frame.index for frame in ctx.loops]]

    return run


def _set(mapping: str, name: str) -> Callable[[Any, int], None]:
    return lambda ctx, value: getattr(ctx, mapping).__setitem__(name, value)


def _asynchronous(name: str) -> Callable[..., Any]:
    async def run(ctx: Any) -> Any:
        ctx.scratch[name] = ctx.scratch.get(name, 0) + 1
        await asyncio.sleep(0)
        return (name, [frame.index for frame in ctx.loops])

    return run


def _marking(name: str) -> Callable[..., Any]:
    """Leaves its place in the loops everywhere: whatever the order of parallel iterations, the end must be the same."""

    def run(ctx: Any) -> Any:
        place = ctx.loop.path if ctx.loop is not None else "top"
        ctx.scratch[f"{name} at {place}"] = place
        ctx.set_result(f"set_{name}", place)
        return (name, place)

    return run


BEHAVIOURS: dict[str, Callable[[str], Callable[..., Any]]] = {
    "scratch": lambda name: counting(name, lambda ctx: ctx.scratch.get(name), _set("scratch", name)),
    "var": lambda name: counting(name, lambda ctx: ctx.get_var(name), lambda ctx, value: ctx.set_var(name, value)),
    "param": lambda name: counting(name, lambda ctx: ctx.params.get(name), _set("params", name)),
    "result": lambda name: counting(
        name, lambda ctx: ctx.get_result(f"set_{name}"), lambda ctx, value: ctx.set_result(f"set_{name}", value)
    ),
    "output": lambda name: lambda: name,
    "plain": lambda name: lambda: (name, {1, 2}, b"x"),
    "async": _asynchronous,
    "mark": _marking,
}


@dataclass
class Final:
    """What a finished run amounts to."""

    results: dict[str, Any]
    scratch: dict[str, Any]
    params: dict[str, Any]
    variables: dict[str, Any]
    output: Any
    collected: dict[str, Any]

    @classmethod
    def of(cls, ctx: Context) -> Final:
        plain = [dict(part) for part in (ctx.results, ctx.scratch, ctx.params, ctx._vars)]
        return cls(*plain, ctx.output, dict(ctx.collected))


def run_flow(flow: Flow, journal: Journal | None = None) -> tuple[Final, RecordingSink]:
    sink = RecordingSink(Journal.from_json(journal.to_json()) if journal is not None else None)
    ctx = Engine(SilentTrace()).run(flow, {"items": ["a", "b", "c"]}, sink=sink, journal=journal)
    assert ctx.run_context is not None
    assert ctx.run_context.status is RunStatus.COMPLETED
    return Final.of(ctx), sink


def check_cuts(tree: Any, data: st.DataObject) -> None:
    expected, whole = run_flow(FlowMaker().build(tree))
    cuts = data.draw(st.sets(st.integers(0, len(whole.snapshots) - 1), min_size=1, max_size=6), label="cuts")
    for cut in sorted(cuts):
        journal = whole.journal_at(cut)
        recorded = {path for path, entry in journal.nodes.items() if entry.is_final}
        final, sink = run_flow(FlowMaker().build(tree), journal)
        assert final == expected
        assert not recorded & set(sink.started)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tree=trees_of(COUNTING, width=1, until=True), data=st.data())
def test_stopping_anywhere_and_resuming_gives_the_same_end_and_repeats_nothing(tree: Any, data: st.DataObject) -> None:
    check_cuts(tree, data)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tree=trees_of(["mark", "plain", "output"], width=3, until=False), data=st.data())
def test_the_same_holds_for_loops_whose_iterations_run_at_the_same_time(tree: Any, data: st.DataObject) -> None:
    check_cuts(tree, data)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_parallel_loop_resumes_with_the_same_collected_values(data: st.DataObject) -> None:
    def build() -> Flow:
        @task
        def load(item: str) -> str:
            return item * 2

        @task
        def store(load: str, ctx: Any) -> str:
            ctx.scratch[load] = "stored"
            return f"{load}!"

        @task
        def total(ctx: Any) -> list[str]:
            values: list[str] = ctx.collected["store"]
            return values

        return Flow() >> (load >> store).foreach("$ctx.params.items", item="item", parallel=3) >> total

    expected, whole = run_flow(build())
    assert expected.output == ["aa!", "bb!", "cc!"]
    cut = data.draw(st.integers(0, len(whole.snapshots) - 1))
    journal = whole.journal_at(cut)
    recorded = {path for path, entry in journal.nodes.items() if entry.is_final}
    final, sink = run_flow(build(), journal)
    assert final == expected
    assert not recorded & set(sink.started)


def test_a_second_stop_continues_from_the_second_place() -> None:
    tree = ("seq", [("task", "scratch"), ("repeat", 2, ("task", "var")), ("task", "param")])
    expected, whole = run_flow(FlowMaker().build(tree))
    _, again = run_flow(FlowMaker().build(tree), whole.journal_at(4))
    final, third = run_flow(FlowMaker().build(tree), again.journal_at(len(again.snapshots) - 2))
    assert final == expected
    assert len(third.started) <= 1


class Unrecordable:
    """Survives no JSON."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unrecordable)

    __hash__ = None  # type: ignore[assignment]


def test_a_node_whose_value_cannot_be_recorded_runs_again() -> None:
    def build() -> Flow:
        connect = task(name="connect")(Unrecordable)
        use = task(name="use")(lambda connect: isinstance(connect, Unrecordable))
        return Flow() >> connect >> use

    expected, whole = run_flow(build())
    final, again = run_flow(build(), whole.journal_at(len(whole.snapshots) - 1))
    assert final == expected
    assert again.started == ["connect"]


def test_a_node_that_put_something_unrecordable_into_scratch_runs_again() -> None:
    def build() -> Flow:
        @task
        def connect(ctx: Any) -> str:
            ctx.scratch["connection"] = Unrecordable()
            return "connected"

        @task
        def use(ctx: Any) -> bool:
            return isinstance(ctx.scratch["connection"], Unrecordable)

        return Flow() >> connect >> use

    expected, whole = run_flow(build())
    after_connect = next(n for n, text in enumerate(whole.snapshots) if '"connect"' in text and "SUCCEEDED" in text)
    final, again = run_flow(build(), whole.journal_at(after_connect))
    assert final == expected
    assert again.started == ["connect", "use"]


def test_a_recorded_failure_stands() -> None:
    calls: list[str] = []

    @task
    def broken() -> None:
        calls.append("broken")
        raise ValueError("no way")

    sink = RecordingSink()
    with pytest.raises(ValueError, match="no way"):
        Engine(SilentTrace()).run(Flow() >> broken, sink=sink)
    run = RunContext()
    with pytest.raises(RecordedFailure, match="no way"):
        Engine(SilentTrace()).run(Flow() >> broken, run_context=run, journal=sink.journal)
    assert calls == ["broken"]
    assert run.status is RunStatus.FAILED


def test_a_rerun_without_the_failures_starts_at_the_failed_node() -> None:
    attempts: list[str] = []

    @task
    def first() -> int:
        attempts.append("first")
        return 1

    @task
    def second(first: int) -> int:
        attempts.append("second")
        if len(attempts) == 2:
            raise ValueError("not yet")
        return first + 1

    sink = RecordingSink()
    with pytest.raises(ValueError, match="not yet"):
        Engine(SilentTrace()).run(Flow() >> first >> second, sink=sink)
    ctx = Engine(SilentTrace()).run(Flow() >> first >> second, journal=sink.journal.without_failures())
    assert ctx.results == {"first": 1, "second": 2}
    assert attempts == ["first", "second", "second"]


def test_failed_attempts_count_over_a_stop() -> None:
    calls: list[int] = []

    def build() -> Flow:
        @task(retries=2, backoff=0)
        def flaky() -> None:
            calls.append(1)
            raise ValueError("always")

        return Flow() >> flaky

    sink = RecordingSink()
    with pytest.raises(ValueError, match="always"):
        Engine(SilentTrace()).run(build(), sink=sink)
    assert len(calls) == 3
    after_two_failures = next(n for n, text in enumerate(sink.snapshots) if '"RETRYING", "attempt": 2' in text)
    with pytest.raises(ValueError, match="always"):
        Engine(SilentTrace()).run(build(), journal=sink.journal_at(after_two_failures))
    assert len(calls) == 4


@example(changed="b")
@settings(max_examples=5, deadline=None)
@given(changed=st.sampled_from(["a", "b"]))
def test_a_switch_keeps_its_choice_when_what_it_looked_at_has_changed(changed: str) -> None:
    def build() -> Flow:
        decide = task(name="decide", outputs=["scratch.way"])(lambda: "a")
        change = task(name="change", outputs=["scratch.way"])(lambda: changed)
        left, right = task(name="left")(lambda: "left"), task(name="right")(lambda: "right")
        last = task(name="last")(lambda: "last")
        return Flow() >> decide >> switch("$ctx.scratch.way")["a" >> (change >> left), "b" >> right] >> last

    expected, whole = run_flow(build())
    assert "right" not in expected.results
    for cut in range(len(whole.snapshots)):
        final, _ = run_flow(build(), whole.journal_at(cut))
        assert final == expected
