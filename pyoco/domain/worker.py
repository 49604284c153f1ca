"""The record of a worker, and whether it is alive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from .values import Document, Json, Unreadable, number_or_none, text_or_none, texts_or, whole_or

FORGOTTEN_AFTER = 86_400.0


class WorkerState(StrEnum):
    RUNNING = "RUNNING"
    IDLE = "IDLE"
    STOPPED_GRACEFUL = "STOPPED_GRACEFUL"
    DISCONNECTED = "DISCONNECTED"


ACTIVE = frozenset({WorkerState.RUNNING, WorkerState.IDLE})


@dataclass(frozen=True, slots=True)
class WorkerRecord:
    """What a worker says about itself. `hidden` is the operator's and outlives every beat."""

    worker_id: str
    instance_id: str | None
    last_seen_at: float
    tags: tuple[str, ...] = ()
    hidden: bool = False
    running: tuple[str, ...] = ()
    slots: int = 1
    host: str | None = None
    pid: int | None = None
    flows: tuple[str, ...] = ()
    version: str | None = None
    last_run_status: str | None = None
    stopped_at: float | None = None
    stop_reason: str | None = None
    wheel_sync: Json = None
    extra: Mapping[str, Json] = field(default_factory=dict)

    def state(self, now: float, disconnect_timeout: float) -> WorkerState:
        """A worker that said good-bye is not disconnected, however long ago that was."""
        if self.stopped_at is not None:
            return WorkerState.STOPPED_GRACEFUL
        if now - self.last_seen_at > disconnect_timeout:
            return WorkerState.DISCONNECTED
        return WorkerState.RUNNING if self.running else WorkerState.IDLE

    def is_forgotten(self, now: float) -> bool:
        return now - self.last_seen_at > FORGOTTEN_AFTER

    def denies(self, run_id: str) -> bool:
        """Only a record that is newer than the claim is proof."""
        return run_id not in self.running


def worker_to_json(record: WorkerRecord) -> Document:
    """The three time fields of the two v0 texts are one. `state` is what the worker itself can say."""
    own_state = record.state(record.last_seen_at, disconnect_timeout=0.0)
    return {
        **record.extra,
        "worker_id": record.worker_id,
        "instance_id": record.instance_id,
        "state": own_state.value,
        "hidden": record.hidden,
        "heartbeat_at": record.last_seen_at,
        "last_heartbeat_at": record.last_seen_at,
        "last_seen_at": record.last_seen_at,
        "tags": list(record.tags),
        "running": list(record.running),
        "current_run_id": record.running[0] if record.running else None,
        "slots": record.slots,
        "host": record.host,
        "pid": record.pid,
        "flows": list(record.flows),
        "version": record.version,
        "last_run_status": record.last_run_status,
        "stopped_at": record.stopped_at,
        "stop_reason": record.stop_reason,
        "wheel_sync": record.wheel_sync,
    }


def worker_from_json(document: Mapping[str, Any]) -> WorkerRecord:
    """Also the record of a v0 worker, which has only an id, one time and perhaps tags and the run it is at."""
    worker_id = text_or_none(document, "worker_id")
    seen = [number_or_none(document, name) for name in ("last_seen_at", "last_heartbeat_at", "heartbeat_at")]
    times = [time for time in seen if time is not None]
    if worker_id is None or not times:
        raise Unreadable("not a worker record")
    current = text_or_none(document, "current_run_id")
    stopped_at = number_or_none(document, "stopped_at")
    if stopped_at is None and document.get("state") == WorkerState.STOPPED_GRACEFUL:
        stopped_at = times[0]
    return WorkerRecord(
        worker_id=worker_id,
        instance_id=text_or_none(document, "instance_id"),
        last_seen_at=times[0],
        tags=texts_or(document, "tags", ()),
        hidden=document.get("hidden") is True,
        running=texts_or(document, "running", (current,) if current else ()),
        slots=whole_or(document, "slots", 1),
        host=text_or_none(document, "host"),
        pid=None if document.get("pid") is None else whole_or(document, "pid", 0),
        flows=texts_or(document, "flows", ()),
        version=text_or_none(document, "version"),
        last_run_status=text_or_none(document, "last_run_status"),
        stopped_at=stopped_at,
        stop_reason=text_or_none(document, "stop_reason"),
        wheel_sync=document.get("wheel_sync"),
        extra={name: value for name, value in document.items() if name not in _KNOWN},
    )


_KNOWN = frozenset(worker_to_json(WorkerRecord("", None, 0.0)))
