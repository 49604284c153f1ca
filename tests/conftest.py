"""Checks that hold for every test."""

from __future__ import annotations

import asyncio
import gc
import signal
import threading
from collections.abc import Iterator

import psutil
import pytest

from tests.support.wait import wait_until

# A background job of a shell inherits an ignored Ctrl-C, and so would every process that a test starts and interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)


def _listening_ports(process: psutil.Process) -> set[int]:
    return {conn.laddr.port for conn in process.net_connections(kind="inet") if conn.status == psutil.CONN_LISTEN}


def _open_tasks() -> set[asyncio.Task[object]]:
    return {item for item in gc.get_objects() if isinstance(item, asyncio.Task) and not item.done()}


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    """No test may leave a thread, a child process, an open port or a pending asyncio task behind."""
    process = psutil.Process()
    threads, children, ports = set(threading.enumerate()), set(process.children()), _listening_ports(process)
    yield
    # Threads and children may need a moment for their last instruction; a leak stays.
    wait_until(lambda: set(threading.enumerate()) <= threads, "the test's threads to end", show=threading.enumerate)
    wait_until(lambda: set(process.children()) <= children, "the child processes to end", show=process.children)
    left_ports = _listening_ports(process) - ports
    assert not left_ports, f"ports left open: {left_ports}"
    left_tasks = [task for task in _open_tasks() if task.get_loop().is_closed()]
    assert not left_tasks, f"asyncio tasks left pending: {left_tasks}"
