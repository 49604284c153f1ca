"""Who finishes what nobody finishes: judgements about one run, from what was seen of it."""

from __future__ import annotations

from dataclasses import dataclass

from .commands import Command, ConfirmCancelled, FailExecution, Queue, Release, ReleaseReason
from .run import Run, WorkState

BY = "housekeeping"


@dataclass(frozen=True, slots=True)
class Rules:
    disconnect_timeout: float = 20.0
    cancel_grace: float = 30.0
    max_crashes: int = 3


@dataclass(frozen=True, slots=True)
class Sight:
    """What a housekeeper saw of a run. Ages are seconds by the server's message times, never by two machines' clocks.

    `holder_age` is that of the holding instance's record, None if there is none. `holder_known_dead`: the supervisor
    said so, or the claim is of an earlier boot. `holder_denies`: its record, written after the claim, does not list
    the run. `cancel_age`: since the cancel was requested.
    """

    at: float
    document_age: float
    holder_age: float | None = None
    holder_known_dead: bool = False
    holder_denies: bool = False
    cancel_age: float | None = None


def judge(run: Run, sight: Sight, rules: Rules) -> Command | None:
    """What to ask of the run, by the very revision that was seen; on a conflict look and judge again."""
    if run.is_terminal:
        return None
    if run.cancel is not None:
        return _judge_cancel(run, sight, rules)
    work = run.work
    if work.state is not WorkState.CLAIMED or work.foreign or work.instance_id is None:
        return None
    if sight.holder_denies and not _is_lost(sight, rules):
        # Its worker is alive and does not run it: given back, not crashed.
        return Release(at=sight.at, by=BY, instance_id=work.instance_id, reason=ReleaseReason.RELOAD)
    if not _is_lost(sight, rules):
        return None
    lost = run.crashes + 1
    if lost >= rules.max_crashes:
        return FailExecution(at=sight.at, by=BY, error=f"given up: {lost} attempts in a row ended with their worker")
    return Release(at=sight.at, by=BY, instance_id=work.instance_id, reason=ReleaseReason.WORKER_LOST)


def _judge_cancel(run: Run, sight: Sight, rules: Rules) -> Command | None:
    past_grace = sight.cancel_age is not None and sight.cancel_age >= rules.cancel_grace
    held = run.work.state is WorkState.CLAIMED
    gone = not held or (not run.work.foreign and (sight.holder_denies or _is_lost(sight, rules)))
    return ConfirmCancelled(at=sight.at, by=BY) if gone or past_grace else None


def _is_lost(sight: Sight, rules: Rules) -> bool:
    """Known dead, or unseen: neither its record nor the run's document was written for the whole timeout."""
    if sight.holder_known_dead:
        return True
    record_is_old = sight.holder_age is None or sight.holder_age > rules.disconnect_timeout
    return record_is_old and sight.document_age > rules.disconnect_timeout


def needs_message(run: Run) -> bool:
    """Whether a message of exactly this run and gen has to be in the queue, and may be published by us."""
    return not run.is_terminal and run.cancel is None and run.work.state is WorkState.QUEUED and not run.work.foreign


def after_lost_message(run: Run, gen: int, at: float) -> Command | None:
    """The publish was answered `duplicate`, but no message of this run and gen is there: only a new gen helps."""
    if not needs_message(run) or run.work.gen != gen:
        return None
    return Queue(at=at, by=BY, reason="message_lost", lost_gen=gen)


def after_max_deliver(run: Run, gen: int | None, at: float) -> Command | None:
    """A message was delivered too often. It is deleted in any case; the run fails only if it still waits for it."""
    work = run.work
    if run.is_terminal or run.cancel is not None or work.state is not WorkState.QUEUED:
        return None
    if gen is not None and gen != work.gen and not work.foreign:
        return None
    return FailExecution(
        at=at, by=BY, error="its message was delivered too often without a result", queued_gen=work.gen
    )


def is_expired(run: Run, now: float, retention: float) -> bool:
    """Whether a terminal run has been kept long enough. A retention of 0 keeps everything."""
    return retention > 0 and run.is_terminal and now - (run.end_time or run.updated_at) > retention
