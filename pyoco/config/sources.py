"""Collects what flags, environment, .env and pyoco.yaml say, with the place each value stands at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from . import dotenv
from .specs import BY_VARIABLE, ELSEWHERE, INTERNAL, PREFIX, SPECS, suggestion

YAML_FILE = "pyoco.yaml"
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})


@dataclass(frozen=True, slots=True)
class Given:
    """A value as it was written, and where."""

    value: object
    origin: str


@dataclass(slots=True)
class Findings:
    """What is wrong (ends the program) and what is only odd (is said)."""

    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


Layer = dict[str, Given]


def from_flags(flags: Mapping[str, object]) -> Layer:
    """Flags by field name; None means that a flag was not used."""
    unknown = flags.keys() - SPECS.keys()
    if unknown:
        raise TypeError(f"no such setting: {', '.join(sorted(unknown))}")
    layer: Layer = {}
    for name, value in flags.items():
        if value is not None:
            flag = SPECS[name].about.flag
            layer[name] = Given(value, f"{flag} on the command line" if flag else "the command line")
    return layer


def from_environment(env: Mapping[str, str], findings: Findings) -> Layer:
    return _from_variables(((name, value, "the environment") for name, value in env.items()), findings)


def from_dotenv(path: Path, must_exist: bool, findings: Findings) -> Layer:
    text = _read(path, must_exist, findings)
    lines = dotenv.parse(text)
    for line in lines:
        if line.value is None:
            place = f"{path}, line {line.number}"
            if line.name.startswith(PREFIX):
                findings.problems.append(f"{line.name}, from {place}: must be NAME=value, with quotes that are closed")
            else:
                findings.warnings.append(f"{place} is not NAME=value and was left out")
    readable = [(line.name, line.value, f"{path}, line {line.number}") for line in lines if line.value is not None]
    return _from_variables(readable, findings)


def from_yaml(path: Path, findings: Findings) -> Layer:
    text = _read(path, False, findings)
    try:
        # The composed tree keeps every scalar as it was written: `yes`, `007` and `1:30` stay text.
        root = yaml.compose(text, Loader=yaml.BaseLoader)
    except yaml.YAMLError as error:
        findings.problems.append(f"{path} is not YAML: {' '.join(str(error).split())}")
        return {}
    if root is None:
        return {}
    if not isinstance(root, yaml.MappingNode):
        findings.problems.append(f"{path} must be a mapping of setting names to values")
        return {}
    layer: Layer = {}
    seen: set[str] = set()
    for key_node, value_node in root.value:
        name, place = str(key_node.value), f"{path}, line {key_node.start_mark.line + 1}"
        if name in seen:
            findings.problems.append(f"{name}, from {place}: is there twice")
        elif name not in SPECS:
            hint = suggestion(name.lower().removeprefix(PREFIX.lower()), SPECS)
            findings.warnings.append(f"unknown setting {name!r} in {place}{hint}")
        else:
            _keep(layer, name, _plain(value_node), place, findings)
        seen.add(name)
    return layer


def _plain(node: yaml.Node) -> str | tuple[str, ...] | None:
    """Text (none at all for an unquoted null), or a list of texts; None for anything deeper."""
    if isinstance(node, yaml.ScalarNode):
        return "" if node.style is None and node.value in _NULLS else str(node.value)
    if isinstance(node, yaml.SequenceNode) and all(isinstance(item, yaml.ScalarNode) for item in node.value):
        return tuple(str(item.value) for item in node.value)
    return None


def _from_variables(variables: Iterable[tuple[str, str, str]], findings: Findings) -> Layer:
    layer: Layer = {}
    for variable, value, origin in variables:
        spec = BY_VARIABLE.get(variable)
        if spec is not None:
            _keep(layer, spec.name, value, origin, findings)
        elif variable.startswith(PREFIX) and variable not in ELSEWHERE and variable not in INTERNAL:
            findings.warnings.append(
                f"unknown variable {variable} in {origin}{suggestion(variable, [*BY_VARIABLE, *ELSEWHERE])}"
            )
    return layer


def _keep(layer: Layer, name: str, value: str | tuple[str, ...] | None, origin: str, findings: Findings) -> None:
    """Blank text is no value: `PYOCO_X=` in a compose file means that nobody set it."""
    spec = SPECS[name]
    if value is None:
        findings.problems.append(f"{spec.variable}, from {origin}: must be {spec.allowed}")
    elif not isinstance(value, str):
        layer[name] = Given(value, origin)
    elif value.strip():
        layer[name] = Given(value if spec.is_secret else value.strip(), origin)


def _read(path: Path, must_exist: bool, findings: Findings) -> str:
    try:
        return path.read_text("utf-8-sig")
    except FileNotFoundError:
        if must_exist:
            findings.problems.append(f"{SPECS['env_file'].variable} names {path}, which does not exist")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        findings.problems.append(f"{path} cannot be read: {reason}")
    return ""
