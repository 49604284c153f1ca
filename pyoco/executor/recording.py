"""From the engine's events to messages, and from messages to a journal."""

from __future__ import annotations

import reprlib
from typing import Any

from pyoco.engine.events import (
    ContextSource,
    Decided,
    NodeFailed,
    NodeProgressed,
    NodeRetrying,
    NodeStarted,
    NodeSucceeded,
    NodeWaiting,
    Transition,
)
from pyoco.engine.journal import FAILED, RETRYING, SUCCEEDED, WAITING, Entry, Journal
from pyoco.engine.values import NotRecordable, encode

from .messages import Transitioned

_SHOWN_TEXT = 4096
_SHOWN_INPUT_PARTS = 1000  # inputs are only looked at, never replayed: large ones are not worth their way
_MISSING = object()

Context = dict[str, Any]


def describe(run_id: str, event: Transition, context: ContextTracker, source: ContextSource) -> Transitioned:
    """The message for an event. Values are encoded here and now: tasks may change them a moment later."""
    fields = _fields_of(event)
    if not isinstance(event, (NodeStarted, NodeProgressed)):
        fields["context"], fields["lost"] = context.changes(source)
    kind: Any = type(event).__name__
    return Transitioned(run_id=run_id, event=kind, path=event.path, node=event.node, at=event.at, **fields)


def _fields_of(event: Transition) -> dict[str, Any]:
    match event:
        case NodeStarted():
            return {"attempt": event.attempt}
        case NodeProgressed():
            return {"percent": event.percent, "message": _text(event.message)}
        case NodeSucceeded():
            output, replay = recorded(event.output)
            inputs = _shown_inputs(event.inputs)
            started = event.started_at
            return {
                "attempt": event.attempt,
                "output": output,
                "replay": replay,
                "inputs": inputs,
                "started_at": started,
            }
        case NodeFailed():
            return {
                "attempt": event.attempt,
                "error": event.error,
                "traceback": event.traceback,
                "skipped": event.skipped,
                "inputs": _shown_inputs(event.inputs),
                "started_at": event.started_at,
            }
        case NodeRetrying():
            return {
                "attempt": event.attempt,
                "error": event.error,
                "traceback": event.traceback,
                "pause": event.pause,
            }
        case NodeWaiting():
            return {"attempt": event.attempt, "wait_key": str(event.wait_key), "prompt": _text(event.prompt)}
        case Decided():
            value, replay = recorded(event.value)
            return {"value": value, "replay": replay}
    return {}


def record(journal: Journal, message: Transitioned) -> None:
    """Brings a journal up to date; it is what StartRun takes to continue the run."""
    match message.event:
        case "NodeStarted" | "NodeProgressed":
            return
        case "NodeSucceeded":
            output = message.output if message.replay else None
            journal.nodes[message.path] = Entry(SUCCEEDED, message.attempt, output=output, replay=message.replay)
        case "NodeFailed" | "NodeRetrying":
            state = FAILED if message.event == "NodeFailed" else RETRYING
            journal.nodes[message.path] = Entry(
                state, message.attempt, error=message.error, traceback=message.traceback, skipped=message.skipped
            )
        case "NodeWaiting":
            journal.nodes[message.path] = Entry(
                WAITING, message.attempt, wait_key=message.wait_key, prompt=message.prompt
            )
        case "NodeCancelled":
            journal.nodes.pop(message.path, None)
        case "Decided":
            if message.replay:
                journal.decisions[message.path] = message.value
    if message.context is not None:
        merge_context(journal.context, message.context)
    for path in message.lost:
        if path in journal.nodes:
            journal.nodes[path].replay = False


class ContextTracker:
    """Finds what changed in the recorded context of a run, so that it need not be sent as a whole each time."""

    def __init__(self, known: Context) -> None:
        self._known = known

    def changes(self, source: ContextSource) -> tuple[Context | None, list[str]]:
        """The change since the last call, None if there is none, and the nodes whose writes cannot be recorded."""
        now = source.record()
        before, self._known = self._known, now.data
        change: Context = {"set": [], "removed": []}
        _compare(before, now.data, [], change)
        return (change if change["set"] or change["removed"] else None), sorted(now.lost)


def _compare(before: Context, now: Context, path: list[str], change: Context) -> None:
    for key, value in now.items():
        old = before.get(key, _MISSING)
        if type(value) is dict and type(old) is dict:
            _compare(old, value, [*path, key], change)
        elif not _same(value, old):
            change["set"].append([[*path, key], value])
    change["removed"] += [[*path, key] for key in before if key not in now]


def _same(value: Any, old: Any) -> bool:
    """Equal and of equal types all the way down: for Python 1 equals True, for a task it may be another answer."""
    if type(value) is not type(old):
        return False
    if isinstance(value, dict):
        return value.keys() == old.keys() and all(_same(item, old[key]) for key, item in value.items())
    if isinstance(value, list):
        return len(value) == len(old) and all(map(_same, value, old))
    return bool(value == old)


def merge_context(context: Context, change: Context) -> None:
    """Applies a change: values to `set` and keys `removed`, each at its path of keys from the top."""
    for path, value in change["set"]:
        _owner(context, path)[path[-1]] = value
    for path in change["removed"]:
        _owner(context, path).pop(path[-1], None)


def _owner(context: Context, path: list[str]) -> Context:
    for key in path[:-1]:
        context = context.setdefault(key, {})
    return context


def recorded(value: Any) -> tuple[Any, bool]:
    """The recorded form of a value; its repr and false if it has none."""
    try:
        return encode(value), True
    except (NotRecordable, RecursionError):
        return shown(value), False


def shown(value: Any) -> str:
    """A text for people. `repr` is user code here: it may raise, or never come to an end of its own."""
    try:
        text = _brief.repr(value)
    except Exception:  # noqa: BLE001 - see above
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _SHOWN_TEXT else f"{text[:_SHOWN_TEXT]}…"


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else shown(value)


def _shown_inputs(inputs: dict[str, Any]) -> dict[str, Any]:
    return {name: recorded(value)[0] if _is_small(value) else shown(value) for name, value in inputs.items()}


def _is_small(value: Any) -> bool:
    return _count(value, _SHOWN_INPUT_PARTS) >= 0


def _count(value: Any, budget: int) -> int:
    """What is left of the budget after looking at a value; negative as soon as it is too large."""
    budget -= 1
    if isinstance(value, (str, bytes)):
        return budget - len(value) // 16
    if isinstance(value, dict):
        parts: Any = (part for item in list(value.items()) for part in item)
    elif isinstance(value, (list, tuple, set, frozenset)):
        parts = list(value)
    else:
        return budget
    if len(value) > budget:
        return -1
    for part in parts:
        if budget < 0:
            break
        budget = _count(part, budget)
    return budget


_brief = reprlib.Repr()
_brief.maxstring = _brief.maxother = _SHOWN_TEXT
_brief.maxdict = _brief.maxlist = _brief.maxtuple = _brief.maxset = _brief.maxfrozenset = 50
