"""flow.yaml: what it may contain, and its reading into plain dataclasses."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from .task import POLICIES
from .yaml_source import DocumentError, Path, YamlSource, read_yaml

__all__ = ["DocumentError", "FlowConfig", "PyocoConfig", "RuntimeConfig", "TaskConfig", "split_callable"]

_TOP_KEYS = ("version", "flow", "tasks", "pipes", "runtime")
_FLOW_KEYS = ("graph", "defaults")
_TASK_KEYS = ("callable", "use", "inputs", "outputs", *POLICIES)
_RUNTIME_KEYS = ("expose_env",)
_FORBIDDEN = {
    "flows": ("a file describes one flow", "write 'flow:' with a 'graph:' below it"),
    "discovery": (
        "a file cannot choose which modules are imported",
        "name them in the environment variable PYOCO_DISCOVERY_MODULES, or declare each task under 'tasks:'",
    ),
}


@dataclass
class FlowConfig:
    graph: str
    defaults: dict[str, Any] = field(default_factory=dict)


@dataclass
class TaskConfig:
    """One entry of `tasks:`. `policies` holds only the policies that were written, by the names of task.POLICIES."""

    callable: str | None = None
    use: str | None = None
    inputs: dict[str, Any] = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)
    policies: dict[str, Any] = field(default_factory=dict)


@dataclass
class RuntimeConfig:
    expose_env: list[str] = field(default_factory=list)


@dataclass
class PyocoConfig:
    version: Any = 1
    flow: FlowConfig | None = None
    tasks: dict[str, TaskConfig] = field(default_factory=dict)
    pipes: dict[str, str] = field(default_factory=dict)
    runtime: RuntimeConfig = field(default_factory=RuntimeConfig)
    warnings: list[str] = field(default_factory=list, compare=False, repr=False)

    @classmethod
    def from_yaml(cls, path: str | FilePath) -> PyocoConfig:
        """Reads a file. DocumentError if its content cannot be used, OSError if it cannot be opened."""
        content = FilePath(path).read_bytes()
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as exc:
            line = content[: exc.start].count(b"\n") + 1
            raise DocumentError(
                "the file is not UTF-8 text", source=str(path), line=line, column=1, hint="save it as UTF-8"
            ) from None
        return cls.from_text(text, str(path))

    @classmethod
    def from_text(cls, text: str, source: str = "flow.yaml") -> PyocoConfig:
        """Reads a document from memory; `source` is the name that errors show."""
        return _Reader(read_yaml(text, source)).config()


def split_callable(path: str) -> tuple[str, str]:
    """Splits "module.path:attribute"; ValueError if it is anything else."""
    module, colon, attribute = path.partition(":")
    if not module or module.startswith(".") or not colon or ":" in attribute:
        raise ValueError(f"{path!r} does not name a callable; write it as module.path:name")
    return module, attribute


class _Reader:
    """Checks each part of the parsed document and says exactly where something is wrong."""

    def __init__(self, source: YamlSource) -> None:
        self._source = source

    def config(self) -> PyocoConfig:
        top = self._mapping((), self._source.data)
        for forbidden, (problem, hint) in _FORBIDDEN.items():
            if forbidden in top:
                raise self._source.error((forbidden,), problem, hint)
        for key in top:
            if key not in _TOP_KEYS:
                self._source.warn((key,), "unknown top-level key is ignored" + _did_you_mean(key, _TOP_KEYS, "; "))
        return PyocoConfig(
            version=top.get("version", 1),
            flow=self._flow(top.get("flow")),
            tasks={name: self._task(name, value) for name, value in self._named(("tasks",), top.get("tasks"))},
            pipes={name: self._pipe(name, value) for name, value in self._named(("pipes",), top.get("pipes"))},
            runtime=self._runtime(top.get("runtime")),
            warnings=self._source.warnings,
        )

    def _flow(self, value: Any) -> FlowConfig | None:
        if value is None:
            return None
        path: Path = ("flow",)
        flow = self._known(path, value, _FLOW_KEYS)
        if flow.get("graph") is None:
            raise self._source.error(path, "'graph' is missing", "write for example: graph: first >> second")
        graph = self._text((*path, "graph"), flow["graph"])
        return FlowConfig(graph, self._defaults((*path, "defaults"), flow.get("defaults")))

    def _defaults(self, path: Path, value: Any) -> dict[str, Any]:
        """Parameters by name. YAML 1.1 reads `on`, `no` or `1` as values, not as text; nothing can refer to those."""
        defaults = self._mapping(path, value)
        for key in defaults:
            if not isinstance(key, str):
                self._source.warn((*path, key), f"the name is not text but {type(key).__name__}; put it in quotes")
        return dict(defaults)  # type: ignore[arg-type]

    def _task(self, name: str, value: Any) -> TaskConfig:
        path: Path = ("tasks", name)
        if value is None:
            raise self._source.error(path, "must be a mapping, not empty", "write at least {} or a 'callable:'")
        task = self._known(path, value, _TASK_KEYS)
        target, use = task.get("callable"), task.get("use")
        if target is not None and use is not None:
            raise self._source.error(path, "'callable' and 'use' exclude each other", "keep one of them")
        if target is not None:
            self._callable((*path, "callable"), target)
        if use is not None and not self._text((*path, "use"), use):
            raise self._source.error((*path, "use"), "names no task")
        return TaskConfig(
            callable=target,
            use=use,
            inputs=dict(self._named((*path, "inputs"), task.get("inputs"))),
            outputs=self._texts((*path, "outputs"), task.get("outputs")),
            policies={key: self._policy((*path, key), key, task[key]) for key in POLICIES if key in task},
        )

    def _callable(self, path: Path, value: Any) -> None:
        text = self._text(path, value)
        try:
            split_callable(text)
        except ValueError as exc:
            raise self._source.error(path, str(exc)) from None

    def _policy(self, path: Path, key: str, value: Any) -> Any:
        try:
            return POLICIES[key](key, value)
        except ValueError as exc:
            raise self._source.error(path, str(exc)) from None

    def _pipe(self, name: str, value: Any) -> str:
        return self._text(("pipes", name), value)

    def _runtime(self, value: Any) -> RuntimeConfig:
        path: Path = ("runtime",)
        runtime = self._known(path, value, _RUNTIME_KEYS)
        return RuntimeConfig(self._texts((*path, "expose_env"), runtime.get("expose_env")))

    def _known(self, path: Path, value: Any, known: tuple[str, ...]) -> dict[Hashable, Any]:
        mapping = self._mapping(path, value)
        for key in mapping:
            if key not in known:
                hint = _did_you_mean(key, known) or f"known are {', '.join(known)}"
                raise self._source.error((*path, key), f"unknown key {key!r}", hint)
        return mapping

    def _named(self, path: Path, value: Any) -> Iterable[tuple[str, Any]]:
        for key, entry in self._mapping(path, value).items():
            if not isinstance(key, str):
                problem = f"the name {key!r} is not text but {type(key).__name__}"
                raise self._source.error((*path, key), problem, "put it in quotes")
            yield key, entry

    def _mapping(self, path: Path, value: Any) -> dict[Hashable, Any]:
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self._source.error(path, f"must be a mapping of names to values, not {_kind(value)}")
        return value

    def _text(self, path: Path, value: Any) -> str:
        if not isinstance(value, str):
            raise self._source.error(path, f"must be text, not {_kind(value)}", "put it in quotes")
        return value

    def _texts(self, path: Path, value: Any) -> list[str]:
        if value is None:
            return []
        if not isinstance(value, list):
            raise self._source.error(path, f"must be a list, not {_kind(value)}", "write it as [first, second]")
        for number, entry in enumerate(value, 1):
            if not isinstance(entry, str):
                raise self._source.error(path, f"entry {number} must be text, not {_kind(entry)}", "put it in quotes")
        return list(value)


def _kind(value: Any) -> str:
    names = {dict: "a mapping", list: "a list", str: "text", type(None): "empty"}
    return names.get(type(value), f"{type(value).__name__} ({value})")


def _did_you_mean(key: Hashable, known: tuple[str, ...], prefix: str = "") -> str:
    close = difflib.get_close_matches(str(key), known, n=1)
    return f"{prefix}did you mean {close[0]!r}?" if close else ""
