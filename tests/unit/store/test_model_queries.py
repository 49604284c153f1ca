"""The questions to the read model, on a database in memory that no server feeds."""

from __future__ import annotations

import dataclasses
import json
import logging
import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyoco.domain import commands as c
from pyoco.domain.run import Run, RunStatus
from pyoco.store import model_database as database
from pyoco.store import model_queries as queries
from pyoco.store import model_work as work
from pyoco.store.cursor import Cursor
from pyoco.store.feed import Change, Position
from pyoco.store.model_queries import Filters
from tests.support.documents import after, claimed, completed, created, removed, stored


class Model:
    """A database and the next revision."""

    def __init__(self) -> None:
        self.connection = database.rebuild(Path(":memory:"))
        self.revision = 0

    def put(self, *runs: Run) -> None:
        self.apply(*(stored(self.revision + number, run) for number, run in enumerate(runs, 1)))

    def apply(self, *changes: Change) -> None:
        self.revision = changes[-1].revision
        database.apply(self.connection, changes, Position("s", self.revision))

    def ids(self, limit: int = 50, **filters: Any) -> list[str]:
        return [run.run_id for run in queries.newest(self.connection, Filters(**filters), limit)]

    def created_ids(self, **filters: Any) -> list[str]:
        return [run.run_id for run in queries.newest_created(self.connection, Filters(**filters), 50, None).items]


@pytest.fixture
def model() -> Iterator[Model]:
    made = Model()
    yield made
    made.connection.close()


def test_a_summary_says_what_the_document_says(model: Model) -> None:
    run = created("r1", 5.0, params={"x": 1}, tags=("a", "ü"), tenant_id="t", batch_id="b", correlation_id="c")
    model.put(claimed(run, 6.0))
    (shown,) = queries.newest(model.connection, Filters(), 10)
    assert (shown.run_id, shown.revision, shown.status) == ("r1", 1, RunStatus.RUNNING)
    assert (shown.flow_name, shown.tag, shown.tags) == ("echo", "default", ("a", "ü"))
    assert (shown.created_at, shown.updated_at, shown.start_time, shown.end_time) == (5.0, 6.0, 6.0, None)
    assert (shown.tenant_id, shown.batch_id, shown.correlation_id, shown.worker_id) == ("t", "b", "c", "w1")


def test_the_newest_change_comes_first_and_equal_times_by_id(model: Model) -> None:
    model.put(created("b", 2.0), created("a", 2.0), created("c", 1.0), created("d", 3.0))
    assert model.ids() == ["d", "a", "b", "c"]
    assert model.ids(limit=2) == ["d", "a"]


def test_each_filter_leaves_what_it_says(model: Model) -> None:
    done = completed(claimed(created("done", 1.0, flow_name="report", tag="gpu", tags=("x", "y")), 2.0), 9.0)
    model.put(done, created("wait", 5.0, tags=("y",), tenant_id="t1", workflow_yaml_sha256="abc", batch_id="b1"))
    assert model.ids(statuses=(RunStatus.COMPLETED,)) == ["done"]
    assert model.ids(statuses=(RunStatus.COMPLETED, RunStatus.PENDING)) == ["done", "wait"]
    assert model.ids(statuses=(RunStatus.RUNNING, RunStatus.CANCELLING)) == []
    assert model.ids(flow="report") == ["done"]
    assert model.ids(flow="report", statuses=(RunStatus.PENDING,)) == []
    assert model.ids(tag="gpu") == ["done"]
    assert model.ids(tags_any=("x", "nobody")) == ["done"]
    assert model.ids(tags_any=("x", "y")) == ["done", "wait"]
    assert model.ids(workflow_yaml_sha256="abc") == ["wait"]
    assert model.ids(batch_id="b1") == ["wait"]
    assert model.ids(updated_after=5.0) == ["done"]
    assert model.ids(tenant_id="t1") == ["wait"]
    assert model.ids(tenant_id="t2") == []
    assert model.ids(q="REP") == ["done"]
    assert model.ids(q="WaI") == ["wait"]
    assert model.ids(q="%") == []


VALUES = st.fixed_dictionaries(
    {
        "flow_name": st.sampled_from(["f1", "f2"]),
        "tag": st.sampled_from(["g1", "g2"]),
        "tags": st.lists(st.sampled_from(["x", "y", "z"]), unique=True).map(tuple),
        "tenant_id": st.sampled_from([None, "t1"]),
        "workflow_yaml_sha256": st.sampled_from([None, "s1"]),
        "at": st.sampled_from([1.0, 2.0, 3.0]),
    }
)
STATUSES = [RunStatus.PENDING, RunStatus.RUNNING, RunStatus.COMPLETED]
FILTERS = st.builds(
    Filters,
    statuses=st.lists(st.sampled_from(STATUSES), unique=True).map(tuple),
    flow=st.sampled_from([None, "f1"]),
    tag=st.sampled_from([None, "g1"]),
    tags_any=st.sampled_from([(), ("x",), ("x", "y")]),
    workflow_yaml_sha256=st.sampled_from([None, "s1"]),
    updated_after=st.sampled_from([None, 2.0, 3.0]),
    q=st.sampled_from([None, "F2", "r1"]),
    tenant_id=st.sampled_from([None, "t1"]),
)


def fits(run: Run, filters: Filters) -> bool:
    asked = run.submission
    words = "\n".join((run.run_id, asked.flow_name, asked.tag, *run.tags)).casefold()
    return (
        (not filters.statuses or run.status in filters.statuses)
        and filters.flow in (None, asked.flow_name)
        and filters.tag in (None, asked.tag)
        and (not filters.tags_any or bool(set(filters.tags_any) & set(run.tags)))
        and filters.workflow_yaml_sha256 in (None, asked.workflow_yaml_sha256)
        and (filters.updated_after is None or run.updated_at > filters.updated_after)
        and (filters.q is None or filters.q.casefold() in words)
        and filters.tenant_id in (None, asked.tenant_id)
    )


@settings(deadline=None)
@given(st.lists(st.tuples(VALUES, st.sampled_from(STATUSES)), max_size=12), FILTERS, st.sampled_from([0, 2000]))
def test_all_filters_together_find_what_a_plain_search_finds(
    made: list[tuple[dict[str, Any], RunStatus]], filters: Filters, rare: int
) -> None:
    model = Model()
    runs = []
    for number, (fields, status) in enumerate(made):
        run = created(f"r{number:02}", **fields)
        if status is not RunStatus.PENDING:
            run = claimed(run, run.updated_at + 1)
        runs.append(completed(run, run.updated_at + 1) if status is RunStatus.COMPLETED else run)
    if runs:
        model.put(*runs)
    wanted = [run for run in runs if fits(run, filters)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queries, "_RARE", rare)
        by_update = [run.run_id for run in queries.newest(model.connection, filters, 50)]
        by_creation = [run.run_id for run in queries.newest_created(model.connection, filters, 50, None).items]
    model.connection.close()
    assert by_update == [r.run_id for r in sorted(wanted, key=lambda r: (-r.updated_at, r.run_id))]
    assert by_creation == [r.run_id for r in sorted(wanted, key=lambda r: (-r.submission.created_at, r.run_id))]


def test_a_walk_by_creation_meets_each_run_once_whatever_changes(model: Model) -> None:
    runs = [created(f"r{number}", float(number // 2)) for number in range(9)]
    model.put(*runs)
    met, key = [], None
    while True:
        found = queries.newest_created(model.connection, Filters(), 2, key)
        met += [run.run_id for run in found.items]
        model.put(claimed(runs.pop(), 100.0))
        key = found.next
        if key is None:
            break
    assert sorted(met) == [f"r{number}" for number in range(9)]
    assert met[:3] == ["r8", "r6", "r7"]


CLOCKS = st.sampled_from([0.0, 1.0, 5.0, 5.5, 50.0, 1000.0])  # also those of writers that run behind or ahead


@settings(deadline=None, max_examples=200)
@given(st.lists(CLOCKS, min_size=1, max_size=12), st.integers(1, 4), st.randoms(use_true_random=False), st.data())
def test_a_walk_meets_every_run_that_existed_at_its_start(
    times: list[float], limit: int, chance: random.Random, data: st.DataObject
) -> None:
    model = Model()
    runs = {f"r{number:02}": created(f"r{number:02}", at) for number, at in enumerate(times)}
    model.put(*runs.values())
    owed, met = set(runs), set()
    text: str | None = None
    for pages in range(200):
        cursor = None if text is None else Cursor.decode(text)
        page = queries.page(model.connection, Filters(), limit, cursor, now=5.0)
        assert len(page.items) <= limit
        met.update(run.run_id for run in page.items)
        if page.next is None:
            break
        text = page.next.encode()
        for _ in range(data.draw(st.integers(0, 3)) if pages < 20 else 0):
            disturb(model, runs, chance)
    else:
        raise AssertionError("the walk does not end")
    model.connection.close()
    assert owed <= met


def disturb(model: Model, runs: dict[str, Run], chance: random.Random) -> None:
    """A change by a writer whose clock may be anything, a heartbeat, or a new run."""
    run_id = chance.choice(sorted(runs))
    kind = chance.choice(["change", "beat", "new"])
    if kind == "new":
        run_id = f"r{chance.randrange(10_000):05}"
        run = created(run_id, chance.choice([4.0, 5.0, 6.0]))
    elif kind == "beat":
        run = runs[run_id].with_heartbeat(99.0)
    else:
        at = chance.choice([0.5, 4.0, 5.0, 6.0, 2000.0])
        run = after(runs[run_id], c.AddTag(at=at, tag=f"t{model.revision}"))
    runs[run_id] = run
    model.put(run)


def test_without_changes_a_walk_meets_each_run_once_and_gives_no_empty_page(model: Model) -> None:
    model.put(*(created(f"r{number}", float(number)) for number in range(6)))
    first = queries.page(model.connection, Filters(), 3, None, now=10.0)
    assert [run.run_id for run in first.items] == ["r5", "r4", "r3"]
    second = queries.page(model.connection, Filters(), 3, first.next, now=11.0)
    assert [run.run_id for run in second.items] == ["r2", "r1", "r0"]
    assert second.next is None


def test_what_changed_during_a_walk_follows_at_its_end_and_what_is_new_does_not(model: Model) -> None:
    runs = [created(f"r{number}", float(number)) for number in range(4)]
    model.put(*runs)
    first = queries.page(model.connection, Filters(), 2, None, now=10.0)
    model.put(claimed(runs[0], 12.0), created("new", 13.0))
    second = queries.page(model.connection, Filters(), 2, first.next, now=14.0)
    assert [run.run_id for run in second.items] == ["r1", "r0"]
    assert second.next is None


def test_a_walk_goes_on_in_a_stream_that_was_recreated(model: Model) -> None:
    runs = [created(f"r{number}", float(number)) for number in range(4)]
    model.put(*runs)
    first = queries.page(model.connection, Filters(), 2, None, now=10.0)
    database.start_over(model.connection, Position("other", 0))
    database.apply(
        model.connection,
        [stored(number, claimed(run, 20.0)) for number, run in enumerate(runs, 1)],
        Position("other", 4),
    )
    rest = queries.page(model.connection, Filters(), 10, first.next, now=30.0)
    assert {"r0", "r1"} <= {run.run_id for run in rest.items}


def test_a_heartbeat_moves_nothing_but_the_heartbeat(model: Model) -> None:
    run = claimed(created("r1", 1.0), 2.0)
    model.put(run, created("r2", 5.0))
    (before,) = queries.newest(model.connection, Filters(flow="echo", statuses=(RunStatus.RUNNING,)), 1)
    began = queries.page(model.connection, Filters(), 1, None, now=10.0)
    model.put(run.with_heartbeat(50.0))
    (beaten,) = queries.newest(model.connection, Filters(statuses=(RunStatus.RUNNING,)), 1)
    assert beaten == dataclasses.replace(before, revision=3, heartbeat_at=50.0)
    rest = queries.page(model.connection, Filters(), 5, began.next, now=10.0)
    assert [found.run_id for found in rest.items] == ["r1"]


def test_totals_follow_every_change_and_removal(model: Model) -> None:
    one, two = created("r1", tags=("default",)), created("r2", tags=("default",))
    model.put(one, two)
    model.put(completed(claimed(one, 2.0), 3.0))
    model.apply(removed(9, "r2"), removed(10, "never seen"))
    counted = work.totals(model.connection)
    assert {status: runs for status, runs in counted.items() if runs} == {RunStatus.COMPLETED: 1}
    assert model.ids(tags_any=("default",)) == ["r1"]


def test_only_the_newest_of_several_changes_at_once_counts(model: Model) -> None:
    run = created("r1")
    model.put(run, claimed(run, 2.0), completed(claimed(run, 2.0), 3.0))
    assert work.totals(model.connection)[RunStatus.COMPLETED] == 1
    assert work.totals(model.connection)[RunStatus.PENDING] == 0
    assert database.position_in(model.connection) == Position("s", 3)


def test_a_tag_that_is_added_or_taken_away_is_found_or_not(model: Model) -> None:
    run = after(created("r1", tags=("a",)), c.AddTag(at=2.0, tag="b"))
    model.put(run)
    assert model.ids(tags_any=("b",)) == model.created_ids(tags_any=("b",)) == ["r1"]
    model.put(after(run, c.RemoveTag(at=3.0, tag="a")))
    assert model.ids(tags_any=("a",)) == []
    assert model.ids(tags_any=("b",)) == ["r1"]


def test_housekeeping_finds_queued_claimed_cancelling_and_old_runs(model: Model) -> None:
    waiting = created("wait", 3.0, tag="gpu")
    also = created("also", 2.0, tag="gpu")
    held = claimed(created("held", 1.0, tag="gpu"), 4.0, "box.9.9")
    other = claimed(created("other", 1.0), 4.0, "box.1.1")
    ending = after(claimed(created("ending", 1.0), 4.0, "box.1.1"), c.CancelExecution(at=6.0))
    old = completed(claimed(created("old", 1.0), 2.0), 3.0)
    model.put(waiting, also, held, other, ending, old)
    connection = model.connection
    assert work.load_by_tag(connection) == (work.TagLoad("default", 0, None, 2), work.TagLoad("gpu", 2, 2.0, 1))
    assert [(row.run_id, row.gen) for row in work.queued(connection, "gpu")] == [("also", 1), ("wait", 1)]
    assert [row.run_id for row in work.claimed(connection, "box.9.9")] == ["held"]
    assert {row.run_id for row in work.claimed(connection, None)} == {"held", "other", "ending"}
    assert [(row.run_id, row.cancel_at) for row in work.cancelling(connection)] == [("ending", 6.0)]
    assert work.ended_before(connection, 3.0, 10) == ()
    assert work.ended_before(connection, 3.5, 10) == (work.EndedRun("old", 6, 3.0),)


def document(run_id: str, **fields: object) -> bytes:
    v0 = {"run_id": run_id, "flow_name": "f", "status": "RUNNING", "updated_at": 5.0, "heartbeat_at": 5.0}
    return json.dumps({**v0, **fields}).encode()


def test_a_v0_document_keeps_the_earliest_time_it_was_seen_with_as_its_creation(model: Model) -> None:
    model.apply(Change(1, "r1", document("r1", updated_at=5.0), 0.0))
    began = queries.page(model.connection, Filters(), 1, None, now=6.0)
    model.apply(Change(2, "r1", document("r1", updated_at=9.0, tags=["k"]), 0.0))
    (shown,) = queries.newest(model.connection, Filters(), 1)
    assert (shown.created_at, shown.updated_at) == (5.0, 9.0)
    assert model.created_ids(tags_any=("k",)) == ["r1"]
    assert began.next is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"[" * 100_000,
        document("another id"),
        document("r1", status="LOST"),
        document("r1", updated_at=float("nan")),
        document("r1", heartbeat_at=float("inf")),
        document("r1", updated_at=10**400),
        document("r1", version=2**70),
        document("r1", tenant_id=7),
        document("r1", archived_at=float("nan")),
        document("r1", workflow_yaml_sha256=["x"]),
    ],
)
def test_an_unreadable_document_is_left_out_and_logged(
    model: Model, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    model.put(created("r1"))
    with caplog.at_level(logging.WARNING):
        model.apply(Change(2, "r1", data, 0.0), stored(3, created("r2")))
    assert "r1" in caplog.text
    assert model.ids() == ["r2"]
    assert work.totals(model.connection)[RunStatus.PENDING] == 1


def test_text_that_has_no_utf_8_form_is_stored_and_found(model: Model) -> None:
    model.apply(Change(1, "r1", document("r1", tags=["\ud800", "\udfff", "a\x00b"]), 0.0))
    (shown,) = queries.newest(model.connection, Filters(tags_any=("\ud800",)), 1)
    assert shown.tags == ("\ud800", "\udfff", "a\x00b")
    assert model.ids(q="\ud800") == ["r1"]
    assert model.ids(flow="\ud800") == []


def test_a_run_written_after_the_comparison_is_not_removed(model: Model) -> None:
    model.put(created("r1"), created("r2"))
    database.remove(model.connection, ["r1", "r2"], upto=1)
    assert model.ids() == ["r2"]


def test_rows_and_position_are_stored_together_or_not_at_all(model: Model) -> None:
    model.put(created("r1"))
    with pytest.raises(sqlite3.Error):
        database.apply(model.connection, [stored(2, created("r2"))], Position("s", None))  # type: ignore[arg-type]
    assert model.ids() == ["r1"]
    assert database.position_in(model.connection) == Position("s", 1)
