"""`pyoco support …`: descriptions of tasks and of the flow file, meant for a language model."""

from __future__ import annotations

from typing import Annotated

import typer

from .failure import FAILED, Problem
from .options import ConfigOption, FlowArgument, flow_path

app = typer.Typer(
    help="Describes tasks and the flow file for a language model.\n\n\b\nExample:\n  pyoco support guide",
    rich_markup_mode=None,
)

FormatOption = Annotated[str, typer.Option("--format", metavar="prompt|json|md", help="How to write it.")]
OutputOption = Annotated[str | None, typer.Option("--output", metavar="F", help="Write it to a file instead.")]
NameOption = Annotated[list[str] | None, typer.Option("--name", help="Only this task; may be repeated.")]
OriginOption = Annotated[list[str] | None, typer.Option("--origin", help="Only from this plugin; may be repeated.")]
TagOption = Annotated[list[str] | None, typer.Option("--tag", help="Only with this tag; may be repeated.")]


@app.callback(invoke_without_command=True)
def support(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(FAILED)


@app.command("tasks")
def tasks(
    flow: FlowArgument = None,
    config: ConfigOption = None,
    format: FormatOption = "prompt",
    output: OutputOption = None,
    name: NameOption = None,
    origin: OriginOption = None,
    tag: TagOption = None,
) -> None:
    """Describes all tasks that a flow file can use.

    \b
    Example:
      pyoco support tasks examples/hello/flow.yaml --format md
    """
    _describe("tasks", flow_path(flow, config), format, output, {"name": name, "origin": origin, "tag": tag})


@app.command("task")
def task(
    flow: FlowArgument = None,
    config: ConfigOption = None,
    format: FormatOption = "prompt",
    output: OutputOption = None,
    name: NameOption = None,
    origin: OriginOption = None,
    tag: TagOption = None,
) -> None:
    """Describes one task (--name).

    \b
    Example:
      pyoco support task examples/hello/flow.yaml --name greet
    """
    if not name:
        raise Problem("Error: the name of the task is missing", "add --name NAME")
    _describe("task", flow_path(flow, config), format, output, {"name": name, "origin": origin, "tag": tag})


@app.command("guide")
def guide(
    flow: FlowArgument = None,
    config: ConfigOption = None,
    format: FormatOption = "prompt",
    output: OutputOption = None,
) -> None:
    """Explains how to write a flow file; it needs none itself.

    \b
    Example:
      pyoco support guide --format md --output guide.md
    """
    _describe("guide", flow or config, format, output, {})


def _describe(
    kind: str, path: str | None, format: str, output: str | None, filters: dict[str, list[str] | None]
) -> None:
    from ..engine.errors import SupportInfoError
    from ..engine.support import build
    from .flow_file import load_tasks

    if kind != "guide" and path is not None:
        load_tasks(path)  # says properly what is wrong with the file or the code of its tasks
    try:
        text = build(kind, path or "", format, {key: value for key, value in filters.items() if value}, output)
    except SupportInfoError as exc:
        raise Problem(f"Error: {exc}") from None
    typer.echo(f"Written to {output}." if output else text)
