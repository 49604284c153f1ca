"""Which arguments a task function gets."""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from .task import Task
    from .task_context import TaskContext


class Binder:
    """The parameters of a function, read once per plan."""

    __slots__ = ("is_async", "names", "takes_ctx")

    def __init__(self, func: Callable[..., Any]) -> None:
        self.names, self.is_async = _parameters(func)
        self.takes_ctx = "ctx" in self.names
        if self.takes_ctx:
            self.names = tuple(name for name in self.names if name != "ctx")

    def bind(self, task: Task, ctx: TaskContext) -> dict[str, Any]:
        """Inputs first, then loop variables, run parameters and results by name; `ctx` is added by the caller."""
        arguments = {key: ctx.resolve(value) for key, value in task.inputs.items()}
        if self.takes_ctx:
            arguments.pop("ctx", None)
        if self.names:
            sources = (ctx.loop_variables(), ctx.params, ctx.results)
            for name in self.names:
                if name not in arguments:
                    for source in sources:
                        if name in source:
                            arguments[name] = source[name]
                            break
        return arguments


def _parameters(func: Callable[..., Any]) -> tuple[tuple[str, ...], bool]:
    """Names that may be fed (everything but **kwargs), and whether calling gives a coroutine."""
    # inspect.signature costs more than running a small task; plain functions tell the same by their code object.
    if type(func) is FunctionType and "__wrapped__" not in func.__dict__ and "__signature__" not in func.__dict__:
        code = func.__code__
        count = code.co_argcount + code.co_kwonlyargcount
        if code.co_flags & inspect.CO_VARARGS:
            count += 1
        return code.co_varnames[:count], bool(code.co_flags & inspect.CO_COROUTINE)
    is_async = inspect.iscoroutinefunction(func) or inspect.iscoroutinefunction(getattr(func, "__call__", None))  # noqa: B004
    try:
        signature = inspect.signature(func)
    except (TypeError, ValueError):  # some builtins do not tell
        return (), is_async
    names = [name for name, parameter in signature.parameters.items() if parameter.kind is not parameter.VAR_KEYWORD]
    return tuple(names), is_async
