"""What a running task sees."""

from pyoco.engine.context import Context, LoopFrame, LoopStack

__all__ = ["Context", "LoopFrame", "LoopStack"]
