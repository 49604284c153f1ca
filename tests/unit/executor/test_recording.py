"""From events to messages to a journal: nothing that a continued run needs is lost."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pyoco.engine.dsl import task
from pyoco.engine.engine import Engine
from pyoco.engine.events import ContextSource, LogLine, NodeProgressed, NodeSucceeded, StuckThread, Transition
from pyoco.engine.flow import Flow
from pyoco.engine.journal import Journal, JournalKeeper, RecordedContext
from pyoco.engine.trace import SilentTrace
from pyoco.executor.messages import Transitioned
from pyoco.executor.protocol import encode, worker_reader
from pyoco.executor.recording import ContextTracker, describe, merge_context, record, shown

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(0, 1) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=1), inner, max_size=3),
    max_leaves=8,
)
contexts = st.dictionaries(st.sampled_from(["scratch", "params", "loops"]), st.dictionaries(st.text("ab"), json_values))


class Source:
    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    def record(self) -> RecordedContext:
        return RecordedContext(self.data, set())


@given(st.lists(contexts, min_size=1, max_size=5))
def test_changes_of_a_context_add_up_to_the_whole(states: list[dict[str, Any]]) -> None:
    tracker, whole = ContextTracker({}), {}
    for state in states:
        change, _ = tracker.changes(Source(state))
        if change is not None:
            merge_context(whole, json.loads(json.dumps(change)))
        assert json.dumps(whole, sort_keys=True) == json.dumps(state, sort_keys=True)


def test_an_unchanged_context_is_not_sent() -> None:
    tracker = ContextTracker({"scratch": {"set": {"a": [1]}}})
    assert tracker.changes(Source({"scratch": {"set": {"a": [1]}}})) == (None, [])
    assert tracker.changes(Source({"scratch": {"set": {"a": [True]}}}))[0] is not None


class Both(JournalKeeper):
    """Keeps the engine's own journal, and one that went over the wire."""

    def __init__(self) -> None:
        super().__init__()
        self.copy = Journal()
        self._context = ContextTracker({})

    def transition(self, event: Transition, context: ContextSource) -> None:
        super().transition(event, context)
        (message,) = worker_reader().feed(encode(describe("r", event, self._context, context)))
        assert isinstance(message, Transitioned)
        record(self.copy, message)
        assert self.copy.to_json() == self.journal.to_json()

    def line(self, line: LogLine) -> None: ...

    def stuck(self, thread: StuckThread) -> None: ...


def test_the_journal_behind_the_wire_equals_the_engines_own() -> None:
    @task
    def write(ctx: Any) -> Any:
        ctx.scratch["count"] = ctx.scratch.get("count", 0) + 1
        ctx.progress(50, "half")
        return ("a", {1, 2})

    @task
    def opaque(ctx: Any) -> Any:
        ctx.scratch["thing"] = object()
        return object()

    @task(retries=1)
    def flaky(ctx: Any) -> None:
        if "tried" not in ctx.scratch:
            ctx.scratch["tried"] = True
            raise ValueError("once")

    @task(fail_policy="isolate")
    def fail(ctx: Any) -> None:
        ctx.scratch.pop("count")
        raise ValueError("for good")

    sink = Both()
    Engine(SilentTrace()).run(Flow() >> write[2] >> opaque >> flaky >> fail, sink=sink)
    assert {entry.state for entry in sink.copy.nodes.values()} == {"SUCCEEDED", "FAILED"}
    assert sink.copy.nodes["opaque"].replay is False


def test_large_inputs_are_shown_and_not_sent() -> None:
    event = NodeSucceeded("p", "p", 1.0, 1, None, {"small": [1, (2,)], "large": list(range(100_000))}, 0.5)
    message = describe("r", event, ContextTracker({}), Source({}))
    assert message.inputs["small"] == [1, {"$tuple": [2]}]
    assert message.inputs["large"].startswith("[0, 1, 2,")
    assert len(message.inputs["large"]) < 5000


def test_a_value_whose_repr_raises_is_named_by_its_type() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    assert "Broken" in shown(Broken())


def test_progress_with_any_message_can_be_sent() -> None:
    event = NodeProgressed("p", "p", 1.0, 50, {"not": "text"})  # type: ignore[arg-type]
    message = describe("r", event, ContextTracker({}), Source({}))
    assert (message.percent, message.message) == (50, "{'not': 'text'}")
