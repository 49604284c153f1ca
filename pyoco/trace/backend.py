"""What the engine tells about a run."""

from pyoco.engine.trace import TraceBackend

__all__ = ["TraceBackend"]
