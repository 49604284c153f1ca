"""The control socket: one JSON line asks, one JSON line answers."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from .data_dir import Layout, control_path, is_claimed, wait_until_free
from .options import CannotStart

_REQUEST_LIMIT = 64 * 1024

Answer = dict[str, Any]
Handler = Callable[[Answer], Awaitable[Answer]]


class Refused(Exception):
    """The request cannot be met; the text says why."""


@asynccontextmanager
async def serve(path: Path, handlers: dict[str, Handler]) -> AsyncIterator[None]:
    """Answers requests until the end of the block."""
    _remove(path)  # the data directory is locked: whoever bound it before is gone
    talks: set[asyncio.Task[None]] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        talks.add(task)
        try:
            while line := await reader.readline():
                writer.write(json.dumps(await _answer(handlers, line)).encode() + b"\n")
                await writer.drain()
        except (ConnectionError, ValueError):
            pass  # the asker went away, or sent more than any request needs
        finally:
            talks.discard(task)
            writer.close()

    before = os.umask(0o177)
    try:
        server = await asyncio.start_unix_server(talk, path, limit=_REQUEST_LIMIT)
    finally:
        os.umask(before)
    try:
        yield
    finally:
        server.close()
        ending = list(talks)
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)
        _remove(path)


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)


async def _answer(handlers: dict[str, Handler], line: bytes) -> Answer:
    try:
        request = json.loads(line)
        handler = handlers[request["command"]]
    except (ValueError, KeyError, TypeError):
        return {"ok": False, "error": f"unknown request; known commands: {', '.join(handlers)}"}
    try:
        return {"ok": True, **await handler(request)}
    except Refused as exc:
        return {"ok": False, "error": str(exc)}


def ask(data_dir: Path, command: str, **details: Any) -> Answer:
    """For the commands: asks the supervisor of a data directory and gives its answer."""
    layout = Layout(data_dir.absolute())
    if not is_claimed(layout):
        raise CannotStart(f"Error: pyoco is not up on {layout.root}", "start it with `pyoco up`, or give --data-dir")
    with socket.socket(socket.AF_UNIX) as line:
        try:
            line.connect(str(control_path(layout)))
        except OSError as exc:
            text = f"Error: the supervisor on {layout.root} does not answer: {exc.strerror}"
            raise CannotStart(text, "it may be starting or stopping; try again in a moment") from None
        with line.makefile("rwb") as stream:
            stream.write(json.dumps({"command": command, **details}).encode() + b"\n")
            stream.flush()
            reply = stream.readline()
    if not reply:
        raise CannotStart(f"Error: the supervisor on {layout.root} ended before it answered")
    answer: Answer = json.loads(reply)
    if not answer["ok"]:
        raise CannotStart(f"Error: {answer['error']}")
    return answer


def bring_down(data_dir: Path) -> None:
    """Asks the stack to end and returns when it has."""
    ask(data_dir, "down")
    wait_until_free(Layout(data_dir.absolute()))
