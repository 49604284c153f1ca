"""What a run looks like at a moment: one row per node, kept up to date by the events of the run."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from ..engine.events import (
    Decided,
    NodeCancelled,
    NodeFailed,
    NodeProgressed,
    NodeRetrying,
    NodeStarted,
    NodeSucceeded,
    NodeWaiting,
    Transition,
)

_LOOP = re.compile(r"(.+)\[(\d+)\]")
_INDEX = re.compile(r"\[(\d+)\]/")


class Mood(Enum):
    PENDING = "pending"
    RUNNING = "running"
    RETRYING = "retrying"
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"


# What to show first when there is not enough room.
_URGENCY = {
    Mood.RUNNING: 0,
    Mood.RETRYING: 0,
    Mood.WAITING: 0,
    Mood.FAILED: 1,
    Mood.SKIPPED: 3,
    Mood.CANCELLED: 3,
    Mood.DONE: 4,
    Mood.PENDING: 5,
}


@dataclass
class Line:
    """One node, or one of its iterations that run side by side."""

    node: str
    mood: Mood = Mood.PENDING
    place: str = ""  # the iteration, e.g. `2/5`
    started_at: float | None = None
    ended_at: float | None = None
    percent: float | None = None
    note: str = ""

    def seconds(self, now: float) -> float | None:
        if self.started_at is None:
            return None
        return max((self.ended_at if self.ended_at is not None else now) - self.started_at, 0.0)


@dataclass
class _Row:
    latest: Line
    active: dict[str, Line] = field(default_factory=dict)
    furthest: tuple[int, ...] = ()

    def show(self, line: Line, path: str) -> None:
        """The line to show when nothing is active: that of the last iteration, whichever ended last."""
        place = tuple(int(number) for number in _INDEX.findall(path))
        if place >= self.furthest:
            self.latest, self.furthest = line, place


class Board:
    """Not safe to share between threads: whoever shows it guards it."""

    def __init__(self, nodes: Iterable[str]) -> None:
        self._rows = {name: _Row(Line(name)) for name in nodes}
        self._counts: dict[str, int] = {}

    def apply(self, event: Transition) -> None:
        if isinstance(event, Decided):
            self._note_count(event)
            return
        row = self._rows.setdefault(event.node, _Row(Line(event.node)))
        if isinstance(event, NodeStarted):
            line = row.active.get(event.path) or Line(event.node, place=self._place(event.path), started_at=event.at)
            line.mood, line.percent = Mood.RUNNING, None
            line.note = f"attempt {event.attempt}" if event.attempt > 1 else ""
            row.active[event.path] = line
            row.show(line, event.path)
            return
        line = row.active.get(event.path) or Line(event.node, place=self._place(event.path))
        row.show(line, event.path)
        self._change(line, event)
        if line.ended_at is not None:
            row.active.pop(event.path, None)

    def _change(self, line: Line, event: Transition) -> None:
        match event:
            case NodeProgressed():
                line.percent, line.note = event.percent, event.message or ""
            case NodeRetrying():
                line.mood, line.percent = Mood.RETRYING, None
                line.note = f"attempt {event.attempt} failed: {_first_line(event.error)}"
            case NodeWaiting():
                line.mood, line.note = Mood.WAITING, _first_line(event.prompt or "waits for an answer")
            case NodeSucceeded():
                line.mood, line.ended_at, line.percent, line.note = Mood.DONE, event.at, None, ""
            case NodeFailed():
                line.mood = Mood.SKIPPED if event.skipped else Mood.FAILED
                line.ended_at, line.percent, line.note = event.at, None, _first_line(event.error)
            case NodeCancelled():
                line.mood, line.ended_at, line.percent, line.note = Mood.CANCELLED, event.at, None, ""

    def lines(self) -> list[Line]:
        """Every node in the order of the flow; several lines where iterations run side by side."""
        found: list[Line] = []
        for row in self._rows.values():
            found.extend(row.active.values() if row.active else [row.latest])
        return found

    def visible(self, room: int) -> tuple[list[Line], str]:
        """As many lines as there is room for, the most interesting ones, and a word about the rest."""
        lines = self.lines()
        if len(lines) <= room:
            return lines, ""
        chosen = sorted(range(len(lines)), key=lambda index: (_URGENCY[lines[index].mood], -_age(lines[index])))
        shown = sorted(chosen[: max(room - 1, 1)])
        hidden = [lines[index] for index in chosen[max(room - 1, 1) :]]
        counts = [(mood, sum(line.mood is mood for line in hidden)) for mood in Mood]
        rest = ", ".join(f"{count} {mood.value}" for mood, count in counts if count)
        return [lines[index] for index in shown], f"and {len(hidden)} more: {rest}"

    def _note_count(self, event: Decided) -> None:
        if isinstance(event.value, (list, tuple)):
            self._counts[event.path] = len(event.value)
        elif isinstance(event.value, int) and not isinstance(event.value, bool) and "until" not in event.node:
            self._counts[event.path] = event.value

    def _place(self, path: str) -> str:
        """Which iteration of each loop around a node this is."""
        places = []
        segments = path.split("/")
        for depth, segment in enumerate(segments):
            if (found := _LOOP.fullmatch(segment)) is not None:
                count = self._counts.get("/".join([*segments[:depth], found[1]]))
                number = int(found[2]) + 1
                places.append(f"#{number}" if count is None else f"{number}/{count}")
        return " ".join(places)


def _age(line: Line) -> float:
    return line.ended_at or line.started_at or 0.0


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]


def duration(seconds: float) -> str:
    """A time that people can read."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} m" if hours else f"{minutes} m {rest:02} s"
