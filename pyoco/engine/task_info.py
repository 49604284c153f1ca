"""What a task says about itself to people and language models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass
class TaskIO:
    """One input or output of a task."""

    name: str
    type: str
    required: bool
    constraints: list[str] | None = None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> TaskIO:
        """Takes what is there; a missing key becomes None (PluginRegistry.task_info checks for that)."""
        return cls(
            name=data.get("name"),  # type: ignore[arg-type]
            type=data.get("type"),  # type: ignore[arg-type]
            required=data.get("required"),  # type: ignore[arg-type]
            constraints=data.get("constraints"),
        )


@dataclass
class TaskInfo:
    name: str
    summary: str
    inputs: list[TaskIO]
    outputs: list[TaskIO]
    usage: str | None = None
    origin: str | None = None
    tags: list[str] | None = None


@dataclass
class SupportFilters:
    """Which tasks to describe: within one field any value may match, every given field must."""

    name: list[str] | None = None
    origin: list[str] | None = None
    tag: list[str] | None = None


@dataclass
class SupportInfo:
    kind: str
    format: str
    content: str
    filters: SupportFilters
