"""Documents under compare-and-set: one KV bucket."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from .failures import Missing, translated
from .names import EXPECTED_REVISION, KV_OPERATION, ROLLUP, TTL, kv_stream, kv_subject
from .session import REQUEST_SECONDS, Session

_TOMBSTONE_SECONDS = "60s"


@dataclass(frozen=True, slots=True)
class Stored:
    """A document as it is stored: its bytes, its revision, and when the server wrote it."""

    data: bytes
    revision: int
    time: datetime | None = None


class Documents:
    """Reads come from the leader, so that they may feed a decision. There is no unconditional write."""

    def __init__(self, session: Session, bucket: str) -> None:
        self._session = session
        self._bucket = bucket

    async def get(self, key: str) -> Stored | None:
        try:
            with translated():
                found = await self._session.js.get_msg(kv_stream(self._bucket), subject=kv_subject(self._bucket, key))
        except Missing:
            return None
        if found.headers and found.headers.get(KV_OPERATION) in ("DEL", "PURGE"):
            return None
        return Stored(found.data or b"", found.seq or 0, found.time)

    async def create(self, key: str, data: bytes) -> int:
        """Conflict if there is a document already."""
        return await self.update(key, data, revision=0)

    async def update(self, key: str, data: bytes, revision: int) -> int:
        """Replaces exactly that revision; the new revision, or Conflict."""
        return await self._write(key, data, {EXPECTED_REVISION: str(revision)})

    async def purge(self, key: str, revision: int) -> None:
        """Removes exactly that revision; its tombstone disappears by itself."""
        headers = {EXPECTED_REVISION: str(revision), KV_OPERATION: "PURGE", ROLLUP: "sub"}
        if self._session.version >= (2, 11):
            headers[TTL] = _TOMBSTONE_SECONDS
        await self._write(key, b"", headers)

    async def put(self, key: str, data: bytes) -> int:
        """Without a condition: for values that are derived from their key, or have one writer."""
        return await self._write(key, data, {})

    async def _write(self, key: str, data: bytes, headers: dict[str, str]) -> int:
        with translated():
            answer = await self._session.js.publish(
                kv_subject(self._bucket, key), data, timeout=REQUEST_SECONDS, headers=headers or None
            )
        return answer.seq
