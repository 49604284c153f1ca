"""Tasks that every flow can `use:`."""

from __future__ import annotations

from typing import Any

from .task import Task

APPROVAL_KEY = "approval"
EXTERNAL_KEY = "external"


def approval(ctx: Any, prompt: str | None = None) -> Any:
    """Waits until a person approves; the result is what came along with the approval."""
    return ctx.wait(APPROVAL_KEY, prompt)


def external(ctx: Any, prompt: str | None = None) -> Any:
    """Waits until a worker outside has done the work; the result is the output it reported."""
    return ctx.wait(EXTERNAL_KEY, prompt)


BUILTIN_TASKS: dict[str, Task] = {
    "pyoco/approval": Task(func=approval, name="pyoco/approval"),
    "pyoco/external": Task(func=external, name="pyoco/external"),
}
