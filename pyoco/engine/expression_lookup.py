"""Finding the value behind `$ctx.path`, `$env.NAME` and a bare name."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from typing import Any

# Their attributes lead out of the data and into the interpreter (frames, globals, modules).
_OPAQUE = (
    types.ModuleType,
    types.FunctionType,
    types.MethodType,
    types.BuiltinFunctionType,
    types.GeneratorType,
    types.CoroutineType,
    types.AsyncGeneratorType,
    types.FrameType,
    types.CodeType,
    types.TracebackType,
)
_NAMES_COMPARED = 1000
_NAMES_SHOWN = 8


@dataclass(frozen=True)
class Scope:
    """What an expression can see, and the moment by which it must have ended."""

    ctx: Mapping[str, Any]
    env: Mapping[str, Any]
    deadline: float


Step = Callable[[Scope], Any]


class MissingPath(LookupError):
    """A path leads nowhere; the text says where it stopped and what is there."""


def path_step(root: str, path: str) -> Step:
    """Walks a dotted path from `ctx` or `env`: mapping item, else public attribute."""
    segments = path.split(".")
    whole = f"${root}.{path}"

    def walk(scope: Scope) -> Any:
        value: Any = scope.ctx if root == "ctx" else scope.env
        for depth, segment in enumerate(segments):
            if isinstance(value, Mapping):
                if segment not in value:
                    raise MissingPath(_explain(whole, f"${'.'.join([root, *segments[:depth]])}", segment, value))
                value = value[segment]
            else:
                value = _attribute(value, segment, whole)
        return value

    return walk


def name_step(name: str) -> Step:
    """The variable called `name` if there is one, else the parameter."""

    def find(scope: Scope) -> Any:
        if name in scope.ctx:
            return scope.ctx[name]
        params = scope.ctx.get("params")
        if isinstance(params, Mapping) and name in params:
            return params[name]
        known = [*scope.ctx, *(params if isinstance(params, Mapping) else ())]
        raise MissingPath(f"no variable and no parameter is called {name!r}{_nearest(name, known)}")

    return find


def _attribute(value: Any, name: str, whole: str) -> Any:
    kind = type(value).__name__
    if name.startswith("_"):
        raise MissingPath(f"{whole} not found: private attribute {name!r} of {kind} is out of reach")
    if isinstance(value, _OPAQUE):
        raise MissingPath(f"{whole} not found: attributes of a {kind} are out of reach")
    try:
        return getattr(value, name)
    except AttributeError as error:
        raise MissingPath(f"{whole} not found: {kind} has no {name!r}") from error


def _explain(whole: str, reached: str, missing: str, mapping: Mapping[Any, Any]) -> str:
    known = list(islice(mapping, _NAMES_COMPARED))
    return f"{whole} not found: {reached} has no {missing!r}{_nearest(missing, known)}"


def _nearest(name: str, known: list[Any]) -> str:
    names = [str(key) for key in known]
    if not names:
        return "; it is empty"
    if close := get_close_matches(name, names, n=1):
        return f"; did you mean {close[0]!r}?"
    more = ", …" if len(names) > _NAMES_SHOWN else ""
    return f"; available: {', '.join(names[:_NAMES_SHOWN])}{more}"
