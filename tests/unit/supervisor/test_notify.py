"""Messages to systemd."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

import pytest

from pyoco.supervisor.notify import Notifier


def test_nobody_asked_and_nobody_there_are_both_fine(tmp_path: Path) -> None:
    Notifier({}).ready("x")
    Notifier({"NOTIFY_SOCKET": str(tmp_path / "gone")}).ready("x")


def test_an_abstract_address_works_too() -> None:
    name = f"pyoco-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(f"\0{name}")
        Notifier({"NOTIFY_SOCKET": f"@{name}"}).ready("all is well")
        assert systemd.recv(100) == b"READY=1\nSTATUS=all is well"


@pytest.mark.parametrize(
    "environment", [{}, {"WATCHDOG_USEC": "0"}, {"WATCHDOG_USEC": "x"}, {"WATCHDOG_USEC": "9", "WATCHDOG_PID": "1"}]
)
async def test_no_watchdog_no_beats(environment: dict[str, str]) -> None:
    async with asyncio.timeout(5):
        await Notifier({"NOTIFY_SOCKET": "/nowhere", **environment}).keep_alive()
