"""Bytes ↔ domain values: the one place where stored bytes are read or made."""

from __future__ import annotations

import json
from typing import Any

from ..domain.document import from_document, to_document
from ..domain.job import InvalidJob, Job, job_from_json, job_to_json
from ..domain.run import Run
from ..domain.snapshot import Cut, fit
from ..domain.values import Unreadable, encode
from ..domain.worker import WorkerRecord, worker_from_json, worker_to_json

NONCE = "nonce"


def run_to_bytes(run: Run, nonce: str, limit: int) -> tuple[bytes, Cut]:
    """The document as it is stored, cut to the limit as far as its required fields allow."""
    document = to_document(run)
    document[NONCE] = nonce
    fitted = fit(document, limit)
    return fitted.payload, fitted.cut


def run_from_bytes(data: bytes) -> Run:
    return from_document(json_object(data))


def nonce_of(data: bytes) -> str | None:
    nonce = json_object(data).get(NONCE)
    return nonce if isinstance(nonce, str) else None


def job_to_bytes(job: Job) -> bytes:
    return encode(job_to_json(job))


def job_from_bytes(data: bytes) -> Job:
    """InvalidJob if it is none."""
    try:
        document = json.loads(data)
    except ValueError as error:
        raise InvalidJob(f"the message is not JSON: {error}") from error
    return job_from_json(document)


def worker_to_bytes(record: WorkerRecord) -> bytes:
    return encode(worker_to_json(record))


def worker_from_bytes(data: bytes) -> WorkerRecord:
    return worker_from_json(json_object(data))


def json_object(data: bytes) -> dict[str, Any]:
    """Unreadable if the bytes are anything else."""
    try:
        document = json.loads(data)
    except ValueError as error:
        raise Unreadable(f"not JSON: {error}") from error
    if not isinstance(document, dict):
        raise Unreadable("not a JSON object")
    return document
