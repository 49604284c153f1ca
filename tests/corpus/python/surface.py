"""§1 Every name that user code imports, where it imports it from, and how it is called."""

from __future__ import annotations

import importlib
import inspect

from observe import Lab, Observation, case, table

NAMES = {
    "pyoco": "task Flow run support Task Engine ConsoleTraceBackend",
    "pyoco.core.models": (
        "Task Flow RunContext RunStatus TaskState TaskRecord TaskIO TaskInfo SupportFilters SupportInfo"
    ),
    "pyoco.core.engine": "Engine",
    "pyoco.core.context": "Context LoopFrame",
    "pyoco.core.base_task": "BaseTask",
    "pyoco.core.exceptions": (
        "ControlFlowError UntilMaxIterationsExceeded SwitchNoMatch InvalidReferenceError SupportInfoError "
        "InvalidFormatError TaskNotFoundError InvalidFilterError OutputWriteError MissingTaskMetadataError"
    ),
    "pyoco.dsl": "task",
    "pyoco.dsl.syntax": "task switch TaskWrapper FlowFragment Branch Parallel",
    "pyoco.dsl.expressions": "Expression ensure_expression ExpressionSyntaxError ExpressionEvaluationError",
    "pyoco.dsl.graph": (
        "build_flow_from_graph parse_graph resolve_pipe_refs validate_graph_terms "
        "GraphSyntaxError GraphReferenceError GraphValidationError"
    ),
    "pyoco.dsl.validator": "FlowValidator",
    "pyoco.schemas.config": "PyocoConfig FlowConfig TaskConfig RuntimeConfig",
    "pyoco.discovery.loader": "TaskLoader",
    "pyoco.discovery.plugins": "PluginRegistry CallablePluginTask iter_entry_points list_available_plugins",
    "pyoco.trace.backend": "TraceBackend",
    "pyoco.trace.console": "ConsoleTraceBackend",
}


@table({name: name for name in NAMES})
def module(lab: Lab, name: str) -> Observation:
    found = importlib.import_module(name)
    return {"missing": [word for word in NAMES[name].split() if not hasattr(found, word)]}


@case()
def the_same_names_are_the_same_objects(lab: Lab) -> Observation:
    import pyoco
    from pyoco.core import engine, models
    from pyoco.dsl import syntax
    from pyoco.trace import console

    pairs = [
        (pyoco.Flow, models.Flow),
        (pyoco.Task, models.Task),
        (pyoco.Engine, engine.Engine),
        (pyoco.task, syntax.task),
        (pyoco.ConsoleTraceBackend, console.ConsoleTraceBackend),
    ]
    return {"same": [one is other for one, other in pairs]}


CALLS = {
    "Engine": ("pyoco.core.engine", "Engine", ["trace_backend"]),
    "Engine.run": ("pyoco.core.engine", "Engine.run", ["self", "flow", "params", "run_context"]),
    "Engine.cancel": ("pyoco.core.engine", "Engine.cancel", ["self", "run_id"]),
    "Engine.get_run": ("pyoco.core.engine", "Engine.get_run", ["self", "run_id"]),
    "run": ("pyoco", "run", ["flow", "params", "trace", "cute"]),
    "Task": ("pyoco.core.models", "Task", ["func", "name", "dependencies", "dependents", "inputs", "outputs"]),
    "TaskLoader": ("pyoco.discovery.loader", "TaskLoader", ["config", "strict"]),
    "PluginRegistry": ("pyoco.discovery.plugins", "PluginRegistry", ["loader", "provider_name"]),
    "support.build": ("pyoco.support", "build", ["kind", "config_path", "format", "filters", "output_path"]),
    "save_artifact": ("pyoco.core.context", "Context.save_artifact", ["self", "name", "data"]),
    "on_flow_start": ("pyoco.trace.backend", "TraceBackend.on_flow_start", ["self", "flow_name", "run_id"]),
    "on_node_error": ("pyoco.trace.backend", "TraceBackend.on_node_error", ["self", "node_name", "error"]),
}


@table(CALLS)
def first_parameters(lab: Lab, row: tuple[str, str, list[str]]) -> Observation:
    """Positional order and names; further parameters are ours to add."""
    target = importlib.import_module(row[0])
    for part in row[1].split("."):
        target = getattr(target, part)
    names = list(inspect.signature(target).parameters)  # type: ignore[arg-type]
    return {"names": names[: len(row[2])]}


@case()
def task_io_from_a_dict(lab: Lab) -> Observation:
    from pyoco.core.models import TaskIO

    one = TaskIO.from_dict({"name": "x", "type": "int", "required": True, "constraints": ["> 0"]})
    return {"fields": [one.name, one.type, one.required, one.constraints]}
