"""Which NATS a stack uses: its own, one it left behind, one it was told to join, and none that is not for it."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pytest

from tests.integration.supervisor.harness import Stack
from tests.support.nats import NatsServer, free_port, server_binary
from tests.support.wait import wait_until


@pytest.fixture
def other_nats(tmp_path: Path) -> Iterator[NatsServer]:
    directory = tmp_path / "other"
    directory.mkdir()
    server = NatsServer(directory)
    server.start()
    yield server
    server.stop()


@contextmanager
def left_behind(stack: Stack) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A server of this data directory that runs although its supervisor is gone."""
    with stack:
        stack.wait_ready()
        port = int(stack.status()["nats"]["url"].rpartition(":")[2])
        stack.signal(signal.SIGTERM)
        stack.finish()
    config = stack.data_dir / "nats" / "nats.conf"
    server = subprocess.Popen([server_binary(), "-c", str(config)], stderr=subprocess.DEVNULL)
    # Nobody else reaps it here, and a zombie would look alive.
    reaper = threading.Thread(target=server.wait)
    reaper.start()
    try:
        wait_until(lambda: _answers(port), "the server to answer")
        yield server, port
    finally:
        server.kill()
        reaper.join()


def _is_free(lock: BinaryIO) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as line:
            return line.recv(4) == b"INFO"
    except OSError:
        return False


def test_a_server_that_was_left_behind_is_adopted_and_later_ended(tmp_path: Path) -> None:
    with left_behind(Stack(tmp_path)) as (server, port), Stack(tmp_path, nats_port=port) as stack:
        stack.wait_ready()
        status = stack.status()
        assert status["nats"]["mode"] == "adopted"
        assert status["nats"]["monitor"].startswith("127.0.0.1:")
        assert status["durability"] is None
        assert stack.pid_of("nats") == server.pid
        stack.signal(signal.SIGTERM)
        assert stack.finish() == 0
        wait_until(lambda: server.returncode is not None, "the adopted server to end")
        assert server.returncode == 0


def test_an_adopted_server_that_dies_is_replaced_by_one_of_ours(tmp_path: Path) -> None:
    with left_behind(Stack(tmp_path)) as (server, port), Stack(tmp_path, nats_port=port) as stack:
        stack.wait_ready()
        server.kill()
        stack.wait(lambda: stack.process_of("nats")["restarts"] == 1, "the restart to be counted")
        stack.wait(lambda: stack.state_of("nats") == "ready", "our own server")
        assert stack.nats_server().ppid() == stack.pid_of("nats")


def test_a_server_that_was_left_behind_on_another_port_is_ended_first(tmp_path: Path) -> None:
    with left_behind(Stack(tmp_path)) as (server, _), Stack(tmp_path, nats_port=0) as stack:
        stack.wait_ready()
        assert stack.said(f"ending a nats-server (process {server.pid}) that an earlier pyoco left behind")
        wait_until(lambda: server.returncode is not None, "the old server to end")
        assert stack.status()["nats"]["mode"] == "own"


def test_two_servers_never_share_a_store(tmp_path: Path) -> None:
    with Stack(tmp_path) as stack:
        stack.wait_ready()
        os.kill(stack.process.pid, signal.SIGSTOP)  # so that nobody starts the server again
        with (stack.data_dir / "nats" / "server.lock").open("rb") as lock:
            with pytest.raises(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            stack.nats_server().kill()
            wait_until(lambda: _is_free(lock), "the lock to be free once the server is dead")


def test_a_port_taken_by_another_nats_is_refused_with_both_ways_out(tmp_path: Path, other_nats: NatsServer) -> None:
    with Stack(tmp_path, nats_port=other_nats.port) as stack:
        assert stack.finish() == 1
    assert f"another NATS server (test, 2.15.1) runs on port {other_nats.port}" in stack.errors
    assert f"--nats-url nats://127.0.0.1:{other_nats.port}" in stack.errors
    assert "--nats-port 0" in stack.errors


def test_a_port_taken_by_something_else_is_refused(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with Stack(tmp_path, nats_port=port) as stack:
            assert stack.finish() == 1
        assert f"port {port} for NATS is taken by a program that is not NATS" in stack.errors
        assert "--nats-port 0" in stack.errors


@pytest.mark.parametrize(("option", "flag"), [("port", "--port"), ("nats_monitor_port", "--nats-monitor-port")])
def test_any_other_taken_port_is_refused_too(tmp_path: Path, option: str, flag: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with Stack(tmp_path, **{option: port}) as stack:
            assert stack.finish() == 1
        assert f"port {port}" in stack.errors
        assert flag in stack.errors


def test_a_named_nats_is_joined_and_left_running(tmp_path: Path, other_nats: NatsServer) -> None:
    with Stack(tmp_path, nats_url=other_nats.url) as stack:
        stack.wait_ready()
        status = stack.status()
        assert status["nats"] == {"url": other_nats.url, "mode": "joined", "monitor": None}
        assert [process["name"] for process in status["processes"]] == ["gateway.1", "worker.1"]
        worker = next(process for process in stack.processes() if process.pid == stack.pid_of("worker.1"))
        assert worker.environ()["PYOCO_NATS_URL"] == other_nats.url
        assert "PYOCO_NATS_INBOX_PREFIX" not in worker.environ()
        stack.signal(signal.SIGTERM)
        assert stack.finish() == 0
    assert _answers(other_nats.port)


def test_a_named_nats_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    directory = tmp_path / "late"
    directory.mkdir()
    late = NatsServer(directory)
    with Stack(tmp_path, nats_url=f"nats://user:secret@127.0.0.1:{late.port}") as stack:
        stack.wait_for("waiting for NATS at nats://")
        assert not any("secret" in str(line) for line in stack.lines())
        assert stack.status()["state"] == "starting"
        late.start()
        try:
            stack.wait_ready()
        finally:
            late.stop()


def test_waiting_for_a_named_nats_ends_with_a_signal(tmp_path: Path) -> None:
    with Stack(tmp_path, nats_url=f"nats://127.0.0.1:{free_port()}") as stack:
        stack.wait_for("waiting for NATS at")
        stack.signal(signal.SIGINT)
        assert stack.finish() == 130


def test_a_named_nats_without_jetstream_is_refused(tmp_path: Path) -> None:
    port = free_port()
    plain = subprocess.Popen([server_binary(), "-a", "127.0.0.1", "-p", str(port)], stderr=subprocess.DEVNULL)
    try:
        with Stack(tmp_path, nats_url=f"nats://127.0.0.1:{port}") as stack:
            assert stack.finish() == 1
        assert f"the NATS at 127.0.0.1:{port} has no JetStream" in stack.errors
    finally:
        plain.terminate()
        plain.wait()
