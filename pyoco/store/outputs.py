"""Outputs too large for the run document, each under a key that the document refers to."""

from __future__ import annotations

import json
from hashlib import sha256

from ..domain.values import Json, Unreadable, encode
from .documents import Documents
from .failures import Missing, translated
from .names import Names, kv_stream, kv_subject
from .session import Session


class Outputs:
    def __init__(self, session: Session, names: Names) -> None:
        self._session = session
        self._bucket = names.outputs_bucket
        self._documents = Documents(session, names.outputs_bucket)

    async def put(self, run_id: str, path: str, value: Json) -> str:
        """Stores the output of a node and gives its reference; write the document that holds it afterwards.

        TooLarge if NATS takes no message of that size.
        """
        data = encode(value)
        key = output_key(run_id, path, data)
        await self._documents.put(key, data)
        return key

    async def get(self, reference: str) -> Json:
        """Missing if there is nothing under that reference."""
        stored = await self._documents.get(reference)
        if stored is None:
            raise Missing(f"there is no output {reference}")
        try:
            value: Json = json.loads(stored.data)
        except ValueError as error:
            raise Unreadable(f"output {reference} is not JSON: {error}") from error
        return value

    async def delete_all(self, run_id: str) -> None:
        """Removes everything a run has put, without tombstones: nobody watches this bucket."""
        with translated():
            await self._session.js.purge_stream(
                kv_stream(self._bucket), subject=kv_subject(self._bucket, f"{run_id}.>")
            )


def output_key(run_id: str, path: str, data: bytes) -> str:
    """With the content in it: a worker that lost the run cannot replace what the document refers to by then."""
    return f"{run_id}.{sha256(path.encode()).hexdigest()[:32]}.{sha256(data).hexdigest()[:32]}"
