"""§4 Where an engine may be used: threads, nested runs, a running event loop, one engine for many runs."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from observe import Lab, Observation, Recorder, case

from pyoco import ConsoleTraceBackend, Flow
from pyoco.core.engine import Engine
from pyoco.core.models import RunContext


def engine() -> Engine:
    return Engine(trace_backend=Recorder())  # type: ignore[arg-type]


@case()
def from_a_thread(lab: Lab) -> Observation:
    seen: list[Any] = []
    thread = threading.Thread(target=lambda: seen.append(lab.run(Flow() >> lab.task("a") >> lab.task("b"))))
    thread.start()
    thread.join()
    return {"seen": seen}


@case()
def inside_a_running_event_loop(lab: Lab) -> Observation:
    async def main() -> Observation:
        return lab.run(Flow() >> lab.task("a") >> [lab.task("b"), lab.task("c")])

    return asyncio.run(main())


@case()
def program_inside_a_running_event_loop(lab: Lab) -> Observation:
    async def main() -> Observation:
        return lab.run(Flow() >> lab.task("a")[2])

    return asyncio.run(main())


@case()
def task_may_call_asyncio_run(lab: Lab) -> Observation:
    async def work() -> str:
        await asyncio.sleep(0)
        return "awaited"

    return lab.one(lambda: asyncio.run(work()))


@case()
def nested_run_inside_a_task(lab: Lab) -> Observation:
    def outer() -> Any:
        return engine().run(Flow("inner") >> lab.task("i", lambda x: x * 2), {"x": 21}).results["i"]

    return lab.one(outer)


@case()
def nested_run_on_the_same_engine(lab: Lab) -> Observation:
    shared = engine()
    flow = Flow() >> lab.task("o", lambda: shared.run(Flow() >> lab.task("i")).results) >> lab.task("p", lambda o: o)
    return {"results": shared.run(flow).results}


@case()
def three_levels_of_nesting(lab: Lab) -> Observation:
    def level(number: int) -> Any:
        if number == 0:
            return ["bottom"]
        return [number, *engine().run(Flow() >> lab.task("n", lambda: level(number - 1))).results["n"]]

    return {"levels": level(3)}


@case()
def nested_failure_is_an_ordinary_failure(lab: Lab) -> Observation:
    def outer() -> None:
        engine().run(Flow() >> lab.task("i", lambda: {}["inner key"]))

    return lab.one(outer, show=("status", "states"), mention=("inner key",))


@case()
def threads_share_one_engine(lab: Lab) -> Observation:
    shared = engine()

    def one(number: int) -> Any:
        return shared.run(
            Flow() >> lab.task("a", lambda n: n) >> lab.task("b", lambda a: a * 2), {"n": number}
        ).results["b"]

    with ThreadPoolExecutor(4) as pool:
        return {"results": list(pool.map(one, range(12))), "active": len(shared.active_runs)}


@case()
def one_flow_in_many_threads(lab: Lab) -> Observation:
    flow = Flow() >> lab.task("a", lambda n: n) >> (lab.task("b", lambda a: a + 1) & lab.task("c", lambda a: a + 2))
    flow >> lab.task("d", lambda b, c: b + c)
    with ThreadPoolExecutor(4) as pool:
        return {"results": list(pool.map(lambda n: engine().run(flow, {"n": n}).results["d"], range(8)))}


@case()
def active_runs_while_running(lab: Lab) -> Observation:
    shared, run = engine(), RunContext(run_id="mine")

    def look() -> list[Any]:
        return [list(shared.active_runs), shared.get_run("mine") is run, shared.get_run("other")]

    context = shared.run(Flow() >> lab.task("a", look), None, run)
    return {"during": context.results["a"], "after": [list(shared.active_runs), shared.get_run("mine")]}


@case()
def active_runs_are_emptied_after_a_failure(lab: Lab) -> Observation:
    shared = engine()
    seen = lab.builds(lambda: shared.run(Flow() >> lab.task("a", lambda: 1 / 0)))
    program = lab.builds(lambda: shared.run(Flow() >> lab.task("a", lambda: 1 / 0)[1]))
    return {"dag": seen, "program": program, "active": len(shared.active_runs)}


@case()
def positional_arguments_of_run(lab: Lab) -> Observation:
    context = engine().run(Flow() >> lab.task("a", lambda x: x), {"x": 1}, RunContext())
    keyword = engine().run(flow=Flow() >> lab.task("a", lambda x: x), params={"x": 2}, run_context=RunContext())
    return {"results": [context.results, keyword.results]}


@case()
def dag_of_one_task_leaves_no_thread(lab: Lab) -> Observation:
    """A pool kept for later runs is fine; a thread per run is not."""
    flow = Flow() >> lab.task("a")
    engine().run(flow)
    before = threading.active_count()
    for _ in range(20):
        engine().run(flow)
    return {"grew": threading.active_count() > before + 8}


@case()
def contextvars_of_the_caller_do_not_break_a_run(lab: Lab) -> Observation:
    import contextvars

    variable: contextvars.ContextVar[str] = contextvars.ContextVar("corpus", default="unset")
    variable.set("callers")
    return lab.run(Flow() >> lab.task("a", lambda: variable.set("tasks") and None)[1], show=("status",))


@case(fixed="Q31", expect={"all_own_logs": True}, child=True)
def many_threads_with_the_console_trace(lab: Lab) -> Observation:
    """Q31: swapping sys.stdout per run crashed the interpreter here, though seldom; ours must never."""
    flow = Flow() >> lab.task("a", lambda n: print("a", n)) >> [lab.task("b", lambda: print("b")), lab.task("c")]

    def one(number: int) -> list[str]:
        run = RunContext()
        Engine(trace_backend=ConsoleTraceBackend(style="plain")).run(flow, {"n": number}, run)
        return sorted(log["text"] for log in run.logs)

    with lab.stdout(), ThreadPoolExecutor(8) as pool:
        logs = list(pool.map(one, range(64)))
    return {"all_own_logs": all(log == [f"a {number}\n", "b\n"] for number, log in enumerate(logs))}
