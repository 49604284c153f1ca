"""§4 Switch: the first equal case, else the default, else an error."""

from __future__ import annotations

from typing import Any

from observe import Lab, Observation, case, table

from pyoco import Flow
from pyoco.dsl.syntax import switch

VALUES: dict[str, tuple[Any, Any]] = {
    "text": ("x", "x"),
    "text_miss": ("x", "y"),
    "int": (1, 1),
    "int_matches_true": (1, True),
    "int_matches_float": (1, 1.0),
    "float": (1.5, 1.5),
    "true": (True, True),
    "true_matches_one": (True, 1),
    "false_matches_zero": (False, 0),
    "text_is_no_int": ("1", 1),
    "int_is_no_text": (1, "1"),
    "empty_text": ("", ""),
    "unicode": ("größe", "größe"),
    "unhashable_value": ("x", ["x"]),
    "none_value": ("x", None),
}


@table(VALUES)
def case_value(lab: Lab, row: tuple[Any, Any]) -> Observation:
    a, other = lab.tasks("a other")
    flow = Flow() >> switch("$ctx.params.k")[row[0] >> a, "*" >> other]
    return lab.run(flow, {"k": row[1]})


@case()
def no_match_and_no_default(lab: Lab) -> Observation:
    flow = Flow() >> lab.task("before") >> switch("$ctx.params.k")["x" >> lab.task("a")] >> lab.task("after")
    return lab.run(flow, {"k": "y"}, mention=("$ctx.params.k",))


@case()
def no_match_error_has_its_attributes(lab: Lab) -> Observation:
    from pyoco.core.exceptions import ControlFlowError, SwitchNoMatch

    error = SwitchNoMatch("$ctx.x")
    return {"expression": error.expression, "family": isinstance(error, ControlFlowError)}


@case()
def first_of_two_equal_cases_wins(lab: Lab) -> Observation:
    a, b = lab.tasks("a b")
    return lab.run(Flow() >> switch("$ctx.params.k")["x" >> a, "x" >> b], {"k": "x"})


@case()
def default_may_stand_first(lab: Lab) -> Observation:
    a, b = lab.tasks("a b")
    return lab.run(Flow() >> switch("$ctx.params.k")["*" >> a, "x" >> b], {"k": "x"})


@case()
def literal_star_value_takes_the_default(lab: Lab) -> Observation:
    a, b = lab.tasks("a b")
    return lab.run(Flow() >> switch("$ctx.params.k")["x" >> a, "*" >> b], {"k": "*"})


@case()
def missing_path_fails(lab: Lab) -> Observation:
    return lab.run(Flow() >> switch("$ctx.params.k")["x" >> lab.task("a")], mention=("$ctx.params.k",))


@case()
def comparison_as_the_subject(lab: Lab) -> Observation:
    a, b = lab.tasks("a b")
    flow = Flow() >> lab.task("n", lambda: 5) >> switch("$ctx.results.n > 3")[True >> a, False >> b]
    return lab.run(flow)


@case()
def subject_from_a_result_field(lab: Lab) -> Observation:
    a, b = lab.tasks("a b")
    flow = Flow() >> lab.task("n", lambda: {"kind": "b"}) >> switch("$ctx.results.n.kind")["a" >> a, "b" >> b]
    return lab.run(flow)


@case()
def branch_of_two_then_more(lab: Lab) -> Observation:
    a, b, c, d = lab.tasks("a b c d")
    return lab.run(
        Flow() >> switch("$ctx.params.k")["x" >> (a >> b), "*" >> c] >> d, {"k": "x"}, show=("status", "trace")
    )


@case()
def nested_switch(lab: Lab) -> Observation:
    a, b, c = lab.tasks("a b c")
    inner = switch("$ctx.params.n")[1 >> a, 2 >> b]
    return lab.run(Flow() >> switch("$ctx.params.k")["x" >> inner, "*" >> c], {"k": "x", "n": 2})


@case()
def switch_in_a_foreach(lab: Lab) -> Observation:
    even, odd = lab.tasks("even odd")
    body = switch("$ctx.n % 2")[0 >> even, 1 >> odd]
    return lab.run(Flow() >> body["$ctx.params.ns as n"], {"ns": [1, 2, 3]}, show=("status", "trace"))


@case()
def loop_in_a_branch(lab: Lab) -> Observation:
    a, b = lab.tasks("a b")
    return lab.run(Flow() >> switch("$ctx.params.k")["x" >> a[2], "*" >> b], {"k": "x"}, show=("status", "trace"))


@case()
def switch_pushes_no_frame(lab: Lab) -> Observation:
    a = lab.task("a", lambda ctx: [frame.path for frame in ctx.loops])
    return lab.run(Flow() >> switch("$ctx.params.k")["x" >> a][2], {"k": "x"}, show=("status", "results"))


@case()
def untaken_branch_stays_pending(lab: Lab) -> Observation:
    a, b = lab.tasks("a b")
    return lab.run(
        Flow() >> switch("$ctx.params.k")["x" >> a, "y" >> b], {"k": "y"}, show=("status", "states", "record_states")
    )


@case()
def same_task_in_two_branches(lab: Lab) -> Observation:
    a, b = lab.tasks("a b")
    return lab.run(Flow() >> switch("$ctx.params.k")["x" >> (a >> b), "y" >> b], {"k": "y"}, show=("status", "trace"))
