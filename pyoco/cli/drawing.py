"""Draws the plan of a flow as text."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from ..engine.nodes import ForEachNode, RepeatNode, UntilNode
from ..engine.plan import Block, LoopStep, Step, SwitchStep, TaskStep
from .structure import Part, Series, Tangle, Together, structure

_MIN_WIDTH = 24
_FRAME = 4  # columns that a box takes away from what is inside


@dataclass(frozen=True)
class Pen:
    """The characters of a drawing."""

    across: str
    dashed: str
    down: str
    corners: str  # top left, top right, bottom left, bottom right
    tees: str  # left, right
    then: str
    next: str


UNICODE = Pen("─", "╌", "│", "┌┐└┘", "├┤", " ─▶ ", "▼")
ASCII = Pen("-", "-", "|", "++++", "++", " -> ", "v")


def draw(block: Block, pen: Pen = UNICODE, width: int = 100) -> str:
    """The picture of a plan; lines are kept within `width` where the names allow it."""
    if not block.steps:
        return "(nothing runs)"
    return "\n".join(line.rstrip() for line in _Drawing(pen).part(structure(block), width))


class _Drawing:
    def __init__(self, pen: Pen) -> None:
        self._pen = pen

    def part(self, part: Part, width: int) -> list[str]:
        width = max(width, _MIN_WIDTH)
        match part:
            case Series(parts=parts):
                return self._series(parts, width)
            case Together(parts=parts):
                return self._box("in parallel", [self.part(branch, width - _FRAME) for branch in parts])
            case Tangle(steps=steps):
                return self._tangle(steps, width)
            case LoopStep():
                return self._box(loop_title(part), [self._block(part.body, width - _FRAME)])
            case SwitchStep():
                return self._switch(part, width)
            case _:
                return self._chain([part], width)

    def _block(self, block: Block, width: int) -> list[str]:
        return self.part(structure(block), width)

    def _series(self, parts: list[Part], width: int) -> list[str]:
        """Tasks in a row stand in a line; everything else gets lines of its own."""
        pieces: list[list[str]] = []
        row: list[Step] = []
        for part in parts:
            if isinstance(part, TaskStep):
                row.append(part)
                continue
            if row:
                pieces.append(self._chain(row, width))
                row = []
            pieces.append(self.part(part, width))
        if row:
            pieces.append(self._chain(row, width))
        lines = pieces[0]
        for piece in pieces[1:]:
            lines = [*lines, f"  {self._pen.next}", *piece]
        return lines

    def _chain(self, steps: list[Step], width: int) -> list[str]:
        lines: list[str] = []
        for step in steps:
            name = step_name(step)
            if not lines:
                lines.append(name)
            elif _columns(lines[-1]) + _columns(name) + 2 * len(self._pen.then) <= width:
                lines[-1] += f"{self._pen.then}{name}"
            else:
                lines[-1] += self._pen.then.rstrip()
                lines.append(f"  {name}")
        return lines

    def _switch(self, step: SwitchStep, width: int) -> list[str]:
        sections = []
        for label, block in switch_cases(step):
            inner = self._block(block, width - _FRAME - 2)
            sections.append([f"{label}:", *(f"  {line}" for line in inner)])
        return self._box(switch_title(step), sections)

    def _tangle(self, steps: list[tuple[Step, list[Step]]], width: int) -> list[str]:
        sections = []
        for step, earlier in steps:
            lines = self.part(step, width - _FRAME)
            if earlier:
                lines[-1] += f"   (after {', '.join(step_name(other) for other in earlier)})"
            sections.append(lines)
        return self._box("each as soon as it can", sections)

    def _box(self, title: str, sections: list[list[str]]) -> list[str]:
        pen = self._pen
        widths = [_columns(line) for section in sections for line in section]
        inner = max([_columns(title) + 2, *widths])
        lines = [f"{pen.corners[0]}{pen.across} {title} {pen.across * (inner - _columns(title) - 1)}{pen.corners[1]}"]
        # Branches of one line each need nothing between them.
        divided = any(len(section) > 1 for section in sections)
        for number, section in enumerate(sections):
            if number and divided:
                lines.append(f"{pen.tees[0]}{pen.dashed * (inner + 2)}{pen.tees[1]}")
            lines += [f"{pen.down} {line}{' ' * (inner - _columns(line))} {pen.down}" for line in section]
        lines.append(f"{pen.corners[2]}{pen.across * (inner + 2)}{pen.corners[3]}")
        return lines


def step_name(step: Step) -> str:
    name = step.task.name if isinstance(step, TaskStep) else step.label
    return f"{name} (after any)" if step.any_trigger else name


def loop_title(step: LoopStep) -> str:
    match step.node:
        case RepeatNode(count=count):
            return f"repeat {count if isinstance(count, int) else _expression(count.source)} times"
        case ForEachNode(source=source, alias=alias, parallel=parallel):
            item = f"{alias} in " if alias else ""
            width = f", {parallel} at a time" if parallel > 1 else ""
            return f"foreach {item}{_expression(source.source)}{width}"
        case UntilNode(condition=condition, max_iter=limit):
            most = f", at most {limit} times" if limit else ""
            return f"repeat until {_expression(condition.source)}{most}"


def switch_title(step: SwitchStep) -> str:
    return f"switch on {_expression(step.expression.source)}"


def switch_cases(step: SwitchStep) -> list[tuple[str, Block]]:
    cases = [(str(value), block) for value, block in step.cases]
    return [*cases, ("default", step.default)] if step.default is not None else cases


def _expression(source: str) -> str:
    return " ".join(source.replace("$ctx.", "").split())


def _columns(text: str) -> int:
    """The width on a terminal, where East Asian characters take two columns."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
