"""`$node…`, `$ctx.params…`, `$env…`, `$loop…`, `$collected…`: references in the inputs of a task."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .errors import InvalidReferenceError

if TYPE_CHECKING:
    from .context import Context

_FORMS = "use $node.NAME.output[.field…], $ctx.params.NAME, $env.NAME, $loop.FIELD or $collected.NAME"
_LOOP_FIELDS = frozenset({"name", "type", "index", "iteration", "count", "item", "condition", "path"})


def resolve(value: Any, ctx: Context) -> Any:
    """The value a reference stands for; anything but a string that starts with `$` stands for itself."""
    if not isinstance(value, str) or not value.startswith("$"):
        return value
    root, _, rest = value.partition(".")
    resolver = _ROOTS.get(root)
    if resolver is None or not rest:
        raise InvalidReferenceError(value, _FORMS)
    return resolver(value, rest, ctx)


def _node(reference: str, rest: str, ctx: Context) -> Any:
    name, _, tail = rest.partition(".")
    selector, _, path = tail.partition(".")
    if not name or selector != "output":
        raise InvalidReferenceError(reference, _FORMS)
    if name not in ctx.results:
        raise KeyError(f"node {name!r} has no result (yet)")
    value = ctx.results[name]
    if tail == "output":
        return value
    for segment in path.split("."):
        value = value[segment] if isinstance(value, dict) else getattr(value, segment)
    return value


def _param(reference: str, rest: str, ctx: Context) -> Any:
    section, _, key = rest.partition(".")
    if section != "params" or not key:
        raise InvalidReferenceError(reference, _FORMS)
    if key not in ctx.params:
        raise KeyError(f"the run has no parameter {key!r}")
    return ctx.params[key]


def _env(reference: str, key: str, ctx: Context) -> Any:
    if key in ctx.env:
        return ctx.env[key]
    if ctx.exposed_env is not None and key not in ctx.exposed_env:
        raise KeyError(f"environment variable {key!r} is not exposed to this flow; list it in runtime.expose_env")
    if key in os.environ:
        return os.environ[key]
    raise KeyError(f"environment variable {key!r} is not set")


def _loop(reference: str, rest: str, ctx: Context) -> Any:
    """A field of the innermost loop, or deeper into its item; also a loop variable by name."""
    if ctx.loop is None:
        raise KeyError(f"{reference} is only known inside a loop")
    first, *path = rest.split(".")
    if first in _LOOP_FIELDS:
        value = getattr(ctx.loop, first)
    else:
        variables = ctx.loop_variables()
        if first not in variables:
            raise InvalidReferenceError(reference, f"no loop around this node has a variable {first!r}")
        value = variables[first]
    for segment in path:
        value = value[segment] if isinstance(value, dict) else getattr(value, segment)
    return value


def _collected(reference: str, name: str, ctx: Context) -> Any:
    if name not in ctx.collected:
        raise KeyError(f"no loop has collected values of node {name!r}")
    return ctx.collected[name]


_ROOTS = {"$node": _node, "$ctx": _param, "$env": _env, "$loop": _loop, "$collected": _collected}
