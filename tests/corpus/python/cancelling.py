"""§4 Cancellation: cooperative, from another thread or from inside a task."""

from __future__ import annotations

import threading
import time
from typing import Any

from observe import Lab, Observation, Recorder, case, pick

from pyoco import Flow
from pyoco.core.engine import Engine
from pyoco.core.models import RunContext, RunStatus

SHOW = ("status", "states", "record_states", "results", "trace")


def cancelled_inside(lab: Lab, build: Any, show: tuple[str, ...] = SHOW) -> Observation:
    """Run a flow one of whose tasks calls `cancel` on its own run."""
    trace, run = Recorder(), RunContext()
    engine = Engine(trace_backend=trace)  # type: ignore[arg-type]
    flow = build(lambda: engine.cancel(run.run_id))
    seen = lab.attempt(lambda: engine.run(flow, None, run))
    return {"outcome": seen["outcome"]} | pick(show, run, seen.get("value"), trace)


@case()
def pending_tasks_become_cancelled(lab: Lab) -> Observation:
    return cancelled_inside(lab, lambda cancel: Flow() >> lab.task("a", cancel) >> lab.task("b") >> lab.task("c"))


@case()
def cancelled_records_have_an_end(lab: Lab) -> Observation:
    run = RunContext()
    engine = Engine(trace_backend=Recorder())  # type: ignore[arg-type]
    engine.run(Flow() >> lab.task("a", lambda: engine.cancel(run.run_id)) >> lab.task("b"), None, run)
    record = run.task_records["b"]
    return {
        "started": record.started_at is not None,
        "ended": record.ended_at is not None,
        "run": run.end_time is not None,
    }


@case()
def tasks_see_is_cancelled(lab: Lab) -> Observation:
    seen: list[bool] = []

    def build(cancel: Any) -> Flow:
        def func(ctx: Any) -> None:
            seen.append(ctx.is_cancelled)
            cancel()
            seen.append(ctx.is_cancelled)

        return Flow() >> lab.task("a", func) >> lab.task("b")

    return cancelled_inside(lab, build, ("status",)) | {"seen": seen}


@case()
def program_mode_stops_before_the_next_node(lab: Lab) -> Observation:
    return cancelled_inside(lab, lambda cancel: Flow() >> lab.task("a", cancel) >> lab.task("b")[2] >> lab.task("c"))


@case()
def program_mode_stops_between_passes(lab: Lab) -> Observation:
    def build(cancel: Any) -> Flow:
        def func(ctx: Any) -> None:
            if ctx.loop.index == 1:
                cancel()

        return Flow() >> lab.task("a", func)[5] >> lab.task("b")

    return cancelled_inside(lab, build)


@case()
def until_loop_can_be_cancelled(lab: Lab) -> Observation:
    def build(cancel: Any) -> Flow:
        def func(ctx: Any) -> int:
            if ctx.loop.iteration == 3:
                cancel()
            return int(ctx.loop.iteration)

        return Flow() >> lab.task("a", func) % "$ctx.results.a > 100" >> lab.task("b")

    return cancelled_inside(lab, build, ("status", "states", "results"))


@case(fixed="Q10", expect={"outcome": "returned", "status": "CANCELLED", "states": {"a": "SUCCEEDED"}})
def cancel_during_the_last_node(lab: Lab) -> Observation:
    return cancelled_inside(lab, lambda cancel: Flow() >> lab.task("a", cancel), ("status", "states"))


@case(fixed="Q10", expect={"outcome": "returned", "status": "CANCELLED", "states": {"a": "SUCCEEDED"}})
def cancel_during_the_last_node_of_a_program(lab: Lab) -> Observation:
    return cancelled_inside(lab, lambda cancel: Flow() >> lab.task("a", cancel)[1], ("status", "states"))


@case()
def cancel_from_another_thread(lab: Lab) -> Observation:
    run, trace = RunContext(), Recorder()
    engine = Engine(trace_backend=trace)  # type: ignore[arg-type]
    started = threading.Event()

    def wait(ctx: Any) -> str:
        started.set()
        deadline = time.monotonic() + 10
        while not ctx.is_cancelled and time.monotonic() < deadline:
            time.sleep(0.005)
        return "saw it" if ctx.is_cancelled else "never saw it"

    def cancel() -> None:
        started.wait(10)
        engine.cancel(run.run_id)

    other = threading.Thread(target=cancel)
    other.start()
    context = engine.run(Flow() >> lab.task("a", wait) >> lab.task("b"), None, run)
    other.join()
    return pick(("status", "states", "results"), run, context, trace)


@case()
def cancel_of_an_unknown_run_is_nothing(lab: Lab) -> Observation:
    return lab.builds(lambda: Engine(trace_backend=Recorder()).cancel("no such run"))  # type: ignore[arg-type]


@case()
def cancel_of_a_finished_run_is_nothing(lab: Lab) -> Observation:
    run = RunContext()
    engine = Engine(trace_backend=Recorder())  # type: ignore[arg-type]
    engine.run(Flow() >> lab.task("a"), None, run)
    engine.cancel(run.run_id)
    return {"status": run.status.name}


@case()
def cancelling_is_seen_while_the_task_still_runs(lab: Lab) -> Observation:
    run = RunContext()
    engine = Engine(trace_backend=Recorder())  # type: ignore[arg-type]
    seen: list[str] = []

    def func() -> None:
        engine.cancel(run.run_id)
        seen.append(run.status.name)
        engine.cancel(run.run_id)
        seen.append(run.status.name)

    engine.run(Flow() >> lab.task("a", func) >> lab.task("b"), None, run)
    return {"seen": seen, "status": run.status.name}


@case()
def context_knows_cancelling_and_cancelled(lab: Lab) -> Observation:
    from pyoco.core.context import Context

    run = RunContext()
    context = Context(run_context=run)
    answers = {}
    for status in RunStatus:
        run.status = status
        answers[status.name] = context.is_cancelled
    return answers


@case()
def failure_after_a_cancel_request(lab: Lab) -> Observation:
    """The task that was running when the request came ends as it ends."""

    def build(cancel: Any) -> Flow:
        def func() -> None:
            cancel()
            raise ValueError("while cancelling")

        return Flow() >> lab.task("a", func, fail_policy="isolate") >> lab.task("b")

    return {"a": cancelled_inside(lab, build, ("states",))["states"]["a"]}
