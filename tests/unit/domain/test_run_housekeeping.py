"""What housekeeping judges about a run nobody seems to finish."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pyoco.domain.commands import AddTag, ConfirmCancelled, FailExecution, Queue, Release, ReleaseReason
from pyoco.domain.housekeeping import (
    Rules,
    Sight,
    after_lost_message,
    after_max_deliver,
    is_expired,
    judge,
    needs_message,
)
from pyoco.domain.run import RunStatus, WorkState

from .builders import (
    ME,
    after,
    cancelled,
    cancelling,
    claimed,
    completed,
    created,
    open_running,
    parked,
    queued,
    released,
)
from .test_run_document import v0

RULES = Rules(disconnect_timeout=20, cancel_grace=30, max_crashes=3)
FRESH = Sight(at=100.0, document_age=1.0, holder_age=1.0)
UNSEEN = Sight(at=100.0, document_age=21.0, holder_age=21.0)
NO_RECORD = Sight(at=100.0, document_age=21.0, holder_age=None)
DEAD = Sight(at=100.0, document_age=0.1, holder_age=0.1, holder_known_dead=True)
DENIES = Sight(at=100.0, document_age=5.0, holder_age=1.0, holder_denies=True)


@pytest.mark.parametrize("sight", [UNSEEN, NO_RECORD, DEAD], ids=["unseen", "no record", "known dead"])
def test_a_run_whose_holder_is_lost_is_released(sight: Sight) -> None:
    command = judge(claimed(), sight, RULES)
    assert isinstance(command, Release)
    assert (command.instance_id, command.reason) == (ME, ReleaseReason.WORKER_LOST)
    run = after(claimed(), command)
    assert (run.work.state, run.work.gen, run.crashes) == (WorkState.QUEUED, 2, 1)


@pytest.mark.parametrize(
    "sight",
    [
        FRESH,
        replace(UNSEEN, document_age=20.0),
        replace(UNSEEN, holder_age=20.0),
        replace(NO_RECORD, document_age=3.0),
    ],
    ids=["fresh", "document fresh", "record fresh", "no record but document fresh"],
)
def test_a_run_whose_holder_was_seen_is_left_alone(sight: Sight) -> None:
    assert judge(claimed(), sight, RULES) is None


def test_a_claim_that_its_live_holder_does_not_know_is_given_back_and_is_no_crash() -> None:
    command = judge(claimed(), DENIES, RULES)
    assert command is not None
    assert after(claimed(), command).crashes == 0
    assert after(claimed(), command).work.state is WorkState.QUEUED


def test_a_run_that_keeps_losing_its_worker_fails_and_says_so() -> None:
    run = replace(claimed(), crashes=2)
    command = judge(run, DEAD, RULES)
    assert isinstance(command, FailExecution)
    assert "3 attempts" in command.error
    assert after(run, command).status is RunStatus.FAILED
    assert isinstance(judge(replace(claimed(), crashes=1), DEAD, RULES), Release)


@pytest.mark.parametrize("build", [created, queued, parked, completed, cancelled, open_running, released])
def test_only_claims_can_be_lost(build: object) -> None:
    assert callable(build)
    assert judge(build(), DEAD, RULES) is None


def test_a_cancel_is_confirmed_when_its_holder_is_gone_or_its_time_is_over() -> None:
    run = cancelling()
    for sight in (DEAD, UNSEEN, DENIES, replace(FRESH, cancel_age=30.0)):
        command = judge(run, sight, RULES)
        assert isinstance(command, ConfirmCancelled)
        assert after(run, command).status is RunStatus.CANCELLED
    assert judge(run, replace(FRESH, cancel_age=29.0), RULES) is None


def test_of_a_v0_run_only_a_cancel_past_its_grace_is_settled() -> None:
    assert judge(v0(status="RUNNING"), replace(UNSEEN, holder_known_dead=True), RULES) is None
    assert judge(v0(status="CANCELLING"), replace(UNSEEN, cancel_age=29.0), RULES) is None
    command = judge(v0(status="CANCELLING"), replace(FRESH, cancel_age=31.0), RULES)
    assert isinstance(command, ConfirmCancelled)


def test_a_message_is_owed_to_queued_runs_of_ours_only() -> None:
    assert needs_message(queued())
    assert needs_message(released())
    for run in (created(), claimed(), parked(), completed(), v0(), after(v0(), AddTag(at=5.0, tag="x"))):
        assert not needs_message(run)


def test_a_lost_message_whose_id_is_remembered_gets_a_new_gen() -> None:
    command = after_lost_message(queued(), 1, at=9.0)
    assert isinstance(command, Queue)
    assert after(queued(), command).work.gen == 2
    assert after_lost_message(released(), 1, at=9.0) is None
    assert after_lost_message(claimed(), 1, at=9.0) is None


def test_a_message_delivered_too_often_fails_only_the_run_that_still_waits_for_it() -> None:
    command = after_max_deliver(queued(), 1, at=9.0)
    assert command is not None
    assert after(queued(), command).status is RunStatus.FAILED
    assert after_max_deliver(v0(), None, at=9.0) is not None
    for run, gen in ((released(), 1), (claimed(), 1), (completed(), 1), (parked(), 1), (cancelled(), 1)):
        assert after_max_deliver(run, gen, at=9.0) is None


def test_ended_runs_expire_after_the_retention_and_never_when_it_is_zero() -> None:
    run = completed()
    assert is_expired(run, now=6.0 + 11, retention=10)
    assert not is_expired(run, now=6.0 + 9, retention=10)
    assert not is_expired(run, now=1e9, retention=0)
    assert not is_expired(claimed(), now=1e9, retention=10)
