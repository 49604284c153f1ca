"""Each row of the command table: what is accepted with which events, what is refused and why."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pyoco.domain.commands import (
    AddTag,
    ArchiveExecution,
    CancelExecution,
    CancelNode,
    Claim,
    Command,
    CompleteExecution,
    ConfirmCancelled,
    DeclareNodes,
    FailExecution,
    FailNode,
    Holder,
    Park,
    PutNodeWaiting,
    Queue,
    Release,
    ReleaseReason,
    RemoveTag,
    ReportNodeProgress,
    ResumeNode,
    SkipNode,
    StartExecution,
    StartNode,
    SucceedNode,
    WriteJournal,
)
from pyoco.domain.decide import apply_all, decide
from pyoco.domain.records import NodeState
from pyoco.domain.rejection import Reason, Rejection
from pyoco.domain.run import Run, RunStatus, WorkState

from .builders import (
    HOLDER,
    ME,
    OTHER,
    after,
    cancelled,
    cancelling,
    claimed,
    completed,
    create,
    created,
    decided,
    events_of,
    failed,
    open_execution,
    open_running,
    parked,
    queued,
    refusal,
    released,
    running_node,
    waiting,
)

T = 10.0
STOP = ReleaseReason.STOP


def claim(**fields: object) -> Claim:
    return Claim(**{"at": T, "instance_id": OTHER, "worker_id": "w2", "gen": 1, **fields})  # type: ignore[arg-type]


def failed_node() -> Run:
    return after(running_node(), FailNode(at=T, node="a", error="no", holder=HOLDER))


def unrecordable() -> Run:
    return after(running_node(), SucceedNode(at=T, node="a", replay=False, holder=HOLDER))


def resumed() -> Run:
    return after(waiting(), ResumeNode(at=T, node="a", resume_key="k"))


def open_resumed() -> Run:
    return after(
        open_running(),
        PutNodeWaiting(at=T, node="a", wait_key="k"),
        ResumeNode(at=T, node="a", resume_key="k"),
    )


def waiting_and_retrying() -> Run:
    return after(
        waiting(),
        StartNode(at=T, node="b", holder=HOLDER),
        FailNode(at=T, node="b", error="no", retrying=True, holder=HOLDER),
    )


def retrying() -> Run:
    return after(running_node(), FailNode(at=T, node="a", error="no", retrying=True, holder=HOLDER))


Build = Callable[[], Run]

ACCEPTED: list[tuple[Build, Command, list[str]]] = [
    (created, StartExecution(at=T), ["RunQueued"]),
    (queued, StartExecution(at=T), []),
    (claimed, StartExecution(at=T), []),
    (open_execution, StartExecution(at=T), ["RunStarted"]),
    (open_running, StartExecution(at=T), []),
    (created, Queue(at=T), ["RunQueued"]),
    (parked, Queue(at=T), ["RunQueued"]),
    (claimed, Queue(at=T, dead_instance=ME), ["RunQueued"]),
    (queued, Queue(at=T, lost_gen=1), ["RunQueued"]),
    (queued, claim(), ["RunStarted"]),
    (queued, claim(gen=None), ["RunStarted"]),
    (released, claim(gen=2), ["RunStarted"]),
    (claimed, claim(dead_instance=ME), ["RunStarted"]),
    (waiting, Park(at=T, holder=HOLDER), ["RunParked"]),
    (claimed, Release(at=T, instance_id=ME, reason=STOP, holder=HOLDER), ["RunReleased"]),
    (claimed, Release(at=T, instance_id=ME, reason=ReleaseReason.WORKER_LOST), ["RunReleased"]),
    (created, CancelExecution(at=T), ["RunCancelRequested", "RunCancelled"]),
    (queued, CancelExecution(at=T), ["RunCancelRequested", "RunCancelled"]),
    (parked, CancelExecution(at=T), ["RunCancelRequested", "NodeCancelled", "RunCancelled"]),
    (open_running, CancelExecution(at=T), ["RunCancelRequested", "NodeCancelled", "RunCancelled"]),
    (claimed, CancelExecution(at=T), ["RunCancelRequested"]),
    (cancelling, CancelExecution(at=T), []),
    (completed, CancelExecution(at=T), []),
    (failed, CancelExecution(at=T), []),
    (cancelled, CancelExecution(at=T), []),
    (cancelling, ConfirmCancelled(at=T, holder=HOLDER), ["NodeCancelled", "RunCancelled"]),
    (cancelling, ConfirmCancelled(at=T), ["NodeCancelled", "RunCancelled"]),
    (claimed, CompleteExecution(at=T, holder=HOLDER), ["RunCompleted"]),
    (open_execution, CompleteExecution(at=T), ["RunCompleted"]),
    (claimed, FailExecution(at=T, error="x", holder=HOLDER), ["RunFailed"]),
    (queued, FailExecution(at=T, error="x"), ["RunFailed"]),
    (queued, FailExecution(at=T, error="x", queued_gen=1), ["RunFailed"]),
    (running_node, FailExecution(at=T, error="x", holder=HOLDER), ["NodeCancelled", "RunFailed"]),
    (retrying, FailExecution(at=T, error="x", holder=HOLDER), ["NodeCancelled", "RunFailed"]),
    (completed, ArchiveExecution(at=T), ["RunArchived"]),
    (cancelled, ArchiveExecution(at=T), ["RunArchived"]),
    (claimed, StartNode(at=T, node="a", holder=HOLDER), ["NodeStarted"]),
    (open_execution, StartNode(at=T, node="a"), ["RunStarted", "NodeStarted"]),
    (open_running, StartNode(at=T, node="b"), ["NodeStarted"]),
    (failed_node, StartNode(at=T, node="a", attempt=2, holder=HOLDER), ["NodeStarted"]),
    (retrying, StartNode(at=T, node="a", attempt=2, holder=HOLDER), ["NodeStarted"]),
    (unrecordable, StartNode(at=T, node="a", attempt=1, holder=HOLDER), ["NodeStarted"]),
    (resumed, StartNode(at=T, node="a", attempt=1, holder=HOLDER), ["NodeStarted"]),
    (running_node, StartNode(at=T, node="a", path="each[1]/a", holder=HOLDER), ["NodeStarted"]),
    (running_node, ReportNodeProgress(at=T, node="a", progress=0, holder=HOLDER), ["NodeProgressed"]),
    (running_node, ReportNodeProgress(at=T, node="a", progress=100), ["NodeProgressed"]),
    (running_node, PutNodeWaiting(at=T, node="a", wait_key="k", holder=HOLDER), ["NodeWaiting"]),
    (open_running, PutNodeWaiting(at=T, node="a", wait_key="k"), ["NodeWaiting"]),
    (waiting, ResumeNode(at=T, node="a", resume_key="k"), ["NodeResumed"]),
    (parked, ResumeNode(at=T, node="a", resume_key="k"), ["NodeResumed", "RunQueued"]),
    (running_node, SucceedNode(at=T, node="a", holder=HOLDER), ["NodeSucceeded"]),
    (open_running, SucceedNode(at=T, node="a"), ["NodeSucceeded"]),
    (lambda: parked(external=True), SucceedNode(at=T, node="a"), ["NodeSucceeded", "RunQueued"]),
    (lambda: waiting(external=True), SucceedNode(at=T, node="a"), ["NodeSucceeded"]),
    (lambda: parked(external=True), FailNode(at=T, node="a", error="x"), ["NodeFailed", "RunQueued"]),
    (lambda: open_running("a"), SucceedNode(at=T, node="a"), ["NodeSucceeded", "RunCompleted"]),
    (lambda: open_running("a", "b"), SucceedNode(at=T, node="a"), ["NodeSucceeded"]),
    (running_node, FailNode(at=T, node="a", error="x", holder=HOLDER), ["NodeFailed"]),
    (claimed, FailNode(at=T, node="a", error="x", skipped=True, holder=HOLDER), ["NodeFailed"]),
    (claimed, SkipNode(at=T, node="a", holder=HOLDER), ["NodeSkipped"]),
    (running_node, CancelNode(at=T, node="a", holder=HOLDER), ["NodeCancelled"]),
    (claimed, DeclareNodes(at=T, nodes=("a", "b"), holder=HOLDER), ["NodesDeclared"]),
    (running_node, DeclareNodes(at=T, nodes=("a",), holder=HOLDER), []),
    (claimed, WriteJournal(at=T, context={"vars": {}}, holder=HOLDER), ["JournalWritten"]),
    (claimed, WriteJournal(at=T, context={}, holder=HOLDER), []),
    (completed, AddTag(at=T, tag="x"), ["TagsChanged"]),
    (cancelling, AddTag(at=T, tag="x"), ["TagsChanged"]),
    (queued, AddTag(at=T, tag="default"), []),
    (queued, RemoveTag(at=T, tag="default"), ["TagsChanged"]),
    (queued, RemoveTag(at=T, tag="x"), []),
]

R = Reason
REFUSED: list[tuple[Build, Command, Reason]] = [
    (created, create(), R.RUN_EXISTS),
    (completed, StartExecution(at=T), R.TERMINAL),
    (cancelling, StartExecution(at=T), R.CANCEL_REQUESTED),
    (queued, Queue(at=T), R.WORK_STATE),
    (queued, Queue(at=T, lost_gen=2), R.WORK_STATE),
    (claimed, Queue(at=T), R.WORK_STATE),
    (claimed, Queue(at=T, dead_instance=OTHER), R.WORK_STATE),
    (open_execution, Queue(at=T), R.WORK_STATE),
    (completed, Queue(at=T), R.TERMINAL),
    (cancelling, Queue(at=T, dead_instance=ME), R.CANCEL_REQUESTED),
    (queued, claim(gen=0), R.WRONG_GEN),
    (queued, claim(gen=2), R.WRONG_GEN),
    (released, claim(gen=1), R.WRONG_GEN),
    (claimed, claim(), R.WORK_STATE),
    (claimed, claim(dead_instance="somebody"), R.WORK_STATE),
    (parked, claim(), R.WORK_STATE),
    (created, claim(gen=None), R.WORK_STATE),
    (cancelling, claim(dead_instance=ME), R.CANCEL_REQUESTED),
    (failed, claim(), R.TERMINAL),
    (claimed, Park(at=T, holder=HOLDER), R.NODES_OPEN),
    (running_node, Park(at=T, holder=HOLDER), R.NODES_OPEN),
    (waiting_and_retrying, Park(at=T, holder=HOLDER), R.NODES_OPEN),
    (resumed, Park(at=T, holder=HOLDER), R.NODES_OPEN),
    (waiting, Park(at=T), R.NOT_HOLDER),
    (waiting, Park(at=T, holder=Holder(ME, 2)), R.NOT_HOLDER),
    (waiting, Park(at=T, holder=Holder(OTHER, 1)), R.NOT_HOLDER),
    (queued, Release(at=T, instance_id=ME, reason=STOP), R.NOT_HOLDER),
    (claimed, Release(at=T, instance_id=OTHER, reason=STOP), R.NOT_HOLDER),
    (cancelling, Release(at=T, instance_id=ME, reason=STOP, holder=HOLDER), R.CANCEL_REQUESTED),
    (running_node, ConfirmCancelled(at=T, holder=HOLDER), R.CANCEL_NOT_REQUESTED),
    (cancelled, ConfirmCancelled(at=T), R.TERMINAL),
    (completed, ConfirmCancelled(at=T), R.TERMINAL),
    (cancelling, CompleteExecution(at=T, holder=HOLDER), R.CANCEL_REQUESTED),
    (claimed, CompleteExecution(at=T), R.DRIVEN_BY_WORKER),
    (open_running, CompleteExecution(at=T), R.NODES_OPEN),
    (failed, CompleteExecution(at=T), R.TERMINAL),
    (cancelling, FailExecution(at=T, error="x", holder=HOLDER), R.CANCEL_REQUESTED),
    (completed, FailExecution(at=T, error="x"), R.TERMINAL),
    (released, FailExecution(at=T, error="x", queued_gen=1), R.WORK_STATE),
    (claimed, FailExecution(at=T, error="x", queued_gen=1), R.WORK_STATE),
    (running_node, ArchiveExecution(at=T), R.NOT_TERMINAL),
    (cancelling, ArchiveExecution(at=T), R.NOT_TERMINAL),
    (running_node, StartNode(at=T, node="a", attempt=2, holder=HOLDER), R.NODE_STATE),
    (failed_node, StartNode(at=T, node="a", attempt=1, holder=HOLDER), R.NODE_STATE),
    (waiting, StartNode(at=T, node="a", attempt=2, holder=HOLDER), R.NODE_STATE),
    (claimed, StartNode(at=T, node="a"), R.DRIVEN_BY_WORKER),
    (open_resumed, StartNode(at=T, node="a", attempt=2), R.NODE_STATE),
    (queued, StartNode(at=T, node="a"), R.DRIVEN_BY_WORKER),
    (cancelling, StartNode(at=T, node="b", holder=HOLDER), R.CANCEL_REQUESTED),
    (completed, StartNode(at=T, node="b"), R.TERMINAL),
    (lambda: open_running("a"), StartNode(at=T, node="b"), R.NOT_DECLARED),
    (running_node, ReportNodeProgress(at=T, node="a", progress=101), R.INVALID),
    (running_node, ReportNodeProgress(at=T, node="a", progress=-1), R.INVALID),
    (running_node, ReportNodeProgress(at=T, node="a", progress=float("nan")), R.INVALID),
    (waiting, ReportNodeProgress(at=T, node="a", progress=1), R.NODE_STATE),
    (claimed, ReportNodeProgress(at=T, node="a", progress=1), R.NODE_UNKNOWN),
    (cancelling, ReportNodeProgress(at=T, node="a", progress=1), R.CANCEL_REQUESTED),
    (running_node, PutNodeWaiting(at=T, node="a", wait_key="k"), R.DRIVEN_BY_WORKER),
    (waiting, PutNodeWaiting(at=T, node="a", wait_key="k", holder=HOLDER), R.NODE_STATE),
    (cancelling, PutNodeWaiting(at=T, node="a", wait_key="k", holder=HOLDER), R.CANCEL_REQUESTED),
    (waiting, ResumeNode(at=T, node="a", resume_key="other"), R.WRONG_KEY),
    (running_node, ResumeNode(at=T, node="a", resume_key="k"), R.NODE_STATE),
    (running_node, ResumeNode(at=T, node="b", resume_key="k"), R.NODE_UNKNOWN),
    (cancelling, ResumeNode(at=T, node="a", resume_key="k"), R.CANCEL_REQUESTED),
    (running_node, SucceedNode(at=T, node="a"), R.DRIVEN_BY_WORKER),
    (parked, SucceedNode(at=T, node="a"), R.DRIVEN_BY_WORKER),
    (waiting, SucceedNode(at=T, node="a", holder=HOLDER), R.NODE_STATE),
    (claimed, SucceedNode(at=T, node="a", holder=HOLDER), R.NODE_UNKNOWN),
    (cancelling, SucceedNode(at=T, node="a", holder=HOLDER), R.CANCEL_REQUESTED),
    (failed_node, FailNode(at=T, node="a", error="x", holder=HOLDER), R.NODE_STATE),
    (running_node, FailNode(at=T, node="a", error="x"), R.DRIVEN_BY_WORKER),
    (running_node, FailNode(at=T, node="a", error="x", skipped=True, holder=HOLDER), R.NODE_STATE),
    (running_node, SkipNode(at=T, node="a", holder=HOLDER), R.NODE_STATE),
    (claimed, SkipNode(at=T, node="a"), R.DRIVEN_BY_WORKER),
    (failed_node, CancelNode(at=T, node="a", holder=HOLDER), R.NODE_STATE),
    (open_running, CancelNode(at=T, node="a"), R.DRIVEN_BY_WORKER),
    (claimed, DeclareNodes(at=T, nodes=("a",)), R.NOT_HOLDER),
    (claimed, WriteJournal(at=T, context={}), R.NOT_HOLDER),
]


def name_of(value: object) -> str:
    if isinstance(value, Command):
        return type(value).__name__
    return getattr(value, "__name__", "")


@pytest.mark.parametrize(("build", "command", "events"), ACCEPTED, ids=name_of)
def test_a_command_that_its_guard_lets_in_emits_exactly_these_events(
    build: Build, command: Command, events: list[str]
) -> None:
    assert events_of(build(), command) == events


@pytest.mark.parametrize(("build", "command", "reason"), REFUSED, ids=name_of)
def test_a_command_that_its_guard_keeps_out_says_why(build: Build, command: Command, reason: Reason) -> None:
    assert refusal(build(), command) == reason


HELD: list[tuple[Build, Command]] = [
    (waiting, Park(at=T, holder=HOLDER)),
    (claimed, Release(at=T, instance_id=ME, reason=STOP, holder=HOLDER)),
    (cancelling, ConfirmCancelled(at=T, holder=HOLDER)),
    (claimed, CompleteExecution(at=T, holder=HOLDER)),
    (claimed, FailExecution(at=T, error="x", holder=HOLDER)),
    (claimed, StartNode(at=T, node="a", holder=HOLDER)),
    (running_node, ReportNodeProgress(at=T, node="a", progress=1, holder=HOLDER)),
    (running_node, PutNodeWaiting(at=T, node="a", wait_key="k", holder=HOLDER)),
    (running_node, SucceedNode(at=T, node="a", holder=HOLDER)),
    (running_node, FailNode(at=T, node="a", error="x", holder=HOLDER)),
]


@pytest.mark.parametrize(("build", "command"), HELD, ids=name_of)
@pytest.mark.parametrize("holder", [Holder(OTHER, 1), Holder(ME, 2), Holder(ME, 0)], ids=str)
def test_a_worker_whose_claim_does_not_stand_is_heard_in_nothing(
    build: Build, command: Command, holder: Holder
) -> None:
    from dataclasses import replace

    assert events_of(build(), command)
    assert refusal(build(), replace(command, holder=holder)) is Reason.NOT_HOLDER


@pytest.mark.parametrize(
    "command", [StartExecution(at=T), CancelExecution(at=T), StartNode(at=T, node="a")], ids=name_of
)
def test_nothing_but_a_create_can_be_asked_of_a_run_that_does_not_exist(command: Command) -> None:
    assert refusal(None, command) is Reason.RUN_UNKNOWN


def test_a_rejection_reads_like_a_sentence() -> None:
    rejection = decide(cancelling(), ResumeNode(at=T, node="a", resume_key="k"))
    assert isinstance(rejection, Rejection)
    assert rejection.message == "ResumeNode rejected because execution is cancel-requested"


def test_a_resume_before_the_wait_is_stored_may_be_tried_again_soon_but_a_wrong_key_may_not() -> None:
    early = decide(running_node(), ResumeNode(at=T, node="a", resume_key="k"))
    wrong = decide(waiting(), ResumeNode(at=T, node="a", resume_key="no"))
    assert isinstance(early, Rejection)
    assert isinstance(wrong, Rejection)
    assert (early.retry_after, wrong.retry_after) == (1.0, None)


def test_a_batch_is_taken_as_a_whole_or_not_at_all() -> None:
    rejection = apply_all(
        claimed(),
        [
            StartNode(at=T, node="a", holder=HOLDER),
            SucceedNode(at=T, node="b", holder=HOLDER),
            CompleteExecution(at=T, holder=HOLDER),
        ],
    )
    assert isinstance(rejection, Rejection)
    assert (rejection.index, rejection.command, rejection.reason) == (1, "SucceedNode", Reason.NODE_UNKNOWN)


def test_an_empty_batch_for_no_run_is_refused() -> None:
    assert isinstance(apply_all(None, []), Rejection)


def test_a_submit_creates_and_queues_under_one_digest_and_is_done_once() -> None:
    batch = [create(cmd="d1"), Queue(at=1.0, cmd="d1")]
    run = after(None, *batch)
    assert (run.status, run.work.state, run.work.gen) == (RunStatus.PENDING, WorkState.QUEUED, 1)
    assert run.emitted("d1") == (f"{run.run_id}:1", f"{run.run_id}:2")
    assert after(run, *batch) is run


def test_a_claim_counts_the_attempt_and_puts_begun_nodes_back() -> None:
    run = after(
        running_node(),
        StartNode(at=T, node="b", path="each[0]/b", attempt=2, holder=HOLDER),
        StartNode(at=T, node="c", holder=HOLDER),
        SucceedNode(at=T, node="c", output="kept", holder=HOLDER),
        claim(dead_instance=ME),
    )
    assert (run.attempt, run.work.instance_id, run.worker_id) == (2, OTHER, "w2")
    assert {name: record.state for name, record in run.nodes.items()} == {
        "a": NodeState.PENDING,
        "b": NodeState.PENDING,
        "c": NodeState.SUCCEEDED,
    }
    assert run.journal.nodes["each[0]/b"].state is NodeState.PENDING
    assert run.journal.nodes["each[0]/b"].attempt == 2
    assert run.nodes["c"].output == "kept"


def test_attempts_lost_without_a_recorded_node_are_counted_and_a_recorded_one_starts_anew() -> None:
    lost = ReleaseReason.WORKER_LOST
    run = after(claimed(), Release(at=T, instance_id=ME, reason=lost))
    run = after(run, claim(gen=2, instance_id=ME), claim(gen=2, dead_instance=ME))
    assert run.crashes == 2
    run = after(run, Queue(at=T, dead_instance=OTHER), claim(gen=3))
    assert run.crashes == 3
    again = Holder(OTHER, 4)
    run = after(run, StartNode(at=T, node="a", holder=again))
    assert run.crashes == 3
    run = after(run, SucceedNode(at=T, node="a", holder=again))
    assert run.crashes == 0


def test_a_worker_that_stops_politely_has_not_crashed() -> None:
    assert released().crashes == 0


def test_a_resumed_node_finds_its_answer_after_the_next_claim() -> None:
    run = after(parked(), ResumeNode(at=T, node="a", resume_key="k", payload={"ok": True}), claim(gen=2))
    assert run.journal.answers == {"a": {"k": {"payload": {"ok": True}}}}
    assert run.nodes["a"].state is NodeState.PENDING


def test_of_two_waiting_rounds_of_a_loop_the_key_chooses_and_a_path_names_one() -> None:
    rounds = [
        command
        for i in range(2)
        for command in (
            StartNode(at=T, node="ask", path=f"each[{i}]/ask", holder=HOLDER),
            PutNodeWaiting(at=T, node="ask", path=f"each[{i}]/ask", wait_key=f"k{i}", holder=HOLDER),
        )
    ]
    run = after(claimed(), *rounds)
    by_name = after(run, ResumeNode(at=T, node="ask", resume_key="k0"))
    by_path = after(run, ResumeNode(at=T, node="each[1]/ask", resume_key="k1"))
    assert list(by_name.journal.answers) == ["each[0]/ask"]
    assert list(by_path.journal.answers) == ["each[1]/ask"]
    assert set(by_path.nodes) == {"ask"}
    assert refusal(run, ResumeNode(at=T, node="each[1]/ask", resume_key="k0")) is Reason.WRONG_KEY
    assert refusal(by_name, Park(at=T, holder=HOLDER)) is Reason.NODES_OPEN


def test_a_cancel_ends_open_nodes_by_name_and_leaves_finished_ones() -> None:
    run = after(
        running_node(),
        SucceedNode(at=T, node="a", output=1, holder=HOLDER),
        DeclareNodes(at=T, nodes=("a", "b", "c"), holder=HOLDER),
        StartNode(at=T, node="b", holder=HOLDER),
        CancelExecution(at=T, by="alice", reason="enough"),
        ConfirmCancelled(at=T, holder=HOLDER),
    )
    states = {name: (record.state, record.canceled_by_execution) for name, record in run.nodes.items()}
    assert states == {
        "a": (NodeState.SUCCEEDED, False),
        "b": (NodeState.CANCELLED, True),
        "c": (NodeState.CANCELLED, True),
    }
    assert run.status is RunStatus.CANCELLED
    assert run.work.state is WorkState.NONE
    assert run.cancel is not None
    assert (run.cancel.at, run.cancel.by, run.cancel.reason) == (T, "alice", "enough")


def test_an_open_execution_fails_by_its_failed_node_and_completes_when_a_later_attempt_succeeds() -> None:
    run = after(open_running(), FailNode(at=T, node="a", error="no"))
    assert after(run, CompleteExecution(at=T)).status is RunStatus.FAILED
    run = after(run, StartNode(at=T, node="a", attempt=2), SucceedNode(at=T, node="a", output="yes"))
    done = after(run, CompleteExecution(at=T))
    assert (done.status, done.output) == (RunStatus.COMPLETED, "yes")


def test_several_nodes_of_an_open_execution_give_a_mapping_of_outputs() -> None:
    run = after(
        open_running("a", "b"),
        SucceedNode(at=T, node="a", output=1),
        StartNode(at=T, node="b"),
        SucceedNode(at=T, node="b", output=2),
    )
    assert (run.status, run.output) == (RunStatus.COMPLETED, {"a": 1, "b": 2})


def test_archiving_twice_leaves_one_event() -> None:
    run = after(completed(), ArchiveExecution(at=T))
    assert run.archived_at == T
    assert events_of(run, ArchiveExecution(at=T + 1)) == []


def test_the_output_and_the_worker_stay_with_a_completed_run() -> None:
    run = completed()
    assert (run.status, run.output, run.worker_id, run.end_time) == (RunStatus.COMPLETED, 42, "w1", 6.0)
    assert run.work.state is WorkState.NONE
    assert run.nodes["a"].state is NodeState.CANCELLED


def test_an_event_is_never_older_than_the_one_before_it() -> None:
    (event,) = decided(claimed(), AddTag(at=0.5, tag="late"))
    assert event.at == 2.0
