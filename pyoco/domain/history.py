"""The bounded event list that a run carries, and the commands it remembers to have applied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .events import Event, JournalWritten, NodeProgressed, event_to_json
from .values import Document, size_of

MAX_EVENTS = 256
MAX_BYTES = 32 * 1024
MAX_EVENT_BYTES = 1024
MAX_APPLIED = 64
_KEPT_TEXT = 200
_NEVER_LEFT_OUT = frozenset({"node", "path", "earlier", "omitted"})
_BRACKETS = 2


@dataclass(frozen=True, slots=True)
class History:
    """The newest events in their stored form.

    `truncated`: the list alone no longer tells the whole state, because older events or large values were left out.
    `size` is the length of the list as JSON, or -1 as long as nobody needed to know it.
    """

    entries: tuple[Document, ...] = ()
    applied: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    truncated: bool = False
    size: int = field(default=_BRACKETS, compare=False)


EMPTY_HISTORY = History()


def append(history: History, event: Event, run_id: str) -> History:
    entries, size = history.entries, history.size
    if size < 0:
        size = size_of(entries)
    applied = _remember(history.applied, event)
    replaced = _index_replaced_by(event, entries)
    if replaced is not None:
        event = _merged(event, entries[replaced], applied)
        size -= size_of(entries[replaced]) + 1
        entries = entries[:replaced] + entries[replaced + 1 :]
    entry = event_to_json(event, run_id)
    added = size_of(entry)
    if added > MAX_EVENT_BYTES:
        entry = _shortened(entry)
        added = size_of(entry)
    truncated = history.truncated or "omitted" in entry["data"]
    entries = (*entries, entry)
    size += added + 1
    first = 0
    while len(entries) - first > 1 and (len(entries) - first > MAX_EVENTS or size > MAX_BYTES):
        size -= size_of(entries[first]) + 1
        first += 1
    return History(entries[first:], applied, truncated or first > 0, size)


def forget(history: History) -> History:
    """What others wrote in between is not in the list: it tells no longer everything."""
    return replace(history, truncated=True)


def _index_replaced_by(event: Event, entries: tuple[Document, ...]) -> int | None:
    """Of progress only the latest per node is kept, of the context only the latest at all."""
    body = event.body
    if not isinstance(body, (NodeProgressed, JournalWritten)):
        return None
    kind = event.type
    for index in range(len(entries) - 1, -1, -1):
        entry = entries[index]
        if entry["type"] != kind:
            continue
        if isinstance(body, JournalWritten):
            # One that a keyed command wrote stays, or replaying the list would forget that it was applied.
            return None if "cmd" in entry else index
        data = entry["data"]
        if data.get("node") == body.node and data.get("path") == body.path:
            return index
    return None


def _merged(event: Event, older: Document, applied: Mapping[str, tuple[int, ...]]) -> Event:
    body, data = event.body, older["data"]
    if isinstance(body, NodeProgressed):
        pairs = [(cmd, n) for cmd, n in data.get("earlier", ())]
        if "cmd" in older:
            pairs.append((older["cmd"], older["n"]))
        earlier = tuple(pair for pair in pairs if pair[0] in applied)
        return replace(event, body=replace(body, earlier=body.earlier + earlier)) if earlier else event
    assert isinstance(body, JournalWritten)
    context = data.get("context") if body.context is None else body.context
    decisions = {**data.get("decisions", {}), **body.decisions}
    return replace(event, body=JournalWritten(decisions, context))


def _remember(applied: Mapping[str, tuple[int, ...]], event: Event) -> Mapping[str, tuple[int, ...]]:
    pairs = list(event.body.earlier) if isinstance(event.body, NodeProgressed) else []
    if event.cmd is not None:
        pairs.append((event.cmd, event.n))
    if not pairs:
        return applied
    known = dict(applied)
    for cmd, n in pairs:
        known[cmd] = tuple(sorted({*known.get(cmd, ()), n}))
    if len(known) > MAX_APPLIED:
        newest = sorted(known, key=lambda cmd: known[cmd][-1])[-MAX_APPLIED:]
        known = {cmd: known[cmd] for cmd in newest}
    return known


def _shortened(entry: Document) -> Document:
    """Leaves out the largest values, and says which, until the event is small enough. Of text the beginning stays."""
    data: dict[str, Any] = dict(entry["data"])
    omitted: list[str] = list(data.get("omitted", ()))
    by_size = sorted((name for name in data if name not in _NEVER_LEFT_OUT), key=lambda name: -size_of(data[name]))
    for name in by_size:
        value = data.pop(name)
        if isinstance(value, str):
            data[name] = value[:_KEPT_TEXT]
        omitted.append(name)
        shortened = {**entry, "data": {**data, "omitted": omitted}}
        if size_of(shortened) <= MAX_EVENT_BYTES:
            return shortened
    return {**entry, "data": {**data, "omitted": omitted}}
