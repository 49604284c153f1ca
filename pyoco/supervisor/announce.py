"""PURE: what `pyoco up` tells the person who typed it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .options import Durability, UpOptions
from .stack import NatsPlace

_DEFAULT_URL = "http://127.0.0.1:8000"
_NATS_MODES = {"own": "started here", "adopted": "found running, keeps the settings it was started with"}


def next_command(url: str) -> str:
    server = "" if url == _DEFAULT_URL else f" --server {url}"
    return f"pyoco submit-yaml --workflow-file flow.yaml --flow-name hello{server}"


def summary(url: str, nats: NatsPlace, data_dir: str, processes: Sequence[Mapping[str, Any]]) -> str:
    """What runs where, and what to type next."""
    waiting = [process["name"] for process in processes if process["state"] != "ready"]
    head = f"pyoco is starting: {url} (not ready yet: {', '.join(waiting)})" if waiting else f"pyoco is up: {url}"
    return "\n".join(
        [
            head,
            *(_process(process) for process in processes if process["kind"] != "nats"),
            f"  nats       {_nats(nats)}",
            f"  data       {data_dir}",
            f"next: {next_command(url)}",
            "stop: Ctrl-C, or `pyoco down`",
        ]
    )


def _process(process: Mapping[str, Any]) -> str:
    pid = f"process {process['pid']}" if process["pid"] else ""
    return f"  {process['name']:<10} {process['state']:<9} {pid}".rstrip()


def _nats(nats: NatsPlace) -> str:
    monitor = f", monitoring at http://{nats.monitor}" if nats.monitor else ""
    return f"{nats.url} ({_NATS_MODES.get(nats.mode, 'joined')}{monitor})"


def warnings(options: UpOptions, nats: NatsPlace) -> Iterator[str]:
    """What somebody who runs this should know before it matters."""
    if options.beyond_loopback and not options.asks_credentials:
        yield (
            f"ANYBODY WHO CAN REACH {options.host} CAN RUN CODE HERE: the server listens beyond this machine "
            "and asks for no credentials. Set PYOCO_HTTP_AUTH_MODE=api_key, or leave --host at 127.0.0.1."
        )
    if options.beyond_loopback and not options.callables_restricted:
        yield "submitted flows may call any function that can be imported; PYOCO_ALLOWED_CALLABLES restricts them"
    if durability_of(options, nats) == "fast":
        yield "--durability fast: a power cut can lose what was accepted in the last second"


def durability_of(options: UpOptions, nats: NatsPlace) -> Durability | None:
    """None: decided by a server that was started by somebody else."""
    return options.durability if nats.mode == "own" else None
