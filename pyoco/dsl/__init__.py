"""The Python way to write a flow."""

from pyoco.engine.dsl import task

__all__ = ["task"]
