"""A real server and a session on it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pyoco.store.names import Names
from pyoco.store.resources import ResourceOptions, ensure_streams
from pyoco.store.session import Session
from tests.support.nats import NatsServer, nats_server


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[NatsServer]:
    async with nats_server(tmp_path) as running:
        yield running


@pytest.fixture
async def session(server: NatsServer) -> AsyncIterator[Session]:
    async with Session(server.url, "test") as opened:
        await ensure_streams(opened, Names(), ResourceOptions())
        yield opened
