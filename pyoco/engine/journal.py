"""The journal: what of a run is recorded, so that it can stop anywhere and go on elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
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
from .shared import LayeredDict, SharedDict
from .values import NotRecordable, decode, encode

if TYPE_CHECKING:
    from .context import Context
    from .loops import LoopRun
    from .planner import Planner
    from .scope import Scope

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
        """Answers a wait of the node at `path`. The first answer stands: the node may have acted on it already."""
        self.answers.setdefault(path, {}).setdefault(key, {"payload": encode(payload)})

    def refuse(self, path: str, key: str, error: str) -> None:
        """Answers a wait with a failure: the node raises WaitRejected."""
        self.answers.setdefault(path, {}).setdefault(key, {"error": error})

    def has_answer(self, path: str, key: str | None) -> bool:
        return key in self.answers.get(path, ())

    def without_failures(self) -> Journal:
        """For a rerun from the failed nodes: they, and what they had been told while they waited, are forgotten."""
        failed = {path for path, entry in self.nodes.items() if entry.state == FAILED}
        nodes = {path: entry for path, entry in self.nodes.items() if entry.state == SUCCEEDED}
        answers = {path: answers for path, answers in self.answers.items() if path not in failed}
        return Journal(nodes, dict(self.decisions), answers, dict(self.context))

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
        self._iterations: Mapping[str, Scope] = {}
        self._loops: Mapping[str, LoopRun] = {}
        self._to_restore: dict[str, Any] = {}
        self._merged: dict[str, dict[str, int]] = {}

    def track(self, planner: Planner) -> None:
        """From now on the dictionaries, and the planner's loops, are watched."""
        self._iterations, self._loops = planner.iterations, planner.loops
        for section in _SECTIONS:
            getattr(self._ctx, section).tracked = True

    def settle(self, path: str, scope: Scope) -> None:
        """What the node has changed so far counts from now on."""
        for section in _SECTIONS:
            getattr(self._ctx, section).settle(path)
        for around in scope.chain():
            around.results.settle(path)
            around.variables.settle(path)

    def record(self) -> RecordedContext:
        recorded = RecordedContext({}, set())
        for section in _SECTIONS:
            _record_section(section.lstrip("_"), getattr(self._ctx, section), recorded.data, recorded.lost)
        loops: dict[str, Any] = dict(self._to_restore)  # of iterations that are not reached again yet
        for prefix, scope in list(self._iterations.items()):
            found: dict[str, Any] = {}
            _record_section("variables", scope.variables, found, recorded.lost)
            if isinstance(scope.results, LayeredDict):
                _record_section("results", scope.results, found, recorded.lost)
            if found:
                loops[prefix] = found
        if loops:
            recorded.data["loops"] = loops
        merged = dict(self._merged)
        merged |= {path: dict(loop.merged) for path, loop in list(self._loops.items()) if loop.merged}
        if merged:
            recorded.data["merged"] = merged
        return recorded

    def restore(self, data: dict[str, Any]) -> None:
        for section in _SECTIONS:
            _restore_section(getattr(self._ctx, section), data.get(section.lstrip("_")))
        self._to_restore = dict(data.get("loops", {}))
        self._merged = dict(data.get("merged", {}))

    def loop_entered(self, path: str, loop: LoopRun) -> None:
        """Tells a parallel loop which iterations had brought their results out before the run stopped."""
        loop.merged.update(self._merged.pop(path, {}))

    def iteration_opened(self, scope: Scope) -> None:
        """Gives an iteration what its nodes had set before the run stopped."""
        recorded = self._to_restore.pop(scope.prefix, None)
        if recorded is not None:
            _restore_section(scope.variables, recorded.get("variables"))
            _restore_section(scope.results, recorded.get("results"))


def _record_section(name: str, shared: SharedDict, data: dict[str, Any], lost: set[str]) -> None:
    if not shared.writers:
        return
    content = shared.settled()
    kept: dict[str, Any] = {}
    removed: list[Any] = []
    for key, writer in list(shared.writers.items()):
        try:
            if type(key) is not str:
                raise NotRecordable("only text can be a recorded key")
            if key in content:
                kept[key] = encode(content[key])
            else:
                removed.append(key)
        except NotRecordable:
            lost.add(str(writer))
    data[name] = {"set": kept, "removed": removed} if removed else {"set": kept}


def _restore_section(shared: SharedDict, recorded: dict[str, Any] | None) -> None:
    if not recorded:
        return
    # They stay part of what is recorded from now on, whoever wrote them.
    for key, value in recorded["set"].items():
        shared.keep(key, decode(value), writer="")
    for key in recorded.get("removed", ()):
        shared.forget(key)
        shared.writers[key] = ""


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
                journal.nodes[event.path] = Entry(WAITING, event.attempt, wait_key=event.wait_key, prompt=event.prompt)
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
