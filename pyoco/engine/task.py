"""Task: a callable with a name, its inputs, outputs and policies."""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

FAIL_POLICIES = ("stop", "isolate", "retry")
TRIGGER_POLICIES = ("ALL", "ANY")


@dataclass(frozen=True)
class Backoff:
    """Pause between two attempts: `initial * factor**n`, at most `maximum`, plus or minus `jitter` (a fraction)."""

    initial: float = 0.1
    factor: float = 1.0
    maximum: float = 60.0
    jitter: float = 0.0

    def __post_init__(self) -> None:
        if self.initial < 0 or self.maximum < 0 or self.factor < 1 or not 0 <= self.jitter <= 1:
            raise ValueError("backoff needs initial >= 0, maximum >= 0, factor >= 1 and jitter between 0 and 1")

    def pause(self, failed_attempts: int, rng: random.Random | None = None) -> float:
        """Seconds to wait after the given number (1, 2, …) of failed attempts."""
        # float ** int overflows long before the maximum stops mattering
        exponent = min(failed_attempts - 1, 64)
        seconds = min(self.initial * self.factor**exponent, self.maximum)
        if self.jitter:
            seconds *= 1 + (rng or random).uniform(-self.jitter, self.jitter)
        return seconds

    @classmethod
    def of(cls, value: object) -> Backoff:
        """From a number of seconds, a mapping of the field names, or a Backoff."""
        if isinstance(value, Backoff):
            return value
        if isinstance(value, (int, float)):
            return cls(initial=_number("backoff", value))
        if isinstance(value, Mapping):
            known = {f.name for f in fields(cls)}
            unknown = [str(key) for key in value if key not in known]
            if unknown:
                raise ValueError(f"unknown backoff key {unknown[0]!r}; known are {', '.join(sorted(known))}")
            numbers = {str(key): _number(f"backoff.{key}", entry) for key, entry in value.items()}
            return cls(**numbers)
        raise ValueError(f"backoff must be a number of seconds or a mapping, not {type(value).__name__}")


@dataclass(eq=False)
class Task:
    """What runs at a node. Plain and mutable on purpose: user code sets these fields before a run."""

    func: Callable[..., Any]
    name: str
    dependencies: set[Task] = field(default_factory=set)
    dependents: set[Task] = field(default_factory=set)
    inputs: dict[str, Any] = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)
    parallel_group: str | None = None
    fail_policy: str = "stop"
    retries: int = 0
    timeout_sec: float | None = None
    trigger_policy: str = "ALL"
    backoff: Backoff | float | Mapping[str, Any] | None = None

    # Edges written on the task by operators, as opposed to those a user added by hand (see flow.py).
    drawn_edges: dict[Task, str] = field(default_factory=dict, init=False, repr=False)
    placed: bool = field(default=False, init=False, repr=False)
    copy_of: str | None = field(default=None, init=False, repr=False)

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return self.name == other.name if isinstance(other, Task) else NotImplemented

    def __repr__(self) -> str:
        return f"<Task {self.name}>"

    def clone(self, name: str) -> Task:
        """An independent copy under another name: same callable, own inputs and outputs, same policies, no edges."""
        copy = Task(func=self.func, name=name, inputs=dict(self.inputs), outputs=list(self.outputs))
        copy.take_policies(self)
        copy.copy_of = self.name
        return copy

    def take_policies(self, other: Task) -> None:
        self.parallel_group = other.parallel_group
        self.fail_policy = other.fail_policy
        self.retries = other.retries
        self.timeout_sec = other.timeout_sec
        self.trigger_policy = other.trigger_policy
        self.backoff = other.backoff

    def set_policies(self, policies: Mapping[str, Any]) -> None:
        """Checks and sets any of the policies by name; ValueError says what is wrong."""
        for key, value in policies.items():
            setattr(self, key, POLICIES[key](key, value))


class BaseTask(ABC):
    """For tasks written as a class: `Task(func=MyTask().run, name="x")`."""

    @abstractmethod
    def run(self, ctx: Any) -> Any:
        """Does the work of the task."""


def _number(key: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{key} must be a finite number, not {value!r}")
    return float(value)


def _retries(key: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{key} must be a whole number of 0 or more, not {value!r}")
    return value


def _timeout(key: str, value: object) -> float | None:
    if value is None:
        return None
    seconds = _number(key, value)
    if not seconds > 0:
        raise ValueError(f"{key} must be a number of seconds above 0, not {value!r}")
    return seconds


def _one_of(choices: tuple[str, ...]) -> Callable[[str, object], str]:
    def check(key: str, value: object) -> str:
        if value not in choices:
            raise ValueError(f"{key} must be one of {', '.join(choices)}, not {value!r}")
        return str(value)

    return check


def _backoff(key: str, value: object) -> Backoff | None:
    return None if value is None else Backoff.of(value)


# The policies that a decorator or flow.yaml may set, each with its check.
POLICIES: dict[str, Callable[[str, object], Any]] = {
    "retries": _retries,
    "backoff": _backoff,
    "timeout_sec": _timeout,
    "fail_policy": _one_of(FAIL_POLICIES),
    "trigger_policy": _one_of(TRIGGER_POLICIES),
}
