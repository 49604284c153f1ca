"""Exceptions of control flow, references and `pyoco support`."""

from pyoco.engine.errors import (
    ControlFlowError,
    InvalidFilterError,
    InvalidFormatError,
    InvalidReferenceError,
    MissingTaskMetadataError,
    OutputWriteError,
    SupportInfoError,
    SwitchNoMatch,
    TaskNotFoundError,
    UntilMaxIterationsExceeded,
)

__all__ = [
    "ControlFlowError",
    "InvalidFilterError",
    "InvalidFormatError",
    "InvalidReferenceError",
    "MissingTaskMetadataError",
    "OutputWriteError",
    "SupportInfoError",
    "SwitchNoMatch",
    "TaskNotFoundError",
    "UntilMaxIterationsExceeded",
]
