"""What a run came to, for people and for programs."""

from __future__ import annotations

import json
import time
from typing import Any

from ..engine.records import RunStatus, TaskState
from .answers import how_to_answer
from .board import duration
from .failure import FAILED, INTERRUPTED, OK, complain, describe, user_trace
from .output import plain
from .session import Outcome

_MAX_OUTPUT_CHARS = 2000
WAITING = "WAITING"


def exit_code(outcome: Outcome) -> int:
    status = outcome.execution.run_context.status
    if status is RunStatus.CANCELLED:
        return INTERRUPTED
    return OK if status is RunStatus.COMPLETED else FAILED


def status_of(outcome: Outcome) -> str:
    return WAITING if outcome.waits else outcome.execution.run_context.status.value


def as_document(outcome: Outcome) -> dict[str, Any]:
    """The result as `--json` prints it."""
    run, ctx = outcome.execution.run_context, outcome.execution.ctx
    failure = outcome.execution.failure
    return {
        "run_id": run.run_id,
        "status": status_of(outcome),
        "duration_ms": _seconds(outcome) * 1000,
        "error": None if failure is None else describe(failure),
        "output": plain(ctx.output),
        "results": plain(dict(ctx.results)),
        "artifacts": {name: entry["path"] for name, entry in ctx.artifacts.items()},
        "waiting": [{"node": wait.path, "key": wait.key, "prompt": wait.prompt} for wait in outcome.waits],
        "tasks": {
            name: {
                "state": record.state.value,
                "error": record.error,
                "duration_ms": record.duration_ms,
                "attempts": len(record.attempts),
            }
            for name, record in run.task_records.items()
        },
    }


def tell(outcome: Outcome) -> None:
    """The closing words for a person: how it went on standard output, what went wrong on standard error."""
    run, ctx = outcome.execution.run_context, outcome.execution.ctx
    print(f"{status_of(outcome)} in {duration(_seconds(outcome))}")
    if ctx.output is not None:
        print(f"Output: {_shown(ctx.output)}")
    for name, entry in ctx.artifacts.items():
        print(f"Artifact: {name} -> {entry['path']}")
    isolated = [name for name, state in run.tasks.items() if state is TaskState.FAILED]
    if run.status is RunStatus.COMPLETED and isolated:
        print(f"Failed without stopping the flow: {', '.join(isolated)}")


def complain_about(outcome: Outcome) -> None:
    if outcome.waits:
        complain(how_to_answer(outcome.waits))
    failure, run = outcome.execution.failure, outcome.execution.run_context
    if failure is not None and run.status is RunStatus.FAILED:
        # The text of a KeyError is only the key.
        message = describe(failure) if isinstance(failure, KeyError) or not str(failure) else str(failure)
        complain(f"Error executing flow: {message}")
        failed = [name for name, record in run.task_records.items() if record.error == str(failure)]
        if failed:
            complain(f"Failed node: {', '.join(failed)}")
        if trace := user_trace(failure):
            complain(trace)


def _seconds(outcome: Outcome) -> float:
    run = outcome.execution.run_context
    return (run.end_time or time.time()) - run.start_time


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(plain(value), indent=2, ensure_ascii=False)
    if len(text) <= _MAX_OUTPUT_CHARS:
        return text
    return f"{text[:_MAX_OUTPUT_CHARS]}\n… ({len(text)} characters; --json prints all of it)"
