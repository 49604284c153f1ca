"""§2 Outputs: the result under the node's name, and dotted paths below scratch, results and params."""

from __future__ import annotations

import dataclasses
from typing import Any

from observe import Lab, Observation, case, table

from pyoco import Flow

SHOW = ("status", "results", "scratch", "params")

PATHS: dict[str, list[str]] = {
    "scratch": ["scratch.a"],
    "scratch_nested": ["scratch.a.b.c"],
    "results": ["results.other"],
    "results_nested": ["results.other.deep"],
    "params": ["params.p"],
    "params_nested": ["params.p.q"],
    "several": ["scratch.a", "scratch.b", "params.c"],
    "same_twice": ["scratch.a", "scratch.a"],
    "own_name": ["results.t"],
    "under_own_plain_result": ["results.t.x"],
    "env_root_ignored": ["env.x"],
    "artifacts_root_ignored": ["artifacts.x"],
    "unknown_root_ignored": ["bogus.x"],
    "bare_word_ignored": ["bogus"],
    "empty_ignored": [""],
    "ignored_one_does_not_stop_the_next": ["bogus.x", "scratch.a"],
}


@table(PATHS)
def stores(lab: Lab, outputs: list[str]) -> Observation:
    return lab.one(lambda: 5, outputs=outputs, show=SHOW)


@case()
def intermediate_that_is_no_dict_cancels_only_that_save(lab: Lab) -> Observation:
    flow = Flow() >> lab.task("a", lambda: 1, outputs=["scratch.x"])
    flow >> lab.task("b", lambda: 2, outputs=["scratch.x.y", "scratch.z"])
    return lab.run(flow, show=SHOW)


@case()
def intermediate_dicts_are_shared(lab: Lab) -> Observation:
    flow = (
        Flow() >> lab.task("a", lambda: 1, outputs=["scratch.x.a"]) >> lab.task("b", lambda: 2, outputs=["scratch.x.b"])
    )
    return lab.run(flow, show=SHOW)


@case()
def output_into_params_feeds_the_next_task(lab: Lab) -> Observation:
    flow = Flow() >> lab.task("a", lambda: 7, outputs=["params.x"]) >> lab.task("b", lambda x: x + 1)
    return lab.run(flow, {"x": 1}, show=SHOW)


@case()
def output_into_results_is_bindable_and_referable(lab: Lab) -> Observation:
    flow = Flow() >> lab.task("a", lambda: 7, outputs=["results.seven"]) >> lab.task("b", lambda seven: seven)
    flow >> lab.task("c", lambda x: x, inputs={"x": "$node.seven.output"})
    return lab.run(flow)


@case()
def output_dict_can_be_extended_by_a_path(lab: Lab) -> Observation:
    flow = Flow() >> lab.task("a", lambda: {"k": 1}) >> lab.task("b", lambda: 2, outputs=["results.a.extra"])
    return lab.run(flow)


@case(fixed="Q22", expect={"outcome": "returned", "status": "COMPLETED", "params": {"x": 5}, "callers": {"x": 1}})
def callers_params_are_not_mutated(lab: Lab) -> Observation:
    mine = {"x": 1}
    seen = lab.one(lambda: 5, mine, outputs=["params.x"], show=("status", "params"))
    return seen | {"callers": mine}


@case(fixed="Q23", expect={"outcome": "returned", "status": "COMPLETED", "has_key": False})
def bare_scratch_is_no_key_of_scratch(lab: Lab) -> Observation:
    seen = lab.one(lambda: 5, outputs=["scratch"], show=("status", "scratch"))
    return {"outcome": seen["outcome"], "status": seen["status"], "has_key": "scratch" in seen["scratch"]}


@case()
def default_result_is_none(lab: Lab) -> Observation:
    return lab.one(lambda: None, outputs=["scratch.none"], show=SHOW)


@dataclasses.dataclass
class Thing:
    name: str


VALUES: dict[str, Any] = {
    "object": Thing("x"),
    "tuple": (1, 2),
    "set": {1, 2},
    "bytes": b"\x00\xff",
    "lambda": lambda: 1,
    "nested": {"a": [Thing("y"), (1,)]},
    "float_nan_free": 1.5,
    "big_int": 2**80,
    "true": True,
}


@table(VALUES)
def any_value_is_stored_by_reference(lab: Lab, value: Any) -> Observation:
    flow = Flow() >> lab.task("a", lambda: value, outputs=["scratch.v"])
    flow >> lab.task("b", lambda a, ctx: [a is value, ctx.scratch["v"] is value])
    return lab.run(flow, show=("status", "results"))


@case()
def generator_result_is_passed_on_unconsumed(lab: Lab) -> Observation:
    flow = Flow() >> lab.task("a", lambda: (n for n in (1, 2))) >> lab.task("b", lambda a: list(a))
    return lab.run(flow)


@case()
def failed_task_stores_nothing(lab: Lab) -> Observation:
    def boom() -> None:
        raise ValueError("boom")

    flow = Flow() >> lab.task("a", boom, outputs=["scratch.a"], fail_policy="isolate")
    return lab.run(flow, show=("status", "results", "scratch"))


@case()
def five_megabytes_are_fine(lab: Lab) -> Observation:
    flow = Flow() >> lab.task("a", lambda: "x" * 5_000_000) >> lab.task("b", lambda a: len(a))
    seen = lab.run(flow, show=("status", "results"))
    seen["results"].pop("a")
    return seen
