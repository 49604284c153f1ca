"""Documents under compare-and-set, on a real server."""

from __future__ import annotations

import asyncio

import pytest

from pyoco.store.documents import Documents
from pyoco.store.failures import Conflict, TooLarge, Unavailable
from pyoco.store.session import Session
from tests.support.nats import NatsServer


@pytest.fixture
def documents(session: Session) -> Documents:
    return Documents(session, "pyoco_runs")


async def test_a_document_is_created_once(documents: Documents) -> None:
    revision = await documents.create("a", b"one")
    found = await documents.get("a")
    assert found is not None
    assert (found.data, found.revision) == (b"one", revision)
    with pytest.raises(Conflict):
        await documents.create("a", b"two")


async def test_only_the_revision_that_was_read_can_be_replaced(documents: Documents) -> None:
    first = await documents.create("a", b"one")
    second = await documents.update("a", b"two", first)
    with pytest.raises(Conflict):
        await documents.update("a", b"late", first)
    await documents.purge("a", second)
    assert await documents.get("a") is None
    assert await documents.get("never") is None


async def test_of_many_writers_at_once_one_wins(documents: Documents) -> None:
    revision = await documents.create("a", b"start")
    tries = [documents.update("a", str(number).encode(), revision) for number in range(20)]
    outcomes = await asyncio.gather(*tries, return_exceptions=True)
    assert sum(isinstance(outcome, int) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 19


async def test_a_document_above_the_payload_limit_is_refused_before_it_is_sent(documents: Documents) -> None:
    with pytest.raises(TooLarge):
        await documents.create("a", b"x" * 9_000_000)
    assert await documents.get("a") is None


async def test_without_a_server_a_write_fails_as_unavailable_and_works_again_when_it_is_back(
    documents: Documents, session: Session, server: NatsServer
) -> None:
    await asyncio.to_thread(server.stop, kill=True)
    with pytest.raises(Unavailable):
        await documents.create("a", b"one")
    await asyncio.to_thread(server.start)
    await session.connected.wait()
    assert await documents.create("b", b"two") > 0


async def test_the_version_of_the_server_is_known(session: Session) -> None:
    assert session.version >= (2, 10, 0)
    assert (await session.js.stream_info("KV_pyoco_runs")).config.allow_msg_ttl
