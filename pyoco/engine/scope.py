"""Scope: where in the loops a node runs, and which results it sees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .context import LoopFrame
from .shared import LayeredDict, SharedDict


class Scope:
    """The top of a flow, or one iteration of a loop."""

    __slots__ = ("collected", "frame", "parent", "prefix", "results", "variables")

    def __init__(
        self,
        results: SharedDict,
        collected: dict[str, Any],
        parent: Scope | None = None,
        frame: LoopFrame | None = None,
        variables: dict[str, Any] | None = None,
        prefix: str = "",
    ) -> None:
        self.results = results
        self.collected = collected
        self.parent = parent
        self.frame = frame
        self.variables = SharedDict(variables or {})
        self.variables.tracked = results.tracked
        self.prefix = prefix

    def isolate(self) -> None:
        """Gives a parallel iteration results of its own, so that its nodes see those of their own neighbours."""
        self.results = LayeredDict(self.results)
        self.collected = LayeredDict(self.collected)

    def chain(self) -> Iterator[Scope]:
        """This scope and those around it, innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def loops(self) -> tuple[LoopFrame, ...]:
        """Outermost first."""
        return tuple(reversed([scope.frame for scope in self.chain() if scope.frame is not None]))

    def holder_of(self, name: str) -> Scope | None:
        """The innermost loop that has a variable of this name."""
        return next((scope for scope in self.chain() if name in scope.variables), None)

    def all_variables(self) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        for scope in self.chain():
            merged = {**scope.variables, **merged}
        return merged
