"""Questions to the read model: plain functions over one connection, each inside one read transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..domain.run import TERMINAL, RunStatus
from .cursor import CreatedKey, Cursor
from .model_database import position_in
from .model_rows import RunSummary, plain, searchable, summary_from

_RARE = 2000  # up to so many runs it is cheaper to look each of them up than to walk through all others
_SHOWN = "runs.run_id, runs.revision, runs.heartbeat_at, runs.created_at, runs.summary"


@dataclass(frozen=True, slots=True)
class Filters:
    """All given ones have to hold. `updated_after` is exclusive; `q` is looked for in id, flow, tag and tags."""

    statuses: tuple[RunStatus, ...] = ()
    flow: str | None = None
    tag: str | None = None
    tags_any: tuple[str, ...] = ()
    workflow_yaml_sha256: str | None = None
    updated_after: float | None = None
    q: str | None = None
    tenant_id: str | None = None
    batch_id: str | None = None


@dataclass(frozen=True, slots=True)
class Page:
    items: tuple[RunSummary, ...]
    next: Cursor | None


@dataclass(frozen=True, slots=True)
class CreatedPage:
    items: tuple[RunSummary, ...]
    next: CreatedKey | None


@contextmanager
def reading(connection: sqlite3.Connection) -> Iterator[None]:
    """Everything inside sees the same moment."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


def newest(connection: sqlite3.Connection, filters: Filters, limit: int) -> tuple[RunSummary, ...]:
    """Newest change first; runs of the same moment by id."""
    with reading(connection):
        return _by_update(connection, filters, limit, None, "")


def newest_created(
    connection: sqlite3.Connection, filters: Filters, limit: int, after: CreatedKey | None
) -> CreatedPage:
    """Newest run first; a walk by `next` meets each run once."""
    with reading(connection):
        query = _Query(connection, filters, order="created_at")
        if after is not None:
            query.behind("created_at", after.created_at, after.run_id)
        found = query.run(f"{query.order_by('created_at')} LIMIT ?", limit + 1)
    items = found[:limit]
    return CreatedPage(items, CreatedKey(items[-1].created_at, items[-1].run_id) if len(found) > limit else None)


def page(connection: sqlite3.Connection, filters: Filters, limit: int, cursor: Cursor | None, now: float) -> Page:
    """One page of a walk. Every run that existed when it began and fits the filters is met at least once."""
    with reading(connection):
        here = position_in(connection)
        if cursor is None:
            latest = connection.execute("SELECT max(created_at) FROM runs").fetchone()[0]
            cursor = Cursor(now if latest is None else max(now, latest), here.stream, here.sequence)
        items: tuple[RunSummary, ...] = ()
        if not cursor.changed_leg:
            found = _by_update(connection, filters, limit + 1, cursor.updated_at, cursor.run_id)
            items = found[:limit]
            if len(found) > limit:
                last = items[-1]
                return Page(items, Cursor(cursor.started, cursor.stream, cursor.since, last.updated_at, last.run_id))
        # In a recreated stream old revisions mean nothing: there everything counts as changed.
        since = cursor.since if cursor.stream == here.stream else 0
        met = cursor.run_id if cursor.changed_leg else ""
        room = limit - len(items)
        rest = _changed(connection, filters, room + 1, since, cursor.started, met)
    if len(rest) > room:
        last_id = rest[room - 1].run_id if room else met
        onward = Cursor(cursor.started, cursor.stream, cursor.since, None, last_id, changed_leg=True)
        return Page(items + rest[:room], onward)
    return Page(items + rest, None)


def _by_update(
    connection: sqlite3.Connection, filters: Filters, limit: int, updated_at: float | None, run_id: str
) -> tuple[RunSummary, ...]:
    query = _Query(connection, filters, order="updated_at")
    if updated_at is not None:
        query.behind("updated_at", updated_at, run_id)
    return query.run(f"{query.order_by('updated_at')} LIMIT ?", limit)


def _changed(
    connection: sqlite3.Connection, filters: Filters, limit: int, since: int, created_until: float, after: str
) -> tuple[RunSummary, ...]:
    query = _Query(connection, filters, order=None)
    query.require("runs.changed > ?", since)
    query.require("+runs.created_at <= ?", created_until)
    query.require("+runs.run_id > ?", after)
    return query.run("ORDER BY +runs.run_id LIMIT ?", limit)


class _Query:
    """One SELECT whose index we choose, because SQLite does not know how many runs have which value.

    A leading `+` keeps a condition or an order from choosing an index.
    """

    def __init__(self, connection: sqlite3.Connection, filters: Filters, order: str | None) -> None:
        self._connection = connection
        self._source = "runs"
        self._conditions: list[str] = []
        self._values: list[Any] = []
        self._sorted = False
        self._choose(filters, order)

    def require(self, condition: str, *values: Any) -> None:
        self._conditions.append(condition)
        self._values.extend(values)

    def behind(self, column: str, value: float, run_id: str) -> None:
        """After that place in the order: the first half is what the index is entered by."""
        self.require(f"{self._named(column)} <= ?", value)
        self.require(f"(+runs.{column} < ? OR +runs.run_id > ?)", value, run_id)

    def order_by(self, column: str) -> str:
        return f"ORDER BY {self._named(column)} DESC, runs.run_id"

    def run(self, tail: str, limit: int) -> tuple[RunSummary, ...]:
        where = " AND ".join(self._conditions) or "1"
        found = self._connection.execute(
            f"SELECT {_SHOWN} FROM {self._source} WHERE {where} {tail}", (*self._values, limit)
        )
        return tuple(summary_from(*row) for row in found)

    def _named(self, column: str) -> str:
        return f"+runs.{column}" if self._sorted else f"runs.{column}"

    def _choose(self, filters: Filters, order: str | None) -> None:
        """The first condition that has an index leads; the others are tested on what it finds."""
        leading = order == "updated_at"
        if filters.tags_any:
            leading = self._any_tag(filters.tags_any, order) and leading
        if filters.statuses:
            leading = self._any_status(filters.statuses, order) and leading
        for name, value in _equalities(filters):
            self.require(f"{'' if leading else '+'}runs.{name} = ?", value)
            leading = False
        if filters.updated_after is not None:
            ordered = order == "updated_at" and not self._sorted
            self.require(f"{'' if ordered else '+'}runs.updated_at > ?", filters.updated_after)
        if filters.q:
            self.require("instr(runs.search, ?) > 0", searchable(filters.q))

    def _any_status(self, statuses: Sequence[RunStatus], order: str | None) -> bool:
        """Whether another condition may still lead. Runs that have not ended are few: found first, then sorted."""
        marks = ", ".join("?" * len(statuses))
        in_order = len(statuses) == 1 and order == "updated_at"
        leads = order is not None and not self._sorted and not in_order and not TERMINAL.intersection(statuses)
        self._sorted = self._sorted or leads
        self.require(f"{'' if leads else '+'}runs.status IN ({marks})", *(status.value for status in statuses))
        return not leads

    def _any_tag(self, tags: Sequence[str], order: str | None) -> bool:
        """Whether another condition may still lead."""
        wanted = [plain(tag) for tag in tags]
        marks = ", ".join("?" * len(wanted))
        counted = f"SELECT count(*) FROM (SELECT 1 FROM run_tags WHERE tag IN ({marks}) LIMIT ?)"
        if order is not None and self._connection.execute(counted, (*wanted, _RARE + 1)).fetchone()[0] <= _RARE:
            self._source = f"(SELECT DISTINCT run_id AS id FROM run_tags WHERE tag IN ({marks})) CROSS JOIN runs"
            self._values.extend(wanted)
            self.require("runs.run_id = id")
            self._sorted = True
            return False
        tagged = f"SELECT 1 FROM run_tags AS t WHERE t.tag IN ({marks})"
        self.require(f"EXISTS ({tagged} AND t.created_at = runs.created_at AND t.run_id = runs.run_id)", *wanted)
        return True


def _equalities(filters: Filters) -> Iterator[tuple[str, str]]:
    """Those that usually leave the fewest runs first."""
    one = filters.statuses[0] if len(filters.statuses) == 1 else None
    status = ("status", one.value) if one is not None else ("status", None)
    active = one is not None and not one.is_terminal
    named = [
        ("workflow_yaml_sha256", filters.workflow_yaml_sha256),
        ("batch_id", filters.batch_id),
        *([status] if active else []),
        ("flow_name", filters.flow),
        *([] if active else [status]),
        ("tag", filters.tag),
        ("tenant_id", filters.tenant_id),
    ]
    return ((name, plain(value)) for name, value in named if value is not None)
