"""Runs in every state a test may need, made by commands alone."""

from __future__ import annotations

import json

from pyoco.domain.commands import (
    CancelExecution,
    Claim,
    Command,
    CompleteExecution,
    CreateExecution,
    FailExecution,
    Holder,
    Park,
    PutNodeWaiting,
    Queue,
    Release,
    ReleaseReason,
    StartNode,
)
from pyoco.domain.decide import Applied, apply_all, decide
from pyoco.domain.document import to_document
from pyoco.domain.events import Event
from pyoco.domain.rejection import Reason, Rejection
from pyoco.domain.run import Run
from pyoco.domain.values import Document, encode

RUN_ID = "7b3c9c1e-0d6b-4c53-9d3f-6d6f1a2b3c4d"
ME = "box.1.1"
OTHER = "box.1.2"
HOLDER = Holder(ME, 1)


def create(**fields: object) -> CreateExecution:
    return CreateExecution(**{"at": 1.0, "run_id": RUN_ID, "flow_name": "report", "tags": ("default",), **fields})  # type: ignore[arg-type]


def after(run: Run | None, *commands: Command) -> Run:
    """The run after commands that all have to be accepted."""
    applied = apply_all(run, commands)
    assert isinstance(applied, Applied), applied
    return applied.run


def events_of(run: Run | None, command: Command) -> list[str]:
    decided = decide(run, command)
    assert not isinstance(decided, Rejection), decided
    return [event.type for event in decided]


def refusal(run: Run | None, command: Command) -> Reason:
    decided = decide(run, command)
    assert isinstance(decided, Rejection), [event.type for event in decided]
    return decided.reason


def decided(run: Run | None, command: Command) -> list[Event]:
    events = decide(run, command)
    assert not isinstance(events, Rejection), events
    return events


def stored(run: Run) -> Document:
    """The document as it comes back from storage."""
    document: Document = json.loads(encode(to_document(run)))
    return document


def created() -> Run:
    return after(None, create())


def queued() -> Run:
    return after(created(), Queue(at=1.0))


def claimed() -> Run:
    return after(queued(), Claim(at=2.0, instance_id=ME, worker_id="w1", gen=1))


def running_node(node: str = "a") -> Run:
    return after(claimed(), StartNode(at=3.0, node=node, holder=HOLDER))


def waiting(*, external: bool = False) -> Run:
    return after(
        running_node(), PutNodeWaiting(at=4.0, node="a", wait_key="k", prompt="ok?", external=external, holder=HOLDER)
    )


def parked(*, external: bool = False) -> Run:
    return after(waiting(external=external), Park(at=5.0, holder=HOLDER))


def released() -> Run:
    return after(running_node(), Release(at=5.0, instance_id=ME, reason=ReleaseReason.STOP, holder=HOLDER))


def cancelling() -> Run:
    return after(running_node(), CancelExecution(at=5.0, by="alice", reason="enough"))


def cancelled() -> Run:
    return after(queued(), CancelExecution(at=5.0))


def completed() -> Run:
    return after(running_node(), CompleteExecution(at=6.0, output=42, holder=HOLDER))


def failed() -> Run:
    return after(running_node(), FailExecution(at=6.0, error="broken", holder=HOLDER))


def open_execution(*declared: str) -> Run:
    return after(None, create(open=True, declared=declared or None))


def open_running(*declared: str) -> Run:
    return after(open_execution(*declared), StartNode(at=2.0, node="a", worker_id="outside"))
