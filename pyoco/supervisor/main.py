"""`pyoco up`: prepares a stack, runs it until it is told to end, and gives the exit code."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from ..version import __version__
from . import announce, control, nats_server, stack
from .child import Adopted, Child
from .data_dir import DataDir, claim, new_control_path
from .family import Family, UnknownName
from .notify import Notifier
from .options import CannotStart, Kind, UpOptions, from_settings
from .output import Output, Screen
from .plan import ProcessSpec, Surroundings, plan, process

OK = 0
FAILED = 1
INTERRUPTED = 130

_ANSWER_SEC = 60.0
_MOST_PROCESSES = 1000


def run_with(flags: Mapping[str, object]) -> int:
    """Runs the stack that flags, environment and files describe."""
    from ..config import load_settings

    settings = load_settings(flags)
    return run(from_settings(settings), settings.warnings)


def run(options: UpOptions, remarks: Sequence[str] = ()) -> int:
    """Runs a stack until it is told to end. Raises CannotStart for what the user can correct before anything runs."""
    with claim(options.data_dir) as data, stack.listen(options) as listener:
        return asyncio.run(_run(options, data, listener, remarks))


async def _run(options: UpOptions, data: DataDir, listener: socket.socket, remarks: Sequence[str]) -> int:
    screen = Screen(sys.stdout)
    person = sys.stdout.isatty() or options.text_output
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    output = Output(screen.write, data.layout.logs, as_json_lines=not person, colour=colour)
    try:
        for remark in remarks:
            output.say(remark, "WARNING")
        return await Supervisor(options, data, output, listener, os.environ).run()
    finally:
        output.close()
        screen.close()


class Ending:
    """Why and how the stack ends. The first reason counts; a second signal means: at once."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.forced = asyncio.Event()
        self.code = OK
        self.problem = ""

    def ask(self, code: int = OK, problem: str = "") -> None:
        if not self.asked.is_set():
            self.code, self.problem = code, problem
            self.asked.set()

    def signalled(self, code: int) -> None:
        if self.asked.is_set():
            self.forced.set()
        self.ask(code)

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        codes = {signal.SIGTERM: OK, signal.SIGINT: INTERRUPTED}
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as it is under nohup
            codes[signal.SIGHUP] = OK
        for number, code in codes.items():
            loop.add_signal_handler(number, self.signalled, code)
        try:
            yield
        finally:
            for number in codes:
                loop.remove_signal_handler(number)


class Supervisor:
    """One stack, from its first process to its last."""

    def __init__(
        self,
        options: UpOptions,
        data: DataDir,
        output: Output,
        listener: socket.socket,
        environment: Mapping[str, str],
    ) -> None:
        self._options = options
        self._data = data
        self._output = output
        self._listener = listener
        self._environment = environment
        self._notifier = Notifier(environment)
        self._ending = Ending()
        self._url = stack.web_address(options, listener)
        self._started_at = asyncio.get_running_loop().time()
        self._children = 0
        self._refusal: CannotStart | None = None
        self._nats: stack.NatsPlace | None = None
        self._around: Surroundings | None = None

    async def run(self) -> int:
        patience = self._options.patience
        with self._ending.on_signals():
            async with asyncio.TaskGroup() as group:
                family = Family(group, self._make_child, self._output, patience, self._options.policy)
                family.failed.add_done_callback(lambda failed: self._fail(failed))
                helpers = [
                    group.create_task(self._start(family), name="start"),
                    group.create_task(self._notifier.keep_alive(), name="watchdog"),
                ]
                async with control.serve(new_control_path(self._data), self._handlers(family)):
                    await self._ending.asked.wait()
                    helpers[0].cancel()
                    await self._stop(group, family)
                for helper in helpers:
                    helper.cancel()
        if self._refusal is not None:
            raise self._refusal
        return self._ending.code

    def _fail(self, failed: asyncio.Future[str]) -> None:
        if not failed.cancelled():
            self._ending.ask(FAILED, failed.result())

    # Start.

    async def _start(self, family: Family) -> None:
        try:
            self._nats = await stack.settle_nats(self._options, self._data, self._output)
        except CannotStart as exc:
            self._refusal = exc
            self._ending.ask(FAILED)
            return
        self._around = stack.surroundings(self._environment, self._data, self._nats, self._listener)
        for text in announce.warnings(self._options, self._nats):
            self._output.say(text, "WARNING")
        async with asyncio.TaskGroup() as group:
            group.create_task(self._announce(family), name="announce")
            await self._start_in_order(family, list(plan(self._options, self._around)))
            await family.all_ready()
        self._notifier.ready(f"{self._url}, {len(family.keepers)} processes")

    async def _start_in_order(self, family: Family, specs: list[ProcessSpec]) -> None:
        """NATS has to be ready before the rest starts; workers only let the gateways go first."""
        for spec in specs:
            if spec.kind == "nats":
                await family.add(spec, self._adopted(spec)).was_ready.wait()
        gateways = [family.add(spec) for spec in specs if spec.kind == "gateway"]
        with suppress(TimeoutError):
            async with asyncio.timeout(self._options.patience.order):
                for gateway in gateways:
                    await gateway.was_ready.wait()
        for spec in specs:
            if spec.kind == "worker":
                family.add(spec)

    async def _announce(self, family: Family) -> None:
        """As soon as everything is ready, but in any case while the person is still looking."""
        deadline = self._started_at + self._options.patience.announce
        with suppress(TimeoutError):
            async with asyncio.timeout_at(deadline):
                await family.completed.wait()
        self._say_summary(family)
        if not family.complete:
            await family.completed.wait()
            self._say_summary(family)

    def _say_summary(self, family: Family) -> None:
        assert self._nats is not None
        processes = family.describe()
        text = announce.summary(self._url, self._nats, str(self._data.layout.root), processes)
        self._output.say(text, url=self._url, nats=self._nats.url, next=announce.next_command(self._url))

    def _make_child(self, spec: ProcessSpec) -> Child:
        self._children += 1
        instance_id = self._data.instance_id(self._children)
        probe = self._nats_answers if spec.kind == "nats" else None
        return Child(spec, instance_id, self._options.patience, lambda text: self._output.line(spec.name, text), probe)

    def _adopted(self, spec: ProcessSpec) -> Child | None:
        pid = self._nats.adopted_pid if self._nats is not None else None
        if pid is None:
            return None
        try:
            return Adopted(spec, pid, self._options.patience)
        except ProcessLookupError:
            return None  # it ended in this very moment

    async def _nats_answers(self) -> bool:
        assert self._nats is not None
        found = await nats_server.probe(self._nats.host, self._nats.port)
        return isinstance(found, nats_server.NatsInfo) and found.name == self._data.server_name and found.jetstream

    # Stop.

    async def _stop(self, group: asyncio.TaskGroup, family: Family) -> None:
        self._notifier.stopping()
        if self._ending.problem:
            self._output.say(self._ending.problem, "ERROR")
        if not family.keepers:
            return
        self._output.say("stopping; a second signal ends everything at once")
        self._listener.close()  # with the last gateway the port is closed, not left to clients nobody answers
        force = group.create_task(self._force(family), name="force")
        await family.stop()
        force.cancel()
        self._output.say("pyoco is down")

    async def _force(self, family: Family) -> None:
        await self._ending.forced.wait()
        self._output.say("ending everything at once", "WARNING")
        family.force()

    # Requests over the control socket.

    def _handlers(self, family: Family) -> dict[str, control.Handler]:
        async def status(request: control.Answer) -> control.Answer:
            return self._status(family)

        async def down(request: control.Answer) -> control.Answer:
            self._ending.ask()
            return {}

        async def restart(request: control.Answer) -> control.Answer:
            self._refuse_while_ending()
            name = str(request.get("name", ""))
            try:
                chosen = family.named(name)
            except UnknownName as exc:
                raise control.Refused(str(exc)) from None
            with _answer_in_time(f"{name} is not ready yet"):
                async with asyncio.timeout(_ANSWER_SEC):
                    if not await family.restart(chosen):
                        raise control.Refused(f"{name} does not stay up")
            return {"restarted": [keeper.spec.name for keeper in chosen]}

        async def scale(request: control.Answer) -> control.Answer:
            self._refuse_while_ending()
            kind, specs = self._scaled(request)
            with _answer_in_time(f"not every {kind} is ready yet"):
                async with asyncio.timeout(_ANSWER_SEC):
                    await family.scale(kind, specs)
            return {"processes": [spec.name for spec in specs]}

        return {"status": status, "down": down, "restart": restart, "scale": scale}

    def _refuse_while_ending(self) -> None:
        if self._ending.asked.is_set() or self._around is None:
            raise control.Refused("the stack is " + ("stopping" if self._ending.asked.is_set() else "still starting"))

    def _scaled(self, request: control.Answer) -> tuple[Kind, list[ProcessSpec]]:
        kind, count = request.get("kind"), request.get("count")
        if kind not in ("gateway", "worker") or not isinstance(count, int) or not 0 <= count <= _MOST_PROCESSES:
            raise control.Refused(f"write worker=N or gateway=N, with N from 0 to {_MOST_PROCESSES}")
        assert self._around is not None
        return kind, [process(kind, number, self._options, self._around) for number in range(1, count + 1)]

    def _status(self, family: Family) -> dict[str, Any]:
        nats = self._nats
        return {
            "version": __version__,
            "pid": os.getpid(),
            "uptime_sec": round(asyncio.get_running_loop().time() - self._started_at, 1),
            "state": "stopping" if self._ending.asked.is_set() else "ready" if family.complete else "starting",
            "url": self._url,
            "data_dir": str(self._data.layout.root),
            "nats": nats and {"url": nats.url, "mode": nats.mode, "monitor": nats.monitor},
            "durability": nats and announce.durability_of(self._options, nats),
            "processes": family.describe(),
        }


@contextmanager
def _answer_in_time(otherwise: str) -> Iterator[None]:
    try:
        yield
    except TimeoutError:
        raise control.Refused(f"{otherwise}; see `pyoco status`") from None
