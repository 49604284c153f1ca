"""Changes of run documents as the feed tells them, made without a server."""

from __future__ import annotations

from typing import Any

from pyoco.domain import commands as c
from pyoco.domain.decide import Applied, apply_all
from pyoco.domain.run import Run
from pyoco.store.codec import run_to_bytes
from pyoco.store.feed import Change

LIMIT = 262_144


def created(run_id: str, at: float = 1.0, **fields: Any) -> Run:
    """A run that was submitted and queued at that time."""
    return after(None, c.CreateExecution(**{"at": at, "run_id": run_id, "flow_name": "echo", **fields}), c.Queue(at=at))


def claimed(run: Run, at: float, instance: str = "box.1.1") -> Run:
    return after(run, c.Claim(at=at, instance_id=instance, worker_id="w1", gen=run.work.gen))


def completed(run: Run, at: float) -> Run:
    holder = c.Holder(run.work.instance_id or "", run.attempt)
    return after(run, c.CompleteExecution(at=at, holder=holder))


def after(run: Run | None, *commands: c.Command) -> Run:
    applied = apply_all(run, commands)
    assert isinstance(applied, Applied), applied
    return applied.run


def stored(revision: int, run: Run, time: float = 0.0) -> Change:
    return Change(revision, run.run_id, run_to_bytes(run, f"test.{revision}", LIMIT)[0], time)


def removed(revision: int, run_id: str) -> Change:
    return Change(revision, run_id, None, 0.0)
