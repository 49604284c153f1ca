"""The executor process: reads orders, runs each run on a thread of its own, ends with its worker."""

from __future__ import annotations

import faulthandler
import os
import platform
import queue
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

from pyoco.engine.capture import OutputScope, UnmarkedThread, enter_scope, install

from .channel import Channel, die_with_children
from .flows import Flows, put_on_path
from .lines import Ticker
from .messages import AnswerWait, CancelRun, Ready, RenewLeases, RunEnded, Setup, StartRun, Stop, ToExecutor
from .runs import Run

_OURS = (signal.SIGINT, signal.SIGTERM)
EXIT_BROKEN = 70  # sysexits.h: a mistake inside the software


def main() -> None:
    descriptor = int(sys.argv[1])
    connection = socket.socket(fileno=descriptor)
    # Programs that tasks start must not hold the socket open: its end is how death is noticed.
    connection.set_inheritable(False)
    channel = Channel(connection)
    _keep_signals_away()
    faulthandler.enable(2)
    install()
    os.register_at_fork(
        # A signal that is meant for the fork must find it with the usual reaction, however early it comes.
        before=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, _OURS),
        after_in_parent=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, _OURS),
        after_in_child=lambda: _become_a_mere_fork(channel),
    )
    try:
        Executor(channel).serve()
    except BaseException:  # noqa: BLE001 - the last thing this process does
        # Not the usual way out of a process: that would wait for the threads that tasks have started.
        traceback.print_exc()
        os._exit(EXIT_BROKEN)
    die_with_children()


class Executor:
    """The runs under way, and the threads that conduct them. How many there may be at a time is the worker's matter."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._ticker = Ticker()
        self._crew = Crew()
        self._runs: dict[str, Run] = {}
        self._stopping = False

    def serve(self) -> None:
        """Returns when the worker is gone."""
        messages = self._channel.receive()
        flows = self._set_up(messages)
        for message in messages:
            self._obey(message, flows)

    def _set_up(self, messages: Iterator[ToExecutor]) -> Flows:
        setup = next(messages, None)
        if not isinstance(setup, Setup):
            die_with_children()
        code_dir = Path(setup.code_dir) if setup.code_dir is not None else None
        put_on_path([*([str(code_dir)] if code_dir is not None else []), *setup.paths])
        flows = Flows(code_dir, setup.flow_resolver, setup.allowed_callables)
        python = platform.python_version()
        self._channel.send(Ready(pid=os.getpid(), python=python, flows=flows.names(), problems=flows.problems))
        return flows

    def _obey(self, message: ToExecutor, flows: Flows) -> None:
        match message:
            case StartRun():
                self._start(message, flows)
            case CancelRun(run_id=run_id, grace=grace):
                if (run := self._runs.get(run_id)) is not None:
                    run.cancel(grace)
            case AnswerWait(run_id=run_id):
                if (run := self._runs.get(run_id)) is not None:
                    run.answer(message)
            case RenewLeases(leases=leases):
                for run_id, lease in leases.items():
                    if (run := self._runs.get(run_id)) is not None:
                        run.renew(lease)
            case Stop(grace=grace):
                self._stop(grace)

    def _start(self, order: StartRun, flows: Flows) -> None:
        if self._stopping:
            self._channel.send(RunEnded(run_id=order.run_id, status="STOPPED"))
        elif order.run_id in self._runs and not self._runs[order.run_id].ended:
            sys.stderr.write(f"run {order.run_id} is here already; the second order to start it is ignored\n")
        else:
            run = Run(order, flows, self._channel, self._ticker, self._forget)
            self._runs[order.run_id] = run
            self._crew.start(run.perform)

    def _forget(self, run: Run) -> None:
        if self._runs.get(run.run_id) is run:
            del self._runs[run.run_id]

    def _stop(self, grace: float) -> None:
        if self._stopping:
            return
        self._stopping = True
        deadline = time.monotonic() + grace
        for run in list(self._runs.values()):
            run.stop()
        # On a thread of its own: this one goes on listening for the end of the worker.
        UnmarkedThread(target=self._leave, args=(deadline,), name="pyoco-stop", daemon=True).start()

    def _leave(self, deadline: float) -> None:
        for run in list(self._runs.values()):
            run.leave(deadline)
        os._exit(0)


class Crew:
    """Threads for runs: as many as run at the same time, kept for the next ones."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0
        self._size = 0

    def start(self, job: Callable[[], None]) -> None:
        with self._lock:
            if self._idle:
                self._idle -= 1
            else:
                self._size += 1
                UnmarkedThread(target=self._serve, name=f"pyoco-run-{self._size}", daemon=True).start()
        self._jobs.put(job)

    def _serve(self) -> None:
        while True:
            self._jobs.get()()
            with self._lock:
                self._idle += 1


def _keep_signals_away() -> None:
    """The worker decides when to stop. Handlers, because SIG_IGN would be passed on to the programs of tasks, which
    could then not be terminated."""
    for number in _OURS:
        signal.signal(number, lambda *_: None)


def _become_a_mere_fork(channel: Channel) -> None:
    """A process that a task forks (multiprocessing does) is no executor: it must not speak on our socket, writes to
    our pipes instead of our routers, and can be terminated."""
    channel.forget()
    nobody = OutputScope(None)
    nobody.closed = True
    enter_scope(nobody)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _OURS)
