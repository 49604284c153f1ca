"""The wire: what is sent arrives as it was; everything else is refused."""

from __future__ import annotations

import json
import struct
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyoco.executor import protocol
from pyoco.executor.messages import (
    AnswerWait,
    CancelRun,
    EndStatus,
    ErrorKind,
    EventKind,
    Line,
    Lines,
    Ready,
    RenewLeases,
    RunEnded,
    RunError,
    Setup,
    StartRun,
    Stop,
    ToExecutor,
    ToWorker,
    Transitioned,
    Wait,
)
from pyoco.executor.protocol import FrameTooLarge, ProtocolError, encode, executor_reader, worker_reader

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
numbers = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)
objects = st.dictionaries(texts, json_values, max_size=4)
maybe_text = st.none() | texts
lines = st.builds(Line, numbers, texts, texts, texts, texts, maybe_text)
errors = st.builds(RunError, kind=st.sampled_from(get_args(ErrorKind)), message=texts, traceback=maybe_text)
waits = st.builds(Wait, path=texts, key=texts, prompt=maybe_text)

to_worker: st.SearchStrategy[Any] = st.one_of(
    st.builds(Ready, pid=st.integers(1), python=texts, flows=st.lists(texts), problems=st.lists(texts)),
    st.builds(
        Transitioned,
        run_id=texts,
        event=st.sampled_from(get_args(EventKind)),
        path=texts,
        node=texts,
        at=numbers,
        attempt=st.integers(0, 9),
        started_at=st.none() | numbers,
        inputs=objects,
        output=json_values,
        replay=st.booleans(),
        error=maybe_text,
        value=json_values,
        context=st.none() | objects,
        lost=st.lists(texts, max_size=3),
    ),
    st.builds(Lines, run_id=texts, lines=st.lists(lines, max_size=3)),
    st.builds(
        RunEnded,
        run_id=texts,
        status=st.sampled_from(get_args(EndStatus)),
        output=json_values,
        recorded=st.booleans(),
        error=st.none() | errors,
        waits=st.lists(waits, max_size=2),
    ),
)
to_executor: st.SearchStrategy[Any] = st.one_of(
    st.builds(Setup, code_dir=maybe_text, paths=st.lists(texts), allowed_callables=st.lists(texts)),
    st.builds(StartRun, run_id=texts, flow_name=texts, workflow_yaml=maybe_text, params=objects, journal=objects),
    st.builds(RenewLeases, leases=st.dictionaries(texts, numbers)),
    st.builds(CancelRun, run_id=texts, grace=st.none() | numbers),
    st.builds(AnswerWait, run_id=texts, path=texts, key=texts, payload=json_values, error=maybe_text),
    st.builds(Stop, grace=numbers),
)


@given(st.lists(to_worker, max_size=4), st.data())
def test_messages_arrive_as_they_were_however_the_bytes_are_cut(messages: list[ToWorker], data: st.DataObject) -> None:
    stream = b"".join(encode(message) for message in messages)
    reader, arrived = worker_reader(), []
    while stream:
        cut = data.draw(st.integers(1, len(stream)))
        arrived += reader.feed(stream[:cut])
        stream = stream[cut:]
    assert arrived == messages


@given(to_executor)
def test_orders_arrive_as_they_were(message: ToExecutor) -> None:
    assert executor_reader().feed(encode(message)) == [message]


@given(to_worker, st.data())
def test_half_a_frame_is_no_message(message: ToWorker, data: st.DataObject) -> None:
    frame = encode(message)
    assert worker_reader().feed(frame[: data.draw(st.integers(0, len(frame) - 1))]) == []


@given(st.binary(max_size=200))
def test_garbage_is_refused_and_nothing_else_happens(garbage: bytes) -> None:
    reader = worker_reader()
    with pytest.raises(ProtocolError):
        reader.feed(struct.pack(">I", len(garbage)) + garbage)


@pytest.mark.parametrize(
    "document",
    [
        {"type": "StartRun", "flow_name": "f"},
        {"type": "StartRun", "run_id": 1, "flow_name": "f"},
        {"type": "StartRun", "run_id": "r", "flow_name": "f", "params": []},
        {"type": "StartRun", "run_id": "r", "flow_name": "f", "surprise": 1},
        {"type": "StartRun", "run_id": "r", "flow_name": "f", "lease": True},
        {"type": "RenewLeases", "leases": {"r": "soon"}},
        {"type": "Stop"},
        {"type": "RunEnded", "run_id": "r", "status": "COMPLETED"},
        {"type": 7},
        [],
        "Stop",
    ],
)
def test_an_order_with_wrong_fields_is_refused(document: Any) -> None:
    body = json.dumps(document).encode()
    with pytest.raises(ProtocolError):
        executor_reader().feed(struct.pack(">I", len(body)) + body)


def test_an_unknown_state_of_a_run_is_refused() -> None:
    body = json.dumps({"type": "RunEnded", "run_id": "r", "status": "PERHAPS"}).encode()
    with pytest.raises(ProtocolError, match="PERHAPS"):
        worker_reader().feed(struct.pack(">I", len(body)) + body)


def test_a_frame_beyond_the_limit_is_refused_before_it_is_read() -> None:
    with pytest.raises(ProtocolError, match="over the limit"):
        worker_reader().feed(struct.pack(">I", protocol.MAX_FRAME_BYTES + 1))


def test_a_message_beyond_the_limit_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "MAX_FRAME_BYTES", 1000)
    with pytest.raises(FrameTooLarge):
        encode(RunEnded(run_id="r", status="COMPLETED", output="x" * 1000))


def test_text_that_is_no_unicode_arrives_as_valid_text() -> None:
    line = Line(1.0, "", "", "stdout", "broken \udc80 text")
    (message,) = worker_reader().feed(encode(Lines(run_id="r", lines=[line])))
    assert isinstance(message, Lines)
    assert message.lines[0].text == "broken ? text"
