"""What the processes write: lines for a person on a terminal, JSON for a machine, and files of bounded size."""

from __future__ import annotations

import asyncio
import json
import os
import re
import select
import stat
from collections import deque
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

SUPERVISOR = "pyoco"

_BACKLOG_LINES = 10_000
_CHUNK = 512  # a pipe or terminal that is ready takes this much without blocking
_LAST_WORDS_SEC = 1.0
_FILE_BYTES = 10 * 1024 * 1024
_KEPT_FILES = 5
_COLOURS = (36, 33, 32, 35, 34)
_LEVEL_COLOURS = {"WARNING": 33, "ERROR": 31, "CRITICAL": 31}
_NATS_LINE = re.compile(r"^\[\d+\] \S+ \S+ \[(?P<level>[A-Z]{3})\] ?(?P<text>.*)$")
_NATS_LEVELS = {"WRN": "WARNING", "ERR": "ERROR", "FTL": "CRITICAL"}
_QUIET_NATS_LEVELS = ("INFO", "DEBUG")
# The file with the passwords is readable by its owner only, which is what this warning asks for.
_KNOWN_NATS_WARNING = "Plaintext passwords detected"


def as_record(source: str, text: str, now: datetime) -> dict[str, Any]:
    """A line of a child as a JSON object: its own if it wrote one, else one that holds the text."""
    if text.startswith("{"):
        try:
            written = json.loads(text)
        except ValueError:
            written = None
        if isinstance(written, dict):
            return {**written, "process": source}
    level = "INFO"
    if source == "nats" and (match := _NATS_LINE.match(text)):
        level, text = _NATS_LEVELS.get(match["level"], "INFO"), match["text"]
    return {"ts": _stamp(now), "level": level, "process": source, "message": text}


def as_json(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False)


def as_text(record: Mapping[str, Any], *, colour: bool) -> str:
    """A record as lines for a person; further lines of a message are put below the first."""
    source = str(record["process"])
    level = str(record.get("level", "INFO"))
    message = str(record.get("message", ""))
    if traceback := record.get("exc_traceback"):
        message = f"{message}\n{str(traceback).rstrip()}"
    label = f"{source:<9} |"
    if colour:
        label = f"\x1b[{_colour_of(source)}m{label}\x1b[0m"
    word = f"{level} " if level in _LEVEL_COLOURS and source != SUPERVISOR else ""
    if colour and level in _LEVEL_COLOURS:
        word = f"\x1b[{_LEVEL_COLOURS[level]}m{word or level + ' '}\x1b[0m"
    first, *rest = message.split("\n")
    return "\n".join([f"{label} {word}{first}", *(f"{label} {line}" for line in rest)])


def _colour_of(source: str) -> int:
    return _COLOURS[sum(source.encode()) % len(_COLOURS)]


def _stamp(now: datetime) -> str:
    return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Screen:
    """Standard output that never blocks: a reader that sleeps must not stop the supervisor."""

    def __init__(self, stream: TextIO) -> None:
        self._fd = stream.fileno()
        self._encoding = stream.encoding or "utf-8"
        self._backlog: deque[bytes] = deque(maxlen=_BACKLOG_LINES)
        self._plain_file = stat.S_ISREG(os.fstat(self._fd).st_mode)
        self._waiting = False

    def write(self, text: str) -> None:
        data = f"{text}\n".encode(self._encoding, "backslashreplace")
        self._backlog.extend(data[start : start + _CHUNK] for start in range(0, len(data), _CHUNK))
        self._flush()

    def _flush(self) -> None:
        while self._backlog and self._writable(0.0):
            try:
                os.write(self._fd, self._backlog.popleft())
            except OSError:
                self._backlog.clear()  # nobody will ever read this; the log files have it
        self._wait(bool(self._backlog))

    def _writable(self, seconds: float) -> bool:
        return self._plain_file or bool(select.select([], [self._fd], [], seconds)[1])

    def _wait(self, needed: bool) -> None:
        if needed == self._waiting:
            return
        loop = asyncio.get_running_loop()
        if needed:
            loop.add_writer(self._fd, self._flush)
        else:
            loop.remove_writer(self._fd)
        self._waiting = needed

    def close(self) -> None:
        """Gives a slow reader a moment for the last words."""
        if self._backlog and self._writable(_LAST_WORDS_SEC):
            self._flush()
        self._wait(False)


class LogFile:
    """A file that starts anew when it is full; a few old ones are kept."""

    def __init__(self, path: Path, limit: int = _FILE_BYTES, kept: int = _KEPT_FILES) -> None:
        self.path = path
        self._limit = limit
        self._kept = kept
        self._file = path.open("ab")

    def write(self, line: str) -> None:
        data = f"{line}\n".encode("utf-8", "backslashreplace")
        if self._file.tell() and self._file.tell() + len(data) > self._limit:
            self._rotate()
        self._file.write(data)
        self._file.flush()

    def _rotate(self) -> None:
        self._file.close()
        for number in range(self._kept - 1, 0, -1):
            older = self._numbered(number)
            if older.exists():
                older.replace(self._numbered(number + 1))
        self.path.replace(self._numbered(1))
        self._file = self.path.open("ab")

    def _numbered(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")

    def close(self) -> None:
        self._file.close()


class Output:
    """Takes what children and the supervisor say to the screen and to one file per process."""

    def __init__(self, screen: Callable[[str], None], directory: Path, *, as_json_lines: bool, colour: bool) -> None:
        self._screen = screen
        self._directory = directory
        self._json = as_json_lines
        self._colour = colour
        self._files: dict[str, LogFile] = {}

    def line(self, source: str, text: str) -> None:
        """A line that a child wrote."""
        record = as_record(source, text, datetime.now(UTC))
        self._keep(source, as_json(record))
        if not _is_noise(record):
            self._show(record)

    def say(self, message: str, level: str = "INFO", **fields: Any) -> None:
        """A line of the supervisor itself."""
        stamp = _stamp(datetime.now(UTC))
        record = {"ts": stamp, "level": level, "process": SUPERVISOR, "message": message, **fields}
        self._keep(SUPERVISOR, as_json(record))
        self._show(record)

    def file_of(self, source: str) -> Path:
        return self._directory / f"{source}.log"

    def _show(self, record: Mapping[str, Any]) -> None:
        self._screen(as_json(record) if self._json else as_text(record, colour=self._colour))

    def _keep(self, source: str, line: str) -> None:
        try:
            if source not in self._files:
                self._files[source] = LogFile(self.file_of(source))
            self._files[source].write(line)
        except OSError:
            self._files.pop(source, None)  # the disk is full or the file gone: tried again with the next line

    def close(self) -> None:
        for file in self._files.values():
            file.close()


def _is_noise(record: Mapping[str, Any]) -> bool:
    """nats-server greets with a page of text; its log file has it."""
    if record["process"] != "nats":
        return False
    return record["level"] in _QUIET_NATS_LEVELS or str(record["message"]).startswith(_KNOWN_NATS_WARNING)
