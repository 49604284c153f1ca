"""`pyoco check`."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import ConfigOption, FlowArgument, JsonOption, flow_path


def check(
    flow: FlowArgument = None,
    config: ConfigOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Also look at loops without a limit; errors then exit with 2.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Looks for mistakes in a flow without running any task.

    Exit code 0: nothing or only warnings; 1: errors (2 with --dry-run); 3: the check itself failed.

    \b
    Example:
      pyoco check examples/hello/flow.yaml
    """
    from .checking import examine, show

    path = flow_path(flow, config)
    if not as_json:
        typer.echo("Checking flow...")
    raise typer.Exit(show(examine(path, dry_run), as_json))
