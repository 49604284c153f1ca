"""Checks a flow without running it."""

from pyoco.engine.validator import FlowValidator, ValidationReport

__all__ = ["FlowValidator", "ValidationReport"]
