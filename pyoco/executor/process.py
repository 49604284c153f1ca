"""The executor as a child process, seen by its worker: how it is started and what its death is called."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

_MEANINGS = {
    signal.SIGKILL: "killed, perhaps by the system because memory ran out",
    signal.SIGSEGV: "crashed with a segmentation fault",
    signal.SIGABRT: "aborted",
    signal.SIGBUS: "crashed with a bus error",
    signal.SIGFPE: "crashed with an arithmetic error",
    signal.SIGILL: "crashed with an illegal instruction",
}


@dataclass(frozen=True, slots=True)
class Child:
    """A started process with the worker's ends of its socket and pipes, all non-blocking."""

    process: subprocess.Popen[bytes]
    pidfd: int
    connection: socket.socket
    stdout: int
    stderr: int

    def kill(self) -> None:
        """Kills the process and everything its tasks have started, as long as it has not been reaped."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def reap(self) -> int:
        """The exit code of a process that is dead. What its tasks left behind goes first, while the dead process still
        keeps its number from being given to another."""
        self.kill()
        return self.process.wait()

    def close(self) -> None:
        self.connection.close()
        for descriptor in (self.pidfd, self.stdout, self.stderr):
            os.close(descriptor)


def spawn(env: Mapping[str, str]) -> Child:
    """Starts an executor in a process group of its own, so that a Ctrl-C at the terminal does not reach it."""
    ours, theirs = socket.socketpair()
    pipes = [os.pipe(), os.pipe()]
    try:
        process = subprocess.Popen(
            # -P: what lies in the working directory must not stand in for our modules. -B: bytecode is told from
            # its source by the second; code that was edited twice in one must not run in its older form. -u: a fork
            # that ends without ceremony has said everything.
            [sys.executable, "-P", "-B", "-u", "-m", "pyoco.executor", str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=pipes[0][1],
            stderr=pipes[1][1],
            pass_fds=[theirs.fileno()],
            env={**os.environ, **env},
            process_group=0,
        )
    except BaseException:
        ours.close()
        for reading, _ in pipes:
            os.close(reading)
        raise
    finally:
        theirs.close()
        for _, writing in pipes:
            os.close(writing)
    ours.setblocking(False)
    for reading, _ in pipes:
        os.set_blocking(reading, False)
    return Child(process, os.pidfd_open(process.pid), ours, pipes[0][0], pipes[1][0])


def describe_exit(code: int, *, by_worker: bool) -> str:
    """In words, for the log and for the error of a run."""
    if by_worker and code == -signal.SIGKILL:
        return "killed by its worker"
    if code < 0:
        number = -code
        name = signal.Signals(number).name if number in set(signal.Signals) else "an unknown signal"
        meaning = _MEANINGS.get(number, "killed")  # type: ignore[call-overload]
        return f"{meaning} (signal {number}, {name})"
    return f"exited with status {code}" if code else "ended by itself (status 0)"
