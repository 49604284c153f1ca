"""Restarts as a pure decision."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyoco.supervisor.restart import Exit, GiveUp, Policy, Record, RestartAfter, after_exit

POLICY = Policy(first_delay=0.2, longest_delay=30.0, calm=30.0, loop_after=5)
CRASH = Exit(code=1, uptime=0.5)


def restarts(count: int, *, vital: bool = False, end: Exit = CRASH) -> list[RestartAfter | GiveUp]:
    record, decisions = Record(), []
    for _ in range(count):
        decision = after_exit(POLICY, record, end, vital=vital)
        decisions.append(decision)
        record = decision.record
    return decisions


def test_delays_double_up_to_the_longest() -> None:
    delays = [decision.delay for decision in restarts(10) if isinstance(decision, RestartAfter)]
    assert delays == pytest.approx([0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0])


def test_a_process_that_ran_long_enough_starts_anew() -> None:
    shaken = Record(failures=4, restarts=7)
    decision = after_exit(POLICY, shaken, Exit(code=1, uptime=30.0), vital=True)
    assert decision == RestartAfter(0.2, Record(failures=1, restarts=8))


def test_a_crash_loop_is_reported_once() -> None:
    loops = [decision.crash_loop for decision in restarts(8) if isinstance(decision, RestartAfter)]
    assert loops == [False, False, False, False, True, False, False, False]


def test_a_vital_process_in_a_crash_loop_is_given_up() -> None:
    decisions = restarts(5, vital=True)
    assert all(isinstance(decision, RestartAfter) for decision in decisions[:4])
    assert decisions[4] == GiveUp(Record(failures=5, restarts=5))


@given(st.lists(st.floats(0, 100), max_size=2000))
def test_a_process_that_is_not_vital_is_always_started_again_after_a_bounded_time(uptimes: list[float]) -> None:
    record = Record()
    for uptime in uptimes:
        decision = after_exit(POLICY, record, Exit(1, uptime), vital=False)
        assert isinstance(decision, RestartAfter)
        assert POLICY.first_delay <= decision.delay <= POLICY.longest_delay
        record = decision.record
    assert record.restarts == len(uptimes)


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (Exit(3, 1.0), "ended with exit code 3"),
        (Exit(-9, 1.0), "was ended by SIGKILL"),
        (Exit(-200, 1.0), "was ended by signal 200"),
        (Exit(-9, 1.0, silent=True), "gave no sign of life and was killed"),
    ],
)
def test_the_reason_of_an_end_in_words(end: Exit, words: str) -> None:
    assert end.reason == words
