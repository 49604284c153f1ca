"""The registry of workers: one record each, kept after they have gone."""

from __future__ import annotations

import logging
from dataclasses import replace

from nats.js.errors import NoKeysError

from ..domain.values import Unreadable
from ..domain.worker import WorkerRecord
from .codec import worker_from_bytes, worker_to_bytes
from .documents import Documents
from .failures import Conflict, Missing, translated
from .names import Names
from .session import Session

_log = logging.getLogger("pyoco.store")


class WorkerRegistry:
    def __init__(self, session: Session, names: Names) -> None:
        self._session = session
        self._bucket = names.workers_bucket
        self._documents = Documents(session, names.workers_bucket)

    async def beat(self, record: WorkerRecord) -> None:
        """Writes a worker's record; an operator's `hidden` is kept."""
        while True:
            stored = await self._documents.get(record.worker_id)
            hidden = False
            if stored is not None:
                before = _readable(record.worker_id, stored.data)
                hidden = before is not None and before.hidden
            try:
                payload = worker_to_bytes(replace(record, hidden=hidden))
                await self._documents.update(record.worker_id, payload, stored.revision if stored else 0)
            except Conflict:
                continue
            return

    async def hide(self, worker_id: str, hidden: bool) -> WorkerRecord:
        """Missing if nobody knows the worker."""
        while True:
            stored = await self._documents.get(worker_id)
            record = _readable(worker_id, stored.data) if stored is not None else None
            if stored is None or record is None:
                raise Missing(f"there is no worker {worker_id}")
            changed = replace(record, hidden=hidden)
            try:
                await self._documents.update(worker_id, worker_to_bytes(changed), stored.revision)
            except Conflict:
                continue
            return changed

    async def all(self) -> list[WorkerRecord]:
        with translated():
            bucket = await self._session.js.key_value(self._bucket)
            try:
                keys = await bucket.keys()
            except NoKeysError:
                return []
        stored = [(key, await self._documents.get(key)) for key in keys]
        records = [_readable(key, found.data) for key, found in stored if found is not None]
        return [record for record in records if record is not None]


def _readable(worker_id: str, data: bytes) -> WorkerRecord | None:
    try:
        return worker_from_bytes(data)
    except Unreadable as error:
        _log.warning("the record of worker %s cannot be read: %s", worker_id, error)
        return None
