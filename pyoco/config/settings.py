"""The settings of a process: one frozen value, checked as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import PrivateAttr, ValidationError, model_validator

from ..errors import redact
from .groups import Access, Client, Gateway, Logging, Nats, Places, Runs, Sources, Wheels, Worker
from .problems import SettingsError
from .sources import YAML_FILE, Findings, Layer, from_dotenv, from_environment, from_flags, from_yaml
from .specs import SPECS


class Settings(Client, Logging, Wheels, Worker, Runs, Access, Gateway, Nats, Places, Sources):
    """Every setting of pyoco. `Settings.load` reads them; `Settings(field=value)` is for tests and embedding."""

    _warnings: tuple[str, ...] = PrivateAttr(default=())

    @classmethod
    def load(cls, flags: Mapping[str, object], env: Mapping[str, str], cwd: Path) -> Self:
        """Flags (by field name, None = not used) > `env` > .env > pyoco.yaml, the files taken from `cwd`.

        Relative paths are made absolute against `cwd`. Raises SettingsError with everything that is wrong.
        """
        findings = Findings()
        below, above = from_yaml(cwd / YAML_FILE, findings), from_environment(env, findings)
        above |= from_flags(flags)
        given = below | _dotenv_layer(below | above, env, cwd, findings) | above
        try:
            settings = cls.model_validate({name: item.value for name, item in given.items()})
        except ValidationError as error:
            raise SettingsError([*findings.problems, *_problems(error, given)]) from None
        if findings.problems:
            raise SettingsError(findings.problems)
        settings = settings._anchored(env, cwd)
        settings._warnings = (*findings.warnings, *settings._advice())
        return settings

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is odd about these settings, to be said once at the start."""
        return self._warnings

    @property
    def joins_nats(self) -> bool:
        """Whether somebody named a NATS to use; otherwise `pyoco up` starts its own."""
        return "nats_url" in self.model_fields_set

    @property
    def nats_servers(self) -> tuple[str, ...]:
        return tuple(self.nats_url.split(","))

    @property
    def worker_tags(self) -> tuple[str, ...]:
        return self.tags or (self.default_tag,)

    @model_validator(mode="before")
    @classmethod
    def _wheels_live_in_the_data_dir(cls, values: Any) -> Any:
        if isinstance(values, dict) and "wheel_sync_dir" not in values:
            data_dir = values.get("data_dir")
            if isinstance(data_dir, (str, Path)):
                return {**values, "wheel_sync_dir": Path(data_dir) / "wheels"}
        return values

    def _anchored(self, env: Mapping[str, str], cwd: Path) -> Self:
        """With every path absolute, so that no later change of directory matters."""
        paths = {name: getattr(self, name) for name in SPECS if isinstance(getattr(self, name), Path)}
        return self.model_copy(update={name: cwd / _expand(path, env) for name, path in paths.items()})

    def _advice(self) -> Iterator[str]:
        if self.worker_heartbeat_interval_sec * 2 > self.worker_disconnect_timeout_sec:
            yield (
                f"PYOCO_WORKER_HEARTBEAT_INTERVAL_SEC ({self.worker_heartbeat_interval_sec:g}) is more than half of "
                f"PYOCO_WORKER_DISCONNECT_TIMEOUT_SEC ({self.worker_disconnect_timeout_sec:g}): "
                f"living workers will be taken for lost"
            )

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        for name, value in super().__repr_args__():
            yield name, redact(value) if isinstance(value, str) else value


def _dotenv_layer(known: Layer, env: Mapping[str, str], cwd: Path, findings: Findings) -> Layer:
    """The .env file is found by what all other sources say; what it says about itself comes too late."""
    asked = {name: known[name].value for name in Sources.model_fields if name in known}
    try:
        files = Sources.model_validate(asked)
    except ValidationError:
        return {}  # the check of the whole will say so
    if not files.load_dotenv:
        return {}
    path = cwd / _expand(files.env_file, env)
    layer = from_dotenv(path, "env_file" in asked, findings)
    for name in Sources.model_fields:
        if name in layer:
            findings.warnings.append(f"{SPECS[name].variable} has no effect in {layer.pop(name).origin}")
    return layer


def _expand(path: Path, env: Mapping[str, str]) -> Path:
    home = env.get("HOME")
    return Path(home, *path.parts[1:]) if home and path.parts[:1] == ("~",) else path


def _problems(error: ValidationError, given: Layer) -> list[str]:
    """One sentence for each setting that is wrong."""
    wrong = dict.fromkeys(str(problem["loc"][0]) for problem in error.errors(include_input=False, include_url=False))
    sentences = []
    for name in wrong:
        if name in given:  # else it was derived from another one that is wrong
            spec, item = SPECS[name], given[name]
            sentences.append(f"{spec.variable} = {spec.show(item.value)}, from {item.origin}: must be {spec.allowed}")
    return sentences
