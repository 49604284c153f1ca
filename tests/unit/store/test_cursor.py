"""Cursors: what a page gave is read back, anything else is refused."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyoco.store.cursor import BadCursor, CreatedKey, Cursor

TIMES = st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=("Cs",)))


@given(TIMES, TEXTS, st.integers(0, 2**63 - 1), TIMES, TEXTS)
def test_a_cursor_reads_back_as_it_was(started: float, stream: str, since: int, at: float, run_id: str) -> None:
    first = Cursor(started, stream, since, at, run_id)
    second = Cursor(started, stream, since, None, run_id, changed_leg=True)
    assert Cursor.decode(first.encode()) == first
    assert Cursor.decode(second.encode()) == second
    assert CreatedKey.decode(CreatedKey(at, run_id).encode()) == CreatedKey(at, run_id)


@given(st.text())
def test_any_other_text_is_refused(text: str) -> None:
    for kind in (Cursor, CreatedKey):
        with pytest.raises(BadCursor):
            kind.decode(text)


@pytest.mark.parametrize(
    "parts",
    [
        [],
        {},
        None,
        7,
        [2, 1.0, "s", 1, 0, 1.0, "r"],
        [1, float("nan"), "s", 1, 0, 1.0, "r"],
        [1, 1.0, "s", -1, 0, 1.0, "r"],
        [1, 1.0, "s", 2**63, 0, 1.0, "r"],
        [1, 1.0, "s", True, 0, 1.0, "r"],
        [1, 1.0, "s", 1, 2, 1.0, "r"],
        [1, 1.0, "s", 1, 0, None, "r"],
        [1, 1.0, "s", 1, 1, 1.0, "r"],
        [1, 1.0, "s", 1, 0, "now", "r"],
        [1, 1.0, "s", 1, 0, True, "r"],
        [1, 10**400, "s", 1, 0, 1.0, "r"],
        [1, 1.0, "s", 1, 0, 1.0, "\ud800"],
        [1, 1.0, "s", 1, 0, 1.0, 5],
    ],
)
def test_a_cursor_with_other_contents_is_refused(parts: object) -> None:
    text = base64.urlsafe_b64encode(json.dumps(parts).encode()).decode()
    with pytest.raises(BadCursor):
        Cursor.decode(text)
