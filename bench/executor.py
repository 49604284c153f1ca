"""What the way through an executor process costs: plain one-node runs, one after another and several at a time.

Run it with `.venv/bin/python bench/executor.py [runs]`.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import time
from collections.abc import Callable

import psutil

from pyoco.engine.document import PyocoConfig
from pyoco.engine.engine import prepare
from pyoco.engine.executor import Execution
from pyoco.engine.journal import JournalKeeper
from pyoco.engine.records import RunContext
from pyoco.engine.trace import SilentTrace
from pyoco.executor.handle import ExecutorHandle, ExecutorOptions
from pyoco.executor.loading import load_config
from pyoco.executor.messages import RunEnded, StartRun

FLOW = 'flow: {graph: only}\ntasks: {only: {callable: "os:getpid"}}\n'
ROUNDS = 5


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(f"{runs} runs of one node, {ROUNDS} rounds: median (best). CPU is that of both processes together.\n")
    print(f"{'way':<24}{'µs per run':>20}{'runs/s':>10}{'CPU µs per run':>16}")
    measure_engine(runs)
    asyncio.run(measure_handle(runs))


def measure_engine(runs: int) -> None:
    loaded = load_config(PyocoConfig.from_text(FLOW), "bench", print)

    def one_round() -> None:
        for number in range(runs):
            run = RunContext(run_id=str(number))
            ctx = prepare(loaded.flow, {}, run)
            Execution(loaded.plan, ctx, run, SilentTrace(), sink=JournalKeeper(), keep_logs=False).run()

    samples, cpu = [], []
    for _ in range(ROUNDS):
        wall, used = timed(one_round)
        samples.append(wall / runs)
        cpu.append(used / runs)
    print_row("engine alone", samples, cpu)


async def measure_handle(runs: int) -> None:
    async with await ExecutorHandle.start(ExecutorOptions()) as handle:
        for in_flight in (1, 4):
            samples, cpu = [], []
            for _ in range(ROUNDS):
                before, started = cpu_of(handle.pid), time.perf_counter()
                await one_round(handle, runs, in_flight)
                samples.append((time.perf_counter() - started) / runs)
                cpu.append((cpu_of(handle.pid) - before) / runs)
            print_row(f"executor, {in_flight} in flight", samples, cpu)


async def one_round(handle: ExecutorHandle, runs: int, in_flight: int) -> None:
    for number in range(in_flight):
        handle.send(StartRun(run_id=str(number), flow_name="main", workflow_yaml=FLOW))
    started, ended = in_flight, 0
    async for message in handle:
        if not isinstance(message, RunEnded):
            continue
        assert message.status == "COMPLETED", message
        ended += 1
        if started < runs:
            handle.send(StartRun(run_id=str(started), flow_name="main", workflow_yaml=FLOW))
            started += 1
        if ended == runs:
            return


def timed(action: Callable[[], None]) -> tuple[float, float]:
    cpu, started = time.process_time(), time.perf_counter()
    action()
    return time.perf_counter() - started, time.process_time() - cpu


def cpu_of(child: int) -> float:
    times = [psutil.Process(pid).cpu_times() for pid in (os.getpid(), child)]
    return float(sum(each.user + each.system for each in times))


def print_row(name: str, samples: list[float], cpu: list[float]) -> None:
    median, best = statistics.median(samples) * 1e6, min(samples) * 1e6
    print(f"{name:<24}{f'{median:.0f} ({best:.0f})':>20}{1e6 / median:>10.0f}{statistics.median(cpu) * 1e6:>16.0f}")


if __name__ == "__main__":
    main()
