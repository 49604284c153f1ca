"""Tasks, flows and the records of runs."""

from pyoco.engine.flow import Flow
from pyoco.engine.records import RunContext, RunStatus, TaskRecord, TaskState
from pyoco.engine.task import Task
from pyoco.engine.task_info import SupportFilters, SupportInfo, TaskInfo, TaskIO

__all__ = [
    "Flow",
    "RunContext",
    "RunStatus",
    "SupportFilters",
    "SupportInfo",
    "Task",
    "TaskIO",
    "TaskInfo",
    "TaskRecord",
    "TaskState",
]
