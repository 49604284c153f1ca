"""Flows to measure, written with the imports that pyoco 0.8 and ours have in common; run by either interpreter."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable
from typing import Any

from pyoco.core.engine import Engine
from pyoco.core.models import Flow, Task
from pyoco.dsl.syntax import TaskWrapper
from pyoco.trace.backend import TraceBackend


class NoTrace(TraceBackend):
    def on_flow_start(self, flow_name: str, run_id: Any = None) -> None: ...

    def on_flow_end(self, flow_name: str) -> None: ...

    def on_node_start(self, node_name: str) -> None: ...

    def on_node_end(self, node_name: str, duration_ms: float) -> None: ...

    def on_node_error(self, node_name: str, error: Exception) -> None: ...


def plain(name: object) -> Task:
    def work() -> None: ...

    return Task(func=work, name=f"t{name}")


def coroutine(name: object) -> Task:
    async def work() -> None: ...

    return Task(func=work, name=f"t{name}")


def chain(size: int, make: Callable[[object], Task]) -> Flow:
    flow = Flow()
    for number in range(size):
        flow >> make(number)
    return flow


def fan_out(size: int, make: Callable[[object], Task]) -> Flow:
    return Flow() >> make("first") >> [make(number) for number in range(size)] >> make("last")


def repeat(size: int, make: Callable[[object], Task]) -> Flow:
    return Flow() >> TaskWrapper(make("body"))[size]


def foreach(size: int, make: Callable[[object], Task]) -> Flow:
    return Flow() >> TaskWrapper(make("body"))["$ctx.params.items as item"]


def until(size: int, make: Callable[[object], Task]) -> Flow:
    return Flow() >> TaskWrapper(make("body")) % (f"$ctx.loop.iteration == {size}", size)


CASES: dict[str, tuple[Callable[..., Flow], int]] = {
    "chain 10": (chain, 10),
    "chain 100": (chain, 100),
    "chain 1000": (chain, 1000),
    "fan-out 100": (fan_out, 100),
    "fan-out 1000": (fan_out, 1000),
    "repeat 1000": (repeat, 1000),
    "foreach 1000": (foreach, 1000),
    "until 1000": (until, 1000),
}


def seconds(case: str, make: Callable[[object], Task]) -> float:
    build, size = CASES[case]
    flow = build(size, make)
    params = {"items": list(range(size))}
    engine = Engine(NoTrace())
    start = time.perf_counter()
    engine.run(flow, params)
    return time.perf_counter() - start


def main() -> None:
    """Prints one JSON object: case → seconds of each round."""
    kind, rounds = sys.argv[1], int(sys.argv[2])
    make = {"plain": plain, "coroutine": coroutine}[kind]
    asyncio.run(asyncio.sleep(0))  # imports and caches of the first event loop are not the engine's cost
    for case in CASES:
        seconds(case, make)
    print(json.dumps({case: [seconds(case, make) for _ in range(rounds)] for case in CASES}))


if __name__ == "__main__":
    main()
