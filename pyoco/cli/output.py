"""Standard output and standard error: who may write there, and what happens when nobody reads."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any


def never_fail_on_characters() -> None:
    """A terminal that cannot show a character must not fail a run."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def flush_output() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            forget_output()


def forget_output() -> None:
    """The reader of our output has gone: what is still to be written goes nowhere, without a complaint."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


@contextmanager
def only_result_on_stdout() -> Iterator[None]:
    """Sends everything that is written to standard output inside, also by child processes, to standard error."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def print_json(document: Any) -> None:
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    print(json.dumps(document, indent=2, ensure_ascii=not utf8), flush=True)


def plain(value: Any) -> Any:
    """The value as JSON can hold it; what it cannot hold becomes its repr."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return _parts(value)
    return value


def _parts(value: Any) -> Any:
    try:
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            return {key: plain(part) for key, part in value.items()}
        if isinstance(value, (list, tuple)):
            return [plain(part) for part in value]
    except RecursionError:
        pass
    return repr(value)
