"""Things that go wrong around a task, at bad moments: a run always ends, and ends right."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import threading
from typing import Any

import pytest

from pyoco.engine.dsl import switch, task
from pyoco.engine.engine import Engine, prepare
from pyoco.engine.errors import JournalMismatch, TaskExited
from pyoco.engine.events import LogLine, NodeSucceeded
from pyoco.engine.executor import Execution
from pyoco.engine.flow import Flow
from pyoco.engine.journal import Journal
from pyoco.engine.plan import make_plan
from pyoco.engine.records import RunContext, RunStatus
from pyoco.engine.task import Task
from pyoco.engine.threads import ThreadPool
from pyoco.engine.trace import SilentTrace
from tests.support.recording import RecordingSink, RecordingTrace, texts
from tests.support.wait import wait_until


@pytest.fixture
def engine() -> Engine:
    return Engine(SilentTrace())


@pytest.fixture
def run() -> RunContext:
    return RunContext()


def states(run: RunContext) -> dict[str, str]:
    return {name: state.value for name, state in run.tasks.items()}


def execution_of(flow: Flow, run: RunContext, **options: Any) -> Execution:
    return Execution(make_plan(flow), prepare(flow, {}, run), run, SilentTrace(), **options)


after = task(name="after")(lambda: "after")


# What is not the task's own fault must not leave the run hanging


class Unreadable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_an_error_without_readable_text_still_fails_the_run(engine: Engine, run: RunContext) -> None:
    @task
    def broken() -> None:
        raise Unreadable

    with pytest.raises(Unreadable):
        engine.run(Flow() >> broken, run_context=run)
    assert "Unreadable" in str(run.task_records["broken"].error)


def test_a_loop_goes_over_its_list_as_it_was(engine: Engine) -> None:
    def shrink(ctx: Any, item: int) -> int:
        ctx.params["xs"].clear()
        return item

    assert engine.run(Flow() >> task(name="t")(shrink)["$ctx.params.xs as item"], {"xs": [1, 2, 3]}).output == 3


@pytest.mark.parametrize(
    "field", [{"outputs": [1]}, {"retries": None}, {"timeout_sec": "5"}, {"backoff": "x"}], ids=str
)
def test_nonsense_in_a_tasks_fields_fails_the_run(engine: Engine, run: RunContext, field: dict[str, Any]) -> None:
    def fail_once() -> None:
        if "retries" in field or "backoff" in field:
            raise ValueError("first")

    broken = Task(func=fail_once, name="t", retries=1)
    for name, value in field.items():
        setattr(broken, name, value)
    with pytest.raises((TypeError, ValueError, AttributeError)):
        engine.run(Flow() >> broken >> after, run_context=run)
    assert run.status is RunStatus.FAILED


def test_a_sink_that_raises_fails_the_run(run: RunContext) -> None:
    class Broken(RecordingSink):
        def transition(self, event: Any, context: Any) -> None:
            if isinstance(event, NodeSucceeded):
                raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        Engine(SilentTrace()).run(Flow() >> after, run_context=run, sink=Broken())
    assert run.status is RunStatus.FAILED


def test_a_trace_hook_cannot_end_the_process(run: RunContext) -> None:
    class Leaving(RecordingTrace):
        def on_node_start(self, node_name: str) -> None:
            raise SystemExit(3)

    Engine(Leaving()).run(Flow() >> after, run_context=run)
    assert run.status is RunStatus.COMPLETED


def test_a_comparison_of_case_values_may_raise_anything(engine: Engine) -> None:
    class Strange:
        def __eq__(self, other: object) -> bool:
            raise SystemExit(1)

        __hash__ = None  # type: ignore[assignment]

    chosen = switch("$ctx.params.x")[1 >> after]
    with pytest.raises(TaskExited):
        engine.run(Flow() >> chosen, {"x": Strange()})


def test_a_journal_that_cannot_be_read_fails_the_run_with_its_error(engine: Engine, run: RunContext) -> None:
    journal = Journal(context={"scratch": {"set": {"x": {"$date": "nonsense"}}}})
    with pytest.raises(ValueError, match="nonsense"):
        engine.run(Flow() >> after, run_context=run, journal=journal)
    assert run.status is RunStatus.FAILED


async def test_arun_raises_what_kept_the_run_from_starting(engine: Engine) -> None:
    journal = Journal(context={"scratch": {"set": {"x": {"$date": "nonsense"}}}})
    with pytest.raises(ValueError, match="nonsense"):
        await engine.arun(Flow() >> after, journal=journal)


@pytest.mark.parametrize("recorded", [5, None, "text", [1]], ids=str)
def test_a_journal_of_another_flow_is_refused_with_the_place(engine: Engine, recorded: Any) -> None:
    flow = Flow() >> switch("$ctx.params.k")["a" >> after]
    with pytest.raises(JournalMismatch, match="'switch'"):
        engine.run(flow, {"k": "a"}, journal=Journal(decisions={"switch": recorded}))


# Answers at bad moments


def test_an_answer_that_comes_while_the_task_is_leaving_is_not_lost(run: RunContext) -> None:
    execution: Execution

    class Answering(RecordingSink):
        """Answers in the very moment in which the wait is reported."""

        def transition(self, event: Any, context: Any) -> None:
            super().transition(event, context)
            if type(event).__name__ == "NodeWaiting":
                execution.answer("ask", "key", "in time")

    execution = execution_of(Flow() >> task(name="ask")(lambda ctx: ctx.wait("key")), run, sink=Answering())
    execution.run()
    assert run.status is RunStatus.COMPLETED
    assert execution.ctx.output == "in time"


def test_an_answer_while_other_nodes_run_is_taken_at_once(run: RunContext) -> None:
    answered = threading.Event()
    ask = task(name="ask")(lambda ctx: ctx.wait("key"))
    then = task(name="then")(answered.set)
    slow = task(name="slow")(lambda: answered.wait(10))
    execution = execution_of(Flow() >> [ask >> then, slow], run)

    def answer() -> None:
        wait_until(lambda: bool(execution.waits()), "the node to wait")
        execution.answer("ask", "key")

    helper = threading.Thread(target=answer)
    helper.start()
    execution.run()
    helper.join()
    assert execution.ctx.results["slow"] is True


def test_answers_racing_the_park_are_never_lost() -> None:
    for _ in range(60):
        run = RunContext()
        execution = execution_of(Flow() >> task(name="ask")(lambda ctx: ctx.wait("key")), run)
        helper = threading.Thread(target=execution.answer, args=("ask", "key", 1))
        helper.start()
        execution.run()
        helper.join()
        if execution.parked:
            execution.run()
        assert run.status is RunStatus.COMPLETED
        assert states(run) == {"ask": "SUCCEEDED"}


def test_a_first_answer_stands(run: RunContext) -> None:
    execution = execution_of(Flow() >> task(name="ask")(lambda ctx: ctx.wait("key")), run)
    execution.run()
    execution.answer("ask", "key", "first")
    execution.answer("ask", "key", "second")
    execution.run()
    assert execution.ctx.output == "first"


def test_an_answer_during_a_cancel_leaves_the_node_cancelled(run: RunContext) -> None:
    cancelled = threading.Event()
    slow = task(name="slow")(lambda: cancelled.wait(10))
    execution = execution_of(Flow() >> [task(name="ask")(lambda ctx: ctx.wait("key")), slow], run)

    def cancel_and_answer() -> None:
        wait_until(lambda: bool(execution.waits()), "the node to wait")
        execution.cancel()
        execution.answer("ask", "key")
        cancelled.set()

    helper = threading.Thread(target=cancel_and_answer)
    helper.start()
    execution.run()
    helper.join()
    assert states(run) == {"ask": "CANCELLED", "slow": "SUCCEEDED"}


def test_waiting_does_not_give_back_attempts_that_failed(run: RunContext) -> None:
    calls: list[int] = []

    @task(retries=2, backoff=0)
    def stubborn(ctx: Any) -> Any:
        calls.append(1)
        if len(calls) < 3:
            raise ValueError("early")
        return ctx.wait("key")

    execution = execution_of(Flow() >> stubborn, run)
    execution.run()
    execution.refuse("stubborn", "key", "no")
    execution.run()
    assert len(calls) == 4
    assert [attempt.number for attempt in run.task_records["stubborn"].attempts] == [1, 2, 3]


def test_a_wait_inside_a_task_group_is_a_wait(run: RunContext) -> None:
    @task
    async def ask(ctx: Any) -> Any:
        async def inner() -> Any:
            return ctx.wait("key")

        async with asyncio.TaskGroup() as group:
            answer = group.create_task(inner())
        return answer.result()

    execution = execution_of(Flow() >> ask, run)
    execution.run()
    assert execution.parked
    execution.answer("ask", "key", 5)
    execution.run()
    assert execution.ctx.output == 5


# Cancels and time-outs at bad moments


async def test_arun_may_be_cancelled_twice(engine: Engine, run: RunContext) -> None:
    release = threading.Event()
    entered = threading.Event()

    @task
    def stubborn() -> None:
        entered.set()
        release.wait(10)

    outer = asyncio.create_task(engine.arun(Flow() >> stubborn, run_context=run))
    await asyncio.to_thread(entered.wait, 10)
    outer.cancel()
    await asyncio.sleep(0)
    outer.cancel()
    with pytest.raises(asyncio.CancelledError):
        await outer
    release.set()
    assert run.status is RunStatus.CANCELLED


async def test_a_coroutine_of_the_run_that_somebody_cancels_ends_the_run(engine: Engine) -> None:
    @task
    async def forever() -> None:
        await asyncio.Event().wait()

    outer = asyncio.create_task(engine.arun(Flow() >> forever))
    others: set[asyncio.Task[Any]] = set()
    while not others:
        await asyncio.sleep(0)
        others = asyncio.all_tasks() - {outer, asyncio.current_task()}
    for other in others:
        other.cancel()
    with pytest.raises(TaskExited):
        await outer


def test_a_cancel_racing_retries_starts_none_twice(engine: Engine) -> None:
    for _ in range(100):
        run = RunContext()
        starts: list[int] = []

        @task(retries=1_000_000, backoff=0)
        def flaky(ctx: Any, starts: list[int] = starts) -> None:
            starts.append(1)
            if len(starts) == 3:
                threading.Thread(target=engine.cancel, args=(ctx.run_id,)).start()
            raise ValueError("again")

        flaky.task.inputs = {"starts": starts}
        try:
            engine.run(Flow() >> flaky, run_context=run)
        except ValueError:
            pytest.fail("a cancelled run does not raise")
        assert run.status is RunStatus.CANCELLED
        assert states(run)["flaky"] in ("CANCELLED", "FAILED")


def test_a_lane_that_blocks_later_is_noticed_too(engine: Engine) -> None:
    others_done = threading.Event()
    first = task(name="first")(lambda: threading.Event().wait(0.3))

    @task
    async def blocker() -> bool:
        return others_done.wait(10)  # on purpose: blocks its event loop

    @task
    async def other() -> None:
        others_done.set()

    assert engine.run(Flow() >> first >> (blocker & other)).results["blocker"] is True


def test_a_late_coroutine_of_a_timed_out_function_never_starts(engine: Engine) -> None:
    started: list[int] = []
    release, returned = threading.Event(), threading.Event()

    async def late() -> None:
        started.append(1)

    @task(timeout_sec=0.05)
    def slow() -> Any:
        release.wait(10)
        returned.set()
        return late()

    with pytest.raises(TimeoutError):
        engine.run(Flow() >> slow)
    release.set()
    assert returned.wait(10)
    wait_until(lambda: not any("pyoco" in thread.name for thread in threading.enumerate()), "the threads to end")
    assert started == []


def test_a_hook_that_takes_long_does_not_hide_the_thread_from_a_time_out(run: RunContext) -> None:
    release = threading.Event()

    class Slow(RecordingTrace):
        def on_node_start(self, node_name: str) -> None:
            release.wait(10)

    sink = RecordingSink()
    with pytest.raises(TimeoutError):
        Engine(Slow()).run(Flow() >> task(name="t", timeout_sec=0.05)(lambda: 1), run_context=run, sink=sink)
    release.set()
    assert [thread.node for thread in sink.stuck_threads] == ["t"]


def test_a_coroutine_that_swallows_its_cancel_is_reported_as_stuck(run: RunContext) -> None:
    release = threading.Event()

    @task(timeout_sec=0.05)
    async def stubborn() -> None:
        while not release.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue

    sink = RecordingSink()
    with pytest.raises(TimeoutError):
        Engine(SilentTrace()).run(Flow() >> stubborn, run_context=run, sink=sink)
    release.set()
    assert [thread.node for thread in sink.stuck_threads] == ["stubborn"]
    wait_until(lambda: not any("pyoco" in thread.name for thread in threading.enumerate()), "the event loop to end")


def test_a_pool_whose_idle_thread_is_abandoned_still_does_its_jobs() -> None:
    pool = ThreadPool(2)
    seen: list[threading.Thread] = []
    pool.put([lambda: seen.append(threading.current_thread())])
    wait_until(lambda: pool._idle == 1, "the thread to be idle")
    pool.abandon(seen[0])
    done = threading.Event()
    pool.put([done.set])
    assert done.wait(10)
    pool.close()


# Loops that run in parallel


def test_parallel_iterations_do_not_overwrite_newer_results_outside(engine: Engine) -> None:
    order = threading.Barrier(2, timeout=10)

    @task
    def note(ctx: Any) -> str:
        order.wait()
        return "new"

    @task
    def body(item: int) -> int:
        if item == 0:
            order.wait()
        return item

    loop = body.foreach("$ctx.params.xs", item="item", parallel=2)
    look = task(name="look")(lambda note: note)
    before = task(name="before")(lambda ctx: ctx.set_result("note", "old"))
    ctx = engine.run(Flow() >> before >> [note, loop] >> look, {"xs": [0, 1]})
    assert ctx.results["look"] == "new"
    assert ctx.results["body"] == 1


def test_results_set_in_a_parallel_iteration_are_seen_by_its_own_neighbours_and_recorded() -> None:
    def build() -> Flow:
        @task(outputs=["results.saved"])
        def first(ctx: Any, item: int) -> int:
            ctx.set_result("marked", item)
            return item

        second = task(name="second")(lambda ctx, marked, saved: [ctx.loop.item, marked, saved])
        loop = (first >> second).foreach("$ctx.params.xs", item="item", parallel=3, collect="list")
        return Flow() >> loop >> task(name="all")(lambda ctx: ctx.collected["second"])

    sink = RecordingSink()
    expected = [[n, n, n] for n in (1, 2, 3)]
    params = {"xs": [1, 2, 3]}
    assert Engine(SilentTrace()).run(build(), params, sink=sink).output == expected
    for cut in range(len(sink.snapshots)):
        resumed = Engine(SilentTrace()).run(build(), params, journal=sink.journal_at(cut))
        assert resumed.output == expected


def test_collected_values_belong_to_the_iteration_that_collected_them(engine: Engine) -> None:
    inner = task(name="inner")(lambda x, y: f"{x}{y}")
    look = task(name="look")(lambda ctx: ctx.collected["inner"])
    body = inner.foreach("$ctx.params.ys", item="y", collect="list") >> look
    flow = Flow() >> body.foreach("$ctx.params.xs", item="x", parallel=3)
    ctx = engine.run(flow, {"xs": ["a", "b", "c"], "ys": [1, 2]})
    assert ctx.collected["look"] == [["a1", "a2"], ["b1", "b2"], ["c1", "c2"]]


def test_a_loop_variable_that_a_task_changes_is_recorded() -> None:
    def build() -> Flow:
        change = task(name="change")(lambda ctx: ctx.set_var("item", "changed"))
        look = task(name="look")(lambda ctx: ctx.get_var("item"))
        return Flow() >> (change >> look)["$ctx.params.xs as item"]

    sink = RecordingSink()
    assert Engine(SilentTrace()).run(build(), {"xs": [1]}, sink=sink).output == "changed"
    for cut in range(len(sink.snapshots)):
        assert Engine(SilentTrace()).run(build(), {"xs": [1]}, journal=sink.journal_at(cut)).output == "changed"


# The context of a task


def test_assigning_a_whole_dictionary_keeps_the_run_recorded() -> None:
    @task
    def replace(ctx: Any) -> None:
        ctx.scratch = {"x": 1}

    sink = RecordingSink()
    ctx = Engine(SilentTrace()).run(Flow() >> replace, sink=sink)
    assert ctx.scratch == {"x": 1}
    assert sink.journal.context["scratch"]["set"] == {"x": 1}


def test_a_nested_run_with_a_journal_keeps_its_context_over_two_resumes() -> None:
    contexts: list[Any] = []

    def inner_run() -> None:
        step = task(name="step", outputs=["scratch.x"])(lambda: 1)
        journal: Journal | None = None
        for _ in range(3):
            sink = RecordingSink(journal)
            Engine(SilentTrace()).run(Flow() >> step >> after, sink=sink, journal=journal)
            journal = sink.journal_at(-1)
            contexts.append(journal.context["scratch"])

    Engine(SilentTrace()).run(Flow() >> task(name="outer")(inner_run), sink=RecordingSink())
    assert contexts == [{"set": {"x": 1}}] * 3


variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")


async def test_each_node_sees_the_callers_context_variables_and_keeps_its_own_changes(engine: Engine) -> None:
    @task
    async def change() -> str:
        seen = variable.get()
        variable.set("changed")
        return seen

    look_async = task(name="look_async")(change.task.func)
    look = task(name="look")(variable.get)
    token = variable.set("caller")
    try:
        ctx = await engine.arun(Flow() >> change >> look_async >> look)
        assert set(ctx.results.values()) == {"caller"}
        assert variable.get() == "caller"
    finally:
        variable.reset(token)


def test_a_context_can_be_copied(engine: Engine) -> None:
    flow = Flow() >> task(name="t")(lambda ctx: copy.copy(ctx).params["x"])
    assert engine.run(flow, {"x": 5}).output == 5


def test_bad_arguments_of_a_log_call_are_not_an_error_of_the_task() -> None:
    sink = RecordingSink()
    Engine(SilentTrace()).run(Flow() >> task(name="t")(lambda ctx: ctx.logger.info("%d", "x")), sink=sink)
    assert texts(sink.lines) == ["%d % ('x',)"]


def test_a_receiver_of_lines_may_print_itself(capsys: pytest.CaptureFixture[str]) -> None:
    class Printing(RecordingSink):
        def line(self, line: LogLine) -> None:
            super().line(line)
            print(f"received {line.text}")

    sink = Printing()
    Engine(SilentTrace()).run(Flow() >> task(name="t")(lambda: print("hello")), sink=sink)
    assert texts(sink.lines) == ["hello"]
    assert "received hello" in capsys.readouterr().out


def test_the_output_of_a_flow_inside_a_task_is_output_of_that_task(engine: Engine) -> None:
    inner = task(name="inner")(lambda: print("from inside"))
    outer = task(name="outer")(lambda: engine.run(Flow() >> inner) and None)
    sink = RecordingSink()
    Engine(SilentTrace()).run(Flow() >> outer, sink=sink)
    assert [(line.node, line.text) for line in sink.lines] == [("outer", "from inside")]


def test_skipped_nodes_keep_their_own_path_and_are_not_reported_again() -> None:
    def build() -> Flow:
        @task(fail_policy="isolate")
        def bad() -> None:
            raise ValueError("bad")

        return Flow() >> bad >> switch("1")[1 >> task(name="skipped")(lambda: 1)]

    sink = RecordingSink()
    Engine(SilentTrace()).run(build(), sink=sink)
    assert set(sink.journal.nodes) == {"bad", "skipped"}
    again = RecordingSink(sink.journal_at(-1))
    Engine(SilentTrace()).run(build(), sink=again, journal=sink.journal_at(-1))
    assert again.events == []
