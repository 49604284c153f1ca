"""Run documents on a real server: decide, compare-and-set, lost answers."""

from __future__ import annotations

import asyncio
import time
import uuid
from unittest.mock import patch

import pytest

from pyoco.domain import commands as c
from pyoco.domain.rejection import Reason
from pyoco.domain.run import RunStatus, WorkState
from pyoco.store.documents import Documents
from pyoco.store.failures import Conflict, Missing, Unavailable
from pyoco.store.runs import Held, Rejected, RunStore
from pyoco.store.session import Session

LIMIT = 262_144


@pytest.fixture
def store(session: Session) -> RunStore:
    from pyoco.store.names import Names

    return RunStore(session, Names(), LIMIT)


def submit(run_id: str, **fields: object) -> list[c.Command]:
    at = time.time()
    return [c.CreateExecution(at=at, run_id=run_id, flow_name="echo", **fields), c.Queue(at=at)]  # type: ignore[arg-type]


async def claimed(store: RunStore, instance: str = "i1") -> Held:
    run_id = str(uuid.uuid4())
    held = await store.create(run_id, submit(run_id))
    claim = c.Claim(at=time.time(), instance_id=instance, worker_id="w1", gen=held.run.work.gen)
    return await store.apply(run_id, [claim], held=held)


async def test_a_submitted_run_is_queued_and_reads_back_the_same(store: RunStore) -> None:
    run_id = str(uuid.uuid4())
    held = await store.create(run_id, submit(run_id, params={"x": [1, "ü"]}))
    found = await store.load(run_id)
    assert found is not None
    assert found.revision == held.revision
    assert found.run.status is RunStatus.PENDING
    assert found.run.work.state is WorkState.QUEUED
    assert found.run.submission.params == {"x": [1, "ü"]}


async def test_an_id_is_used_once(store: RunStore) -> None:
    run_id = str(uuid.uuid4())
    await store.create(run_id, submit(run_id))
    with pytest.raises(Rejected) as caught:
        await store.create(run_id, submit(run_id))
    assert caught.value.rejection.reason is Reason.RUN_EXISTS


async def test_a_missing_run_is_missing(store: RunStore) -> None:
    assert await store.load("nobody") is None
    with pytest.raises(Missing):
        await store.apply("nobody", [c.CancelExecution(at=1.0)])


async def test_cancel_and_completion_race_and_one_of_them_stands(store: RunStore) -> None:
    for _ in range(20):
        held = await claimed(store)
        run_id = held.run.run_id
        holder = c.Holder("i1", held.run.attempt)
        outcomes = await asyncio.gather(
            store.apply(run_id, [c.CancelExecution(at=time.time())]),
            store.apply(run_id, [c.CompleteExecution(at=time.time(), holder=holder)], held=held),
            return_exceptions=True,
        )
        cancel, complete = outcomes
        stored = await store.load(run_id)
        assert stored is not None
        if isinstance(complete, Rejected):
            assert stored.run.status is RunStatus.CANCELLING
        else:
            assert stored.run.status is RunStatus.COMPLETED
        assert isinstance(cancel, Held)


async def test_commands_of_many_at_once_are_all_applied(store: RunStore) -> None:
    held = await claimed(store)
    run_id = held.run.run_id
    tags = [f"t{number}" for number in range(10)]
    await asyncio.gather(*(store.apply(run_id, [c.AddTag(at=time.time(), tag=tag)]) for tag in tags))
    stored = await store.load(run_id)
    assert stored is not None
    assert set(tags) <= set(stored.run.tags)


async def test_a_write_whose_answer_got_lost_counts_if_it_is_stored(store: RunStore) -> None:
    held = await claimed(store)
    real = Documents.update

    async def answer_lost(self: Documents, key: str, data: bytes, revision: int) -> int:
        await real(self, key, data, revision)
        raise Unavailable("the answer got lost")

    with patch.object(Documents, "update", answer_lost):
        written = await store.apply(held.run.run_id, [c.AddTag(at=time.time(), tag="x")], held=held)
    stored = await store.load(held.run.run_id)
    assert stored is not None
    assert stored.revision == written.revision == held.revision + 1
    assert stored.run.tags == written.run.tags


async def test_a_beat_changes_neither_version_nor_updated_at(store: RunStore) -> None:
    held = await claimed(store)
    beaten = await store.beat(held, time.time() + 5)
    stored = await store.load(held.run.run_id)
    assert stored is not None
    assert stored.revision == beaten.revision
    assert stored.run.heartbeat_at > held.run.heartbeat_at
    assert (stored.run.version, stored.run.updated_at) == (held.run.version, held.run.updated_at)
    with pytest.raises(Conflict):
        await store.beat(held, time.time())


async def test_a_purged_run_is_gone(store: RunStore) -> None:
    held = await claimed(store)
    await store.purge(held)
    assert await store.load(held.run.run_id) is None
