"""Finds the tasks of a flow.yaml."""

from pyoco.engine.loader import TaskLoader

__all__ = ["TaskLoader"]
