"""`pyoco up`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .control import DataDirOption, as_problem


def up(
    workers: Annotated[int | None, typer.Option(metavar="N", help="Worker processes. Default: one per core.")] = None,
    slots: Annotated[int | None, typer.Option(metavar="S", help="Runs at a time in one worker. Default: 4.")] = None,
    tags: Annotated[str | None, typer.Option(metavar="A,B", help="Tags that the workers serve.")] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen at. Default: 127.0.0.1.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen at; 0 takes a free one. Default: 8000.")] = None,
    nats_url: Annotated[
        str | None, typer.Option(help="Join this NATS. A password is better kept in PYOCO_NATS_URL.")
    ] = None,
    nats_listen_host: Annotated[str | None, typer.Option(help="Address of our own NATS. Default: 127.0.0.1.")] = None,
    nats_port: Annotated[
        int | None, typer.Option("--nats-port", "--nats-client-port", help="Its port; 0: a free one. Default: 4222.")
    ] = None,
    nats_monitor_port: Annotated[
        int | None,
        typer.Option("--nats-monitor-port", "--nats-http-port", help="Port of its monitoring; 0: a free one."),
    ] = None,
    data_dir: DataDirOption = None,
    gateways: Annotated[int | None, typer.Option(metavar="G", help="Gateway processes. Default: 1.")] = None,
    code: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where your task code lies. Default: the current directory.")
    ] = None,
    reload: Annotated[
        bool | None, typer.Option("--reload/--no-reload", help="Run changed task code without a restart. Default: yes.")
    ] = None,
    flow_resolver: Annotated[
        str | None, typer.Option(metavar="MODULE:FN", help="Function that finds a flow by its name.")
    ] = None,
    durability: Annotated[
        str | None, typer.Option(metavar="safe|fast", help="fast: quicker, a power cut can lose the last second.")
    ] = None,
) -> None:
    """Starts the server: NATS, gateway and workers, until Ctrl-C or `pyoco down`.

    \b
    Example:
      pyoco up --workers 2
    """
    given: dict[str, object] = {"workers": workers, "slots": slots, "tags": tags, "http_host": host, "http_port": port}
    nats = {"nats_url": nats_url, "nats_listen_host": nats_listen_host, "nats_client_port": nats_port}
    given |= {**nats, "nats_http_port": nats_monitor_port, "data_dir": data_dir, "gateways": gateways}
    given |= {"code_dir": code, "reload": reload, "flow_resolver": flow_resolver, "durability": durability}
    with as_problem():
        from ..supervisor.main import run_with

        raise typer.Exit(run_with(given))
