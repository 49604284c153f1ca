"""`pyoco plugins …`: what installed distributions offer through the entry point group `pyoco.tasks`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from .failure import FAILED, OK, complain
from .options import JsonOption
from .output import print_json

if TYPE_CHECKING:
    from collections.abc import Iterator

app = typer.Typer(
    help="Installed distributions that offer tasks.\n\n\b\nExample:\n  pyoco plugins list", rich_markup_mode=None
)


@app.callback(invoke_without_command=True)
def plugins(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command("list")
def list_plugins(as_json: JsonOption = False) -> None:
    """Lists the plugins and their tasks.

    \b
    Example:
      pyoco plugins list
    """
    reports = _reports()
    if as_json:
        print_json(reports)
    elif not reports:
        typer.echo("No plugin is installed.")
    for report in [] if as_json else reports:
        typer.echo("\n".join(_describe(report)))


@app.command("lint")
def lint(as_json: JsonOption = False) -> None:
    """Looks for what plugins should improve; exit code 1 if there is anything.

    \b
    Example:
      pyoco plugins lint --json
    """
    from ..engine.plugins import plugin_issues

    reports = _reports()
    issues = plugin_issues(reports)
    if as_json:
        print_json({"issues": issues, "reports": reports})
    else:
        typer.echo("\n".join(f" - {issue}" for issue in issues) or "No issues.")
    raise typer.Exit(FAILED if issues else OK)


def _reports() -> list[dict[str, Any]]:
    from pathlib import Path

    from ..engine.document import PyocoConfig
    from ..engine.loading import load_tasks, make_importable
    from .output import only_result_on_stdout

    make_importable(Path.cwd())
    with only_result_on_stdout():
        return load_tasks(PyocoConfig(), "plugins", say=complain).plugin_reports


def _describe(report: dict[str, Any]) -> Iterator[str]:
    version = f"@{report['version']}" if report["version"] else ""
    yield f"{report['name']}{version} ({report['module']})"
    if "error" in report:
        yield f"  error: {report['error']}"
    for task in report["tasks"]:
        yield f"  - {task['name']} ({task['origin']})"
        yield from (f"      warning: {warning}" for warning in task["warnings"])
