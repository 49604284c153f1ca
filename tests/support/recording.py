"""A trace backend and a sink that keep what they are told."""

from __future__ import annotations

import json
import threading
from typing import Any

from pyoco.engine.events import ContextSource, NodeStarted, Transition
from pyoco.engine.journal import Journal, JournalKeeper
from pyoco.engine.trace import TraceBackend


class RecordingTrace(TraceBackend):
    """Events in the order they came."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []

    def on_flow_start(self, flow_name: str, run_id: str | None = None) -> None:
        self.events.append(("flow_start", flow_name))

    def on_flow_end(self, flow_name: str) -> None:
        self.events.append(("flow_end", flow_name))

    def on_node_start(self, node_name: str) -> None:
        self.events.append(("start", node_name))

    def on_node_end(self, node_name: str, duration_ms: float) -> None:
        self.events.append(("end", node_name))

    def on_node_error(self, node_name: str, error: Exception) -> None:
        self.events.append(("error", f"{node_name}: {error}"))


class RecordingSink(JournalKeeper):
    """Keeps the journal as it stood after every transition, as JSON text: what a store would hold at that moment."""

    def __init__(self, journal: Journal | None = None) -> None:
        super().__init__(journal)
        self.started: list[str] = []
        self.events: list[Transition] = []
        self.snapshots: list[str] = [self.as_text()]
        self._owner: int | None = None

    def transition(self, event: Transition, context: ContextSource) -> None:
        assert self._owner is None, "two transitions at once"
        self._owner = threading.get_ident()
        super().transition(event, context)
        self.events.append(event)
        if isinstance(event, NodeStarted):
            self.started.append(event.path)
        self.snapshots.append(self.as_text())
        self._owner = None

    def as_text(self) -> str:
        return json.dumps(self.journal.to_json())

    def journal_at(self, number: int) -> Journal:
        return Journal.from_json(json.loads(self.snapshots[number]))


def texts(lines: list[Any]) -> list[str]:
    return [line.text for line in lines]
