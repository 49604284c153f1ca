"""TaskContext: the Context of a run as one of its nodes sees it."""

from __future__ import annotations

import logging
from typing import Any, Protocol

from .context import Context, LoopFrame
from .errors import WaitRejected
from .scope import Scope
from .values import decode

# Names that belong to the node; every other attribute is that of the run's Context.
_OWN = frozenset({"_run", "_scope", "_services", "inputs"})
# Names whose value depends on the iteration of a parallel loop.
_SCOPED = frozenset({"results", "collected"})


class WaitRequested(BaseException):
    """Leaves a task that waits. Not an Exception, so that a task's own `except Exception` lets it pass."""

    def __init__(self, key: str, prompt: str | None) -> None:
        super().__init__(key)
        self.key = key
        self.prompt = prompt


class NodeServices(Protocol):
    """What the executor does for a running node."""

    @property
    def logger(self) -> logging.Logger: ...

    def answer(self, key: str) -> dict[str, Any] | None: ...

    def progress(self, percent: float, message: str | None) -> None: ...


class TaskContext(Context):
    """Reads and writes go to the run's Context, except for inputs, loops and the results of a parallel iteration."""

    def __init__(self, run: Context, scope: Scope, services: NodeServices | None = None) -> None:
        self._run = run
        self._scope = scope
        self._services = services
        self.inputs = {}

    def __getattr__(self, name: str) -> Any:
        if name in _OWN:  # not there yet: somebody copies or unpickles the object
            raise AttributeError(name)
        return getattr(self._run, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _OWN:
            object.__setattr__(self, name, value)
        else:
            setattr(self._run, name, value)

    def __getattribute__(self, name: str) -> Any:
        if name in _SCOPED:
            return getattr(object.__getattribute__(self, "_scope"), name)
        return object.__getattribute__(self, name)

    @property
    def loop(self) -> LoopFrame | None:
        return self._scope.frame

    @property
    def loops(self) -> tuple[LoopFrame, ...]:
        return self._scope.loops()

    def loop_variables(self) -> dict[str, Any]:
        return self._scope.all_variables()

    def set_var(self, name: str, value: Any) -> None:
        holder = self._scope.holder_of(name)
        if holder is not None:
            holder.variables[name] = value
        else:
            self._run.set_var(name, value)

    def get_var(self, name: str, default: Any = None) -> Any:
        holder = self._scope.holder_of(name)
        return holder.variables[name] if holder is not None else self._run.get_var(name, default)

    def clear_var(self, name: str) -> None:
        holder = self._scope.holder_of(name)
        if holder is not None:
            del holder.variables[name]
        else:
            self._run.clear_var(name)

    @property
    def logger(self) -> logging.Logger:
        return self._services.logger if self._services is not None else super().logger

    def progress(self, percent: float, message: str | None = None) -> None:
        super().progress(percent, message)
        if self._services is not None:
            self._services.progress(percent, message)

    def wait(self, key: str, prompt: str | None = None) -> Any:
        if self._services is None:
            return super().wait(key, prompt)
        answer = self._services.answer(key)
        if answer is None:
            raise WaitRequested(key, prompt)
        if "error" in answer:
            raise WaitRejected(key, answer["error"])
        return decode(answer["payload"])


# User code that looks at the type of its `ctx` has always found a Context.
TaskContext.__name__ = "Context"
