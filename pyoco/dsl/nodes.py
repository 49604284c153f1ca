"""The written structure of a flow."""

from pyoco.engine.nodes import (
    CaseNode,
    DSLNode,
    ForEachNode,
    ParallelNode,
    RepeatNode,
    SubFlowNode,
    SwitchNode,
    TaskNode,
    UntilNode,
)

__all__ = [
    "CaseNode",
    "DSLNode",
    "ForEachNode",
    "ParallelNode",
    "RepeatNode",
    "SubFlowNode",
    "SwitchNode",
    "TaskNode",
    "UntilNode",
]
