"""The child's end of the line to its supervisor."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from typing import Any

import pytest
import uvloop

from pyoco.lifeline import Lifeline


async def told(parent: asyncio.StreamReader) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(await parent.readline())
    return message


async def talk() -> None:
    ours, theirs = socket.socketpair()
    environment = {"PYOCO_LIFELINE_FD": str(theirs.detach()), "OTHER": "stays"}
    reader, writer = await asyncio.open_unix_connection(sock=ours)
    numbers = iter(range(100))
    line = Lifeline.from_env(lambda: {"running": next(numbers)}, environment)
    assert environment == {"OTHER": "stays"}
    line._beat_sec = 0.01
    async with line as life:
        assert await told(reader) == {"type": "beat", "figures": {"running": 0}}
        life.ready()
        messages = [await told(reader) for _ in range(3)]
        assert {"type": "ready"} in messages
        assert next(message for message in messages if message["type"] == "beat")["figures"] == {"running": 1}
        writer.write(b'{"type":"dead","instance_id":"a.1.2"}\n')
        assert await anext(life.messages()) == {"type": "dead", "instance_id": "a.1.2"}
        assert not life.lost.is_set()
        writer.close()
        assert [message async for message in life.messages()] == []
        assert life.lost.is_set()


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_child_beats_reports_hears_and_notices_the_end_of_its_parent(new_loop: Any) -> None:
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(talk())


async def test_without_a_supervisor_nothing_happens() -> None:
    async with Lifeline.from_env(environment={}) as life:
        life.ready()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await anext(life.messages())
        assert not life.lost.is_set()


async def test_figures_that_fail_end_the_process_instead_of_a_lying_heartbeat() -> None:
    ours, theirs = socket.socketpair()

    def broken() -> dict[str, int]:
        raise RuntimeError("no figures")

    with ours, pytest.raises(ExceptionGroup) as failure:
        async with Lifeline(theirs, broken) as life:
            await life.lost.wait()
    assert failure.group_contains(RuntimeError, match="no figures")


async def test_a_parent_that_reads_nothing_does_not_fill_the_memory_of_the_child() -> None:
    ours, theirs = socket.socketpair()
    with ours:
        async with Lifeline(theirs, lambda: {"x": "y" * 10_000}, beat_sec=0.0) as life:
            writer = life._writer
            assert writer is not None
            for _ in range(500):
                await asyncio.sleep(0)
            assert 0 < writer.transport.get_write_buffer_size() < 128 * 1024


async def test_the_line_is_not_handed_on_to_grandchildren() -> None:
    ours, theirs = socket.socketpair()
    number = theirs.detach()
    os.set_inheritable(number, True)
    with ours:
        async with Lifeline.from_env(environment={"PYOCO_LIFELINE_FD": str(number)}):
            assert not os.get_inheritable(number)
