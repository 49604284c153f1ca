"""Checks a flow without running it."""

from pyoco.engine.report import ValidationReport
from pyoco.engine.validator import FlowValidator

__all__ = ["FlowValidator", "ValidationReport"]
