"""TraceBackend: the hooks that user code implements to follow a run."""

from __future__ import annotations

from abc import ABC, abstractmethod


class TraceBackend(ABC):
    """Called synchronously, possibly from several threads. A hook that raises is reported and otherwise ignored."""

    @abstractmethod
    def on_flow_start(self, flow_name: str, run_id: str | None = None) -> None: ...

    @abstractmethod
    def on_flow_end(self, flow_name: str) -> None: ...

    @abstractmethod
    def on_node_start(self, node_name: str) -> None: ...

    @abstractmethod
    def on_node_end(self, node_name: str, duration_ms: float) -> None: ...

    @abstractmethod
    def on_node_error(self, node_name: str, error: Exception) -> None: ...

    def on_node_transition(self, source: str, target: str) -> None:  # noqa: B027 - optional, kept for old subclasses
        """Kept because existing backends override it; the engine does not call it."""


class SilentTrace(TraceBackend):
    """No trace at all."""

    def on_flow_start(self, flow_name: str, run_id: str | None = None) -> None: ...

    def on_flow_end(self, flow_name: str) -> None: ...

    def on_node_start(self, node_name: str) -> None: ...

    def on_node_end(self, node_name: str, duration_ms: float) -> None: ...

    def on_node_error(self, node_name: str, error: Exception) -> None: ...
