"""Scope: where in the loops a node runs, and which results it sees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .context import LoopFrame


class Scope:
    """The top of a flow, or one iteration of a loop."""

    __slots__ = ("_outer_results", "frame", "parent", "prefix", "results", "variables")

    def __init__(
        self,
        results: dict[str, Any],
        parent: Scope | None = None,
        frame: LoopFrame | None = None,
        variables: dict[str, Any] | None = None,
        prefix: str = "",
    ) -> None:
        self.parent = parent
        self.frame = frame
        self.variables = variables or {}
        self.prefix = prefix
        self.results = results
        self._outer_results: dict[str, Any] | None = None

    def isolate_results(self) -> None:
        """Gives a parallel iteration results of its own, so that its nodes see their own neighbours' outputs."""
        self._outer_results = self.results
        self.results = dict(self.results)

    def own_results(self) -> dict[str, Any]:
        """What an isolated iteration has added or changed."""
        outer = self._outer_results
        if outer is None:
            return {}
        return {key: value for key, value in self.results.items() if key not in outer or outer[key] is not value}

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
