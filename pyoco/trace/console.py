"""A trace printed to the terminal."""

from pyoco.engine.console import ConsoleTraceBackend

__all__ = ["ConsoleTraceBackend"]
