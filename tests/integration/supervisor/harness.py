"""A whole stack in a real process, with stand-ins for gateway and worker and a real nats-server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

from pyoco.supervisor.control import ask
from pyoco.supervisor.options import CannotStart
from tests.support.wait import wait_until

PROGRAM = Path(__file__).with_name("run_stack.py")
START_SEC = 30.0


class Stack:
    """Use it in a `with` statement: at its end nothing of it may run any more."""

    def __init__(self, root: Path, environment: dict[str, str] | None = None, **options: Any) -> None:
        self.root = root
        self.notes = root / "notes"
        self.data_dir = Path(options.pop("data_dir", root / "data"))
        self._output = root / "output"
        self._errors = root / "errors"
        self._options = options
        self._environment = environment or {}
        self.notes.mkdir(parents=True, exist_ok=True)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        given = json.dumps({"data_dir": str(self.data_dir), **self._options})
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYOCO_")}
        with self._output.open("wb") as output, self._errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, str(PROGRAM), given],
                env={**kept, "TEST_NOTES": str(self.notes), **self._environment},
                cwd=self.root,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
            )
        return self

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        wait_until(lambda: not self.processes(), "every process to end", seconds=20, show=self.processes)

    # What can be seen.

    @property
    def errors(self) -> str:
        return self._errors.read_text("utf-8")

    def lines(self) -> list[dict[str, Any]]:
        complete = self._output.read_text("utf-8").rpartition("\n")[0]
        return [json.loads(line) for line in complete.splitlines()]

    def said(self, text: str) -> bool:
        return any(text in line["message"] for line in self.lines())

    def wait_for(self, text: str) -> None:
        self.wait(lambda: self.said(text), f"{text!r} in the output")

    def wait_ready(self) -> Self:
        self.wait(lambda: self.said("pyoco is up:"), "the stack to be ready")
        return self

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        wait_until(condition, what, seconds=START_SEC, show=lambda: (self.lines(), self.errors))

    @property
    def url(self) -> str:
        return next(str(line["url"]) for line in self.lines() if "url" in line)

    def status(self) -> dict[str, Any]:
        return ask(self.data_dir, "status")

    def process_of(self, name: str) -> dict[str, Any]:
        return next(process for process in self.status()["processes"] if process["name"] == name)

    def pid_of(self, name: str) -> int:
        return int(self.process_of(name)["pid"])

    def state_of(self, name: str) -> str:
        try:
            return str(self.process_of(name)["state"])
        except (CannotStart, StopIteration):
            return "unknown"

    def noted(self, file: str) -> list[str]:
        path = self.notes / file
        return path.read_text("utf-8").splitlines() if path.exists() else []

    def ask_gateway(self) -> str:
        """The instance that answers."""
        with urllib.request.urlopen(self.url, timeout=20) as answer:
            return str(answer.read().decode())

    def nats_server(self) -> psutil.Process:
        return next(process for process in self.processes() if process.name() == "nats-server")

    def processes(self) -> list[psutil.Process]:
        """Everything alive that was started by this stack, also when nobody is its parent any more."""
        return [process for process in psutil.process_iter() if self._is_ours(process)]

    def words(self) -> list[str]:
        """Everything that stands on the command lines of this stack right now."""
        found: list[str] = []
        for process in self.processes():
            with suppress(psutil.Error):
                found += process.cmdline()
        return found

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            return process.environ().get("TEST_NOTES") == str(self.notes) and process.status() != psutil.STATUS_ZOMBIE
        except psutil.Error:
            return False

    # What can be done.

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def finish(self) -> int:
        assert self.process is not None
        return self.process.wait(START_SEC)
