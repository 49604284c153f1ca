"""Every stream, bucket, subject and header on the NATS wire, in one place."""

from __future__ import annotations

import base64
from dataclasses import dataclass

MSG_ID = "Nats-Msg-Id"
EXPECTED_REVISION = "Nats-Expected-Last-Subject-Sequence"
KV_OPERATION = "KV-Operation"
ROLLUP = "Nats-Rollup"
TTL = "Nats-TTL"

LOG_FIRST_SEQ = "Pyoco-First-Seq"
LOG_BYTE_OFFSET = "Pyoco-Byte-Offset"
LOG_LINE_COUNT = "Pyoco-Line-Count"
LOG_BYTE_COUNT = "Pyoco-Byte-Count"
LOG_WRITER = "Pyoco-Writer"
LOG_TERM = "Pyoco-Term"


@dataclass(frozen=True)
class Names:
    """The names that settings may change, with the v0 defaults, and what is derived from them."""

    work_stream: str = "PYOCO_WORK"
    work_prefix: str = "pyoco.work"
    dlq_stream: str = "PYOCO_DLQ"
    dlq_prefix: str = "pyoco.dlq"
    runs_bucket: str = "pyoco_runs"
    workers_bucket: str = "pyoco_workers"
    outputs_bucket: str = "pyoco_outputs"
    workflows_store: str = "pyoco_workflows"
    logs_stream: str = "PYOCO_LOGS"
    logs_prefix: str = "pyoco.logs"
    advisory_stream: str = "PYOCO_ADV"
    cancel_prefix: str = "pyoco.cancel"

    def work_subject(self, tag: str) -> str:
        return f"{self.work_prefix}.{tag}"

    def dlq_subject(self, tag: str) -> str:
        return f"{self.dlq_prefix}.{tag}"

    def logs_subject(self, run_id: str) -> str:
        return f"{self.logs_prefix}.{run_id}"

    def cancel_subject(self, run_id: str) -> str:
        return f"{self.cancel_prefix}.{run_id}"

    def advisory_subjects(self) -> list[str]:
        root = "$JS.EVENT.ADVISORY.CONSUMER"
        return [f"{root}.MAX_DELIVERIES.{self.work_stream}.>", f"{root}.MSG_TERMINATED.{self.work_stream}.>"]


def durable_name(tag: str) -> str:
    """The consumer that all workers of a tag share."""
    return f"pyoco_workers_{tag}"


def kv_stream(bucket: str) -> str:
    return f"KV_{bucket}"


def kv_subject(bucket: str, key: str) -> str:
    return f"$KV.{bucket}.{key}"


def kv_key(bucket: str, subject: str) -> str:
    return subject.removeprefix(f"$KV.{bucket}.")


def object_stream(store: str) -> str:
    return f"OBJ_{store}"


def object_chunks(store: str, nuid: str) -> str:
    return f"$O.{store}.C.{nuid}"


def object_meta(store: str, name: str) -> str:
    return f"$O.{store}.M.{base64.urlsafe_b64encode(name.encode()).decode()}"


def next_subject(stream: str, durable: str) -> str:
    return f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{durable}"


def safe_token(text: str) -> str:
    """Any text as one subject token: user strings may hold dots and blanks, which NATS gives a meaning."""
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
