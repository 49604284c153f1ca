"""Why a command was refused."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    RUN_EXISTS = "run_exists"
    RUN_UNKNOWN = "run_unknown"
    NOT_HOLDER = "not_holder"
    TERMINAL = "terminal"
    NOT_TERMINAL = "not_terminal"
    CANCEL_REQUESTED = "cancel_requested"
    CANCEL_NOT_REQUESTED = "cancel_not_requested"
    WORK_STATE = "work_state"
    WRONG_GEN = "wrong_gen"
    NODE_UNKNOWN = "node_unknown"
    NODE_STATE = "node_state"
    NODES_OPEN = "nodes_open"
    WRONG_KEY = "wrong_key"
    DRIVEN_BY_WORKER = "driven_by_worker"
    NOT_DECLARED = "not_declared"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Rejection:
    """`retry_after`: seconds after which the same command may well be accepted. `index`: its place in a batch."""

    command: str
    reason: Reason
    because: str
    retry_after: float | None = None
    index: int = 0

    @property
    def message(self) -> str:
        return f"{self.command} rejected because {self.because}"
