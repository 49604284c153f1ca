"""§2 Reference syntax: only a string that starts with `$`, resolved when the node starts."""

from __future__ import annotations

import dataclasses
from typing import Any

from observe import Lab, Observation, case, table

from pyoco import Flow


@dataclasses.dataclass
class Box:
    value: Any


SOURCE: dict[str, Any] = {"a": {"b": 1}, "list": [10, 20], "box": Box({"deep": "down"}), "0": "zero", "none": None}

FOUND = {
    "whole_output": "$node.src.output",
    "field": "$node.src.output.a",
    "two_fields": "$node.src.output.a.b",
    "attribute": "$node.src.output.box.value",
    "attribute_then_item": "$node.src.output.box.value.deep",
    "numeric_key": "$node.src.output.0",
    "none": "$node.src.output.none",
    "param": "$ctx.params.p",
    "param_with_dots": "$ctx.params.dotted.key",
    "param_none": "$ctx.params.nothing",
    "environment": "$env.CORPUS_ENV",
    "leading_blank_is_literal": " $ctx.params.p",
    "embedded_is_literal": "see $ctx.params.p",
    "number_is_literal": 5,
    "list_is_literal": ["$ctx.params.p"],
    "dict_is_literal": {"k": "$ctx.params.p"},
    "empty_string": "",
}


def run_with(lab: Lab, reference: Any, mention: tuple[str, ...] = ()) -> Observation:
    flow = Flow() >> lab.task("src", lambda: SOURCE) >> lab.task("t", lambda x: x, inputs={"x": reference})
    with lab.environ(CORPUS_ENV="from environment"):
        seen = lab.run(
            flow, {"p": "param", "dotted.key": 7, "nothing": None}, show=("status", "outputs"), mention=mention
        )
    seen["output"] = seen.pop("outputs").get("t")
    return seen


@table(FOUND)
def resolves(lab: Lab, reference: Any) -> Observation:
    return run_with(lab, reference)


MISSING = {
    "node": ("$node.unknown.output", "unknown"),
    "node_before_its_field": ("$node.unknown.output.x", "unknown"),
    "param": ("$ctx.params.unknown", "unknown"),
    "param_dotted": ("$ctx.params.p.q", "p.q"),
    "environment": ("$env.CORPUS_UNKNOWN", "CORPUS_UNKNOWN"),
    "own_output": ("$node.t.output", "t"),
    "key": ("$node.src.output.unknown", "unknown"),
    "attribute": ("$node.src.output.box.unknown", "unknown"),
    "list_index": ("$node.src.output.list.0", "0"),
    "through_none": ("$node.src.output.none.x", "x"),
}


@table(MISSING)
def is_missing(lab: Lab, row: tuple[str, str]) -> Observation:
    return run_with(lab, row[0], (row[1],))


MALFORMED = [
    "$", "$$", "$flow.x", "$node", "$node.", "$node.src", "$node.src.result", "$node.src.outputs", "$node..output",
    "$node.a.b.output", "$NODE.src.output", "$ctx", "$ctx.", "$ctx.params", "$ctx.params.", "$ctx.scratch.x",
    "$ctx.results.src", "$env", "$env.",
]  # fmt: skip


@table({text: text for text in MALFORMED})
def is_malformed(lab: Lab, reference: str) -> Observation:
    return run_with(lab, reference, (reference,))


@case()
def invalid_reference_error_has_its_attributes(lab: Lab) -> Observation:
    from pyoco.core.exceptions import InvalidReferenceError

    error = InvalidReferenceError("$x", "because")
    text = str(error)
    return {"reference": error.reference, "reason": error.reason, "text": ["$x" in text, "because" in text]}


@case()
def context_env_wins_over_the_environment(lab: Lab) -> Observation:
    from pyoco.core.context import Context

    with lab.environ(CORPUS_ENV="outer"):
        inner = Context(env={"CORPUS_ENV": "inner"}).resolve("$env.CORPUS_ENV")
        outer = Context().resolve("$env.CORPUS_ENV")
    return {"inner": inner, "outer": outer}


@case()
def set_result_is_referable_and_bindable(lab: Lab) -> Observation:
    flow = Flow() >> lab.task("a", lambda ctx: ctx.set_result("virtual", 42))
    flow >> lab.task("b", lambda virtual: virtual) >> lab.task("c", lambda x: x, inputs={"x": "$node.virtual.output"})
    return lab.run(flow)


@case()
def reference_sees_mutations_of_the_value(lab: Lab) -> Observation:
    def grow(a: list[int]) -> None:
        a.append(2)

    flow = Flow() >> lab.task("a", lambda: [1]) >> lab.task("b", grow)
    flow >> lab.task("c", lambda x: x, inputs={"x": "$node.a.output"})
    return lab.run(flow)


@case()
def reference_to_an_object_passes_the_object_itself(lab: Lab) -> Observation:
    box = Box(1)
    flow = Flow() >> lab.task("a", lambda: box) >> lab.task("b", lambda x: x is box, inputs={"x": "$node.a.output"})
    return lab.run(flow)


@case()
def failed_resolution_is_retried(lab: Lab) -> Observation:
    def late(ctx: Any) -> None:
        ctx.scratch["tries"] = 1

    flow = Flow() >> lab.task("a", late)
    flow >> lab.task("t", lambda x: x, inputs={"x": "$ctx.params.missing"}, retries=1)
    return lab.run(flow, show=("status", "states", "nodes"))


@case()
def resolution_failure_under_isolate(lab: Lab) -> Observation:
    flow = Flow() >> lab.task("t", lambda x: x, inputs={"x": "$ctx.params.missing"}, fail_policy="isolate")
    return lab.run(flow, show=("status", "states", "record_states"))


@case()
def loop_node_reference_means_the_latest_pass(lab: Lab) -> Observation:
    seen: list[Any] = []

    def note(x: Any) -> None:
        seen.append(x)

    body = lab.task("n", lambda ctx: ctx.loop.index) >> lab.task("m", note, inputs={"x": "$node.n.output"})
    return lab.run(Flow() >> body[3], show=("status",)) | {"seen": seen}
