"""The tasks of the flow files."""

from __future__ import annotations

import dataclasses
from typing import Any

from pyoco import task
from pyoco.core.models import Task


@dataclasses.dataclass
class Point:
    x: int
    y: int


class Greeter:
    """Callable as an object, as a class and (fixed: Q2) by its method's dotted name."""

    def run(self) -> str:
        return "hello from run"

    def __call__(self) -> str:
        return "hello from call"


greeter = Greeter()


def one() -> int:
    return 1


def increment(x: int = 0) -> int:
    return x + 1


def add(x: int, y: int) -> int:
    return x + y


def echo(x: Any = None) -> Any:
    return x


def point(x: int = 1, y: int = 2) -> Point:
    return Point(x, y)


def nested() -> dict[str, Any]:
    return {"a": {"b": [10, 20]}, "point": Point(3, 4), "0": "zero"}


def boom() -> None:
    raise ValueError("boom")


def count(ctx: Any) -> int:
    """How often it ran, counted in the run's own scratch space."""
    ctx.scratch["count"] = int(ctx.scratch.get("count", 0)) + 1
    return int(ctx.scratch["count"])


def append(ctx: Any, word: str = "") -> list[Any]:
    """Remembers the word, or what the innermost loop is at."""
    seen = ctx.scratch.setdefault("seen", [])
    seen.append(word or (ctx.loop.path if ctx.loop else None))
    return list(seen)


def item(ctx: Any) -> Any:
    """The value of the variable `it`, and the index variable when there is one."""
    pair = [ctx.get_var("it"), ctx.get_var("ix")]
    ctx.scratch.setdefault("items", []).append(pair)
    return pair


def fails_once(ctx: Any) -> str:
    ctx.scratch["tries"] = ctx.scratch.get("tries", 0) + 1
    if ctx.scratch["tries"] == 1:
        raise RuntimeError("first try")
    return "second try"


@task
def decorated(x: int = 1) -> int:
    return x * 2


decorated.task.inputs = {"x": 5}
decorated.task.outputs = ["scratch.decorated"]

raw = Task(func=increment, name="raw_name", inputs={"x": 3}, outputs=["scratch.raw"])

stubborn = Task(func=fails_once, name="stubborn", retries=1)
