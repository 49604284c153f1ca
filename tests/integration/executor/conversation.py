"""Helpers to talk with a real executor process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pyoco.engine.journal import Journal
from pyoco.executor.handle import ExecutorHandle, ExecutorOptions, Incoming
from pyoco.executor.messages import Line, Lines, RunEnded, RunLoaded, StartRun, ThreadStuck, Transitioned
from pyoco.executor.recording import record

PATIENCE_SEC = 30.0


class Conversation:
    """Keeps everything an executor says, and lets a test wait for what it expects."""

    def __init__(self, handle: ExecutorHandle) -> None:
        self.handle = handle
        self.said: list[Incoming] = []
        self._messages = aiter(handle)

    async def until(self, condition: Callable[[Incoming], bool]) -> Incoming:
        async with asyncio.timeout(PATIENCE_SEC):
            async for message in self._messages:
                self.said.append(message)
                if condition(message):
                    return message
        raise AssertionError(f"the executor died ({self.handle.exit_description}); it said {self.said}")

    async def until_dead(self) -> None:
        async with asyncio.timeout(PATIENCE_SEC):
            async for message in self._messages:
                self.said.append(message)

    async def run(self, order: StartRun) -> RunEnded:
        self.handle.send(order)
        return await self.until_ended(order.run_id)

    async def run_yaml(self, text: str, run_id: str = "r", **fields: Any) -> RunEnded:
        return await self.run(StartRun(run_id=run_id, flow_name="main", workflow_yaml=text, **fields))

    async def until_ended(self, run_id: str = "r") -> RunEnded:
        for message in self.said:
            if isinstance(message, RunEnded) and message.run_id == run_id:
                return message
        message = await self.until(lambda each: isinstance(each, RunEnded) and each.run_id == run_id)
        assert isinstance(message, RunEnded)
        return message

    async def until_event(self, event: str, path: str, run_id: str = "r") -> Transitioned:
        def fits(message: Incoming) -> bool:
            return isinstance(message, Transitioned) and (message.event, message.path, message.run_id) == (
                event,
                path,
                run_id,
            )

        message = await self.until(fits)
        assert isinstance(message, Transitioned)
        return message

    async def until_line(self, text: str) -> Line:
        await self.until(lambda each: isinstance(each, Lines) and any(text in line.text for line in each.lines))
        return next(line for line in self.lines() if text in line.text)

    def events(self, run_id: str = "r") -> list[tuple[str, str]]:
        return [(each.event, each.path) for each in self.transitions(run_id)]

    def transitions(self, run_id: str = "r") -> list[Transitioned]:
        return [each for each in self.said if isinstance(each, Transitioned) and each.run_id == run_id]

    def nodes(self, run_id: str = "r") -> list[str]:
        return next(each.nodes for each in self.said if isinstance(each, RunLoaded) and each.run_id == run_id)

    def lines(self, run_id: str = "r") -> list[Line]:
        return [line for each in self.said if isinstance(each, Lines) and each.run_id == run_id for line in each.lines]

    def stuck(self) -> list[ThreadStuck]:
        return [each for each in self.said if isinstance(each, ThreadStuck)]

    def journal(self, run_id: str = "r", start: Journal | None = None) -> dict[str, Any]:
        journal = start if start is not None else Journal()
        for message in self.transitions(run_id):
            record(journal, message)
        return journal.to_json()


@asynccontextmanager
async def executor(code: Path | None = None, **options: Any) -> AsyncIterator[Conversation]:
    async with await ExecutorHandle.start(ExecutorOptions(code_dir=code, **options)) as handle:
        yield Conversation(handle)


def flow(graph: str, **callables: str) -> str:
    tasks = "".join(f"  {name}: {{callable: '{target}'}}\n" for name, target in callables.items())
    return f"flow:\n  graph: {graph}\ntasks:\n{tasks}"
