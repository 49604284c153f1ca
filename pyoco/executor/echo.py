"""The built-in demo flow: logs its parameters and returns them."""

from __future__ import annotations

from typing import Any

from pyoco.engine.flow import Flow
from pyoco.engine.task import Task

ECHO = "echo"


def echo(ctx: Any) -> dict[str, Any]:
    parameters = dict(ctx.params)
    for name, value in parameters.items():
        ctx.log(f"{name} = {value!r}")
    if not parameters:
        ctx.log("no parameters")
    return parameters


def echo_flow() -> Flow:
    flow = Flow(ECHO)
    flow.add_task(Task(func=echo, name=ECHO))
    return flow
