"""The NATS users of a stack against a real server: each can do its work and nothing else."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client
from nats.js import JetStreamContext
from nats.js.api import StreamConfig

from pyoco.supervisor.nats_config import ADMIN, COMPAT, GATEWAY, INBOX_PREFIXES, USERS, WORKER, ServerConfig, render
from pyoco.supervisor.nats_server import probe, with_user
from tests.support.nats import free_port, server_binary
from tests.support.wait import wait_until


@pytest.fixture
def config(tmp_path: Path) -> Iterator[ServerConfig]:
    """A server that runs with a configuration of ours, in a directory whose name needs quoting."""
    directory = tmp_path / 'with "quotes" and \\ blanks'
    directory.mkdir()
    made = ServerConfig(
        server_name="pyoco-test",
        host="127.0.0.1",
        port=free_port(),
        monitor_port=free_port(),
        store_dir=str(directory / "store"),
        pid_file=str(directory / "pid"),
        max_file_store=1_000_000_000,
        durability="safe",
        passwords={user: f"0-{user}_secret$" for user in USERS},
    )
    (directory / "nats.conf").write_text(render(made), "utf-8")
    server = subprocess.Popen([server_binary(), "-c", str(directory / "nats.conf")], stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: asyncio.run(probe("127.0.0.1", made.port)) is not None, "the server to answer")
        yield made
    finally:
        server.terminate()
        server.wait()


class Refusals(list[str]):
    """What a server refused. Its complaints come apart from the answers to requests."""

    def __init__(self) -> None:
        self.some = asyncio.Event()

    async def first(self) -> str:
        async with asyncio.timeout(5):
            await self.some.wait()
        return self[0]


@asynccontextmanager
async def connected(config: ServerConfig, user: str) -> AsyncIterator[tuple[Client, Refusals]]:
    """A connection, and what the server refused on it."""
    refused = Refusals()

    async def note(error: Exception) -> None:
        refused.append(str(error).lower())
        refused.some.set()

    client = await nats.connect(
        with_user(config.host, config.port, user, config.passwords[user]),
        inbox_prefix=INBOX_PREFIXES[user].encode(),
        allow_reconnect=False,
        error_cb=note,
    )
    try:
        yield client, refused
    finally:
        await client.close()


async def make_resources(js: JetStreamContext) -> None:
    await js.add_stream(StreamConfig(name="PYOCO_WORK", subjects=["pyoco.work.*"], retention="workqueue"))
    await js.add_stream(StreamConfig(name="PYOCO_LOGS", subjects=["pyoco.logs.*"]))
    await js.add_stream(StreamConfig(name="PYOCO_DLQ", subjects=["pyoco.dlq.*"]))
    for bucket in ("pyoco_runs", "pyoco_workers", "pyoco_outputs", "pyoco_flows", "pyoco_auth"):
        await js.create_key_value(bucket=bucket, direct=True)
    for bucket in ("pyoco_wheels", "pyoco_workflows"):
        store = await js.create_object_store(bucket)
        await store.put("thing", b"x" * 300_000)


async def test_the_server_runs_with_the_durability_that_was_asked_for(config: ServerConfig) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", config.monitor_port)
    writer.write(b"GET /varz HTTP/1.0\r\n\r\n")
    answer = (await reader.read()).decode()
    writer.close()
    assert '"sync_always": true' in answer
    assert '"max_payload": 8388608' in answer
    assert '"max_storage": 1000000000' in answer
    assert "sync_interval: 1s" in render(replace(config, durability="fast"))


@pytest.mark.parametrize("user", [GATEWAY, COMPAT, ADMIN])
async def test_gateway_compat_and_admin_make_the_resources_and_use_them(config: ServerConfig, user: str) -> None:
    async with connected(config, user) as (client, refused):
        js = client.jetstream(timeout=5)
        await make_resources(js)
        keys = await js.key_value("pyoco_auth")
        await keys.put("api_keys.1", b"key")
        watcher = await keys.watchall()
        entry = await watcher.updates(timeout=5)
        assert entry is not None
        assert entry.value == b"key"
        await watcher.stop()
        await js.publish("pyoco.work.default", b"job")
        pull = await js.pull_subscribe("pyoco.work.default", "tag-default", stream="PYOCO_WORK")
        (message,) = await pull.fetch(1, timeout=5)
        await message.ack_sync(timeout=5)
        assert not refused


async def test_the_worker_claims_runs_reports_and_reads_what_it_needs(config: ServerConfig) -> None:
    async with connected(config, ADMIN) as (admin, _):
        await make_resources(admin.jetstream())
        await (await admin.jetstream().key_value("pyoco_flows")).put("hello", b"flow")
    async with connected(config, WORKER) as (client, refused):
        js = client.jetstream(timeout=5)
        await js.account_info()
        await js.publish("pyoco.work.default", b"job")
        pull = await js.pull_subscribe("pyoco.work.default", "tag-default", stream="PYOCO_WORK")
        (message,) = await pull.fetch(1, timeout=5)
        await message.in_progress()
        await message.ack_sync(timeout=5)
        for bucket in ("pyoco_runs", "pyoco_workers", "pyoco_outputs"):
            store = await js.key_value(bucket)
            revision = await store.create("one", b"1")
            await store.update("one", b"2", last=revision)
            assert (await store.get("one")).value == b"2"
            assert (await js.get_msg(f"KV_{bucket}", subject=f"$KV.{bucket}.one")).data == b"2"
        assert (await (await js.key_value("pyoco_flows")).get("hello")).value == b"flow"
        for bucket in ("pyoco_wheels", "pyoco_workflows"):
            assert (await (await js.object_store(bucket)).get("thing")).data == b"x" * 300_000
        await js.publish("pyoco.logs.run", b"line")
        await js.purge_stream("PYOCO_LOGS", subject="pyoco.logs.run")
        await js.publish("pyoco.dlq.default", b"letter")
        assert not refused


async def test_the_worker_answers_requests_addressed_to_it(config: ServerConfig) -> None:
    async with connected(config, WORKER) as (worker, refused), connected(config, GATEWAY) as (gateway, _):

        async def answer(message: nats.aio.msg.Msg) -> None:
            await message.respond(b"done")

        await worker.subscribe("pyoco.ctl.w1", cb=answer)
        await worker.subscribe("pyoco.cancel.>", cb=answer)
        await worker.flush()
        assert (await gateway.request("pyoco.ctl.w1", b"stop", timeout=5)).data == b"done"
        assert not refused


FORBIDDEN: dict[str, Callable[[JetStreamContext], Awaitable[object]]] = {
    "make a stream": lambda js: js.add_stream(StreamConfig(name="MINE", subjects=["mine"])),
    "delete a stream": lambda js: js.delete_stream("PYOCO_WORK"),
    "empty the queue": lambda js: js.purge_stream("PYOCO_WORK"),
    "write API keys": lambda js: js.publish("$KV.pyoco_auth.api_keys.1", b"mine"),
    "read API keys": lambda js: js.get_msg("KV_pyoco_auth", subject="$KV.pyoco_auth.api_keys.1"),
    "change a wheel": lambda js: js.publish("$O.pyoco_wheels.C.x", b"evil"),
}


@pytest.mark.parametrize("deed", FORBIDDEN)
async def test_the_worker_may_not(config: ServerConfig, deed: str) -> None:
    async with connected(config, ADMIN) as (admin, _):
        await make_resources(admin.jetstream())
        await admin.jetstream().publish("$KV.pyoco_auth.api_keys.1", b"key")
    async with connected(config, WORKER) as (client, refused):
        with pytest.raises((nats.errors.TimeoutError, nats.js.errors.NoStreamResponseError)):
            await FORBIDDEN[deed](client.jetstream(timeout=0.3))
        assert "permissions violation for publish" in await refused.first()


async def test_the_worker_may_not_read_the_answers_of_others(config: ServerConfig) -> None:
    async with connected(config, WORKER) as (client, refused):
        await client.subscribe("_INBOX_gw.>")
        await client.flush()
        assert "permissions violation for subscription" in await refused.first()


async def test_only_admin_may_delete_streams(config: ServerConfig) -> None:
    async with connected(config, GATEWAY) as (gateway, refused):
        await make_resources(gateway.jetstream())
        with pytest.raises(nats.errors.TimeoutError):
            await gateway.jetstream(timeout=0.3).delete_stream("PYOCO_LOGS")
        assert "permissions violation for publish" in await refused.first()
    async with connected(config, ADMIN) as (admin, _):
        assert await admin.jetstream().delete_stream("PYOCO_LOGS")


@pytest.mark.parametrize(
    ("credentials", "answer"),
    [
        ('{"verbose":false}', b"-ERR 'Authorization Violation'"),
        ('{"user":"worker","pass":"wrong"}', b"-ERR 'Authorization Violation'"),
        ('{"verbose":false,"user":"worker","pass":"0-worker_secret$"}', b"PONG"),
    ],
)
async def test_nobody_gets_in_without_the_password(config: ServerConfig, credentials: str, answer: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", config.port)
    await reader.readline()
    writer.write(f"CONNECT {credentials}\r\nPING\r\n".encode())
    answered = await reader.readline()
    writer.close()
    await writer.wait_closed()
    assert answered.strip() == answer
