"""Looking at NATS servers and their addresses."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from pyoco.supervisor.data_dir import Layout
from pyoco.supervisor.nats_config import Names, permissions
from pyoco.supervisor.nats_server import (
    NatsInfo,
    SomethingElse,
    addresses,
    find_binary,
    judge,
    monitor_port,
    probe,
    running_server,
    with_user,
)
from pyoco.supervisor.options import CannotStart


async def served(first_line: bytes) -> NatsInfo | SomethingElse | None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(first_line)
        await reader.read()
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with server:
        return await probe("127.0.0.1", server.sockets[0].getsockname()[1], seconds=0.2)


async def test_a_nats_server_is_known_by_its_first_line() -> None:
    line = b'INFO {"server_name":"n1","version":"2.15.1","jetstream":true,"more":1}\r\n'
    assert await served(line) == NatsInfo("n1", "2.15.1", True)


@pytest.mark.parametrize("line", [b"", b"SSH-2.0-OpenSSH\r\n", b"INFO {broken\r\n", b"INFO [1]\r\n", b"\xff" * 70_000])
async def test_anything_else_is_something_else(line: bytes) -> None:
    assert await served(line) == SomethingElse()


async def test_a_port_where_nobody_listens_is_free() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        assert await probe("127.0.0.1", unused.getsockname()[1]) is None


def test_whom_to_adopt_and_whom_to_refuse() -> None:
    assert judge(None, "pyoco-1", 4222) is False
    assert judge(NatsInfo("pyoco-1", "2.15.1", True), "pyoco-1", 4222) is True
    with pytest.raises(
        CannotStart, match=r"(?s)another NATS server \(n2, 2\.9\.1\).*--nats-url nats://.*--nats-port 0"
    ):
        judge(NatsInfo("n2", "2.9.1", True), "pyoco-1", 4222)
    with pytest.raises(CannotStart, match=r"(?s)port 4222 for NATS is taken.*--nats-port 0"):
        judge(SomethingElse(), "pyoco-1", 4222)


def test_the_monitoring_port_gives_way_unless_it_was_asked_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        with pytest.raises(CannotStart, match="--nats-monitor-port 0"):
            monitor_port(taken)
        assert monitor_port(0) not in (0, taken)
    assert monitor_port(taken) == taken


def test_addresses_of_urls() -> None:
    urls = "nats://user:p@one:4333, two,tls://[::1]:5"
    assert list(addresses(urls)) == [("one", 4333), ("two", 4222), ("::1", 5)]


@pytest.mark.parametrize("url", ["", "nats://", "nats://host:port", "nats://u:secret@"])
def test_a_url_that_is_none_is_refused_without_its_secrets(url: str) -> None:
    with pytest.raises(CannotStart) as refusal:
        list(addresses(url))
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "nats://worker:pw@127.0.0.1:4222"),
        ("0.0.0.0", "nats://worker:pw@127.0.0.1:4222"),
        ("::", "nats://worker:pw@[::1]:4222"),
    ],
)
def test_users_reach_the_server_where_it_can_be_reached(host: str, url: str) -> None:
    assert with_user(host, 4222, "worker", "pw") == url


def test_a_stale_pid_file_does_not_point_to_an_innocent_process(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.nats.mkdir()
    assert running_server(layout) is None
    for content in ("1\n", "", "nonsense", "99999999"):
        layout.nats_pid.write_text(content, "ascii")
        assert running_server(layout) is None


def test_the_server_that_came_with_the_package_is_found() -> None:
    assert find_binary().name == "nats-server"
    assert find_binary().is_file()


def test_permissions_follow_the_names_of_buckets() -> None:
    allowed = permissions("worker", Names(runs="my_runs", work_subjects="my.work", dlq_subjects="my.dlq")).publish
    assert {"$KV.my_runs.>", "my.work.>", "my.dlq.>", "$JS.API.STREAM.INFO.KV_my_runs"} <= set(allowed)
    assert not [subject for subject in allowed if "pyoco_runs" in subject]
