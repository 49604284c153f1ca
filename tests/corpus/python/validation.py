"""§12 FlowValidator: the report behind `check --dry-run`."""

from __future__ import annotations

from typing import Any

from observe import Lab, Observation, case, table

from pyoco import Flow
from pyoco.dsl.syntax import switch
from pyoco.dsl.validator import FlowValidator

SHAPES: dict[str, Any] = {
    "empty": lambda flow, t: flow,
    "sequence": lambda flow, t: flow >> t[0] >> t[1],
    "groups": lambda flow, t: flow >> t[0] >> (t[1] & t[2]) >> t[3],
    "repeat": lambda flow, t: flow >> t[0][2],
    "foreach": lambda flow, t: flow >> t[0]["$ctx.params.xs as x"],
    "until_with_limit": lambda flow, t: flow >> t[0] % ("$ctx.params.x", 3),
    "until_without_limit": lambda flow, t: flow >> t[0] % "$ctx.params.x",
    "two_untils_without_limit": lambda flow, t: flow >> t[0] % "$ctx.params.x" >> t[1] % "$ctx.params.y",
    "until_in_a_repeat": lambda flow, t: flow >> (t[0] % "$ctx.params.x")[2],
    "switch_with_default": lambda flow, t: flow >> switch("$ctx.params.k")["x" >> t[0], "*" >> t[1]],
    "switch_without_default": lambda flow, t: flow >> switch("$ctx.params.k")["x" >> t[0]],
    "switch_duplicate": lambda flow, t: flow >> switch("$ctx.params.k")["x" >> t[0], "x" >> t[1], "*" >> t[2]],
    "switch_two_defaults": lambda flow, t: flow >> switch("$ctx.params.k")["*" >> t[0], "*" >> t[1]],
    "until_in_a_case": lambda flow, t: flow >> switch("$ctx.params.k")["x" >> t[0] % "$ctx.params.x", "*" >> t[1]],
}


@table(SHAPES)
def report(lab: Lab, build: Any) -> Observation:
    flow = Flow()
    build(flow, lab.tasks("a b c d"))
    found = FlowValidator(flow).validate()
    return {"status": found.status, "warnings": len(found.warnings), "errors": len(found.errors)}


@case()
def report_as_a_dict(lab: Lab) -> Observation:
    found = FlowValidator(Flow() >> lab.task("a") % "$ctx.params.x").validate().to_dict()
    return {"keys": sorted(found), "status": found["status"], "warnings": len(found["warnings"])}


@case()
def validating_runs_nothing(lab: Lab) -> Observation:
    calls: list[int] = []
    FlowValidator(Flow() >> lab.task("a", lambda: calls.append(1))[3]).validate()
    return {"calls": calls}
