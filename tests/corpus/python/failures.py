"""§4 Failure policies, retries and what the caller of run() gets to see."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from typing import Any

from observe import Lab, Observation, case, table

from pyoco import Flow
from pyoco.core.engine import Engine
from pyoco.core.models import RunContext

STATES = ("status", "states", "record_states")


def boom() -> None:
    raise ValueError("boom")


def flaky(failures: int) -> Any:
    left = [failures]

    def func() -> str:
        if left[0] > 0:
            left[0] -= 1
            raise RuntimeError(f"{left[0]} failures left")
        return "fine"

    return func


@case()
def stop_ends_scheduling(lab: Lab) -> Observation:
    flow = Flow() >> lab.task("a") >> lab.task("b", boom) >> lab.task("c") >> lab.task("d")
    return lab.run(flow, show=(*STATES, "errors"), mention=("boom",))


@case()
def stop_lets_running_tasks_finish(lab: Lab) -> Observation:
    started = threading.Event()

    def slow() -> str:
        started.set()
        time.sleep(0.1)
        return "slow"

    def fail() -> None:
        started.wait(10)
        raise ValueError("boom")

    return lab.run(Flow() >> [lab.task("slow", slow), lab.task("fail", fail)] >> lab.task("after"), show=STATES)


@table({"retry": "retry", "unknown": "whatever"})
def other_policies_mean_stop(lab: Lab, policy: str) -> Observation:
    return lab.run(Flow() >> lab.task("a", boom, fail_policy=policy) >> lab.task("b"), show=STATES)


@case()
def run_raises_the_very_exception(lab: Lab) -> Observation:
    class Special(Exception):
        def __init__(self) -> None:
            super().__init__("special")
            self.code = 7

    mine = Special()

    def fail() -> None:
        raise mine from KeyError("origin")

    try:
        Engine(trace_backend=_silent()).run(Flow() >> lab.task("a", fail))
    except Special as error:
        return {"same": error is mine, "code": error.code, "cause": type(error.__cause__).__name__}
    return {"same": False}


@case()
def program_mode_raises_the_very_exception(lab: Lab) -> Observation:
    mine = ValueError("mine")

    def fail() -> None:
        raise mine

    try:
        Engine(trace_backend=_silent()).run(Flow() >> lab.task("a", fail)[2])
    except ValueError as error:
        return {"same": error is mine}
    return {"same": False}


def _silent() -> Any:
    from observe import Recorder

    return Recorder()


@table({"plain": ValueError("text"), "empty": ValueError(), "key": KeyError("k"), "two": ValueError("a", 2)})
def record_error_is_the_text_of_the_exception(lab: Lab, error: Exception) -> Observation:
    def fail() -> None:
        raise error

    return lab.one(fail, show=("status", "errors"))


@case()
def traceback_names_the_user_function(lab: Lab) -> Observation:
    run = RunContext()
    lab.run(Flow() >> lab.task("a", boom), run_context=run)
    text = run.task_records["a"].traceback or ""
    return {"has": [word in text for word in ("Traceback", "boom", "ValueError", "failures.py")]}


@case()
def isolate_alone_completes(lab: Lab) -> Observation:
    return lab.one(boom, fail_policy="isolate", show=(*STATES, "errors"))


@case()
def isolate_leaves_other_branches_alone(lab: Lab) -> Observation:
    flow = Flow() >> [lab.task("bad", boom, fail_policy="isolate"), lab.task("good")]
    return lab.run(flow, show=STATES)


@case(
    fixed="Q25",
    expect={
        "outcome": "returned",
        "status": "COMPLETED",
        "states": {"a": "FAILED", "b": "FAILED", "c": "SUCCEEDED"},
        "record_states": {"a": "FAILED", "b": "FAILED", "c": "SUCCEEDED"},
        "reason": True,
    },
)
def isolate_fails_the_dependents(lab: Lab) -> Observation:
    run = RunContext()
    flow = Flow() >> lab.task("a", boom, fail_policy="isolate") >> lab.task("b")
    flow.add_task(lab.task("c").task)
    seen = lab.run(flow, show=STATES, run_context=run)
    return seen | {"reason": bool(run.task_records["b"].error)}


CONE = {"a": "FAILED", "b": "FAILED", "c": "FAILED", "d": "FAILED"}


@case(fixed="Q7", expect={"outcome": "returned", "status": "COMPLETED", "states": CONE})
def isolate_fails_the_whole_cone(lab: Lab) -> Observation:
    flow = Flow() >> lab.task("a", boom, fail_policy="isolate") >> lab.task("b") >> lab.task("c") >> lab.task("d")
    return lab.run(flow, show=("status", "states"))


@case(
    fixed="Q7",
    expect={
        "outcome": "returned",
        "status": "COMPLETED",
        "states": {"a": "FAILED", "b": "SUCCEEDED", "c": "FAILED", "d": "FAILED"},
    },
)
def isolate_fails_a_join_and_what_follows(lab: Lab) -> Observation:
    flow = Flow() >> (lab.task("a", boom, fail_policy="isolate") & lab.task("b")) >> lab.task("c") >> lab.task("d")
    return lab.run(flow, show=("status", "states"))


@case()
def any_node_fails_when_all_parents_failed(lab: Lab) -> Observation:
    flow = Flow() >> [lab.task(name, boom, fail_policy="isolate") for name in "ab"]
    flow >> lab.task("c", trigger_policy="ANY")
    return lab.run(flow, show=("status", "states"))


@case()
def any_node_runs_after_an_isolated_failure_and_feeds_on(lab: Lab) -> Observation:
    flow = Flow() >> [lab.task("a", boom, fail_policy="isolate"), lab.task("b")]
    flow >> lab.task("c", lambda ctx: sorted(ctx.results), trigger_policy="ANY") >> lab.task("d", lambda c: c)
    return lab.run(flow)


@case()
def stop_failure_next_to_an_isolated_one(lab: Lab) -> Observation:
    flow = Flow() >> lab.task("a", boom, fail_policy="isolate")
    flow.add_task(lab.task("b", lambda: 1 / 0).task)
    return lab.run(flow, show=("status",))


@case(
    fixed="Q24",
    expect={"outcome": "returned", "trace": ["flow starts main", "start a", "error a ValueError", "flow ends main"]},
)
def isolated_failure_is_traced_once(lab: Lab) -> Observation:
    return lab.run(Flow() >> lab.task("a", boom, fail_policy="isolate"), show=("trace",))


@case()
def retries_until_success(lab: Lab) -> Observation:
    return lab.one(flaky(2), retries=2, show=("status", "results", "states", "record_states", "trace"))


@case()
def retries_exhausted(lab: Lab) -> Observation:
    return lab.one(flaky(3), retries=1, show=("status", "states", "errors"), mention=("1 failures left",))


@case()
def zero_retries_is_one_attempt(lab: Lab) -> Observation:
    return lab.one(flaky(1), retries=0, show=("status", "states"))


@case()
def attempts_are_counted(lab: Lab) -> Observation:
    calls: list[int] = []

    def fail() -> None:
        calls.append(1)
        raise ValueError("always")

    seen = lab.one(fail, retries=2, show=("status",))
    return seen | {"calls": len(calls)}


@case()
def pause_between_attempts(lab: Lab) -> Observation:
    times: list[float] = []

    def fail() -> None:
        times.append(time.monotonic())
        raise ValueError("always")

    lab.one(fail, retries=2)
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    return {"gaps": [0.09 <= gap < 1 for gap in gaps]}


@case()
def retries_under_isolate(lab: Lab) -> Observation:
    return lab.one(flaky(1), retries=1, fail_policy="isolate", show=("status", "results", "states"))


@case()
def retries_exhausted_under_isolate(lab: Lab) -> Observation:
    return lab.one(flaky(5), retries=1, fail_policy="isolate", show=("status", "results", "states"))


@case(
    fixed="Q32",
    expect={"outcome": "returned", "status": "COMPLETED", "errors": {"t": None}, "traceback": False},
)
def success_after_a_retry_clears_the_error(lab: Lab) -> Observation:
    run = RunContext()
    seen = lab.run(Flow() >> lab.task("t", flaky(1), retries=1), show=("status", "errors"), run_context=run)
    return seen | {"traceback": run.task_records["t"].traceback is not None}


@case()
def retries_rebind_the_arguments(lab: Lab) -> Observation:
    def func(ctx: Any, x: int = 0) -> int:
        if x == 0:
            ctx.params["x"] = 5
            raise ValueError("not yet")
        return x

    return lab.one(func, retries=1, show=("status", "results", "inputs"))


@case(fixed="Q26", expect={"status": "FAILED", "state": "FAILED"})
def system_exit_fails_the_run(lab: Lab) -> Observation:
    def leave() -> None:
        raise SystemExit(3)

    run = RunContext()
    with contextlib.suppress(BaseException):
        Engine(trace_backend=_silent()).run(Flow() >> lab.task("a", leave), None, run)
    return {"status": run.status.name, "state": run.tasks["a"].name}


@case(fixed="Q8", expect={"outcome": "returned", "status": "COMPLETED", "a": "FAILED", "b": "SUCCEEDED"})
def isolate_in_program_mode(lab: Lab) -> Observation:
    flow = Flow() >> lab.task("b")[1] >> lab.task("a", boom, fail_policy="isolate")
    seen = lab.run(flow, show=("status", "states"))
    return {"outcome": seen["outcome"], "status": seen["status"]} | {name: seen["states"][name] for name in "ab"}


@case(fixed="Q11", expect={"outcome": "returned", "status": "COMPLETED", "results": {"t": 7}}, child=True)
def async_tasks_are_awaited(lab: Lab) -> Observation:
    async def func(x: int) -> int:
        return x

    return lab.one(func, {"x": 7}, show=("status", "results"))
