"""The child's end of the line to its supervisor: readiness, beats, messages, and the end when the parent is gone.

A gateway or worker that `pyoco up` starts finds in its environment:

- `PYOCO_LIFELINE_FD`: the number of an inherited stream socket, this line. Absent: no supervisor, nothing to do.
- `PYOCO_INSTANCE_ID`: its name, `<data-dir id>.<boot number>.<n>`; every start of a process has a new one.
- `PYOCO_NATS_URL`: with its own user and password, which never appear on a command line.
- `PYOCO_NATS_INBOX_PREFIX`: the inboxes this user may read (only with the NATS that the supervisor started).
- `PYOCO_LISTEN_FD` (gateways): the number of the inherited, bound and listening HTTP socket.
- the settings of `pyoco up` as `PYOCO_*` variables.

JSON lines go both ways. Child to parent: `{"type":"ready"}` once, `{"type":"beat","figures":{…}}` every second; a child
that is silent for 15 seconds is killed. Parent to gateways: `{"type":"dead","instance_id":"…"}`. The end of the stream
means that the parent is gone: `lost` is set and the process must exit at once.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping, MutableMapping
from types import TracebackType
from typing import Any, Self

FD_VARIABLE = "PYOCO_LIFELINE_FD"
BEAT_SEC = 1.0
_UNSENT_LIMIT = 64 * 1024

Figures = Callable[[], Mapping[str, Any]]
Message = dict[str, Any]


class Lifeline:
    """Use it as `async with Lifeline.from_env(figures=…) as life:`; without a supervisor it does nothing."""

    def __init__(self, line: socket.socket | None, figures: Figures = dict, beat_sec: float = BEAT_SEC) -> None:
        self.lost = asyncio.Event()
        self._line = line
        self._figures = figures
        self._beat_sec = beat_sec
        self._inbox: asyncio.Queue[Message | None] = asyncio.Queue()
        self._writer: asyncio.StreamWriter | None = None
        self._tasks = asyncio.TaskGroup()
        self._running: list[asyncio.Task[None]] = []

    @classmethod
    def from_env(cls, figures: Figures = dict, environment: MutableMapping[str, str] = os.environ) -> Self:
        """Takes the line out of the environment, so that no child of this process believes it to be its own."""
        number = environment.pop(FD_VARIABLE, "")
        line = socket.socket(fileno=int(number)) if number else None
        if line is not None:
            line.set_inheritable(False)
        return cls(line, figures)

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        if self._line is not None:
            reader, self._writer = await asyncio.open_unix_connection(sock=self._line)
            self._running = [
                self._tasks.create_task(self._listen(reader), name="lifeline"),
                self._tasks.create_task(self._beat(), name="lifeline beat"),
            ]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._running:
            task.cancel()
        try:
            await self._tasks.__aexit__(kind, error, trace)
        finally:
            if self._writer is not None:
                self._writer.close()

    def ready(self) -> None:
        """Says that this process can do its work now."""
        self._send({"type": "ready"})

    async def messages(self) -> AsyncIterator[Message]:
        """What the supervisor says, until it is gone; without a supervisor this waits for ever."""
        while (message := await self._inbox.get()) is not None:
            yield message

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        try:
            while line := await reader.readline():
                self._inbox.put_nowait(json.loads(line))
        except ConnectionError:
            pass  # the parent was killed: as good as the end of the stream
        self.lost.set()
        self._inbox.put_nowait(None)

    async def _beat(self) -> None:
        while not self.lost.is_set():
            self._send({"type": "beat", "figures": dict(self._figures())})
            await asyncio.sleep(self._beat_sec)

    def _send(self, message: Message) -> None:
        # A supervisor that is stopped reads nothing; what it missed is of no use to it later.
        if self._writer is not None and self._writer.transport.get_write_buffer_size() < _UNSENT_LIMIT:
            self._writer.write(json.dumps(message).encode() + b"\n")
