"""PURE: the configuration of our nats-server, its users and what each of them may do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .options import Durability, Names

GATEWAY, WORKER, ADMIN, COMPAT = "gateway", "worker", "admin", "compat"
USERS = (GATEWAY, WORKER, ADMIN, COMPAT)
# Each user has inboxes of its own, so that none can read the answers another one gets. Processes of pyoco-server 0.5
# know only the default prefix.
INBOX_PREFIXES = {GATEWAY: "_INBOX_gw", WORKER: "_INBOX_wk", ADMIN: "_INBOX_admin", COMPAT: "_INBOX"}

_SYNC_INTERVALS: dict[Durability, str] = {"safe": "always", "fast": "1s"}
_MAX_PAYLOAD = "8MB"
_MAX_MEMORY_STORE = "256MB"


@dataclass(frozen=True)
class ServerConfig:
    """Everything that nats.conf says."""

    server_name: str
    host: str
    port: int
    monitor_port: int
    store_dir: str
    pid_file: str
    max_file_store: int  # bytes
    durability: Durability
    passwords: Mapping[str, str]
    names: Names = field(default_factory=Names)


@dataclass(frozen=True)
class Permissions:
    publish: tuple[str, ...]
    subscribe: tuple[str, ...]
    forbidden: tuple[str, ...] = ()


def render(config: ServerConfig) -> str:
    """The text of nats.conf."""
    users = ",\n".join(
        f"      {_user(name, config.passwords[name], permissions(name, config.names))}" for name in USERS
    )
    return f"""\
# Written by `pyoco up` at every start: changes made here are lost.
server_name: {_quoted(config.server_name)}
listen: {_quoted(_address(config.host, config.port))}
http: {_quoted(_address("127.0.0.1", config.monitor_port))}
pid_file: {_quoted(config.pid_file)}
max_payload: {_MAX_PAYLOAD}
jetstream {{
  store_dir: {_quoted(config.store_dir)}
  sync_interval: {_SYNC_INTERVALS[config.durability]}
  max_memory_store: {_MAX_MEMORY_STORE}
  max_file_store: {config.max_file_store}
}}
accounts {{
  PYOCO {{
    jetstream: enabled
    users: [
{users}
    ]
  }}
}}
"""


def permissions(user: str, names: Names) -> Permissions:
    """What a user may do. Only `admin` may delete, copy or restore whole streams."""
    inbox = f"{INBOX_PREFIXES[user]}.>"
    if user == ADMIN:
        return Permissions(publish=(">",), subscribe=(">",))
    if user == WORKER:
        return Permissions(publish=_worker_publishes(names), subscribe=(inbox, "pyoco.cancel.>", "pyoco.ctl.>"))
    whole_streams = tuple(f"$JS.API.STREAM.{verb}.>" for verb in ("DELETE", "SNAPSHOT", "RESTORE"))
    return Permissions(
        publish=("$JS.API.>", "$JS.ACK.>", "$JS.FC.>", "$KV.>", "$O.>", "pyoco.>"),
        subscribe=(inbox, "pyoco.>", "$KV.>", "$JS.EVENT.ADVISORY.>"),
        forbidden=whole_streams,
    )


def _worker_publishes(names: Names) -> tuple[str, ...]:
    work = names.work_stream
    return (
        *(f"$KV.{bucket}.>" for bucket in (names.runs, names.workers, names.outputs)),
        f"{names.work_subjects}.>",
        f"{names.dlq_subjects}.>",
        "pyoco.logs.>",
        "$JS.API.INFO",
        f"$JS.API.STREAM.INFO.{work}",
        f"$JS.API.CONSUMER.CREATE.{work}",
        f"$JS.API.CONSUMER.CREATE.{work}.>",
        f"$JS.API.CONSUMER.DURABLE.CREATE.{work}.>",
        f"$JS.API.CONSUMER.INFO.{work}.*",
        f"$JS.API.CONSUMER.MSG.NEXT.{work}.*",
        f"$JS.ACK.{work}.>",
        f"$JS.API.STREAM.INFO.{names.logs_stream}",
        f"$JS.API.STREAM.PURGE.{names.logs_stream}",
        *(
            subject
            for bucket in (names.runs, names.workers, names.outputs, names.flows)
            for subject in _reads_kv(bucket)
        ),
        "$JS.API.STREAM.NAMES",
        *(subject for bucket in (names.wheels, names.workflows) for subject in _reads(f"OBJ_{bucket}")),
    )


def _reads_kv(bucket: str) -> tuple[str, ...]:
    return _reads(f"KV_{bucket}")


def _reads(stream: str) -> tuple[str, ...]:
    """Reading single messages and following a stream."""
    return (
        f"$JS.API.STREAM.INFO.{stream}",
        f"$JS.API.STREAM.MSG.GET.{stream}",
        f"$JS.API.DIRECT.GET.{stream}",
        f"$JS.API.DIRECT.GET.{stream}.>",
        f"$JS.API.CONSUMER.CREATE.{stream}",
        f"$JS.API.CONSUMER.CREATE.{stream}.>",
        f"$JS.API.CONSUMER.DELETE.{stream}.*",
        f"$JS.FC.{stream}.>",
    )


def _user(name: str, password: str, may: Permissions) -> str:
    forbidden = f", deny: {_list(may.forbidden)}" if may.forbidden else ""
    return (
        f"{{ user: {_quoted(name)}, password: {_quoted(password)}, permissions: {{ "
        f"publish: {{ allow: {_list(may.publish)}{forbidden} }}, subscribe: {{ allow: {_list(may.subscribe)} }}, "
        "allow_responses: true } }"
    )


def _list(subjects: tuple[str, ...]) -> str:
    return f"[{', '.join(map(_quoted, subjects))}]"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
