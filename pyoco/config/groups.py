"""Every setting with its default, its meaning and the document that names it, in groups as a reader looks for them.

The environment variable of a field is its name in capitals after `PYOCO_`; its key in pyoco.yaml is the name itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict

from . import values as v


@dataclass(frozen=True, slots=True)
class About:
    """What a setting means, where it is documented, and its flag on the command line if it has one."""

    help: str
    source: str
    flag: str = ""


ARCH = "v0 architecture 6"
SPEC = "v0 specification I"
BOTH = f"{ARCH}, {SPEC}"


class Group(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class Sources(Group):
    """Where settings come from"""

    load_dotenv: Annotated[v.Switch, About("read the .env file", ARCH)] = True
    env_file: Annotated[v.FilePath, About("the .env file; must exist if it is named", ARCH)] = Path(".env")


class Places(Group):
    """Directories and processes of `pyoco up`"""

    data_dir: Annotated[v.FilePath, About("everything the server keeps", "architecture 1", "--data-dir")] = Path(
        ".pyoco"
    )
    code_dir: Annotated[v.FilePath, About("first on the path of user code", "architecture 4", "--code")] = Path()
    reload: Annotated[
        v.Switch, About("run changed user code without a restart", "architecture 4", "--reload/--no-reload")
    ] = True
    gateways: Annotated[v.Count, About("gateway processes", "architecture 1", "--gateways")] = 1
    workers: Annotated[
        v.OptionalCount, About("worker processes; default: one per core", "architecture 1", "--workers")
    ] = None
    slots: Annotated[v.Count, About("runs at a time in one worker", "architecture 1", "--slots")] = 4
    durability: Annotated[
        v.Durability, About("`fast` syncs our own NATS each second instead of always", "architecture 3", "--durability")
    ] = "safe"


class Nats(Group):
    """NATS and the names in it"""

    nats_url: Annotated[
        v.NatsUrl, About("the NATS to use; if it is given, `up` starts none", f"{BOTH}, architecture 1", "--nats-url")
    ] = "nats://127.0.0.1:4222"
    nats_listen_host: Annotated[v.Host, About("where our own NATS listens", "decisions", "--nats-listen-host")] = (
        "127.0.0.1"
    )
    nats_client_port: Annotated[v.Port, About("port of our own NATS", "architecture 1", "--nats-port")] = 4222
    nats_http_port: Annotated[v.Port, About("port of its monitoring", "decisions", "--nats-http-port")] = 8222
    work_subject_prefix: Annotated[v.SubjectPrefix, About("subjects of queued work, before the tag", BOTH)] = (
        "pyoco.work"
    )
    default_tag: Annotated[v.Tag, About("tag of runs and workers that name none", BOTH)] = "default"
    runs_kv_bucket: Annotated[v.Bucket, About("bucket of the runs", BOTH)] = "pyoco_runs"
    workers_kv_bucket: Annotated[v.Bucket, About("bucket of the worker registry", BOTH)] = "pyoco_workers"
    consumer_ack_wait_sec: Annotated[v.Seconds, About("AckWait of the work consumers", BOTH)] = 30.0
    consumer_max_deliver: Annotated[v.Count, About("MaxDeliver of the work consumers", BOTH)] = 20
    consumer_max_ack_pending: Annotated[v.Count, About("MaxAckPending of the work consumers", BOTH)] = 200
    ack_progress_interval_sec: Annotated[
        v.Seconds, About("time between in-progress ACKs; cut to half of AckWait if it is not below it", BOTH)
    ] = 10.0
    dlq_stream: Annotated[v.Bucket, About("stream of dead letters", BOTH)] = "PYOCO_DLQ"
    dlq_subject_prefix: Annotated[v.SubjectPrefix, About("subjects of dead letters, before the tag", BOTH)] = (
        "pyoco.dlq"
    )
    dlq_publish_execution_error: Annotated[v.Switch, About("a run that failed leaves a dead letter", BOTH)] = True
    dlq_max_age_sec: Annotated[v.SecondsOrZero, About("age at which dead letters go; 0 keeps them", SPEC)] = 604800.0
    dlq_max_msgs: Annotated[v.Limit, About("how many dead letters are kept", SPEC)] = 100000
    dlq_max_bytes: Annotated[v.Limit, About("bytes of dead letters that are kept", SPEC)] = 536870912


class Gateway(Group):
    """The gateway"""

    http_host: Annotated[v.Host, About("address to listen at", "v0 architecture 3, UC-12", "--host")] = "127.0.0.1"
    http_port: Annotated[v.Port, About("port to listen at", "v0 architecture 3, UC-12", "--port")] = 8000
    allowed_hosts: Annotated[v.Hosts, About("names in `Host` that are ours too", "http 1")] = ()
    trusted_proxies: Annotated[v.Networks, About("peers whose forwarded headers count", "http 13")] = ()
    max_body_bytes: Annotated[v.ByteCount, About("largest JSON body", "http 1")] = 1048576
    workflow_yaml_max_bytes: Annotated[v.ByteCount, About("largest flow.yaml that is taken", BOTH)] = 262144
    allowed_callables: Annotated[
        v.Globs, About("what `callable:` of a submitted flow.yaml may name", "architecture 5")
    ] = ("*",)
    job_flow: Annotated[v.FlowName, About("flow of a job that names none", "http 9")] = "echo"
    idempotency_ttl_sec: Annotated[v.Seconds, About("how long an idempotency key is remembered", "http 3")] = 86400.0
    dashboard_lang: Annotated[
        v.DashboardLang, About("language of the dashboard; `auto` is the server's", ARCH, "--dashboard-lang")
    ] = "auto"
    rate_limit_read: Annotated[v.CountOrZero, About("reads per minute and client; 0: no limit", "http 5")] = 0
    rate_limit_write: Annotated[v.CountOrZero, About("writes per minute and client; 0: no limit", "http 5")] = 0
    rate_limit_pdca_read: Annotated[
        v.CountOrZero, About("reads of /pdca and /gui per minute; 0: no limit", "http 13")
    ] = 600
    rate_limit_pdca_recheck: Annotated[v.CountOrZero, About("rechecks per minute; 0: no limit", "http 13")] = 120
    rate_limit_pdca_recheck_all: Annotated[v.CountOrZero, About("recheck_all per minute; 0: no limit", "http 13")] = 10


class Access(Group):
    """Who may use the API"""

    http_auth_mode: Annotated[v.AuthModes, About("which credentials are asked for", f"{SPEC}, http 4")] = frozenset()
    http_api_key_header: Annotated[v.HeaderName, About("header that carries the API key", SPEC)] = "X-API-Key"
    auth_kv_bucket: Annotated[v.Bucket, About("bucket of the API keys", SPEC)] = "pyoco_auth"
    auth_pepper: Annotated[v.Secret, About("mixed into the hashes of API keys", SPEC)] = None
    jwt_public_key_file: Annotated[v.OptionalPath, About("PEM file of the key that signs tokens", "http 4")] = None
    jwt_jwks_file: Annotated[v.OptionalPath, About("JWKS file of the keys that sign tokens", "http 4")] = None
    jwt_issuer: Annotated[v.Issuer, About("`iss` of tokens", "http 4")] = "noctria.auth"


class Runs(Group):
    """Runs"""

    max_run_snapshot_bytes: Annotated[v.ByteCount, About("largest snapshot; above it records are cut", BOTH)] = 262144
    runs_retention_sec: Annotated[v.SecondsOrZero, About("age at which ended runs go; 0 keeps them", "domain 6")] = 0.0
    max_crashes: Annotated[
        v.Count, About("crashes without a newly recorded node before a run fails", "domain 6, architecture 4")
    ] = 3
    cancel_grace_period_sec: Annotated[v.SecondsOrZero, About("time a cancelled run has to stop", ARCH)] = 30.0
    log_max_line_bytes: Annotated[v.ByteCount, About("a longer line of a run's log is cut", "http 9")] = 16384
    log_max_run_bytes: Annotated[v.ByteCount, About("above it the oldest lines of a run's log go", "http 9")] = 16777216


class Worker(Group):
    """The worker"""

    worker_id: Annotated[v.WorkerId, About("name of the worker; default: made up", "http 13", "--worker-id")] = None
    tags: Annotated[
        v.Tags, About("tags it serves; default: `PYOCO_DEFAULT_TAG`", "v0 architecture 3, UC-12", "--tags")
    ] = ()
    flow_resolver: Annotated[
        v.FlowResolver, About("function that finds a flow by name", "v0 architecture 3, UC-12", "--flow-resolver")
    ] = None
    run_heartbeat_interval_sec: Annotated[v.Seconds, About("time between heartbeats of a run", BOTH)] = 1.0
    worker_heartbeat_interval_sec: Annotated[v.Seconds, About("time between heartbeats of a worker", BOTH)] = 5.0
    workers_kv_ttl_sec: Annotated[
        v.SecondsOrZero, About("worker records live at least this long (v0: exactly)", BOTH)
    ] = 15.0
    worker_disconnect_timeout_sec: Annotated[v.Seconds, About("silence after which a worker is DISCONNECTED", ARCH)] = (
        20.0
    )


class Wheels(Group):
    """Wheels"""

    wheel_object_store_bucket: Annotated[v.Bucket, About("object store of the wheels", ARCH)] = "pyoco_wheels"
    wheel_max_bytes: Annotated[v.ByteCount, About("largest wheel", ARCH)] = 536870912
    wheel_sync_enabled: Annotated[v.Switch, About("the worker installs wheels", ARCH, "--wheel-sync")] = False
    wheel_sync_dir: Annotated[
        v.FilePath, About("where it keeps them; default: `wheels` in the data directory", ARCH, "--wheel-sync-dir")
    ] = Path(".pyoco/wheels")
    wheel_sync_interval_sec: Annotated[
        v.Seconds, About("time between two looks at the registry", ARCH, "--wheel-sync-interval-sec")
    ] = 10.0
    wheel_install_timeout_sec: Annotated[
        v.Seconds, About("time one installation may take", ARCH, "--wheel-install-timeout-sec")
    ] = 180.0
    wheel_history_kv_bucket: Annotated[v.Bucket, About("bucket of the wheel history", ARCH)] = "pyoco_wheel_history"
    wheel_history_ttl_sec: Annotated[v.SecondsOrZero, About("age at which its entries go; 0 keeps them", ARCH)] = (
        7776000.0
    )


class Logging(Group):
    """Logs of gateway and worker"""

    log_level: Annotated[v.LogLevel, About("what is logged", BOTH)] = "INFO"
    log_format: Annotated[v.LogFormat, About("JSON Lines, or text for a terminal", BOTH)] = "json"
    log_utc: Annotated[v.Switch, About("times in UTC, else local time with its offset", BOTH)] = True
    log_include_traceback: Annotated[v.Switch, About("errors with their traceback", BOTH)] = True


class Client(Group):
    """The client commands"""

    server: Annotated[v.HttpUrl, About("address of the gateway", "decisions", "--server")] = "http://127.0.0.1:8000"
    api_key: Annotated[v.Secret, About("API key to send", "decisions", "--api-key")] = None


GROUPS: tuple[type[Group], ...] = (
    Sources,
    Places,
    Nats,
    Gateway,
    Access,
    Runs,
    Worker,
    Wheels,
    Logging,
    Client,
)
