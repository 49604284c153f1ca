"""The event list stays small, tells what it leaves out, and remembers commands."""

from __future__ import annotations

import json

import pytest

from pyoco.domain.commands import AddTag, RemoveTag, ReportNodeProgress, StartNode, SucceedNode, WriteJournal
from pyoco.domain.document import from_document
from pyoco.domain.events import Event, UnknownEvent, event_from_json
from pyoco.domain.evolve import evolve, fold
from pyoco.domain.history import MAX_APPLIED, MAX_BYTES, MAX_EVENT_BYTES, MAX_EVENTS
from pyoco.domain.run import Run
from pyoco.domain.transitions import IllegalEvent
from pyoco.domain.values import Unreadable, encode, size_of

from .builders import HOLDER, RUN_ID, after, claimed, create, created, queued, running_node, stored


def types_of(run: Run) -> list[str]:
    return [entry["type"] for entry in run.history.entries]


def refolded(run: Run) -> Run:
    return fold(RUN_ID, [event_from_json(entry) for entry in stored(run)["events"]])


def test_each_event_has_the_shape_that_the_surfaces_promise() -> None:
    run = after(created(), AddTag(at=2.0, tag="x", by="alice", cmd="d"))
    assert run.history.entries[-1] == {
        "id": f"{RUN_ID}:2",
        "n": 2,
        "type": "TagsChanged",
        "at": 2.0,
        "by": "alice",
        "cmd": "d",
        "data": {"tags": ["default", "x"]},
    }


def test_only_the_newest_events_are_kept_and_the_list_says_that_it_is_cut() -> None:
    run = created()
    for n in range(MAX_EVENTS):
        run = after(run, AddTag(at=2.0, tag="x") if n % 2 == 0 else RemoveTag(at=2.0, tag="x"))
    assert run.version == MAX_EVENTS + 1
    numbers = [entry["n"] for entry in run.history.entries]
    assert numbers == list(range(run.version - len(numbers) + 1, run.version + 1))
    assert len(numbers) <= MAX_EVENTS
    assert run.history.truncated


def test_the_list_never_grows_beyond_its_bytes_even_when_it_was_just_read() -> None:
    run = running_node()
    for n in range(80):
        run = after(
            run,
            StartNode(at=5.0, node=f"n{n}", holder=HOLDER),
            SucceedNode(at=5.0, node=f"n{n}", output="十" * 250, holder=HOLDER),
        )
        if n % 7 == 0:
            run = from_document(stored(run))
        assert size_of(run.history.entries) <= MAX_BYTES
    assert size_of(run.history.entries) > MAX_BYTES - 2 * MAX_EVENT_BYTES
    assert 0 <= run.history.size - size_of(run.history.entries) <= 1


def test_large_values_are_left_out_of_the_list_but_not_of_the_run() -> None:
    params = {"text": "x" * 5000}
    run = after(None, create(params=params))
    (entry,) = run.history.entries
    assert entry["data"]["omitted"] == ["params"]
    assert size_of(entry) <= MAX_EVENT_BYTES
    assert run.history.truncated
    assert run.submission.params == params


def test_of_a_long_text_the_beginning_stays_in_the_list() -> None:
    run = after(running_node(), ReportNodeProgress(at=5.0, node="a", progress=1, message="m" * 5000, holder=HOLDER))
    data = run.history.entries[-1]["data"]
    assert data["message"] == "m" * 200
    assert data["node"] == "a"
    assert run.nodes["a"].message == "m" * 5000


def test_of_progress_only_the_latest_per_node_is_kept_and_numbers_get_gaps() -> None:
    run = after(running_node(), StartNode(at=5.0, node="b", holder=HOLDER))
    for percent in (10, 20, 30):
        run = after(
            run,
            ReportNodeProgress(at=5.0, node="a", progress=percent, holder=HOLDER),
            ReportNodeProgress(at=5.0, node="b", progress=percent + 1, holder=HOLDER),
        )
    progress = [entry for entry in run.history.entries if entry["type"] == "NodeProgressed"]
    assert [(entry["data"]["node"], entry["data"]["progress"]) for entry in progress] == [("a", 30), ("b", 31)]
    assert run.version == progress[-1]["n"]
    assert not run.history.truncated
    assert refolded(run) == run


def test_each_round_of_a_loop_keeps_its_own_latest_progress() -> None:
    run = claimed()
    for path in ("each[0]/x", "each[1]/x"):
        run = after(
            run,
            StartNode(at=5.0, node="x", path=path, holder=HOLDER),
            ReportNodeProgress(at=5.0, node="x", path=path, progress=1, holder=HOLDER),
            ReportNodeProgress(at=5.0, node="x", path=path, progress=2, holder=HOLDER),
        )
    progress = [entry["data"] for entry in run.history.entries if entry["type"] == "NodeProgressed"]
    assert [(data["path"], data["progress"]) for data in progress] == [("each[0]/x", 2), ("each[1]/x", 2)]
    assert refolded(run) == run


def test_a_progress_command_is_remembered_after_its_event_was_replaced() -> None:
    run = running_node()
    for n in range(5):
        run = after(run, ReportNodeProgress(at=5.0, node="a", progress=n, cmd=f"d{n}"))
    assert types_of(run).count("NodeProgressed") == 1
    assert after(run, ReportNodeProgress(at=6.0, node="a", progress=99, cmd="d0")) is run
    assert refolded(run).history.applied == run.history.applied


def test_of_the_context_only_the_latest_is_kept_and_decisions_add_up() -> None:
    run = claimed()
    for n in range(3):
        run = after(run, WriteJournal(at=5.0, context={"n": n}, decisions={f"each{n}": n}, holder=HOLDER))
    run = after(run, WriteJournal(at=5.0, decisions={"last": 1}, holder=HOLDER))
    assert types_of(run).count("JournalWritten") == 1
    assert run.context == {"n": 2}
    assert run.journal.decisions == {"each0": 0, "each1": 1, "each2": 2, "last": 1}
    assert refolded(run) == run


def test_a_keyed_journal_write_stays_in_the_list_that_has_to_tell_of_it() -> None:
    run = after(
        claimed(),
        WriteJournal(at=5.0, context={"n": 1}, cmd="d", holder=HOLDER),
        WriteJournal(at=5.0, context={"n": 2}, holder=HOLDER),
        WriteJournal(at=5.0, context={"n": 3}, holder=HOLDER),
    )
    assert types_of(run).count("JournalWritten") == 2
    assert refolded(run) == run


def test_the_last_commands_are_remembered_with_their_event_ids() -> None:
    run = created()
    for n in range(MAX_APPLIED + 6):
        run = after(run, AddTag(at=2.0, tag=f"t{n}", cmd=f"d{n}"))
    assert len(run.history.applied) == MAX_APPLIED
    assert run.emitted("d5") is None
    assert run.emitted("d6") == (f"{RUN_ID}:8",)
    assert from_document(stored(run)).emitted("d6") == (f"{RUN_ID}:8",)


def test_an_event_of_a_newer_version_is_passed_over_and_survives() -> None:
    event = event_from_json({"id": "x", "n": 3, "type": "RunPainted", "at": 4.0, "data": {"colour": "red"}})
    assert event == Event(3, 4.0, UnknownEvent("RunPainted", {"colour": "red"}))
    run = evolve(queued(), event)
    assert (run.version, run.updated_at, run.status) == (3, 4.0, queued().status)
    assert run.history.entries[-1]["data"] == {"colour": "red"}


@pytest.mark.parametrize("entry", [None, {}, {"type": "RunQueued", "n": 1, "at": 1.0, "data": {}}, {"type": "X"}])
def test_a_damaged_event_is_called_unreadable(entry: object) -> None:
    with pytest.raises(Unreadable):
        event_from_json(entry)


def test_no_events_make_no_run_and_no_run_begins_in_the_middle() -> None:
    with pytest.raises(IllegalEvent):
        fold(RUN_ID, [])
    with pytest.raises(IllegalEvent):
        fold(RUN_ID, [event_from_json(json.loads(encode(queued().history.entries[-1])))])


def test_text_that_utf_8_cannot_hold_is_measured_and_written_all_the_same() -> None:
    assert json.loads(encode({"x": "\ud800"})) == {"x": "\ud800"}
    assert json.loads(encode({"x": "十"})) == {"x": "十"}
