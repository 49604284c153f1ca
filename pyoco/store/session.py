"""One connection to NATS that heals by itself, and what is known about the server behind it."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import TracebackType
from urllib.parse import urlsplit

import nats
from nats.aio.client import Client
from nats.js import JetStreamContext

from .failures import Unavailable, translated

MINIMUM_VERSION = (2, 10, 0)
REQUEST_SECONDS = 2.0
_RETRY_SECONDS = 0.5
_log = logging.getLogger("pyoco.store")

Listener = Callable[[], Awaitable[None]]


class Session:
    """Use as an async context manager. `connected` is set while there is a connection."""

    def __init__(self, url: str, name: str, inbox_prefix: str = "_INBOX") -> None:
        self._url = url
        self._name = name
        self._inbox_prefix = inbox_prefix
        self._client = Client()
        self._listeners: list[Listener] = []
        self.connected = asyncio.Event()
        self.epoch = 0  # grows with every connection: handles of an earlier one are void
        self.last_error = ""

    async def __aenter__(self) -> Session:
        await self._connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.connected.clear()
        # Closing while the library is about to reconnect meets a socket that is gone already.
        with suppress(OSError):
            await self._client.close()

    @property
    def client(self) -> Client:
        return self._client

    @property
    def js(self) -> JetStreamContext:
        return self._client.jetstream(timeout=REQUEST_SECONDS)

    @property
    def version(self) -> tuple[int, ...]:
        return parse_version(str(self._client.connected_server_version))

    @property
    def max_payload(self) -> int:
        return self._client.max_payload

    def on_reconnect(self, listener: Listener) -> None:
        """Called after every later connection: whoever waits for messages has to ask for them again."""
        self._listeners.append(listener)

    def remove_listener(self, listener: Listener) -> None:
        self._listeners.remove(listener)

    async def request(self, subject: str, payload: bytes = b"") -> bytes:
        with translated():
            answer = await self._client.request(subject, payload, timeout=REQUEST_SECONDS)
            return answer.data

    async def publish(self, subject: str, payload: bytes = b"") -> None:
        """A plain message: whoever listens now gets it."""
        if not self.connected.is_set():
            raise Unavailable("not connected to NATS")
        with translated():
            await self._client.publish(subject, payload)

    async def _connect(self) -> None:
        shown = shown_url(self._url)
        while True:
            try:
                # A first try without the library's own retries, because those would hide why it fails.
                probe = await nats.connect(self._url, allow_reconnect=False, connect_timeout=2, error_cb=self._on_error)
                await probe.close()
                await self._client.connect(
                    self._url,
                    name=self._name,
                    inbox_prefix=self._inbox_prefix,
                    max_reconnect_attempts=-1,
                    reconnect_time_wait=0.2,  # type: ignore[arg-type]
                    ping_interval=5,
                    error_cb=self._on_error,
                    disconnected_cb=self._on_disconnect,
                    reconnected_cb=self._on_reconnect,
                    closed_cb=self._on_disconnect,
                )
            except Exception as error:  # noqa: BLE001 - the library raises its own, OSError and TimeoutError alike
                self.last_error = f"{error}" or type(error).__name__
                _log.warning("cannot reach NATS at %s (%s); trying again", shown, self.last_error)
                await asyncio.sleep(_RETRY_SECONDS)
            else:
                break
        if self.version < MINIMUM_VERSION:
            _log.warning("nats-server %s is older than 2.10; some features will not work", self.version)
        self.epoch += 1
        self.connected.set()
        _log.info("connected to NATS %s at %s", ".".join(map(str, self.version)), shown)

    async def _on_error(self, error: Exception) -> None:
        self.last_error = str(error) or type(error).__name__
        _log.debug("NATS: %s", self.last_error)

    async def _on_disconnect(self) -> None:
        if self.connected.is_set():
            self.connected.clear()
            _log.warning("lost the connection to NATS")

    async def _on_reconnect(self) -> None:
        self.epoch += 1
        self.connected.set()
        _log.info("connected to NATS again")
        for listener in list(self._listeners):
            await listener()


def parse_version(text: str) -> tuple[int, ...]:
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", text)  # the client library wraps it in words
    return tuple(int(part) for part in found.groups()) if found else (0, 0, 0)


def shown_url(url: str) -> str:
    """The URL without its password."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
