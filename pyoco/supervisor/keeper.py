"""Keeps one place in the stack filled: starts its process again when it ends, until told to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal, Protocol

from .child import Child
from .plan import ProcessSpec
from .restart import Exit, GiveUp, Policy, Record, RestartAfter, after_exit

State = Literal["starting", "ready", "waiting", "stopping", "stopped", "failed"]


class House(Protocol):
    """What a keeper needs from the family around it."""

    def make_child(self, spec: ProcessSpec) -> Child: ...
    def became_ready(self, keeper: Keeper) -> None: ...
    def ended(self, keeper: Keeper, end: Exit) -> None: ...
    def restarting(self, keeper: Keeper, end: Exit, decision: RestartAfter) -> None: ...
    def gave_up(self, keeper: Keeper, end: Exit) -> None: ...
    def is_vital(self, spec: ProcessSpec) -> bool: ...


class Keeper:
    """One name: the processes that fill it come and go."""

    def __init__(self, spec: ProcessSpec, house: House, policy: Policy, first: Child | None = None) -> None:
        self.spec = spec
        self.state: State = "starting"
        self.record = Record()
        self.child = first if first is not None else house.make_child(spec)
        self.was_ready = asyncio.Event()
        self.finished = asyncio.Event()
        self._house = house
        self._policy = policy
        self._stop_asked = False
        self._restart_asked = False
        self._wake = asyncio.Event()

    async def run(self) -> None:
        try:
            # Whoever asks for the end may be faster than the first start.
            while not self._stop_asked:
                end = await self._live()
                self._house.ended(self, end)
                if self._stop_asked or not await self._go_on(end):
                    break
                self.child = self._house.make_child(self.spec)
            if self.state != "failed":
                self.state = "stopped"
        finally:
            self.child.gone.set()
            self.finished.set()

    async def _live(self) -> Exit:
        """One process from start to end."""
        self.state = "starting"
        async with asyncio.TaskGroup() as group:
            ready = group.create_task(self._note_ready(self.child), name=f"{self.spec.name} ready")
            end = await self.child.run()
            ready.cancel()
        return end

    async def _note_ready(self, child: Child) -> None:
        await child.ready.wait()
        if not self._stop_asked:
            self.state = "ready"
        self._house.became_ready(self)
        self.was_ready.set()

    async def _go_on(self, end: Exit) -> bool:
        """Whether there is a next process; waits as long as the back-off says."""
        if self._restart_asked:
            self._restart_asked = False
            self.record = Record(restarts=self.record.restarts + 1)
            return True
        decision = after_exit(self._policy, self.record, end, vital=self._house.is_vital(self.spec))
        self.record = decision.record
        if isinstance(decision, GiveUp):
            self.state = "failed"
            self._house.gave_up(self, end)
            return False
        self.state = "waiting"
        self._house.restarting(self, end, decision)
        self._wake.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(decision.delay):
                await self._wake.wait()
        return not self._stop_asked

    async def stop(self, grace: float) -> None:
        """Ends the process for good."""
        self._stop_asked = True
        if self.state != "failed":
            self.state = "stopping"
        self._wake.set()
        await self.child.stop(grace)
        await self.finished.wait()

    async def restart(self, grace: float) -> bool:
        """Replaces the process; true when the new one is ready, false when this place was given up meanwhile."""
        old = self.child
        if self.state == "waiting":
            self.record = Record(restarts=self.record.restarts)
            self._wake.set()
        else:
            self._restart_asked = True
            await old.stop(grace)
        return await self._reached(lambda: self.child is not old and self.state == "ready")

    async def _reached(self, condition: Callable[[], bool]) -> bool:
        while not condition():
            if self.finished.is_set():
                return False
            await asyncio.sleep(0.02)
        return True

    def describe(self) -> dict[str, Any]:
        """For `pyoco status`."""
        running = self.state in ("starting", "ready", "stopping")
        return {
            "name": self.spec.name,
            "kind": self.spec.kind,
            "state": self.state,
            "pid": self.child.pid if running else None,
            "instance_id": self.child.instance_id or None,
            "uptime_sec": round(self.child.uptime, 1) if running else None,
            "restarts": self.record.restarts,
            "figures": self.child.figures,
        }
