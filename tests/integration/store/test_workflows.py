"""Submitted YAML by its SHA-256, on a real server."""

from __future__ import annotations

import asyncio
from hashlib import sha256

import pytest

from pyoco.domain.values import Unreadable
from pyoco.store.failures import Missing, Unavailable
from pyoco.store.names import Names, object_chunks, object_meta
from pyoco.store.session import Session
from pyoco.store.workflows import Workflows
from tests.support.nats import NatsServer

NAMES = Names()
TEXT = b"flow: {graph: only}\n"
LARGE = bytes(range(256)) * 4096


@pytest.fixture
def workflows(session: Session) -> Workflows:
    return Workflows(session, NAMES)


def fresh(session: Session) -> Workflows:
    """One that has nothing in memory."""
    return Workflows(session, NAMES)


async def stored_messages(session: Session) -> int:
    return (await session.js.stream_info("OBJ_pyoco_workflows")).state.messages


@pytest.mark.parametrize("text", [b"", TEXT, LARGE], ids=["empty", "small", "in chunks"])
async def test_a_text_comes_back_by_its_digest(session: Session, workflows: Workflows, text: bytes) -> None:
    digest = await workflows.put(text)
    assert digest == sha256(text).hexdigest()
    assert await fresh(session).get(digest) == text


async def test_other_clients_find_it_as_an_ordinary_object(session: Session, workflows: Workflows) -> None:
    digest = await workflows.put(LARGE)
    store = await session.js.object_store("pyoco_workflows")
    assert (await store.get(digest)).data == LARGE
    await store.delete(digest)
    with pytest.raises(Missing):
        await fresh(session).get(digest)
    await workflows.put(LARGE)
    assert await fresh(session).get(digest) == LARGE


async def test_what_other_clients_put_is_found(session: Session, workflows: Workflows) -> None:
    store = await session.js.object_store("pyoco_workflows")
    digest = sha256(TEXT).hexdigest()
    await store.put(digest, TEXT)
    assert await workflows.get(digest) == TEXT


async def test_the_same_text_is_stored_once_even_by_many_at_once(session: Session) -> None:
    digests = await asyncio.gather(*(fresh(session).put(TEXT) for _ in range(20)))
    assert set(digests) == {sha256(TEXT).hexdigest()}
    assert await fresh(session).get(digests[0]) == TEXT
    assert await stored_messages(session) == 2


async def test_a_text_in_memory_needs_no_server(server: NatsServer, session: Session, workflows: Workflows) -> None:
    digest = await workflows.put(TEXT)
    await asyncio.to_thread(server.stop)
    assert await workflows.get(digest) == TEXT
    await asyncio.to_thread(server.start)
    await asyncio.wait_for(session.connected.wait(), 10)


async def test_the_memory_keeps_what_was_used_last(session: Session) -> None:
    texts = [b"a" * 40, b"b" * 40, b"c" * 40]
    small = Workflows(session, NAMES, cache_bytes=100)
    digests = [await small.put(text) for text in texts[:2]]
    await small.get(digests[0])
    digests.append(await small.put(texts[2]))
    await session.js.purge_stream("OBJ_pyoco_workflows")
    assert await small.get(digests[0]) == texts[0]
    assert await small.get(digests[2]) == texts[2]
    with pytest.raises(Missing):
        await small.get(digests[1])


async def test_an_unknown_text_is_missing(workflows: Workflows) -> None:
    with pytest.raises(Missing, match="there is no workflow"):
        await workflows.get("0" * 64)


async def test_a_deleted_text_is_missing_and_leaves_nothing(session: Session, workflows: Workflows) -> None:
    digest, kept = await workflows.put(LARGE), await workflows.put(TEXT)
    await workflows.delete(digest)
    with pytest.raises(Missing):
        await workflows.get(digest)
    assert await fresh(session).get(kept) == TEXT
    assert await stored_messages(session) == 2
    await workflows.delete(digest)


async def test_a_text_that_was_deleted_elsewhere_is_stored_again(session: Session, workflows: Workflows) -> None:
    digest = await workflows.put(TEXT)
    await fresh(session).delete(digest)
    await workflows.put(TEXT)
    assert await fresh(session).get(digest) == TEXT


async def test_another_text_under_the_digest_is_refused(session: Session, workflows: Workflows) -> None:
    store = await session.js.object_store("pyoco_workflows")
    digest = sha256(TEXT).hexdigest()
    await store.put(digest, b"tampered")
    with pytest.raises(Unreadable, match="another text"):
        await workflows.get(digest)


async def test_an_object_with_lost_chunks_does_not_hang(session: Session, workflows: Workflows) -> None:
    digest = await workflows.put(LARGE)
    await session.js.purge_stream("OBJ_pyoco_workflows", subject=object_chunks("pyoco_workflows", "*"))
    with pytest.raises(Unavailable, match=r"within 0\.2 seconds"):
        await fresh(session).get(digest, seconds=0.2)


async def test_a_broken_description_is_unreadable(session: Session, workflows: Workflows) -> None:
    await session.js.publish(object_meta("pyoco_workflows", "0" * 64), b"{half")
    with pytest.raises(Unreadable):
        await workflows.get("0" * 64)


async def test_a_text_survives_a_kill_of_the_server(server: NatsServer, session: Session, workflows: Workflows) -> None:
    digest = await workflows.put(LARGE)
    await asyncio.to_thread(server.stop, kill=True)
    await asyncio.to_thread(server.start)
    async with Session(server.url, "reader") as reader:
        assert await fresh(reader).get(digest) == LARGE
    await asyncio.wait_for(session.connected.wait(), 10)
