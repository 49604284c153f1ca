"""What a worker does with a delivered message, rule by rule."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pyoco.domain.commands import AddTag
from pyoco.domain.delivery import Delivery, on_delivery
from pyoco.domain.document import from_document
from pyoco.domain.run import Run

from .builders import ME, OTHER, after, cancelled, cancelling, claimed, completed, created, parked, queued, released
from .test_run_document import v0

D = Delivery
RULES: list[tuple[str, Callable[[], Run | None], int | None, tuple[str, ...], Delivery]] = [
    ("no document", lambda: None, 1, (), D.ACK),
    ("completed", completed, 1, (), D.ACK),
    ("completed, though the message is newer", completed, 9, (), D.ACK),
    ("cancelled", cancelled, 1, (), D.ACK),
    ("message newer than the document", queued, 2, (), D.READ_AGAIN),
    ("newer, though parked as far as we read", parked, 2, (), D.READ_AGAIN),
    ("newer, though claimed as far as we read", claimed, 2, (), D.READ_AGAIN),
    ("older message", released, 1, (), D.ACK),
    ("older message, holder dead", released, 1, (ME,), D.ACK),
    ("claimed by a live instance", claimed, 1, (OTHER,), D.ACK),
    ("parked", parked, 1, (ME,), D.ACK),
    ("being cancelled by a live holder", cancelling, 1, (), D.ACK),
    ("being cancelled, holder dead", cancelling, 1, (ME,), D.SETTLE),
    ("queued", queued, 1, (), D.CLAIM),
    ("released and queued again", released, 2, (), D.CLAIM),
    ("claimed by a dead instance", claimed, 1, (ME,), D.CLAIM),
    ("a v0 gateway's message", queued, None, (), D.CLAIM),
    ("a v0 gateway's message, claimed by a live instance", claimed, None, (), D.ACK),
    ("created but never started", created, None, (), D.ACK),
    ("a v0 document", v0, None, (), D.CLAIM),
    ("a v0 document and our message", v0, 1, (), D.CLAIM),
    ("a v0 worker lost it", lambda: v0(status="RUNNING"), None, (), D.CLAIM),
    ("v0, being cancelled", lambda: v0(status="CANCELLING"), None, (), D.SETTLE),
    ("v0, ended", lambda: v0(status="FAILED"), None, (), D.ACK),
]


@pytest.mark.parametrize(("build", "gen", "dead", "expected"), [rule[1:] for rule in RULES], ids=[r[0] for r in RULES])
def test_a_delivered_message_is_treated_by_the_first_rule_that_applies(
    build: Callable[[], Run | None], gen: int | None, dead: tuple[str, ...], expected: Delivery
) -> None:
    assert on_delivery(build(), gen, dead) is expected


def test_a_v0_run_that_we_only_tagged_is_still_claimed() -> None:
    from .builders import stored

    tagged = from_document(stored(after(v0(status="RUNNING"), AddTag(at=5.0, tag="x"))))
    assert on_delivery(tagged, None, ()) is Delivery.CLAIM
