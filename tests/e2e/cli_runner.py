"""Runs the real `pyoco` command, through pipes or on a pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import textwrap
import time
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
EXAMPLES = REPOSITORY / "examples"
MODULE = [sys.executable, "-m", "pyoco"]
SCRIPT = [str(Path(sys.executable).with_name("pyoco"))]
PATIENCE_SEC = 30
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def environment(**changes: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYOCO_")}
    return {**kept, "TERM": "xterm-256color", **changes}


def pyoco(
    *arguments: str | Path, cwd: Path | None = None, command: list[str] = MODULE, input: str = "", **env: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, *map(str, arguments)],
        cwd=cwd,
        env=environment(**env),
        input=input,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE_SEC,
        check=False,
    )


def project(root: Path, flow: str, tasks: str = "", name: str = "flow.yaml") -> Path:
    """Writes a flow file and the `tasks.py` beside it; gives the flow file."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "tasks.py").write_text(textwrap.dedent(tasks), encoding="utf-8")
    path = root / name
    path.write_text(textwrap.dedent(flow), encoding="utf-8")
    return path


class Running:
    """A command under way, whose output can be waited for."""

    def __init__(
        self, *arguments: str | Path, cwd: Path | None = None, command: list[str] = MODULE, **env: str
    ) -> None:
        self.output = ""
        self._process = self._start([*command, *map(str, arguments)], cwd, environment(**env))

    def _start(self, command: list[str], cwd: Path | None, env: dict[str, str]) -> subprocess.Popen[bytes]:
        reading, writing = os.pipe()
        self._reading = reading
        try:
            return subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=writing, stderr=writing)
        finally:
            os.close(writing)

    def wait_for(self, text: str) -> None:
        deadline = time.monotonic() + PATIENCE_SEC
        while text not in self.output:
            ready, _, _ = select.select([self._reading], [], [], max(deadline - time.monotonic(), 0))
            if not ready or not self._read():
                raise AssertionError(f"{text!r} never came; the output was:\n{self.output}")

    def interrupt(self) -> None:
        self._process.send_signal(signal.SIGINT)

    def finish(self) -> int:
        """Reads to the end; gives the exit code."""
        try:
            while self._read():
                pass
            return self._process.wait(PATIENCE_SEC)
        finally:
            self._process.kill()
            self._process.wait()
            os.close(self._reading)

    def _read(self) -> bool:
        try:
            data = os.read(self._reading, 65536)
        except OSError:  # how a pseudo-terminal says that its other end is closed
            return False
        self.output += _CONTROL.sub("", data.decode("utf-8", "replace")).replace("\r\n", "\n")
        return bool(data)


class Terminal(Running):
    """The same on a pseudo-terminal, with a keyboard."""

    def _start(self, command: list[str], cwd: Path | None, env: dict[str, str]) -> subprocess.Popen[bytes]:
        self._reading, other_end = pty.openpty()
        fcntl.ioctl(other_end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        try:
            return subprocess.Popen(
                command,
                cwd=cwd,
                env=env,
                stdin=other_end,
                stdout=other_end,
                stderr=other_end,
                start_new_session=True,
                preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # so that Ctrl-C becomes a signal
            )
        finally:
            os.close(other_end)

    def type(self, text: str) -> None:
        os.write(self._reading, text.encode())

    def interrupt(self) -> None:
        self.type("\x03")
