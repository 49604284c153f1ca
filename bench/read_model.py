"""The read model: documents per second into it, and how long its lists take at 10,000 and 100,000 runs."""

from __future__ import annotations

import random
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from pyoco.domain import commands as c
from pyoco.domain.decide import Applied, apply_all
from pyoco.domain.run import RunStatus
from pyoco.store import model_database as database
from pyoco.store import model_queries as queries
from pyoco.store import model_work as work
from pyoco.store.codec import run_to_bytes
from pyoco.store.feed import Change, Position
from pyoco.store.model_queries import Filters

SIZES = (10_000, 100_000)
BATCH = 512


def document(number: int, nodes: int = 3) -> tuple[str, bytes]:
    """A run that ended, as a worker leaves it; one in a hundred is still queued."""
    run_id, at = str(uuid.UUID(int=random.getrandbits(128))), 1_700_000_000.0 + number
    tags = ("default", f"customer-{number % 5000}")
    create = c.CreateExecution(
        at=at, run_id=run_id, flow_name=f"flow-{number % 50}", tags=tags, params={"n": number, "path": "/data/in.csv"}
    )
    commands: list[c.Command] = [create, c.Queue(at=at)]
    if number % 100:
        holder = c.Holder("box.1.1", 1)
        commands.append(c.Claim(at=at + 1, instance_id="box.1.1", worker_id="w1", gen=1))
        for node in range(nodes):
            commands.append(c.StartNode(at=at + 2, node=f"task{node}", holder=holder))
            commands.append(c.SucceedNode(at=at + 3, node=f"task{node}", holder=holder, output={"rows": node}))
        commands.append(c.CompleteExecution(at=at + 4, holder=holder))
    applied = apply_all(None, commands)
    assert isinstance(applied, Applied), applied
    return run_id, run_to_bytes(applied.run, "bench.1", 262_144)[0]


def milliseconds(ask: Callable[[], object], times: int = 30) -> str:
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        ask()
        taken.append((time.perf_counter() - began) * 1000)
    return f"{statistics.median(taken):8.2f} ms median {max(taken):8.2f} ms worst"


def measure(size: int, directory: Path) -> None:
    documents = [document(number) for number in range(size)]
    changes = [Change(revision, *found, time=1.0) for revision, found in enumerate(documents, 1)]
    writer = database.rebuild(directory / f"{size}.sqlite")
    began = time.perf_counter()
    for first in range(0, size, BATCH):
        batch = changes[first : first + BATCH]
        database.apply(writer, batch, Position("bench", batch[-1].revision))
    seconds = time.perf_counter() - began
    mean = sum(len(data) for _, data in documents) // size
    print(f"{size:,} runs of {mean} bytes: {size / seconds:,.0f} documents/s")
    questions: dict[str, Callable[[], object]] = {
        "newest 50": lambda: queries.newest(writer, Filters(), 50),
        "newest 200": lambda: queries.newest(writer, Filters(), 200),
        "one flow": lambda: queries.newest(writer, Filters(flow="flow-7"), 50),
        "status PENDING": lambda: queries.newest(writer, Filters(statuses=(RunStatus.PENDING,)), 50),
        "flow and status": lambda: queries.newest(writer, Filters((RunStatus.COMPLETED,), flow="flow-7"), 50),
        "a rare tag": lambda: queries.newest(writer, Filters(tags_any=("customer-77",)), 50),
        "a common tag": lambda: queries.newest(writer, Filters(tags_any=("default",)), 50),
        "jobs, newest created": lambda: queries.newest_created(writer, Filters(tags_any=("default",)), 50, None),
        "text found nowhere": lambda: queries.newest(writer, Filters(q="nowhere"), 50),
        "first page of a walk": lambda: queries.page(writer, Filters(), 50, None, time.time()),
        "totals": lambda: work.totals(writer),
        "load by tag": lambda: work.load_by_tag(writer),
    }
    for name, ask in questions.items():
        print(f"  {name:22}{milliseconds(ask)}")
    writer.close()


def main() -> None:
    random.seed(1)
    with tempfile.TemporaryDirectory() as directory:
        for size in SIZES:
            measure(size, Path(directory))


if __name__ == "__main__":
    main()
