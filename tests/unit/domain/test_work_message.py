"""The work message: readable for v0, and enough for a claim without a read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyoco.domain.commands import Queue
from pyoco.domain.decide import Applied, apply_all
from pyoco.domain.job import InvalidJob, Job, job_from_json, job_of, job_to_json, run_of
from pyoco.domain.values import Document, encode

from .builders import RUN_ID, create, queued, released

V0_MESSAGE: Document = {"run_id": RUN_ID, "flow_name": "report", "tag": "gpu", "submitted_at": 1.5}


def sent(job: Job) -> Job:
    return job_from_json(json.loads(encode(job_to_json(job))))


def submitted(**fields: object) -> Applied:
    applied = apply_all(None, [create(by="http", **fields), Queue(at=1.0, by="http")])
    assert isinstance(applied, Applied)
    return applied


def test_a_message_of_v0_is_a_job_with_the_defaults_of_v0() -> None:
    job = job_from_json(V0_MESSAGE)
    assert job == Job(RUN_ID, "report", "gpu", 1.5, tags=("gpu",))
    assert (job.gen, run_of(job)) == (None, None)


def test_our_message_carries_every_field_that_v0_knows() -> None:
    applied = submitted(
        tenant_id="t", api_key_id="k", params={"x": 1}, workflow_yaml_sha256="abc", workflow_yaml_bytes=3
    )
    document = job_to_json(job_of(applied.run, rev=7, workflow_yaml="a: 1"))
    assert document == {
        "run_id": RUN_ID,
        "flow_name": "report",
        "tag": "default",
        "tags": ["default"],
        "params": {"x": 1},
        "submitted_at": 1.0,
        "tenant_id": "t",
        "api_key_id": "k",
        "workflow_yaml": "a: 1",
        "workflow_yaml_sha256": "abc",
        "workflow_yaml_bytes": 3,
        "gen": 1,
        "rev": 7,
    }


def test_everybody_publishes_a_gen_under_the_same_id() -> None:
    assert job_of(queued()).message_id == f"{RUN_ID}.1"
    assert job_of(released()).message_id == f"{RUN_ID}.2"


@pytest.mark.parametrize("params", [{}, {"x": 1}, {"large": "p" * 5000}], ids=["none", "small", "large"])
def test_the_message_of_a_submit_tells_the_whole_run(params: Document) -> None:
    applied = submitted(params=params, correlation_id="c", cmd="digest")
    job = sent(job_of(applied.run, rev=7, events=applied.events))
    assert run_of(job) == applied.run
    assert len(encode(job_to_json(job))) < 1000 + len(encode(params))


def test_without_revision_or_events_the_document_has_to_be_read() -> None:
    applied = submitted()
    assert run_of(sent(job_of(applied.run, events=applied.events))) is None
    assert run_of(sent(job_of(applied.run, rev=7))) is None
    assert run_of(sent(job_of(applied.run, rev=7, events=applied.events[1:]))) is None
    twice = (*applied.events, applied.events[0])
    assert run_of(sent(job_of(applied.run, rev=7, events=twice))) is None


@pytest.mark.parametrize("events", [{}, [1], [{"type": "RunQueued"}], "x"], ids=str)
def test_events_that_cannot_be_understood_only_cost_a_read(events: object) -> None:
    assert job_from_json({**V0_MESSAGE, "rev": 1, "events": events}).events == ()


@pytest.mark.parametrize("field", list(V0_MESSAGE))
@pytest.mark.parametrize("value", [None, True, [], {}], ids=str)
def test_a_required_field_that_is_missing_or_of_another_type_makes_the_job_invalid(field: str, value: object) -> None:
    message = {**V0_MESSAGE, field: value}
    with pytest.raises(InvalidJob) as caught:
        job_from_json(message)
    assert caught.value.run_id == (None if field == "run_id" else RUN_ID)
    del message[field]
    with pytest.raises(InvalidJob):
        job_from_json(message)


@pytest.mark.parametrize(
    "extra",
    [{"tags": "gpu"}, {"tags": [1]}, {"params": []}, {"gen": "1"}, {"gen": True}, {"workflow_yaml": 1}],
    ids=str,
)
def test_an_optional_field_of_another_type_makes_the_job_invalid(extra: Document) -> None:
    with pytest.raises(InvalidJob):
        job_from_json({**V0_MESSAGE, **extra})


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_no_message_whatsoever_breaks_the_reader(message: object) -> None:
    with pytest.raises(InvalidJob):
        job_from_json(message)
