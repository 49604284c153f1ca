"""The work queue and its pull loop, on a real server."""

from __future__ import annotations

import asyncio
import logging

import pytest

from pyoco.store.names import Names
from pyoco.store.queue import Puller, WorkMessage, WorkQueue
from pyoco.store.resources import ResourceOptions, ensure_consumer, ensure_streams
from pyoco.store.session import Session
from tests.support.nats import NatsServer

NAMES = Names()
OPTIONS = ResourceOptions(ack_wait=1)


@pytest.fixture
async def queue(session: Session) -> WorkQueue:
    await ensure_consumer(session, NAMES, OPTIONS, "default")
    return WorkQueue(session, NAMES)


class Inbox:
    """Collects deliveries."""

    def __init__(self) -> None:
        self.messages: asyncio.Queue[WorkMessage] = asyncio.Queue()
        self.slots = 1

    def puller(self, session: Session) -> Puller:
        return Puller(session, NAMES, "default", lambda: self.slots, self.messages.put_nowait)

    async def next(self) -> WorkMessage:
        async with asyncio.timeout(10):
            return await self.messages.get()


async def test_a_published_job_is_delivered_and_gone_after_its_ack(session: Session, queue: WorkQueue) -> None:
    inbox = Inbox()
    async with inbox.puller(session) as puller:
        assert await queue.publish("default", b"one", "id.1")
        message = await inbox.next()
        assert (message.data, message.delivered) == (b"one", 1)
        assert await message.ack()
        await queue.publish("default", b"two", "id.2")
        await puller.ask()
        assert (await inbox.next()).data == b"two"
    info = await session.js.stream_info("PYOCO_WORK")
    assert info.state.messages == 1


async def test_the_same_message_id_is_stored_once(queue: WorkQueue) -> None:
    assert await queue.publish("default", b"one", "id.1")
    assert not await queue.publish("default", b"one", "id.1")


async def test_no_more_than_the_free_slots_are_asked_for(session: Session, queue: WorkQueue) -> None:
    for number in range(5):
        await queue.publish("default", b"x", f"id.{number}")
    inbox = Inbox()
    inbox.slots = 2
    async with inbox.puller(session):
        await inbox.next()
        await inbox.next()
        # What was asked for has come; a third can only come after another question.
        assert (await session.js.consumer_info("PYOCO_WORK", "pyoco_workers_default")).num_ack_pending == 2
        assert inbox.messages.empty()


async def test_the_loop_goes_on_by_itself_after_the_server_was_killed(
    session: Session, queue: WorkQueue, server: NatsServer
) -> None:
    inbox = Inbox()
    async with inbox.puller(session):
        await queue.publish("default", b"before", "id.1")
        old = await inbox.next()
        await asyncio.to_thread(server.stop, kill=True)
        await asyncio.to_thread(server.start)
        await session.connected.wait()
        assert not old.valid
        assert not await old.ack()
        await queue.publish("default", b"after", "id.2")
        received = {(await inbox.next()).data for _ in range(1)}
        inbox.slots = 2
        while b"after" not in received:
            received.add((await inbox.next()).data)


async def test_a_message_given_back_comes_again_with_a_higher_count(session: Session, queue: WorkQueue) -> None:
    await queue.publish("default", b"one", "id.1")
    inbox = Inbox()
    async with inbox.puller(session) as puller:
        assert await (await inbox.next()).retry_later(0.05)
        await puller.ask()
        again = await inbox.next()
        assert again.delivered == 2
        assert await again.terminate("no use")


async def test_existing_streams_are_kept_with_a_warning(
    server: NatsServer, session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        await ensure_streams(session, NAMES, ResourceOptions(dlq_max_age=60))
    assert "PYOCO_DLQ has max_age" in caplog.text
    assert (await session.js.stream_info("PYOCO_DLQ")).config.max_age == 604_800


async def test_the_streams_have_their_v0_names_and_retention(session: Session) -> None:
    work = (await session.js.stream_info("PYOCO_WORK")).config
    assert (work.subjects, work.retention) == (["pyoco.work.>"], "workqueue")
    runs = (await session.js.stream_info("KV_pyoco_runs")).config
    assert runs.max_msgs_per_subject == 1
    kv = await session.js.key_value("pyoco_runs")
    await kv.put("x", b"1")
    assert (await kv.get("x")).value == b"1"
