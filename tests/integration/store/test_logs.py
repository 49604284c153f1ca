"""Writing and reading the log of a run, on a real server."""

from __future__ import annotations

import asyncio
from typing import Any

import nats.errors
import pytest
from nats.js import JetStreamContext
from nats.js.api import PubAck

from pyoco.store import stream_reader
from pyoco.store.failures import Unavailable
from pyoco.store.log_lines import Entry, Line
from pyoco.store.log_reader import LogReader, LogState
from pyoco.store.log_writer import LogLimits, LogWriter
from pyoco.store.names import Names
from pyoco.store.session import Session
from tests.support.nats import NatsServer

NAMES = Names()
RUN = "2f0c1f6e-0f61-4c43-8a9a-3d2f4c5b6a70"


def lines(count: int, prefix: str = "line", start: int = 1) -> list[Line]:
    return [Line(1.5, f"{prefix} {number}", task="work") for number in range(start, start + count)]


def writer(session: Session, term: int = 1, limits: LogLimits | None = None, run_id: str = RUN) -> LogWriter:
    return LogWriter(session, NAMES, run_id, term, limits or LogLimits())


async def all_entries(session: Session, limit: int = 1000, run_id: str = RUN) -> list[Entry]:
    """The whole log, page by page."""
    reader, found, since = LogReader(session, NAMES), list[Entry](), 0
    while (page := await reader.entries(run_id, since, limit)).entries:
        found += page.entries
        since = page.next
    return found


async def messages(session: Session, limit: int = 1000) -> list[str]:
    return [entry.message for entry in await all_entries(session, limit)]


async def text(session: Session, start: int, stop: int) -> bytes:
    return b"".join([piece async for piece in LogReader(session, NAMES).text(RUN, start, stop)])


@pytest.fixture(params=["batched", "one by one"])
def reading(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to read: servers before 2.11 give one message per request."""
    since = (0, 0, 0) if request.param == "batched" else (99, 0, 0)
    monkeypatch.setattr(stream_reader, "BATCH_VERSION", since)
    return str(request.param)


async def test_a_log_nobody_has_written_is_empty(session: Session) -> None:
    reader = LogReader(session, NAMES)
    assert await reader.state(RUN) == LogState()
    page = await reader.entries(RUN, 0, 10)
    assert (page.entries, page.next, page.truncated) == ([], 0, False)
    assert await text(session, 0, 100) == b""


async def test_an_entry_has_everything_that_was_known_about_its_line(session: Session, reading: str) -> None:
    async with writer(session) as log:
        log.write([Line(12.5, "hello", task="greet", stream="log", level="WARNING")])
        assert await log.flush(5)
    assert await all_entries(session) == [Entry(12.5, "hello", 1, "greet", "log", "WARNING")]


async def test_a_hundred_thousand_lines_are_read_back_once_and_in_order(session: Session, reading: str) -> None:
    count = 100_000
    async with writer(session) as log:
        for start in range(1, count + 1, 500):
            await log.room()
            log.write(lines(500, start=start))
        assert await log.flush(60)
    found = await all_entries(session)
    assert [entry.seq for entry in found] == list(range(1, count + 1))
    assert [entry.message for entry in found] == [f"line {number}" for number in range(1, count + 1)]


async def test_a_page_starts_after_the_given_sequence_wherever_it_is(session: Session, reading: str) -> None:
    async with writer(session, limits=LogLimits(max_run_bytes=20_000)) as log:
        log.write(lines(800))
        assert await log.flush(5)
    reader = LogReader(session, NAMES)
    for since in (0, 1, 37, 399, 798, 799, 800, 900):
        page = await reader.entries(RUN, since, 3)
        expected = [number for number in range(since + 1, since + 4) if number <= 800]
        assert [entry.seq for entry in page.entries] == expected
        assert page.next == (expected[-1] if expected else since)
        assert not page.truncated


async def test_any_line_is_found_between_the_lines_of_many_other_runs(session: Session) -> None:
    limits = LogLimits(max_run_bytes=8192)
    async with writer(session, limits=limits) as log, writer(session, limits=limits, run_id="other") as other:
        for number in range(1, 41):
            log.write(lines(3, start=3 * number - 2))
            assert await log.flush(5)
            for _ in range(number % 4):
                other.write(lines(1))
                assert await other.flush(5)
    reader = LogReader(session, NAMES)
    for since in range(120):
        page = await LogReader(session, NAMES).entries(RUN, since, 1)
        assert [entry.message for entry in page.entries] == [f"line {since + 1}"]
    assert (await reader.state(RUN)).last_seq == 120


async def test_the_plain_text_is_given_by_byte_range(session: Session, reading: str) -> None:
    async with writer(session, limits=LogLimits(max_run_bytes=100_000)) as log:
        log.write([Line(1.0, f"{number} äöü") for number in range(1000)])
        assert await log.flush(5)
    whole = "".join(f"{number} äöü\n" for number in range(1000)).encode()
    assert (await LogReader(session, NAMES).state(RUN)).end_byte == len(whole)
    for start, stop in ((0, len(whole)), (0, 1), (5, 5), (4321, 9876), (len(whole) - 1, len(whole)), (7, 10**9)):
        assert await text(session, start, stop) == whole[start:stop]


async def test_the_state_changes_with_every_line_and_needs_no_reading(session: Session) -> None:
    reader = LogReader(session, NAMES)
    async with writer(session) as log:
        versions = [(await reader.state(RUN)).version]
        for number in range(3):
            log.write(lines(1, start=number))
            assert await log.flush(5)
            versions.append((await reader.state(RUN)).version)
    assert len(set(versions)) == 4
    assert await reader.state(RUN) == LogState(1, 3, 0, 21)


async def test_above_the_limit_the_oldest_lines_go_and_the_log_says_truncated(session: Session, reading: str) -> None:
    limits = LogLimits(max_run_bytes=50_000)
    async with writer(session, limits=limits) as log:
        for start in range(1, 20_001, 100):
            await log.room()
            log.write(lines(100, start=start))
        assert await log.flush(20)
    reader = LogReader(session, NAMES)
    state = await reader.state(RUN)
    whole = "".join(f"line {number}\n" for number in range(1, 20_001)).encode()
    assert state.truncated
    assert (state.last_seq, state.end_byte) == (20_000, len(whole))
    assert 25_000 < state.end_byte - state.first_byte <= limits.max_run_bytes
    assert await text(session, state.first_byte, state.end_byte) == whole[state.first_byte :]
    assert await text(session, state.first_byte - 1, state.end_byte) == b""
    page = await reader.entries(RUN, 0, 1)
    assert page.truncated
    assert page.entries[0].seq == state.first_seq
    assert not (await reader.entries(RUN, page.next, 1)).truncated


async def test_a_small_limit_holds_after_every_line(session: Session) -> None:
    reader, limits = LogReader(session, NAMES), LogLimits(max_run_bytes=2000)
    async with writer(session, limits=limits) as log:
        for number in range(1, 41):
            log.write([Line(1.0, "x" * 299)] * 3)
            assert await log.flush(5)
            state = await reader.state(RUN)
            assert state.last_seq == 3 * number
            assert state.end_byte - state.first_byte <= limits.max_run_bytes


async def test_a_limit_smaller_than_one_line_keeps_the_last_one(session: Session) -> None:
    async with writer(session, limits=LogLimits(max_run_bytes=1)) as log:
        for number in range(3):
            log.write(lines(1, start=number))
            assert await log.flush(5)
    assert await messages(session) == ["line 2"]


async def test_a_successor_continues_numbers_and_offsets(session: Session) -> None:
    async with writer(session, term=1) as log:
        log.write(lines(10))
        assert await log.flush(5)
    async with writer(session, term=2) as log:
        log.write(lines(10, start=11))
        assert await log.flush(5)
    assert await messages(session) == [f"line {number}" for number in range(1, 21)]
    assert [entry.seq for entry in await all_entries(session)] == list(range(1, 21))
    assert await text(session, 0, 10**6) == "".join(f"line {number}\n" for number in range(1, 21)).encode()


async def test_a_successor_keeps_the_limit_over_what_its_predecessor_wrote(session: Session) -> None:
    limits = LogLimits(max_run_bytes=10_000)
    for term in range(1, 4):
        async with writer(session, term=term, limits=limits) as log:
            log.write(lines(900, prefix=f"term {term}"))
            assert await log.flush(5)
    state = await LogReader(session, NAMES).state(RUN)
    assert state.last_seq == 2700
    assert state.end_byte - state.first_byte <= limits.max_run_bytes


async def test_after_a_takeover_the_old_writer_adds_nothing(session: Session) -> None:
    async with writer(session, term=1) as old, writer(session, term=2) as new:
        old.write(lines(1, prefix="old"))
        assert await old.flush(5)
        new.write(lines(1, prefix="new"))
        assert await new.flush(5)
        old.write(lines(5, prefix="late"))
        assert not await old.flush(5)
        assert old.superseded
        old.write(lines(5, prefix="later"))
        new.write(lines(1, prefix="new", start=2))
        assert await new.flush(5)
    assert await messages(session) == ["old 1", "new 1", "new 2"]


async def test_what_the_old_writer_adds_before_the_new_one_speaks_is_kept(session: Session) -> None:
    async with writer(session, term=2) as new, writer(session, term=1) as old:
        old.write(lines(3, prefix="old"))
        assert await old.flush(5)
        new.write(lines(1, prefix="new"))
        assert await new.flush(5)
        assert not new.superseded
    assert await messages(session) == ["old 1", "old 2", "old 3", "new 1"]


async def test_of_two_writers_that_write_at_once_the_later_claim_wins_and_nothing_mixes(session: Session) -> None:
    limits = LogLimits(pace_seconds=0.005)
    async with writer(session, 1, limits) as old, writer(session, 2, limits) as new:
        count = 0
        while not old.superseded:
            old.write(lines(1, prefix="old", start=count))
            new.write(lines(1, prefix="new", start=count))
            count += 1
            await asyncio.sleep(0.001)
        assert await new.flush(5)
    found = await all_entries(session)
    kinds = [entry.message.split()[0] for entry in found]
    assert [entry.seq for entry in found] == list(range(1, len(found) + 1))
    assert kinds == sorted(kinds, reverse=True)
    assert [entry.message for entry in found if entry.message.startswith("new")] == [f"new {n}" for n in range(count)]


async def test_lines_survive_kills_of_the_server_once_and_in_order(server: NatsServer, session: Session) -> None:
    number = 0
    async with writer(session) as log:
        disturbance = asyncio.create_task(kill_again_and_again(server, session))
        while not disturbance.done():
            log.write(lines(20, start=number + 1))
            number += 20
            await asyncio.sleep(0.002)
        await disturbance
        assert await log.flush(30)
    assert await messages(session) == [f"line {n}" for n in range(1, number + 1)]


async def kill_again_and_again(server: NatsServer, session: Session) -> None:
    reader, before = LogReader(session, NAMES), 0
    for _ in range(3):
        await asyncio.wait_for(session.connected.wait(), 10)
        # Each time in the middle of a log that grows.
        while before >= (before := await last_line(reader)):  # noqa: ASYNC110 - what a reader does
            await asyncio.sleep(0.01)
        await asyncio.to_thread(server.stop, kill=True)
        await asyncio.to_thread(server.start)


async def last_line(reader: LogReader) -> int:
    try:
        return (await reader.state(RUN)).last_seq
    except Unavailable:
        return 0


async def test_lines_whose_acknowledgement_got_lost_are_stored_once(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, lost = JetStreamContext.publish, [1, 3]

    async def publish(js: JetStreamContext, *args: Any, **kwargs: Any) -> PubAck:
        answer = await original(js, *args, **kwargs)
        if answer.seq in lost:
            lost.remove(answer.seq)
            raise nats.errors.TimeoutError
        return answer

    monkeypatch.setattr(JetStreamContext, "publish", publish)
    async with writer(session) as log:
        for number in range(1, 5):
            log.write(lines(2, start=2 * number - 1))
            assert await log.flush(5)
    assert not lost
    assert await messages(session) == [f"line {number}" for number in range(1, 9)]


async def test_what_does_not_fit_into_memory_while_nats_is_away_is_mentioned(
    server: NatsServer, session: Session
) -> None:
    limits = LogLimits(buffer_bytes=2000)
    async with writer(session, limits=limits) as log:
        log.write(lines(1))
        assert await log.flush(5)
        await asyncio.to_thread(server.stop)
        while session.connected.is_set():  # noqa: ASYNC110 - there is no event for the loss of a connection
            await asyncio.sleep(0.005)
        for start in range(2, 502):
            log.write(lines(1, start=start))
            await asyncio.wait_for(log.room(), 1)
        assert not await log.flush(0.05)
        await asyncio.to_thread(server.start)
        assert await log.flush(20)
    found = await all_entries(session)
    [notice] = [entry for entry in found if entry.stream == "pyoco"]
    kept = [int(entry.message.split()[1]) for entry in found if entry.stream != "pyoco"]
    assert kept[-1] == 501
    assert notice.level == "WARNING"
    assert notice.message.startswith(f"{501 - len(kept)} lines (")
    assert notice.message.endswith("are missing here: NATS could not be reached")
    assert [entry.seq for entry in found] == list(range(1, len(found) + 1))


async def test_a_flood_is_held_back_instead_of_dropped(session: Session) -> None:
    async with writer(session, limits=LogLimits(buffer_bytes=10_000)) as log:
        for start in range(1, 5001, 50):
            await log.room()
            log.write(lines(50, start=start))
        assert await log.flush(20)
    assert await messages(session) == [f"line {number}" for number in range(1, 5001)]


async def test_a_line_becomes_visible_without_a_flush(session: Session) -> None:
    reader = LogReader(session, NAMES)
    async with writer(session) as log:
        for count in range(1, 4):
            log.write(lines(1, start=count))
            while (await reader.state(RUN)).last_seq < count:  # noqa: ASYNC110 - what a reader does
                await asyncio.sleep(0.005)


async def test_long_lines_are_cut_and_marked(session: Session) -> None:
    async with writer(session, limits=LogLimits(max_line_bytes=10)) as log:
        log.write([Line(1.0, "x" * 25)])
        assert await log.flush(5)
    assert await messages(session) == ["x" * 10 + "… [15 bytes cut]"]


async def test_the_largest_possible_lines_are_taken_by_the_server(session: Session) -> None:
    """Control characters need six bytes of JSON each, and the limit may be set above what NATS takes."""
    async with writer(session, limits=LogLimits(max_line_bytes=10**9)) as log:
        log.write([Line(1.0, "\0" * session.max_payload), Line(2.0, "next")])
        assert await log.flush(10)
    found = await messages(session)
    assert len(found) == 2
    assert found[0].endswith("bytes cut]")


async def test_a_deleted_log_is_empty(session: Session) -> None:
    async with writer(session) as log, writer(session, run_id="other") as other:
        log.write(lines(3))
        other.write(lines(2))
        assert await log.flush(5)
        assert await other.flush(5)
    await LogReader(session, NAMES).delete(RUN)
    assert await messages(session) == []
    assert len(await all_entries(session, run_id="other")) == 2


async def test_reading_without_a_server_says_unavailable(server: NatsServer, session: Session) -> None:
    await asyncio.to_thread(server.stop)
    with pytest.raises(Unavailable):
        await LogReader(session, NAMES).entries(RUN, 0, 10)
    await asyncio.to_thread(server.start)
    await asyncio.wait_for(session.connected.wait(), 10)
