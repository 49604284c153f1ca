"""The list of all settings as data: names, words and defaults, for loading, messages and the documentation."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from .groups import GROUPS, About, Group
from .values import Allowed

PREFIX = "PYOCO_"
# Read by the engine, which runs without a server and so without these settings.
ELSEWHERE = {
    "PYOCO_CUTE": "0 makes the trace of `pyoco run` plain",
    "PYOCO_DISCOVERY_MODULES": "modules in which `pyoco run` and workers look for tasks, with commas or blanks",
}
# Given by the supervisor to its children (lifeline.py); nobody sets them by hand.
INTERNAL = frozenset({"PYOCO_INSTANCE_ID", "PYOCO_LIFELINE_FD", "PYOCO_LISTEN_FD", "PYOCO_NATS_INBOX_PREFIX"})
_LONGEST_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Spec:
    """One setting."""

    name: str
    group: type[Group]
    about: About
    allowed: str
    is_secret: bool
    default: Any

    @property
    def variable(self) -> str:
        return PREFIX + self.name.upper()

    def show(self, value: object) -> str:
        """A value as a message may quote it."""
        if self.is_secret:
            return "(a secret, not shown)"
        text = str(value)
        if "@" in text:
            # Most likely an address, and what is wrong with it may be what hides where its password ends.
            text = "…@" + text.rsplit("@", 1)[1]
        shown = repr(text)
        return shown if len(shown) <= _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]}…"


def _spec(group: type[Group], name: str, field: FieldInfo) -> Spec:
    about = next(item for item in field.metadata if isinstance(item, About))
    allowed = next(item for item in field.metadata if isinstance(item, Allowed))
    return Spec(name, group, about, allowed.text, allowed.secret, field.default)


SPECS: dict[str, Spec] = {
    name: _spec(group, name, field) for group in GROUPS for name, field in group.model_fields.items()
}
BY_VARIABLE: dict[str, Spec] = {spec.variable: spec for spec in SPECS.values()}


def suggestion(name: str, known: Iterable[str]) -> str:
    """A hint for a name that does not exist; empty if nothing is near."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.75)
    return f"; did you mean {near[0]}?" if near else ""


def as_text(value: object) -> str:
    """A value the way it is written in the environment."""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, (tuple, frozenset)):
        return ",".join(sorted(str(item) for item in value))
    if value is None or isinstance(value, SecretStr):
        return ""
    return value.as_posix() if isinstance(value, Path) else str(value)
