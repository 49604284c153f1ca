"""Stands in for a gateway or worker: a real process that speaks over its lifeline and serves the socket it inherits.

Files in the directory TEST_NOTES steer it: `<kind>.crash` makes it fail at once, `<kind>.stubborn` deaf to SIGTERM.
What it does it notes there too.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from pathlib import Path

from pyoco.lifeline import Lifeline

KIND = sys.argv[1]
NOTES = Path(os.environ["TEST_NOTES"])
INSTANCE = os.environ["PYOCO_INSTANCE_ID"]


def note(file: str, text: str) -> None:
    with (NOTES / file).open("a", encoding="utf-8") as notes:
        notes.write(f"{text}\n")


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readline()
    writer.write(f"HTTP/1.0 200 OK\r\n\r\n{INSTANCE}".encode())
    await writer.drain()
    writer.close()


async def serve() -> asyncio.Server | None:
    if "PYOCO_LISTEN_FD" not in os.environ:
        return None
    listener = socket.socket(fileno=int(os.environ["PYOCO_LISTEN_FD"]))
    return await asyncio.start_server(answer, sock=listener)


async def collect(life: Lifeline) -> None:
    async for message in life.messages():
        note(f"{INSTANCE}.messages", f"{message['type']} {message['instance_id']}")


async def main() -> int:
    stopping = asyncio.Event()
    deaf = (NOTES / f"{KIND}.stubborn").exists()
    handler = (lambda: note("order", f"{KIND} ignores")) if deaf else stopping.set
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, handler)
    async with Lifeline.from_env(figures=lambda: {"running": 7}) as life:
        server = await serve()
        collecting = asyncio.create_task(collect(life))
        life.ready()
        print(f"{KIND} works in {INSTANCE}", flush=True)
        ends = [asyncio.create_task(event.wait()) for event in (life.lost, stopping)]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for task in (*ends, collecting):
            task.cancel()
        if server is not None:
            server.close()
    note("order", f"{KIND} stops" if stopping.is_set() else f"{KIND} is lost")
    return 0


if __name__ == "__main__":
    note("starts", f"{KIND} {os.getpid()} {INSTANCE}")
    if (NOTES / f"{KIND}.crash").exists():
        print(f"{KIND} cannot find the frobnicator", flush=True)
        sys.exit(3)
    sys.exit(asyncio.run(main()))
