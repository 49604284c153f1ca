"""One process and what it started, without the rest of a stack."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from pyoco.supervisor.child import Child
from pyoco.supervisor.options import Patience
from pyoco.supervisor.plan import ProcessSpec
from pyoco.supervisor.restart import Exit

SLOW_TO_END = """
import pathlib, signal, sys, time
def end(*_):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it may be asked more than once
    time.sleep(0.3)  # what has to be saved takes its time
    pathlib.Path(sys.argv[1]).write_text("saved")
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
print("works", flush=True)
signal.pause()
"""
WRAPPER = "import subprocess, sys; sys.exit(subprocess.run([sys.executable, '-c', *sys.argv[1:]]).returncode)"
LEAVES_A_CHILD = """
import subprocess, sys
left = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
print(left.pid, flush=True)
"""


def nats_like(*command: str, wrapped: bool = False) -> ProcessSpec:
    return ProcessSpec("nats", "nats", command, dict(os.environ), wrapped=wrapped)


@asynccontextmanager
async def running(spec: ProcessSpec) -> AsyncIterator[tuple[Child, asyncio.Task[Exit], asyncio.Queue[str]]]:
    heard: asyncio.Queue[str] = asyncio.Queue()
    child = Child(spec, "a.1.1", Patience(), heard.put_nowait)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(child.run())
        yield child, task, heard
        task.cancel()


async def test_a_wrapper_leaves_the_polite_end_to_the_process_it_waits_for(tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    spec = nats_like(sys.executable, "-c", WRAPPER, SLOW_TO_END, str(saved), wrapped=True)
    # As the launcher does, the process below the wrapper sets its own answer to the signal that the wrapper ignores.
    async with running(spec) as (child, task, heard):
        assert await heard.get() == "works"
        await child.stop(grace=10)
        assert (await task).code == 0
    assert saved.read_text("utf-8") == "saved"


async def test_what_a_dead_process_leaves_in_its_session_is_ended_with_it() -> None:
    async with running(nats_like(sys.executable, "-c", LEAVES_A_CHILD)) as (_, task, heard):
        left = int(await heard.get())
        assert (await task).code == 0
    assert not psutil.pid_exists(left) or psutil.Process(left).status() == psutil.STATUS_ZOMBIE


async def test_a_program_that_cannot_be_started_is_an_end_with_a_reason() -> None:
    async with running(nats_like("/nowhere/program")) as (child, task, heard):
        assert await task == Exit(127, 0.0)
        assert await heard.get() == "cannot start /nowhere/program: No such file or directory"
        assert list(child.last_lines) == ["cannot start /nowhere/program: No such file or directory"]


async def test_a_cancelled_owner_ends_its_process() -> None:
    async with running(nats_like(sys.executable, "-c", "import signal; print(1, flush=True); signal.pause()")) as (
        child,
        task,
        heard,
    ):
        await heard.get()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert child.pid is not None
        assert not psutil.pid_exists(child.pid)


async def test_the_last_words_of_a_process_are_heard_after_its_end() -> None:
    flood = "import sys; sys.stdout.write('x' * 60 + chr(10)); [print(n) for n in range(5000)]; print('last words')"
    async with running(nats_like(sys.executable, "-c", flood)) as (child, task, _):
        await task
        assert child.last_lines[-1] == "last words"
        assert len(child.last_lines) == 20
