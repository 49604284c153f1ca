"""Dead letters, on a real server."""

from __future__ import annotations

import asyncio
import json
import logging
from datetime import UTC, datetime

import pytest

from pyoco.domain.values import Unreadable
from pyoco.store import stream_reader
from pyoco.store.dead_letters import DeadLetter, DeadLetters, StoredLetter, letter_to_json
from pyoco.store.failures import Missing, Unavailable
from pyoco.store.names import Names
from pyoco.store.session import Session
from tests.support.nats import NatsServer

NAMES = Names()


@pytest.fixture
def letters(session: Session) -> DeadLetters:
    return DeadLetters(session, NAMES)


@pytest.fixture(params=["batched", "one by one"])
def reading(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to read: servers before 2.11 give one message per request."""
    since = (0, 0, 0) if request.param == "batched" else (99, 0, 0)
    monkeypatch.setattr(stream_reader, "BATCH_VERSION", since)
    return str(request.param)


def failed(number: int, tag: str = "default") -> DeadLetter:
    return DeadLetter(timestamp=float(number), reason="execution_error", error=f"e{number}", run_id="r", tag=tag)


async def publish(letters: DeadLetters, count: int, tag: str = "default", start: int = 1) -> None:
    for number in range(start, start + count):
        assert await letters.publish(failed(number, tag), f"{tag}.{number}")


def errors(found: list[StoredLetter]) -> list[str]:
    return [letter.document["error"] for letter in found]


async def walk(letters: DeadLetters, limit: int, tag: str | None = None) -> list[list[str]]:
    pages, before = [], None
    while True:
        page = await letters.newest(limit, before, tag)
        pages.append(errors(page.letters))
        if page.before is None:
            return pages
        before = page.before


def test_the_payload_has_the_fields_of_v0_and_no_unknown_ones() -> None:
    invalid = DeadLetter(
        timestamp=1.5,
        reason="invalid_job",
        error=None,
        worker_id="w",
        num_delivered=2,
        subject="pyoco.work.cpu",
    )
    assert letter_to_json(invalid) == {
        "timestamp": 1.5,
        "reason": "invalid_job",
        "error": None,
        "worker_id": "w",
        "num_delivered": 2,
        "subject": "pyoco.work.cpu",
    }
    full = DeadLetter(
        timestamp=2.0, reason="flow_not_found", error="no", run_id="r", flow_name="f", tag="t", tags=(), worker_id="w"
    )
    assert letter_to_json(full) == {
        "timestamp": 2.0,
        "reason": "flow_not_found",
        "error": "no",
        "run_id": "r",
        "flow_name": "f",
        "tag": "t",
        "tags": [],
        "worker_id": "w",
    }


async def test_a_letter_is_filed_under_its_tag_or_that_of_its_job(session: Session, letters: DeadLetters) -> None:
    await letters.publish(failed(1, "gpu"), "1")
    await letters.publish(DeadLetter(timestamp=2, reason="invalid_job", error="x", subject="pyoco.work.cpu.x"), "2")
    await letters.publish(DeadLetter(timestamp=3, reason="invalid_job", error="x"), "3")
    assert [(await letters.get(seq)).tag for seq in (1, 2, 3)] == ["gpu", "cpu.x", "unknown"]
    raw = await session.js.get_msg("PYOCO_DLQ", seq=1)
    assert (raw.subject, json.loads(raw.data or b"")) == ("pyoco.dlq.gpu", letter_to_json(failed(1, "gpu")))


async def test_the_same_message_id_is_stored_once(letters: DeadLetters) -> None:
    assert await letters.publish(failed(1), "id")
    assert not await letters.publish(failed(1), "id")
    assert await letters.count() == 1


async def test_without_letters_the_list_is_empty(letters: DeadLetters, reading: str) -> None:
    assert await walk(letters, 10) == [[]]
    assert await letters.count() == 0


@pytest.mark.parametrize("limit", [1, 2, 3, 6, 7, 8])
async def test_the_list_is_newest_first_page_by_page(letters: DeadLetters, reading: str, limit: int) -> None:
    await publish(letters, 7)
    pages = await walk(letters, limit)
    assert [error for page in pages for error in page] == [f"e{number}" for number in range(7, 0, -1)]
    assert [len(page) for page in pages[:-1]] == [limit] * (len(pages) - 1)
    assert pages[-1]


async def test_deleted_letters_leave_no_gap_in_the_pages(letters: DeadLetters, reading: str) -> None:
    await publish(letters, 300)
    for seq in range(2, 300):
        await letters.delete(seq)
    assert await walk(letters, 1) == [["e300"], ["e1"]]


async def test_one_tag_is_listed_without_the_others(letters: DeadLetters, reading: str) -> None:
    await publish(letters, 3, "rare")
    await publish(letters, 50, "common")
    assert await walk(letters, 2, "rare") == [["e3", "e2"], ["e1"]]
    assert await walk(letters, 2, "none") == [[]]


async def test_a_letter_that_comes_in_between_does_not_shift_the_pages(letters: DeadLetters) -> None:
    await publish(letters, 4)
    first = await letters.newest(2)
    await publish(letters, 3, start=5)
    second = await letters.newest(2, first.before)
    assert errors(first.letters) + errors(second.letters) == ["e4", "e3", "e2", "e1"]


async def test_a_letter_knows_when_it_was_stored(letters: DeadLetters, reading: str) -> None:
    before = datetime.now(UTC)
    await publish(letters, 1)
    [listed] = (await letters.newest(1)).letters
    stored = (await letters.get(listed.seq)).stored_at
    assert listed.stored_at == stored
    assert stored is not None
    assert abs((stored - before).total_seconds()) < 60


async def test_what_cannot_be_read_is_skipped_and_logged(
    session: Session, letters: DeadLetters, caplog: pytest.LogCaptureFixture
) -> None:
    await publish(letters, 1)
    await session.js.publish("pyoco.dlq.default", b"{half")
    await publish(letters, 1, start=2)
    with caplog.at_level(logging.WARNING):
        assert await walk(letters, 2) == [["e2"], ["e1"]]
    assert "dead letter 2 cannot be read" in caplog.text
    with pytest.raises(Unreadable):
        await letters.get(2)


async def test_a_deleted_letter_is_missing(letters: DeadLetters) -> None:
    await publish(letters, 2)
    await letters.delete(1)
    for call in (letters.get, letters.delete):
        with pytest.raises(Missing, match="there is no dead letter 1"):
            await call(1)
    assert await letters.count() == 1


async def test_letters_survive_a_kill_of_the_server(server: NatsServer, session: Session, letters: DeadLetters) -> None:
    await publish(letters, 3)
    await asyncio.to_thread(server.stop, kill=True)
    with pytest.raises(Unavailable):
        await letters.publish(failed(4), "4")
    await asyncio.to_thread(server.start)
    await asyncio.wait_for(session.connected.wait(), 10)
    assert await letters.publish(failed(4), "again.4")
    assert (await walk(letters, 9))[0][-3:] == ["e3", "e2", "e1"]
