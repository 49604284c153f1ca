"""How exceptions are shown."""

from __future__ import annotations

from pyoco.cli.failure import Problem, describe, unexpected, user_trace
from pyoco.cli.output import plain
from pyoco.engine.graph import parse_graph


def raised(code: str) -> BaseException:
    try:
        exec(compile(code, "mine.py", "exec"), {"parse_graph": parse_graph})
    except Exception as exc:
        return exc
    raise AssertionError("nothing was raised")


def test_the_trace_shows_causes_first_and_no_header_of_python() -> None:
    exc = raised("try:\n  1 / 0\nexcept ZeroDivisionError as exc:\n  raise RuntimeError('later') from exc\n")
    trace = user_trace(exc)
    assert trace.index("ZeroDivisionError") < trace.index("RuntimeError: later")
    assert 'File "mine.py", line 4' in trace
    assert "Traceback" not in trace


def test_a_suppressed_context_is_not_shown() -> None:
    exc = raised("try:\n  1 / 0\nexcept ZeroDivisionError:\n  raise RuntimeError('later') from None\n")
    assert "ZeroDivisionError" not in user_trace(exc)


def test_our_own_frames_are_left_out() -> None:
    trace = user_trace(raised("parse_graph('a >> >>')"))
    assert 'File "mine.py", line 1' in trace
    assert "parser.py" not in trace


def test_an_exception_that_never_was_in_user_code_has_no_trace() -> None:
    assert user_trace(ValueError("made up")) == ""


def test_exceptions_chained_in_a_circle_end() -> None:
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    assert user_trace(one) == ""


def test_an_exception_without_a_text_is_named_by_its_class() -> None:
    assert describe(KeyError()) == "KeyError"
    assert describe(ValueError("x")) == "ValueError: x"


def test_a_bug_is_told_in_one_line_with_its_place() -> None:
    text = unexpected(raised("parse_graph('')"))
    assert "pyoco.engine.graph" in text.splitlines()[-1]


def test_a_hint_stands_on_a_line_of_its_own() -> None:
    assert str(Problem("wrong", "right")) == "wrong\nhint: right"
    assert str(Problem("wrong")) == "wrong"


def test_values_that_json_cannot_hold_become_their_repr_where_they_stand() -> None:
    value = {"set": {1}, "deep": [{"nan": float("nan")}, (1, b"x")], "fine": 1.5}
    assert plain(value) == {"set": "{1}", "deep": [{"nan": "nan"}, [1, "b'x'"]], "fine": 1.5}
    assert plain({1: "a", (2, 3): "b"}) == repr({1: "a", (2, 3): "b"})


def test_a_value_that_contains_itself_becomes_its_repr() -> None:
    value: list[object] = [1]
    value.append(value)
    assert "[...]" in str(plain(value))
