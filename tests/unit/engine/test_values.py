"""The tagged JSON encoding: what counts as recorded comes back unchanged."""

from __future__ import annotations

import json
from collections import OrderedDict, namedtuple
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import IntEnum
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyoco.engine.values import NotRecordable, decode, encode

text = st.text(st.characters(exclude_categories=["Cs"]))
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    text,
    st.binary(),
    st.decimals(allow_nan=False),
    st.datetimes(timezones=st.sampled_from([None, UTC, timezone(timedelta(hours=9)), ZoneInfo("Asia/Tokyo")])),
    st.dates(),
    st.times(),
    st.timedeltas(),
)
hashable = st.one_of(st.integers(), text, st.binary(), st.dates(), st.tuples(st.integers(), text))
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner),
        st.dictionaries(text, inner),
        st.dictionaries(hashable, inner),
        st.tuples(inner, inner),
        st.sets(hashable),
        st.frozensets(hashable),
    ),
    max_leaves=20,
)


def same(left: Any, right: Any) -> bool:
    """Equal, and of the same types all the way down."""
    if type(left) is not type(right):
        return False
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    return bool(left == right)


@given(values)
def test_a_recorded_value_comes_back_unchanged_through_json_text(value: Any) -> None:
    assert same(decode(json.loads(json.dumps(encode(value), allow_nan=False))), value)


@given(st.sampled_from([float("nan"), float("inf"), float("-inf")]))
def test_floats_that_json_does_not_know_survive(value: float) -> None:
    assert repr(decode(json.loads(json.dumps(encode(value), allow_nan=False)))) == repr(value)


def test_a_dict_that_looks_like_a_tag_is_no_tag() -> None:
    for value in ({"$tuple": [1]}, {"$": 1}, {"$dict": []}, {"$set": [1], "x": 2}):
        assert decode(json.loads(json.dumps(encode(value)))) == value


class Colour(IntEnum):
    RED = 1


Point = namedtuple("Point", "x y")


class Custom(dict[str, int]):
    pass


circle: list[Any] = []
circle.append(circle)


@pytest.mark.parametrize(
    "value",
    [
        object(),
        Colour.RED,
        Point(1, 2),
        Custom(),
        OrderedDict(a=1),
        circle,
        "\ud800",
        10**5000,
        [1, {"deep": {1: object()}}],
        lambda: None,
        bytearray(b"x"),
        1j,
        range(3),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_would_come_back_different_is_refused(value: Any) -> None:
    with pytest.raises(NotRecordable):
        encode(value)


def test_a_date_and_a_datetime_stay_apart() -> None:
    assert type(decode(encode(date(2026, 1, 2)))) is date
    assert decode(encode(datetime(2026, 1, 2, fold=1))).fold == 1
    assert decode(encode(time(1, 2, 3, 4))) == time(1, 2, 3, 4)
    assert str(decode(encode(Decimal("1.10")))) == "1.10"
