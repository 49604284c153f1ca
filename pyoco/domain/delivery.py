"""What a worker does with a work message it was given."""

from __future__ import annotations

from collections.abc import Container
from enum import Enum

from .run import Run, WorkState


class Delivery(Enum):
    ACK = "the message has nothing left to say"
    READ_AGAIN = "the document that was read is older than the message: read it from the leader"
    SETTLE = "confirm the cancel, then ack"
    CLAIM = "claim the run"


def on_delivery(run: Run | None, gen: int | None, known_dead: Container[str]) -> Delivery:
    """The rules in their order: each of them relies on those before it not having applied.

    `run` is None only after the leader said that there is no such document. `gen` is that of the message, None for a
    v0 gateway's, which counts as the current one.
    """
    if run is None or run.is_terminal:
        return Delivery.ACK
    work = run.work
    if gen is not None and not work.foreign and gen != work.gen:
        return Delivery.READ_AGAIN if gen > work.gen else Delivery.ACK
    if work.state in (WorkState.PARKED, WorkState.NONE):
        return Delivery.ACK
    if work.state is WorkState.CLAIMED and not work.foreign and work.instance_id not in known_dead:
        return Delivery.ACK
    return Delivery.SETTLE if run.cancel is not None else Delivery.CLAIM
