"""§4 DAG mode: readiness, joins, fan-out, concurrency, and what makes a flow impossible."""

from __future__ import annotations

import threading
import time
from typing import Any

from observe import Lab, Observation, case

from pyoco import Flow
from pyoco.core.models import RunContext, Task

ORDER = ("status", "results")


@case()
def empty_flow_completes(lab: Lab) -> Observation:
    return lab.run(Flow("nothing"), show=("status", "results", "states", "trace"))


@case()
def chain_of_fifty(lab: Lab) -> Observation:
    flow = Flow()
    for number in range(50):
        flow >> lab.task(f"t{number}", lambda ctx: len(ctx.results))
    seen = lab.run(flow, show=ORDER)
    return {"status": seen["status"], "in_order": list(seen["results"].values()) == list(range(50))}


@case()
def wide_fan_out_joins_on_all(lab: Lab) -> Observation:
    flow = Flow() >> lab.task("root") >> [lab.task(f"w{n}", lambda: 1) for n in range(30)]
    flow >> lab.task("sum", lambda ctx: sum(v for k, v in ctx.results.items() if k.startswith("w")))
    seen = lab.run(flow, show=ORDER)
    return {"status": seen["status"], "sum": seen["results"]["sum"]}


@case()
def ready_nodes_run_at_the_same_time(lab: Lab) -> Observation:
    barrier = threading.Barrier(4, timeout=10)

    def meet() -> str:
        barrier.wait()
        return "met"

    return lab.run(Flow() >> [lab.task(name, meet) for name in "abcd"])


@case()
def at_most_eight_at_a_time(lab: Lab) -> Observation:
    lock = threading.Lock()
    barrier = threading.Barrier(8, timeout=10)
    now, most = [0], [0]

    def work() -> None:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        barrier.wait()
        time.sleep(0.01)  # gives a ninth the chance to show itself
        with lock:
            now[0] -= 1

    seen = lab.run(Flow() >> [lab.task(f"t{n}", work) for n in range(16)], show=("status",))
    return seen | {"most": most[0]}


@case()
def diamond(lab: Lab) -> Observation:
    a = lab.task("a", lambda: 1)
    b, c = lab.task("b", lambda a: a + 1), lab.task("c", lambda a: a + 2)
    return lab.run(Flow() >> a >> (b & c) >> lab.task("d", lambda b, c: [b, c]))


@case()
def manual_dependencies_are_honoured(lab: Lab) -> Observation:
    first = Task(func=lambda: 1, name="first")
    second = Task(func=lambda first: first + 1, name="second")
    second.dependencies.add(first)
    first.dependents.add(second)
    flow = Flow()
    flow.add_task(second)
    flow.add_task(first)
    return lab.run(flow)


@case()
def manual_dependencies_without_the_back_edge(lab: Lab) -> Observation:
    first, second = Task(func=lambda: 1, name="first"), Task(func=lambda first: first + 1, name="second")
    second.dependencies.add(first)
    flow = Flow()
    flow.add_task(first)
    flow.add_task(second)
    return lab.run(flow)


@case()
def added_task_is_a_root(lab: Lab) -> Observation:
    flow = Flow() >> lab.task("a")
    flow.add_task(Task(func=lambda: "extra", name="extra"))
    return lab.run(flow)


@case()
def any_trigger_needs_one_success(lab: Lab) -> Observation:
    def boom() -> None:
        raise ValueError("boom")

    a, b, c = lab.task("a", boom, fail_policy="isolate"), lab.task("b"), lab.task("c")
    (a | b) >> c
    flow = Flow()
    for one in (a, b, c):
        flow.add_task(one.task)
    return lab.run(flow)


@case()
def any_trigger_starts_before_the_slow_parent(lab: Lab) -> Observation:
    gate = threading.Event()

    def slow() -> bool:
        return gate.wait(10)

    a, b, c = lab.task("a", slow), lab.task("b"), lab.task("c", gate.set)
    (a | b) >> c
    flow = Flow()
    for one in (a, b, c):
        flow.add_task(one.task)
    return lab.run(flow)


@case()
def trigger_policy_may_be_set_by_hand(lab: Lab) -> Observation:
    def boom() -> None:
        raise ValueError("boom")

    flow = Flow() >> [lab.task("a", boom, fail_policy="isolate"), lab.task("b")] >> lab.task("c", trigger_policy="ANY")
    return lab.run(flow)


@case()
def dependency_outside_the_flow(lab: Lab) -> Observation:
    inside = lab.task("inside")
    inside.task.dependencies.add(Task(func=print, name="outside"))
    return lab.run(Flow() >> inside, show=("status", "states"))


def impossible(lab: Lab, flow: Flow) -> Observation:
    """A cycle drawn by hand on the tasks is refused, at build or at run time, whatever the wording."""
    return lab.run(flow, show=("status",))


@case()
def cycle_drawn_by_hand(lab: Lab) -> Observation:
    a, b = Task(func=print, name="a"), Task(func=print, name="b")
    a.dependencies.add(b)
    b.dependencies.add(a)
    flow = Flow()
    flow.add_task(a)
    flow.add_task(b)
    return impossible(lab, flow)


@case()
def self_edge_drawn_by_hand(lab: Lab) -> Observation:
    a = Task(func=print, name="a")
    a.dependencies.add(a)
    flow = Flow()
    flow.add_task(a)
    return impossible(lab, flow)


NO_DEADLOCK = {"deadlock": False}


def deadlocks(lab: Lab, build: Any) -> Observation:
    """Q3 leaves the choice between running the step again and refusing the graph when it is built."""
    built = lab.attempt(build)
    if built["outcome"] == "raised":
        return {"deadlock": False}
    return {"deadlock": lab.run(built["value"])["outcome"] == "raised"}


@case(fixed="Q3", expect=NO_DEADLOCK)
def same_task_twice_in_a_row(lab: Lab) -> Observation:
    a = lab.task("a")
    return deadlocks(lab, lambda: Flow() >> a >> a)


@case(fixed="Q3", expect=NO_DEADLOCK)
def same_task_again_later(lab: Lab) -> Observation:
    a, b = lab.tasks("a b")
    return deadlocks(lab, lambda: Flow() >> (a >> b >> a))


@case(fixed="Q6", expect={"first": "COMPLETED", "second": "COMPLETED"})
def task_in_two_flows_has_no_foreign_edges(lab: Lab) -> Observation:
    a, b, c = lab.tasks("a b c")
    first, second = Flow("first") >> a >> b, Flow("second") >> c >> b
    return {"first": lab.run(first)["status"], "second": lab.run(second)["status"]}


@case(fixed="Q6", expect={"first": "COMPLETED", "second": "COMPLETED"})
def tasks_in_opposite_order_in_two_flows(lab: Lab) -> Observation:
    a, b = lab.tasks("a b")
    first, second = Flow("first") >> a >> b, Flow("second") >> b >> a
    return {"first": lab.run(first)["status"], "second": lab.run(second)["status"]}


@case()
def equal_names_collapse(lab: Lab) -> Observation:
    flow = Flow()
    flow.add_task(Task(func=lambda: 1, name="same"))
    flow.add_task(Task(func=lambda: 2, name="same"))
    return {"tasks": len(flow.tasks)} | lab.run(flow, show=("status", "states"))


@case()
def flow_runs_again_with_fresh_contexts(lab: Lab) -> Observation:
    flow = Flow() >> lab.task("a", lambda ctx: [len(ctx.results), len(ctx.scratch)], outputs=["scratch.a"])
    return {"first": lab.run(flow, {"x": 1}), "second": lab.run(flow, {"x": 2})}


@case(fixed="Q32", expect={"in_order": True})
def run_tasks_keep_the_graph_order(lab: Lab) -> Observation:
    run = RunContext()
    names = "hgfedcba"
    flow = Flow()
    for name in names:
        flow >> lab.task(name)
    lab.run(flow, run_context=run)
    return {"in_order": list(run.tasks) == list(names)}
