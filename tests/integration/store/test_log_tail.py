"""Following the log of a run, on a real server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from pyoco.store import log_tail
from pyoco.store.log_lines import Line
from pyoco.store.log_tail import Follower, LogTail
from pyoco.store.log_writer import LogLimits, LogWriter
from pyoco.store.names import Names
from pyoco.store.session import Session
from tests.support.nats import NatsServer

NAMES = Names()
RUN = "2f0c1f6e-0f61-4c43-8a9a-3d2f4c5b6a70"


def lines(count: int, start: int = 1) -> list[Line]:
    return [Line(1.5, f"line {number}") for number in range(start, start + count)]


@pytest.fixture
async def tail(session: Session) -> AsyncIterator[LogTail]:
    async with LogTail(session, NAMES) as running:
        yield running


@pytest.fixture
async def log(session: Session) -> AsyncIterator[LogWriter]:
    async with LogWriter(session, NAMES, RUN, 1, LogLimits(pace_seconds=0.005)) as writer:
        yield writer


async def write(log: LogWriter, count: int, start: int = 1) -> None:
    log.write(lines(count, start))
    assert await log.flush(20)


async def given(follower: Follower, up_to: int) -> list[int]:
    """The sequence numbers a follower gives until it has reached that one."""
    found: list[int] = []
    async with asyncio.timeout(30):
        while follower.position < up_to:
            for entry in await follower.next(1) or []:
                assert entry.message == f"line {entry.seq}"
                found.append(entry.seq)
    return found


async def to_the_end(follower: Follower) -> list[int]:
    found: list[int] = []
    async with asyncio.timeout(30):
        while (entries := await follower.next(1)) is not None:
            found += [entry.seq for entry in entries]
    return found


async def consumers(session: Session) -> int:
    return (await session.js.stream_info("PYOCO_LOGS")).state.consumer_count


async def consumers_become(session: Session, count: int) -> None:
    async with asyncio.timeout(10):
        while await consumers(session) != count:  # noqa: ASYNC110 - the server tells nobody
            await asyncio.sleep(0.01)


async def test_a_follower_gets_what_was_written_and_what_is_written_later(tail: LogTail, log: LogWriter) -> None:
    await write(log, 5)
    async with tail.follow(RUN) as follower:
        assert await given(follower, 5) == [1, 2, 3, 4, 5]
        await write(log, 5, start=6)
        assert await given(follower, 10) == [6, 7, 8, 9, 10]


async def test_a_follower_resumes_after_the_given_sequence(tail: LogTail, log: LogWriter) -> None:
    await write(log, 10)
    async with tail.follow(RUN, since=7) as follower:
        assert await given(follower, 10) == [8, 9, 10]
        await write(log, 1, start=11)
        assert await given(follower, 11) == [11]


async def test_without_news_the_answer_is_empty_after_the_given_time(tail: LogTail) -> None:
    async with tail.follow(RUN) as follower:
        assert await follower.next(0.05) == []
        assert await follower.next(0.05) == []


async def test_live_lines_are_not_read_from_the_stream(
    session: Session, tail: LogTail, log: LogWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with tail.follow(RUN) as follower:
        await consumers_become(session, 1)
        assert await follower.next(0.2) == []
        monkeypatch.delattr(tail.reader, "_messages")
        await write(log, 3)
        assert await given(follower, 3) == [1, 2, 3]


async def test_followers_of_other_runs_see_nothing(session: Session, tail: LogTail, log: LogWriter) -> None:
    async with tail.follow("other") as other, tail.follow(RUN) as follower:
        await consumers_become(session, 1)
        await write(log, 3)
        assert await given(follower, 3) == [1, 2, 3]
        assert await other.next(0.05) == []


async def test_a_thousand_followers_share_one_consumer_that_goes_with_the_last(
    session: Session, tail: LogTail, log: LogWriter
) -> None:
    followers = [tail.follow(RUN) for _ in range(1000)]
    for follower in followers:
        await follower.__aenter__()
    await consumers_become(session, 1)
    await write(log, 20)
    found = await asyncio.gather(*(given(follower, 20) for follower in followers))
    assert found == [list(range(1, 21))] * 1000
    assert await consumers(session) == 1
    for follower in followers:
        await follower.__aexit__(None, None, None)
    assert await consumers(session) == 0


async def test_after_the_end_of_the_run_everything_stored_is_given_and_then_the_end(
    tail: LogTail, log: LogWriter
) -> None:
    async with tail.follow(RUN) as follower:
        assert await follower.next(0.05) == []
        await write(log, 2500)
        follower.finish()
        assert await to_the_end(follower) == list(range(1, 2501))
        assert await follower.next(1) is None


async def test_a_slow_follower_loses_nothing(
    session: Session, tail: LogTail, log: LogWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_tail, "_QUEUE", 3)
    async with tail.follow(RUN) as follower:
        await consumers_become(session, 1)
        assert await follower.next(0.05) == []
        for number in range(20):
            await write(log, 10, start=10 * number + 1)
        assert await given(follower, 200) == list(range(1, 201))
        await write(log, 10, start=201)
        assert await given(follower, 210) == list(range(201, 211))


async def test_what_the_live_way_loses_is_read(
    session: Session, tail: LogTail, log: LogWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with tail.follow(RUN) as follower:
        await consumers_become(session, 1)
        await write(log, 3)
        assert await given(follower, 3) == [1, 2, 3]
        assert await follower.next(0.05) == []
        lost = asyncio.Event()
        with monkeypatch.context() as deaf:
            deaf.setattr(follower, "offer", lambda _: lost.set())
            await write(log, 3, start=4)
            await asyncio.wait_for(lost.wait(), 10)
        await write(log, 3, start=7)
        assert await given(follower, 9) == [4, 5, 6, 7, 8, 9]


async def test_no_line_is_lost_or_repeated_over_kills_of_the_server(
    server: NatsServer, session: Session, tail: LogTail, log: LogWriter
) -> None:
    found: list[int] = []
    written = 0
    async with tail.follow(RUN) as follower:
        for _ in range(3):
            log.write(lines(50, start=written + 1))
            found += await given(follower, written + 50)
            log.write(lines(50, start=written + 51))
            await asyncio.to_thread(server.stop, kill=True)
            log.write(lines(50, start=written + 101))
            await asyncio.to_thread(server.start)
            written += 150
            found += await given(follower, written)
        assert await log.flush(20)
        follower.finish()
        assert await to_the_end(follower) == []
    assert found == list(range(1, written + 1))


async def test_a_consumer_that_vanished_is_replaced(session: Session, tail: LogTail, log: LogWriter) -> None:
    async with tail.follow(RUN) as follower:
        await consumers_become(session, 1)
        assert await follower.next(0.05) == []
        [consumer] = await session.js.consumers_info("PYOCO_LOGS")
        await session.js.delete_consumer("PYOCO_LOGS", consumer.name)
        await write(log, 3)
        assert await given(follower, 3) == [1, 2, 3]
