"""Runs one flow from start to end: watches for Ctrl-C, hands over answers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from .answers import Answer, GivenAnswers, Wait, node_of
from .interrupts import interrupts_as

if TYPE_CHECKING:
    from ..engine.executor import Execution
    from ..engine.flow import Flow
    from .views import View

_INTERRUPT = object()
_LOOK_UP_SEC = 0.2


@dataclass
class Outcome:
    """How a run went. `waits` is not empty if it stopped because nobody answered."""

    execution: Execution
    waits: list[Wait]


class Session:
    """`ask` is called for waits that have no answer yet; None if there is nobody to ask."""

    def __init__(
        self, execution: Execution, view: View, given: GivenAnswers, ask: Callable[[Wait], Answer] | None, grace: float
    ) -> None:
        self._execution = execution
        self._view = view
        self._given = given
        self._ask = ask
        self._grace = grace
        self._interrupts = 0

    def run(self) -> Outcome:
        self._move()
        while self._execution.parked and self._interrupts == 0:
            unanswered = self._answer(self._waits())
            if unanswered:
                return Outcome(self._execution, unanswered)
            self._move()
        return Outcome(self._execution, [])

    def _move(self) -> None:
        """Lets the run go on until it ends or parks. It does so in another thread: a signal handler runs in this one,
        which therefore must not be inside the engine's locks."""
        inbox: SimpleQueue[Any] = SimpleQueue()

        def conduct() -> None:
            try:
                self._execution.run()
            except BaseException as exc:  # noqa: BLE001 - raised again by the thread that waits for this one
                inbox.put(exc)
            else:
                inbox.put(None)

        conductor = threading.Thread(target=conduct, name="pyoco-run", daemon=True)
        with interrupts_as(lambda: inbox.put(_INTERRUPT)), self._view:
            conductor.start()
            while (message := _next(inbox)) is _INTERRUPT:
                self._interrupt()
        if message is not None:
            raise message

    def _interrupt(self) -> None:
        self._interrupts += 1
        if self._interrupts == 1:
            self._view.say(
                f"Cancelling: running tasks have {self._grace:g} s to end; press Ctrl-C again to stop at once"
            )
            self._execution.cancel(self._grace)
        elif self._interrupts == 2:
            self._execution.cancel(0)
        else:
            raise KeyboardInterrupt

    def _waits(self) -> list[Wait]:
        return [Wait(path, node_of(path), key, prompt) for path, (key, prompt) in self._execution.waits().items()]

    def _answer(self, waits: list[Wait]) -> list[Wait]:
        """Answers what can be answered; gives back the waits if that is none of them."""
        # All answers first: an answered node starts at once, and would print into the next question.
        answers = [(wait, self._given.take(wait)) for wait in waits]
        if self._ask is not None:
            try:
                answers = [(wait, answer or self._ask(wait)) for wait, answer in answers]
            except (KeyboardInterrupt, EOFError):
                self._interrupts += 1
                self._execution.cancel(0)
                return []
        for wait, answer in answers:
            if answer is not None:
                self._hand_over(wait, answer)
        return waits if all(answer is None for _, answer in answers) else []

    def _hand_over(self, wait: Wait, answer: Answer) -> None:
        if answer.rejection is None:
            self._execution.answer(wait.path, wait.key, answer.payload)
        else:
            self._execution.refuse(wait.path, wait.key, answer.rejection)


def _next(inbox: SimpleQueue[Any]) -> Any:
    while True:
        # Looks up now and then: a signal that comes right before the wait would not end it.
        with suppress(Empty):
            return inbox.get(timeout=_LOOK_UP_SEC)


def open_execution(flow: Flow, params: dict[str, Any], view: View) -> Execution:
    """A run of the flow that has not started yet; FlowCycleError if it never could."""
    from ..engine.engine import prepare
    from ..engine.executor import Execution
    from ..engine.plan import make_plan
    from ..engine.records import RunContext

    plan = make_plan(flow)
    run = RunContext()
    ctx = prepare(flow, params, run)
    return Execution(plan, ctx, run, view.trace, sink=view, pass_through=view.passes_output)
