"""Which callables a submitted flow.yaml may name (`PYOCO_ALLOWED_CALLABLES`)."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any


def parse_patterns(text: str) -> list[str]:
    """The glob patterns of a list that is separated by commas or white space."""
    return text.replace(",", " ").split()


def is_allowed(path: str, patterns: Sequence[str]) -> bool:
    """Whether `module.path:name` fits a pattern. One without a colon is meant for whole modules. No patterns: anything
    is allowed."""
    if not patterns:
        return True
    module = path.partition(":")[0]
    return any(fnmatchcase(path if ":" in pattern else module, pattern) for pattern in patterns)


def home_of(function: Any) -> str:
    """Where the code of a function was written, as `module.path:name`. A module shows everything that it imports; what
    it may be called for is only what it defines."""
    function = getattr(function, "__func__", function)
    if not hasattr(function, "__qualname__"):
        function = type(function)
    return f"{function.__module__}:{function.__qualname__}"
