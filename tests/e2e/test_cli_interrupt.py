"""Ctrl-C: a run is cancelled, in peace or at once, and always ends with 130 and without a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.cli_runner import Running, Terminal, project, pyoco

FLOW = """
tasks:
  work: {callable: "tasks:work"}
  never: {callable: "tasks:never"}
flow:
  graph: work >> never
"""
NEVER = "\ndef never():\n    print('never', flush=True)\n"
POLITE = """
import time
def work(ctx):
    print("ready", flush=True)
    while not ctx.is_cancelled:
        time.sleep(0.01)
    print("tidied up", flush=True)
"""
STUBBORN = """
import time
def work():
    print("ready", flush=True)
    time.sleep(600)
"""
HOLDS_THREADS = """
import asyncio, time
async def work():
    print("ready", flush=True)
    await asyncio.to_thread(time.sleep, 600)
"""
EITHER = pytest.mark.parametrize("kind", [Running, Terminal], ids=["pipe", "terminal"])


@EITHER
def test_the_first_interrupt_lets_tasks_finish(tmp_path: Path, kind: type[Running]) -> None:
    run = kind("run", project(tmp_path, FLOW, POLITE + NEVER), PYOCO_CANCEL_GRACE_PERIOD_SEC="600")
    run.wait_for("ready")
    run.interrupt()
    assert run.finish() == 130
    assert "press Ctrl-C again" in run.output
    assert "tidied up" in run.output
    assert "CANCELLED" in run.output
    assert "Traceback" not in run.output


@EITHER
def test_the_second_interrupt_stops_at_once(tmp_path: Path, kind: type[Running]) -> None:
    run = kind("run", project(tmp_path, FLOW, STUBBORN + NEVER), PYOCO_CANCEL_GRACE_PERIOD_SEC="600")
    run.wait_for("ready")
    run.interrupt()
    run.wait_for("press Ctrl-C again")
    run.interrupt()
    assert run.finish() == 130
    assert "CANCELLED" in run.output
    assert "Traceback" not in run.output


@pytest.mark.parametrize("tasks", [STUBBORN, HOLDS_THREADS], ids=["thread", "coroutine with a thread"])
def test_a_task_that_does_not_end_is_left_behind_when_the_grace_is_over(tmp_path: Path, tasks: str) -> None:
    run = Running("run", project(tmp_path, FLOW, tasks + NEVER), PYOCO_CANCEL_GRACE_PERIOD_SEC="0.1")
    run.wait_for("ready")
    run.interrupt()
    assert run.finish() == 130
    assert "CANCELLED" in run.output
    assert "Traceback" not in run.output


def test_an_interrupt_while_tasks_are_imported_ends_quietly(tmp_path: Path) -> None:
    run = Running("run", project(tmp_path, FLOW, "import time\nprint('ready', flush=True)\ntime.sleep(600)\n"))
    run.wait_for("ready")
    run.interrupt()
    assert run.finish() == 130
    assert "Traceback" not in run.output


def test_an_interrupt_after_the_run_ends_a_process_that_a_thread_keeps_alive(tmp_path: Path) -> None:
    tasks = """
    import threading, time
    def work():
        threading.Thread(target=time.sleep, args=(600,), daemon=False).start()
    def never():
        pass
    """
    run = Running("run", project(tmp_path, FLOW, tasks))
    run.wait_for("COMPLETED")
    run.interrupt()
    assert run.finish() == 130
    assert "Traceback" not in run.output


def test_a_cancelled_run_still_prints_its_json(tmp_path: Path) -> None:
    run = Running("run", project(tmp_path, FLOW, POLITE + NEVER), "--json")
    run.wait_for("ready")
    run.interrupt()
    assert run.finish() == 130
    assert '"status": "CANCELLED"' in run.output


def test_a_grace_period_that_is_no_number_is_refused(tmp_path: Path) -> None:
    done = pyoco("run", project(tmp_path, FLOW, POLITE + NEVER), PYOCO_CANCEL_GRACE_PERIOD_SEC="soon")
    assert done.returncode == 1
    assert "PYOCO_CANCEL_GRACE_PERIOD_SEC must be a number of seconds, not 'soon'" in done.stderr
