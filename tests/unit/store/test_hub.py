"""The hub: watchers of a run get its newest state, its end in any case, and no heartbeats."""

from __future__ import annotations

import asyncio
import logging

import pytest

from pyoco.domain import commands as c
from pyoco.domain.run import RunStatus
from pyoco.store.feed import Change, Position
from pyoco.store.hub import Hub, Watcher
from tests.support.documents import after, claimed, completed, created, removed, stored


@pytest.fixture
async def hub() -> Hub:
    made = Hub()
    await made.start_at(Position("s", 0))
    return made


async def statuses(watcher: Watcher) -> list[str]:
    return [change.run.status.value if change.run else "removed" async for change in watcher]


def is_idle(watcher: Watcher) -> bool:
    """Whether the watcher has nothing to give."""
    step = watcher.__anext__()
    try:
        step.send(None)
    except StopIteration:
        return False
    finally:
        step.close()
    return True


async def test_a_reader_in_time_sees_each_change_and_the_end_ends_it(hub: Hub) -> None:
    run = created("r1")
    async with hub.watch("r1") as watcher:
        for revision, state in enumerate((run, claimed(run, 2.0)), 1):
            await hub.changed([stored(revision, state)])
            told = await anext(watcher)
            assert (told.revision, told.run and told.run.status) == (revision, state.status)
        await hub.changed([stored(3, completed(claimed(run, 2.0), 3.0))])
        assert await statuses(watcher) == ["COMPLETED"]
    assert hub.watched == 0


async def test_a_slow_reader_gets_the_newest_state_only(hub: Hub) -> None:
    run = created("r1")
    async with hub.watch("r1") as watcher:
        await hub.changed([stored(1, run), stored(2, claimed(run, 2.0))])
        change = await anext(watcher)
        assert (change.revision, change.run and change.run.status) == (2, RunStatus.RUNNING)
        assert is_idle(watcher)


async def test_the_end_is_not_missed_when_the_run_is_removed_right_after(hub: Hub) -> None:
    run = completed(claimed(created("r1"), 2.0), 3.0)
    async with hub.watch("r1") as watcher:
        await hub.changed([stored(1, run), removed(2, "r1")])
        assert await statuses(watcher) == ["COMPLETED"]


async def test_a_removal_ends_the_watch(hub: Hub) -> None:
    async with hub.watch("r1") as watcher:
        await hub.changed([stored(1, created("r1")), removed(2, "r1")])
        assert await statuses(watcher) == ["removed"]


async def test_a_heartbeat_is_no_change(hub: Hub) -> None:
    run = claimed(created("r1"), 2.0)
    async with hub.watch("r1") as watcher:
        await hub.changed([stored(1, run)])
        await anext(watcher)
        await hub.changed([stored(2, run.with_heartbeat(9.0))])
        assert is_idle(watcher)
        await hub.changed([stored(3, after(run, c.AddTag(at=10.0, tag="x")))])
        assert (await anext(watcher)).revision == 3


async def test_what_the_reader_has_read_itself_is_not_told_again(hub: Hub) -> None:
    run = created("r1")
    started = claimed(run, 2.0)
    async with hub.watch("r1") as watcher:
        await hub.changed([stored(1, run)])
        watcher.seen(2, started)
        assert is_idle(watcher)
        await hub.changed([stored(2, started), stored(3, started.with_heartbeat(5.0))])
        assert is_idle(watcher)
        await hub.changed([stored(4, completed(started, 6.0))])
        assert await statuses(watcher) == ["COMPLETED"]


async def test_reading_can_be_given_up_and_taken_up_again(hub: Hub) -> None:
    async with hub.watch("r1") as watcher:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await anext(watcher)
        await hub.changed([stored(1, created("r1"))])
        assert (await anext(watcher)).revision == 1


async def test_a_recreated_stream_counts_from_the_start_again(hub: Hub) -> None:
    run = created("r1")
    async with hub.watch("r1") as watcher:
        await hub.changed([stored(50, run)])
        await anext(watcher)
        await hub.start_at(Position("other", 0))
        await hub.changed([stored(1, run)])
        assert (await anext(watcher)).revision == 1


async def test_other_runs_and_unreadable_documents_are_passed_over(hub: Hub, caplog: pytest.LogCaptureFixture) -> None:
    async with hub.watch("r1") as watcher:
        with caplog.at_level(logging.WARNING):
            await hub.changed(
                [stored(1, created("r2")), Change(2, "r1", b"{", 0.0), Change(3, "r1", b"[" * 99_999, 0.0)]
            )
        assert is_idle(watcher)
        assert hub.position == Position("s", 3)
    assert caplog.text.count("cannot be read") == 2


async def test_a_thousand_watchers_share_one_reading_of_the_document(hub: Hub) -> None:
    watchers = [hub.watch("r1") for _ in range(1000)]
    entered = [await watcher.__aenter__() for watcher in watchers]
    await hub.changed([stored(1, created("r1"))])
    runs = {id((await anext(watcher)).run) for watcher in entered}
    for watcher in watchers:
        await watcher.__aexit__(None, None, None)
    assert len(runs) == 1
    assert hub.watched == 0
