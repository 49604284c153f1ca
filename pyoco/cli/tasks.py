"""`pyoco list-tasks`."""

from __future__ import annotations

import typer

from .options import ConfigOption, FlowArgument, flow_path


def list_tasks(flow: FlowArgument = None, config: ConfigOption = None) -> None:
    """Lists the tasks that a flow file can use.

    \b
    Example:
      pyoco list-tasks examples/hello/flow.yaml
    """
    from .flow_file import load_tasks

    loader = load_tasks(flow_path(flow, config))
    typer.echo("Available tasks:")
    for name in loader.tasks:
        typer.echo(f" - {name}")
