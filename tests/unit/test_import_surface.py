"""Every name that existing user code imports is there, and is the engine's own object."""

from __future__ import annotations

import importlib

import pytest

SURFACE = {
    "pyoco": "task Flow run support Task Engine ConsoleTraceBackend",
    "pyoco.core.models": "Task Flow RunContext RunStatus TaskState TaskRecord "
    "TaskIO TaskInfo SupportFilters SupportInfo",
    "pyoco.core.engine": "Engine",
    "pyoco.core.context": "Context LoopFrame LoopStack",
    "pyoco.core.base_task": "BaseTask",
    "pyoco.core.exceptions": "ControlFlowError UntilMaxIterationsExceeded SwitchNoMatch InvalidReferenceError "
    "SupportInfoError InvalidFormatError TaskNotFoundError InvalidFilterError OutputWriteError "
    "MissingTaskMetadataError",
    "pyoco.dsl": "task",
    "pyoco.dsl.syntax": "task switch TaskWrapper FlowFragment Branch Parallel",
    "pyoco.dsl.expressions": "Expression ensure_expression ExpressionSyntaxError ExpressionEvaluationError",
    "pyoco.dsl.graph": "build_flow_from_graph parse_graph resolve_pipe_refs validate_graph_terms "
    "GraphSyntaxError GraphReferenceError GraphValidationError",
    "pyoco.dsl.nodes": "DSLNode TaskNode SubFlowNode RepeatNode ForEachNode UntilNode CaseNode SwitchNode",
    "pyoco.dsl.validator": "FlowValidator",
    "pyoco.schemas.config": "PyocoConfig FlowConfig TaskConfig RuntimeConfig",
    "pyoco.discovery.loader": "TaskLoader",
    "pyoco.discovery.plugins": "PluginRegistry CallablePluginTask iter_entry_points list_available_plugins",
    "pyoco.trace.backend": "TraceBackend",
    "pyoco.trace.console": "ConsoleTraceBackend",
    "pyoco.support": "SupportInfoService build",
}
NAMES = [(module, name) for module, names in SURFACE.items() for name in names.split()]
ROOMS = [module for module in SURFACE if module != "pyoco"]


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_the_name_can_be_imported(module: str, name: str) -> None:
    assert hasattr(importlib.import_module(module), name)


@pytest.mark.parametrize("module", ROOMS)
def test_a_room_offers_nothing_but_names_of_the_engine(module: str) -> None:
    room = importlib.import_module(module)
    assert set(SURFACE[module].split()) <= set(room.__all__)
    for name in room.__all__:
        assert getattr(room, name).__module__.startswith("pyoco.engine.")


def test_support_of_the_package_is_a_module_that_builds() -> None:
    import pyoco

    assert callable(pyoco.support.build)
    assert set(pyoco.__all__) >= {"task", "Flow", "run", "support"}
