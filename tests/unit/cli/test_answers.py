"""Answers given on the command line."""

from __future__ import annotations

import pytest

from pyoco.cli.answers import Answer, GivenAnswers, Wait, how_to_answer
from pyoco.cli.failure import Problem

FIRST = Wait("foreach[0]/ok", "ok", "approval", "Go?")
SECOND = Wait("foreach[1]/ok", "ok", "approval", None)


def test_answers_for_a_name_serve_its_waits_in_order_and_once() -> None:
    given = GivenAnswers([("ok", 1), ("ok", 2)], [])
    assert given.take(FIRST) == Answer(1)
    assert given.take(SECOND) == Answer(2)
    assert given.take(SECOND) is None
    assert given.unused() == []


def test_an_answer_for_a_path_serves_that_iteration_only() -> None:
    given = GivenAnswers([("foreach[1]/ok", 2)], [("ok", "no")])
    assert given.take(FIRST) == Answer(rejection="no")
    assert given.take(FIRST) is None
    assert given.unused() == ["foreach[1]/ok"]
    assert given.take(SECOND) == Answer(2)


def test_an_answer_for_a_node_that_the_flow_does_not_have_is_refused() -> None:
    GivenAnswers([("ok", 1), ("foreach[0]/ok#2", 1)], []).check(["ok", "other"])
    with pytest.raises(Problem, match="did you mean 'other'"):
        GivenAnswers([("oter", 1)], []).check(["ok", "other"])
    with pytest.raises(Problem, match="its nodes are ok, other"):
        GivenAnswers([], [("x", "no")]).check(["ok", "other"])


def test_the_advice_names_path_and_prompt_of_each_wait() -> None:
    advice = how_to_answer([FIRST, SECOND])
    assert "--answer foreach[0]/ok=JSON" in advice
    assert "(Go?)" in advice
    assert "--reject foreach[1]/ok=REASON    (approval)" in advice
