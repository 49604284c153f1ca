"""How a run behaves while it goes on: time-outs, retries, policies, cancel, waiting."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from typing import Any

import pytest

from pyoco.engine.dsl import switch, task
from pyoco.engine.engine import Engine, prepare
from pyoco.engine.errors import TaskExited, WaitRejected
from pyoco.engine.executor import MAX_THREADS, Execution
from pyoco.engine.flow import Flow
from pyoco.engine.plan import make_plan
from pyoco.engine.records import RunContext, RunStatus, TaskState
from pyoco.engine.task import Task
from pyoco.engine.trace import SilentTrace
from tests.support.recording import RecordingSink, RecordingTrace
from tests.support.wait import wait_until


@pytest.fixture
def run() -> RunContext:
    return RunContext()


@pytest.fixture
def engine() -> Engine:
    return Engine(SilentTrace())


def states(run: RunContext) -> dict[str, str]:
    return {name: state.value for name, state in run.tasks.items()}


after = task(name="after")(lambda: "after")


# Coroutines and threads


def test_coroutines_are_awaited_and_mix_with_plain_functions(engine: Engine) -> None:
    @task
    async def one() -> int:
        await asyncio.sleep(0)
        return 1

    two = task(name="two")(lambda one: one + 1)

    @task
    async def three(two: int) -> int:
        return two + 1

    ctx = engine.run(Flow() >> one >> two >> three)
    assert ctx.results == {"one": 1, "two": 2, "three": 3}
    assert ctx.output == 3


def test_a_plain_function_that_returns_a_coroutine_has_its_result_awaited(engine: Engine) -> None:
    async def work() -> str:
        await asyncio.sleep(0)
        return "awaited"

    ctx = engine.run(Flow() >> task(name="t")(lambda: work()) >> after)
    assert ctx.results == {"t": "awaited", "after": "after"}


def test_a_task_may_start_its_own_event_loop(engine: Engine) -> None:
    assert engine.run(Flow() >> task(name="t")(lambda: asyncio.run(asyncio.sleep(0, 5)))).output == 5


async def test_run_works_inside_a_running_event_loop(engine: Engine) -> None:
    @task
    async def inner() -> str:
        await asyncio.sleep(0)
        return "ok"

    assert engine.run(Flow() >> inner).output == "ok"


async def test_arun_runs_coroutines_on_the_callers_loop(engine: Engine) -> None:
    loops: list[Any] = []

    @task
    async def inner() -> None:
        loops.append(asyncio.get_running_loop())

    await engine.arun(Flow() >> inner >> after)
    assert loops == [asyncio.get_running_loop()]


async def test_cancelling_arun_cancels_the_run(engine: Engine, run: RunContext) -> None:
    entered = asyncio.Event()

    @task
    async def forever() -> None:
        entered.set()
        await asyncio.Event().wait()

    outer = asyncio.create_task(engine.arun(Flow() >> forever >> after, run_context=run))
    await entered.wait()
    outer.cancel()
    with pytest.raises(asyncio.CancelledError):
        await outer
    assert run.status is RunStatus.CANCELLED
    assert states(run) == {"forever": "CANCELLED", "after": "CANCELLED"}


def test_a_task_may_run_another_flow(engine: Engine) -> None:
    inner = task(name="inner")(lambda: 7)

    @task
    def outer() -> Any:
        return engine.run(Flow("inner") >> inner).output

    assert engine.run(Flow() >> outer).output == 7


def test_many_threads_may_share_one_engine(engine: Engine) -> None:
    outputs: list[Any] = []

    def one(number: int) -> None:
        first = task(name="first")(lambda n: n)

        @task
        async def second(first: int) -> int:
            await asyncio.sleep(0)
            return first * 2

        outputs.append(engine.run(Flow() >> first >> second, {"n": number}).output)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outputs) == [number * 2 for number in range(20)]
    assert engine.active_runs == {}


def test_parallel_nodes_run_at_the_same_time(engine: Engine) -> None:
    barrier = threading.Barrier(8, timeout=10)
    group = [Task(func=barrier.wait, name=f"t{number}") for number in range(8)]
    ctx = engine.run(Flow() >> group)
    assert sorted(ctx.results.values()) == list(range(8))


def test_a_blocking_coroutine_does_not_hold_up_other_nodes(engine: Engine) -> None:
    others_done = threading.Event()
    finished: list[str] = []

    @task
    async def blocker() -> bool:
        return others_done.wait(10)  # on purpose: blocks its event loop

    def note(name: str) -> None:
        finished.append(name)
        if len(finished) == 2:
            others_done.set()

    async def other() -> None:
        note("coroutine")

    plain = task(name="plain")(lambda: note("plain"))
    ctx = engine.run(Flow() >> (blocker & task(name="other")(other) & plain))
    assert ctx.results["blocker"] is True
    assert sorted(finished) == ["coroutine", "plain"]


# Policies


def test_retries_keep_the_history_of_every_attempt(engine: Engine, run: RunContext) -> None:
    calls: list[int] = []

    @task(retries=2, backoff={"initial": 0.001, "factor": 2, "jitter": 0.5})
    def flaky() -> str:
        calls.append(1)
        if len(calls) < 3:
            raise ValueError(f"attempt {len(calls)}")
        return "fine"

    trace = RecordingTrace()
    Engine(trace).run(Flow() >> flaky, run_context=run)
    record = run.task_records["flaky"]
    assert [(attempt.number, attempt.error) for attempt in record.attempts] == [
        (1, "attempt 1"),
        (2, "attempt 2"),
        (3, None),
    ]
    assert (record.state, record.error, record.traceback) == (TaskState.SUCCEEDED, None, None)
    assert trace.events == [("flow_start", "main"), ("start", "flaky"), ("end", "flaky"), ("flow_end", "main")]


def test_retries_and_isolation_work_inside_loops(engine: Engine, run: RunContext) -> None:
    tried: dict[int, int] = {}

    @task(retries=1, backoff=0, fail_policy="isolate")
    def work(item: int) -> int:
        tried[item] = tried.get(item, 0) + 1
        if item == 2 or tried[item] == 1:
            raise ValueError(item)
        return item

    following = task(name="following")(lambda work: work * 10)
    ctx = engine.run(Flow() >> (work >> following)["$ctx.params.xs as item"], {"xs": [1, 2, 3]}, run)
    assert tried == {1: 2, 2: 2, 3: 2}
    assert ctx.results == {"work": 3, "following": 30}
    assert run.status is RunStatus.COMPLETED


def test_an_isolated_failure_takes_the_whole_cone_below_it(engine: Engine, run: RunContext) -> None:
    @task(fail_policy="isolate")
    def bad() -> None:
        raise ValueError("bad")

    child, grandchild, free = (task(name=name)(lambda: 1) for name in ("child", "grandchild", "free"))
    ctx = engine.run(Flow() >> [bad >> child >> grandchild, free], run_context=run)
    assert states(run) == {"bad": "FAILED", "child": "FAILED", "grandchild": "FAILED", "free": "SUCCEEDED"}
    assert run.task_records["grandchild"].state is TaskState.FAILED
    assert "depends on failed" in str(run.task_records["grandchild"].error)
    assert ctx.output == {"free": 1}


def test_any_goes_on_after_the_first_success_and_waits_for_nobody_else(engine: Engine) -> None:
    joined = threading.Event()
    quick = task(name="quick")(lambda: "quick")
    slow = task(name="slow")(lambda: joined.wait(10))
    join = task(name="join")(lambda: joined.set() or "joined")
    ctx = engine.run(Flow() >> (quick | slow) >> join)
    assert ctx.results == {"quick": "quick", "slow": True, "join": "joined"}


def test_an_any_join_after_a_loop_runs_if_one_iteration_succeeded(engine: Engine, run: RunContext) -> None:
    @task(fail_policy="isolate")
    def work(item: int) -> int:
        if item == 2:
            raise ValueError(item)
        return item

    @task(trigger_policy="ANY")
    def summary() -> str:
        return "done"

    @task
    def strict() -> None:
        """Needs all of them."""

    engine.run(Flow() >> work["$ctx.params.xs as item"] >> [summary, strict], {"xs": [1, 2]}, run)
    assert states(run) == {"work": "FAILED", "summary": "SUCCEEDED", "strict": "FAILED"}


def test_a_stop_failure_lets_running_nodes_finish_and_starts_nothing_new(engine: Engine, run: RunContext) -> None:
    running, failing = threading.Event(), threading.Event()

    @task
    def slow() -> str:
        running.set()
        assert failing.wait(10)
        return "finished"

    @task
    def bad() -> None:
        assert running.wait(10)
        failing.set()
        raise KeyError("gone")

    error = None
    try:
        engine.run(Flow() >> (slow & bad) >> after, run_context=run)
    except KeyError as caught:
        error = caught
    assert error is not None
    assert error.args == ("gone",)
    assert run.status is RunStatus.FAILED
    assert states(run) == {"slow": "SUCCEEDED", "bad": "FAILED", "after": "PENDING"}


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_a_task_cannot_take_the_process_along(engine: Engine, run: RunContext, kind: type[BaseException]) -> None:
    @task
    def leave() -> None:
        raise kind

    with pytest.raises(TaskExited, match="leave"):
        engine.run(Flow() >> leave, run_context=run)
    assert states(run) == {"leave": "FAILED"}


def test_a_raising_trace_hook_changes_nothing(run: RunContext, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(RecordingTrace):
        def on_node_end(self, node_name: str, duration_ms: float) -> None:
            raise RuntimeError("broken hook")

    Engine(Broken()).run(Flow() >> after, run_context=run)
    assert run.status is RunStatus.COMPLETED
    assert len(run.task_records["after"].attempts) == 1
    assert "on_node_end" in caplog.text


# Time-outs


def test_a_timed_out_coroutine_is_cancelled(engine: Engine, run: RunContext) -> None:
    cancelled: list[bool] = []

    @task(timeout_sec=0.05)
    async def forever() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    with pytest.raises(TimeoutError, match=r"'forever'.*0\.05"):
        engine.run(Flow() >> forever >> after, run_context=run)
    assert cancelled == [True]
    assert states(run) == {"forever": "FAILED", "after": "PENDING"}


def test_a_timed_out_thread_is_abandoned_reported_and_its_late_result_discarded(run: RunContext) -> None:
    release, left = threading.Event(), threading.Event()

    @task(timeout_sec=0.05, fail_policy="isolate", outputs=["scratch.late"])
    def stuck() -> str:
        release.wait(10)
        left.set()
        return "late"

    free = task(name="free")(lambda: "free")
    sink = RecordingSink()
    ctx = Engine(SilentTrace()).run(Flow() >> (stuck & free), run_context=run, sink=sink)
    assert run.status is RunStatus.COMPLETED
    assert states(run) == {"stuck": "FAILED", "free": "SUCCEEDED"}
    assert [thread.node for thread in sink.stuck_threads] == ["stuck"]
    release.set()
    assert left.wait(10)
    wait_until(lambda: not any("pyoco-task" in thread.name for thread in threading.enumerate()), "the thread to end")
    assert "late" not in ctx.scratch
    assert "stuck" not in ctx.results
    assert states(run)["stuck"] == "FAILED"


def test_the_clock_of_a_time_out_starts_with_the_task_and_not_in_the_queue(engine: Engine, run: RunContext) -> None:
    # All threads are busy for longer than the last task may take; that one waits in the queue meanwhile.
    busy = [Task(func=lambda: threading.Event().wait(0.4), name=f"busy{number}") for number in range(MAX_THREADS)]
    group = [*busy, Task(func=lambda: None, name="queued", timeout_sec=0.2)]
    engine.run(Flow() >> group, run_context=run)
    assert set(states(run).values()) == {"SUCCEEDED"}


def test_a_time_out_is_retried_like_any_failure(engine: Engine, run: RunContext) -> None:
    calls: list[int] = []

    @task(timeout_sec=0.05, retries=1, backoff=0)
    async def slow_once() -> str:
        calls.append(1)
        if len(calls) == 1:
            await asyncio.Event().wait()
        return "second"

    assert engine.run(Flow() >> slow_once, run_context=run).output == "second"
    assert len(run.task_records["slow_once"].attempts) == 2


# Cancel


def test_a_cancel_lets_the_running_task_finish_and_cancels_the_rest(engine: Engine, run: RunContext) -> None:
    @task
    def polite(ctx: Any) -> str:
        engine.cancel(ctx.run_id)
        assert ctx.is_cancelled
        return "finished"

    trace = RecordingTrace()
    engine.trace = trace
    ctx = engine.run(Flow() >> polite >> after, run_context=run)
    assert run.status is RunStatus.CANCELLED
    assert states(run) == {"polite": "SUCCEEDED", "after": "CANCELLED"}
    assert run.task_records["after"].ended_at is not None
    assert ctx.results == {"polite": "finished"}
    assert trace.events[-1] == ("flow_end", "main")


def test_a_cancel_during_the_last_node_ends_cancelled(engine: Engine, run: RunContext) -> None:
    @task
    def last(ctx: Any) -> None:
        engine.cancel(ctx.run_id)

    engine.run(Flow() >> last, run_context=run)
    assert run.status is RunStatus.CANCELLED


def test_a_cancel_ends_a_loop_between_iterations(engine: Engine, run: RunContext) -> None:
    seen: list[int] = []

    @task
    def body(ctx: Any) -> None:
        seen.append(ctx.loop.index)
        if ctx.loop.index == 2:
            engine.cancel(ctx.run_id)

    engine.run(Flow() >> body[1000], run_context=run)
    assert seen == [0, 1, 2]
    assert run.status is RunStatus.CANCELLED


def test_a_cancel_does_not_wait_for_the_pause_before_a_retry(engine: Engine, run: RunContext) -> None:
    @task(retries=5, backoff=600)
    def flaky(ctx: Any) -> None:
        threading.Thread(target=cancel_when_paused).start()
        raise ValueError("again later")

    def cancel_when_paused() -> None:
        wait_until(lambda: len(run.task_records["flaky"].attempts) == 1, "the attempt to fail")
        engine.cancel(run.run_id)

    engine.run(Flow() >> flaky, run_context=run)
    assert run.status is RunStatus.CANCELLED
    assert states(run) == {"flaky": "CANCELLED"}


def test_after_the_grace_period_what_still_runs_is_cut_off(engine: Engine, run: RunContext) -> None:
    release = threading.Event()
    entered = threading.Barrier(3, timeout=10)

    @task
    def stubborn() -> None:
        entered.wait()
        release.wait(10)

    @task
    async def waiting() -> None:
        await asyncio.get_running_loop().run_in_executor(None, entered.wait)
        await asyncio.Event().wait()

    def cancel() -> None:
        entered.wait()
        engine.cancel(run.run_id, grace=0.02)

    canceller = threading.Thread(target=cancel)
    canceller.start()
    engine.run(Flow() >> (stubborn & waiting) >> after, run_context=run)
    canceller.join()
    release.set()
    assert run.status is RunStatus.CANCELLED
    assert set(states(run).values()) == {"CANCELLED"}


def test_a_run_that_is_cancelled_before_it_starts_runs_nothing(engine: Engine) -> None:
    run = RunContext(status=RunStatus.CANCELLING)
    engine.run(Flow() >> after, run_context=run)
    assert run.status is RunStatus.CANCELLED
    assert states(run) == {"after": "CANCELLED"}


# Waiting


def execution_of(flow: Flow, run: RunContext, **options: Any) -> Execution:
    ctx = prepare(flow, {}, run)
    return Execution(make_plan(flow), ctx, run, SilentTrace(), **options)


def test_a_run_parks_when_every_open_node_waits_and_goes_on_with_the_answer(run: RunContext) -> None:
    calls: list[str] = []

    @task
    def ask(ctx: Any) -> Any:
        calls.append("ask")
        return [ctx.wait("first", "First?"), ctx.wait("second")]

    other = task(name="other")(lambda: calls.append("other"))
    execution = execution_of(Flow() >> (ask & other) >> after, run)
    execution.run()
    assert execution.parked
    assert run.status is RunStatus.RUNNING
    assert execution.waits() == {"ask": ("first", "First?")}
    assert states(run) == {"ask": "RUNNING", "other": "SUCCEEDED", "after": "PENDING"}
    execution.answer("ask", "first", 1)
    execution.run()
    assert execution.waits() == {"ask": ("second", None)}
    execution.answer("ask", "second", {"two": 2})
    execution.run()
    assert run.status is RunStatus.COMPLETED
    assert execution.ctx.results["ask"] == [1, {"two": 2}]
    assert sorted(calls) == ["ask", "ask", "ask", "other"]


def test_a_parked_run_goes_on_elsewhere_from_its_journal(run: RunContext) -> None:
    def build() -> Flow:
        one = task(name="one")(lambda ctx: ctx.wait("key"))
        two = task(name="two")(lambda ctx: ctx.wait("key"))
        return Flow() >> (one & two) >> after

    sink = RecordingSink()
    first = execution_of(build(), run, sink=sink)
    first.run()
    assert first.parked
    journal = sink.journal_at(-1)
    journal.answer("one", "key", "yes")
    second = execution_of(build(), RunContext(), sink=RecordingSink(journal), journal=journal)
    second.run()
    assert second.parked
    assert second.waits() == {"two": ("key", None)}
    assert second.ctx.results == {"one": "yes"}
    second.refuse("two", "key", "not today")
    second.run()
    assert isinstance(second.failure, WaitRejected)
    assert "not today" in str(second.failure)


def test_waiting_does_not_use_up_the_time_out(run: RunContext) -> None:
    ask = task(name="ask", timeout_sec=5)(lambda ctx: ctx.wait("key"))
    execution = execution_of(Flow() >> ask, run)
    execution.run()
    assert execution.parked
    execution.answer("ask", "key", 1)
    execution.run()
    assert run.status is RunStatus.COMPLETED


def test_a_parked_run_can_be_cancelled(run: RunContext) -> None:
    execution = execution_of(Flow() >> task(name="ask")(lambda ctx: ctx.wait("key")) >> after, run)
    execution.run()
    execution.cancel()
    execution.run()
    assert run.status is RunStatus.CANCELLED
    assert states(run) == {"ask": "CANCELLED", "after": "CANCELLED"}


# The context of a task


def test_a_task_sees_its_inputs_run_id_progress_and_logger(run: RunContext) -> None:
    @task(inputs={"x": "$ctx.params.n"})
    def work(ctx: Any, x: int) -> Any:
        ctx.progress(40, "nearly half")
        ctx.log("a line")
        ctx.logger.warning("careful %d", 7)
        return dict(ctx.inputs), ctx.run_id

    sink = RecordingSink()
    ctx = Engine(SilentTrace()).run(Flow() >> work, {"n": 3}, run, sink=sink)
    assert ctx.output == ({"x": 3}, run.run_id)
    assert run.task_records["work"].progress == (40, "nearly half")
    assert [(line.level, line.text) for line in sink.lines] == [("INFO", "a line"), ("WARNING", "careful 7")]


def test_a_parallel_foreach_gives_each_iteration_its_own_results_and_collects_them(engine: Engine) -> None:
    barrier = threading.Barrier(4, timeout=10)

    @task
    def load(item: int) -> int:
        barrier.wait()
        return item * 10

    parse = task(name="parse")(lambda load: load + 1)
    total = task(name="total", inputs={"values": "$collected.parse"})(sum)
    total.task.func = lambda values: sum(values)
    loop = (load >> parse).foreach("$ctx.params.xs", item="item", parallel=4)
    ctx = engine.run(Flow() >> loop >> total, {"xs": [1, 2, 3, 4]})
    assert ctx.collected["parse"] == [11, 21, 31, 41]
    assert ctx.results["parse"] == 41
    assert ctx.output == 104


def test_the_output_of_a_run_is_that_of_its_last_nodes(engine: Engine) -> None:
    a, b, c = (task(name=name)(lambda name=name: name) for name in "abc")
    assert engine.run(Flow() >> a >> b).output == "b"
    assert engine.run(Flow() >> a >> (b & c)).output == {"b": "b", "c": "c"}
    chosen = switch("$ctx.params.k")["x" >> b, "*" >> c]
    assert engine.run(Flow() >> a >> chosen, {"k": "x"}).output == "b"
    assert engine.run(Flow() >> a >> b[2]).output == "b"
    assert engine.run(Flow() >> a >> b[0]).output is None
    assert engine.run(Flow()).output is None


def test_a_signal_handler_may_cancel_the_run_it_interrupts(engine: Engine, run: RunContext) -> None:
    """The handler runs in the thread that waits for the run, maybe while that holds the run's lock."""
    previous = signal.signal(signal.SIGUSR1, lambda *_: engine.cancel(run.run_id))

    @task(timeout_sec=60)
    def work(ctx: Any) -> None:
        while not ctx.is_cancelled:
            os.kill(os.getpid(), signal.SIGUSR1)

    try:
        engine.run(Flow() >> work, run_context=run)
    finally:
        signal.signal(signal.SIGUSR1, previous)
    assert run.status is RunStatus.CANCELLED


def test_threads_that_a_task_starts_are_not_cut_off_with_the_process(engine: Engine) -> None:
    assert engine.run(Flow() >> task(name="t")(lambda: threading.Thread().daemon)).output is False
