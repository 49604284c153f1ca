"""The trace on standard output, in a cute or a plain style."""

from __future__ import annotations

import os

from .capture import uncaptured
from .trace import TraceBackend

_OFF = frozenset({"0", "false", "no", "off"})


def cute_by_environment() -> bool:
    """What PYOCO_CUTE asks for; cute unless it is switched off."""
    return os.environ.get("PYOCO_CUTE", "").strip().lower() not in _OFF


class ConsoleTraceBackend(TraceBackend):
    """One line per event. `style` is "cute", "plain", or None for what PYOCO_CUTE says."""

    def __init__(self, style: str | None = None) -> None:
        if style is None:
            style = "cute" if cute_by_environment() else "plain"
        self.style = style
        self._cute = style == "cute"

    def on_flow_start(self, flow_name: str, run_id: str | None = None) -> None:
        lead = "🐇 pyoco > start" if self._cute else "INFO pyoco start"
        self._say(f"{lead} flow={flow_name} run_id={run_id}")

    def on_flow_end(self, flow_name: str) -> None:
        self._say(f"{'🥕 done' if self._cute else 'INFO pyoco end'} flow={flow_name}")

    def on_node_start(self, node_name: str) -> None:
        self._say(f"{'🏃 start' if self._cute else 'INFO pyoco start'} node={node_name}")

    def on_node_end(self, node_name: str, duration_ms: float) -> None:
        if self._cute:
            self._say(f"✅ done node={node_name} ({duration_ms:.2f} ms)")
        else:
            self._say(f"INFO pyoco end node={node_name} dur_ms={duration_ms:.2f}")

    def on_node_error(self, node_name: str, error: Exception) -> None:
        self._say(f"{'💥 error' if self._cute else 'ERROR pyoco error'} node={node_name} {error}")

    def _say(self, line: str) -> None:
        with uncaptured():
            # One write per line, so that lines of parallel nodes do not run into each other.
            print(line + "\n", end="", flush=True)
