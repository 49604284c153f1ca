"""What tasks write goes to their node, line by line, wherever it is written from."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from pyoco.engine import capture
from pyoco.engine.console import ConsoleTraceBackend
from pyoco.engine.dsl import task
from pyoco.engine.engine import Engine
from pyoco.engine.events import LogLine
from pyoco.engine.flow import Flow
from pyoco.engine.records import RunContext
from pyoco.engine.task import Task
from pyoco.engine.trace import SilentTrace
from tests.support.recording import RecordingSink, texts


def lines_of(flow: Flow, **params: Any) -> list[LogLine]:
    sink = RecordingSink()
    Engine(SilentTrace()).run(flow, params, sink=sink)
    return sink.lines


def test_lines_arrive_while_the_task_still_runs() -> None:
    sink = RecordingSink()

    @task
    def work() -> list[str]:
        print("first")
        print("second, unfinished", end="")
        return texts(sink.lines)

    ctx = Engine(SilentTrace()).run(Flow() >> work, sink=sink)
    assert ctx.output == ["first"]
    assert texts(sink.lines) == ["first", "second, unfinished"]


def test_each_line_carries_its_node_and_stream() -> None:
    @task
    def work(ctx: Any) -> None:
        print("out")
        print("err", file=sys.stderr)

    found = [(line.path, line.node, line.stream, line.text) for line in lines_of(Flow() >> work[1])]
    assert found == [
        ("repeat[0]/work", "work", "stdout", "out"),
        ("repeat[0]/work", "work", "stderr", "err"),
    ]


class NullHandler(logging.Handler):
    """Writes nowhere, as a handler for files or the network would from here."""

    def emit(self, record: logging.LogRecord) -> None: ...


@pytest.mark.parametrize("handled", [True, False])
def test_a_log_record_arrives_once_whether_or_not_a_handler_writes_to_stderr(handled: bool) -> None:
    logger = logging.getLogger("some.library")
    logger.propagate = False
    logger.handlers = [NullHandler()] if handled else []
    found = lines_of(Flow() >> task(name="work")(lambda: logger.warning("logged %d", 1)))
    assert [(line.node, line.text) for line in found] == [("work", "logged 1")]


def test_parallel_tasks_never_mix() -> None:
    barrier = threading.Barrier(4, timeout=10)

    def talk(name: str) -> Any:
        def run() -> None:
            for number in range(50):
                if number % 10 == 0:
                    barrier.wait()
                print(f"{name} ", end="")
                print(number)

        return run

    async def talk_async() -> None:
        for number in range(50):
            print(f"coroutine {number}")
            await asyncio.sleep(0)

    tasks = [Task(func=talk(f"t{n}"), name=f"t{n}") for n in range(4)]
    found = lines_of(Flow() >> [*tasks, Task(func=talk_async, name="coroutine")])
    for name in ("t0", "t1", "t2", "t3", "coroutine"):
        own = [line.text for line in found if line.node == name]
        assert own == [f"{name} {number}" for number in range(50)]


def test_threads_that_a_task_starts_belong_to_it() -> None:
    @task
    def work() -> None:
        thread = threading.Thread(target=print, args=("from a thread",))
        thread.start()
        thread.join()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(print, "from a pool").result()

    @task
    async def work_async() -> None:
        await asyncio.to_thread(print, "from asyncio")
        await asyncio.get_running_loop().run_in_executor(None, print, "from its executor")

    found = [(line.node, line.text) for line in lines_of(Flow() >> work >> work_async)]
    assert found == [
        ("work", "from a thread"),
        ("work", "from a pool"),
        ("work_async", "from asyncio"),
        ("work_async", "from its executor"),
    ]


def test_a_pool_shared_by_tasks_knows_whose_job_it_runs() -> None:
    with ThreadPoolExecutor(1) as pool:
        one = task(name="one")(lambda: pool.submit(print, "for one").result())
        two = task(name="two")(lambda: pool.submit(print, "for two").result())
        found = [(line.node, line.text) for line in lines_of(Flow() >> one >> two)]
    assert found == [("one", "for one"), ("two", "for two")]


def test_the_run_context_keeps_one_entry_per_attempt_and_stream() -> None:
    calls: list[int] = []

    @task(retries=1, backoff=0)
    def work() -> None:
        print("a")
        print("warn", file=sys.stderr)
        print("b")
        calls.append(1)
        if len(calls) == 1:
            raise ValueError

    run = RunContext()
    Engine(SilentTrace()).run(Flow() >> work, run_context=run)
    found = [(entry["seq"], entry["stream"], entry["text"]) for entry in run.logs]
    assert found == [(0, "stdout", "a\nb\n"), (1, "stderr", "warn\n"), (2, "stdout", "a\nb\n"), (3, "stderr", "warn\n")]
    assert len(run.drain_logs()) == 4
    assert run.drain_logs() == []


def test_output_is_passed_through_and_the_trace_is_not_captured(capsys: pytest.CaptureFixture[str]) -> None:
    run = RunContext()
    inner = task(name="inner")(lambda: print("inner"))

    @task
    def outer() -> None:
        print("outer")
        Engine(ConsoleTraceBackend("plain")).run(Flow("nested") >> inner)

    Engine(ConsoleTraceBackend("plain")).run(Flow() >> outer, run_context=run)
    shown = capsys.readouterr().out
    assert "INFO pyoco start node=outer\nouter\n" in shown
    assert "INFO pyoco start node=inner\ninner\n" in shown
    assert [entry["text"] for entry in run.logs] == ["outer\n"]


def test_the_router_is_put_in_place_once(capsys: pytest.CaptureFixture[str]) -> None:
    capture.install()
    router = sys.stdout
    Engine(SilentTrace()).run(Flow() >> task(name="t")(lambda: print("x")))
    capture.install()
    assert sys.stdout is router


def test_a_line_that_never_ends_is_delivered_in_pieces() -> None:
    @task
    def work() -> None:
        for _ in range(40):
            sys.stdout.write("x" * 10_000)

    found = lines_of(Flow() >> work)
    assert len(found) > 1
    assert sum(len(line.text) for line in found) == 400_000


def test_the_end_of_a_line_that_came_in_pieces_is_no_empty_line() -> None:
    found = lines_of(Flow() >> task(name="work")(lambda: print("x" * 70_000)))
    assert [len(line.text) for line in found] == [70_000]


SEGFAULT_PROBE = """
import threading
from pyoco.engine.dsl import task
from pyoco.engine.engine import Engine
from pyoco.engine.console import ConsoleTraceBackend
from pyoco.engine.flow import Flow

def one(n):
    for _ in range(20):
        talk = task(name=f"t{n}")(lambda: print(f"line of {n}"))
        ctx = Engine(ConsoleTraceBackend("plain")).run(Flow() >> talk)
        assert [e["text"] for e in ctx.run_context.logs] == [f"line of {n}\\n"]

threads = [threading.Thread(target=one, args=(n,)) for n in range(8)]
for t in threads: t.start()
for t in threads: t.join()
"""


def test_concurrent_runs_in_one_process_keep_their_output_apart_and_the_process_alive() -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", SEGFAULT_PROBE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("line of 3") == 20


HANDLER_PROBE = """
import logging
logging.basicConfig(level=logging.INFO, format="%(message)s")
from pyoco.engine.dsl import task
from pyoco.engine.engine import Engine
from pyoco.engine.flow import Flow
from pyoco.engine.trace import SilentTrace
work = task(name="work")(lambda: logging.info("configured before"))
ctx = Engine(SilentTrace()).run(Flow() >> work)
print([e["text"] for e in ctx.run_context.logs])
"""


def test_log_handlers_made_before_the_router_are_captured_too() -> None:
    done = subprocess.run([sys.executable, "-c", HANDLER_PROBE], capture_output=True, text=True, check=True)
    assert done.stdout == "['configured before\\n']\n"
    assert done.stderr == "configured before\n"
