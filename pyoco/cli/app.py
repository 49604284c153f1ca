"""The `pyoco` command: its groups, and the way every one of its errors takes to the user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from . import check, graph, plugins, run, support, tasks
from .failure import FAILED, INTERRUPTED, OK, Problem, complain, unexpected
from .interrupts import leave
from .output import forget_output, never_fail_on_characters

# Where Typer keeps the base of its complaints about arguments differs between its versions.
_UsageError: Any = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "UsageError")

app = typer.Typer(
    name="pyoco",
    help="Runs workflows that are described in a flow.yaml.\n\n\b\nExample:\n  pyoco run examples/hello/flow.yaml",
    add_completion=False,
    rich_markup_mode=None,  # importing rich would take longer than everything else that --help does
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def pyoco(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False
) -> None:
    if version:
        from ..version import __version__

        typer.echo(f"pyoco {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(FAILED)


app.command("run")(run.run)
app.command("check")(check.check)
app.command("graph")(graph.graph)
app.command("list-tasks")(tasks.list_tasks)
app.add_typer(plugins.app, name="plugins")
app.add_typer(support.app, name="support")


def run_app(arguments: Sequence[str]) -> int:
    """Runs one command; the result is the exit code. Nothing is raised, no traceback is ever shown."""
    never_fail_on_characters()
    try:
        code = app(list(arguments), prog_name="pyoco", standalone_mode=False) or OK
    except _UsageError as error:
        error.show()
        code = FAILED
    except Problem as problem:
        complain(str(problem))
        code = FAILED
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except BrokenPipeError:
        forget_output()
        code = FAILED
    except Exception as exc:  # noqa: BLE001 - the last door: what comes here is a bug or foreign code
        complain(unexpected(exc))
        code = FAILED
    return leave(int(code))
