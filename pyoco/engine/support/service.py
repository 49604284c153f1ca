"""Puts together a description: collect, filter, render, write."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..document import PyocoConfig
from ..errors import InvalidFilterError, InvalidFormatError, OutputWriteError
from ..task_info import SupportFilters, SupportInfo
from .collect import collect, select
from .render import FORMATS, render_guide, render_tasks

KINDS = ("tasks", "task", "guide")


class SupportInfoService:
    def build(
        self,
        *,
        kind: str,
        config_path: str,
        format: str = "prompt",
        filters: SupportFilters | Mapping[str, Any] | None = None,
        output_path: str | None = None,
    ) -> str:
        """The text of a description, which is also written to `output_path` if that is given."""
        content = self.describe(kind, config_path, format, filters).content
        if output_path:
            _write(output_path, content)
        return content

    def describe(
        self,
        kind: str,
        config_path: str,
        format: str = "prompt",
        filters: SupportFilters | Mapping[str, Any] | None = None,
    ) -> SupportInfo:
        if kind not in KINDS:
            raise ValueError(f"unknown kind {kind!r}; use {', '.join(KINDS)}")
        if format not in FORMATS:
            raise InvalidFormatError(format)
        wanted = _filters(filters)
        if kind == "task" and wanted.name is None:
            raise InvalidFilterError("name")
        if kind == "guide":
            # the format of the file is the same for every project, so the guide needs no file
            content = render_guide(format)
        else:
            infos = collect(PyocoConfig.from_yaml(config_path), wanted)
            content = render_tasks(kind, select(infos, wanted), format)
        return SupportInfo(kind=kind, format=format, content=content, filters=wanted)


def build(
    kind: str,
    config_path: str,
    format: str = "prompt",
    filters: SupportFilters | Mapping[str, Any] | None = None,
    output_path: str | None = None,
) -> str:
    """Describes the tasks of a flow.yaml (`tasks`, `task`) or the format of the file (`guide`)."""
    return SupportInfoService().build(
        kind=kind, config_path=config_path, format=format, filters=filters, output_path=output_path
    )


def _filters(given: SupportFilters | Mapping[str, Any] | None) -> SupportFilters:
    if given is None:
        return SupportFilters()
    if isinstance(given, Mapping):
        for key in given:
            if key not in ("name", "origin", "tag"):
                raise InvalidFilterError(str(key))
        given = SupportFilters(**{key: [value] if isinstance(value, str) else value for key, value in given.items()})
    for field, values in (("name", given.name), ("origin", given.origin), ("tag", given.tag)):
        if values is None:
            continue
        if not isinstance(values, (list, tuple)) or not values or not all(isinstance(v, str) and v for v in values):
            raise InvalidFilterError(field)
    return given


def _write(output_path: str, content: str) -> None:
    target = Path(output_path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, encoding="utf-8")
    except OSError as exc:
        raise OutputWriteError(output_path) from exc
