"""The read model fed by a real server: it follows, survives, and rebuilds itself."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pyoco.domain import commands as c
from pyoco.domain.run import RunStatus
from pyoco.store import model_database as database
from pyoco.store.documents import Documents
from pyoco.store.failures import Unavailable
from pyoco.store.feed import Feed
from pyoco.store.model import ReadModel
from pyoco.store.model_queries import Filters
from pyoco.store.names import Names, kv_stream, kv_subject
from pyoco.store.resources import ResourceOptions, ensure_streams
from pyoco.store.runs import Held, RunStore
from pyoco.store.session import Session
from tests.support.documents import created, stored
from tests.support.nats import NatsServer

BUCKET = Names().runs_bucket


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "runs.sqlite"


@pytest.fixture
def store(session: Session) -> RunStore:
    return RunStore(session, Names(), 262_144)


@asynccontextmanager
async def following(session: Session, path: Path) -> AsyncIterator[ReadModel]:
    """A model that has caught up."""
    async with ReadModel(path) as model, Feed(session, BUCKET, [model]) as feed:
        await asyncio.wait_for(feed.caught_up.wait(), 10)
        yield model


async def submit(store: RunStore, tag: str = "default") -> Held:
    run_id, at = str(uuid.uuid4()), time.time()
    return await store.create(
        run_id, [c.CreateExecution(at=at, run_id=run_id, flow_name="echo", tag=tag), c.Queue(at=at)]
    )


async def ids(model: ReadModel) -> set[str]:
    return {run.run_id for run in await model.newest(Filters(), 200)}


async def eventually(condition: Callable[[], Awaitable[bool]], seconds: float = 10.0) -> None:
    """Asks again until it holds; an answer that is not available yet counts as no."""
    async with asyncio.timeout(seconds):
        while True:
            try:
                if await condition():
                    return
            except Unavailable:
                pass
            await asyncio.sleep(0.01)


async def test_a_run_is_listed_as_soon_as_its_write_was_waited_for(
    session: Session, store: RunStore, path: Path
) -> None:
    async with following(session, path) as model:
        held = await submit(store)
        assert await model.wait_for(held.revision, 5)
        (shown,) = await model.newest(Filters(), 10)
        assert (shown.run_id, shown.revision, shown.status) == (held.run.run_id, held.revision, RunStatus.PENDING)
        claim = c.Claim(at=time.time(), instance_id="i1", worker_id="w1", gen=held.run.work.gen)
        held = await store.apply(held.run.run_id, [claim], held=held)
        assert await model.wait_for(held.revision, 5)
        assert [row.run_id for row in await model.claimed("i1")] == [held.run.run_id]
        assert (await model.totals())[RunStatus.RUNNING] == 1


async def test_waiting_for_a_revision_is_bounded(session: Session, store: RunStore, path: Path) -> None:
    async with following(session, path) as model:
        held = await submit(store)
        assert not await model.wait_for(held.revision + 1000, 0.05)
        assert await model.wait_for(held.revision, 5)


async def test_a_removed_run_disappears(session: Session, store: RunStore, path: Path) -> None:
    async with following(session, path) as model:
        held = await submit(store)
        await store.purge(held)
        other = await submit(store)
        assert await model.wait_for(other.revision, 5)
        assert await ids(model) == {other.run.run_id}
        assert (await model.totals())[RunStatus.PENDING] == 1


async def test_a_model_goes_on_from_its_file(session: Session, store: RunStore, path: Path) -> None:
    first = await submit(store)
    async with following(session, path) as model:
        assert await ids(model) == {first.run.run_id}
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE runs SET flow_name = 'mark of the old file'")
    connection.close()
    second = await submit(store)
    async with following(session, path) as model:
        assert await ids(model) == {first.run.run_id, second.run.run_id}
        assert len(await model.newest(Filters(flow="mark of the old file"), 10)) == 1


@pytest.mark.parametrize("broken", ["missing", "text", "cut", "empty", "other version", "no tables"])
async def test_a_file_that_is_of_no_use_is_built_anew(
    session: Session, store: RunStore, path: Path, broken: str
) -> None:
    held = [await submit(store) for _ in range(30)]
    async with following(session, path):
        pass
    damage(path, broken)
    async with following(session, path) as model:
        assert await ids(model) == {one.run.run_id for one in held}
        assert (await model.totals())[RunStatus.PENDING] == 30


def damage(path: Path, how: str) -> None:
    if how == "missing":
        path.unlink()
    elif how == "text":
        path.write_text("this is no database" * 500, "utf-8")
    elif how == "cut":
        path.write_bytes(path.read_bytes()[:5000])
    elif how == "zeros":  # tables and indexes are gone, but the beginning still looks right
        content = path.read_bytes()
        path.write_bytes(content[:8192] + bytes(len(content) - 8192))
    elif how == "empty":
        path.write_bytes(b"")
    else:
        connection = sqlite3.connect(path)
        if how == "other version":
            connection.execute(f"PRAGMA user_version = {database.SCHEMA_VERSION + 1}")
        else:
            connection.execute("DROP TABLE run_tags")
        connection.commit()
        connection.close()


async def test_a_file_that_breaks_in_the_middle_is_built_anew(session: Session, store: RunStore, path: Path) -> None:
    held = [await submit(store) for _ in range(200)]
    wanted = {one.run.run_id for one in held}
    async with following(session, path):
        pass
    damage(path, "zeros")
    async with ReadModel(path) as model, Feed(session, BUCKET, [model]):

        async def is_whole() -> bool:
            return await ids(model) == wanted and (await model.totals())[RunStatus.PENDING] == 200

        await eventually(is_whole)


async def test_several_readers_that_meet_a_broken_file_replace_it_once(
    session: Session, store: RunStore, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    held = await submit(store)
    async with following(session, path) as model:
        real = database.position_in

        def break_it(connection: sqlite3.Connection) -> None:
            error = sqlite3.DatabaseError("database disk image is malformed")
            error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise error

        answers = await asyncio.gather(*(model._read(break_it) for _ in range(6)), return_exceptions=True)
        assert all(isinstance(answer, Unavailable) for answer in answers)
        assert model.position.sequence == 0 or await model._read(real) == model.position

        async def is_back() -> bool:
            return await ids(model) == {held.run.run_id}

        await eventually(is_back)
    assert caplog.text.count("building it anew") == 1


async def test_runs_removed_while_nobody_listened_are_forgotten_without_a_tombstone(
    session: Session, store: RunStore, path: Path
) -> None:
    kept, gone = await submit(store), await submit(store)
    async with following(session, path):
        pass
    await purge_without_trace(session, gone.run.run_id)
    async with following(session, path) as model:
        assert await ids(model) == {kept.run.run_id}
        assert (await model.totals())[RunStatus.PENDING] == 1


async def test_a_purged_stream_leaves_an_empty_model(
    session: Session, store: RunStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyoco.store.model._CHECKED_ONE_BY_ONE", 3)
    for _ in range(5):
        await submit(store)
    async with following(session, path):
        pass
    await session.js.purge_stream(kv_stream(BUCKET))
    late = await submit(store)
    async with following(session, path) as model:
        assert await ids(model) == {late.run.run_id}


async def purge_without_trace(session: Session, run_id: str) -> None:
    await session.js.purge_stream(kv_stream(BUCKET), subject=kv_subject(BUCKET, run_id))


async def test_a_recreated_stream_replaces_what_was_known(session: Session, store: RunStore, path: Path) -> None:
    await submit(store)
    async with following(session, path) as model:
        await session.js.delete_stream(kv_stream(BUCKET))
        await ensure_streams(session, Names(), ResourceOptions())
        new = await submit(store)

        async def is_new() -> bool:
            return await ids(model) == {new.run.run_id}

        await eventually(is_new)
        assert (await model.totals())[RunStatus.PENDING] == 1


async def test_five_thousand_runs_are_complete_after_a_kill_in_the_middle(
    server: NatsServer, session: Session, path: Path
) -> None:
    documents = Documents(session, BUCKET)
    runs = [created(str(uuid.uuid4()), float(number)) for number in range(5000)]
    payloads = {run.run_id: stored(0, run).data or b"" for run in runs}

    async def put(run_ids: list[str]) -> None:
        for run_id in run_ids:
            while True:
                try:
                    await documents.put(run_id, payloads[run_id])
                    break
                except Unavailable:
                    await asyncio.sleep(0.01)

    async with ReadModel(path) as model, Feed(session, BUCKET, [model]):
        everything = list(payloads)
        writing = asyncio.gather(*(put(everything[part::32]) for part in range(32)))

        async def half() -> bool:
            return model.position.sequence > 2500

        await eventually(half, 30)
        await asyncio.to_thread(server.stop, kill=True)
        await asyncio.to_thread(server.start)
        await asyncio.wait_for(writing, 60)
        last = await documents.put(everything[0], payloads[everything[0]])
        assert await model.wait_for(last, 20)
        assert (await model.totals())[RunStatus.PENDING] == 5000
        assert await walked(model) == everything[::-1]


async def walked(model: ReadModel) -> list[str]:
    met, cursor = [], None
    while True:
        page = await model.page(Filters(), 200, cursor, time.time())
        met += [run.run_id for run in page.items]
        cursor = page.next
        if cursor is None:
            return met


async def test_reads_and_writes_leave_the_event_loop_alone(path: Path) -> None:
    here = threading.get_ident()
    async with ReadModel(path) as model:
        threads = {
            await model._read(lambda _: threading.get_ident()),
            await model._write(lambda _: threading.get_ident()),
        }
    assert len(threads) == 2
    assert here not in threads
