"""How things that go wrong are shown, and the exit codes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

OK = 0
FAILED = 1  # everything that the user can correct
CHECK_REFUSED_DRY_RUN = 2  # `check --dry-run` found errors
CHECK_CRASHED = 3
INTERRUPTED = 130

_CHAIN_LIMIT = 10


class Problem(Exception):
    """Ends a command with exit code 1; the text is all that the user sees."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message}\nhint: {hint}" if hint else message)


def complain(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def user_trace(exc: BaseException) -> str:
    """Where in the user's own code an exception came from, oldest cause first; empty if it never was there."""
    from ..engine.loading import user_frames

    if not any(user_frames(link) for link in _chain(exc)):
        return ""
    lines = ["In your code (most recent call last):"]
    for link in reversed(list(_chain(exc))):
        for frame in user_frames(link):
            lines.append(f'  File "{frame.filename}", line {frame.lineno}, in {frame.name}')
            lines += [f"    {frame.line}"] if frame.line else []
        lines.append(f"  {describe(link)}")
    return "\n".join(lines)


def describe(exc: BaseException) -> str:
    text = str(exc)
    return f"{type(exc).__name__}: {text}" if text else type(exc).__name__


def _chain(exc: BaseException) -> Iterator[BaseException]:
    """An exception, then what it was raised from, and so on."""
    link: BaseException | None = exc
    for _ in range(_CHAIN_LIMIT):
        if link is None:
            return
        yield link
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)


def unexpected(exc: BaseException) -> str:
    """For an error that nobody foresaw: what it was and where, in a line that a bug report can quote."""
    return f"Error: {describe(exc)} ({_last_place(exc.__traceback__)})"


def _last_place(traceback: TracebackType | None) -> str:
    if traceback is None:
        return "somewhere"
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    return f"{traceback.tb_frame.f_globals.get('__name__')}, line {traceback.tb_lineno}"
