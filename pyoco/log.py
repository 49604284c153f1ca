"""Logs of gateway and worker: one JSON object per line on standard output, or text for a terminal."""

from __future__ import annotations

import codecs
import json
import logging
import math
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType, TracebackType
from typing import Any, Protocol, TextIO

from .errors import PyocoError, catalogue, describe, is_secret_name, redact
from .errors.redaction import MASK

GATEWAY = "pyoco-server:http"
WORKER = "pyoco-server:worker"

_context: ContextVar[Mapping[str, object]] = ContextVar("pyoco_log_context", default=MappingProxyType({}))

_OF_EVERY_RECORD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}
# A value that is nested or shared beyond these is cut: a log line is no place for a whole data set.
_DEEPEST = 8
_MOST_VALUES = 10_000
_MOST_BITS = 1024
# Not escaped by json, but the end of a line for some readers, or not encodable at all.
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class LogSettings(Protocol):
    """The part of the settings that logging needs."""

    @property
    def log_level(self) -> str: ...
    @property
    def log_format(self) -> str: ...
    @property
    def log_utc(self) -> bool: ...
    @property
    def log_include_traceback(self) -> bool: ...


def configure_logging(*, service: str, settings: LogSettings | None = None, stream: TextIO | None = None) -> None:
    """Sends all logging of this process to standard output. Calling it again replaces the earlier set-up.

    Without settings: JSON, from INFO, in UTC, with tracebacks.
    """
    stream = sys.stdout if stream is None else stream
    utc = settings.log_utc if settings else True
    include_traceback = settings.log_include_traceback if settings else True
    formatter = Formatter(service, utc, include_traceback, ascii_only=not _is_utf8(stream))
    as_json = settings is None or settings.log_format == "json"
    handler = _Handler(stream, formatter.json_line if as_json else formatter.text)
    root = logging.getLogger()
    for other in list(root.handlers):
        root.removeHandler(other)  # whatever wrote plain text to standard output before must not go on
    root.addHandler(handler)
    root.setLevel(settings.log_level if settings else logging.INFO)
    logging.captureWarnings(True)


@contextmanager
def log_context(**fields: object) -> Iterator[None]:
    """Adds fields (request_id, run_id, …) to every record of this task and of the tasks it starts."""
    token = _context.set({**_context.get(), **fields})
    try:
        yield
    finally:
        _context.reset(token)


def log_problem(logger: logging.Logger, error: BaseException, **fields: object) -> None:
    """Records an error that became a 4xx or 5xx answer: with its ids, and with where it came from."""
    told = describe(error)
    level = logging.WARNING if told.status < 500 else logging.ERROR
    # The logging module refuses names that it uses itself.
    named = {f"extra_{name}" if name in _OF_EVERY_RECORD else name: value for name, value in fields.items()}
    logger.log(level, "%s", told.message, exc_info=error, extra={**_ids(error), **named}, stacklevel=2)


def _ids(error: BaseException) -> dict[str, object]:
    told = describe(error)
    return {"code": told.code, "err_id": told.err_id, "msg_id": told.msg_id}


class Formatter:
    """Turns records into lines. Never raises, whatever is logged."""

    def __init__(
        self, service: str, utc: bool = True, include_traceback: bool = True, *, ascii_only: bool = False
    ) -> None:
        self._service = service
        self._utc = utc
        self._include_traceback = include_traceback
        self._ascii_only = ascii_only

    def json_line(self, record: logging.LogRecord) -> str:
        line = json.dumps(self.fields(record), ensure_ascii=self._ascii_only, separators=(",", ":"))
        return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", line)

    def text(self, record: logging.LogRecord) -> str:
        fields = self.fields(record)
        trace = str(fields.pop("exc_traceback", ""))
        head = " ".join(str(fields.pop(name)) for name in ("ts", "level", "service", "logger"))
        message = fields.pop("message")
        for place in ("pathname", "lineno", "func", "exc_origin"):
            fields.pop(place, None)
        rest = "".join(f" {name}={value}" for name, value in fields.items())
        lines = [f"{head}: {message}{rest}", *(f"    {step}" for step in trace.splitlines())]
        text = "\n".join(_CONTROL.sub(lambda found: ascii(found[0])[1:-1], line) for line in lines)
        return text.encode("ascii", "backslashreplace").decode() if self._ascii_only else text

    def fields(self, record: logging.LogRecord) -> dict[str, Any]:
        """Everything a record says, as JSON values. What is required of every record cannot be overwritten."""
        try:
            return self._fields(record)
        except Exception as error:  # noqa: BLE001 - a record nobody can read is still worth a line
            kind = catalogue.LOGGING_FAILED
            place = {"pathname": "", "lineno": 0, "func": ""}
            told = {"message": kind.text.english, "err_id": kind.err_id, "msg_id": kind.msg_id}
            head = {"ts": self._time(datetime.now(UTC).timestamp()), "service": self._service, "level": "ERROR"}
            return {**head, "logger": __name__, **told, **place, "exc_type": type(error).__name__}

    def _fields(self, record: logging.LogRecord) -> dict[str, Any]:
        required = {
            "ts": self._time(record.created),
            "service": self._service,
            "level": record.levelname,
            "logger": record.name,
            "message": _said(record),
            "pathname": record.pathname,
            "lineno": record.lineno,
            "func": record.funcName,
        }
        fields = {name: jsonable(value) for name, value in required.items()}
        extra = {name: value for name, value in vars(record).items() if name not in _OF_EVERY_RECORD}
        for key, value in {**_context.get(), **extra}.items():
            ((name, shown),) = jsonable({key: value}).items()
            fields[f"extra_{name}" if name in required else name] = shown
        error, trace = record.exc_info[1:] if isinstance(record.exc_info, tuple) else (None, None)
        if error is not None:
            fields |= self._exception(error, trace)
        if isinstance(error, PyocoError):
            fields = {**_ids(error), **fields}
        if record.stack_info:
            fields["stack"] = jsonable(record.stack_info)
        return fields

    def _exception(self, error: BaseException, trace: TracebackType | None) -> dict[str, Any]:
        fields: dict[str, Any] = {"exc_type": type(error).__name__, "exc_message": jsonable(_text_of(error))}
        if self._include_traceback:
            fields["exc_traceback"] = jsonable(_traceback_of(error, trace))
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        if trace is not None:
            code = trace.tb_frame.f_code
            fields["exc_origin"] = {"file": code.co_filename, "line": trace.tb_lineno, "func": code.co_name}
        return fields

    def _time(self, created: float) -> str:
        moment = datetime.fromtimestamp(created, UTC)
        if self._utc:
            return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return moment.astimezone().isoformat(timespec="milliseconds")


class _Handler(logging.Handler):
    """Writes each record in one piece. When that fails it says so once on standard error, and the program goes on."""

    def __init__(self, stream: TextIO, render: Callable[[logging.LogRecord], str]) -> None:
        super().__init__()
        self._stream = stream
        self._render = render
        self._complained = False

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._stream.write(self._render(record) + "\n")
            self._stream.flush()
        except Exception as error:  # noqa: BLE001 - a log that fails must not take its program with it
            self._complain(error)

    def _complain(self, error: Exception) -> None:
        if not self._complained:
            self._complained = True
            kind = catalogue.LOGGING_FAILED
            with suppress(Exception):  # there is nobody left to tell
                sys.stderr.write(f"{kind.err_id} {kind.text.english}: {type(error).__name__}\n")


class _Plain:
    """Makes JSON values of anything: without secrets, without cycles, and never too many."""

    def __init__(self) -> None:
        self._left = _MOST_VALUES

    def of(self, value: object, depth: int = 0) -> Any:
        self._left -= 1
        if self._left < 0 or depth > _DEEPEST:
            return "…"
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int):
            return int(value) if int(value).bit_length() <= _MOST_BITS else hex(value)
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else str(float(value))
        if isinstance(value, Mapping):
            return self._mapping(value, depth)
        if isinstance(value, (list, tuple, set, frozenset)):
            return self._items(value, depth)
        if isinstance(value, bytes):
            return redact(value.decode("utf-8", "backslashreplace"))
        return redact(_text_of(value))

    def _mapping(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for key, item in value.items():
            name = redact(_text_of(key))
            fields[name] = MASK if is_secret_name(name) else self._guarded(item, depth)
            if self._left < 0:
                break
        return fields

    def _items(self, value: Iterable[Any], depth: int) -> list[Any]:
        items = []
        for item in value:
            items.append(self._guarded(item, depth))
            if self._left < 0:
                break
        return items

    def _guarded(self, item: object, depth: int) -> Any:
        """One bad value must not cost its neighbours."""
        try:
            return self.of(item, depth + 1)
        except Exception:  # noqa: BLE001 - foreign code: properties, iterators, __str__
            return _unprintable(item)


def jsonable(value: object) -> Any:
    """The value, or the nearest thing to it that JSON can say."""
    try:
        return _Plain().of(value)
    except Exception:  # noqa: BLE001 - foreign code: properties, iterators, __str__
        return _unprintable(value)


def _unprintable(value: object) -> str:
    return f"<unprintable {type(value).__name__}>"


def _text_of(value: object) -> str:
    try:
        # A subclass of str may lie about itself; its characters cannot.
        return str.__str__(value) if isinstance(value, str) else str(value)
    except Exception:  # noqa: BLE001 - foreign __str__
        return _unprintable(value)


def _said(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 - placeholders and arguments that do not fit, or foreign __str__
        return f"{_text_of(record.msg)} {jsonable(record.args)}"


def _traceback_of(error: BaseException, trace: TracebackType | None) -> str:
    try:
        return "".join(traceback.format_exception(type(error), error, trace))
    except Exception:  # noqa: BLE001 - foreign __str__, or a chain that is too long
        return _unprintable(error)


def _is_utf8(stream: TextIO) -> bool:
    encoding = getattr(stream, "encoding", None)
    return not encoding or codecs.lookup(encoding).name == "utf-8"
