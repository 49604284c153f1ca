"""Run documents: read, decide, compare-and-set. Nothing else ever changes a run."""

from __future__ import annotations

import asyncio
import itertools
import logging
import random
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from ..domain.commands import Command
from ..domain.decide import Applied, apply_all
from ..domain.events import Event
from ..domain.rejection import Rejection
from ..domain.run import Run
from ..domain.snapshot import Cut
from .codec import nonce_of, run_from_bytes, run_to_bytes
from .documents import Documents
from .failures import Conflict, Missing, StoreError, Unavailable
from .names import Names
from .session import Session

_MAX_CONFLICTS = 20
_log = logging.getLogger("pyoco.store")


class Rejected(StoreError):
    """The rules refuse a command; nothing was written."""

    def __init__(self, rejection: Rejection) -> None:
        super().__init__(rejection.message)
        self.rejection = rejection


class Contended(StoreError):
    """Too many writers at once; nothing was written."""


@dataclass(frozen=True, slots=True)
class Held:
    """A run together with the revision it was read or written at."""

    run: Run
    revision: int
    events: tuple[Event, ...] = ()  # those of the write that led here


class RunStore:
    """The bucket of run documents."""

    def __init__(self, session: Session, names: Names, snapshot_limit: int) -> None:
        self._documents = Documents(session, names.runs_bucket)
        self._limit = snapshot_limit
        self._writer = secrets.token_hex(6)
        self._writes = itertools.count(1)

    async def load(self, run_id: str) -> Held | None:
        """As it stands now, from the leader. Unreadable if the document is none of ours."""
        stored = await self._documents.get(run_id)
        return None if stored is None else Held(run_from_bytes(stored.data), stored.revision)

    async def create(self, run_id: str, commands: Sequence[Command]) -> Held:
        """Makes a run; Rejected if the id is used."""
        return await self.apply(run_id, commands, held=None, expect_new=True)

    async def apply(
        self, run_id: str, commands: Sequence[Command], *, held: Held | None = None, expect_new: bool = False
    ) -> Held:
        """Applies commands in one write and gives what is stored then.

        `held` saves the first read if it is still what is stored. Rejected if the rules refuse (judged on what is
        stored now), Missing if there is no such run, Unavailable if NATS does not answer.
        """
        for attempt in range(_MAX_CONFLICTS):
            if held is None and not expect_new:
                held = await self.load(run_id)
                if held is None:
                    raise Missing(f"there is no run {run_id}")
            applied = apply_all(held.run if held is not None else None, commands)
            if isinstance(applied, Rejection):
                raise Rejected(applied)
            if held is not None and not applied.events:
                return held
            try:
                return await self._write(run_id, applied, held.revision if held is not None else 0)
            except Conflict:
                held, expect_new = None, False
                if attempt:
                    await asyncio.sleep(random.uniform(0, 0.002 * attempt))
        raise Contended(f"run {run_id} is written by too many at once")

    async def beat(self, held: Held, at: float) -> Held:
        """Rewrites the heartbeat alone; Conflict if the run has changed."""
        beating = Applied(held.run.with_heartbeat(at), ())
        return await self._write(held.run.run_id, beating, held.revision)

    async def purge(self, held: Held) -> None:
        """Removes exactly what was read or written."""
        await self._documents.purge(held.run.run_id, held.revision)

    async def _write(self, run_id: str, applied: Applied, revision: int) -> Held:
        nonce = f"{self._writer}.{next(self._writes)}"
        payload, cut = run_to_bytes(applied.run, nonce, self._limit)
        if cut is Cut.ABOVE:
            _log.warning(
                "the document of run %s is larger than %d bytes even without records",
                run_id,
                self._limit,
                extra={"err_id": "ERR-PYOCO-0010", "msg_id": "MSG-PYOCO-0010", "run_id": run_id},
            )
        try:
            written = await self._documents.update(run_id, payload, revision)
        except Unavailable:
            return await self._find_out(run_id, nonce, applied)
        return Held(applied.run, written, applied.events)

    async def _find_out(self, run_id: str, nonce: str, applied: Applied) -> Held:
        """The answer to a write got lost: is what is stored our write, or must it be done again?"""
        stored = await self._documents.get(run_id)
        if stored is not None and nonce_of(stored.data) == nonce:
            return Held(applied.run, stored.revision, applied.events)
        raise Conflict(f"the write to run {run_id} got lost")
