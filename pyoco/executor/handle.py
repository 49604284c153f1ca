"""The worker's end: starts an executor, talks to it, and knows at once when and how it died."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from .changes import CodeWatch
from .messages import Ready, Setup, ToExecutor, ToWorker
from .output import Attribution, PipeReader, ProcessOutput, ends_something
from .process import Child, describe_exit, spawn
from .protocol import ProtocolError, encode, worker_reader

_READ_BYTES = 64 * 1024  # larger ones cost a memory mapping for each read
_HIGH_WATER = 8 * 1024 * 1024  # read and not fetched yet: beyond this the executor has to wait
_LAST_LINES = 20

Incoming = ToWorker | ProcessOutput


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorOptions:
    """`paths`: more directories to import from, after `code_dir`. `env`: on top of this process's environment."""

    code_dir: Path | None = None
    paths: tuple[Path, ...] = ()
    flow_resolver: str | None = None
    allowed_callables: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    start_timeout: float = 60.0


class ExecutorFailedToStart(Exception):
    """It died, or was silent for too long, before it was ready; the text says how and shows its last lines."""


class ExecutorHandle:
    """One executor process. `async for` gives its messages until it is dead and everything it said was given; every
    run without a RunEnded is then for the worker to continue. All methods belong on the event loop of `start`."""

    @classmethod
    async def start(cls, options: ExecutorOptions) -> ExecutorHandle:
        """Starts a process and waits until it is ready for runs."""
        handle = cls(options)
        try:
            async with asyncio.timeout(options.start_timeout):
                await asyncio.shield(handle._is_ready)
        except TimeoutError:
            await handle.close()
            raise ExecutorFailedToStart(handle._last_words(f"not ready after {options.start_timeout:g}s")) from None
        except BaseException:
            await handle.close()
            raise
        return handle

    def __init__(self, options: ExecutorOptions) -> None:
        """Use `start`."""
        self._loop = asyncio.get_running_loop()
        # Before the process starts: what changes while it does counts as changed.
        self._code = CodeWatch(options.code_dir)
        self._child: Child = spawn(options.env)
        self.pid = self._child.process.pid
        self.ready: Ready | None = None
        self.exit_code: int | None = None
        self._is_ready: asyncio.Future[None] = self._loop.create_future()
        self._closed = asyncio.Event()
        self._killed = False
        self._broken: str | None = None
        self._frames = worker_reader()
        self._pipes = [PipeReader(self._child.stdout, "stdout"), PipeReader(self._child.stderr, "stderr")]
        self._attribution = Attribution()
        self._inbox: deque[tuple[Incoming, int]] = deque()
        self._inbox_bytes = 0
        self._arrived = asyncio.Event()
        self.paused = False  # too much was read and not fetched yet: the executor has to wait
        self._unsent = bytearray()
        self._recent: deque[str] = deque(maxlen=_LAST_LINES)
        self._loop.add_reader(self._child.pidfd, self._on_death)
        self._resume_reading()
        self.send(
            Setup(
                code_dir=str(options.code_dir.resolve()) if options.code_dir is not None else None,
                paths=[str(path.resolve()) for path in options.paths],
                flow_resolver=options.flow_resolver,
                allowed_callables=list(options.allowed_callables),
            )
        )

    @property
    def alive(self) -> bool:
        return self.exit_code is None

    @property
    def exit_description(self) -> str | None:
        """How it died, in words; None while it lives."""
        if self.exit_code is None:
            return None
        how = describe_exit(self.exit_code, by_worker=self._killed)
        return f"{how}: {self._broken}" if self._broken is not None else how

    def code_changed(self) -> bool:
        """Whether files of the code directory have changed since the start."""
        return self._code.changed()

    def send(self, message: ToExecutor) -> None:
        """Never blocks. To a dead executor nothing is sent; the end of the iteration says that it is dead."""
        if not self.alive or self._broken is not None:
            return
        frame = encode(message)
        waiting = bool(self._unsent)
        self._unsent += frame
        if not waiting:
            self._send_rest()

    async def __aiter__(self) -> AsyncIterator[Incoming]:
        while True:
            while self._inbox:
                message, size = self._inbox.popleft()
                self._inbox_bytes -= size
                if self.paused and self.alive and self._inbox_bytes <= _HIGH_WATER // 2:
                    self._resume_reading()
                yield message
            if self._closed.is_set():
                return
            self._arrived.clear()
            await self._arrived.wait()

    def kill(self) -> None:
        """At once, with everything its tasks have started."""
        if self.alive:
            self._killed = True
            self._child.kill()

    async def wait_closed(self) -> None:
        """Until it is dead and nothing of it is left."""
        await self._closed.wait()

    async def close(self) -> None:
        """Kills it if it is alive, and waits for its end."""
        self.kill()
        await self.wait_closed()

    async def __aenter__(self) -> ExecutorHandle:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # Sending

    def _send_rest(self) -> None:
        try:
            sent = self._child.connection.send(self._unsent)
        except BlockingIOError:
            sent = 0
        except OSError:
            # It is about to die; its death is noticed by itself.
            self._unsent.clear()
            sent = 0
        del self._unsent[:sent]
        if self._unsent:
            self._loop.add_writer(self._child.connection, self._send_rest)
        else:
            self._loop.remove_writer(self._child.connection)

    # Receiving

    def _resume_reading(self) -> None:
        self.paused = False
        self._loop.add_reader(self._child.connection, self._on_frames)
        for pipe in self._pipes:
            if not pipe.at_end:
                self._loop.add_reader(pipe.descriptor, self._on_output, pipe)

    def _stop_reading(self) -> None:
        self.paused = True
        self._loop.remove_reader(self._child.connection)
        for pipe in self._pipes:
            self._loop.remove_reader(pipe.descriptor)

    def _on_output(self, pipe: PipeReader) -> None:
        self._deliver_output(pipe, pipe.read())
        if pipe.at_end:
            self._loop.remove_reader(pipe.descriptor)

    def _on_frames(self) -> None:
        data = self._receive()
        if data is None:
            return
        if not data or not self._handle(data):
            self._loop.remove_reader(self._child.connection)

    def _receive(self) -> bytes | None:
        """What has come; None if that is nothing yet, empty if nothing will come any more."""
        try:
            return self._child.connection.recv(_READ_BYTES)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def _handle(self, data: bytes) -> bool:
        """False if it cannot be understood."""
        try:
            messages = self._frames.feed(data)
        except ProtocolError as exc:
            self._broken = f"it does not speak our language ({exc})"
            self.kill()
            return False
        for message in messages:
            self._attribution.begin(message)
        if any(ends_something(message) for message in messages):
            # What the programs of a node wrote before it ended is in the pipes by now, and belongs to it.
            self._drain_pipes()
        for message in messages:
            self._attribution.end(message)
            if isinstance(message, Ready):
                self._become_ready(message)
            else:
                self._put(message, len(data) // len(messages))
        return True

    def _become_ready(self, message: Ready) -> None:
        self.ready = message
        if not self._is_ready.done():
            self._is_ready.set_result(None)

    def _drain_pipes(self) -> None:
        for pipe in self._pipes:
            if not pipe.at_end:
                self._deliver_output(pipe, [*pipe.read(), *pipe.rest()])

    def _deliver_output(self, pipe: PipeReader, texts: list[str]) -> None:
        if texts:
            self._recent.extend(texts)
            self._put(self._attribution.place(pipe.stream, texts), sum(map(len, texts)))

    def _put(self, message: Incoming, size: int) -> None:
        self._inbox.append((message, size))
        self._inbox_bytes += size
        self._arrived.set()
        if self._inbox_bytes > _HIGH_WATER and not self.paused:
            self._stop_reading()

    # The end

    def _on_death(self) -> None:
        """Fetches what is left in socket and pipes, then lets go of them. A program that a task has left behind may
        hold them open for ever, so their end is not waited for."""
        code = self._child.reap()
        self._loop.remove_reader(self._child.pidfd)
        self._stop_reading()
        self._loop.remove_writer(self._child.connection)
        while self._broken is None and (data := self._receive()):
            self._handle(data)
        self._drain_pipes()
        self._child.close()
        self.exit_code = code
        self._closed.set()
        self._arrived.set()
        if not self._is_ready.done():
            self._is_ready.set_exception(ExecutorFailedToStart(self._last_words(self.exit_description or "")))
            # Nobody may be waiting for it any more.
            self._is_ready.exception()

    def _last_words(self, problem: str) -> str:
        return "\n".join([f"the executor failed to start: {problem}", *self._recent])
