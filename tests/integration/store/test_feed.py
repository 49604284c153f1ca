"""The feed on a real server: every revision once and in order, whatever happens to server and stream."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Sequence

import pytest

from pyoco.domain import commands as c
from pyoco.store import tap
from pyoco.store.bucket import Bucket
from pyoco.store.documents import Documents
from pyoco.store.failures import Unavailable
from pyoco.store.feed import Change, Feed, Position
from pyoco.store.hub import Hub
from pyoco.store.names import Names, kv_stream
from pyoco.store.resources import ResourceOptions, ensure_streams
from pyoco.store.runs import Held, RunStore
from pyoco.store.session import Session
from tests.support.nats import NatsServer

BUCKET = Names().runs_bucket


class Notes:
    """A listener that writes everything down."""

    def __init__(self, position: Position | None = None) -> None:
        self.position: Position | None = position or Position()
        self.heard: list[Change] = []
        self.starts: list[Position] = []
        self.failures = 0
        self._news = asyncio.Event()

    async def start_at(self, position: Position) -> None:
        self.position = position
        self.starts.append(position)
        self.heard.clear()

    async def resumed(self, bucket: Bucket) -> None: ...

    async def changed(self, changes: Sequence[Change]) -> None:
        if self.failures:
            self.failures -= 1
            raise RuntimeError("a listener in trouble")
        assert self.position is not None
        self.heard.extend(changes)
        self.position = Position(self.position.stream, changes[-1].revision)
        self._news.set()

    @property
    def revisions(self) -> list[int]:
        return [change.revision for change in self.heard]

    async def until(self, condition: Callable[[], bool], seconds: float = 15.0) -> None:
        async with asyncio.timeout(seconds):
            while not condition():
                self._news.clear()
                await self._news.wait()


@pytest.fixture
def documents(session: Session) -> Documents:
    return Documents(session, BUCKET)


async def write_while_it_may_fail(documents: Documents, keys: list[str], written: dict[str, int]) -> None:
    for key in keys:
        while key not in written:
            try:
                written[key] = await documents.put(key, key.encode())
            except Unavailable:
                await asyncio.sleep(0.01)


async def test_changes_are_told_once_in_order_with_their_time(session: Session, documents: Documents) -> None:
    notes = Notes()
    before = [await documents.put(f"k{number}", b"x") for number in range(3)]
    async with Feed(session, BUCKET, [notes]) as feed:
        await asyncio.wait_for(feed.caught_up.wait(), 5)
        assert notes.revisions == before
        live = await documents.put("k1", b"y")
        await notes.until(lambda: live in notes.revisions)
    assert notes.revisions == [*before, live]
    last = notes.heard[-1]
    assert (last.run_id, last.data) == ("k1", b"y")
    assert abs(last.time - time.time()) < 5


async def test_a_removed_document_is_told_as_such(session: Session, documents: Documents) -> None:
    notes = Notes()
    async with Feed(session, BUCKET, [notes]):
        revision = await documents.put("k", b"x")
        await documents.purge("k", revision)
        await notes.until(lambda: bool(notes.heard) and notes.heard[-1].data is None)
    assert notes.heard[-1].run_id == "k"


async def test_a_listener_goes_on_behind_its_saved_position(session: Session, documents: Documents) -> None:
    first = await documents.put("a", b"x")
    created = (await Bucket(session, BUCKET).state()).created
    second = await documents.put("b", b"x")
    notes = Notes(Position(created, first))
    async with Feed(session, BUCKET, [notes]) as feed:
        await asyncio.wait_for(feed.caught_up.wait(), 5)
    assert notes.revisions == [second]
    assert notes.starts == []


async def test_listeners_at_different_places_share_one_subscription(session: Session, documents: Documents) -> None:
    for number in range(5):
        await documents.put(f"k{number}", b"x")
    created = (await Bucket(session, BUCKET).state()).created
    late, live = Notes(Position(created, 3)), Notes()
    live.position = None
    everything = Notes()
    async with Feed(session, BUCKET, [late, live, everything]) as feed:
        await asyncio.wait_for(feed.caught_up.wait(), 5)
        last = await documents.put("new", b"x")
        await everything.until(lambda: last in everything.revisions)
        consumers = (await session.js.stream_info(kv_stream(BUCKET))).state.consumer_count
    assert everything.revisions == [1, 2, 3, 4, 5, 6]
    assert late.revisions == [4, 5, 6]
    assert live.revisions == [6]
    assert consumers == 1


async def test_nothing_is_missed_or_repeated_over_kills_of_the_server(
    server: NatsServer, session: Session, documents: Documents
) -> None:
    notes = Notes()
    keys = [f"k{number}" for number in range(1500)]
    written: dict[str, int] = {}
    async with Feed(session, BUCKET, [notes]):
        writing = asyncio.create_task(write_while_it_may_fail(documents, keys, written))
        for mark in (200, 700):
            await notes.until(lambda mark=mark: len(notes.heard) > mark)  # type: ignore[misc]
            await asyncio.to_thread(server.stop, kill=True)
            await asyncio.to_thread(server.start)
        await asyncio.wait_for(writing, 30)
        await notes.until(lambda: written[keys[-1]] in notes.revisions)
    assert notes.revisions == sorted(set(notes.revisions))
    # A write whose answer got lost is done again; each key's last one must have been told.
    assert set(written.values()) <= set(notes.revisions)


async def test_after_a_reconnect_the_next_change_is_told_at_once(
    server: NatsServer, session: Session, documents: Documents
) -> None:
    notes = Notes()
    async with Feed(session, BUCKET, [notes]) as feed:
        await asyncio.wait_for(feed.caught_up.wait(), 5)
        await asyncio.to_thread(server.stop, kill=True)
        await asyncio.to_thread(server.start)
        await asyncio.wait_for(session.connected.wait(), 10)
        revision = await documents.put("k", b"x")
        # Well below the seconds that the silence of a dead consumer takes to be noticed.
        await notes.until(lambda: revision in notes.revisions, seconds=tap._SILENCE_SEC - 0.5)


async def test_a_lost_message_is_noticed_and_told(
    session: Session, documents: Documents, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = Notes()
    real = tap._positions
    lost = []

    def lossy(reply: str) -> tuple[int, int, int] | None:
        found = real(reply)
        if found is not None and found[0] in (2, 4) and found[0] not in lost:
            lost.append(found[0])
            return None
        return found

    monkeypatch.setattr(tap, "_positions", lossy)
    async with Feed(session, BUCKET, [notes]):
        revisions = [await documents.put(f"k{number}", b"x") for number in range(4)]
        await notes.until(lambda: revisions[-1] in notes.revisions)
    assert lost == [2, 4]
    assert notes.revisions == revisions


async def test_a_listener_that_fails_is_told_again(session: Session, documents: Documents) -> None:
    notes, other = Notes(), Notes()
    notes.failures = 2
    async with Feed(session, BUCKET, [other, notes]):
        revision = await documents.put("k", b"x")
        await notes.until(lambda: revision in notes.revisions)
    assert notes.revisions == other.revisions == [revision]


async def test_a_listener_that_steps_back_is_told_again_and_no_other(session: Session, documents: Documents) -> None:
    notes, other = Notes(), Notes()
    async with Feed(session, BUCKET, [other, notes]) as feed:
        revision = await documents.put("k", b"x")
        await notes.until(lambda: revision in notes.revisions)
        notes.heard.clear()
        notes.position = Position()
        await notes.until(lambda: revision in notes.revisions)
        await asyncio.wait_for(feed.caught_up.wait(), 5)
    assert other.revisions == [revision]


async def test_a_recreated_stream_is_read_from_its_start(session: Session, documents: Documents) -> None:
    notes = Notes()
    async with Feed(session, BUCKET, [notes]):
        for number in range(3):
            await documents.put(f"old{number}", b"x")
        await notes.until(lambda: len(notes.heard) == 3)
        await session.js.delete_stream(kv_stream(BUCKET))
        await ensure_streams(session, Names(), ResourceOptions())
        await documents.put("new", b"x")
        await notes.until(lambda: [change.run_id for change in notes.heard] == ["new"])
    assert [start.sequence for start in notes.starts] == [0, 0]


async def test_a_position_beyond_the_end_starts_over(session: Session, documents: Documents) -> None:
    revision = await documents.put("k", b"x")
    created = (await Bucket(session, BUCKET).state()).created
    notes = Notes(Position(created, revision + 100))
    async with Feed(session, BUCKET, [notes]):
        await notes.until(lambda: revision in notes.revisions)


async def test_a_bucket_that_is_made_later_is_followed(server: NatsServer) -> None:
    notes = Notes()
    async with Session(server.url, "early") as early, Feed(early, BUCKET, [notes]):
        await ensure_streams(early, Names(), ResourceOptions())
        revision = await Documents(early, BUCKET).put("k", b"x")
        await notes.until(lambda: revision in notes.revisions)


async def test_a_listener_that_is_slow_slows_the_server_down_and_loses_nothing(
    session: Session, documents: Documents
) -> None:
    count = tap._ROOM * 3
    revisions = await asyncio.gather(*(documents.put(f"k{number}", b"x" * 2000) for number in range(count)))
    sizes: list[int] = []

    class Slow(Notes):
        async def changed(self, changes: Sequence[Change]) -> None:
            sizes.append(len(changes))
            await asyncio.sleep(0.02)
            await super().changed(changes)

    notes = Slow()
    async with Feed(session, BUCKET, [notes]):
        await notes.until(lambda: len(notes.heard) == count)
    assert notes.revisions == sorted(revisions)
    assert max(sizes) <= tap._ROOM


async def test_every_watcher_of_a_run_sees_its_end_through_one_subscription(
    server: NatsServer, session: Session
) -> None:
    store, hub = RunStore(session, Names(), 262_144), Hub()
    run_id = str(uuid.uuid4())
    held = await store.create(run_id, [c.CreateExecution(at=1.0, run_id=run_id, flow_name="f"), c.Queue(at=1.0)])

    everybody_watches = asyncio.Barrier(201)

    async def watch_to_the_end() -> str:
        async with hub.watch(run_id) as changes:
            found = await store.load(run_id)
            assert found is not None
            changes.seen(found.revision, found.run)
            await everybody_watches.wait()
            async for change in changes:
                assert change.run is not None
                status = change.run.status.value
            return status

    async with Feed(session, BUCKET, [hub]) as feed:
        await asyncio.wait_for(feed.caught_up.wait(), 5)
        watching = [asyncio.create_task(watch_to_the_end()) for _ in range(200)]
        await everybody_watches.wait()
        await finish(store, held, server)
        ended = await asyncio.wait_for(asyncio.gather(*watching), 20)
        consumers = (await session.js.stream_info(kv_stream(BUCKET))).state.consumer_count
    assert ended == ["COMPLETED"] * 200
    assert consumers == 1
    assert hub.watched == 0


async def finish(store: RunStore, held: Held, server: NatsServer) -> None:
    """Claims and completes a run; the server dies in between."""
    run_id = held.run.run_id
    claim = c.Claim(at=2.0, instance_id="i1", worker_id="w1", gen=held.run.work.gen)
    held = await store.apply(run_id, [claim], held=held)
    await asyncio.to_thread(server.stop, kill=True)
    await asyncio.to_thread(server.start)
    complete = c.CompleteExecution(at=3.0, holder=c.Holder("i1", held.run.attempt))
    while True:
        try:
            await store.apply(run_id, [complete])
            return
        except Unavailable:
            await asyncio.sleep(0.02)
