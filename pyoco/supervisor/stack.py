"""Prepares a stack before its first process starts: sockets, the NATS to use, files with credentials."""

from __future__ import annotations

import asyncio
import re
import shutil
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ..errors import redact
from . import nats_server
from .data_dir import DataDir, passwords, write_private
from .nats_config import USERS, ServerConfig, render
from .options import CannotStart, UpOptions
from .output import Output
from .plan import Surroundings

_BACKLOG = 1024
_RETRY_SEC = 0.5
_REMIND_EVERY = 20  # tries between two reminders that we still wait
_LEFTOVER_GRACE_SEC = 10.0
_SHARE_OF_FREE_DISK = 0.9
_MONITOR_LINE = re.compile(r'^http: "(.+)"$', re.MULTILINE)


@dataclass(frozen=True)
class NatsPlace:
    """The NATS of a stack and how we came to it."""

    mode: Literal["own", "adopted", "joined"]
    url: str  # without secrets
    host: str
    port: int
    monitor: str | None = None  # address of its monitoring
    users: Mapping[str, str] = field(default_factory=dict, repr=False)  # user → URL with its password
    adopted_pid: int | None = None


def listen(options: UpOptions) -> socket.socket:
    """The socket that all gateways share; it stays bound while they come and go."""
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    try:
        return socket.create_server((options.host, options.port), family=family, backlog=_BACKLOG)
    except OSError as exc:
        raise CannotStart(
            f"Error: cannot listen on {options.host}, port {options.port}: {exc.strerror}",
            "choose another one with --port; 0 takes any free port",
        ) from None


def web_address(options: UpOptions, listener: socket.socket) -> str:
    host = nats_server.reachable(options.host)
    return f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"


async def settle_nats(options: UpOptions, data: DataDir, output: Output) -> NatsPlace:
    """Joins, adopts or prepares to start; refuses what cannot work."""
    if options.nats_url is not None:
        return await _join(options.nats_url, output)
    host, layout = options.nats_host, data.layout
    left_over = nats_server.running_server(layout)
    wanted = options.nats_port
    found = await nats_server.probe(host, wanted) if wanted else None
    adopted = nats_server.judge(found, data.server_name, wanted)
    nats_server.write_launcher(layout, nats_server.find_binary())
    if adopted and left_over is not None:
        monitor = _MONITOR_LINE.search(layout.nats_config.read_text("utf-8"))
        place = _place(data, "adopted", host, wanted, monitor[1] if monitor else None)
        return NatsPlace(**{**vars(place), "adopted_pid": left_over})
    if adopted:
        text = f"Error: a NATS server of {layout.root} runs on port {wanted}, but its process is out of reach"
        raise CannotStart(text, "end that server, or choose another --data-dir")
    if left_over is not None:
        output.say(f"ending a nats-server (process {left_over}) that an earlier pyoco left behind", "WARNING")
        await nats_server.end_server(left_over, _LEFTOVER_GRACE_SEC)
    port = wanted or nats_server.free_port(host)
    monitor_port = nats_server.monitor_port(options.nats_monitor_port)
    _write_config(options, data, port, monitor_port)
    return _place(data, "own", host, port, f"127.0.0.1:{monitor_port}")


def _write_config(options: UpOptions, data: DataDir, port: int, monitor_port: int) -> None:
    layout = data.layout
    config = ServerConfig(
        server_name=data.server_name,
        host=options.nats_host,
        port=port,
        monitor_port=monitor_port,
        store_dir=str(layout.nats_store),
        pid_file=str(layout.nats_pid),
        max_file_store=_room_for(layout.nats_store),
        durability=options.durability,
        passwords=passwords(layout),
        names=options.names,
    )
    write_private(layout.nats_config, render(config))


def _room_for(store: Path) -> int:
    """Bytes the store may grow to. The server's own default looks at the free space only: a full store on a nearly full
    disk would be over its limit after a restart."""
    used = sum(file.stat().st_size for file in store.rglob("*") if file.is_file())
    return used + int(shutil.disk_usage(store.parent).free * _SHARE_OF_FREE_DISK)


def _place(data: DataDir, mode: Literal["own", "adopted"], host: str, port: int, monitor: str | None) -> NatsPlace:
    known = passwords(data.layout)
    users = {user: nats_server.with_user(host, port, user, known[user]) for user in USERS}
    return NatsPlace(mode, f"nats://{host}:{port}", host, port, monitor, users)


async def _join(urls: str, output: Output) -> NatsPlace:
    servers = list(nats_server.addresses(urls))
    tries = 0
    while True:
        for host, port in servers:
            found = await nats_server.probe(host, port)
            if isinstance(found, nats_server.NatsInfo):
                if not found.jetstream:
                    raise CannotStart(f"Error: the NATS at {host}:{port} has no JetStream", "start it with --jetstream")
                return NatsPlace("joined", redact(urls), host, port, users=dict.fromkeys(USERS, urls))
            if found is not None:
                raise CannotStart(f"Error: what answers at {host}:{port} is not NATS", "correct --nats-url")
        if tries % _REMIND_EVERY == 0:
            output.say(f"waiting for NATS at {redact(urls)}: nobody answers there yet", "WARNING")
        tries += 1
        await asyncio.sleep(_RETRY_SEC)


def surroundings(
    environment: Mapping[str, str], data: DataDir, nats: NatsPlace, listener: socket.socket
) -> Surroundings:
    """What the plan needs to know of all this."""
    return Surroundings(
        environment=environment,
        data_dir=str(data.layout.root),
        nats_urls=nats.users,
        own_nats=nats.mode != "joined",
        nats_command=nats_server.command(data.layout),
        nats_directory=str(data.layout.nats),
        listen_fd=listener.fileno(),
        http_port=listener.getsockname()[1],
    )
