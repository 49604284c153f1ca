"""The SQLite file of the read model: made, checked and written; used by one thread at a time."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from ..domain.values import Unreadable
from .feed import Change, Position
from .model_rows import Row, row_of

SCHEMA_VERSION = 1
_READERS_WAIT_SEC = 5.0
_BROKEN = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_log = logging.getLogger("pyoco.store")

# Each list order has its own index, so that the cost of a page does not grow with the number of runs.
_SCHEMA = """
CREATE TABLE place (one INTEGER PRIMARY KEY CHECK (one = 1), stream TEXT NOT NULL, sequence INTEGER NOT NULL);
INSERT INTO place VALUES (1, '', 0);
CREATE TABLE totals (status TEXT PRIMARY KEY, runs INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE runs (
    run_id TEXT NOT NULL UNIQUE, revision INTEGER NOT NULL, changed INTEGER NOT NULL, version INTEGER NOT NULL,
    status TEXT NOT NULL, flow_name TEXT NOT NULL, tag TEXT NOT NULL, tenant_id TEXT,
    created_at REAL NOT NULL, updated_at REAL NOT NULL, heartbeat_at REAL NOT NULL, written_at REAL NOT NULL,
    ended_at REAL, workflow_yaml_sha256 TEXT, batch_id TEXT,
    work_state TEXT NOT NULL, work_gen INTEGER NOT NULL, work_instance_id TEXT, work_worker_id TEXT, work_since REAL,
    work_foreign INTEGER NOT NULL, needs_message INTEGER NOT NULL, cancel_at REAL,
    tags TEXT NOT NULL, search TEXT NOT NULL, summary TEXT NOT NULL
);
CREATE TABLE run_tags (
    tag TEXT NOT NULL, created_at REAL NOT NULL, run_id TEXT NOT NULL, PRIMARY KEY (tag, created_at DESC, run_id)
) WITHOUT ROWID;
CREATE INDEX runs_updated ON runs (updated_at DESC, run_id);
CREATE INDEX runs_created ON runs (created_at DESC, run_id);
CREATE INDEX runs_status ON runs (status, updated_at DESC, run_id);
CREATE INDEX runs_flow ON runs (flow_name, updated_at DESC, run_id);
CREATE INDEX runs_tag ON runs (tag, updated_at DESC, run_id);
CREATE INDEX runs_changed ON runs (changed);
CREATE INDEX runs_tenant ON runs (tenant_id, updated_at DESC, run_id) WHERE tenant_id IS NOT NULL;
CREATE INDEX runs_yaml ON runs (workflow_yaml_sha256, updated_at DESC, run_id) WHERE workflow_yaml_sha256 IS NOT NULL;
CREATE INDEX runs_batch ON runs (batch_id, updated_at DESC, run_id) WHERE batch_id IS NOT NULL;
CREATE INDEX runs_ended ON runs (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX runs_queued ON runs (tag, work_since) WHERE needs_message = 1;
CREATE INDEX runs_claimed ON runs (work_instance_id, tag) WHERE work_state = 'claimed';
"""


def is_broken(error: sqlite3.Error) -> bool:
    """The file itself is damaged, as opposed to a full disk or a busy file."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in _BROKEN


def connect(path: Path) -> sqlite3.Connection:
    """A connection whose owner keeps its threads apart; transactions are always explicit."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=_READERS_WAIT_SEC)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        # No fsync per transaction: after a power cut the file is older but whole, and the feed tells the rest again.
        connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def open_or_rebuild(path: Path) -> sqlite3.Connection:
    """The database, empty if there was none that we can use."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        connection = connect(path)
        try:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version == SCHEMA_VERSION:
                connection.execute("SELECT * FROM place CROSS JOIN runs LEFT JOIN run_tags USING (run_id) LIMIT 1")
                connection.execute("SELECT * FROM totals")
                return connection
            found = "it is new" if version == 0 else f"it has version {version}"
        except BaseException:
            connection.close()
            raise
        connection.close()
    except sqlite3.DatabaseError as error:
        found = f"it is broken: {error}"
    _log.info("making the read model %s: %s", path.name, found)
    return rebuild(path)


def rebuild(path: Path) -> sqlite3.Connection:
    for suffix in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).unlink()
    connection = connect(path)
    connection.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;")
    return connection


def position_in(connection: sqlite3.Connection) -> Position:
    stream, sequence = connection.execute("SELECT stream, sequence FROM place").fetchone()
    return Position(stream, sequence)


def start_over(connection: sqlite3.Connection, position: Position) -> None:
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        for table in ("runs", "run_tags", "totals"):
            connection.execute(f"DELETE FROM {table}")
        _move(connection, position)


def apply(connection: sqlite3.Connection, changes: Sequence[Change], position: Position) -> None:
    """Rows and the position in one transaction. Of several changes of a run only the newest counts."""
    newest = {change.run_id: change for change in changes}
    known = _known(connection, newest)
    gone, rows, beats = [], [], []
    for change in newest.values():
        old = known.get(change.run_id)
        row = None if change.data is None else _readable(change)
        if row is None:
            gone.append(change.run_id)
        elif old is not None and old.identity == row.identity:
            beats.append(row.columns)
        else:
            rows.append(row)
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        _remove(connection, gone, known)
        connection.executemany(_BEAT, beats)
        _store(connection, rows, known)
        _move(connection, position)


def remove(connection: sqlite3.Connection, run_ids: Iterable[str], upto: int) -> None:
    """Runs that are gone without a word; one that was written again after that revision stays."""
    known = {run_id: old for run_id, old in _known(connection, list(run_ids)).items() if old.revision <= upto}
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        _remove(connection, list(known), known)


class _Known:
    """What is stored of a run, as far as the next write needs it."""

    __slots__ = ("created_at", "identity", "revision", "status", "tags")

    def __init__(
        self, revision: int, version: int, updated_at: float, status: str, created_at: float, tags: str
    ) -> None:
        self.revision = revision
        self.identity = (version, updated_at, status)
        self.status = status
        self.created_at = created_at
        self.tags = tags


def _known(connection: sqlite3.Connection, run_ids: Collection[str]) -> dict[str, _Known]:
    found = connection.execute(
        "SELECT run_id, revision, version, updated_at, status, created_at, tags FROM runs"
        " WHERE run_id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(run_ids)),),
    )
    return {run_id: _Known(*rest) for run_id, *rest in found}


def _readable(change: Change) -> Row | None:
    """None for a document that nobody can read: it is not listed, as it cannot be shown either."""
    try:
        return row_of(change)
    except Unreadable as error:
        _log.warning("the document of run %s is left out of lists: %s", change.run_id, error)
        return None


def _remove(connection: sqlite3.Connection, run_ids: list[str], known: dict[str, _Known]) -> None:
    there = [run_id for run_id in run_ids if run_id in known]
    for run_id in there:
        _drop_tags(connection, run_id, known[run_id])
    connection.executemany("DELETE FROM runs WHERE run_id = ?", ((run_id,) for run_id in there))
    _count(connection, Counter(known[run_id].status for run_id in there), -1)


def _store(connection: sqlite3.Connection, rows: list[Row], known: dict[str, _Known]) -> None:
    values = []
    for row in rows:
        old = known.get(row.run_id)
        # A v0 process does not write when the run was created; then the earliest time known is the best guess.
        created_at = row.created_at if old is None else min(old.created_at, row.created_at)
        values.append({**row.columns, "created_at": created_at})
        if old is None or old.tags != row.columns["tags"] or old.created_at != created_at:
            if old is not None:
                _drop_tags(connection, row.run_id, old)
            pairs = ((tag, created_at, row.run_id) for tag in row.tags)
            connection.executemany("INSERT INTO run_tags VALUES (?, ?, ?)", pairs)
    connection.executemany(_UPSERT, values)
    _count(connection, Counter(row.status for row in rows), 1)
    _count(connection, Counter(known[row.run_id].status for row in rows if row.run_id in known), -1)


def _drop_tags(connection: sqlite3.Connection, run_id: str, old: _Known) -> None:
    pairs = ((tag, old.created_at, run_id) for tag in json.loads(old.tags))
    connection.executemany("DELETE FROM run_tags WHERE tag = ? AND created_at = ? AND run_id = ?", pairs)


def _count(connection: sqlite3.Connection, statuses: Counter[str], sign: int) -> None:
    connection.executemany(
        "INSERT INTO totals VALUES (?, ?) ON CONFLICT (status) DO UPDATE SET runs = runs + excluded.runs",
        [(status, sign * count) for status, count in statuses.items()],
    )


def _move(connection: sqlite3.Connection, position: Position) -> None:
    connection.execute("UPDATE place SET stream = ?, sequence = ?", (position.stream, position.sequence))


_COLUMNS = (
    *("run_id", "revision", "changed", "version", "status", "flow_name", "tag", "tenant_id", "created_at"),
    *("updated_at", "heartbeat_at", "written_at", "ended_at", "workflow_yaml_sha256", "batch_id", "work_state"),
    *("work_gen", "work_instance_id", "work_worker_id", "work_since", "work_foreign", "needs_message", "cancel_at"),
    *("tags", "search", "summary"),
)
_UPSERT = (
    f"INSERT INTO runs ({', '.join(_COLUMNS)}) VALUES ({', '.join(f':{name}' for name in _COLUMNS)})"
    f" ON CONFLICT (run_id) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _COLUMNS[1:])}"
)
# A heartbeat is no change: neither the order of a list nor a walk through it may notice.
_BEAT = (
    "UPDATE runs SET revision = :revision, heartbeat_at = :heartbeat_at, written_at = :written_at"
    " WHERE run_id = :run_id"
)
