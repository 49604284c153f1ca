"""Checks that hold for every test."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Generator, Iterator
from pathlib import Path

import hypothesis
import psutil
import pytest

from tests.support.wait import wait_until

ROOT = Path(__file__).parents[1]

# Nothing here is judged by the clock: a busy machine must not turn a test red.
hypothesis.settings.register_profile(
    "pyoco",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large],
)
hypothesis.settings.load_profile("pyoco")

# A background job of a shell inherits an ignored Ctrl-C, and so would every process that a test starts and interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)


def _listening_ports(process: psutil.Process) -> set[int]:
    return {conn.laddr.port for conn in process.net_connections(kind="inet") if conn.status == psutil.CONN_LISTEN}


def _open_tasks() -> set[asyncio.Task[object]]:
    # asyncio.all_tasks needs a running loop; its registry has another name from Python 3.12 on.
    registry = getattr(asyncio.tasks, "_all_tasks", None) or getattr(asyncio.tasks, "_scheduled_tasks", ())
    return {task for task in list(registry) if not task.done()}


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


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Generator[None, object, object]:
    """No test may leave a pending asyncio task of ours behind. Looked at before the fixtures are undone, since closing
    the event loop would cancel what was forgotten; tasks of fixtures are there before the test begins."""
    before = _open_tasks()
    result = yield
    left = [task for task in _open_tasks() - before if _is_ours(task)]
    assert not left, f"asyncio tasks left pending: {left}"
    return result


def _is_ours(task: asyncio.Task[object]) -> bool:
    code = getattr(task.get_coro(), "cr_code", None)
    return code is not None and Path(code.co_filename).is_relative_to(ROOT) and "site-packages" not in code.co_filename
