"""Which event may follow in which status, and where it leads. Drawn as a diagram and enforced by the fold."""

from __future__ import annotations

from typing import Any

from .events import (
    JournalWritten,
    NodeCancelled,
    NodeFailed,
    NodeProgressed,
    NodeResumed,
    NodesDeclared,
    NodeSkipped,
    NodeStarted,
    NodeSucceeded,
    NodeWaiting,
    RunArchived,
    RunCancelled,
    RunCancelRequested,
    RunCompleted,
    RunFailed,
    RunObserved,
    RunParked,
    RunQueued,
    RunReleased,
    RunStarted,
    TagsChanged,
    UnknownEvent,
)
from .run import RunStatus as S

_ALWAYS = (TagsChanged, RunObserved, UnknownEvent)
_PROGRESS = (
    NodesDeclared,
    JournalWritten,
    NodeStarted,
    NodeProgressed,
    NodeWaiting,
    NodeResumed,
    NodeSucceeded,
    NodeFailed,
    NodeSkipped,
    NodeCancelled,
)

NEXT: dict[S, dict[type[Any], S]] = {
    S.PENDING: {
        RunQueued: S.PENDING,
        RunStarted: S.RUNNING,
        RunCancelRequested: S.CANCELLING,
        RunCompleted: S.COMPLETED,
        RunFailed: S.FAILED,
    },
    S.RUNNING: {
        RunQueued: S.RUNNING,
        RunStarted: S.RUNNING,
        RunParked: S.RUNNING,
        RunReleased: S.RUNNING,
        **dict.fromkeys(_PROGRESS, S.RUNNING),
        RunCancelRequested: S.CANCELLING,
        RunCompleted: S.COMPLETED,
        RunFailed: S.FAILED,
    },
    # Cancel wins: nothing but the end of open nodes and of the run itself.
    S.CANCELLING: {NodeCancelled: S.CANCELLING, RunCancelled: S.CANCELLED},
    S.COMPLETED: {RunArchived: S.COMPLETED},
    S.FAILED: {RunArchived: S.FAILED},
    S.CANCELLED: {RunArchived: S.CANCELLED},
}
for _status, _row in NEXT.items():
    _row.update(dict.fromkeys(_ALWAYS, _status))


class IllegalEvent(ValueError):
    """An event that cannot follow: nobody decided it, or the document is damaged."""


def next_status(status: S, event_type: type[Any]) -> S:
    try:
        return NEXT[status][event_type]
    except KeyError:
        raise IllegalEvent(f"{event_type.__name__} cannot follow in status {status}") from None


def diagram() -> str:
    """The table as a Mermaid state diagram: what changes the status, and what may happen without changing it."""
    lines = ["stateDiagram-v2", "    [*] --> PENDING: RunCreated"]
    for status, row in NEXT.items():
        for event_type, target in row.items():
            if target is not status:
                lines.append(f"    {status} --> {target}: {event_type.__name__}")
        staying = [kind.__name__ for kind, target in row.items() if target is status and kind not in _ALWAYS]
        if staying:
            lines.append(f"    {status} --> {status}: {', '.join(staying)}")
        if status.is_terminal:
            lines.append(f"    {status} --> [*]")
    return "\n".join(lines) + "\n"
