"""The parts of a flow.yaml."""

from pyoco.engine.document import FlowConfig, PyocoConfig, RuntimeConfig, TaskConfig

__all__ = ["FlowConfig", "PyocoConfig", "RuntimeConfig", "TaskConfig"]
