"""From a document or an object to something that can run."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyoco.engine.document import PyocoConfig
from pyoco.engine.flow import Flow
from pyoco.engine.loading import LoadedFlow, complete
from pyoco.engine.plan import Block, make_plan

from .callables import home_of, is_allowed

Say = Callable[[str], None]


class NotAllowed(ValueError):
    """A submitted document names a callable that this server does not offer."""

    def __init__(self, task: str, path: str) -> None:
        super().__init__(f"tasks.{task}: {path!r} is not in the list of allowed callables (PYOCO_ALLOWED_CALLABLES)")


@dataclass(frozen=True)
class Loaded:
    """`exposed_env`: the variables that the flow may refer to; None: all. `messages` go into the log of each run."""

    flow: Flow
    plan: Block
    defaults: dict[str, Any] = field(default_factory=dict)
    exposed_env: frozenset[str] | None = None
    messages: Sequence[str] = ()

    def repeat_messages(self, say: Say) -> None:
        for message in self.messages:
            say(message)


def load_config(config: PyocoConfig, source: str, say: Say, allowed: Sequence[str] = ()) -> Loaded:
    """Imports the tasks of a document and builds its graph; `allowed` limits the callables it may name."""
    messages: list[str] = []

    def tell(message: str) -> None:
        messages.append(message)
        say(message)

    for warning in config.warnings:
        tell(f"Warning: {warning}")
    for name, task in config.tasks.items():
        if task.callable and not is_allowed(task.callable, allowed):
            raise NotAllowed(name, task.callable)
    # A module that was just written may still be missing in what the import system remembers of its directory.
    importlib.invalidate_caches()
    loaded = complete(config, source, tell)
    _check_homes(loaded, allowed)
    flow_config, exposed = config.flow, config.runtime.expose_env
    return Loaded(
        loaded.flow,
        make_plan(loaded.flow),
        dict(flow_config.defaults) if flow_config is not None else {},
        frozenset(exposed) if exposed else None,
        messages,
    )


def load_object(found: Any, source: str, say: Say) -> Loaded:
    """What a resolver or a module gave."""
    if isinstance(found, Flow):
        return Loaded(found, make_plan(found))
    if isinstance(found, LoadedFlow):
        found = found.config
    if isinstance(found, PyocoConfig):
        return load_config(found, source, say)
    raise TypeError(f"{source}: expected a Flow or a PyocoConfig, not {type(found).__name__}")


def _check_homes(loaded: LoadedFlow, allowed: Sequence[str]) -> None:
    """An allowed module must not be a way to everything that it imports, such as `its.module:os.system`."""
    for name, declared in loaded.config.tasks.items():
        task = loaded.loader.tasks.get(name)
        if allowed and declared.callable and task is not None and not is_allowed(home_of(task.func), allowed):
            raise NotAllowed(name, declared.callable)
