"""What metrics and housekeeping ask the read model: totals, queues, claims, cancels, old runs."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from ..domain.run import RunStatus, WorkState
from .model_queries import reading

_WORK = (
    "run_id, revision, tag, status, work_state, work_gen, work_instance_id, work_worker_id, work_since,"
    " work_foreign, cancel_at, written_at"
)


@dataclass(frozen=True, slots=True)
class TagLoad:
    """The runs of a tag that wait for a message of ours, since when the first does, and those being worked on."""

    tag: str
    queued: int
    oldest_since: float | None
    claimed: int


@dataclass(frozen=True, slots=True)
class WorkRow:
    """Who is responsible for a run. `written_at`: server time of the document's last write, heartbeats included."""

    run_id: str
    revision: int
    tag: str
    status: RunStatus
    state: WorkState
    gen: int
    instance_id: str | None
    worker_id: str | None
    since: float | None
    foreign: bool
    cancel_at: float | None
    written_at: float


@dataclass(frozen=True, slots=True)
class EndedRun:
    run_id: str
    revision: int
    ended_at: float


def totals(connection: sqlite3.Connection) -> dict[RunStatus, int]:
    """How many runs have which status, from numbers that every write keeps up to date."""
    counted = dict.fromkeys(RunStatus, 0)
    counted.update((RunStatus(status), runs) for status, runs in connection.execute("SELECT * FROM totals"))
    return counted


def load_by_tag(connection: sqlite3.Connection) -> tuple[TagLoad, ...]:
    """Every tag with something queued or claimed, by name."""
    with reading(connection):
        queued = connection.execute(
            "SELECT tag, count(*), min(work_since) FROM runs INDEXED BY runs_queued"
            " WHERE needs_message = 1 GROUP BY tag"
        ).fetchall()
        claimed = dict(
            connection.execute(
                "SELECT tag, count(*) FROM runs INDEXED BY runs_claimed WHERE work_state = 'claimed' GROUP BY tag"
            ).fetchall()
        )
    waiting = {tag: (count, oldest) for tag, count, oldest in queued}
    return tuple(
        TagLoad(tag, *waiting.get(tag, (0, None)), claimed=claimed.get(tag, 0)) for tag in sorted(waiting | claimed)
    )


def queued(connection: sqlite3.Connection, tag: str) -> tuple[WorkRow, ...]:
    """The runs of a tag that wait for a message of ours, longest first."""
    return _work(connection, "needs_message = 1 AND tag = ? ORDER BY work_since", tag)


def claimed(connection: sqlite3.Connection, instance_id: str | None) -> tuple[WorkRow, ...]:
    """The runs an instance works on; those of all instances if none is given."""
    if instance_id is None:
        return _work(connection, "work_state = 'claimed' ORDER BY work_instance_id")
    return _work(connection, "work_state = 'claimed' AND work_instance_id = ? ORDER BY run_id", instance_id)


def cancelling(connection: sqlite3.Connection) -> tuple[WorkRow, ...]:
    return _work(connection, "status = 'CANCELLING' ORDER BY updated_at")


def ended_before(connection: sqlite3.Connection, moment: float, limit: int) -> tuple[EndedRun, ...]:
    """Terminal runs that ended before that moment, oldest first."""
    found = connection.execute(
        "SELECT run_id, revision, ended_at FROM runs WHERE ended_at < ? ORDER BY ended_at LIMIT ?", (moment, limit)
    )
    return tuple(EndedRun(*row) for row in found)


def known_until(connection: sqlite3.Connection, revision: int) -> frozenset[str]:
    """Every run whose newest write is no newer than that."""
    return frozenset(
        run_id for (run_id,) in connection.execute("SELECT run_id FROM runs WHERE revision <= ?", (revision,))
    )


def _work(connection: sqlite3.Connection, condition: str, *values: str) -> tuple[WorkRow, ...]:
    found = connection.execute(f"SELECT {_WORK} FROM runs WHERE {condition}", values)
    return tuple(
        WorkRow(
            run_id,
            revision,
            tag,
            RunStatus(status),
            WorkState(state),
            gen,
            instance,
            worker,
            since,
            bool(foreign),
            *rest,
        )
        for run_id, revision, tag, status, state, gen, instance, worker, since, foreign, *rest in found
    )
