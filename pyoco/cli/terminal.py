"""Keeps a live display whole: catches what is written past it, also by child processes."""

from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import Callable
from typing import TextIO

_DRAIN_SEC = 0.5


class TerminalGuard:
    """While it is entered, file descriptors 1 and 2 (those of them that are a terminal) are a pipe; each line that
    comes out of it is handed over. `terminal` writes to the real one."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self._on_line = on_line
        self._kept: dict[int, int] = {}
        self.terminal: TextIO = io.TextIOWrapper(
            os.fdopen(os.dup(1), "wb"), encoding=sys.stdout.encoding, errors="backslashreplace", write_through=True
        )

    def __enter__(self) -> TerminalGuard:
        self._flush()
        reading, writing = os.pipe()
        for number in (1, 2):
            if os.isatty(number):
                self._kept[number] = os.dup(number)
                os.dup2(writing, number)
        os.close(writing)
        self._reader = threading.Thread(target=self._read, args=(reading,), name="pyoco-terminal", daemon=True)
        self._reader.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._flush()
        for number, kept in self._kept.items():
            os.dup2(kept, number)
            os.close(kept)
        self._kept.clear()
        # A child process that is still alive keeps the pipe open; the thread then goes on showing its lines.
        self._reader.join(_DRAIN_SEC)

    def _flush(self) -> None:
        sys.stdout.flush()
        sys.stderr.flush()

    def _read(self, reading: int) -> None:
        with open(reading, encoding="utf-8", errors="backslashreplace", newline="\n") as lines:
            for line in lines:
                self._on_line(line.rstrip("\r\n"))
