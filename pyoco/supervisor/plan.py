"""PURE: which processes make up a stack, and what each of them is told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from .nats_config import GATEWAY, INBOX_PREFIXES, WORKER
from .notify import VARIABLES as NOTIFY_VARIABLES
from .options import Kind, UpOptions

# Start in this order, stop in the opposite one.
ORDER: tuple[Kind, ...] = ("nats", "gateway", "worker")
_OWN_VARIABLES = (
    *NOTIFY_VARIABLES,
    "PYOCO_NATS_URL",
    "PYOCO_NATS_INBOX_PREFIX",
    "PYOCO_LISTEN_FD",
    "PYOCO_LIFELINE_FD",
)


@dataclass(frozen=True)
class ProcessSpec:
    """One process to keep running."""

    name: str
    kind: Kind
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)  # holds passwords
    directory: str | None = None
    listen_fd: int | None = None
    wrapped: bool = False  # the leader only waits for the real process and must leave SIGTERM to it

    @property
    def speaks(self) -> bool:
        """Whether it reports readiness and beats over a lifeline."""
        return self.kind != "nats"


@dataclass(frozen=True)
class Surroundings:
    """What the supervisor found or made before it plans."""

    environment: Mapping[str, str] = field(repr=False)
    data_dir: str
    nats_urls: Mapping[str, str] = field(repr=False)  # user → URL with its password
    own_nats: bool
    nats_command: tuple[str, ...] = ()
    nats_directory: str | None = None
    listen_fd: int | None = None
    http_port: int = 0  # what the socket is bound to


def plan(options: UpOptions, around: Surroundings) -> Iterator[ProcessSpec]:
    """Everything that `up` starts, in order."""
    if around.own_nats:
        yield _nats(around)
    yield from (process("gateway", number, options, around) for number in range(1, options.gateways + 1))
    yield from (process("worker", number, options, around) for number in range(1, options.workers + 1))


def process(kind: Kind, number: int, options: UpOptions, around: Surroundings) -> ProcessSpec:
    """The n-th gateway or worker."""
    user = GATEWAY if kind == "gateway" else WORKER
    environment = {
        **_inherited(around.environment),
        **options.child_environment,
        "PYTHONUNBUFFERED": "1",
        "PYOCO_DATA_DIR": around.data_dir,
        "PYOCO_HTTP_PORT": str(around.http_port),
        "PYOCO_NATS_URL": around.nats_urls[user],
    }
    if around.own_nats:
        environment["PYOCO_NATS_INBOX_PREFIX"] = INBOX_PREFIXES[user]
    return ProcessSpec(
        name=f"{kind}.{number}",
        kind=kind,
        command=options.programs.gateway if kind == "gateway" else options.programs.worker,
        environment=environment,
        listen_fd=around.listen_fd if kind == "gateway" else None,
    )


def _nats(around: Surroundings) -> ProcessSpec:
    inherited = _inherited(around.environment)
    return ProcessSpec(
        name="nats",
        kind="nats",
        command=around.nats_command,
        environment={name: value for name, value in inherited.items() if not name.startswith("PYOCO_")},
        directory=around.nats_directory,
        wrapped=True,
    )


def _inherited(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name not in _OWN_VARIABLES}
