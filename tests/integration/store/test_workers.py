"""The registry of workers on a real server."""

from __future__ import annotations

import pytest

from pyoco.domain.worker import WorkerRecord
from pyoco.store.documents import Documents
from pyoco.store.failures import Missing
from pyoco.store.names import Names
from pyoco.store.session import Session
from pyoco.store.workers import WorkerRegistry


@pytest.fixture
def registry(session: Session) -> WorkerRegistry:
    return WorkerRegistry(session, Names())


def record(worker_id: str, seen: float = 1.0) -> WorkerRecord:
    return WorkerRecord(worker_id, instance_id="i", last_seen_at=seen, tags=("default",))


async def test_an_empty_registry_is_an_empty_list(registry: WorkerRegistry) -> None:
    assert await registry.all() == []


async def test_a_beat_never_undoes_hidden(registry: WorkerRegistry) -> None:
    await registry.beat(record("w1"))
    assert (await registry.hide("w1", True)).hidden
    await registry.beat(record("w1", seen=2.0))
    (found,) = await registry.all()
    assert (found.hidden, found.last_seen_at) == (True, 2.0)


async def test_hiding_an_unknown_worker_is_an_error(registry: WorkerRegistry) -> None:
    with pytest.raises(Missing):
        await registry.hide("nobody", True)


async def test_an_unreadable_record_is_passed_over(registry: WorkerRegistry, session: Session) -> None:
    await registry.beat(record("w1"))
    await Documents(session, "pyoco_workers").create("broken", b"not json")
    assert [found.worker_id for found in await registry.all()] == ["w1"]
