"""One KV bucket seen as the stream behind it: which one it is, how far it got, which keys it holds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from .failures import Missing, Unavailable
from .names import kv_key, kv_stream, kv_subject
from .session import Session
from .tap import Tap

_NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class BucketState:
    """`created` tells a stream from another one of the same name."""

    created: str
    last: int


class Bucket:
    """The stream of a bucket, by the requests that tell more than the client library passes on."""

    def __init__(self, session: Session, name: str) -> None:
        self.session = session
        self.name = name
        self._stream = kv_stream(name)

    async def state(self) -> BucketState:
        answer = await self._info({})
        return BucketState(str(answer["created"]), int(answer["state"]["last_seq"]))

    async def keys(self) -> set[str]:
        """Every key with a value or a tombstone. Long lists come in pages, between which a key may slip through."""
        found: set[str] = set()
        offset = 0
        while True:
            answer = await self._info({"subjects_filter": kv_subject(self.name, ">"), "offset": offset})
            page = answer["state"].get("subjects") or {}
            found.update(kv_key(self.name, subject) for subject in page)
            offset += len(page)
            if not page or offset >= int(answer.get("total", 0)):
                return found

    async def tap(self, after: int) -> Tap:
        return await Tap.opened(self.session, self._stream, after)

    async def _info(self, question: dict[str, Any]) -> dict[str, Any]:
        data = await self.session.request(f"$JS.API.STREAM.INFO.{self._stream}", json.dumps(question).encode())
        answer: dict[str, Any] = json.loads(data)
        error = answer.get("error")
        if error is None:
            return answer
        problem = str(error.get("description"))
        raise Missing(problem) if error.get("code") == _NOT_FOUND else Unavailable(problem)
