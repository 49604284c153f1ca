"""Loops under way: how far they have come, what each iteration sees, what they collect."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from .context import LoopFrame
from .nodes import DEFAULT_MAX_ITER, ForEachNode, RepeatNode, UntilNode
from .plan import LoopStep, Step
from .scope import Scope


@dataclass(slots=True)
class LoopRun:
    """How far a loop has come."""

    count: int
    items: list[Any] | tuple[Any, ...] | None = None
    next_index: int = 0
    active: int = 0
    all_ok: bool = True
    any_ok: bool = False
    condition: bool | None = None
    scope: Scope | None = None  # of the iteration that was started last
    merged: dict[str, int] = field(default_factory=dict)  # what was brought out of the loop → its iteration
    collected: dict[str, dict[int, Any]] = field(default_factory=dict)

    def is_newest(self, what: str, index: int) -> bool:
        """Whether no later iteration has brought this out before; notes that this one does."""
        if index < self.merged.get(what, -1):
            return False
        self.merged[what] = index
        return True


class LoopMemory(Protocol):
    """Knows what a continued run had set in its loops before it stopped."""

    def loop_entered(self, path: str, loop: LoopRun) -> None: ...

    def iteration_opened(self, scope: Scope) -> None: ...


def collects(step: Step) -> bool:
    """Loops keep the values of each iteration only where the flow asks for them."""
    assert isinstance(step, LoopStep)
    return step.node.collect is not None or (isinstance(step.node, ForEachNode) and step.node.parallel > 1)


def iteration_scope(step: LoopStep, path: str, around: Scope, loop: LoopRun) -> Scope:
    """The scope of the next iteration of a loop at `path`."""
    index = loop.next_index
    written = step.node
    variables: dict[str, Any] = {}
    frame = LoopFrame(name="repeat", type="repeat", index=index, iteration=index + 1, count=loop.count)
    if isinstance(written, UntilNode):
        frame.name = frame.type = "until"
        frame.condition = loop.condition
    elif isinstance(written, ForEachNode):
        assert loop.items is not None
        frame.name = f"foreach:{written.alias or written.source.source}"
        frame.type = "foreach"
        frame.item = loop.items[index]
        if written.alias:
            variables[written.alias] = frame.item
        if written.index_alias:
            variables[written.index_alias] = index
    outer = around.frame
    frame.path = f"{outer.path}.{frame.name}[{index}]" if outer is not None else f"{frame.name}[{index}]"
    prefix = f"{path}[{index}]/"
    return Scope(around.results, around.collected, around, frame, variables, prefix)


def collected_value(values: list[Any], mode: str) -> Any:
    if mode == "first":
        return values[0]
    if mode == "last":
        return values[-1]
    if mode == "flatten":
        return [item for value in values for item in (value if isinstance(value, (list, tuple)) else [value])]
    return values


def loop_count(step: LoopStep, value: Any) -> int:
    """Checks what the count of a `repeat` or the source of a `foreach` came to."""
    if isinstance(step.node, RepeatNode):
        if not isinstance(value, int):
            raise TypeError(f"repeat needs a whole number, not {type(value).__name__}")
        if value < 0:
            raise ValueError(f"cannot repeat {value} times; use 0 or more")
        return value
    if isinstance(step.node, ForEachNode):
        if not isinstance(value, (list, tuple)):
            source = step.node.source.source
            raise TypeError(f"foreach needs a list or tuple, but {source} is a {type(value).__name__}")
        return len(value)
    # A limit below one is reached after the first pass: the body of an `until` runs before its condition.
    return max(1, int(step.node.max_iter or DEFAULT_MAX_ITER))
