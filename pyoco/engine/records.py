"""What a run leaves behind: statuses, one record per node, captured output."""

from __future__ import annotations

import json
import threading
import time
import uuid
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class TaskState(Enum):
    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


class RunStatus(Enum):
    PENDING = "PENDING"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLING = "CANCELLING"
    CANCELLED = "CANCELLED"


CANCEL_STATUSES = frozenset({RunStatus.CANCELLING, RunStatus.CANCELLED})


@dataclass(slots=True)
class Attempt:
    """One try of a node."""

    number: int
    started_at: float
    ended_at: float | None = None
    error: str | None = None
    traceback: str | None = None


@dataclass(slots=True)
class TaskRecord:
    """The newest execution of a node. Inside a loop each iteration starts a fresh one."""

    state: TaskState = TaskState.PENDING
    started_at: float | None = None
    ended_at: float | None = None
    duration_ms: float | None = None
    error: str | None = None
    traceback: str | None = None
    inputs: dict[str, Any] = field(default_factory=dict)
    output: Any = None
    artifacts: dict[str, Any] = field(default_factory=dict)
    # Ours, beyond the nine fields that existing clients read.
    attempts: list[Attempt] = field(default_factory=list)
    progress: tuple[float, str | None] | None = None
    wait_key: str | None = None
    prompt: str | None = None


@dataclass
class RunContext:
    """One run as seen from outside; a caller may hand in its own and watch it being filled."""

    run_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    flow_name: str = "main"
    params: dict[str, Any] = field(default_factory=dict)
    status: RunStatus = RunStatus.RUNNING
    tasks: dict[str, TaskState] = field(default_factory=dict)
    task_records: dict[str, TaskRecord] = field(default_factory=dict)
    start_time: float = field(default_factory=time.time)
    end_time: float | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    logs: list[dict[str, Any]] = field(default_factory=list)
    log_bytes: dict[str, int] = field(default_factory=dict)
    _undelivered: list[dict[str, Any]] = field(default_factory=list, repr=False)
    _log_lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def ensure_task_record(self, task_name: str) -> TaskRecord:
        return self.task_records.setdefault(task_name, TaskRecord())

    def append_log(self, task_name: str, stream: str, payload: str) -> None:
        """Keeps what a task wrote to one stream during one attempt; empty text is ignored."""
        if not payload:
            return
        with self._log_lock:
            entry = {
                "seq": len(self.logs),
                "task": task_name,
                "stream": stream,
                "text": payload,
                "timestamp": time.time(),
            }
            self.logs.append(entry)
            self._undelivered.append(entry)
            self.log_bytes[task_name] = self.log_bytes.get(task_name, 0) + len(payload.encode("utf-8", "replace"))

    def drain_logs(self) -> list[dict[str, Any]]:
        """The entries that were not handed out before."""
        with self._log_lock:
            drained, self._undelivered = self._undelivered, []
        return drained

    def serialize_task_records(self) -> dict[str, dict[str, Any]]:
        """JSON-able records; values that JSON cannot hold appear as their repr."""
        return {
            name: {
                "state": record.state.value,
                "started_at": record.started_at,
                "ended_at": record.ended_at,
                "duration_ms": record.duration_ms,
                "error": record.error,
                "traceback": record.traceback,
                "inputs": {key: _json_safe(value) for key, value in record.inputs.items()},
                "output": _json_safe(record.output),
                "artifacts": _json_safe(record.artifacts),
            }
            for name, record in self.task_records.items()
        }


def _json_safe(value: Any) -> Any:
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return repr(value)
    return value
