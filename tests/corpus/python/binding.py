"""§2 Argument binding: inputs, then ctx, then params, then results, then the function's own defaults."""

from __future__ import annotations

import functools
from typing import Any

from observe import Lab, Observation, case, table

from pyoco import Flow, task
from pyoco.core.base_task import BaseTask
from pyoco.core.context import Context
from pyoco.core.models import Task

SHOW = ("status", "results", "inputs")


@case()
def inputs_win_over_params(lab: Lab) -> Observation:
    return lab.one(lambda x: x, {"x": "param"}, inputs={"x": "input"}, show=SHOW)


@case()
def params_win_over_results(lab: Lab) -> Observation:
    flow = Flow() >> lab.task("x", lambda: "result") >> lab.task("t", lambda x: x)
    return lab.run(flow, {"x": "param"}, show=SHOW)


@case()
def results_win_over_defaults(lab: Lab) -> Observation:
    flow = Flow() >> lab.task("x", lambda: "result") >> lab.task("t", lambda x="default": x)
    return lab.run(flow, show=SHOW)


@case()
def default_is_used_and_not_recorded(lab: Lab) -> Observation:
    return lab.one(lambda x="default": x, show=SHOW)


@case()
def none_param_counts_as_present(lab: Lab) -> Observation:
    return lab.one(lambda x="default": x, {"x": None}, show=SHOW)


@case()
def none_result_counts_as_present(lab: Lab) -> Observation:
    flow = Flow() >> lab.task("x", lambda: None) >> lab.task("t", lambda x="default": x)
    return lab.run(flow, show=SHOW)


@case()
def none_input_counts_as_present(lab: Lab) -> Observation:
    return lab.one(lambda x="default": x, {"x": 1}, inputs={"x": None}, show=SHOW)


@case()
def ctx_overrides_an_input_of_that_name(lab: Lab) -> Observation:
    return lab.one(lambda ctx: isinstance(ctx, Context), inputs={"ctx": "mine"}, show=SHOW)


@case()
def ctx_param_does_not_shadow_the_context(lab: Lab) -> Observation:
    return lab.one(lambda ctx: isinstance(ctx, Context), {"ctx": "mine"}, show=SHOW)


@case()
def ctx_may_stand_anywhere(lab: Lab) -> Observation:
    return lab.one(lambda a, ctx, b: [a, isinstance(ctx, Context), b], {"a": 1, "b": 2}, show=SHOW)


@case()
def keyword_only_parameters_are_fed(lab: Lab) -> Observation:
    def func(*, x: int, y: int = 5) -> list[int]:
        return [x, y]

    return lab.one(func, {"x": 1}, show=SHOW)


@case()
def unused_params_are_not_passed(lab: Lab) -> Observation:
    return lab.one(lambda x: x, {"x": 1, "other": 2}, show=SHOW)


@case()
def kwargs_receive_all_inputs(lab: Lab) -> Observation:
    return lab.one(lambda **rest: rest, inputs={"a": 1, "b": 2}, show=SHOW)


@case()
def kwargs_do_not_receive_params(lab: Lab) -> Observation:
    return lab.one(lambda **rest: rest, {"a": 1}, show=SHOW)


@case(fixed="Q23", expect={"outcome": "returned", "status": "COMPLETED", "results": {"t": {}}, "inputs": {"t": {}}})
def param_named_like_kwargs_does_not_leak(lab: Lab) -> Observation:
    return lab.one(lambda **rest: rest, {"rest": 1}, show=SHOW)


@case()
def missing_argument_is_a_task_failure(lab: Lab) -> Observation:
    return lab.one(lambda x: x, show=("status", "states", "record_states"), mention=("x",))


@case()
def unknown_input_is_a_task_failure(lab: Lab) -> Observation:
    return lab.one(lambda: 1, inputs={"zzz": 1}, show=("status", "states"), mention=("zzz",))


def positional_only(x: Any, /) -> Any:
    return x


@case()
def positional_only_cannot_be_fed(lab: Lab) -> Observation:
    return lab.one(positional_only, {"x": 1}, show=("status", "states"))


@case()
def positional_only_with_default_and_no_param_runs(lab: Lab) -> Observation:
    def func(x: int = 7, /) -> int:
        return x

    return lab.one(func, show=SHOW)


@case()
def star_args_stay_empty(lab: Lab) -> Observation:
    return lab.one(lambda *rest: list(rest), show=SHOW)


class Callable:
    def __call__(self, x: int) -> int:
        return x + 1

    def method(self, x: int) -> int:
        return x + 2

    @staticmethod
    def static(x: int) -> int:
        return x + 3

    @classmethod
    def klass(cls, x: int) -> int:
        return x + 4


CALLABLES: dict[str, Any] = {
    "lambda": lambda x: x,
    "object": Callable(),
    "method": Callable().method,
    "static": Callable.static,
    "classmethod": Callable.klass,
    "partial": functools.partial(lambda x, y: [x, y], y=9),
}


@table(CALLABLES)
def any_callable_is_a_task(lab: Lab, func: Any) -> Observation:
    return lab.one(func, {"x": 1}, show=("status", "results"))


@case()
def partial_keyword_is_overridden_by_a_param(lab: Lab) -> Observation:
    return lab.one(functools.partial(lambda x, y: [x, y], y=9), {"x": 1, "y": 2}, show=("status", "results"))


@case()
def base_task_run_method(lab: Lab) -> Observation:
    class Mine(BaseTask):
        def run(self, ctx: Any) -> Any:
            return ctx.params["x"] * 2

    return lab.one(Mine().run, {"x": 21})


@case()
def base_task_is_abstract_and_no_task(lab: Lab) -> Observation:
    seen = lab.builds(lambda: BaseTask())  # type: ignore[abstract]
    return seen | {"is_task": issubclass(BaseTask, Task)}


@case()
def task_subclass_keeps_state_over_runs(lab: Lab) -> Observation:
    class Counter(Task):
        def __init__(self) -> None:
            super().__init__(func=self.run, name="counter")
            self.calls = 0

        def run(self) -> int:
            self.calls += 1
            return self.calls

    flow = Flow() >> Counter()
    return {"first": lab.run(flow), "second": lab.run(flow)}


@case()
def decorator_names_the_task_and_never_calls(lab: Lab) -> Observation:
    calls: list[int] = []

    @task
    def original(x: int) -> int:
        calls.append(x)
        return x

    return {
        "name": original.task.name,
        "call_returns_itself": original(1, y=2) is original,
        "calls": list(calls),
        "func": original.task.func(5),
    }


@case()
def unicode_task_and_parameter_names(lab: Lab) -> Observation:
    flow = Flow() >> lab.task("größe", lambda: 3) >> lab.task("終わり", lambda größe: größe + 1)
    return lab.run(flow)


@case()
def wraps_keeps_the_inner_signature(lab: Lab) -> Observation:
    def inner(x: int) -> int:
        return x

    @functools.wraps(inner)
    def outer(*args: Any, **kwargs: Any) -> list[Any]:
        return [list(args), kwargs]

    return lab.one(outer, {"x": 1}, show=("status", "results"))
