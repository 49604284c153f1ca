"""One process: started in a session of its own, listened to, and ended with everything it started."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import suppress
from typing import Any, NoReturn

from ..lifeline import FD_VARIABLE
from .options import Patience
from .plan import ProcessSpec
from .restart import Exit
from .wire import Lines

_PR_SET_PDEATHSIG = 1
_CANNOT_START = 127
_REMEMBERED_LINES = 20
_LAST_OUTPUT_SEC = 1.0
_PROBE_EVERY_SEC = 0.02
_ASK_AGAIN_SEC = 0.1
_prctl = ctypes.CDLL(None, use_errno=True).prctl if sys.platform == "linux" else None

Probe = Callable[[], Awaitable[bool]]


class Child:
    """`run` owns the process from its start to its end; the rest may be called meanwhile."""

    def __init__(
        self,
        spec: ProcessSpec,
        instance_id: str,
        patience: Patience,
        on_line: Callable[[str], None],
        probe: Probe | None = None,
    ) -> None:
        self.spec = spec
        self.instance_id = instance_id
        self.pid: int | None = None
        self.ready = asyncio.Event()
        self.gone = asyncio.Event()
        self.figures: dict[str, Any] = {}
        self.last_lines: deque[str] = deque(maxlen=_REMEMBERED_LINES)
        self.started_at = asyncio.get_running_loop().time()
        self._patience = patience
        self._on_line = on_line
        self._probe = probe
        self._process: subprocess.Popen[bytes] | None = None
        self._lifeline: Lines | None = None
        # Counted in beats, not in time: when this process itself was stopped, nobody is to blame for the silence.
        # Importing everything takes longer than a beat, so a fresh child has twice as many.
        self._missing_beats = -patience.silent_beats
        self._silent = False

    @property
    def uptime(self) -> float:
        return asyncio.get_running_loop().time() - self.started_at

    async def run(self) -> Exit:
        """Starts the process and returns how it ended; nothing that it started is left behind."""
        own, theirs = socket.socketpair()
        reading, writing = os.pipe()
        try:
            self._process = self._spawn(theirs, writing)
        except OSError as exc:
            own.close()
            os.close(reading)
            self._heard(f"cannot start {self.spec.command[0]}: {exc.strerror}".encode())
            self.gone.set()
            return Exit(_CANNOT_START, 0.0)
        finally:
            theirs.close()
            os.close(writing)
        self.pid = self._process.pid
        return await self._attend(self._process, own, reading)

    async def _attend(self, process: subprocess.Popen[bytes], own: socket.socket, reading: int) -> Exit:
        loop = asyncio.get_running_loop()
        process_fd = os.pidfd_open(process.pid)
        output = Lines(self._heard)
        try:
            loop.add_reader(process_fd, self.gone.set)
            await loop.connect_read_pipe(lambda: output, os.fdopen(reading, "rb", 0))
            _, self._lifeline = await loop.create_unix_connection(lambda: Lines(self._told), sock=own)
            await self._until_gone()
            uptime = self.uptime
            self._end_group()
            with suppress(TimeoutError):
                # Somebody outside our reach may still hold the pipe; what it writes is not waited for.
                async with asyncio.timeout(_LAST_OUTPUT_SEC):
                    await output.closed.wait()
            return Exit(process.returncode, uptime, self._silent)
        finally:
            self._end_group()
            self.gone.set()
            loop.remove_reader(process_fd)
            os.close(process_fd)
            output.close()
            if self._lifeline is not None:
                self._lifeline.close()

    async def _until_gone(self) -> None:
        async with asyncio.TaskGroup() as helpers:
            tasks = [helpers.create_task(work) for work in self._helpers()]
            await self.gone.wait()
            for task in tasks:
                task.cancel()

    def _helpers(self) -> Iterator[Coroutine[Any, Any, None]]:
        if self.spec.speaks:
            yield self._mind_silence()
        if self._probe is not None:
            yield self._wait_ready(self._probe)

    def _spawn(self, lifeline: socket.socket, output: int) -> subprocess.Popen[bytes]:
        environment = {**self.spec.environment, "PYOCO_INSTANCE_ID": self.instance_id}
        inherited = [self.spec.listen_fd] if self.spec.listen_fd is not None else []
        if inherited:
            environment["PYOCO_LISTEN_FD"] = str(self.spec.listen_fd)
        if self.spec.speaks:
            environment[FD_VARIABLE] = str(lifeline.fileno())
            inherited.append(lifeline.fileno())
        return subprocess.Popen(
            self.spec.command,
            env=environment,
            cwd=self.spec.directory,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=inherited,
            start_new_session=True,
            # Safe because the supervisor has no threads; the signal comes when the thread that starts a child ends.
            preexec_fn=_bind_to_parent(os.getpid(), self.spec.wrapped),
        )

    def terminate(self) -> None:
        """Asks the process to end. It decides what becomes of the processes below it."""
        if self._process is None or self.gone.is_set():
            return
        with suppress(ProcessLookupError):
            if self.spec.wrapped:
                os.killpg(self._process.pid, signal.SIGTERM)
            else:
                self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Ends the process and everything in its session's group."""
        if self._process is not None and not self.gone.is_set():
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def stop(self, grace: float) -> None:
        """Politely, and by force when the grace period is over."""
        try:
            async with asyncio.timeout(grace):
                await self._ask_until_gone()
        except TimeoutError:
            self.kill()
            await self.gone.wait()

    async def _ask_until_gone(self) -> None:
        self.terminate()
        while self.spec.wrapped and not self.gone.is_set():
            # Until the real process is there, its wrapper and launcher are deaf to the signal.
            with suppress(TimeoutError):
                async with asyncio.timeout(_ASK_AGAIN_SEC):
                    await self.gone.wait()
            self.terminate()
        await self.gone.wait()

    def tell(self, message: dict[str, Any]) -> None:
        if self._lifeline is not None:
            self._lifeline.write(json.dumps(message).encode() + b"\n")

    def _end_group(self) -> None:
        """As long as the leader is not reaped, the number of the group cannot belong to anybody else."""
        process = self._process
        if process is not None and process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _heard(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace")
        self.last_lines.append(text)
        self._on_line(text)

    def _told(self, line: bytes) -> None:
        self._missing_beats = 0
        try:
            message = json.loads(line)
        except ValueError:
            return  # a broken child is found by its silence
        if message.get("type") == "ready":
            self.ready.set()
        elif message.get("type") == "beat":
            self.figures = message.get("figures", {})

    async def _mind_silence(self) -> None:
        while True:
            await asyncio.sleep(self._patience.beat)
            self._missing_beats += 1
            if self._missing_beats > self._patience.silent_beats:
                self._silent = True
                self.kill()
                return

    async def _wait_ready(self, probe: Probe) -> None:
        while not await probe():  # noqa: ASYNC110 - what it asks is another process
            await asyncio.sleep(_PROBE_EVERY_SEC)
        self.ready.set()


class Adopted(Child):
    """A process that an earlier supervisor left running: watched and ended like one of ours, but not its parent."""

    def __init__(self, spec: ProcessSpec, pid: int, patience: Patience) -> None:
        super().__init__(spec, instance_id="", patience=patience, on_line=lambda text: None)
        self.pid = pid
        self._process_fd = os.pidfd_open(pid)

    async def run(self) -> Exit:
        loop = asyncio.get_running_loop()
        loop.add_reader(self._process_fd, self.gone.set)
        self.ready.set()
        try:
            await self.gone.wait()
        finally:
            loop.remove_reader(self._process_fd)
            os.close(self._process_fd)
        return Exit(0, self.uptime)

    def terminate(self) -> None:
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        if not self.gone.is_set():
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._process_fd, number)


def _bind_to_parent(parent: int, wrapped: bool) -> Callable[[], None]:
    """What a child does before it becomes the program. Our own programs watch their lifeline, but one that hangs, or
    that is not ours, must not survive a killed supervisor either."""

    def bind() -> None:
        if _prctl is not None:
            _prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
        if os.getppid() != parent:
            _leave()
        if wrapped:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)

    return bind


def _leave() -> NoReturn:
    os._exit(_CANNOT_START)
