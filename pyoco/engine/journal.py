"""The journal: what of a run is recorded, so that it can stop anywhere and go on elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from .events import (
    ContextSource,
    Decided,
    LogLine,
    NodeCancelled,
    NodeFailed,
    NodeRetrying,
    NodeSucceeded,
    NodeWaiting,
    StuckThread,
    Transition,
)
from .shared import SharedDict
from .values import NotRecordable, decode, encode

if TYPE_CHECKING:
    from .context import Context

SUCCEEDED, FAILED, WAITING, RETRYING = "SUCCEEDED", "FAILED", "WAITING", "RETRYING"
_SECTIONS = ("scratch", "artifacts", "results", "params", "_vars")


@dataclass(slots=True)
class Entry:
    """The recorded outcome of one node. `replay` is false when its value could not be recorded: it runs again."""

    state: str
    attempt: int = 1
    output: Any = None
    replay: bool = True
    error: str | None = None
    traceback: str | None = None
    skipped: bool = False
    wait_key: str | None = None
    prompt: str | None = None

    @property
    def is_final(self) -> bool:
        return self.state in (SUCCEEDED, FAILED) and self.replay


@dataclass(slots=True)
class RecordedContext:
    """The encoded context, and the nodes that wrote something into it which cannot be recorded."""

    data: dict[str, Any]
    lost: set[str]


@dataclass(slots=True)
class Journal:
    """Everything needed to continue a run. Values are kept in their encoded form."""

    nodes: dict[str, Entry] = field(default_factory=dict)
    decisions: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    context: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "nodes": {path: _entry_to_json(entry) for path, entry in self.nodes.items()},
            "decisions": dict(self.decisions),
            "answers": {path: dict(answers) for path, answers in self.answers.items()},
            "context": dict(self.context),
        }

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Journal:
        return cls(
            nodes={path: Entry(**entry) for path, entry in document.get("nodes", {}).items()},
            decisions=dict(document.get("decisions", {})),
            answers={path: dict(answers) for path, answers in document.get("answers", {}).items()},
            context=dict(document.get("context", {})),
        )

    def answer(self, path: str, key: str, payload: Any = None) -> None:
        """Answers a wait of the node at `path`."""
        self.answers.setdefault(path, {})[key] = {"payload": encode(payload)}

    def refuse(self, path: str, key: str, error: str) -> None:
        """Answers a wait with a failure: the node raises WaitRejected."""
        self.answers.setdefault(path, {})[key] = {"error": error}

    def without_failures(self) -> Journal:
        """For a rerun from the failed nodes: everything but failures, and what they had been waiting for."""
        kept = {path: entry for path, entry in self.nodes.items() if entry.state == SUCCEEDED}
        answers = {path: answers for path, answers in self.answers.items() if path in kept}
        return Journal(kept, dict(self.decisions), answers, dict(self.context))

    def output_of(self, path: str) -> Any:
        return decode(self.nodes[path].output)


def _entry_to_json(entry: Entry) -> dict[str, Any]:
    defaults = _ENTRY_DEFAULTS
    document = {name: getattr(entry, name) for name in defaults}
    return {name: value for name, value in document.items() if name == "state" or value != defaults[name]}


_ENTRY_DEFAULTS = {spec.name: spec.default for spec in fields(Entry)}


class ContextRecorder:
    """Encodes what finished nodes have made of the shared dictionaries, and brings it back."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        for section in _SECTIONS:
            getattr(ctx, section).tracked = True

    def settle(self, path: str) -> None:
        """What the node has changed so far counts from now on."""
        for section in _SECTIONS:
            shared = getattr(self._ctx, section)
            if isinstance(shared, SharedDict):
                shared.settle(path)

    def record(self) -> RecordedContext:
        data: dict[str, Any] = {}
        lost: set[str] = set()
        for section in _SECTIONS:
            shared = getattr(self._ctx, section)
            if not isinstance(shared, SharedDict) or not shared.writers:
                continue
            content = shared.settled()
            kept: dict[str, Any] = {}
            removed: list[Any] = []
            for key, writer in list(shared.writers.items()):
                try:
                    name = encode(key)
                    if type(name) is not str:
                        raise NotRecordable("only text can be a recorded key")
                    if key in content:
                        kept[name] = encode(content[key])
                    else:
                        removed.append(name)
                except NotRecordable:
                    lost.add(str(writer))
            data[section.lstrip("_")] = {"set": kept, "removed": removed} if removed else {"set": kept}
        return RecordedContext(data, lost)

    def restore(self, data: dict[str, Any]) -> None:
        for section in _SECTIONS:
            recorded = data.get(section.lstrip("_"))
            if not recorded:
                continue
            shared = getattr(self._ctx, section)
            for key, value in recorded["set"].items():
                shared[key] = decode(value)
            for key in recorded.get("removed", ()):
                shared.pop(key, None)
            # They stay part of what is recorded from now on, whoever wrote them.
            shared.writers.update(dict.fromkeys([*recorded["set"], *recorded.get("removed", ())], ""))


class JournalKeeper:
    """A sink that keeps a journal up to date."""

    def __init__(self, journal: Journal | None = None) -> None:
        self.journal = journal if journal is not None else Journal()
        self.lines: list[LogLine] = []
        self.stuck_threads: list[StuckThread] = []

    def transition(self, event: Transition, context: ContextSource) -> None:
        journal = self.journal
        match event:
            case NodeSucceeded():
                journal.nodes[event.path] = _success(event)
            case NodeFailed():
                journal.nodes[event.path] = Entry(
                    FAILED, event.attempt, error=event.error, traceback=event.traceback, skipped=event.skipped
                )
            case NodeRetrying():
                journal.nodes[event.path] = Entry(RETRYING, event.attempt, error=event.error, traceback=event.traceback)
            case NodeWaiting():
                journal.nodes[event.path] = Entry(WAITING, wait_key=event.wait_key, prompt=event.prompt)
            case NodeCancelled():
                journal.nodes.pop(event.path, None)
            case Decided():
                try:
                    journal.decisions[event.path] = encode(event.value)
                except NotRecordable:
                    journal.decisions.pop(event.path, None)
            case _:
                return
        recorded = context.record()
        journal.context = recorded.data
        for path in recorded.lost:
            if path in journal.nodes:
                journal.nodes[path].replay = False

    def line(self, line: LogLine) -> None:
        self.lines.append(line)

    def stuck(self, thread: StuckThread) -> None:
        self.stuck_threads.append(thread)


def _success(event: NodeSucceeded) -> Entry:
    try:
        return Entry(SUCCEEDED, event.attempt, output=encode(event.output))
    except NotRecordable:
        return Entry(SUCCEEDED, event.attempt, replay=False)
