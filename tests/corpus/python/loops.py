"""§4 Repeat, foreach, until: how often, with which frames and variables, and what is refused at run time."""

from __future__ import annotations

from typing import Any

from observe import Lab, Observation, case, plain, table

from pyoco import Flow
from pyoco.core.models import RunContext, Task
from pyoco.dsl.expressions import Expression
from pyoco.dsl.syntax import FlowFragment, TaskWrapper

FIELDS = ("name", "type", "index", "iteration", "count", "item", "condition", "path")


class Watcher:
    """A task that notes its loop frames."""

    def __init__(self, lab: Lab) -> None:
        self.frames: list[Any] = []
        self.task: TaskWrapper = lab.task("w", self.note)

    def note(self, ctx: Any) -> int:
        self.frames.append([[plain(getattr(frame, field)) for field in FIELDS] for frame in ctx.loops])
        assert (ctx.loop is None) == (not ctx.loops)
        assert ctx.loop is None or ctx.loop == ctx.loops[-1]
        return len(self.frames)


def frames(lab: Lab, shape: Any, params: dict[str, Any] | None = None) -> Observation:
    watcher = Watcher(lab)
    seen = lab.run(Flow() >> shape(watcher.task), params)
    return seen | {"frames": watcher.frames}


SHAPES: dict[str, tuple[Any, dict[str, Any]]] = {
    "no_loop": (lambda w: w, {}),
    "repeat": (lambda w: w[2], {}),
    "repeat_none": (lambda w: w[0], {}),
    "repeat_true": (lambda w: w[True], {}),
    "repeat_expression": (lambda w: w[Expression("$ctx.params.n + 1")], {"n": 1}),
    "foreach": (lambda w: w["$ctx.params.xs as x"], {"xs": ["p", "q"]}),
    "foreach_without_alias": (lambda w: w["$ctx.params.xs"], {"xs": ["p", "q"]}),
    "foreach_tuple": (lambda w: w["$ctx.params.xs as x"], {"xs": (1,)}),
    "foreach_none_items": (lambda w: w["$ctx.params.xs as x"], {"xs": [None, None]}),
    "foreach_empty": (lambda w: w["$ctx.params.xs as x"], {"xs": []}),
    "foreach_dicts": (lambda w: w["$ctx.params.xs as x"], {"xs": [{"k": 1}]}),
    "until": (lambda w: w % "$ctx.results.w >= 3", {}),
    "until_first": (lambda w: w % "$ctx.results.w >= 1", {}),
    "until_limit_just_reached": (lambda w: w % ("$ctx.results.w == 2", 2), {}),
    "until_truthy": (lambda w: w % ("$ctx.results.w", 5), {}),
    "until_default_limit": (lambda w: w % ("$ctx.results.w == 2", None), {}),
    "repeat_in_foreach": (lambda w: w[2]["$ctx.params.xs as g"], {"xs": ["p", "q"]}),
    "foreach_in_repeat": (lambda w: w["$ctx.params.xs as g"][2], {"xs": ["p", "q"]}),
    "until_in_repeat_in_foreach": (
        lambda w: (w % ("$ctx.loop.iteration == 2", 5))[2]["$ctx.params.xs as g"],
        {"xs": [1]},
    ),
    "repeat_in_repeat": (lambda w: w[2][2], {}),
    "loop_then_plain": (lambda w: w[1] >> w, {}),
    "plain_then_loop": (lambda w: w >> w[2], {}),
    "inner_count_from_the_item": (lambda w: w[Expression("$ctx.n")]["$ctx.params.ns as n"], {"ns": [1, 0, 2]}),
    "inner_source_from_the_item": (lambda w: w["$ctx.row as cell"]["$ctx.params.rows as row"], {"rows": [[1], [2, 3]]}),
    "inner_source_from_an_items_field": (lambda w: w["$ctx.o.xs as x"]["$ctx.params.os as o"], {"os": [{"xs": [7]}]}),
}


@table(SHAPES)
def frames_of(lab: Lab, row: tuple[Any, dict[str, Any]]) -> Observation:
    return frames(lab, row[0], row[1])


BAD_COUNTS = {"float": 2.0, "text": "2", "none": None, "list": [1], "negative": -1}


@table(BAD_COUNTS)
def repeat_refuses(lab: Lab, count: Any) -> Observation:
    return frames(lab, lambda w: w[Expression("$ctx.params.n")], {"n": count})


BAD_SOURCES: dict[str, Any] = {
    "text": "ab",
    "dict": {"a": 1},
    "set": {1},
    "range": range(2),
    "none": None,
    "number": 3,
    "generator": (n for n in (1,)),
}


@table(BAD_SOURCES)
def foreach_refuses(lab: Lab, source: Any) -> Observation:
    return frames(lab, lambda w: w["$ctx.params.xs as x"], {"xs": source})


MISSING: dict[str, Any] = {
    "foreach": lambda w: w["$ctx.params.nope as x"],
    "repeat": lambda w: w[Expression("$ctx.params.nope")],
    "until": lambda w: w % "$ctx.scratch.nope",
}


@table(MISSING)
def missing_path(lab: Lab, shape: Any) -> Observation:
    return frames(lab, shape)


@case()
def until_over_the_limit(lab: Lab) -> Observation:
    watcher = Watcher(lab)
    flow = Flow() >> watcher.task % ("$ctx.results.w > 99", 3)
    seen = lab.run(flow, mention=("$ctx.results.w > 99", "3"))
    return seen | {"passes": len(watcher.frames)}


@case()
def until_default_limit_is_a_thousand(lab: Lab) -> Observation:
    watcher = Watcher(lab)
    seen = lab.run(Flow() >> watcher.task % "$ctx.params.never", {"never": False}, show=("status",))
    return seen | {"passes": len(watcher.frames)}


@case()
def until_error_has_its_attributes(lab: Lab) -> Observation:
    from pyoco.core.exceptions import ControlFlowError, UntilMaxIterationsExceeded

    error = UntilMaxIterationsExceeded("$ctx.x", 3)
    return {"attributes": [error.expression, error.max_iter], "family": isinstance(error, ControlFlowError)}


@case()
def repeat_count_is_evaluated_once(lab: Lab) -> Observation:
    body = lab.task("w", lambda ctx: ctx.params.update(n=99))
    return lab.run(Flow() >> body[Expression("$ctx.params.n")], {"n": 2}, show=("status", "trace"))


@case()
def foreach_source_is_evaluated_once(lab: Lab) -> Observation:
    body = lab.task("w", lambda ctx: ctx.scratch.update(xs=[1] * 50))
    setup = lab.task("setup", lambda: [1, 2], outputs=["scratch.xs"])
    return lab.run(Flow() >> setup >> body["$ctx.scratch.xs as x"], show=("status", "trace"))


@case()
def last_pass_stays_in_results_and_record(lab: Lab) -> Observation:
    body = lab.task("w", lambda ctx: ctx.loop.item * 10)
    return lab.run(Flow() >> body["$ctx.params.xs as x"], {"xs": [1, 2, 3]}, show=("status", "results", "outputs"))


@case()
def body_of_two_runs_in_order(lab: Lab) -> Observation:
    return lab.run(Flow() >> (lab.task("a") >> lab.task("b"))[2] >> lab.task("c"), show=("status", "trace"))


@case()
def failure_in_a_pass_ends_the_run(lab: Lab) -> Observation:
    def func(ctx: Any) -> int:
        if ctx.loop.index == 1:
            raise ValueError("second pass")
        return int(ctx.loop.index)

    flow = Flow() >> (lab.task("a", func) >> lab.task("b"))[3] >> lab.task("c")
    return lab.run(flow, show=("status", "states", "trace", "errors"))


@case()
def retries_inside_a_loop(lab: Lab) -> Observation:
    calls: list[int] = []

    def func(ctx: Any) -> int:
        calls.append(ctx.loop.index)
        if len(calls) % 2:
            raise ValueError("odd")
        return len(calls)

    seen = lab.run(Flow() >> lab.task("a", func, retries=1)[2], show=("status", "results", "trace"))
    return seen | {"calls": calls}


@case()
def added_task_stays_pending_in_program_mode(lab: Lab) -> Observation:
    flow = Flow() >> lab.task("a")[1]
    flow.add_task(Task(func=lambda: "extra", name="extra"))
    return lab.run(flow)


# Time-outs that end a node, and one scheduler for loops and plain graphs, need the caller's thread to stay free.
@case(
    fixed="Q9",
    expect={"outcome": "returned", "status": "COMPLETED", "states": {"a": "SUCCEEDED"}, "results": {"a": False}},
)
def program_mode_runs_in_the_callers_thread(lab: Lab) -> Observation:
    import threading

    caller = threading.get_ident()
    return lab.run(Flow() >> lab.task("a", lambda: threading.get_ident() == caller)[1])


@case()
def variables_of_a_foreach(lab: Lab) -> Observation:
    notes: list[Any] = []

    def note(ctx: Any) -> None:
        notes.append([ctx.get_var("x"), ctx.get_var("x", "gone")])

    seen = lab.run(
        Flow() >> lab.task("a", note)["$ctx.params.xs as x"] >> lab.task("b", note), {"xs": [1, 2]}, show=("status",)
    )
    return seen | {"notes": notes}


@case()
def nested_variables_are_all_visible(lab: Lab) -> Observation:
    notes: list[Any] = []
    body = lab.task("a", lambda ctx: notes.append([ctx.get_var("x"), ctx.get_var("y")]))
    flow = Flow() >> body["$ctx.params.ys as y"]["$ctx.params.xs as x"]
    seen = lab.run(flow, {"xs": [1, 2], "ys": ["p", "q"]}, show=("status",))
    return seen | {"notes": notes}


@case(fixed="Q15", expect={"outcome": "returned", "status": "COMPLETED", "notes": [1, "p", 1, 2, "p", 2]})
def inner_loop_restores_the_outer_alias(lab: Lab) -> Observation:
    notes: list[Any] = []

    def note(name: str) -> TaskWrapper:
        return lab.task(name, lambda ctx: notes.append(ctx.get_var("x")))

    body: FlowFragment = note("before") >> note("inside")["$ctx.params.ys as x"] >> note("after")
    seen = lab.run(Flow() >> body["$ctx.params.xs as x"], {"xs": [1, 2], "ys": ["p"]}, show=("status",))
    return seen | {"notes": notes}


@case()
def set_var_is_seen_by_conditions(lab: Lab) -> Observation:
    body = lab.task("a", lambda ctx: ctx.set_var("done", ctx.loop.iteration == 3))
    return lab.run(Flow() >> body % "$ctx.done", show=("status", "trace"))


@case()
def fixed_names_win_over_variables(lab: Lab) -> Observation:
    body = lab.task("a", lambda ctx: ctx.set_var("params", {"stop": False}))
    return lab.run(Flow() >> body % ("$ctx.params.stop", 2), {"stop": True}, show=("status", "trace"))


@case(
    fixed="Q4",
    expect={
        "outcome": "returned",
        "status": "COMPLETED",
        "states": {"a": "SUCCEEDED", "b": "SUCCEEDED", "c": "SUCCEEDED", "d": "SUCCEEDED", "e": "SUCCEEDED"},
    },
)
def groups_lists_and_raw_tasks_beside_a_loop_run(lab: Lab) -> Observation:
    a, b, c, d, e = lab.tasks("a b c d e")
    return lab.run(Flow() >> (a & b) >> c[1] >> [d] >> e.task, show=("status", "states"))


@case()
def several_loops_and_tasks_share_one_record(lab: Lab) -> Observation:
    run = RunContext()
    a = lab.task("a", lambda ctx: ctx.loop.path if ctx.loop else "plain")
    seen = lab.run(Flow() >> a[2] >> a >> a["$ctx.params.xs as x"], {"xs": [0]}, run_context=run)
    return seen | {"records": list(run.task_records)}
