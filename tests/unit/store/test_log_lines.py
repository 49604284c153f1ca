"""The wire format of a run's log."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyoco.domain.values import Unreadable
from pyoco.store.log_lines import (
    Author,
    Entry,
    Line,
    Place,
    cut,
    encode_line,
    entries,
    place_from_headers,
    plain_text,
    take_batch,
)

AUTHOR = Author("writer", 7)
LINES = st.lists(
    st.builds(
        Line,
        at=st.floats(0, 1e10).map(lambda at: round(at, 6)),
        text=st.text(max_size=60),
        task=st.text(max_size=8),
        stream=st.sampled_from(["stdout", "stderr", "log", "process"]),
        level=st.sampled_from([None, "INFO", "ERROR"]),
    ),
    max_size=60,
)


def sent(lines: list[Line], limit: int, max_line: int = 16_384) -> list[tuple[dict[str, str], bytes]]:
    """The messages of a log: headers and payload."""
    waiting = deque(encode_line(line, max_line) for line in lines)
    messages, seq, offset = [], 1, 0
    while waiting:
        batch = take_batch(waiting, limit)
        place = batch.place(seq, offset, AUTHOR)
        messages.append((place.headers(), batch.payload()))
        seq, offset = place.next_seq, place.end
    return messages


def received(messages: list[tuple[dict[str, str], bytes]]) -> list[Entry]:
    return [entry for headers, payload in messages for entry in entries(place_from_headers(headers), payload)]


@given(LINES, st.integers(1, 2000))
def test_any_lines_come_back_as_entries_numbered_from_one(lines: list[Line], limit: int) -> None:
    found = received(sent(lines, limit))
    assert [Line(e.timestamp, e.message, e.task, e.stream, e.level) for e in found] == lines
    assert [entry.seq for entry in found] == list(range(1, len(lines) + 1))


@given(LINES, st.integers(1, 2000))
def test_byte_offsets_are_those_of_the_plain_text(lines: list[Line], limit: int) -> None:
    whole = "".join(f"{line.text}\n" for line in lines).encode()
    messages = sent(lines, limit)
    assert plain_text(received(messages)) == whole
    for headers, payload in messages:
        place = place_from_headers(headers)
        assert whole[place.offset : place.end] == plain_text(entries(place, payload))


@given(LINES, st.integers(1, 2000))
def test_a_message_is_above_the_limit_only_if_it_holds_a_single_line(lines: list[Line], limit: int) -> None:
    for headers, payload in sent(lines, limit):
        assert len(payload) <= limit or place_from_headers(headers).lines == 1


@given(st.text(), st.integers(1, 50))
def test_a_long_line_is_cut_between_characters_and_marked(text: str, limit: int) -> None:
    size = len(text.encode())
    shown = cut(text, limit)
    if size <= limit:
        assert shown == text
    else:
        kept, mark, rest = shown.rpartition("… [")
        assert text.startswith(kept)
        assert len(kept.encode()) <= limit
        assert mark + rest == f"… [{size - len(kept.encode())} bytes cut]"


def test_a_line_of_exactly_the_limit_is_not_cut() -> None:
    assert cut("é" * 4, 8) == "é" * 4
    assert cut("é" * 4, 7) == "ééé… [2 bytes cut]"


def test_half_a_surrogate_pair_does_not_break_the_log() -> None:
    messages = sent([Line(1.0, "a\ud800b"), Line(2.0, "next")], 1000)
    assert [entry.message for entry in received(messages)] == ["a?b", "next"]


def test_a_line_with_line_ends_inside_stays_one_entry() -> None:
    found = received(sent([Line(1.0, "one\ntwo")], 1000))
    assert [entry.message for entry in found] == ["one\ntwo"]


@pytest.mark.parametrize("missing", Place(1, 0, 1, 1, AUTHOR).headers())
def test_a_message_without_its_headers_is_not_a_log_message(missing: str) -> None:
    headers = Place(1, 0, 1, 1, AUTHOR).headers()
    del headers[missing]
    with pytest.raises(Unreadable, match="not a log message"):
        place_from_headers(headers)


@pytest.mark.parametrize("payload", [b"", b"{", b"3", b"[1]", b'[["too short"]]'])
def test_a_payload_of_something_else_is_unreadable(payload: bytes) -> None:
    with pytest.raises(Unreadable, match="not a log message"):
        entries(Place(1, 0, 1, 1, AUTHOR), payload)
