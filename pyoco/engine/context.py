"""Context: what a task sees of its run."""

from __future__ import annotations

import logging
import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import references
from .records import CANCEL_STATUSES, RunContext
from .shared import SharedDict


@dataclass
class LoopFrame:
    """One level of looping around a node."""

    name: str
    type: str
    index: int | None = None
    iteration: int | None = None
    count: int | None = None
    item: Any = None
    condition: bool | None = None
    path: str | None = None


class LoopStack:
    """The loops around the running code, outermost first."""

    def __init__(self) -> None:
        self._frames: list[LoopFrame] = []

    def push(self, frame: LoopFrame) -> LoopFrame:
        if frame.path is None:
            lead = f"{self.current.path}." if self.current is not None else ""
            frame.path = f"{lead}{frame.name}[{frame.index}]"
        self._frames.append(frame)
        return frame

    def pop(self) -> LoopFrame:
        if not self._frames:
            raise RuntimeError("no loop to leave")
        return self._frames.pop()

    @property
    def current(self) -> LoopFrame | None:
        return self._frames[-1] if self._frames else None

    def snapshot(self) -> tuple[LoopFrame, ...]:
        return tuple(self._frames)


def _shared(name: str) -> Any:
    """A dictionary that all tasks share. Assigning another one gives it that content: what a run records, and what
    other tasks hold in their hands, stays the same object."""
    slot = f"_shared_{name}"

    def get(self: Context) -> SharedDict:
        found: SharedDict = getattr(self, slot)
        return found

    def fill(self: Context, value: dict[str, Any]) -> None:
        own: SharedDict = getattr(self, slot)
        if value is not own:
            content = dict(value)
            own.clear()
            own.update(content)

    return property(get, fill)


class Context:
    """The state of one run, shared by all its tasks; also constructible alone, for unit tests of tasks.

    A running task gets a `TaskContext` (task_context.py): this, plus what concerns its own node.
    """

    params: SharedDict = _shared("params")
    results: SharedDict = _shared("results")
    scratch: SharedDict = _shared("scratch")
    artifacts: SharedDict = _shared("artifacts")
    env: dict[str, str]
    exposed_env: frozenset[str] | None
    artifact_dir: str
    run_context: RunContext | None
    inputs: dict[str, Any]
    collected: dict[str, Any]
    output: Any

    def __init__(
        self,
        params: dict[str, Any] | None = None,
        results: dict[str, Any] | None = None,
        scratch: dict[str, Any] | None = None,
        artifacts: dict[str, Any] | None = None,
        env: dict[str, str] | None = None,
        artifact_dir: str | None = None,
        run_context: RunContext | None = None,
    ) -> None:
        self._shared_params = SharedDict(params or {})
        self._shared_results = SharedDict(results or {})
        self._shared_scratch = SharedDict(scratch or {})
        self._shared_artifacts = SharedDict(artifacts or {})
        self.env = env if env is not None else {}
        self.exposed_env = None  # names of the process's variables that `$env` may reach; None: all
        self.artifact_dir = artifact_dir if artifact_dir is not None else "./artifacts"
        self.run_context = run_context
        self.inputs = {}
        self.collected = {}
        self.output = None
        self._vars = SharedDict()
        self._lock = threading.RLock()
        self._loop_stack = LoopStack()

    @property
    def run_id(self) -> str | None:
        return self.run_context.run_id if self.run_context is not None else None

    @property
    def is_cancelled(self) -> bool:
        return self.run_context is not None and self.run_context.status in CANCEL_STATUSES

    @property
    def loop(self) -> LoopFrame | None:
        """The innermost loop, or None."""
        return self._loop_stack.current

    @property
    def loops(self) -> tuple[LoopFrame, ...]:
        """All loops around the running code, outermost first."""
        return self._loop_stack.snapshot()

    def push_loop(self, frame: LoopFrame) -> LoopFrame:
        return self._loop_stack.push(frame)

    def pop_loop(self) -> LoopFrame:
        return self._loop_stack.pop()

    def loop_variables(self) -> dict[str, Any]:
        """Variables of the loops around the running code, by name."""
        return {}

    def set_var(self, name: str, value: Any) -> None:
        self._vars[name] = value

    def get_var(self, name: str, default: Any = None) -> Any:
        return self._vars.get(name, default)

    def clear_var(self, name: str) -> None:
        self._vars.pop(name, None)

    def get_result(self, node_name: str) -> Any:
        with self._lock:
            return self.results.get(node_name)

    def set_result(self, node_name: str, value: Any) -> None:
        with self._lock:
            self.results[node_name] = value

    def resolve(self, value: Any) -> Any:
        """The value that a `$…` reference stands for; other values as they are."""
        return references.resolve(value, self)

    def save_artifact(self, name: str, data: Any) -> str:
        """Writes a file below the artifact directory, registers it and returns its absolute path."""
        root = Path(self.artifact_dir).resolve()
        path = (root / name).resolve()
        if path == root or not path.is_relative_to(root):
            raise ValueError(f"artifact name {name!r} leads outside the artifact directory")
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(data, bytes):
            path.write_bytes(data)
        else:
            path.write_text(data if isinstance(data, str) else str(data), encoding="utf-8")
        kind = "object" if isinstance(data, (dict, list)) else type(data).__name__
        self.artifacts[name] = {"path": str(path), "type": kind}
        return str(path)

    @property
    def logger(self) -> logging.Logger:
        """A logger whose records go to the log of the running node, at every level."""
        return logging.getLogger("pyoco.task")

    def log(self, message: str, level: str = "INFO") -> None:
        """One line for the log of the running node."""
        self.logger.log(logging.getLevelNamesMapping().get(level.upper(), logging.INFO), "%s", message)

    def progress(self, percent: float, message: str | None = None) -> None:
        """Tells how far the running node is (0 to 100)."""
        if not 0 <= percent <= 100:
            raise ValueError(f"progress must be between 0 and 100, not {percent!r}")

    def wait(self, key: str, prompt: str | None = None) -> Any:
        """The payload somebody answered under `key`. Without an answer the task ends here for now; once there is one
        it runs again from its top, and this call returns."""
        raise RuntimeError("only a running task can wait")

    def expression_data(self) -> dict[str, Any]:
        """What `$ctx.…` may reach. The fixed names win over variables, except the younger `collected`."""
        return {
            "collected": self.collected,
            **self._vars,
            **self.loop_variables(),
            "params": self.params,
            "results": self.results,
            "scratch": self.scratch,
            "artifacts": self.artifacts,
            "loop": self.loop,
            "loops": list(self.loops),
        }

    def env_data(self) -> dict[str, str]:
        exposed = self.exposed_env
        visible = os.environ if exposed is None else {k: v for k, v in os.environ.items() if k in exposed}
        return {**visible, **self.env}

    def save_output(self, path: str, value: Any, writer: object = None) -> None:
        """Stores a value at a dotted path that begins with scratch, results or params; other roots are ignored."""
        root, dot, rest = path.partition(".")
        if root not in ("scratch", "results", "params") or not dot:
            return
        *parents, last = rest.split(".")
        container: Any = getattr(self, root)
        if container.tracked:
            container.note(writer, [parents[0] if parents else last])
        for segment in parents:
            if segment not in container:
                container[segment] = {}
            container = container[segment]
            if not isinstance(container, dict):
                return
        container[last] = value
