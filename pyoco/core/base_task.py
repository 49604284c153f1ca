"""Base class of tasks written as a class."""

from pyoco.engine.task import BaseTask

__all__ = ["BaseTask"]
