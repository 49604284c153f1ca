"""From a flow file to a flow that can run: its document, its tasks, its graph."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .document import PyocoConfig
from .errors import ExpressionSyntaxError, GraphError
from .flow import Flow
from .graph import build_flow_from_graph, parse_graph, resolve_pipe_refs
from .graph.terms import TaskTerm, terms_of
from .loader import TaskLoader
from .yaml_source import DocumentError, read_yaml

# Frames that are nobody's business: ours, those of the import system, generated methods.
_OUR_PLACES = (
    f"{Path(__file__).resolve().parent.parent}{os.sep}",
    f"{Path(importlib.__file__).parent}{os.sep}",
    "<frozen ",
    "<string>",
)
_HINT = "\nhint: "
_GRAPH = ("flow", "graph")


@dataclass(frozen=True)
class LoadedFlow:
    config: PyocoConfig
    loader: TaskLoader
    flow: Flow


class FlowError(DocumentError):
    """The document can be read, but what it says about tasks or graph cannot be a flow."""


class TaskCodeError(Exception):
    """The module of a task raised something while it was imported; that is the cause."""


def load_flow(path: str | Path, say: Callable[[str], None] | None = None) -> LoadedFlow:
    """Reads a flow file, imports its tasks (see `make_importable`) and builds its graph.

    DocumentError if the file is at fault (FlowError: only its tasks or graph), TaskCodeError if the code of a task is,
    OSError if the file cannot be opened. `say` hears about tasks that are left out.
    """
    config = PyocoConfig.from_yaml(path)
    make_importable(Path(path).parent)
    try:
        return complete(config, str(path), say)
    except FlowError as exc:
        raise _placed(exc, path) from exc.__cause__


def complete(config: PyocoConfig, source: str, say: Callable[[str], None] | None = None) -> LoadedFlow:
    """The tasks and the graph of a document that was read before; `source` is the name that errors show."""
    if config.flow is None:
        raise DocumentError("there is no flow", source=source, hint="write 'flow:' with a 'graph:' below it")
    loader = load_tasks(config, source, say)
    try:
        flow = build_flow_from_graph(graph=config.flow.graph, tasks=loader.tasks, pipes=config.pipes)
    except (GraphError, ExpressionSyntaxError) as exc:
        problem = _explain_missing(str(exc), config, loader)
        raise FlowError(problem, source=source, path=_GRAPH) from exc
    return LoadedFlow(config, loader, flow)


def load_tasks(config: PyocoConfig, source: str, say: Callable[[str], None] | None = None) -> TaskLoader:
    """A loader that has found what the document declares."""
    loader = TaskLoader(config, say=say or _silent)
    try:
        loader.load()
    except (Exception, SystemExit) as exc:  # importing runs foreign code, which may raise anything
        if isinstance(exc, ValueError) and not user_frames(exc):
            raise FlowError(str(exc), source=source) from exc
        raise TaskCodeError(f"{source}: the code of a task cannot be imported: {_named(exc)}") from exc
    return loader


def make_importable(directory: Path) -> None:
    """Puts a flow file's directory, then the working directory, first on sys.path. For a process that loads one flow:
    modules of equal names in two directories would hide each other."""
    for entry in (str(Path.cwd()), str(directory.resolve())):
        if entry in sys.path:
            sys.path.remove(entry)
        sys.path.insert(0, entry)


def user_frames(exc: BaseException) -> list[traceback.FrameSummary]:
    """The part of an exception's traceback that lies in the user's code, or in what that calls."""
    return [frame for frame in traceback.extract_tb(exc.__traceback__) if not frame.filename.startswith(_OUR_PLACES)]


def _silent(message: str) -> None:
    pass


def _named(exc: BaseException) -> str:
    frames = user_frames(exc)
    # A SyntaxError names its file itself.
    place = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
    return f"{type(exc).__name__}: {exc}{place}"


def _explain_missing(problem: str, config: PyocoConfig, loader: TaskLoader) -> str:
    """A task that the file does declare is not unknown: says why it is not there."""
    for name in _mentioned(config) if loader.missing else ():
        if name not in loader.tasks:
            reason = loader.missing.get(name)
            return (
                f"{problem.partition(_HINT)[0]}{_HINT}tasks.{name} is declared, but not available: {reason}"
                if reason
                else problem
            )
    return problem


def _mentioned(config: PyocoConfig) -> list[str]:
    assert config.flow is not None
    try:
        pipeline = resolve_pipe_refs(parse_graph(config.flow.graph), config.pipes)
    except GraphError:
        return []
    return [term.name for term in terms_of(pipeline) if isinstance(term, TaskTerm)]


def _placed(error: FlowError, path: str | Path) -> FlowError:
    """The same error with the line of the file where the graph begins."""
    if error.path != ".".join(_GRAPH):
        return error
    line, column = read_yaml(Path(path).read_text("utf-8-sig"), str(path)).position(_GRAPH)
    return FlowError(error.problem, source=error.source, path=_GRAPH, line=line, column=column)
