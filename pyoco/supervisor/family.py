"""All processes of a stack: their order, what they are told of each other, and how they end."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from .child import Child
from .keeper import Keeper
from .options import Kind, Patience
from .output import Output
from .plan import ORDER, ProcessSpec
from .restart import Exit, Policy, RestartAfter

_REMEMBERED_DEAD = 1000
_FORCED_GRACE_SEC = 0.0


class UnknownName(Exception):
    """No process of the stack is called so."""


class Family:
    """The keepers by name. Their tasks belong to the group that is passed in."""

    def __init__(
        self,
        group: asyncio.TaskGroup,
        make_child: Callable[[ProcessSpec], Child],
        output: Output,
        patience: Patience,
        policy: Policy,
    ) -> None:
        self.keepers: dict[str, Keeper] = {}
        self.completed = asyncio.Event()  # every process was ready once: from here on only NATS is vital
        self.failed: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.forced = False
        self._group = group
        self._make_child = make_child
        self._output = output
        self._patience = patience
        self._policy = policy
        self._dead: deque[str] = deque(maxlen=_REMEMBERED_DEAD)

    @property
    def complete(self) -> bool:
        return self.completed.is_set()

    def add(self, spec: ProcessSpec, first: Child | None = None) -> Keeper:
        keeper = Keeper(spec, self, self._policy, first)
        self.keepers[spec.name] = keeper
        self._group.create_task(keeper.run(), name=f"keep {spec.name}")
        return keeper

    def of_kind(self, kind: Kind) -> list[Keeper]:
        return [keeper for keeper in self.keepers.values() if keeper.spec.kind == kind]

    def named(self, name: str) -> list[Keeper]:
        """One process by its name, or all of a kind."""
        found = [keeper for keeper in self.keepers.values() if name in (keeper.spec.name, keeper.spec.kind)]
        if not found:
            raise UnknownName(f"no process is called {name!r}; there are: {', '.join(self.keepers)}")
        return found

    async def all_ready(self) -> None:
        """Returns once each process that was planned has been ready."""
        for keeper in list(self.keepers.values()):
            await keeper.was_ready.wait()
        self.completed.set()

    async def scale(self, kind: Kind, specs: list[ProcessSpec]) -> None:
        """Makes the processes of a kind exactly those described; superfluous ones end politely."""
        wanted = {spec.name for spec in specs}
        leaving = [keeper for keeper in self.of_kind(kind) if keeper.spec.name not in wanted]
        added = [self.add(spec) for spec in specs if spec.name not in self.keepers]
        async with asyncio.TaskGroup() as group:
            for keeper in leaving:
                group.create_task(self._dismiss(keeper))
            for keeper in added:
                group.create_task(keeper.was_ready.wait())

    async def _dismiss(self, keeper: Keeper) -> None:
        await keeper.stop(self._patience.stop)
        self.keepers.pop(keeper.spec.name, None)

    async def restart(self, keepers: list[Keeper]) -> bool:
        """One after the other, so that the others go on serving."""
        for keeper in keepers:
            if not await keeper.restart(self._patience.stop):
                return False
        return True

    async def stop(self) -> None:
        """Workers first, NATS last."""
        for kind in reversed(ORDER):
            async with asyncio.TaskGroup() as group:
                for keeper in self.of_kind(kind):
                    group.create_task(keeper.stop(_FORCED_GRACE_SEC if self.forced else self._patience.stop))

    def force(self) -> None:
        """No more patience: whatever still runs is killed."""
        self.forced = True
        for keeper in self.keepers.values():
            keeper.child.kill()

    def describe(self) -> list[dict[str, Any]]:
        return [keeper.describe() for keeper in self.keepers.values()]

    # What keepers report.

    def make_child(self, spec: ProcessSpec) -> Child:
        return self._make_child(spec)

    def is_vital(self, spec: ProcessSpec) -> bool:
        return spec.kind == "nats" or not self.complete

    def became_ready(self, keeper: Keeper) -> None:
        if keeper.spec.kind == "gateway":
            for instance_id in self._dead:
                keeper.child.tell({"type": "dead", "instance_id": instance_id})

    def ended(self, keeper: Keeper, end: Exit) -> None:
        if not keeper.spec.speaks:
            return
        instance_id = keeper.child.instance_id
        self._dead.append(instance_id)
        for gateway in self.of_kind("gateway"):
            if gateway.state == "ready" and gateway is not keeper:
                gateway.child.tell({"type": "dead", "instance_id": instance_id})

    def restarting(self, keeper: Keeper, end: Exit, decision: RestartAfter) -> None:
        name, delay = keeper.spec.name, decision.delay
        self._output.say(f"{name} {end.reason} after {end.uptime:.1f} s; starting it again in {delay:.1f} s", "WARNING")
        if decision.crash_loop:
            again = f"It is tried again more and more rarely; `pyoco restart {name}` tries it at once."
            self._output.say(f"{self._loop_report(keeper, end)}\n{again}", "ERROR")

    def gave_up(self, keeper: Keeper, end: Exit) -> None:
        with suppress(asyncio.InvalidStateError):
            self.failed.set_result(self._loop_report(keeper, end))

    def _loop_report(self, keeper: Keeper, end: Exit) -> str:
        lines = [text for text in keeper.child.last_lines if text.strip()] or ["(it wrote nothing)"]
        name = keeper.spec.name
        return "\n".join(
            [
                f"{name} does not stay up: it {end.reason}, {keeper.record.failures} times in a row. Its last lines:",
                *(f"  {name} | {text}" for text in lines),
                f"Correct what these lines name; everything it wrote is in {self._output.file_of(name)}.",
            ]
        )
