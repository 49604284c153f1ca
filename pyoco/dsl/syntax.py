"""The Python way to write a flow."""

from pyoco.engine.dsl import Branch, FlowFragment, Parallel, TaskWrapper, switch, task

__all__ = ["Branch", "FlowFragment", "Parallel", "TaskWrapper", "switch", "task"]
