"""Loads the flow file of a command and words what is wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .failure import Problem, complain, user_trace
from .output import only_result_on_stdout

if TYPE_CHECKING:
    from ..engine.errors import FlowCycleError
    from ..engine.loader import TaskLoader
    from ..engine.loading import LoadedFlow
    from ..engine.plan import Block


def load(path: str, purpose: str = "loading config") -> LoadedFlow:
    """`purpose` is what a flow that cannot be built keeps the command from."""
    from ..engine.loading import FlowError, TaskCodeError, load_flow
    from ..engine.yaml_source import DocumentError

    try:
        return load_flow(path, say=complain)
    except FlowError as exc:
        raise Problem(f"Error {purpose}: {explain(exc, path)}") from exc
    except (DocumentError, TaskCodeError, OSError) as exc:
        raise config_problem(exc, path) from exc


def load_plan(path: str) -> Block:
    """The plan of the flow in a file; modules that print while they are imported do so on standard error."""
    from ..engine.errors import FlowCycleError
    from ..engine.plan import make_plan

    with only_result_on_stdout():
        flow = load(path).flow
    try:
        return make_plan(flow)
    except FlowCycleError as exc:
        raise impossible_order(exc, path) from exc


def impossible_order(exc: FlowCycleError, path: str) -> Problem:
    return Problem(f"Error loading config: {path}: flow.graph: {exc}")


def load_tasks(path: str) -> TaskLoader:
    """The tasks alone; the file need not have a flow. Modules that print do so on standard error, as in `load_plan`."""
    from ..engine import loading
    from ..engine.document import PyocoConfig
    from ..engine.yaml_source import DocumentError

    try:
        config = PyocoConfig.from_yaml(path)
        loading.make_importable(Path(path).parent)
        with only_result_on_stdout():
            return loading.load_tasks(config, path, say=complain)
    except (DocumentError, loading.TaskCodeError, OSError) as exc:
        raise config_problem(exc, path) from exc


def config_problem(exc: Exception, path: str) -> Problem:
    """What the user sees when a flow file cannot be used."""
    return Problem(f"Error loading config: {explain(exc, path)}")


def explain(exc: Exception, path: str) -> str:
    if isinstance(exc, OSError):
        return f"cannot read {path}: {exc.strerror or exc}"
    from ..engine.loading import TaskCodeError

    trace = user_trace(exc.__cause__) if isinstance(exc, TaskCodeError) and exc.__cause__ is not None else ""
    return f"{exc}\n{trace}" if trace else str(exc)
