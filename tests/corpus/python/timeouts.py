"""§4 `timeout_sec` (Q9: the clock starts with the task, the node fails, a late result is dropped)."""

from __future__ import annotations

import time

from observe import Lab, Observation, case

from pyoco import Flow


def slow() -> str:
    time.sleep(0.5)
    return "late"


@case()
def fast_enough(lab: Lab) -> Observation:
    return lab.one(lambda: "in time", timeout_sec=30)


@case(
    fixed="Q9",
    expect={
        "outcome": "raised",
        "raises": ["TimeoutError", "Exception"],
        "mentions": {"t": True, "0.1": True},
        "status": "FAILED",
        "states": {"t": "FAILED"},
        "record_states": {"t": "FAILED"},
    },
    child=True,
)
def stop_raises_timeout_error(lab: Lab) -> Observation:
    return lab.one(slow, timeout_sec=0.1, show=("status", "states", "record_states"), mention=("t", "0.1"))


@case(
    fixed="Q9",
    expect={
        "outcome": "returned",
        "status": "COMPLETED",
        "results": {"other": "other"},
        "states": {"after": "FAILED", "other": "SUCCEEDED", "t": "FAILED"},
    },
    child=True,
)
def isolate_fails_node_and_dependents(lab: Lab) -> Observation:
    flow = Flow() >> lab.task("t", slow, timeout_sec=0.1, fail_policy="isolate") >> lab.task("after")
    flow.add_task(lab.task("other").task)
    return lab.run(flow)


@case(fixed="Q9", expect={"waited": False}, child=True)
def run_does_not_wait_for_the_stuck_thread(lab: Lab) -> Observation:
    started = time.monotonic()
    lab.one(lambda: time.sleep(5), timeout_sec=0.1)
    return {"waited": time.monotonic() - started > 3}


@case(fixed="Q8", expect={"outcome": "raised", "raises": ["TimeoutError", "Exception"], "status": "FAILED"}, child=True)
def program_mode_has_timeouts_too(lab: Lab) -> Observation:
    return lab.run(Flow() >> lab.task("t", slow, timeout_sec=0.1)[1], show=("status",))


@case(fixed="Q9", expect={"outcome": "returned", "status": "COMPLETED"}, child=True)
def clock_starts_with_the_task_not_in_the_queue(lab: Lab) -> Observation:
    def brief() -> None:
        time.sleep(0.15)

    return lab.run(Flow() >> [lab.task(f"t{n}", brief, timeout_sec=0.6) for n in range(48)], show=("status",))
