"""§5 Logs: what a task's own thread writes is passed through and recorded, one entry per attempt and stream."""

from __future__ import annotations

import contextlib
import io
import sys
import threading
from typing import Any

from observe import Lab, Observation, case

from pyoco import Flow


def printing(*texts: str) -> Any:
    def func() -> None:
        for text in texts:
            print(text)

    return func


@case()
def stdout_is_one_entry(lab: Lab) -> Observation:
    return lab.one(printing("one", "two"), show=("logs",))


@case()
def stderr_follows_stdout(lab: Lab) -> Observation:
    def func() -> None:
        print("to stderr", file=sys.stderr)
        print("to stdout")

    with contextlib.redirect_stderr(io.StringIO()):
        return lab.one(func, show=("logs",))


@case()
def silence_leaves_no_entry(lab: Lab) -> Observation:
    return lab.one(lambda: None, show=("logs",))


@case()
def text_without_newline(lab: Lab) -> Observation:
    return lab.one(lambda: sys.stdout.write("no newline") and None, show=("logs", "results"))


@case()
def unicode_text(lab: Lab) -> Observation:
    return lab.one(printing("größe 🐇 終"), show=("logs",))


@case()
def failure_keeps_its_output(lab: Lab) -> Observation:
    def func() -> None:
        print("before")
        raise ValueError("boom")

    return lab.one(func, show=("status", "logs"))


@case()
def one_entry_per_attempt(lab: Lab) -> Observation:
    tries: list[int] = []

    def func() -> None:
        tries.append(1)
        print("try", len(tries))
        if len(tries) < 3:
            raise ValueError("again")

    return lab.one(func, retries=2, show=("status", "logs"))


@case()
def one_entry_per_pass_of_a_loop(lab: Lab) -> Observation:
    flow = Flow() >> lab.task("a", lambda ctx: print("pass", ctx.loop.index))[2]
    return lab.run(flow, show=("logs",))


@case()
def parallel_tasks_never_mix(lab: Lab) -> Observation:
    barrier = threading.Barrier(3, timeout=10)

    def writer(name: str) -> Any:
        def func() -> None:
            for number in range(20):
                barrier.wait()
                print(name, number)

        return func

    seen = lab.run(Flow() >> [lab.task(name, writer(name)) for name in "abc"], show=("logs",))
    texts = {task: text for _, task, _, text in seen["logs"]}
    clean = {name: texts[name] == "".join(f"{name} {number}\n" for number in range(20)) for name in "abc"}
    return {"clean": clean, "entries": len(seen["logs"])}


@case()
def output_is_passed_through(lab: Lab) -> Observation:
    with lab.stdout() as out:
        lab.one(printing("visible"))
    return {"visible": "visible\n" in out.getvalue()}


@case()
def threads_of_a_task_are_not_captured(lab: Lab) -> Observation:
    def func() -> None:
        other = threading.Thread(target=lambda: print("from a thread"))
        other.start()
        other.join()
        print("from the task")

    with lab.stdout():
        return lab.one(func, show=("logs",))


@case()
def trace_output_is_not_captured(lab: Lab) -> Observation:
    from pyoco import ConsoleTraceBackend
    from pyoco.core.engine import Engine
    from pyoco.core.models import RunContext

    run = RunContext()
    with lab.stdout():
        Engine(trace_backend=ConsoleTraceBackend(style="plain")).run(Flow() >> lab.task("a", printing("x")), None, run)
    return {"texts": [log["text"] for log in run.logs]}


@case()
def sys_stdout_is_back_afterwards(lab: Lab) -> Observation:
    with lab.stdout() as out:
        lab.one(printing("in a task"))
        print("after the run")
    return {"lines": out.getvalue().splitlines()}


@case()
def log_entries_have_five_keys(lab: Lab) -> Observation:
    from pyoco.core.models import RunContext

    run = RunContext()
    lab.run(Flow() >> lab.task("a", printing("x")), run_context=run)
    entry = run.logs[0]
    keys = ("seq", "stream", "task", "text", "timestamp")
    return {"keys": [key in entry for key in keys], "epoch": entry["timestamp"] > 1_600_000_000}


@case()
def nested_run_logs_to_the_inner_run(lab: Lab) -> Observation:
    inner: list[Any] = []

    def outer() -> None:
        print("outer before")
        inner.append(lab.one(printing("inner"), show=("logs",))["logs"])

    with lab.stdout():
        seen = lab.one(outer, show=("logs",))
    return {"inner": inner[0], "outer_has_its_own": "outer before\n" in seen["logs"][0][3]}
