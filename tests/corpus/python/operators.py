"""§3 Operators: which edges they draw, what they return, and what they refuse."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from observe import Lab, Observation, case, table

from pyoco import Flow
from pyoco.core.models import Task
from pyoco.dsl.expressions import Expression
from pyoco.dsl.syntax import Branch, FlowFragment, Parallel, TaskWrapper, switch

ABCD = Callable[[TaskWrapper, TaskWrapper, TaskWrapper, TaskWrapper], Any]


def edges(*wrappers: TaskWrapper) -> dict[str, list[str]]:
    return {one.task.name: sorted(other.name for other in one.task.dependencies) for one in wrappers}


EDGES: dict[str, ABCD] = {
    "sequence": lambda a, b, c, d: a >> b >> c >> d,
    "sequence_of_fragments": lambda a, b, c, d: (a >> b) >> (c >> d),
    "and_join": lambda a, b, c, d: (a & b) >> c,
    "and_join_then_more": lambda a, b, c, d: (a & b) >> c >> d,
    "or_join": lambda a, b, c, d: (a | b) >> c,
    "and_to_and": lambda a, b, c, d: (a & b) >> (c & d),
    "and_to_list": lambda a, b, c, d: (a & b) >> [c, d],
}


@table(EDGES)
def edges_on_the_tasks(lab: Lab, expression: ABCD) -> Observation:
    wrappers = lab.tasks("a b c d")
    expression(*wrappers)
    return {"edges": edges(*wrappers), "triggers": {one.task.name: one.task.trigger_policy for one in wrappers}}


FLOWS: dict[str, tuple[Callable[[Flow, list[TaskWrapper]], Any], str]] = {
    "one_by_one": (lambda flow, t: flow >> t[0] >> t[1] >> t[2] >> t[3], "a b c d"),
    "fragments": (lambda flow, t: flow >> (t[0] >> t[1]) >> (t[2] >> t[3]), "a b c d"),
    "fan_out_and_join": (lambda flow, t: flow >> t[0] >> (t[1] & t[2]) >> t[3], "a bc d"),
    "fan_out_list": (lambda flow, t: flow >> t[0] >> [t[1], t[2]] >> t[3], "a bc d"),
    "fan_out_tuple": (lambda flow, t: flow >> t[0] >> (t[1], t[2]) >> t[3], "a bc d"),
    "group_first": (lambda flow, t: flow >> (t[0] & t[1]) >> t[2] >> t[3], "ab c d"),
    "two_groups": (lambda flow, t: flow >> (t[0] & t[1]) >> (t[2] & t[3]), "ab cd"),
    "raw_tasks": (lambda flow, t: flow >> t[0].task >> t[1].task >> [t[2].task, t[3].task], "a b cd"),
    "list_of_one": (lambda flow, t: flow >> [t[0]] >> [t[1]] >> t[2] >> t[3], "a b c d"),
    "statements": (lambda flow, t: [flow >> one for one in t], "a b c d"),
}


def meeting_tasks(lab: Lab, names: str) -> list[TaskWrapper]:
    """Tasks that note the results they find, and end only when all of them have looked."""
    meeting = threading.Barrier(len(names), timeout=10)

    def look(ctx: Any) -> list[str]:
        found = sorted(ctx.results)
        meeting.wait()
        return found

    return [lab.task(name, look) for name in names]


@table(FLOWS)
def order_in_a_flow(lab: Lab, row: tuple[Callable[[Flow, list[TaskWrapper]], Any], str]) -> Observation:
    """Seen by running: which results each task found. The members of a group never see each other's."""
    build, groups = row
    wrappers = [one for group in groups.split() for one in meeting_tasks(lab, group)]
    flow = Flow("ordered")
    build(flow, wrappers)
    return lab.run(flow) | {"control_flow": flow.has_control_flow(), "name": flow.name}


ONLY_ORDER = {"outcome": "returned", "status": "COMPLETED"}


@case(fixed="Q5", expect=ONLY_ORDER | {"results": {"a": [], "b": [], "c": [], "d": ["a", "b", "c"]}})
def three_in_one_group(lab: Lab) -> Observation:
    a, b, c = (lab.task(name, list) for name in "abc")
    flow = Flow() >> (a & b & c) >> lab.task("d", lambda ctx: sorted(ctx.results))
    return lab.run(flow, show=("status", "results"))


@case(fixed="Q5", expect=ONLY_ORDER | {"results": {"a": [], "b": ["a"], "c": ["a"], "d": ["a", "b", "c"]}})
def fan_out_without_a_flow(lab: Lab) -> Observation:
    a = lab.task("a", list)
    b, c = (lab.task(name, lambda ctx: [n for n in sorted(ctx.results) if n == "a"]) for name in "bc")
    d = lab.task("d", lambda ctx: sorted(ctx.results))
    return lab.run(Flow() >> (a >> (b & c)) >> d, show=("status", "results"))


@case(fixed="Q5", expect={"outcome": "returned", "status": "COMPLETED", "c": "SUCCEEDED"})
def or_group_in_a_flow_joins_on_any(lab: Lab) -> Observation:
    def boom() -> None:
        raise ValueError("boom")

    flow = Flow() >> (lab.task("a", boom, fail_policy="isolate") | lab.task("b")) >> lab.task("c")
    seen = lab.run(flow, show=("status", "states"))
    return {"outcome": seen["outcome"], "status": seen["status"], "c": seen["states"]["c"]}


TYPES: dict[str, tuple[ABCD, type]] = {
    "wrapper_is_fragment": (lambda a, b, c, d: a, FlowFragment),
    "sequence": (lambda a, b, c, d: a >> b, FlowFragment),
    "sequence_with_raw_task": (lambda a, b, c, d: a >> Task(func=print, name="raw"), FlowFragment),
    "and": (lambda a, b, c, d: a & b, Parallel),
    "or": (lambda a, b, c, d: a | b, Branch),
    "repeat": (lambda a, b, c, d: a[2], FlowFragment),
    "foreach": (lambda a, b, c, d: a["$ctx.params.x as i"], FlowFragment),
    "until": (lambda a, b, c, d: a % "$ctx.params.x", FlowFragment),
    "switch": (lambda a, b, c, d: switch("$ctx.params.x")["k" >> a], FlowFragment),
    "join_returns_its_target": (lambda a, b, c, d: (a & b) >> c, TaskWrapper),
}


@table(TYPES)
def expression_type(lab: Lab, row: tuple[ABCD, type]) -> Observation:
    return {"is": isinstance(row[0](*lab.tasks("a b c d")), row[1])}


@case()
def groups_are_lists_of_their_members(lab: Lab) -> Observation:
    a, b = lab.tasks("a b")
    return {
        "and": list(a & b) == [a, b],
        "or": list(a | b) == [a, b],
        "lists": [issubclass(Parallel, list), issubclass(Branch, list)],
    }


@case()
def join_returns_the_very_target(lab: Lab) -> Observation:
    a, b, c, d = lab.tasks("a b c d")
    group = c & d
    return {"task": ((a & b) >> c) is c, "group": ((a & b) >> group) is group}


@case()
def flow_returns_itself(lab: Lab) -> Observation:
    flow = Flow()
    return {"same": (flow >> lab.task("a")) is flow, "names": sorted(t.name for t in flow.tasks), "default": flow.name}


REFUSED: dict[str, Callable[[TaskWrapper, TaskWrapper], Any]] = {
    "shift_number": lambda a, b: a >> 1,
    "shift_none": lambda a, b: a >> None,
    "repeat_negative": lambda a, b: a[-1],
    "repeat_float": lambda a, b: a[1.5],
    "repeat_none": lambda a, b: a[None],
    "repeat_tuple": lambda a, b: a[1, 2],
    "foreach_alias_params": lambda a, b: a["$ctx.params.x as params"],
    "foreach_alias_results": lambda a, b: a["$ctx.params.x as results"],
    "foreach_alias_scratch": lambda a, b: a["$ctx.params.x as scratch"],
    "foreach_alias_loop": lambda a, b: a["$ctx.params.x as loop"],
    "foreach_alias_loops": lambda a, b: a["$ctx.params.x as loops"],
    "foreach_alias_env": lambda a, b: a["$ctx.params.x as env"],
    "foreach_alias_artifacts": lambda a, b: a["$ctx.params.x as artifacts"],
    "foreach_alias_number": lambda a, b: a["$ctx.params.x as 1a"],
    "foreach_alias_two_words": lambda a, b: a["$ctx.params.x as a b"],
    "foreach_call": lambda a, b: a["list($ctx.params.x) as i"],
    "foreach_bare_name": lambda a, b: a["things as i"],
    "foreach_empty": lambda a, b: a[""],
    "until_one_tuple": lambda a, b: a % ("$ctx.params.x",),
    "until_three_tuple": lambda a, b: a % ("$ctx.params.x", 1, 2),
    "until_number": lambda a, b: a % 3,
    "until_none": lambda a, b: a % None,
    "until_call": lambda a, b: a % "done()",
    "switch_empty": lambda a, b: switch("$ctx.params.x")[()],
    "switch_number": lambda a, b: switch("$ctx.params.x")[1],
    "switch_task": lambda a, b: switch("$ctx.params.x")[a],
    "switch_on_number": lambda a, b: switch(3),  # type: ignore[arg-type]
    "switch_on_call": lambda a, b: switch("f()"),
}


@table(REFUSED)
def is_refused(lab: Lab, action: Callable[[TaskWrapper, TaskWrapper], Any]) -> Observation:
    return lab.builds(lambda: action(*lab.tasks("a b")))


ACCEPTED: dict[str, Callable[[TaskWrapper, TaskWrapper], Any]] = {
    "repeat_true": lambda a, b: a[True],
    "repeat_zero": lambda a, b: a[0],
    "repeat_expression": lambda a, b: a[Expression("$ctx.params.n")],
    "foreach_spaces": lambda a, b: a["$ctx.params.x   as   i"],
    "foreach_scratch": lambda a, b: a["$ctx.scratch.x as i"],
    "until_expression": lambda a, b: a % Expression("$ctx.params.x"),
    "until_none_limit": lambda a, b: a % ("$ctx.params.x", None),
    "switch_expression": lambda a, b: switch(Expression("$ctx.params.x"))[1 >> a],
    "switch_kinds": lambda a, b: switch("$ctx.params.x")["s" >> a, 1 >> b, 1.5 >> a, True >> b, "*" >> a],
    "switch_fragment_case": lambda a, b: switch("$ctx.params.x")["s" >> (a >> b)],
    "switch_loop_case": lambda a, b: switch("$ctx.params.x")["s" >> a[2]],
    "sequence_of_loops": lambda a, b: a[2] >> b[3],
    "loop_of_switch": lambda a, b: switch("$ctx.params.x")["s" >> a][2],
}


@table(ACCEPTED)
def is_accepted(lab: Lab, action: Callable[[TaskWrapper, TaskWrapper], Any]) -> Observation:
    seen = lab.attempt(lambda: action(*lab.tasks("a b")))
    flow = Flow() >> seen.pop("value")
    return seen | {"control_flow": flow.has_control_flow(), "tasks": sorted(t.name for t in flow.tasks)}


@case()
def task_equality_is_by_name(lab: Lab) -> Observation:
    one, two = Task(func=print, name="x"), Task(func=len, name="x")
    return {"equal": one == two, "set": len({one, two}), "repr": repr(one), "other": one == Task(func=print, name="y")}


@case()
def task_fields_have_their_defaults(lab: Lab) -> Observation:
    one = Task(func=print, name="x")
    return {
        "sets": [one.dependencies == set(), one.dependents == set()],
        "inputs": one.inputs,
        "outputs": one.outputs,
        "rest": [one.parallel_group, one.fail_policy, one.retries, one.timeout_sec, one.trigger_policy],
    }


@case()
def task_fields_are_not_shared(lab: Lab) -> Observation:
    one, two = Task(func=print, name="x"), Task(func=print, name="y")
    one.inputs["k"] = 1
    one.outputs.append("scratch.a")
    one.dependencies.add(two)
    return {"inputs": two.inputs, "outputs": two.outputs, "dependencies": len(two.dependencies)}


@case()
def program_of_a_flow_with_a_loop(lab: Lab) -> Observation:
    a, b, c = lab.tasks("a b c")
    steps = (Flow() >> a >> b[2] >> c).build_program().steps
    return {"steps": [type(step).__name__ for step in steps], "count": steps[1].count, "body": len(steps[1].body.steps)}


@case()
def program_of_every_construct(lab: Lab) -> Observation:
    a, b, c, d = lab.tasks("a b c d")
    flow = Flow() >> a["$ctx.params.x as i"] >> b % ("$ctx.params.y", 4) >> switch("$ctx.params.z")["k" >> c, "*" >> d]
    each, until, choice = flow.build_program().steps
    return {
        "each": [type(each).__name__, each.alias, each.source.source],
        "until": [type(until).__name__, until.max_iter, until.condition.source],
        "switch": [type(choice).__name__, choice.expression.source, len(choice.cases), choice.cases[0].value],
    }
