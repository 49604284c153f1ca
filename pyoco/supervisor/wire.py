"""Lines of bytes that arrive over a pipe or a socket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

_LINE_LIMIT = 64 * 1024


class Lines(asyncio.Protocol):
    """Hands on each complete line without its end; a line that is too long comes in pieces."""

    def __init__(self, on_line: Callable[[bytes], None]) -> None:
        self.closed = asyncio.Event()
        self._on_line = on_line
        self._rest = b""
        self._transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._on_line(line.removesuffix(b"\r"))
        while len(self._rest) > _LINE_LIMIT:
            self._on_line(self._rest[:_LINE_LIMIT])
            self._rest = self._rest[_LINE_LIMIT:]

    def connection_lost(self, exc: Exception | None) -> None:
        if self._rest:
            self._on_line(self._rest)
            self._rest = b""
        self.closed.set()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def write(self, data: bytes) -> None:
        if isinstance(self._transport, asyncio.WriteTransport) and not self._transport.is_closing():
            self._transport.write(data)
