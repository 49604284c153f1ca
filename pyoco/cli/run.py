"""`pyoco run`."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Annotated

import typer

from .options import (
    ConfigOption,
    FlowArgument,
    JsonOption,
    flow_path,
    grace_period,
    parse_answers,
    parse_params,
    parse_rejections,
    read_params_file,
)
from .output import only_result_on_stdout, print_json


def run(
    flow: FlowArgument = None,
    config: ConfigOption = None,
    param: Annotated[
        list[str] | None, typer.Option("--param", "-p", metavar="KEY=VALUE", help="A run parameter; may be repeated.")
    ] = None,
    params_file: Annotated[
        str | None, typer.Option(metavar="F", help="A YAML or JSON file of run parameters; - is standard input.")
    ] = None,
    as_json: JsonOption = False,
    cute: Annotated[
        bool | None, typer.Option("--cute/--non-cute", help="A lively trace, or plain lines. Default: PYOCO_CUTE.")
    ] = None,
    trace: Annotated[
        bool | None, typer.Option("--trace/--no-trace", help="Show what happens. Default: yes, unless --json.")
    ] = None,
    answer: Annotated[
        list[str] | None,
        typer.Option(metavar="NODE=JSON", help="Approves a waiting node and hands it a value; may be repeated."),
    ] = None,
    reject: Annotated[
        list[str] | None, typer.Option(metavar="NODE=REASON", help="Rejects a waiting node; may be repeated.")
    ] = None,
) -> None:
    """Runs a flow here and shows how it goes.

    Ctrl-C cancels the run: tasks may finish within PYOCO_CANCEL_GRACE_PERIOD_SEC (5) seconds, a second Ctrl-C stops at
    once. Parameters of --param win over those of --params-file, and these over the defaults of the file.

    \b
    Example:
      pyoco run examples/hello/flow.yaml --param name=Ada
    """
    from .runner import RunRequest, perform, report

    request = RunRequest(
        path=flow_path(flow, config),
        params={**read_params_file(params_file), **parse_params(param)},
        answers=parse_answers(answer),
        rejections=parse_rejections(reject),
        trace=trace if trace is not None else not as_json,
        cute=cute,
        grace=grace_period(),
        may_ask=not as_json,
    )
    with only_result_on_stdout() if as_json else nullcontext():
        outcome = perform(request)
    raise typer.Exit(report(outcome, print_json if as_json else None))
