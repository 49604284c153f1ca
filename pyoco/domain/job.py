"""The work message: the fields of v0, and what lets a worker claim a run without reading its document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .events import Event, RunCreated, event_from_json, event_to_json
from .evolve import fold
from .run import Run
from .transitions import IllegalEvent
from .values import (
    Document,
    Json,
    Unreadable,
    mapping_or_empty,
    number_or_none,
    text_or_none,
    texts_or,
    whole_or,
)


class InvalidJob(ValueError):
    """The message is no job. `run_id` is given if at least that could be read."""

    def __init__(self, problem: str, run_id: str | None = None) -> None:
        super().__init__(problem)
        self.run_id = run_id


@dataclass(frozen=True, slots=True)
class Job:
    """`gen` is None in a v0 gateway's message. `rev` is the revision of the document that `events` make, if given."""

    run_id: str
    flow_name: str
    tag: str
    submitted_at: float
    tags: tuple[str, ...] = ()
    params: Mapping[str, Json] = field(default_factory=dict)
    tenant_id: str | None = None
    api_key_id: str | None = None
    workflow_yaml: str | None = None
    workflow_yaml_sha256: str | None = None
    workflow_yaml_bytes: int | None = None
    gen: int | None = None
    rev: int | None = None
    events: tuple[Event, ...] = ()

    @property
    def message_id(self) -> str:
        """The same for everybody who publishes this gen, so that publishing twice is harmless."""
        return f"{self.run_id}.{self.gen}"


def job_of(
    run: Run, *, rev: int | None = None, workflow_yaml: str | None = None, events: tuple[Event, ...] = ()
) -> Job:
    """The message for a queued run. A submit gives its events and the revision it wrote."""
    submission = run.submission
    return Job(
        run_id=submission.run_id,
        flow_name=submission.flow_name,
        tag=submission.tag,
        submitted_at=submission.created_at,
        tags=run.tags,
        params=submission.params,
        tenant_id=submission.tenant_id,
        api_key_id=submission.api_key_id,
        workflow_yaml=workflow_yaml,
        workflow_yaml_sha256=submission.workflow_yaml_sha256,
        workflow_yaml_bytes=submission.workflow_yaml_bytes,
        gen=run.work.gen,
        rev=rev,
        events=events,
    )


def run_of(job: Job) -> Run | None:
    """The run as it stood at revision `rev`, if the message tells it completely."""
    if job.rev is None or not job.events:
        return None
    first, *rest = job.events
    if not isinstance(first.body, RunCreated):
        return None
    # The parameters are in the message anyway, so its events come without them.
    created = replace(first, body=replace(first.body, params=job.params))
    try:
        return fold(job.run_id, (created, *rest))
    except IllegalEvent:
        return None


def job_to_json(job: Job) -> Document:
    """v0 fields that are not known are left out, as v0 does."""
    document: Document = {
        "run_id": job.run_id,
        "flow_name": job.flow_name,
        "tag": job.tag,
        "tags": list(job.tags),
        "params": job.params,
        "submitted_at": job.submitted_at,
        "tenant_id": job.tenant_id,
        "api_key_id": job.api_key_id,
        "workflow_yaml": job.workflow_yaml,
        "workflow_yaml_sha256": job.workflow_yaml_sha256,
        "workflow_yaml_bytes": job.workflow_yaml_bytes,
        "gen": job.gen,
        "rev": job.rev,
    }
    if job.events:
        document["events"] = [event_to_json(_without_params(event), job.run_id) for event in job.events]
    return {name: value for name, value in document.items() if value is not None}


def job_from_json(document: object) -> Job:
    """The job in a decoded message, with the types of its fields checked."""
    if not isinstance(document, dict):
        raise InvalidJob("the message is not a JSON object")
    run_id = document.get("run_id")
    try:
        return Job(
            run_id=_required_text(document, "run_id"),
            flow_name=_required_text(document, "flow_name"),
            tag=_required_text(document, "tag"),
            submitted_at=_required_number(document, "submitted_at"),
            tags=texts_or(document, "tags", (document["tag"],)),
            params=mapping_or_empty(document, "params"),
            tenant_id=text_or_none(document, "tenant_id"),
            api_key_id=text_or_none(document, "api_key_id"),
            workflow_yaml=text_or_none(document, "workflow_yaml"),
            workflow_yaml_sha256=text_or_none(document, "workflow_yaml_sha256"),
            workflow_yaml_bytes=_whole_or_none(document, "workflow_yaml_bytes"),
            gen=_whole_or_none(document, "gen"),
            rev=_whole_or_none(document, "rev"),
            events=_events(document.get("events")),
        )
    except Unreadable as problem:
        raise InvalidJob(str(problem), run_id if isinstance(run_id, str) else None) from problem


def _events(entries: object) -> tuple[Event, ...]:
    """They only save a read: events that cannot be understood are as good as none."""
    if not isinstance(entries, list):
        return ()
    try:
        return tuple(event_from_json(entry) for entry in entries)
    except Unreadable:
        return ()


def _without_params(event: Event) -> Event:
    return replace(event, body=replace(event.body, params={})) if isinstance(event.body, RunCreated) else event


def _required_text(document: Mapping[str, Any], key: str) -> str:
    value = text_or_none(document, key)
    if not value:
        raise Unreadable(f"{key} is missing")
    return value


def _required_number(document: Mapping[str, Any], key: str) -> float:
    value = number_or_none(document, key)
    if value is None:
        raise Unreadable(f"{key} is missing")
    return value


def _whole_or_none(document: Mapping[str, Any], key: str) -> int | None:
    return None if document.get(key) is None else whole_or(document, key, 0)
