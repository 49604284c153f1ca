"""The record of a worker, and whether it counts as alive."""

from __future__ import annotations

import json

import pytest

from pyoco.domain.values import Unreadable, encode
from pyoco.domain.worker import FORGOTTEN_AFTER, WorkerRecord, WorkerState, worker_from_json, worker_to_json

RECORD = WorkerRecord("w1", "box.1.1", last_seen_at=100.0, tags=("gpu",), running=("r1", "r2"), slots=4, pid=7)
TIMEOUT = 20.0


@pytest.mark.parametrize(
    ("record", "now", "expected"),
    [
        (RECORD, 101.0, WorkerState.RUNNING),
        (RECORD, 120.0, WorkerState.RUNNING),
        (RECORD, 120.1, WorkerState.DISCONNECTED),
        (WorkerRecord("w1", None, 100.0), 101.0, WorkerState.IDLE),
        (WorkerRecord("w1", None, 100.0, stopped_at=100.0), 1e6, WorkerState.STOPPED_GRACEFUL),
    ],
)
def test_the_state_of_a_worker_follows_from_its_record_and_the_time(
    record: WorkerRecord, now: float, expected: WorkerState
) -> None:
    assert record.state(now, TIMEOUT) is expected


def test_a_record_comes_back_as_it_was_with_fields_we_do_not_know() -> None:
    document = json.loads(encode({**worker_to_json(RECORD), "colour": "red"}))
    again = worker_from_json(document)
    assert again.extra == {"colour": "red"}
    assert worker_to_json(again) == document
    assert worker_to_json(worker_from_json(worker_to_json(RECORD))) == worker_to_json(RECORD)


def test_all_three_times_and_the_current_run_are_written() -> None:
    document = worker_to_json(RECORD)
    assert {document[name] for name in ("heartbeat_at", "last_heartbeat_at", "last_seen_at")} == {100.0}
    assert (document["current_run_id"], document["state"]) == ("r1", "RUNNING")


def test_a_v0_record_is_understood() -> None:
    record = worker_from_json({"worker_id": "old", "heartbeat_at": 5.0, "tags": ["a"], "current_run_id": "r"})
    assert (record.last_seen_at, record.tags, record.running, record.instance_id) == (5.0, ("a",), ("r",), None)
    stopped = worker_from_json({"worker_id": "old", "last_seen_at": 5.0, "state": "STOPPED_GRACEFUL"})
    assert stopped.state(1e6, TIMEOUT) is WorkerState.STOPPED_GRACEFUL


@pytest.mark.parametrize("document", [{}, {"worker_id": "w"}, {"worker_id": 1, "heartbeat_at": 1}, {"heartbeat_at": 1}])
def test_what_is_no_record_is_called_unreadable(document: dict[str, object]) -> None:
    with pytest.raises(Unreadable):
        worker_from_json(document)


def test_a_worker_denies_the_runs_that_it_does_not_list() -> None:
    assert not RECORD.denies("r2")
    assert RECORD.denies("r3")


def test_an_old_record_is_forgotten() -> None:
    assert not RECORD.is_forgotten(100.0 + FORGOTTEN_AFTER)
    assert RECORD.is_forgotten(101.0 + FORGOTTEN_AFTER)
