"""The stored document: v0 fields as v0 knows them, nothing lost, nothing too large."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyoco.domain.commands import (
    AddTag,
    CancelExecution,
    Claim,
    CompleteExecution,
    ConfirmCancelled,
    DeclareNodes,
    FailNode,
    Holder,
    PutNodeWaiting,
    Queue,
    ResumeNode,
    SkipNode,
    StartNode,
    SucceedNode,
)
from pyoco.domain.decide import decide
from pyoco.domain.document import SCHEMA_VERSION, from_document, to_document
from pyoco.domain.records import NodeState
from pyoco.domain.rejection import Reason
from pyoco.domain.rerun import inherited_from
from pyoco.domain.run import Run, RunStatus, WorkState
from pyoco.domain.snapshot import Cut, fit
from pyoco.domain.values import Document, Unreadable, encode

from .builders import (
    HOLDER,
    ME,
    OTHER,
    RUN_ID,
    after,
    cancelled,
    cancelling,
    claimed,
    completed,
    create,
    created,
    events_of,
    failed,
    open_running,
    parked,
    queued,
    refusal,
    released,
    running_node,
    stored,
    waiting,
)

REQUIRED = {
    "run_id": str,
    "flow_name": str,
    "status": str,
    "params": dict,
    "tasks": dict,
    "heartbeat_at": float,
    "updated_at": float,
}
ALL: list[Callable[[], Run]] = [
    *(created, queued, claimed, running_node, waiting, parked, released),
    *(cancelling, cancelled, completed, failed, open_running, lambda: open_running("a", "b")),
]


@pytest.mark.parametrize("build", ALL)
def test_a_run_comes_back_from_its_document_as_it_was(build: Callable[[], Run]) -> None:
    assert from_document(stored(build())) == build()


@pytest.mark.parametrize("build", ALL)
def test_every_document_has_the_fields_that_v0_requires(build: Callable[[], Run]) -> None:
    document = stored(build())
    for name, kind in REQUIRED.items():
        assert isinstance(document[name], kind), name
    assert document["schema_version"] == SCHEMA_VERSION == 1
    assert isinstance(document["task_records"], dict)
    assert document["task_records_truncated"] is False
    assert isinstance(document["tags"], list)


def test_a_node_record_has_the_eight_fields_of_v0() -> None:
    run = after(running_node(), SucceedNode(at=3.5, node="a", output=[1], inputs={"x": 2}, holder=HOLDER))
    assert stored(run)["task_records"]["a"] == {
        "state": "SUCCEEDED",
        "started_at": 3.0,
        "ended_at": 3.5,
        "duration_ms": 500.0,
        "error": None,
        "traceback": None,
        "inputs": {"x": 2},
        "output": [1],
        "attempt": 1,
    }


def test_tasks_speak_only_the_words_of_v0() -> None:
    run = after(
        waiting(),
        SkipNode(at=5.0, node="b", holder=HOLDER),
        StartNode(at=5.0, node="c", holder=HOLDER),
        FailNode(at=5.0, node="c", error="no", retrying=True, holder=HOLDER),
    )
    document = stored(run)
    assert document["tasks"] == {"a": "RUNNING", "b": "PENDING", "c": "RUNNING"}
    assert {name: record["state"] for name, record in document["task_records"].items()} == {
        "a": "WAITING",
        "b": "SKIPPED",
        "c": "FAILED",
    }


def test_a_cancel_request_stays_in_the_document_for_good() -> None:
    run = after(cancelling(), ConfirmCancelled(at=7.0))
    document = stored(run)
    assert document["cancel_requested_at"] == 5.0
    assert document["cancel_requested_by"] == "alice"
    assert document["cancel_requested_reason"] == "enough"


def test_fields_that_we_do_not_know_survive_a_rewrite() -> None:
    document = {**stored(queued()), "nonce": "n1", "future": {"x": [1]}}
    again = stored(after(from_document(document), AddTag(at=9.0, tag="x")))
    assert again["nonce"] == "n1"
    assert again["future"] == {"x": [1]}
    assert "TagsChanged" in [event["type"] for event in again["events"]]


def test_a_heartbeat_is_no_event_and_no_change() -> None:
    before = running_node()
    run = from_document(stored(before.with_heartbeat(99.0)))
    assert (run.heartbeat_at, run.version, run.updated_at) == (99.0, before.version, before.updated_at)
    assert not run.unseen_write
    assert run.with_heartbeat(1.0).heartbeat_at == 99.0


@pytest.mark.parametrize(
    "damage",
    [
        {"run_id": 5},
        {"status": "DANCING"},
        {"params": []},
        {"updated_at": "now"},
        {"tasks": {"a": "DANCING"}},
        {"events": "none"},
        {"events": [1]},
        {"work": {"state": "odd"}},
        {"version": True},
        {"task_records": {"a": 1}},
        {"journal": []},
        {"tags": "default"},
    ],
    ids=str,
)
def test_a_damaged_document_is_called_unreadable(damage: Document) -> None:
    with pytest.raises(Unreadable):
        from_document({**stored(queued()), **damage})


@pytest.mark.parametrize("missing", sorted(REQUIRED.keys() - {"params", "tasks"}))
def test_a_document_without_a_required_field_is_called_unreadable(missing: str) -> None:
    document = stored(queued())
    del document[missing]
    with pytest.raises(Unreadable):
        from_document(document)


V0 = {
    "run_id": RUN_ID,
    "flow_name": "report",
    "status": "PENDING",
    "params": {"x": 1},
    "tasks": {},
    "task_records": {},
    "heartbeat_at": 1.0,
    "updated_at": 1.0,
    "tag": "gpu",
    "tags": ["gpu"],
    "error": None,
}


def v0(**fields: object) -> Run:
    return from_document({**V0, **fields})


def test_a_run_that_a_v0_gateway_queued_is_claimed_as_it_stands() -> None:
    run = v0()
    assert run.unseen_write
    claim = Claim(at=5.0, instance_id=ME, worker_id="w1")
    assert events_of(run, claim) == ["RunObserved", "RunStarted"]
    run = after(run, claim)
    assert (run.status, run.attempt, run.work.instance_id) == (RunStatus.RUNNING, 1, ME)
    assert not run.unseen_write
    assert not run.work.foreign
    assert from_document(stored(run)) == run
    assert stored(run)["events_truncated"] is True
    assert events_of(run, AddTag(at=6.0, tag="x")) == ["TagsChanged"]


def test_a_run_that_a_v0_worker_runs_is_cancelled_by_request_only() -> None:
    run = after(v0(status="RUNNING", worker_id="old"), CancelExecution(at=5.0))
    assert (run.status, run.work.state, run.work.foreign) == (RunStatus.CANCELLING, WorkState.CLAIMED, True)
    assert from_document(stored(run)) == run
    assert after(run, ConfirmCancelled(at=9.0)).status is RunStatus.CANCELLED


def test_a_run_of_v0_is_never_queued_by_us() -> None:
    for run in (v0(), v0(status="RUNNING")):
        assert refusal(run, Queue(at=5.0, lost_gen=0)) is Reason.WORK_STATE
        tagged = after(run, AddTag(at=5.0, tag="x"))
        assert refusal(from_document(stored(tagged)), Queue(at=6.0, lost_gen=0)) is Reason.WORK_STATE


def test_what_a_v0_worker_recorded_does_not_keep_a_node_from_running_again() -> None:
    record = {"state": "SUCCEEDED", "output": "<object>", "inputs": None}
    run = v0(status="RUNNING", tasks={"a": "SUCCEEDED", "b": "RUNNING"}, task_records={"a": record})
    run = after(run, Claim(at=5.0, instance_id=ME, worker_id="w1"))
    assert (run.nodes["a"].replay, run.nodes["b"].state) == (False, NodeState.PENDING)
    assert events_of(run, StartNode(at=6.0, node="a", holder=HOLDER)) == ["NodeStarted"]


def test_a_v0_run_being_cancelled_without_a_time_has_one() -> None:
    run = v0(status="CANCELLING")
    assert run.cancel is not None
    assert events_of(run, ConfirmCancelled(at=5.0)) == ["RunObserved", "RunCancelled"]


def test_a_cancel_that_a_v0_worker_wrote_over_still_wins() -> None:
    run = v0(status="RUNNING", cancel_requested_at=4.0)
    assert run.status is RunStatus.CANCELLING
    assert refusal(run, Claim(at=5.0, instance_id=ME, worker_id="w1")) is Reason.CANCEL_REQUESTED


@pytest.mark.parametrize("fields", [{"status": "FAILED"}, {"updated_at": 77.0}, {"version": 1}], ids=str)
def test_v0_fields_that_disagree_with_our_events_win_and_are_noted(fields: Document) -> None:
    run = from_document({**stored(claimed()), **fields})
    assert run.unseen_write
    assert run.status.value == fields.get("status", "RUNNING")
    assert run.work.foreign is not run.is_terminal
    assert events_of(run, AddTag(at=99.0, tag="x")) == ["RunObserved", "TagsChanged"]
    assert not from_document(stored(after(run, AddTag(at=99.0, tag="x")))).unseen_write


def test_reading_a_v0_document_alone_writes_nothing() -> None:
    assert events_of(v0(), AddTag(at=5.0, tag="gpu")) == []


def large_run(nodes: int = 30) -> Run:
    run = after(claimed(), DeclareNodes(at=2.0, nodes=("end",), holder=HOLDER))
    for n in range(nodes):
        run = after(
            run,
            StartNode(at=3.0, node=f"n{n}", holder=HOLDER),
            SucceedNode(at=4.0, node=f"n{n}", output=f"out{n}", inputs={"text": "i" * 300}, holder=HOLDER),
            StartNode(at=3.0, node=f"f{n}", holder=HOLDER),
            FailNode(at=4.0, node=f"f{n}", error="no", traceback="t" * 300, holder=HOLDER),
        )
    return after(
        run,
        StartNode(at=5.0, node="ask", holder=HOLDER),
        PutNodeWaiting(at=5.0, node="ask", wait_key="k", holder=HOLDER),
    )


def test_a_document_within_the_cap_is_written_as_it_is() -> None:
    document = to_document(large_run())
    fitted = fit(document, 10**6)
    assert fitted.cut is Cut.NOTHING
    assert fitted.document is document
    assert json.loads(fitted.payload) == stored(large_run())


def test_inputs_go_first_then_tracebacks_then_records_then_outcomes() -> None:
    document = to_document(large_run())
    size = len(encode(document))
    cuts, previous = [], size
    limit = size - 1
    while True:
        fitted = fit(document, limit)
        if fitted.cut is not Cut.ABOVE:
            assert len(fitted.payload) <= limit
        cuts.append(fitted.cut)
        assert len(fitted.payload) < previous
        assert fitted.document["task_records_truncated"] is True
        if fitted.cut is Cut.ABOVE or fitted.cut is Cut.OUTCOMES:
            break
        previous = len(fitted.payload)
        limit = previous - 1
    assert cuts == [Cut.INPUTS, Cut.TRACEBACKS, Cut.RECORDS, Cut.OUTCOMES]
    assert fit(document, 10).cut is Cut.ABOVE


def cut_to(cut: Cut, run: Run) -> Run:
    """The run as it is read after its document was cut this far."""
    document = to_document(run)
    limit = len(encode(document))
    while (fitted := fit(document, limit)).cut < cut:
        limit = len(fitted.payload) - 1
    assert fitted.cut is cut
    return from_document(json.loads(fitted.payload))


def test_without_inputs_and_tracebacks_everything_else_is_still_there() -> None:
    inputs = cut_to(Cut.INPUTS, large_run())
    assert inputs.nodes["n0"].inputs == {}
    assert inputs.nodes["f0"].traceback == "t" * 300
    tracebacks = cut_to(Cut.TRACEBACKS, large_run())
    assert tracebacks.nodes["f0"].traceback is None
    assert tracebacks.nodes["n0"].duration_ms == 0.0 or tracebacks.nodes["n0"].started_at is not None


def test_without_records_no_finished_node_runs_again_and_a_waiting_one_is_found() -> None:
    run = cut_to(Cut.RECORDS, large_run())
    assert run.records_truncated
    assert (run.nodes["n0"].state, run.nodes["n0"].output, run.nodes["n0"].replay) == (
        NodeState.SUCCEEDED,
        "out0",
        True,
    )
    assert refusal(run, StartNode(at=9.0, node="n0", attempt=2, holder=HOLDER)) is Reason.NODE_STATE
    assert events_of(run, ResumeNode(at=9.0, node="ask", resume_key="k")) == ["NodeResumed"]
    assert run.nodes["end"].state is NodeState.PENDING


def test_without_outcomes_finished_nodes_may_run_again_and_a_waiting_one_is_found() -> None:
    run = cut_to(Cut.OUTCOMES, large_run())
    assert run.nodes["n0"].state is NodeState.SUCCEEDED
    assert events_of(run, StartNode(at=9.0, node="n0", holder=HOLDER)) == ["NodeStarted"]
    assert events_of(run, ResumeNode(at=9.0, node="ask", resume_key="k")) == ["NodeResumed"]


@settings(deadline=None, max_examples=60)
@given(limit=st.integers(0, 40_000), nodes=st.integers(0, 12))
def test_the_cap_never_cuts_what_v0_requires_or_a_run_needs_to_go_on(limit: int, nodes: int) -> None:
    run = large_run(nodes)
    fitted = fit(to_document(run), limit)
    document = json.loads(fitted.payload)
    whole = stored(run)
    for name in (*REQUIRED, "work", "events", "attempt", "version", "context", "applied"):
        assert document[name] == whole[name]
    assert len(fitted.payload) <= limit or fitted.cut is Cut.ABOVE
    again = from_document(document)
    assert not again.unseen_write
    assert {name: record.task_state for name, record in again.nodes.items()} == {
        name: record.task_state for name, record in run.nodes.items()
    }


def test_journal_entries_of_loops_lose_only_inputs_and_tracebacks() -> None:
    run = after(
        claimed(),
        StartNode(at=3.0, node="x", path="each[0]/x", holder=HOLDER),
        SucceedNode(at=4.0, node="x", path="each[0]/x", output="kept", inputs={"t": "i" * 900}, holder=HOLDER),
    )
    again = cut_to(Cut.RECORDS, run)
    entry = again.journal.nodes["each[0]/x"]
    assert (entry.state, entry.output, entry.inputs, entry.node) == (NodeState.SUCCEEDED, "kept", {}, "x")


def test_a_rerun_inherits_what_succeeded_and_can_be_replayed() -> None:
    run = after(
        running_node(),
        SucceedNode(at=4.0, node="a", output="kept", holder=HOLDER),
        StartNode(at=4.0, node="lost", holder=HOLDER),
        SucceedNode(at=4.0, node="lost", replay=False, holder=HOLDER),
        StartNode(at=4.0, node="x", path="each[0]/x", holder=HOLDER),
        SucceedNode(at=4.0, node="x", path="each[0]/x", output=1, holder=HOLDER),
        StartNode(at=4.0, node="b", holder=HOLDER),
        FailNode(at=4.0, node="b", error="no", holder=HOLDER),
    )
    again = after(None, create(run_id="another", parent_run_id=RUN_ID, inherited=inherited_from(run)))
    assert set(again.nodes) == {"a", "x"}
    assert again.nodes["a"].output == "kept"
    assert again.nodes["x"] == again.journal.nodes["each[0]/x"]
    assert from_document(stored(again)) == again
    again = after(again, Queue(at=9.0), Claim(at=9.0, instance_id=OTHER, worker_id="w2", gen=1))
    holder = Holder(OTHER, 1)
    assert refusal(again, StartNode(at=9.0, node="a", holder=holder)) is Reason.NODE_STATE
    assert events_of(again, StartNode(at=9.0, node="b", holder=holder)) == ["NodeStarted"]


def test_a_large_output_is_named_by_its_place_in_storage() -> None:
    run = after(
        running_node(),
        SucceedNode(at=4.0, node="a", output_ref="key", holder=HOLDER),
        CompleteExecution(at=5.0, output_ref="key", holder=HOLDER),
    )
    document = stored(run)
    assert (document["output_ref"], document["output"]) == ("key", None)
    assert document["task_records"]["a"]["output_ref"] == "key"


def test_deciding_changes_nothing_in_the_run_it_was_given() -> None:
    run = waiting()
    before = encode(to_document(run))
    decide(run, ResumeNode(at=9.0, node="a", resume_key="k"))
    after(run, ResumeNode(at=9.0, node="a", resume_key="k"), CancelExecution(at=9.0))
    assert encode(to_document(run)) == before
