"""The live trace on a terminal: log lines scroll by, below them stands what the nodes are doing."""

from __future__ import annotations

import queue
import threading
import time
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from ..engine.events import ContextSource, LogLine, StuckThread, Transition
from ..engine.trace import SilentTrace
from .board import Board, Line, Mood, duration
from .terminal import TerminalGuard

_REFRESH_SEC = 0.1
_MAX_BACKLOG = 10_000  # lines; a task that prints faster than the terminal can show has to wait
_RESERVED_ROWS = 3
_MANY_ROWS = 200
_LOOKS: dict[Mood, tuple[str, str]] = {
    Mood.PENDING: ("·", "dim"),
    Mood.RUNNING: ("▶", "cyan"),
    Mood.RETRYING: ("↻", "yellow"),
    Mood.WAITING: ("?", "yellow"),
    Mood.DONE: ("✓", "green"),
    Mood.FAILED: ("✗", "red"),
    Mood.SKIPPED: ("-", "red"),
    Mood.CANCELLED: ("×", "magenta"),
}


class LiveTrace:
    """A sink. Enter it while the run moves; what it shows at the end stays on the terminal."""

    passes_output = False

    def __init__(self, board: Board) -> None:
        self.trace = SilentTrace()
        self._board = board
        self._lock = threading.Lock()
        self._lines: queue.Queue[Text] = queue.Queue(_MAX_BACKLOG)
        self._ending = threading.Event()
        self._spinner = Spinner("dots", style="cyan")

    # The sink

    def transition(self, event: Transition, context: ContextSource) -> None:
        with self._lock:
            self._board.apply(event)

    def line(self, line: LogLine) -> None:
        text = f"{line.level} {line.text}" if line.level else line.text
        style = "red" if line.stream == "stderr" else "cyan"
        self._lines.put(Text.assemble((f"{line.node} │ ", style), Text.from_ansi(text)))

    def stuck(self, thread: StuckThread) -> None:
        """The engine's own warning is shown already, as any line on standard error is."""

    def say(self, text: str) -> None:
        self._lines.put(Text(text, style="bold"))

    # The display

    def __enter__(self) -> LiveTrace:
        self._guard = TerminalGuard(lambda text: self._lines.put(Text.from_ansi(text)))
        self._console = Console(file=self._guard.terminal)
        self._live = Live(console=self._console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
        self._ending.clear()
        self._painter = threading.Thread(target=self._paint, name="pyoco-live", daemon=True)
        self._guard.__enter__()
        self._live.start()
        self._painter.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._guard.__exit__(*exc_info)
        self._ending.set()
        self._painter.join()
        self._show_lines()
        self._live.update(self._picture(_MANY_ROWS))
        self._live.stop()

    def _paint(self) -> None:
        while not self._ending.wait(_REFRESH_SEC):
            self._show_lines()
            self._live.update(self._picture(max(self._console.height - _RESERVED_ROWS, 3)), refresh=True)

    def _show_lines(self) -> None:
        lines: list[Text] = []
        while len(lines) < _MAX_BACKLOG:
            try:
                lines.append(self._lines.get_nowait())
            except queue.Empty:
                break
        if lines:
            # All at once: each print draws the rows below anew.
            self._console.print(Text("\n").join(lines), soft_wrap=True, highlight=False)

    def _picture(self, room: int) -> RenderableType:
        now = time.time()
        with self._lock:
            lines, rest = self._board.visible(room)
            table = Table.grid(padding=(0, 1))
            for _ in range(3):
                table.add_column(no_wrap=True)
            table.add_column(no_wrap=True, justify="right")
            table.add_column(width=12)
            table.add_column(no_wrap=True, overflow="ellipsis")
            for line in lines:
                table.add_row(*self._cells(line, now))
        return Group(table, Text(rest, style="dim")) if rest else table

    def _cells(self, line: Line, now: float) -> list[Any]:
        symbol, style = _LOOKS[line.mood]
        seconds = line.seconds(now)
        return [
            self._spinner if line.mood is Mood.RUNNING else Text(symbol, style=style),
            Text(line.node, style=style),
            Text(line.place, style="dim"),
            Text("" if seconds is None else duration(seconds), style="dim"),
            ProgressBar(100, line.percent, width=12) if line.percent is not None else "",
            Text(_note(line), style=style),
        ]


def _note(line: Line) -> str:
    return line.mood.value if not line.note and line.mood is not Mood.RUNNING else line.note
