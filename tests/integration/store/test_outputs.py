"""Large outputs beside the run document, on a real server."""

from __future__ import annotations

import asyncio

import pytest

from pyoco.domain.values import Json, Unreadable
from pyoco.store.failures import Missing, TooLarge
from pyoco.store.names import Names
from pyoco.store.outputs import Outputs, output_key
from pyoco.store.session import Session
from tests.support.nats import NatsServer

NAMES = Names()


@pytest.fixture
def outputs(session: Session) -> Outputs:
    return Outputs(session, NAMES)


@pytest.mark.parametrize("value", [None, 0, "", "é" * 10_000, ["\ud800"], {"rows": [{"n": n} for n in range(2000)]}])
async def test_an_output_comes_back_as_it_was(outputs: Outputs, value: Json) -> None:
    reference = await outputs.put("run", "node", value)
    assert await outputs.get(reference) == value


async def test_a_reference_belongs_to_one_run_one_path_and_one_value(outputs: Outputs) -> None:
    references = [
        await outputs.put(run_id, path, value)
        for run_id in ("one", "two")
        for path in ("each[1]/work", "each[2]/work", "a b.>*")
        for value in (1, 2)
    ]
    assert len(set(references)) == 12
    assert [await outputs.get(reference) for reference in references] == [1, 2] * 6


async def test_a_late_worker_cannot_replace_what_the_document_refers_to(outputs: Outputs) -> None:
    recorded = await outputs.put("run", "node", "of the new worker")
    await outputs.put("run", "node", "of the old worker")
    assert await outputs.get(recorded) == "of the new worker"


async def test_putting_the_same_output_twice_stores_it_once(session: Session, outputs: Outputs) -> None:
    assert await outputs.put("run", "node", [1, 2]) == await outputs.put("run", "node", [1, 2])
    assert (await session.js.stream_info("KV_pyoco_outputs")).state.messages == 1


async def test_an_unknown_reference_is_missing(outputs: Outputs) -> None:
    with pytest.raises(Missing, match="there is no output"):
        await outputs.get(output_key("run", "node", b"1"))


async def test_something_else_under_a_reference_is_unreadable(session: Session, outputs: Outputs) -> None:
    reference = output_key("run", "node", b"1")
    await session.js.publish(f"$KV.pyoco_outputs.{reference}", b"{half")
    with pytest.raises(Unreadable, match=reference):
        await outputs.get(reference)


async def test_an_output_that_nats_does_not_take_is_too_large(session: Session, outputs: Outputs) -> None:
    with pytest.raises(TooLarge):
        await outputs.put("run", "node", "x" * session.max_payload)


async def test_the_outputs_of_a_run_go_together_and_leave_nothing(session: Session, outputs: Outputs) -> None:
    gone = [await outputs.put("run", f"node {number}", number) for number in range(20)]
    kept = await outputs.put("run-2", "node", "kept")
    await outputs.delete_all("run")
    for reference in gone:
        with pytest.raises(Missing):
            await outputs.get(reference)
    assert await outputs.get(kept) == "kept"
    assert (await session.js.stream_info("KV_pyoco_outputs")).state.messages == 1


async def test_an_output_survives_a_kill_of_the_server(server: NatsServer, session: Session, outputs: Outputs) -> None:
    reference = await outputs.put("run", "node", "kept")
    await asyncio.to_thread(server.stop, kill=True)
    await asyncio.to_thread(server.start)
    async with Session(server.url, "reader") as reader:
        assert await Outputs(reader, NAMES).get(reference) == "kept"
    await asyncio.wait_for(session.connected.wait(), 10)
