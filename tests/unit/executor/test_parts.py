"""The small parts: allowed callables, watching code, names of exits, placing of output, the gate."""

from __future__ import annotations

import json
import os
import threading
from functools import partial
from pathlib import Path

import pytest

from pyoco.engine.dsl import task
from pyoco.engine.engine import prepare
from pyoco.engine.executor import Execution
from pyoco.engine.flow import Flow
from pyoco.engine.plan import make_plan
from pyoco.engine.records import RunContext, RunStatus
from pyoco.engine.trace import SilentTrace
from pyoco.executor.callables import home_of, is_allowed, parse_patterns
from pyoco.executor.changes import CodeWatch
from pyoco.executor.messages import Lines, RunEnded, RunLoaded, Transitioned
from pyoco.executor.output import Attribution, PipeReader, ProcessOutput
from pyoco.executor.process import describe_exit
from tests.support.wait import wait_until


@pytest.mark.parametrize(
    ("path", "patterns", "expected"),
    [
        ("os:system", "", True),
        ("company.tasks:run", "company.*", True),
        ("company.tasks:run", "company.tasks", True),
        ("company:run", "company.*", False),
        ("companyfake.tasks:run", "company.*", False),
        ("company.tasks:run", "company.tasks:run", True),
        ("company.tasks:runner", "company.tasks:run", False),
        ("company.tasks:Job.run", "company.tasks:Job.*", True),
        ("os:system", "company.*, other", False),
        ("other:x", "company.*\n other", True),
    ],
)
def test_a_callable_is_allowed_by_glob_patterns(path: str, patterns: str, expected: bool) -> None:
    assert is_allowed(path, parse_patterns(patterns)) is expected


def test_the_home_of_a_function_is_where_it_was_written() -> None:
    assert home_of(os.path.join) == "posixpath:join"
    assert home_of(json.JSONDecoder().decode) == "json.decoder:JSONDecoder.decode"
    assert home_of(partial(print)) == "functools:partial"


def test_edited_new_and_removed_files_are_changes_and_others_are_not(tmp_path: Path) -> None:
    file = tmp_path / "tasks.py"
    file.write_text("a = 1\n")
    (tmp_path / ".venv").mkdir()
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "pyvenv.cfg").touch()

    def changes(action: object) -> bool:
        watch = CodeWatch(tmp_path)
        assert callable(action)
        action()
        try:
            wait_until(watch.changed, "a change", seconds=0.2)
        except AssertionError:
            return False
        return True

    assert not changes(lambda: (tmp_path / ".venv" / "x.py").touch())
    assert not changes(lambda: (tmp_path / "env" / "x.py").touch())
    assert not changes(lambda: (tmp_path / "data.csv").write_text("1"))
    assert changes(lambda: file.write_text("a = 2\n"))
    assert changes(lambda: os.utime(file, (1, 1)))
    assert changes(lambda: (tmp_path / "flow.yaml").touch())
    assert changes(file.unlink)


@pytest.mark.parametrize(
    ("code", "words"),
    [(0, "ended by itself (status 0)"), (3, "exited with status 3"), (-15, "killed (signal 15, SIGTERM)"),
     (-11, "crashed with a segmentation fault (signal 11, SIGSEGV)")],
)  # fmt: skip
def test_an_exit_is_described_in_words(code: int, words: str) -> None:
    assert describe_exit(code, by_worker=False) == words


def test_only_our_own_kill_is_called_ours() -> None:
    assert describe_exit(-9, by_worker=True) == "killed by its worker"
    assert "memory" in describe_exit(-9, by_worker=False)
    assert describe_exit(-11, by_worker=True).startswith("crashed")


def node(event: str, path: str, run_id: str = "r") -> Transitioned:
    return Transitioned(run_id=run_id, event=event, path=path, node=path, at=1.0)  # type: ignore[arg-type]


def test_output_belongs_to_the_only_node_else_to_the_only_run_else_to_nobody() -> None:
    attribution = Attribution()
    nobody = attribution.place("stdout", ["x"])
    assert isinstance(nobody, ProcessOutput)
    assert nobody.run_ids == []
    attribution.begin(RunLoaded(run_id="r", nodes=["a", "b"]))
    attribution.begin(node("NodeStarted", "a"))
    one_node = attribution.place("stderr", ["x"])
    assert isinstance(one_node, Lines)
    assert (one_node.lines[0].node, one_node.lines[0].stream) == ("a", "stderr")
    attribution.begin(node("NodeStarted", "b"))
    two_nodes = attribution.place("stdout", ["x"])
    assert isinstance(two_nodes, Lines)
    assert (two_nodes.lines[0].node, two_nodes.lines[0].stream) == ("", "process")
    attribution.end(node("NodeFailed", "a"))
    attribution.begin(RunLoaded(run_id="other", nodes=[]))
    two_runs = attribution.place("stdout", ["x"])
    assert isinstance(two_runs, ProcessOutput)
    assert two_runs.run_ids == ["r", "other"]
    attribution.end(RunEnded(run_id="other", status="COMPLETED"))
    last = attribution.place("stdout", ["x"])
    assert isinstance(last, Lines)
    assert last.lines[0].node == "b"


def test_a_pipe_is_split_into_lines_and_a_line_without_end_is_cut() -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    pipe = PipeReader(reading, "stdout")
    try:
        assert pipe.read() == []
        os.write(writing, b"one\ntw")
        assert pipe.read() == ["one"]
        os.write(writing, b"o\n\xff\nrest")
        assert pipe.read() == ["two", "�"]
        assert (pipe.rest(), pipe.rest()) == (["rest"], [])
        os.write(writing, b"x" * 65_000)
        assert pipe.read() == []
        os.write(writing, b"x" * 1_000)
        assert pipe.read() == ["x" * 66_000]
    finally:
        os.close(writing)
    assert pipe.read() == []
    assert pipe.at_end
    os.close(reading)


@pytest.mark.parametrize("kind", ["plain", "coroutine"])
def test_no_node_starts_while_the_gate_is_closed(kind: str) -> None:
    calls: list[int] = []

    async def in_loop() -> None:
        calls.append(1)

    flow = Flow() >> task(name="only")(in_loop if kind == "coroutine" else lambda: calls.append(1))
    asked, opened = threading.Event(), threading.Event()

    def gate() -> bool:
        asked.set()
        return opened.is_set()

    run = RunContext()
    execution = Execution(make_plan(flow), prepare(flow, None, run), run, SilentTrace(), gate=gate)
    thread = threading.Thread(target=execution.run)
    thread.start()
    assert asked.wait(10)
    assert calls == []
    opened.set()
    thread.join(10)
    assert (calls, run.status) == ([1], RunStatus.COMPLETED)


def test_a_run_that_stands_before_a_closed_gate_can_be_cancelled() -> None:
    flow = Flow() >> task(name="only")(lambda: None)
    asked = threading.Event()
    run = RunContext()
    execution = Execution(
        make_plan(flow), prepare(flow, None, run), run, SilentTrace(), gate=lambda: asked.set() or False
    )
    thread = threading.Thread(target=execution.run)
    thread.start()
    assert asked.wait(10)
    execution.cancel()
    thread.join(10)
    assert run.status is RunStatus.CANCELLED
