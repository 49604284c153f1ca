"""pyoco: write flows, run them here, or send them to a server that does."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import support
    from .engine.console import ConsoleTraceBackend
    from .engine.dsl import task
    from .engine.engine import Engine, run
    from .engine.flow import Flow
    from .engine.task import Task

__all__ = ["ConsoleTraceBackend", "Engine", "Flow", "Task", "run", "support", "task"]

# Loaded on first use: `pyoco --help` must not pay for the engine.
_HOMES = {
    "ConsoleTraceBackend": "pyoco.engine.console",
    "Engine": "pyoco.engine.engine",
    "Flow": "pyoco.engine.flow",
    "Task": "pyoco.engine.task",
    "run": "pyoco.engine.engine",
    "task": "pyoco.engine.dsl",
}


def __getattr__(name: str) -> Any:
    if name == "support":
        return import_module("pyoco.support")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'pyoco' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value
