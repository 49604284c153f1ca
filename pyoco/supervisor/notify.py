"""Tells systemd that the stack is ready, stopping or still alive; silent when nobody asked."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Mapping

# These belong to the supervisor alone: a child that answered for it would confuse systemd.
VARIABLES = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")


class Notifier:
    """The datagram socket that systemd named in the environment, if it did."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._address = environment.get("NOTIFY_SOCKET", "")
        self._watchdog_sec = _watchdog_seconds(environment)

    def ready(self, status: str) -> None:
        self._send(f"READY=1\nSTATUS={status}")

    def stopping(self) -> None:
        self._send("STOPPING=1\nSTATUS=stopping")

    async def keep_alive(self) -> None:
        """Runs until cancelled. It beats from the event loop, so a stuck supervisor is noticed."""
        while self._watchdog_sec is not None:
            self._send("WATCHDOG=1")
            await asyncio.sleep(self._watchdog_sec / 2)

    def _send(self, message: str) -> None:
        if not self._address:
            return
        # A leading @ stands for the NUL byte of an abstract address.
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
            channel.setblocking(False)
            try:
                channel.sendto(message.encode(), address)
            except OSError:
                return  # whoever asked is gone or does not read: not a reason to stop working


def _watchdog_seconds(environment: Mapping[str, str]) -> float | None:
    wanted = environment.get("WATCHDOG_USEC", "")
    meant = environment.get("WATCHDOG_PID", "")
    if not wanted.isdecimal() or int(wanted) == 0 or (meant and meant != str(os.getpid())):
        return None
    return int(wanted) / 1_000_000
