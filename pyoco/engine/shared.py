"""The dictionaries that all tasks of a run share, and who wrote what into them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .capture import current_scope

MISSING = object()


class SharedDict(dict[Any, Any]):
    """A dict that remembers, per open node, the values it replaced.

    A recorded context must hold the effects of finished nodes only: a node that is cut off runs again from its top and
    would otherwise find its own half-done changes. Only changes of top-level keys can be seen.
    """

    __slots__ = ("_before", "tracked", "writers")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.tracked = False  # whether anybody records this run
        self.writers: dict[Any, object] = {}  # key → the node that wrote it last
        self._before: dict[object, dict[Any, Any]] = {}  # open node → key → value before its first change

    def settle(self, node: object) -> None:
        """The node's changes are final."""
        self._before.pop(node, None)

    def settled(self) -> dict[Any, Any]:
        """The content without the changes of nodes that are still open."""
        content = self.copy()
        # A copy of the item list first: tasks in other threads may be adding to it.
        for _, changes in reversed(list(self._before.items())):
            for key, value in list(changes.items()):
                if value is MISSING:
                    content.pop(key, None)
                else:
                    content[key] = value
        return content

    def note(self, owner: object, keys: Iterable[Any]) -> None:
        """The node is about to change these keys."""
        changes = self._before.get(owner)
        if changes is None:
            changes = self._before[owner] = {}
        for key in keys:
            if key not in changes:
                changes[key] = self.get(key, MISSING)
            self.writers[key] = owner

    def _note(self, keys: Iterable[Any]) -> None:
        if self.tracked:
            scope = current_scope()
            if scope is not None:
                self.note(scope.owner, keys)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._note((key,))
        super().__setitem__(key, value)

    def __delitem__(self, key: Any) -> None:
        self._note((key,))
        super().__delitem__(key)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, *args: Any, **kwargs: Any) -> None:
        changes = dict(*args, **kwargs)
        self._note(changes)
        super().update(changes)

    def __ior__(self, other: Any) -> SharedDict:  # type: ignore[misc]
        self.update(other)
        return self

    def pop(self, key: Any, *default: Any) -> Any:
        self._note((key,))
        return super().pop(key, *default)

    def popitem(self) -> tuple[Any, Any]:
        key = next(reversed(self))
        return key, self.pop(key)

    def clear(self) -> None:
        self._note(tuple(self))
        super().clear()

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return dict, (self.copy(),)
