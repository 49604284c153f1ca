"""Options that several commands share, and what stands behind the values of options."""

from __future__ import annotations

import json
import math
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from .failure import Problem, complain

FlowArgument = Annotated[str | None, typer.Argument(metavar="FLOW", help="The flow file, e.g. flow.yaml.")]
ConfigOption = Annotated[str | None, typer.Option("--config", metavar="FLOW", help="The same as FLOW.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else on standard output.")]

GRACE_VARIABLE = "PYOCO_CANCEL_GRACE_PERIOD_SEC"
DEFAULT_GRACE_SEC = 5.0


def flow_path(flow: str | None, config: str | None) -> str:
    """The flow file, which may be given in two ways."""
    if flow is not None and config is not None and flow != config:
        raise Problem(f"Error: two flow files are given: {flow} and {config}", "keep one of them")
    path = flow if flow is not None else config
    if not path:
        raise Problem("Error: the flow file is missing", "name it, e.g. 'flow.yaml'; see also --help of the command")
    return path


def parse_params(entries: list[str] | None) -> dict[str, str]:
    """`key=value` entries; the value stays text. Others are passed over, as scripts of existing users rely on it."""
    params: dict[str, str] = {}
    for entry in entries or []:
        key, equals, value = entry.partition("=")
        if equals and key:
            params[key] = value
        else:
            complain(f"Warning: --param {entry!r} is ignored; write --param {key or 'key'}=value")
    return params


def read_params_file(path: str | None) -> dict[str, Any]:
    """A YAML or JSON mapping; `-` is standard input."""
    if path is None:
        return {}
    from ..engine.yaml_source import DocumentError, read_yaml

    name = "standard input" if path == "-" else path
    try:
        content = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        values = _parse_values(content.decode("utf-8-sig"), name, read_yaml)
    except OSError as exc:
        raise Problem(f"Error: cannot read the parameters from {name}: {exc.strerror}") from None
    except UnicodeDecodeError:
        raise Problem(f"Error: {name} is not UTF-8 text", "save it as UTF-8") from None
    except DocumentError as exc:
        raise Problem(f"Error: cannot read the parameters: {exc}") from None
    if values is None:
        return {}
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        raise Problem(f"Error: {name} must be a mapping of parameter names to values", "write for example: count: 3")
    return values


def _parse_values(text: str, name: str, read_yaml: Any) -> Any:
    if text.lstrip().startswith("{"):
        # JSON may be indented with tabs, which YAML does not allow.
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            pass
    return read_yaml(text, name).data


def parse_answers(entries: list[str] | None) -> list[tuple[str, Any]]:
    """`NODE=JSON` entries; without a value the payload is null."""
    answers = []
    for entry in entries or []:
        node, _, text = entry.partition("=")
        try:
            answers.append((node, json.loads(text) if text.strip() else None))
        except json.JSONDecodeError as exc:
            hint = f"text needs quotes inside: --answer '{node}=\"{text}\"'"
            raise Problem(f"Error: the value of --answer {entry!r} is not JSON: {exc.msg}", hint) from None
    return answers


def parse_rejections(entries: list[str] | None) -> list[tuple[str, str]]:
    """`NODE` or `NODE=reason` entries."""
    return [(node, reason or "rejected") for node, _, reason in (entry.partition("=") for entry in entries or [])]


def grace_period() -> float:
    """Seconds that running tasks have after a Ctrl-C."""
    text = os.environ.get(GRACE_VARIABLE, "").strip()
    if not text:
        return DEFAULT_GRACE_SEC
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise Problem(f"Error: {GRACE_VARIABLE} must be a number of seconds, not {text!r}")
    return seconds
