"""Guards that many commands share."""

from __future__ import annotations

from .commands import Command
from .events import Body
from .rejection import Reason, Rejection
from .run import Run

Decision = list[Body] | Rejection


def refuse(command: Command, reason: Reason, because: str, retry_after: float | None = None) -> Rejection:
    return Rejection(type(command).__name__, reason, because, retry_after)


def closed_to_progress(run: Run, command: Command) -> Rejection | None:
    """Terminal is final, and cancel wins."""
    if run.is_terminal:
        return refuse(command, Reason.TERMINAL, f"execution is {run.status}")
    if run.cancel is not None:
        return refuse(command, Reason.CANCEL_REQUESTED, "execution is cancel-requested")
    return None
