"""Random commands of several workers, clients and housekeepers, repeated and out of order: what always holds."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyoco.domain import commands as c
from pyoco.domain.decide import Applied, apply_all, decide
from pyoco.domain.document import from_document, to_document
from pyoco.domain.events import Event, event_from_json
from pyoco.domain.evolve import evolve, fold
from pyoco.domain.history import MAX_APPLIED, MAX_BYTES, MAX_EVENTS
from pyoco.domain.records import NodeState
from pyoco.domain.rejection import Reason, Rejection
from pyoco.domain.run import Run, RunStatus, WorkState
from pyoco.domain.values import encode, size_of

from .builders import RUN_ID

INSTANCES = ("box.1.1", "box.1.2", "box.1.3")
PLACES = (("a", None), ("b", None), ("x", "each[0]/x"), ("x", "each[1]/x"))
VALUES = st.sampled_from([None, 0, "text", {"deep": [1, 2.5, {"x": None}]}, "long " * 60, "十" * 2000])
SETTINGS = settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def common(draw: st.DrawFn) -> dict[str, object]:
    """Clocks of several machines go apart; some commands carry an idempotency digest."""
    return {
        "at": draw(st.floats(1, 60, allow_nan=False)),
        "by": draw(st.sampled_from([None, "alice"])),
        "cmd": draw(st.sampled_from([None, None, None, *(f"digest{n}" for n in range(12))])),
    }


@st.composite
def holder(draw: st.DrawFn, run: Run) -> c.Holder | None:
    """Mostly the true holder, now and then another instance or attempt, or the outside."""
    true = c.Holder(run.work.instance_id or INSTANCES[0], run.attempt)
    stranger = c.Holder(draw(st.sampled_from(INSTANCES)), draw(st.integers(0, 3)))
    return draw(st.sampled_from([true, true, true, true, stranger, None]))


@st.composite
def node_command(draw: st.DrawFn, run: Run) -> c.Command:
    node, path = draw(st.sampled_from(PLACES))
    record = run.at(path or node)
    told = {**draw(common()), "holder": draw(holder(run)), "node": node, "path": path}
    attempt = draw(st.integers(1, 3))
    key = draw(st.sampled_from([(record and record.wait_key) or "k1", "k1", "k2"]))
    value, flag = draw(VALUES), draw(st.booleans())
    make = draw(st.sampled_from(range(9)))
    match make:
        case 0 | 1:
            return c.StartNode(**told, attempt=attempt)  # type: ignore[arg-type]
        case 2:
            return c.SucceedNode(**told, output=value, inputs={"in": value}, replay=draw(st.booleans()) or flag)  # type: ignore[arg-type]
        case 3:
            return c.FailNode(**told, error="no", traceback=str(value), retrying=flag, skipped=attempt == 3)  # type: ignore[arg-type]
        case 4:
            return c.ReportNodeProgress(**told, progress=draw(st.integers(0, 100)), message=str(value)[:20])  # type: ignore[arg-type]
        case 5:
            return c.PutNodeWaiting(**told, wait_key=key, prompt=value, external=flag)  # type: ignore[arg-type]
        case 6:
            return c.ResumeNode(**{**told, "holder": None}, resume_key=key, payload=value)  # type: ignore[arg-type]
        case 7:
            return c.SkipNode(**told)  # type: ignore[arg-type]
        case _:
            return c.CancelNode(**told)  # type: ignore[arg-type]


@st.composite
def run_command(draw: st.DrawFn, run: Run) -> c.Command:
    told = {**draw(common()), "holder": None}
    held = {**told, "holder": draw(holder(run))}
    instance = draw(st.sampled_from(INSTANCES))
    dead = draw(st.sampled_from([None, None, run.work.instance_id, instance]))
    gen = draw(st.sampled_from([None, run.work.gen, run.work.gen, run.work.gen, 1, 2]))
    make = draw(st.sampled_from([*range(15), 0, 0, 0, 5, 5]))
    match make:
        case 0:
            return c.Claim(**told, instance_id=instance, worker_id="w", gen=gen, dead_instance=dead)  # type: ignore[arg-type]
        case 1:
            return c.Queue(**told, dead_instance=dead, lost_gen=gen)  # type: ignore[arg-type]
        case 2:
            reason = draw(st.sampled_from(list(c.ReleaseReason)))
            return c.Release(**held, instance_id=run.work.instance_id or instance, reason=reason)  # type: ignore[arg-type]
        case 3:
            return c.CancelExecution(**told)  # type: ignore[arg-type]
        case 4:
            return c.ConfirmCancelled(**held)  # type: ignore[arg-type]
        case 5:
            return c.Park(**held)  # type: ignore[arg-type]
        case 6:
            return c.CompleteExecution(**held, output=draw(VALUES))  # type: ignore[arg-type]
        case 7:
            return c.FailExecution(**held, error="no", queued_gen=gen)  # type: ignore[arg-type]
        case 8:
            return c.ArchiveExecution(**told)  # type: ignore[arg-type]
        case 9:
            return c.AddTag(**told, tag=draw(st.sampled_from("xyz")))  # type: ignore[arg-type]
        case 10:
            return c.RemoveTag(**told, tag=draw(st.sampled_from("xyz")))  # type: ignore[arg-type]
        case 11:
            return c.StartExecution(**told)  # type: ignore[arg-type]
        case 12:
            return c.DeclareNodes(**held, nodes=("a", "b", "end"))  # type: ignore[arg-type]
        case 13:
            context = draw(st.sampled_from([None, {}, {"vars": {"set": {"n": 1}}}]))
            return c.WriteJournal(**held, context=context, decisions={"each": draw(VALUES)})  # type: ignore[arg-type]
        case _:
            return c.CreateExecution(**told, run_id=RUN_ID, flow_name="report")  # type: ignore[arg-type]


@st.composite
def next_step(draw: st.DrawFn, run: Run) -> c.Command:
    """What would bring the run on from here: pure chance seldom gets as far as a parked or completed run."""
    told = draw(common())
    work, true = run.work, c.Holder(run.work.instance_id or INSTANCES[0], run.attempt)
    waits = [(place, record) for place, record in run.places() if record.state is NodeState.WAITING]
    steps: list[c.Command] = [
        c.ResumeNode(**told, node=place, resume_key=record.wait_key or "")  # type: ignore[arg-type]
        for place, record in waits
    ]
    if work.state is WorkState.QUEUED:
        steps = [c.Claim(**told, instance_id=draw(st.sampled_from(INSTANCES)), worker_id="w", gen=work.gen)]  # type: ignore[arg-type]
    elif work.state is WorkState.CLAIMED:
        steps += [
            c.Park(**told, holder=true),
            c.Release(**told, instance_id=true.instance_id, reason=c.ReleaseReason.WORKER_LOST),
        ]  # type: ignore[arg-type]
        for node, path in PLACES:
            held = {**told, "holder": true, "node": node, "path": path}
            record = run.at(path or node)
            if record is not None and record.state is NodeState.RUNNING:
                steps.append(c.PutNodeWaiting(**held, wait_key=draw(st.sampled_from(["k1", "k2"]))))  # type: ignore[arg-type]
                steps.append(c.SucceedNode(**held, output=draw(VALUES)))  # type: ignore[arg-type]
            elif record is None or record.state is NodeState.PENDING:
                steps.append(c.StartNode(**held))  # type: ignore[arg-type]
    return draw(st.sampled_from(steps)) if steps else c.StartExecution(**told)  # type: ignore[arg-type]


class History:
    """Everything that happened in one random life of a run."""

    def __init__(self, run: Run, first: list[Event]) -> None:
        self.run = run
        self.events = list(first)
        self.sent: list[c.Command] = []
        self.emitted_by: dict[str, int] = {}

    def send(self, command: c.Command) -> None:
        before = self.run
        decided = decide(before, command)
        if isinstance(decided, Rejection):
            check_refusal(before, command, decided)
            return
        after = before
        for event in decided:
            after = evolve(after, event)
        self.check_digest(before, command, decided)
        check_step(before, command, decided, after)
        self.run = after
        self.events += decided
        self.sent.append(command)

    def check_digest(self, before: Run, command: c.Command, decided: list[Event]) -> None:
        if command.cmd is None or not decided:
            return
        assert command.cmd not in before.history.applied
        assert self.emitted_by.setdefault(command.cmd, before.version) == before.version, "applied twice"


def check_refusal(run: Run, command: c.Command, rejection: Rejection) -> None:
    if command.holder is not None and not run.is_claimed_by(command.holder.instance_id, command.holder.attempt):
        assert rejection.reason in (Reason.NOT_HOLDER, Reason.RUN_EXISTS)


PROGRESS_OVER = {"NodeCancelled", "RunCancelled", "TagsChanged"}
AFTER_THE_END = {"RunArchived", "TagsChanged"}


def check_step(before: Run, command: c.Command, decided: list[Event], after: Run) -> None:
    types = {event.type for event in decided}
    if decided and command.holder is not None:
        assert before.is_claimed_by(command.holder.instance_id, command.holder.attempt), "written by a stranger"
    if before.is_terminal:
        assert types <= AFTER_THE_END
        assert after.status is before.status
    if before.cancel is not None and not before.is_terminal:
        assert types <= PROGRESS_OVER, "progress after a cancel"
        assert after.status in (RunStatus.CANCELLING, RunStatus.CANCELLED)
        assert after.cancel == before.cancel
    if after.cancel is not None and not before.is_terminal:
        assert after.status in (RunStatus.CANCELLING, RunStatus.CANCELLED)
    assert [event.n for event in decided] == list(range(before.version + 1, after.version + 1))
    assert after.updated_at >= before.updated_at
    assert after.work.gen >= before.work.gen
    assert after.attempt >= before.attempt
    check_state(after)
    check_records(before, decided, after)


def check_state(run: Run) -> None:
    work = run.work
    if run.is_terminal:
        assert work.state is WorkState.NONE
        assert not any(record.is_open for _, record in run.places())
    elif work.state is WorkState.NONE:
        assert run.submission.open or run.status is RunStatus.PENDING, "nobody's run"
    if work.state is WorkState.CLAIMED:
        assert work.instance_id is not None
        assert run.status in (RunStatus.RUNNING, RunStatus.CANCELLING)
    if work.state is WorkState.PARKED:
        states = {record.state for _, record in run.places() if record.is_open}
        assert states == {NodeState.WAITING}
    assert len(run.history.entries) <= MAX_EVENTS
    assert size_of(run.history.entries) <= MAX_BYTES
    assert len(run.history.applied) <= MAX_APPLIED
    assert run.version == run.history.entries[-1]["n"]


def check_records(before: Run, decided: list[Event], after: Run) -> None:
    started_again = {event.body.place for event in decided if event.type == "NodeStarted"}  # type: ignore[union-attr]
    for place, record in before.places():
        if record.state is NodeState.SUCCEEDED and record.replay:
            assert after.at(place) == record, "a recorded success is lost"
            assert place not in started_again
    if [event.type for event in decided] == ["RunStarted"]:
        assert not any(record.state is NodeState.RUNNING for _, record in after.places())
    for place, answers in before.journal.answers.items():
        assert answers.items() <= after.journal.answers[place].items(), "an answer is lost"


def check_stored(run: Run, events: list[Event]) -> None:
    document = json.loads(encode(to_document(run)))
    assert from_document(document) == run
    outside_the_fold = {"heartbeat_at": run.heartbeat_at}
    assert fold(RUN_ID, events).changed(outside_the_fold) == run
    if not document["events_truncated"]:
        listed = [event_from_json(entry) for entry in document["events"]]
        assert fold(RUN_ID, listed).changed(outside_the_fold) == run


def first_of(open_: bool, declared: tuple[str, ...] | None, queued: bool) -> tuple[Run, list[Event]]:
    batch: list[c.Command] = [
        c.CreateExecution(at=1.0, run_id=RUN_ID, flow_name="report", open=open_, declared=declared, cmd="first")
    ]
    if queued:
        batch.append(c.Queue(at=1.0, cmd="first"))
    applied = apply_all(None, batch)
    assert isinstance(applied, Applied)
    return applied.run, list(applied.events)


@SETTINGS
@given(data=st.data(), steps=st.integers(1, 40))
def test_a_flow_run_keeps_every_invariant_under_any_commands(data: st.DataObject, steps: int) -> None:
    history = History(*first_of(open_=False, declared=None, queued=data.draw(st.booleans())))
    live(history, data, steps)


@SETTINGS
@given(data=st.data(), steps=st.integers(1, 30), declared=st.sampled_from([None, ("a",), ("a", "b")]))
def test_an_open_execution_keeps_every_invariant_under_any_commands(
    data: st.DataObject, steps: int, declared: tuple[str, ...] | None
) -> None:
    history = History(*first_of(open_=True, declared=declared, queued=False))
    live(history, data, steps)


def live(history: History, data: st.DataObject, steps: int) -> None:
    for _ in range(steps):
        run = history.run
        # Something sent earlier comes once more, as late as it likes.
        repeated = history.sent and data.draw(st.integers(0, 5)) == 0
        if repeated:
            command = data.draw(st.sampled_from(history.sent))
        else:
            kinds = (next_step(run), next_step(run), next_step(run), node_command(run), run_command(run))
            command = data.draw(data.draw(st.sampled_from(kinds)))
        history.send(command)
    check_stored(history.run, history.events)


@SETTINGS
@given(data=st.data())
def test_a_completion_and_a_cancel_are_settled_by_who_was_stored_first(data: st.DataObject) -> None:
    run, _ = first_of(open_=False, declared=None, queued=True)
    claim = c.Claim(at=2.0, instance_id=INSTANCES[0], worker_id="w", gen=1)
    holder_ = c.Holder(INSTANCES[0], 1)
    race = data.draw(
        st.permutations([c.CancelExecution(at=3.0), c.CompleteExecution(at=3.0, holder=holder_, output="done")])
    )
    history = History(run, [])
    history.send(claim)
    for command in (*race, c.ConfirmCancelled(at=4.0, holder=holder_)):
        history.send(command)
    expected = RunStatus.CANCELLED if isinstance(race[0], c.CancelExecution) else RunStatus.COMPLETED
    assert history.run.status is expected
