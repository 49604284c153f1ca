"""Submitted YAML, stored once under its SHA-256."""

from __future__ import annotations

import asyncio
import secrets
from base64 import urlsafe_b64encode
from collections import OrderedDict
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256

from ..domain.values import Unreadable, encode, text_or_none, whole_or
from .codec import json_object
from .failures import Conflict, Missing, Unavailable, translated
from .names import EXPECTED_REVISION, ROLLUP, Names, object_chunks, object_meta, object_stream
from .session import REQUEST_SECONDS, Session
from .stream_reader import StreamReader

_GET_SECONDS = 10.0
_PAUSE_SECONDS = 0.05
_CACHE_BYTES = 8 * 1024 * 1024
_CHUNK_BYTES = 128 * 1024


class Workflows:
    """An object store that other NATS clients can read. Texts are immutable, so those used last stay in memory."""

    def __init__(self, session: Session, names: Names, cache_bytes: int = _CACHE_BYTES) -> None:
        self._session = session
        self._store = names.workflows_store
        self._stream = StreamReader(session, object_stream(names.workflows_store))
        self._cache: OrderedDict[str, bytes] = OrderedDict()
        self._cache_room = cache_bytes

    async def put(self, text: bytes) -> str:
        """Stores the text unless it is there already, and gives its SHA-256."""
        digest = sha256(text).hexdigest()
        # The server is asked although we may know the text: another gateway may have deleted it.
        found = await self._stored(digest)
        if found.meta is None:
            await self._write(digest, text, found.revision)
        self._remember(digest, text)
        return digest

    async def get(self, digest: str, seconds: float = _GET_SECONDS) -> bytes:
        """The text. Missing if there is none, Unreadable if it is not that text, Unavailable when the time is over."""
        known = self._cache.get(digest)
        if known is not None:
            self._cache.move_to_end(digest)
            return known
        try:
            async with asyncio.timeout(seconds):
                text = await self._fetch(digest)
        except TimeoutError as error:
            raise Unavailable(f"workflow {digest} could not be read within {seconds} seconds") from error
        if sha256(text).hexdigest() != digest:
            raise Unreadable(f"what is stored as workflow {digest} is another text")
        self._remember(digest, text)
        return text

    async def delete(self, digest: str) -> None:
        """Nothing happens if there is none."""
        self._forget(digest)
        found = await self._stored(digest)
        # First what makes it an object: nobody begins to read what is about to go.
        await self._purge(object_meta(self._store, digest))
        if found.meta is not None:
            await self._purge(object_chunks(self._store, found.meta.nuid))

    async def _write(self, digest: str, text: bytes, revision: int) -> None:
        """Of several who store the same text at once the first one wins."""
        nuid = secrets.token_hex(11)
        chunks = [text[start : start + _CHUNK_BYTES] for start in range(0, len(text), _CHUNK_BYTES)]
        for chunk in chunks:
            await self._publish(object_chunks(self._store, nuid), chunk, {})
        meta = encode(
            {
                "name": digest,
                "bucket": self._store,
                "nuid": nuid,
                "size": len(text),
                "chunks": len(chunks),
                "digest": f"SHA-256={urlsafe_b64encode(bytes.fromhex(digest)).decode()}",
                "options": {"max_chunk_size": _CHUNK_BYTES},
                "mtime": datetime.now(UTC).isoformat(),
            }
        )
        try:
            headers = {EXPECTED_REVISION: str(revision), ROLLUP: "sub"}
            await self._publish(object_meta(self._store, digest), meta, headers)
        except Conflict:
            await self._purge(object_chunks(self._store, nuid))

    async def _fetch(self, digest: str) -> bytes:
        while True:
            meta = (await self._stored(digest)).meta
            if meta is None:
                raise Missing(f"there is no workflow {digest}")
            text = await self._chunks(meta)
            if len(text) == meta.size:
                return text
            # A replica that is behind, or it is being deleted.
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _chunks(self, meta: _Meta) -> bytes:
        found, size = list[bytes](), 0
        chunks = self._stream.read(object_chunks(self._store, meta.nuid), 1)
        async with aclosing(chunks):
            async for chunk in chunks:
                found.append(chunk.data)
                size += len(chunk.data)
                if size >= meta.size:
                    break
        return b"".join(found)

    async def _stored(self, digest: str) -> _Stored:
        message = await self._stream.last(object_meta(self._store, digest))
        if message is None:
            return _Stored(None, 0)
        document = json_object(message.data)
        if document.get("deleted"):
            return _Stored(None, message.seq)
        return _Stored(_Meta(text_or_none(document, "nuid") or "", whole_or(document, "size", 0)), message.seq)

    async def _publish(self, subject: str, data: bytes, headers: dict[str, str]) -> None:
        with translated():
            await self._session.js.publish(subject, data, timeout=REQUEST_SECONDS, headers=headers or None)

    async def _purge(self, subject: str) -> None:
        with translated():
            await self._session.js.purge_stream(object_stream(self._store), subject=subject)

    def _remember(self, digest: str, text: bytes) -> None:
        self._forget(digest)
        self._cache[digest] = text
        self._cache_room -= len(text)
        while self._cache_room < 0:
            self._forget(next(iter(self._cache)))

    def _forget(self, digest: str) -> None:
        self._cache_room += len(self._cache.pop(digest, b""))


@dataclass(frozen=True, slots=True)
class _Meta:
    """Where the chunks of an object are, and how many bytes they hold together."""

    nuid: str
    size: int


@dataclass(frozen=True, slots=True)
class _Stored:
    """`revision` is what a new object under this name has to replace."""

    meta: _Meta | None
    revision: int
