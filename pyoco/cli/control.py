"""`pyoco status`, `down`, `restart` and `scale`: the commands that talk to a running `pyoco up`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from .failure import Problem
from .options import JsonOption
from .output import print_json

DataDirOption = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Where the server keeps everything. Default: .pyoco here.")
]


@contextmanager
def as_problem() -> Iterator[None]:
    """Turns what the settings or the supervisor refuse into the words of the command line."""
    from ..config import SettingsError
    from ..supervisor.options import CannotStart

    try:
        yield
    except SettingsError as error:
        raise Problem(f"Error: {error}") from None
    except CannotStart as error:
        raise Problem(str(error)) from None


def status(data_dir: DataDirOption = None, as_json: JsonOption = False) -> None:
    """Shows what runs where.

    \b
    Example:
      pyoco status
    """
    answer = _ask(data_dir, "status")
    if as_json:
        print_json({key: value for key, value in answer.items() if key != "ok"})
    else:
        typer.echo("\n".join(_lines(answer)))


def down(data_dir: DataDirOption = None) -> None:
    """Stops the server: workers finish or give back their runs, NATS ends last.

    \b
    Example:
      pyoco down
    """
    with as_problem():
        from ..config import load_settings
        from ..supervisor.control import bring_down

        bring_down(load_settings({"data_dir": data_dir}).data_dir)
    typer.echo("pyoco is down")


def restart(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A process such as worker.1, or all of a kind: worker.")],
    data_dir: DataDirOption = None,
) -> None:
    """Replaces processes one after the other while the rest goes on.

    \b
    Example:
      pyoco restart gateway
    """
    answer = _ask(data_dir, "restart", name=name)
    typer.echo(f"restarted: {', '.join(answer['restarted'])}")


def scale(
    wish: Annotated[str, typer.Argument(metavar="KIND=N", help="worker=N or gateway=N.")],
    data_dir: DataDirOption = None,
) -> None:
    """Changes the number of workers or gateways.

    \b
    Example:
      pyoco scale worker=4
    """
    kind, _, count = wish.partition("=")
    if kind not in ("worker", "gateway") or not count.isdecimal():
        raise Problem(f"Error: {wish!r} is not of the form KIND=N", "write for example: pyoco scale worker=4")
    answer = _ask(data_dir, "scale", kind=kind, count=int(count))
    typer.echo(f"running: {', '.join(answer['processes']) or 'none'}")


def _ask(data_dir: Path | None, command: str, **details: Any) -> dict[str, Any]:
    with as_problem():
        from ..config import load_settings
        from ..supervisor.control import ask

        return ask(load_settings({"data_dir": data_dir}).data_dir, command, **details)


def _lines(status: dict[str, Any]) -> Iterator[str]:
    yield f"pyoco {status['version']} is {status['state']}: {status['url']} (process {status['pid']})"
    yield f"{'NAME':<12} {'STATE':<9} {'PROCESS':>8} {'UP':>9} {'RESTARTS':>9}  FIGURES"
    for process in status["processes"]:
        uptime = f"{process['uptime_sec']:.0f} s" if process["uptime_sec"] is not None else "-"
        figures = "  ".join(f"{name} {value}" for name, value in process["figures"].items())
        row = f"{process['name']:<12} {process['state']:<9} {process['pid'] or '-':>8} {uptime:>9}"
        yield f"{row} {process['restarts']:>9}  {figures}".rstrip()
    if (nats := status["nats"]) is not None:
        yield f"nats: {nats['url']} ({nats['mode']}), durability {status['durability'] or 'decided by that server'}"
    yield f"data: {status['data_dir']}"
