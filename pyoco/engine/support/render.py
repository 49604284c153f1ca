"""Descriptions as text for a prompt, as JSON, and as Markdown."""

from __future__ import annotations

import json
from itertools import groupby
from typing import Any

from ..task_info import TaskInfo, TaskIO
from .guide import GRAPH_SYNTAX, INPUT_REFERENCES, TEMPLATE

FORMATS = ("prompt", "json", "md")


def render_tasks(kind: str, infos: list[TaskInfo], format: str) -> str:
    groups = [(origin, list(group)) for origin, group in groupby(infos, key=lambda info: info.origin or "unknown")]
    if format == "json":
        listed = [{"origin": origin, "tasks": [_task_json(info) for info in group]} for origin, group in groups]
        return _json({"kind": kind, "groups": listed})
    lines = ["# Pyoco tasks"] if format == "md" else ["Tasks that a flow.yaml can use"]
    for origin, group in groups:
        lines += ["", f"## From {origin}"] if format == "md" else ["", f"From {origin}:"]
        for info in group:
            lines += _task_markdown(info) if format == "md" else _task_prompt(info)
    return "\n".join(lines)


def render_guide(format: str) -> str:
    if format == "json":
        guide = {"template": TEMPLATE, "graph_syntax": GRAPH_SYNTAX, "input_refs": INPUT_REFERENCES}
        return _json({"kind": "guide", **guide})
    if format == "md":
        return "\n".join(
            [
                "# How to write a flow.yaml",
                "",
                "```yaml",
                TEMPLATE.rstrip(),
                "```",
                "",
                "## Graph",
                "",
                GRAPH_SYNTAX.rstrip(),
                "",
                "## Values for inputs",
                "",
                INPUT_REFERENCES.rstrip(),
            ]
        )
    parts = [
        "How to write a flow.yaml",
        f"Example:\n{TEMPLATE.rstrip()}",
        f"Graph:\n{GRAPH_SYNTAX.rstrip()}",
        f"Values for inputs:\n{INPUT_REFERENCES.rstrip()}",
    ]
    return "\n\n".join(parts)


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _task_json(info: TaskInfo) -> dict[str, Any]:
    return {
        "name": info.name,
        "summary": info.summary,
        "inputs": [_io_json(entry) for entry in info.inputs],
        "outputs": [_io_json(entry) for entry in info.outputs],
        "origin": info.origin,
        "tags": info.tags or [],
    }


def _io_json(entry: TaskIO) -> dict[str, Any]:
    constraints = entry.constraints or []
    return {"name": entry.name, "type": entry.type, "required": entry.required, "constraints": constraints}


def _task_prompt(info: TaskInfo) -> list[str]:
    lines = [f"- name: {info.name}", f"  summary: {info.summary}"]
    lines += ["  inputs:", *(f"    - {_io_line(entry)}" for entry in info.inputs)]
    lines += ["  outputs:", *(f"    - {_io_line(entry)}" for entry in info.outputs)]
    if info.usage:
        lines.append(f"  usage: {info.usage}")
    if info.tags:
        lines.append(f"  tags: {', '.join(info.tags)}")
    return lines


def _io_line(entry: TaskIO) -> str:
    notes = [entry.type, "required" if entry.required else "optional", *(entry.constraints or [])]
    return f"{entry.name} ({', '.join(notes)})"


def _task_markdown(info: TaskInfo) -> list[str]:
    lines = ["", f"### {info.name}", "", info.summary]
    for title, entries in (("Inputs", info.inputs), ("Outputs", info.outputs)):
        lines += ["", f"**{title}**"]
        if entries:
            lines += ["", "| name | type | required | constraints |", "|---|---|---|---|"]
            lines += [_row(entry) for entry in entries]
        else:
            lines[-1] += ": none"
    if info.usage:
        lines += ["", f"**Usage**: {info.usage}"]
    if info.tags:
        lines += ["", f"**Tags**: {', '.join(info.tags)}"]
    return lines


def _row(entry: TaskIO) -> str:
    cells = (entry.name, entry.type, "yes" if entry.required else "no", ", ".join(entry.constraints or []))
    # a bar or a line break inside a cell would end it
    safe = (" ".join(cell.replace("|", "\\|").split()) for cell in cells)
    return f"| {' | '.join(safe)} |"
