"""The dictionaries that all tasks of a run share, and who wrote what into them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
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
        content = dict(dict.items(self))
        # A copy of the item list first: tasks in other threads may be adding to it.
        for _, changes in reversed(list(self._before.items())):
            for key, value in list(changes.items()):
                if value is MISSING:
                    content.pop(key, None)
                else:
                    content[key] = value
        return content

    def keep(self, key: Any, value: Any, writer: object = None) -> None:
        """Stores a value past the bookkeeping; with a writer it still counts as that node's."""
        dict.__setitem__(self, key, value)
        if writer is not None:
            self.writers[key] = writer

    def forget(self, key: Any) -> None:
        """Removes a value past the bookkeeping."""
        dict.pop(self, key, None)

    def note(self, owner: object, keys: Iterable[Any]) -> None:
        """The node is about to change these keys."""
        changes = self._before.get(owner)
        if changes is None:
            changes = self._before[owner] = {}
        for key in keys:
            if key not in changes:
                changes[key] = dict.get(self, key, MISSING)
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
        return dict, (dict(self.items()),)


class LayeredDict(SharedDict):
    """A dict of its own over another one: reads fall through, writes stay here."""

    __slots__ = ("_below",)

    def __init__(self, below: dict[Any, Any]) -> None:
        super().__init__()
        self._below = below
        self.tracked = isinstance(below, SharedDict) and below.tracked

    def own(self) -> dict[Any, Any]:
        """What was written here."""
        return dict(dict.items(self))

    def __missing__(self, key: Any) -> Any:
        return self._below[key]

    def __contains__(self, key: object) -> bool:
        return dict.__contains__(self, key) or key in self._below

    def get(self, key: Any, default: Any = None) -> Any:
        return self[key] if key in self else default  # noqa: SIM401 - this is `get`

    def __iter__(self) -> Iterator[Any]:
        yield from self._below
        yield from (key for key in list(dict.keys(self)) if key not in self._below)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def keys(self) -> Any:
        return list(self)

    def values(self) -> Any:
        return [self[key] for key in self]

    def items(self) -> Any:
        return [(key, self[key]) for key in self]

    def __eq__(self, other: object) -> bool:
        return dict(self.items()) == other

    __hash__ = None  # type: ignore[assignment]

    def copy(self) -> dict[Any, Any]:
        return dict(self.items())
