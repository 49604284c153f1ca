"""§6 RunContext and task records."""

from __future__ import annotations

import json
import time
from typing import Any

from observe import Lab, Observation, Recorder, case, table

from pyoco import Flow
from pyoco.core.engine import Engine
from pyoco.core.models import RunContext, RunStatus, TaskRecord, TaskState

NINE = ["artifacts", "duration_ms", "ended_at", "error", "inputs", "output", "started_at", "state", "traceback"]


def engine() -> Engine:
    return Engine(trace_backend=Recorder())  # type: ignore[arg-type]


@case()
def enumerations(lab: Lab) -> Observation:
    return {
        "run": {status.name: status.value for status in RunStatus},
        "task": {state.name: state.value for state in TaskState},
    }


@case()
def run_context_defaults(lab: Lab) -> Observation:
    one, two = RunContext(), RunContext()
    return {
        "flow_name": one.flow_name,
        "status": one.status.name,
        "empty": [one.params, one.tasks, one.task_records, one.metadata, one.logs, one.log_bytes],
        "end_time": one.end_time,
        "run_id": [len(one.run_id), one.run_id != two.run_id],
        "start_time": abs(one.start_time - time.time()) < 5,
    }


@case()
def task_record_defaults(lab: Lab) -> Observation:
    record = TaskRecord()
    return {
        "state": record.state.name,
        "rest": [record.started_at, record.ended_at, record.duration_ms, record.error, record.traceback],
        "values": [record.inputs, record.output, record.artifacts],
    }


@case()
def callers_run_context_is_filled_in_place(lab: Lab) -> Observation:
    run = RunContext(run_id="mine", metadata={"k": 1})
    context = engine().run(Flow("named") >> lab.task("a"), {"x": 1}, run)
    return {
        "same": context.run_context is run,
        "run_id": run.run_id,
        "flow_name": run.flow_name,
        "params": run.params,
        "metadata": run.metadata,
        "ended": run.end_time is not None and run.end_time >= run.start_time,
        "status": run.status.name,
    }


@case()
def run_context_stays_inspectable_after_a_failure(lab: Lab) -> Observation:
    run = RunContext()
    seen = lab.run(Flow() >> lab.task("a", lambda: 1 / 0) >> lab.task("b"), run_context=run)
    return seen | {"ended": run.end_time is not None}


@case()
def all_tasks_are_pending_first(lab: Lab) -> Observation:
    def look(ctx: Any) -> dict[str, str]:
        return {name: state.name for name, state in sorted(ctx.run_context.tasks.items())}

    return lab.run(Flow() >> lab.task("a", look) >> lab.task("b", look) >> lab.task("c", look), show=("results",))


@case()
def metadata_and_status_are_the_callers(lab: Lab) -> Observation:
    run = RunContext()
    flow = Flow() >> lab.task("a", lambda ctx: ctx.run_context.metadata.update(seen=True))
    engine().run(flow, None, run)
    run.metadata["after"] = 1
    run.status = RunStatus.FAILED
    return {"metadata": run.metadata, "status": run.status.name}


@case(fixed="Q26", expect={"outcome": "returned", "status": "COMPLETED", "states": {"a": "SUCCEEDED"}})
def pending_run_context_runs(lab: Lab) -> Observation:
    run = RunContext(status=RunStatus.PENDING)
    return lab.run(Flow() >> lab.task("a"), show=("status", "states"), run_context=run)


@case()
def times_of_a_success(lab: Lab) -> Observation:
    run = RunContext()
    engine().run(Flow() >> lab.task("a", lambda: time.sleep(0.02)), None, run)
    record = run.task_records["a"]
    assert record.started_at is not None
    assert record.ended_at is not None
    assert record.duration_ms is not None
    return {
        "ordered": record.started_at <= record.ended_at,
        "epoch": abs(record.ended_at - time.time()) < 5,
        "milliseconds": 15 <= record.duration_ms < 5000,
    }


@case()
def times_of_a_failure(lab: Lab) -> Observation:
    run = RunContext()
    lab.run(Flow() >> lab.task("a", lambda: 1 / 0), run_context=run)
    record = run.task_records["a"]
    return {"set": [value is not None for value in (record.started_at, record.ended_at, record.duration_ms)]}


@case()
def started_at_is_that_of_the_first_attempt(lab: Lab) -> Observation:
    tries: list[float] = []

    def func() -> None:
        tries.append(time.time())
        if len(tries) == 1:
            raise ValueError("first")

    run = RunContext()
    lab.run(Flow() >> lab.task("a", func, retries=1), run_context=run)
    started = run.task_records["a"].started_at
    assert started is not None
    return {"first": started <= tries[0] + 0.05, "before_second": started < tries[1]}


@case()
def pending_record_has_no_times(lab: Lab) -> Observation:
    run = RunContext()
    lab.run(Flow() >> lab.task("a", lambda: 1 / 0) >> lab.task("b"), run_context=run)
    record = run.task_records["b"]
    return {"state": record.state.name, "times": [record.started_at, record.ended_at, record.duration_ms]}


@case()
def inputs_are_the_bound_arguments_without_ctx(lab: Lab) -> Observation:
    flow = Flow() >> lab.task("x", lambda: 3)
    flow >> lab.task("t", lambda ctx, x, p, i, d=1: None, inputs={"i": "$node.x.output"})
    return lab.run(flow, {"p": "param", "unused": 1}, show=("inputs",))


@case()
def artifacts_of_a_record_stay_empty(lab: Lab) -> Observation:
    run = RunContext()
    lab.run(Flow() >> lab.task("a", lambda ctx: ctx.save_artifact("x", "data")), run_context=run)
    return {"artifacts": run.task_records["a"].artifacts}


@case()
def serialized_records_have_nine_keys(lab: Lab) -> Observation:
    run = RunContext()
    lab.run(Flow() >> lab.task("a", lambda x: x) >> lab.task("b", lambda: 1 / 0), {"x": 5}, run_context=run)
    rows = run.serialize_task_records()
    return {
        "keys": {name: [key for key in NINE if key in row] for name, row in rows.items()},
        "states": {name: row["state"] for name, row in rows.items()},
        "a": [rows["a"]["inputs"], rows["a"]["output"], rows["a"]["error"]],
        "b": rows["b"]["error"],
    }


VALUES: dict[str, Any] = {
    "plain": {"a": [1, "x", None, 1.5, True]},
    "object": object,
    "bytes": b"x",
    "set": {1},
    "tuple": (1, 2),
}


@table(VALUES)
def serialized_records_are_json(lab: Lab, value: Any) -> Observation:
    run = RunContext()
    lab.run(Flow() >> lab.task("a", lambda x: x, inputs={"x": value}), run_context=run)
    row = json.loads(json.dumps(run.serialize_task_records()["a"]))
    return {"inputs": row["inputs"], "output": row["output"]}


@case()
def serialized_object_in_a_dict(lab: Lab) -> Observation:
    class Thing:
        def __repr__(self) -> str:
            return "Thing!"

    run = RunContext()
    lab.run(Flow() >> lab.task("a", lambda: {"k": Thing()}), run_context=run)
    output = run.serialize_task_records()["a"]["output"]
    return {"has_repr": "Thing!" in json.dumps(output)}


@case()
def append_log_numbers_and_ignores_empty_text(lab: Lab) -> Observation:
    run = RunContext()
    run.append_log("t", "stdout", "one")
    run.append_log("t", "stdout", "")
    run.append_log("u", "stderr", "two")
    first, second = run.drain_logs(), run.drain_logs()
    run.append_log("t", "stdout", "three")
    return {
        "logs": [[log["seq"], log["task"], log["stream"], log["text"]] for log in run.logs],
        "drained": [[log["seq"] for log in batch] for batch in (first, second, run.drain_logs())],
        "keys": sorted(run.logs[0]),
    }
