"""§7 Trace hooks and the console trace."""

from __future__ import annotations

import re
from typing import Any

from observe import Lab, Observation, Recorder, case, table

import pyoco
from pyoco import ConsoleTraceBackend, Flow
from pyoco.core.engine import Engine
from pyoco.trace.backend import TraceBackend

TRACE = ("trace",)


@case()
def sequence(lab: Lab) -> Observation:
    return lab.run(Flow("named") >> lab.task("a") >> lab.task("b"), show=TRACE)


@case()
def loop_has_a_pair_per_pass(lab: Lab) -> Observation:
    return lab.run(Flow() >> lab.task("a")[3], show=TRACE)


@case()
def program_failure_ends_the_flow(lab: Lab) -> Observation:
    return lab.run(Flow() >> lab.task("a")[1] >> lab.task("b", lambda: 1 / 0) >> lab.task("c"), show=TRACE)


@case(
    fixed="Q24",
    expect={
        "outcome": "raised",
        "raises": ["ZeroDivisionError"],
        "trace": ["flow starts main", "start a", "error a ZeroDivisionError", "flow ends main"],
    },
)
def dag_failure_ends_the_flow(lab: Lab) -> Observation:
    return lab.run(Flow() >> lab.task("a", lambda: 1 / 0) >> lab.task("b"), show=TRACE)


@case()
def exhausted_retries_are_one_error(lab: Lab) -> Observation:
    return lab.run(Flow() >> lab.task("a", lambda: 1 / 0, retries=1)[1], show=TRACE)


@case()
def hook_arguments(lab: Lab) -> Observation:
    calls: list[Any] = []

    class Backend(TraceBackend):
        def on_flow_start(self, flow_name: str, run_id: str | None = None) -> None:
            calls.append(["flow", flow_name, isinstance(run_id, str)])

        def on_flow_end(self, flow_name: str) -> None:
            calls.append(["end", flow_name])

        def on_node_start(self, node_name: str) -> None:
            calls.append(["node", node_name])

        def on_node_end(self, node_name: str, duration_ms: float) -> None:
            calls.append(["done", node_name, duration_ms >= 0])

        def on_node_error(self, node_name: str, error: Exception) -> None:
            calls.append(["error", node_name, str(error)])

    Engine(trace_backend=Backend()).run(Flow() >> lab.task("a"))
    lab.attempt(lambda: Engine(trace_backend=Backend()).run(Flow() >> lab.task("b", lambda: {}["k"])[1]))
    return {"calls": calls}


@case()
def backend_is_abstract(lab: Lab) -> Observation:
    return lab.builds(lambda: TraceBackend())  # type: ignore[abstract]


@case()
def transition_is_optional_and_never_called(lab: Lab) -> Observation:
    class Backend(Recorder):
        def on_node_transition(self, source: str, target: str) -> None:
            self.events.append("transition")

    backend = Backend()
    Engine(trace_backend=backend).run(Flow() >> lab.task("a") >> lab.task("b"))  # type: ignore[arg-type]
    return {"transition": "transition" in backend.events}


@case(fixed="Q24", expect={"outcome": "returned", "calls": 1})
def raising_hook_does_not_fail_the_task(lab: Lab) -> Observation:
    calls: list[int] = []

    class Backend(Recorder):
        def on_node_end(self, node_name: str, duration_ms: float) -> None:
            raise ValueError("the hook is broken")

    flow = Flow() >> lab.task("a", lambda: calls.append(1), retries=1)
    seen = lab.builds(lambda: Engine(trace_backend=Backend()).run(flow))  # type: ignore[arg-type]
    return {"outcome": seen["outcome"], "calls": len(calls)}


def console(lab: Lab, style: str | None, flow: Flow) -> list[str]:
    """What the console trace prints, with the run id and the durations made equal."""
    with lab.stdout() as out:
        lab.attempt(lambda: Engine(trace_backend=ConsoleTraceBackend(style=style)).run(flow))
    text = re.sub(r"run_id=\S+", "run_id=ID", out.getvalue())
    return re.sub(r"\d+\.\d\d", "0.00", text).splitlines()


@table({"cute": "cute", "plain": "plain"})
def console_lines(lab: Lab, style: str) -> Observation:
    flow = Flow("named") >> lab.task("a") >> lab.task("b")
    return {"lines": console(lab, style, flow)}


@table({"cute": "cute", "plain": "plain"})
def console_error_line(lab: Lab, style: str) -> Observation:
    flow = Flow() >> lab.task("a", lambda: {}["key"])[1]
    return {"lines": console(lab, style, flow)}


@table(
    {"zero": "0", "false": "false", "FALSE": "FALSE", "no": "No", "off": "off", "one": "1", "empty": "", "any": "maybe"}
)
def style_from_the_environment(lab: Lab, value: str) -> Observation:
    with lab.environ(PYOCO_CUTE=value):
        lines = console(lab, None, Flow() >> lab.task("a"))
    return {"plain": lines[0].startswith("INFO pyoco start flow=main")}


@case()
def explicit_style_wins_over_the_environment(lab: Lab) -> Observation:
    with lab.environ(PYOCO_CUTE="0"):
        lines = console(lab, "cute", Flow() >> lab.task("a"))
    return {"plain": lines[0].startswith("INFO")}


@case()
def run_function_is_cute_by_default(lab: Lab) -> Observation:
    with lab.stdout() as out:
        context = pyoco.run(Flow() >> lab.task("a"), {"x": 1})
    return {"results": context.results, "params": context.params, "rabbit": "🐇" in out.getvalue()}


@case()
def run_function_can_be_plain(lab: Lab) -> Observation:
    with lab.stdout() as out:
        pyoco.run(Flow() >> lab.task("a"), cute=False)
    return {"plain": out.getvalue().startswith("INFO pyoco start flow=main run_id=")}


@case(fixed="Q28", expect={"printed": False, "results": {"a": "a"}})
def run_function_can_be_silent(lab: Lab) -> Observation:
    with lab.stdout() as out:
        context = pyoco.run(Flow() >> lab.task("a"), trace=False)
    return {"printed": bool(out.getvalue()), "results": context.results}


@case()
def run_function_raises_the_tasks_error(lab: Lab) -> Observation:
    with lab.stdout():
        return lab.builds(lambda: pyoco.run(Flow() >> lab.task("a", lambda: {}["key"])))
