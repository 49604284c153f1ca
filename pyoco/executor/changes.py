"""Notices that code has changed since an executor was started."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

_SUFFIXES = (".py", ".yaml", ".yml")
_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages"})
_MAX_FILES = 5000
_REST = 20  # a look that takes a millisecond is not repeated for twenty

Stamp = dict[str, tuple[int, int]]


class CodeWatch:
    """Compares modification times and sizes with those of its creation: also a file that was put back, removed, or
    copied with its old time is a change. Looks at no more than 5,000 files, and not into hidden directories or virtual
    environments."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._next_look = 0.0
        self._changed = False
        self._stamp = self._look()

    def changed(self) -> bool:
        """Cheap enough to be asked for each run."""
        if not self._changed and time.monotonic() >= self._next_look:
            self._changed = self._look() != self._stamp
        return self._changed

    def _look(self) -> Stamp:
        started = time.monotonic()
        stamp: Stamp = {}
        if self._directory is not None:
            for entry in _code_files(str(self._directory)):
                try:
                    found = entry.stat()
                except OSError:
                    continue
                stamp[entry.path] = (found.st_mtime_ns, found.st_size)
                if len(stamp) >= _MAX_FILES:
                    break
        now = time.monotonic()
        self._next_look = now + _REST * (now - started)
        return stamp


def _code_files(directory: str) -> Iterator[os.DirEntry[str]]:
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except OSError:
        return
    if any(entry.name == "pyvenv.cfg" for entry in entries):
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.name in _SKIPPED:
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _code_files(entry.path)
        elif entry.name.endswith(_SUFFIXES):
            yield entry
