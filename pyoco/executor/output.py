"""What an executor's process writes to its real stdout and stderr, and which run it belongs to."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from .messages import Line, Lines, RunEnded, RunLoaded, ToWorker, Transitioned

PROCESS = "process"
_READ_BYTES = 64 * 1024
_MAX_PARTIAL_BYTES = 64 * 1024
_MAX_READS = 16  # in a row; a flood must not keep the worker from everything else


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessOutput:
    """Lines that no run can be named for: nothing runs, or several runs do (`run_ids`)."""

    lines: list[Line]
    run_ids: list[str]


def ends_something(message: ToWorker) -> bool:
    """Whether a node or a run does not run any longer."""
    if isinstance(message, Transitioned):
        return message.event not in ("NodeStarted", "NodeProgressed", "Decided")
    return isinstance(message, RunEnded)


class PipeReader:
    """Splits what comes out of one pipe into lines."""

    def __init__(self, descriptor: int, stream: str) -> None:
        self.descriptor = descriptor
        self.stream = stream
        self.at_end = False
        self._partial = b""

    def read(self) -> list[str]:
        """The complete lines that are there now; does not block."""
        lines: list[str] = []
        for _ in range(_MAX_READS):
            try:
                data = os.read(self.descriptor, _READ_BYTES)
            except BlockingIOError:
                break
            if not data:
                self.at_end = True
                break
            *complete, self._partial = (self._partial + data).split(b"\n")
            lines += [line.decode("utf-8", "replace") for line in complete]
            if len(self._partial) > _MAX_PARTIAL_BYTES:
                lines += self.rest()
        return lines

    def rest(self) -> list[str]:
        """A line that has no end yet."""
        rest, self._partial = self._partial, b""
        return [rest.decode("utf-8", "replace")] if rest else []


class Attribution:
    """Follows which nodes run, from the messages that pass."""

    def __init__(self) -> None:
        self._runs: dict[str, dict[str, str]] = {}

    @property
    def run_ids(self) -> list[str]:
        return list(self._runs)

    def begin(self, message: ToWorker) -> None:
        """To be called for all messages that came together, before `end` is for any of them: what was written in
        between belongs to whatever ran at some time in between."""
        match message:
            case RunLoaded(run_id=run_id):
                self._runs[run_id] = {}
            case Transitioned(event="NodeStarted", run_id=run_id, path=path, node=node):
                self._runs.setdefault(run_id, {})[path] = node

    def end(self, message: ToWorker) -> None:
        match message:
            case RunEnded(run_id=run_id):
                self._runs.pop(run_id, None)
            case Transitioned(run_id=run_id, path=path) if ends_something(message):
                self._runs.get(run_id, {}).pop(path, None)

    def place(self, stream: str, texts: list[str]) -> Lines | ProcessOutput:
        """With one run it is that run's output; with one node in it, that node's."""
        now = time.time()
        if len(self._runs) != 1:
            return ProcessOutput(lines=[Line(now, "", "", PROCESS, text) for text in texts], run_ids=self.run_ids)
        ((run_id, nodes),) = self._runs.items()
        if len(nodes) == 1:
            ((path, node),) = nodes.items()
            return Lines(run_id=run_id, lines=[Line(now, path, node, stream, text) for text in texts])
        return Lines(run_id=run_id, lines=[Line(now, "", "", PROCESS, text) for text in texts])
