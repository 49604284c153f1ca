"""Who wrote that line: routes what tasks print to their node.

One router stands in for sys.stdout and one for sys.stderr, put there once and never taken away. Each write looks up the
node it belongs to: a context variable for the code of the task itself, a mark on the thread for threads that it starts.
"""

from __future__ import annotations

import contextvars
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TextIO

LineSink = Callable[[str, str, str | None], None]  # (stream, line without its end, log level)

_MAX_PARTIAL_LINE = 64 * 1024  # a line that never ends is delivered in pieces of this size


class OutputScope:
    """Collects the output of one attempt of one node."""

    __slots__ = (
        "_cut_lines",
        "_keep_text",
        "_lock",
        "_on_line",
        "_partial",
        "_texts",
        "closed",
        "owner",
        "pass_through",
    )

    def __init__(
        self, owner: object, on_line: LineSink | None = None, *, keep_text: bool = True, pass_through: bool = True
    ) -> None:
        self.owner = owner
        self.pass_through = pass_through
        self.closed = False
        self._on_line = on_line
        self._keep_text = keep_text
        self._texts: dict[str, list[str]] | None = None
        self._partial: dict[str, str] | None = None
        self._cut_lines: set[str]  # streams whose last piece was delivered before its line had ended
        self._lock = threading.RLock()

    def write(self, stream: str, text: str, *, keep: bool = True) -> None:
        with self._lock:
            if keep:
                self._keep(stream, text)
            if self._on_line is not None:
                if self._partial is None:
                    self._partial = {}
                    self._cut_lines = set()
                if stream in self._cut_lines and text:
                    # The end of a line that was delivered in pieces is not another, empty line.
                    self._cut_lines.discard(stream)
                    text = text.removeprefix("\n")
                *lines, rest = (self._partial.get(stream, "") + text).split("\n")
                if len(rest) > _MAX_PARTIAL_LINE:
                    lines.append(rest)
                    rest = ""
                    self._cut_lines.add(stream)
                self._partial[stream] = rest
                for line in lines:
                    self._deliver(stream, line, None)

    def log(self, level: str, message: str) -> None:
        """A record of the node's own logger."""
        with self._lock:
            self._keep("log", f"{level} {message}\n")
        self.deliver_record(level, message)

    def deliver_record(self, level: str, message: str) -> None:
        """A log record that does not come along as text on one of the streams."""
        for line in message.split("\n"):
            self.deliver_line("log", line, level)

    def deliver_line(self, stream: str, line: str, level: str | None) -> None:
        """A line that is complete already."""
        with self._lock:
            if self._on_line is not None and not self.closed:
                self._deliver(stream, line, level)

    def _deliver(self, stream: str, line: str, level: str | None) -> None:
        assert self._on_line is not None
        with uncaptured():  # what the receiver itself prints is not output of the task
            self._on_line(stream, line, level)

    def close(self) -> dict[str, str]:
        """Delivers unfinished lines and returns the text of each stream; stdout first. Later output is nobody's."""
        self.closed = True
        if self._partial is None and self._texts is None:
            return {}
        with self._lock:
            if self._on_line is not None and self._partial is not None:
                for stream, rest in self._partial.items():
                    if rest:
                        self._deliver(stream, rest, None)
            self._partial = None
            texts, self._texts = self._texts or {}, None
        return {stream: "".join(texts[stream]) for stream in ("stdout", "stderr", "log") if stream in texts}

    def _keep(self, stream: str, text: str) -> None:
        if self._keep_text:
            if self._texts is None:
                self._texts = {}
            self._texts.setdefault(stream, []).append(text)


_NOBODY = OutputScope(owner=None)
_NOBODY.closed = True
_current: contextvars.ContextVar[OutputScope | None] = contextvars.ContextVar("pyoco_output_scope", default=None)
_install_lock = threading.Lock()
_THREAD_MARK = "_pyoco_output_scope"


def current_scope() -> OutputScope | None:
    """The scope that the running code belongs to."""
    scope = _current.get()
    if scope is None:
        scope = getattr(threading.current_thread(), _THREAD_MARK, None)
    return None if scope is None or scope.closed else scope


enter_scope = _current.set
leave_scope = _current.reset


@contextmanager
def uncaptured() -> Iterator[None]:
    """What is written inside belongs to no node."""
    token = _current.set(_NOBODY)
    try:
        yield
    finally:
        _current.reset(token)


class _Router:
    """A text stream that hands each write to the current scope and passes it on to the real stream."""

    def __init__(self, stream: str, target: TextIO) -> None:
        self._stream = stream
        self._target = target

    def write(self, text: str) -> int:
        scope = current_scope()
        if scope is None:
            return self._target.write(text)
        # The log that a run keeps holds what the task itself wrote; its helper threads are only heard line by line.
        scope.write(self._stream, text, keep=_current.get() is scope)
        return self._target.write(text) if scope.pass_through else len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._target)


def install() -> None:
    """Puts the routers in place. Safe to call at each start of a run; only the first call, or the first one after
    somebody else replaced sys.stdout or sys.stderr, does anything."""
    if isinstance(sys.stdout, _Router) and isinstance(sys.stderr, _Router):
        return
    with _install_lock:
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if stream is None or isinstance(stream, _Router):
                continue
            router = _Router(name, stream)
            setattr(sys, name, router)
            _redirect_log_handlers(stream, router)
        if not getattr(threading.Thread.start, "_pyoco_follows", False):
            _follow_threads()
            _follow_log_records()


def _redirect_log_handlers(old: TextIO, router: _Router) -> None:
    """Log handlers keep the stream they were made with; those made before us would write past the router."""
    loggers = [logging.getLogger(), *logging.Logger.manager.loggerDict.values()]
    for logger in loggers:
        for handler in getattr(logger, "handlers", ()):
            if type(handler) is logging.StreamHandler and handler.stream is old:
                handler.setStream(router)


def _follow_threads() -> None:
    """Threads, and jobs of thread pools, belong to the node whose code started them."""
    plain_start = threading.Thread.start
    plain_submit = ThreadPoolExecutor.submit

    def start(self: threading.Thread) -> None:
        scope = current_scope()
        if scope is not None and not isinstance(self, UnmarkedThread):
            setattr(self, _THREAD_MARK, scope)
        plain_start(self)

    def submit(self: ThreadPoolExecutor, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if current_scope() is None:
            return plain_submit(self, fn, *args, **kwargs)
        return plain_submit(self, _in_scope, current_scope(), fn, args, kwargs)

    start._pyoco_follows = True  # type: ignore[attr-defined]
    threading.Thread.start = start  # type: ignore[method-assign]
    ThreadPoolExecutor.submit = submit  # type: ignore[method-assign,assignment]


def _follow_log_records() -> None:
    """Most log records reach their node as text on standard error. This is for those whose handlers write elsewhere."""
    plain_call = logging.Logger.callHandlers

    def call_handlers(self: logging.Logger, record: logging.LogRecord) -> None:
        plain_call(self, record)
        scope = current_scope()
        if scope is not None and not _arrives_anyway(self, record):
            scope.deliver_record(record.levelname, message_of(record))

    logging.Logger.callHandlers = call_handlers  # type: ignore[method-assign]


def _arrives_anyway(origin: logging.Logger, record: logging.LogRecord) -> bool:
    found_any = False
    logger: logging.Logger | None = origin
    while logger is not None:
        for handler in logger.handlers:
            found_any = True
            goes_to_node = isinstance(handler, NodeLogHandler) or isinstance(getattr(handler, "stream", None), _Router)
            if goes_to_node and record.levelno >= handler.level:
                return True
        logger = logger.parent if logger.propagate else None
    # Without any handler Python itself writes warnings and worse to standard error.
    return not found_any and logging.lastResort is not None and record.levelno >= logging.lastResort.level


def message_of(record: logging.LogRecord) -> str:
    """The text of a record; a mistake in its format arguments must not become an error of the task."""
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 - formatting calls code of whatever was logged
        return f"{record.msg!s} % {record.args!r}"


class NodeLogHandler(logging.Handler):
    """Base of handlers that bring records to their node themselves."""


def _in_scope(scope: OutputScope | None, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    thread = threading.current_thread()
    before = getattr(thread, _THREAD_MARK, None)
    setattr(thread, _THREAD_MARK, scope)
    try:
        return fn(*args, **kwargs)
    finally:
        setattr(thread, _THREAD_MARK, before)


class UnmarkedThread(threading.Thread):
    """A thread of the engine itself: it serves many nodes, so it belongs to none, wherever it was started.

    It starts as a daemon, since a stuck task must not keep the process from ending, but does not show itself as one:
    threads that a task starts inherit that, and must not be cut off when the process ends.
    """

    @property
    def daemon(self) -> bool:
        return not self.is_alive()

    @daemon.setter
    def daemon(self, value: bool) -> None:
        raise RuntimeError("threads of the engine are daemons")
