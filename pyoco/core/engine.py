"""Runs flows."""

from pyoco.engine.engine import Engine

__all__ = ["Engine"]
