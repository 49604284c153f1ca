"""Tasks, their policies and the decorator."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyoco.engine.dsl import task
from pyoco.engine.engine import Engine
from pyoco.engine.flow import Flow
from pyoco.engine.task import Backoff, BaseTask, Task
from pyoco.engine.trace import SilentTrace


def test_the_decorator_takes_a_name_inputs_outputs_and_policies() -> None:
    @task(
        name="named",
        inputs={"x": 1},
        outputs=["scratch.y"],
        retries=2,
        timeout_sec=3,
        fail_policy="isolate",
        backoff=0.5,
    )
    def function(x: int) -> int:
        return x

    made = function.task
    assert (made.name, made.inputs, made.outputs) == ("named", {"x": 1}, ["scratch.y"])
    assert (made.retries, made.timeout_sec, made.fail_policy, made.backoff) == (2, 3.0, "isolate", Backoff(0.5))


@task()
def bare_parentheses() -> int:
    return 1


def test_empty_parentheses_mean_the_same_as_none() -> None:
    assert bare_parentheses.task.name == "bare_parentheses"


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({"retries": -1}, "retries must be a whole number"),
        ({"retries": True}, "retries must be a whole number"),
        ({"timeout_sec": 0}, "above 0"),
        ({"timeout_sec": float("nan")}, "finite"),
        ({"fail_policy": "ignore"}, "stop, isolate, retry"),
        ({"trigger_policy": "SOME"}, "ALL, ANY"),
        ({"backoff": {"initail": 1}}, "unknown backoff key 'initail'"),
        ({"backoff": {"jitter": 2}}, "jitter between 0 and 1"),
        ({"backoff": "fast"}, "number of seconds or a mapping"),
    ],
)
def test_a_bad_policy_is_refused_with_its_name(policy: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        task(**policy)(lambda: None)


def test_an_unknown_option_of_the_decorator_is_a_type_error_that_lists_the_known_ones() -> None:
    with pytest.raises(TypeError, match=r"retry.*retries"):
        task(retry=3)


@given(
    initial=st.floats(0, 10),
    factor=st.floats(1, 10),
    maximum=st.floats(0, 100),
    jitter=st.floats(0, 1),
    n=st.integers(1, 9999),
)
def test_the_pause_stays_between_zero_and_the_maximum_plus_jitter(
    initial: float, factor: float, maximum: float, jitter: float, n: int
) -> None:
    pause = Backoff(initial, factor, maximum, jitter).pause(n, random.Random(1))
    assert 0 <= pause <= maximum * (1 + jitter) * 1.0001


def test_the_pause_grows_by_its_factor_up_to_the_maximum() -> None:
    backoff = Backoff(initial=1, factor=2, maximum=5)
    assert [backoff.pause(n) for n in (1, 2, 3, 4)] == [1, 2, 4, 5]


def test_a_decorated_method_keeps_its_self() -> None:
    class Report(BaseTask):
        title = "monthly"

        @task
        def run(self, ctx: Any) -> str:  # type: ignore[override]
            return f"{self.title} {ctx.params['n']}"

    report = Report()
    assert Engine(SilentTrace()).run(Flow() >> report.run, {"n": 1}).results == {"run": "monthly 1"}


def test_tasks_are_equal_by_name_and_clones_are_independent() -> None:
    one = Task(func=print, name="x", inputs={"a": 1}, retries=3)
    copy = one.clone("y")
    copy.inputs["a"] = 2
    assert one == Task(func=len, name="x")
    assert one != copy
    assert (one.inputs, copy.retries, repr(copy)) == ({"a": 1}, 3, "<Task y>")
