"""`pyoco graph`."""

from __future__ import annotations

import shutil
from typing import Annotated

import typer

from .options import ConfigOption, FlowArgument, flow_path


def graph(
    flow: FlowArgument = None,
    config: ConfigOption = None,
    ascii_only: Annotated[bool, typer.Option("--ascii", help="Draw with ASCII characters only.")] = False,
    as_mermaid: Annotated[bool, typer.Option("--mermaid", help="Print a Mermaid flowchart instead.")] = False,
) -> None:
    """Draws what runs after what.

    \b
    Example:
      pyoco graph examples/review/flow.yaml
    """
    from .drawing import ASCII, UNICODE, draw
    from .flow_file import load_plan
    from .mermaid import mermaid

    plan = load_plan(flow_path(flow, config))
    width = shutil.get_terminal_size(fallback=(100, 24)).columns
    typer.echo(mermaid(plan) if as_mermaid else draw(plan, ASCII if ascii_only else UNICODE, width))
