"""What `pyoco up` was asked to do."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from .restart import Policy

if TYPE_CHECKING:
    from ..config import Settings

Durability = Literal["safe", "fast"]
Kind = Literal["nats", "gateway", "worker"]

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


# Longer than what a child gives its own work, so that the child and not a signal decides how it ends.
_MARGIN_SEC = 5.0
# Decided by the plan, or (the .env file) found by each child itself where we found it.
_NOT_FOR_CHILDREN = frozenset(
    {"nats_url", "nats_client_port", "nats_http_port", "workers", "gateways", "http_port", "env_file", "load_dotenv"}
)


class CannotStart(Exception):
    """The stack cannot run, and the user can correct it; the text says how."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message}\nhint: {hint}" if hint else message)


def _program(name: str) -> tuple[str, ...]:
    # -P: a file in the current directory must not be taken for a module of ours or of the standard library.
    return (sys.executable, "-P", "-m", "pyoco", name)


@dataclass(frozen=True)
class Names:
    """Streams, buckets and subjects that the permissions of NATS users speak of."""

    work_stream: str = "PYOCO_WORK"
    work_subjects: str = "pyoco.work"
    logs_stream: str = "PYOCO_LOGS"
    dlq_subjects: str = "pyoco.dlq"
    runs: str = "pyoco_runs"
    workers: str = "pyoco_workers"
    outputs: str = "pyoco_outputs"
    flows: str = "pyoco_flows"
    wheels: str = "pyoco_wheels"
    workflows: str = "pyoco_workflows"


@dataclass(frozen=True)
class Programs:
    """The commands behind our own processes."""

    gateway: tuple[str, ...] = field(default_factory=lambda: _program("gateway"))
    worker: tuple[str, ...] = field(default_factory=lambda: _program("worker"))


@dataclass(frozen=True)
class Patience:
    """How long the supervisor waits for what, in seconds."""

    beat: float = 1.0
    silent_beats: int = 15  # beats that may be missing before a child counts as hung
    stop: float = 30.0  # for the polite end of a child
    order: float = 2.0  # workers start after this even if no gateway is ready
    announce: float = 2.5  # the summary is printed after this even if something still starts


@dataclass(frozen=True)
class UpOptions:
    """One stack: its processes and where they listen. Port 0 means any free port."""

    data_dir: Path = Path(".pyoco")
    host: str = "127.0.0.1"
    port: int = 8000
    gateways: int = 1
    workers: int = field(default_factory=lambda: os.cpu_count() or 1)
    nats_url: str | None = None  # join this NATS instead of starting one
    nats_host: str = "127.0.0.1"
    nats_port: int = 4222
    nats_monitor_port: int | None = None  # None: 8222, or any free port when that is taken
    durability: Durability = "safe"
    asks_credentials: bool = False
    callables_restricted: bool = False
    names: Names = field(default_factory=Names)
    child_environment: Mapping[str, str] = field(default_factory=dict)  # PYOCO_* variables for gateways and workers
    programs: Programs = field(default_factory=Programs)
    patience: Patience = field(default_factory=Patience)
    policy: Policy = field(default_factory=Policy)
    text_output: bool = False  # lines for a person even where no terminal is

    @property
    def beyond_loopback(self) -> bool:
        return self.host not in LOOPBACK


def from_settings(settings: Settings) -> UpOptions:
    """What the settings mean for `pyoco up`."""
    return UpOptions(
        data_dir=settings.data_dir,
        host=settings.http_host,
        port=settings.http_port,
        gateways=settings.gateways,
        workers=settings.workers if settings.workers is not None else os.cpu_count() or 1,
        nats_url=settings.nats_url if settings.joins_nats else None,
        nats_host=settings.nats_listen_host,
        nats_port=settings.nats_client_port,
        nats_monitor_port=settings.nats_http_port if "nats_http_port" in settings.model_fields_set else None,
        durability=settings.durability,
        asks_credentials=bool(settings.http_auth_mode),
        callables_restricted="*" not in settings.allowed_callables,
        names=Names(
            work_subjects=settings.work_subject_prefix,
            dlq_subjects=settings.dlq_subject_prefix,
            runs=settings.runs_kv_bucket,
            workers=settings.workers_kv_bucket,
            wheels=settings.wheel_object_store_bucket,
        ),
        child_environment=_as_variables(settings),
        text_output=settings.log_format == "text",
        patience=Patience(stop=settings.cancel_grace_period_sec + _MARGIN_SEC),
    )


def _as_variables(settings: Settings) -> dict[str, str]:
    """Settings that somebody gave, as the environment of a child. It inherits our environment and directory, and so
    finds secrets where we found them."""
    from ..config.specs import SPECS, as_text

    given = (SPECS[name] for name in settings.model_fields_set - _NOT_FOR_CHILDREN)
    return {spec.variable: as_text(getattr(settings, spec.name)) for spec in given if not spec.is_secret}
