"""From the text `module.path:attribute` to the object it names, and from such an object to a Task."""

from __future__ import annotations

import difflib
import importlib
import inspect
from types import FunctionType
from typing import Any

from .document import split_callable
from .dsl import TaskWrapper
from .task import BaseTask, Task


class NotAvailable(Exception):
    """A task cannot be had here; the text says why."""


def load_task(path: str, name: str) -> Task:
    """A new Task called `name` for what `path` names. What is a task already keeps its policies, inputs and outputs.

    ValueError if the path is malformed, NotAvailable if there is nothing usable behind it. What else the code of the
    module raises is passed on.
    """
    found = _load_object(path)
    if isinstance(found, type) and issubclass(found, (Task, BaseTask)):
        found = _create(found)
    if isinstance(found, BaseTask):
        found = found.run
    if isinstance(found, TaskWrapper):
        found = found.task
    if isinstance(found, Task):
        return found.clone(name)
    if not callable(found):
        raise NotAvailable(f"{path!r} is of type {type(found).__name__}, which cannot be called")
    return Task(func=found, name=name)


def _load_object(path: str) -> Any:
    module_name, attribute = split_callable(path)
    try:
        found = importlib.import_module(module_name)
    except ImportError as exc:
        raise NotAvailable(f"cannot import module {module_name!r} ({exc})") from exc
    owner: Any = None
    for name in attribute.split("."):
        owner, found = found, _attribute(found, name, path)
    return getattr(_create(owner), name) if _needs_object(owner, name) else found


def _attribute(owner: Any, name: str, path: str) -> Any:
    try:
        return getattr(owner, name)
    except AttributeError as exc:
        close = difflib.get_close_matches(name, dir(owner), n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise NotAvailable(f"{path!r} names nothing: there is no {name!r}{hint}") from exc


def _needs_object(owner: Any, name: str) -> bool:
    """True for a plain method of a class, which can only be called on an object; static and class methods can."""
    return isinstance(owner, type) and isinstance(inspect.getattr_static(owner, name), (FunctionType, TaskWrapper))


def _create(cls: type) -> Any:
    try:
        return cls()
    except TypeError as exc:
        raise NotAvailable(f"cannot create a {cls.__name__} without arguments ({exc})") from exc
