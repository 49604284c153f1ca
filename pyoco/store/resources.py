"""Creates the streams and buckets that are missing. What exists is respected, with a warning where it differs."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from nats.js import api
from nats.js.errors import BadRequestError, NotFoundError

from .failures import translated
from .names import Names, durable_name, kv_stream
from .session import Session

_log = logging.getLogger("pyoco.store")
_OWNED = ("subjects", "retention", "storage", "discard", "max_age", "max_msgs_per_subject")
ASYNC_PERSIST_VERSION = (2, 12, 0)


@dataclass(frozen=True)
class ResourceOptions:
    """What settings decide about the resources."""

    replicas: int = 1
    # Only on a single server of our own: the work stream can be rebuilt from the run documents, so it may lag.
    async_work: bool = False
    dlq_max_age: float = 604_800
    dlq_max_msgs: int = 100_000
    dlq_max_bytes: int = 536_870_912
    ack_wait: float = 30.0
    max_deliver: int = 20
    max_ack_pending: int = 200


def streams(names: Names, options: ResourceOptions, version: tuple[int, ...]) -> list[api.StreamConfig]:
    """Every stream we need, buckets included, as it should be."""
    replicas = options.replicas
    work = api.StreamConfig(
        name=names.work_stream,
        subjects=[f"{names.work_prefix}.>"],
        retention=api.RetentionPolicy.WORK_QUEUE,
        discard=api.DiscardPolicy.NEW,
        allow_direct=True,
        num_replicas=replicas,
        duplicate_window=120,
    )
    if options.async_work and replicas == 1 and version >= ASYNC_PERSIST_VERSION:
        work.persist_mode = api.PersistMode.ASYNC
    dlq = api.StreamConfig(
        name=names.dlq_stream,
        subjects=[f"{names.dlq_prefix}.>"],
        max_age=options.dlq_max_age,
        max_msgs=options.dlq_max_msgs,
        max_bytes=options.dlq_max_bytes,
        allow_direct=True,
        num_replicas=replicas,
    )
    logs = api.StreamConfig(
        name=names.logs_stream,
        subjects=[f"{names.logs_prefix}.>"],
        allow_direct=True,
        num_replicas=replicas,
        compression=api.StoreCompression.S2,
    )
    advisories = api.StreamConfig(
        name=names.advisory_stream, subjects=names.advisory_subjects(), max_age=7 * 86_400, num_replicas=replicas
    )
    buckets = [_bucket(name, replicas) for name in (names.runs_bucket, names.workers_bucket, names.outputs_bucket)]
    return [work, dlq, logs, advisories, *buckets, _object_store(names.workflows_store, replicas)]


def _bucket(name: str, replicas: int) -> api.StreamConfig:
    return api.StreamConfig(
        name=kv_stream(name),
        subjects=[f"$KV.{name}.>"],
        max_msgs_per_subject=1,
        discard=api.DiscardPolicy.NEW,
        allow_rollup_hdrs=True,
        deny_delete=True,
        allow_direct=True,
        allow_msg_ttl=True,
        duplicate_window=120,
        num_replicas=replicas,
    )


def _object_store(name: str, replicas: int) -> api.StreamConfig:
    return api.StreamConfig(
        name=f"OBJ_{name}",
        subjects=[f"$O.{name}.C.>", f"$O.{name}.M.>"],
        discard=api.DiscardPolicy.NEW,
        allow_rollup_hdrs=True,
        allow_direct=True,
        num_replicas=replicas,
    )


async def ensure_streams(session: Session, names: Names, options: ResourceOptions) -> None:
    for wanted in streams(names, options, session.version):
        with translated():
            try:
                found = (await session.js.stream_info(str(wanted.name))).config
            except NotFoundError:
                await _create(session, wanted)
                continue
        _compare(wanted, found)


async def _create(session: Session, wanted: api.StreamConfig) -> None:
    if session.version < (2, 11):
        wanted.allow_msg_ttl = None
    try:
        await session.js.add_stream(wanted)
    except BadRequestError as error:
        # Another process was faster and chose other settings; what exists is respected.
        if error.err_code != 10058:
            raise
        _log.warning("stream %s exists with other settings; they are kept", wanted.name)


def _compare(wanted: api.StreamConfig, found: api.StreamConfig) -> None:
    for field in _OWNED:
        ours, theirs = getattr(wanted, field), getattr(found, field)
        if ours is not None and ours != theirs:
            _log.warning("stream %s has %s=%r instead of %r; it is kept", wanted.name, field, theirs, ours)


async def ensure_consumer(session: Session, names: Names, options: ResourceOptions, tag: str) -> api.ConsumerConfig:
    """The durable consumer of a tag; the settings it really has."""
    wanted = api.ConsumerConfig(
        durable_name=durable_name(tag),
        filter_subject=names.work_subject(tag),
        ack_policy=api.AckPolicy.EXPLICIT,
        ack_wait=options.ack_wait,
        max_deliver=options.max_deliver,
        max_ack_pending=options.max_ack_pending,
        max_waiting=4096,
    )
    with translated():
        try:
            info = await session.js.consumer_info(names.work_stream, durable_name(tag))
        except NotFoundError:
            info = await session.js.add_consumer(names.work_stream, wanted)
    config: api.ConsumerConfig = info.config
    return config
