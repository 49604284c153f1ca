"""Logs: one line of JSON per record whatever is logged, with what the specification asks for, and without secrets."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyoco.config import Settings
from pyoco.errors import PyocoError, catalogue
from pyoco.log import GATEWAY, WORKER, Formatter, configure_logging, jsonable, log_context, log_problem

logger = logging.getLogger("tests.log")


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    logging.captureWarnings(False)
    for handler in list(root.handlers):
        root.removeHandler(handler)
    for handler in handlers:
        root.addHandler(handler)
    root.setLevel(level)


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def record(message: object = "m", *args: object, **extra: object) -> logging.LogRecord:
    made = logging.LogRecord("tests", logging.INFO, "/code/file.py", 7, message, args, None, "work")
    vars(made).update(extra)
    return made


def fail() -> None:
    raise RuntimeError("boom")


def caught_by(function: Any) -> Exception:
    try:
        function()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def test_a_record_has_every_required_field(stream: io.StringIO) -> None:
    configure_logging(service=GATEWAY, stream=stream)
    logger.info("hello %s", "world")
    (line,) = lines(stream)
    assert (line["service"], line["level"], line["logger"]) == ("pyoco-server:http", "INFO", "tests.log")
    assert line["message"] == "hello world"
    assert (line["pathname"], line["func"]) == (__file__, "test_a_record_has_every_required_field")
    assert isinstance(line["lineno"], int)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["ts"])


def test_the_services_have_the_documented_names() -> None:
    assert (GATEWAY, WORKER) == ("pyoco-server:http", "pyoco-server:worker")


def test_an_exception_is_recorded_with_where_it_came_from(stream: io.StringIO) -> None:
    configure_logging(service=WORKER, stream=stream)
    try:
        fail()
    except RuntimeError:
        logger.exception("failed", extra={"run_id": "r1", "err_id": "ERR-PYOCO-0007"})
    (line,) = lines(stream)
    assert (line["exc_type"], line["exc_message"]) == ("RuntimeError", "boom")
    assert "Traceback" in line["exc_traceback"]
    assert line["exc_origin"] == {"file": __file__, "line": fail.__code__.co_firstlineno + 1, "func": "fail"}
    assert (line["run_id"], line["err_id"]) == ("r1", "ERR-PYOCO-0007")


def test_tracebacks_can_be_left_out_but_not_the_place(stream: io.StringIO) -> None:
    configure_logging(service=WORKER, settings=Settings(log_include_traceback=False), stream=stream)
    logger.error("failed", exc_info=caught_by(fail))
    (line,) = lines(stream)
    assert "exc_traceback" not in line
    assert line["exc_origin"]["func"] == "fail"


def test_the_level_of_the_settings_counts(stream: io.StringIO) -> None:
    configure_logging(service=WORKER, settings=Settings(log_level="WARNING"), stream=stream)
    logger.info("quiet")
    logger.warning("loud")
    assert [line["message"] for line in lines(stream)] == ["loud"]


def test_local_time_carries_its_offset(stream: io.StringIO) -> None:
    configure_logging(service=WORKER, settings=Settings(log_utc=False), stream=stream)
    logger.info("now")
    assert re.search(r"[+-]\d\d:\d\d$", lines(stream)[0]["ts"])


def test_the_default_is_standard_output_and_nothing_but_json(capsys: pytest.CaptureFixture[str]) -> None:
    logging.getLogger().addHandler(logging.StreamHandler(sys.stdout))
    configure_logging(service=GATEWAY)
    configure_logging(service=GATEWAY)
    logger.info("once")
    out = capsys.readouterr().out
    assert [json.loads(line)["message"] for line in out.splitlines()] == ["once"]


def test_python_warnings_become_records(stream: io.StringIO) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        configure_logging(service=GATEWAY, stream=stream)
        warnings.warn("old thing", stacklevel=1)
    assert "old thing" in lines(stream)[0]["message"]


async def test_bound_fields_reach_the_records_of_their_own_task_only(stream: io.StringIO) -> None:
    configure_logging(service=GATEWAY, stream=stream)

    async def handle(request_id: str) -> None:
        with log_context(request_id=request_id):
            await asyncio.sleep(0)
            with log_context(run_id=f"run-{request_id}"):
                logger.info("inside")
            logger.info("outside")

    await asyncio.gather(handle("a"), handle("b"))
    logger.info("nowhere")
    *bound, last = lines(stream)
    assert {(line["message"], line["request_id"], line.get("run_id")) for line in bound} == {
        ("inside", "a", "run-a"),
        ("outside", "a", None),
        ("inside", "b", "run-b"),
        ("outside", "b", None),
    }
    assert "request_id" not in last


def test_what_is_said_at_the_call_beats_what_is_bound(stream: io.StringIO) -> None:
    configure_logging(service=GATEWAY, stream=stream)
    with log_context(run_id="bound"):
        logger.info("x", extra={"run_id": "said"})
    assert lines(stream)[0]["run_id"] == "said"


def test_required_fields_cannot_be_overwritten(stream: io.StringIO) -> None:
    configure_logging(service=GATEWAY, stream=stream)
    with log_context(service="forged", ts="never"):
        logger.info("x", extra={"level": "forged"})
    (line,) = lines(stream)
    assert (line["service"], line["level"]) == (GATEWAY, "INFO")
    assert (line["extra_service"], line["extra_level"], line["extra_ts"]) == ("forged", "forged", "never")


@pytest.mark.parametrize(
    ("error", "level", "code", "err_id"),
    [
        (PyocoError(catalogue.RUN_NOT_FOUND), "WARNING", "NOT_FOUND", "ERR-PYOCO-0005"),
        (PyocoError(catalogue.NATS_UNAVAILABLE), "ERROR", "NATS_UNAVAILABLE", "ERR-PYOCO-0003"),
        (ValueError("secret"), "ERROR", "INTERNAL_ERROR", "ERR-PYOCO-0042"),
    ],
)
def test_an_error_answer_is_logged_with_its_ids(
    error: Exception, level: str, code: str, err_id: str, stream: io.StringIO
) -> None:
    configure_logging(service=GATEWAY, stream=stream)
    log_problem(logger, error, http_status=404, name="taken", message="taken")
    (line,) = lines(stream)
    assert (line["level"], line["code"], line["err_id"]) == (level, code, err_id)
    assert line["msg_id"] == err_id.replace("ERR", "MSG")
    assert (line["http_status"], line["extra_name"], line["extra_message"]) == (404, "taken", "taken")
    assert line["exc_type"] == type(error).__name__
    assert line["func"] == "test_an_error_answer_is_logged_with_its_ids"


def test_a_pyoco_error_brings_its_ids_to_any_record(stream: io.StringIO) -> None:
    configure_logging(service=WORKER, stream=stream)
    logger.error("late", exc_info=PyocoError(catalogue.CANCEL_TIMEOUT))
    assert lines(stream)[0]["err_id"] == "ERR-PYOCO-0021"


def test_secrets_do_not_reach_the_log(stream: io.StringIO) -> None:
    configure_logging(service=WORKER, stream=stream)
    url = "nats://user:hunter2@host:4222"

    def connect() -> None:
        raise OSError(f"cannot reach {url}")

    logger.error(
        "connecting to %s",
        url,
        exc_info=caught_by(connect),
        extra={"url": url, "password": "hunter2", "deep": [{"X-API-Key": "hunter2", "urls": (url,)}], url: 1},
    )
    assert "hunter2" not in stream.getvalue()
    (line,) = lines(stream)
    assert line["url"] == "nats://user:***@host:4222"
    assert line["deep"] == [{"X-API-Key": "***", "urls": ["nats://user:***@host:4222"]}]


def test_text_is_for_people(stream: io.StringIO) -> None:
    configure_logging(service=WORKER, settings=Settings(log_format="text"), stream=stream)
    logger.warning("line\nbreak \x1b[31m", exc_info=caught_by(fail), extra={"run_id": "r1"})
    first, *rest = stream.getvalue().splitlines()
    assert " WARNING pyoco-server:worker tests.log: line\\nbreak \\x1b[31m run_id=r1 " in first
    assert rest[0] == "    Traceback (most recent call last):"
    assert "RuntimeError: boom" in rest[-1]


class Nasty:
    """Raises whatever is asked of it."""

    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__


class NastyMapping(dict[str, object]):
    def items(self) -> Any:
        raise ValueError("no items")


class Lying(str):
    def __str__(self) -> str:
        raise ValueError("no text")


def cyclic() -> list[Any]:
    ring: list[Any] = []
    ring.extend([ring] * 10)
    return ring


def wide(depth: int) -> list[Any]:
    """Few objects, but 1000 to the power of `depth` values."""
    value: list[Any] = [0]
    for _ in range(depth):
        value = [value] * 1000
    return value


ANYTHING: dict[str, Callable[[], object]] = {
    "nasty": Nasty,
    "nasty mapping": lambda: NastyMapping(a=1),
    "lying text": lambda: Lying("true text"),
    "cyclic": cyclic,
    "huge number": lambda: 10**5000,
    "not a number": lambda: float("nan"),
    "infinite": lambda: float("-inf"),
    "bytes": lambda: b"\xff\n",
    "odd characters": lambda: "\ud800 \u2028 \x85 \x00 日本語",
    "odd keys": lambda: {1: {2: {3}}, None: object},
    "exception": lambda: ValueError("x"),
    "path": lambda: Path("/tmp"),
}


@pytest.mark.parametrize("name", ANYTHING)
@pytest.mark.parametrize("format_name", ["json", "text"])
def test_any_object_can_be_logged_anywhere(name: str, format_name: str, stream: io.StringIO) -> None:
    configure_logging(service=WORKER, settings=Settings.model_validate({"log_format": format_name}), stream=stream)
    value = ANYTHING[name]()
    with log_context(bound=value):
        logger.info("value %s", value, extra={"extra": value})
        logger.info(value)
        logger.info("does not fit %d %d", value)
    written = stream.getvalue()
    assert written.count("\n") == len(written.splitlines()) == 3
    assert len(written) < 3_000_000
    assert "value" in written.splitlines()[0]


def test_one_unprintable_value_does_not_cost_its_neighbours() -> None:
    made = jsonable({"good": 1, "bad": Nasty(), "nested": [Nasty(), 2]})
    assert made == {"good": 1, "bad": "<unprintable Nasty>", "nested": ["<unprintable Nasty>", 2]}


@pytest.mark.parametrize("depth", [3, 7, 20])
def test_a_value_without_end_is_cut(depth: int, stream: io.StringIO) -> None:
    configure_logging(service=WORKER, stream=stream)
    logger.info("wide", extra={"data": wide(depth), "after": 1})
    assert len(stream.getvalue()) < 200_000
    assert "…" in stream.getvalue()
    assert lines(stream)[0]["after"] == 1


def test_numbers_that_json_does_not_know_become_text() -> None:
    assert jsonable([float("nan"), float("inf"), True, 1, 1.5, None]) == ["nan", "inf", True, 1, 1.5, None]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.builds(Lying, st.text()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner, inner),
    max_leaves=10,
)


@given(message=VALUES, args=st.lists(VALUES, max_size=3), extra=st.dictionaries(st.text(), VALUES, max_size=4))
def test_every_record_is_one_line_of_valid_json(message: object, args: list[object], extra: dict[str, object]) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    made = record(message, *args)
    taken = set(vars(made))
    vars(made).update({name: value for name, value in extra.items() if name not in taken})
    line = Formatter(GATEWAY).json_line(made)
    assert len(line.splitlines()) == 1
    told = json.loads(line.encode("utf-8"), parse_constant=refuse)
    assert {"ts", "service", "level", "logger", "message", "pathname", "lineno", "func"} <= told.keys()
    assert told["service"] == GATEWAY


@given(st.text())
def test_text_comes_back_as_it_was(text: str) -> None:
    told = json.loads(Formatter(GATEWAY).json_line(record("%s", text)))
    if "://" not in text and "earer" not in text.lower():
        assert told["message"] == text


def test_a_record_nobody_can_read_still_gives_a_line() -> None:
    broken = record("x")
    broken.created = "yesterday"  # type: ignore[assignment]
    told = json.loads(Formatter(GATEWAY).json_line(broken))
    assert (told["err_id"], told["level"], told["service"]) == ("ERR-PYOCO-0013", "ERROR", GATEWAY)


@pytest.mark.parametrize("format_name", ["json", "text"])
def test_an_output_that_knows_only_ascii_gets_escapes(format_name: str) -> None:
    raw = io.BytesIO()
    output = io.TextIOWrapper(raw, encoding="ascii")
    configure_logging(service=GATEWAY, settings=Settings.model_validate({"log_format": format_name}), stream=output)
    logger.info("日本語 😀")
    written = raw.getvalue().decode("ascii")
    assert "\\u65e5" in written
    if format_name == "json":
        assert json.loads(written)["message"] == "日本語 😀"


def test_japanese_stays_readable(stream: io.StringIO) -> None:
    configure_logging(service=GATEWAY, stream=stream)
    logger.info("日本語")
    assert "日本語" in stream.getvalue()


def test_an_output_that_is_gone_is_reported_once_and_stops_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    gone = io.StringIO()
    configure_logging(service=GATEWAY, stream=gone)
    gone.close()
    logger.info("one")
    logger.info("two")
    assert capsys.readouterr().err == "ERR-PYOCO-0013 Writing the log failed (best-effort): ValueError\n"


def test_each_record_is_written_in_one_piece() -> None:
    pieces: list[str] = []

    class Output(io.StringIO):
        def write(self, text: str) -> int:
            pieces.append(text)
            return len(text)

    configure_logging(service=GATEWAY, stream=Output())
    logger.info("a")
    assert len(pieces) == 1
    assert pieces[0].endswith("}\n")
