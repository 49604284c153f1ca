"""§13 Quirks that are corrected and have no topic of their own."""

from __future__ import annotations

from typing import Any

from observe import Lab, Observation, Recorder, case

import pyoco
from pyoco import Flow
from pyoco.core.base_task import BaseTask
from pyoco.core.engine import Engine
from pyoco.core.models import RunContext

task: Any = pyoco.task  # the reference takes no options: seen as a plain object here


@case(fixed="Q1", expect={"fields": ["f", 2, 1.5, "isolate", "ANY", {"x": 1}, ["scratch.f"]], "result": 1})
def decorator_takes_options(lab: Lab) -> Observation:
    @task(
        retries=2, timeout_sec=1.5, fail_policy="isolate", trigger_policy="ANY", inputs={"x": 1}, outputs=["scratch.f"]
    )
    def f(x: int) -> int:
        return x

    one = f.task
    fields = [one.name, one.retries, one.timeout_sec, one.fail_policy, one.trigger_policy, one.inputs, one.outputs]
    return {"fields": fields, "result": lab.run(Flow() >> f)["results"]["f"]}


@case(fixed="Q1", expect={"name": "other", "result": {"other": 1}})
def decorator_takes_a_name(lab: Lab) -> Observation:
    @task(name="other")
    def f() -> int:
        return 1

    return {"name": f.task.name, "result": lab.run(Flow() >> f)["results"]}


@case(fixed="Q1", expect={"name": "f"})
def decorator_takes_empty_parentheses(lab: Lab) -> Observation:
    @task()
    def f() -> int:
        return 1

    return {"name": f.task.name}


@case(fixed="Q2", expect={"results": {"run": 42}})
def decorated_method_of_a_base_task_keeps_self(lab: Lab) -> Observation:
    class Mine(BaseTask):
        factor = 2

        @task
        def run(self, ctx: Any) -> Any:
            return ctx.params["x"] * self.factor

    return {"results": lab.run(Flow() >> Mine().run, {"x": 21})["results"]}  # type: ignore[arg-type]


@case(fixed="Q24", expect={"status_at_flow_end": ["COMPLETED"]})
def final_status_is_set_before_the_flow_ends(lab: Lab) -> Observation:
    run = RunContext()
    seen: list[str] = []

    class Backend(Recorder):
        def on_flow_end(self, flow_name: str) -> None:
            seen.append(run.status.name)

    Engine(trace_backend=Backend()).run(Flow() >> lab.task("a"), None, run)  # type: ignore[arg-type]
    return {"status_at_flow_end": seen}


@case()
def collect_leaves_the_node_result_alone(lab: Lab) -> Observation:
    from pyoco.core.models import Task
    from pyoco.dsl.graph import build_flow_from_graph

    tasks = {"a": Task(func=lambda ctx: ctx.get_var("i"), name="a")}
    flow = build_flow_from_graph(graph="foreach(over=xs, item=i, collect=list){ a }", tasks=tasks)
    return lab.run(flow, {"xs": [10, 20]})


@case(fixed="Q4", expect={"status": "COMPLETED", "d": ["a", "b", "c"]})
def lists_may_hold_fragments(lab: Lab) -> Observation:
    a, b, c = lab.tasks("a b c")
    flow = Flow() >> [a >> b, c] >> lab.task("d", lambda ctx: sorted(ctx.results))
    seen = lab.run(flow)
    return {"status": seen["status"], "d": (seen["results"] or {}).get("d")}
