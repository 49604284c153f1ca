"""Every exception the engine raises by itself. The class names are part of the contract with user code."""

from __future__ import annotations


class ControlFlowError(Exception):
    """A loop or a switch could not go on."""


class UntilMaxIterationsExceeded(ControlFlowError):
    """An `until` loop reached its limit before its condition became true."""

    def __init__(self, expression: str, max_iter: int) -> None:
        super().__init__(f"until loop did not reach {expression!r} within {max_iter} iterations")
        self.expression = expression
        self.max_iter = max_iter


class SwitchNoMatch(ControlFlowError):
    """No case of a `switch` equals its value, and there is no default."""

    def __init__(self, expression: str) -> None:
        super().__init__(f"no case of the switch matches the value of {expression!r}; add a default case")
        self.expression = expression


class InvalidReferenceError(ValueError):
    """An input value starts with `$` but is not one of the reference forms."""

    def __init__(self, reference: str, reason: str) -> None:
        super().__init__(f"invalid reference {reference!r}: {reason}")
        self.reference = reference
        self.reason = reason


class FlowCycleError(RuntimeError):
    """The dependencies of a flow can never be satisfied."""


class TaskExited(RuntimeError):
    """A task tried to end the whole process (`sys.exit`, KeyboardInterrupt) instead of returning or raising."""

    def __init__(self, task_name: str, cause: BaseException) -> None:
        code = f"({cause.code!r})" if isinstance(cause, SystemExit) else ""
        super().__init__(
            f"task {task_name!r} raised {type(cause).__name__}{code}; return or raise an Exception instead"
        )
        self.task_name = task_name


class RecordedFailure(RuntimeError):
    """A node failed in an earlier part of this run; only the text of its error was recorded."""


class JournalMismatch(RuntimeError):
    """The flow is not the one whose journal this is."""

    def __init__(self, path: str, recorded: object) -> None:
        super().__init__(
            f"the journal says {recorded!r} for {path!r}, which does not fit this flow; was the flow changed since? "
            "Continue with the flow as it was, or start a new run"
        )
        self.path = path


class WaitRejected(RuntimeError):
    """The wait of a node was answered with a failure from outside."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(f"the wait for {key!r} was rejected: {reason}")
        self.key = key
        self.reason = reason


class ExpressionSyntaxError(ValueError):
    """The text is not an expression of the allowed subset."""


class ExpressionEvaluationError(RuntimeError):
    """A well-formed expression has no value here; the original problem is the cause."""


class GraphError(ValueError):
    """Base of all problems found while a graph is turned into a flow."""


class GraphSyntaxError(GraphError):
    """The text does not follow the graph grammar."""


class GraphReferenceError(GraphError):
    """The graph names a task or pipe that does not exist, or pipes go round in circles."""


class GraphValidationError(GraphError):
    """The graph is well-formed but says something impossible."""


class SupportInfoError(Exception):
    """Base of the problems of `pyoco support`."""


class InvalidFormatError(SupportInfoError):
    def __init__(self, format: str) -> None:
        super().__init__(f"unknown format {format!r}; use prompt, json or md")
        self.format = format


class TaskNotFoundError(SupportInfoError):
    def __init__(self, name: str) -> None:
        super().__init__(f"no task matches {name!r}")
        self.name = name


class InvalidFilterError(SupportInfoError):
    def __init__(self, filter_value: str) -> None:
        super().__init__(f"invalid filter {filter_value!r}")
        self.filter_value = filter_value


class OutputWriteError(SupportInfoError):
    def __init__(self, path: str) -> None:
        super().__init__(f"cannot write {path!r}")
        self.path = path


class MissingTaskMetadataError(SupportInfoError):
    def __init__(self, name: str, fields: list[str]) -> None:
        super().__init__(f"task {name!r} lacks {', '.join(fields)}")
        self.name = name
        self.fields = fields
