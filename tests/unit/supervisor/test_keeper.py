"""A keeper with processes that exist only in the test."""

from __future__ import annotations

import asyncio

from pyoco.supervisor.child import Child
from pyoco.supervisor.keeper import Keeper
from pyoco.supervisor.options import Patience
from pyoco.supervisor.plan import ProcessSpec
from pyoco.supervisor.restart import Exit, Policy, RestartAfter

AT_ONCE = Policy(first_delay=0.0, loop_after=2)
SPEC = ProcessSpec("worker.1", "worker", ("none",), {})


class PretendedChild(Child):
    """Ends when it is asked to, or as the test says."""

    def __init__(self, number: int) -> None:
        super().__init__(SPEC, f"a.1.{number}", Patience(), lambda text: None)
        self.started = False
        self.end = Exit(0, 1.0)

    async def run(self) -> Exit:
        self.started = True
        self.ready.set()
        await self.gone.wait()
        return self.end

    def terminate(self) -> None:
        self.gone.set()


class PretendedHouse:
    """Notes what a keeper reports."""

    def __init__(self, *, vital: bool = False) -> None:
        self.children: list[PretendedChild] = []
        self.events: list[str] = []
        self.waiting = asyncio.Event()
        self._vital = vital

    def make_child(self, spec: ProcessSpec) -> Child:
        self.children.append(PretendedChild(len(self.children) + 1))
        return self.children[-1]

    def became_ready(self, keeper: Keeper) -> None:
        self.events.append(f"{keeper.child.instance_id} ready")

    def ended(self, keeper: Keeper, end: Exit) -> None:
        self.events.append(f"{keeper.child.instance_id} ended")

    def restarting(self, keeper: Keeper, end: Exit, decision: RestartAfter) -> None:
        self.events.append(f"again in {decision.delay}")
        self.waiting.set()

    def gave_up(self, keeper: Keeper, end: Exit) -> None:
        self.events.append("gave up")

    def is_vital(self, spec: ProcessSpec) -> bool:
        return self._vital


async def test_a_stop_that_comes_before_the_first_start_starts_nothing() -> None:
    house = PretendedHouse()
    keeper = Keeper(SPEC, house, AT_ONCE)
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        group.create_task(keeper.run())
        await keeper.stop(grace=1)
    assert not house.children[0].started
    assert keeper.state == "stopped"


async def test_a_stop_during_the_back_off_ends_it() -> None:
    house = PretendedHouse()
    keeper = Keeper(SPEC, house, Policy(first_delay=100.0, longest_delay=100.0))
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        group.create_task(keeper.run())
        await keeper.was_ready.wait()
        house.children[0].gone.set()
        await house.waiting.wait()
        await keeper.stop(grace=1)
    assert house.events == ["a.1.1 ready", "a.1.1 ended", "again in 100.0"]
    assert len(house.children) == 1


async def test_a_restart_during_the_back_off_starts_at_once_and_forgets_the_failures() -> None:
    house = PretendedHouse()
    keeper = Keeper(SPEC, house, Policy(first_delay=100.0, longest_delay=100.0))
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        group.create_task(keeper.run())
        await keeper.was_ready.wait()
        house.children[0].gone.set()
        await house.waiting.wait()
        assert await keeper.restart(grace=1)
        assert (keeper.record.failures, keeper.record.restarts) == (0, 1)
        assert keeper.describe()["instance_id"] == "a.1.2"
        await keeper.stop(grace=1)


async def test_a_vital_process_is_given_up_after_a_crash_loop() -> None:
    house = PretendedHouse(vital=True)
    keeper = Keeper(SPEC, house, AT_ONCE)
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        running = group.create_task(keeper.run())
        while not running.done():
            house.children[-1].gone.set()
            await asyncio.sleep(0)
        await keeper.stop(grace=1)
    assert house.events[-1] == "gave up"
    assert keeper.state == "failed"
    assert len(house.children) == 2


async def test_a_restart_of_a_process_that_never_gets_ready_again_says_so() -> None:
    house = PretendedHouse(vital=True)
    keeper = Keeper(SPEC, house, AT_ONCE)
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        running = group.create_task(keeper.run())
        await keeper.was_ready.wait()
        asking = group.create_task(keeper.restart(grace=1))
        while not running.done():
            await asyncio.sleep(0)
            if len(house.children) > 1:
                house.children[-1].ready.clear()
                house.children[-1].gone.set()
        assert keeper.state == "failed"
        assert await asking is False
