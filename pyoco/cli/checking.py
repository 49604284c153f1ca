"""What `pyoco check` finds out about a flow file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..engine.loading import FlowError, LoadedFlow, TaskCodeError, load_flow
from ..engine.validator import check_flow
from ..engine.yaml_source import DocumentError
from .failure import CHECK_CRASHED, CHECK_REFUSED_DRY_RUN, FAILED, OK, complain, unexpected
from .flow_file import explain
from .output import only_result_on_stdout, print_json


@dataclass(frozen=True)
class Finding:
    """`unreadable`: the file could not even be read as a flow file."""

    exit_code: int
    warnings: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    unreadable: bool = False

    @property
    def status(self) -> str:
        if self.errors:
            return "error"
        return "warning" if self.warnings else "ok"

    def to_dict(self) -> dict[str, Any]:
        return {"status": self.status, "warnings": self.warnings, "errors": self.errors}


def examine(path: str, dry_run: bool) -> Finding:
    error_code = CHECK_REFUSED_DRY_RUN if dry_run else FAILED
    try:
        # Modules may print while they are imported; that is not part of the finding.
        with only_result_on_stdout():
            loaded = load_flow(path)
    except (FlowError, TaskCodeError) as exc:
        return Finding(error_code, errors=[explain(exc, path)])
    except (DocumentError, OSError) as exc:
        return Finding(FAILED, errors=[explain(exc, path)], unreadable=True)
    try:
        return _judge(loaded, dry_run, error_code)
    except Exception as exc:  # noqa: BLE001 - a crash of the check has an exit code of its own
        return Finding(CHECK_CRASHED, errors=[f"the check itself failed: {unexpected(exc)}"])


def _judge(loaded: LoadedFlow, dry_run: bool, error_code: int) -> Finding:
    loader = loaded.loader
    report = check_flow(loaded.config, loader.tasks, loaded.flow, dry_run)
    missing = [f"task {name!r} is not available: {reason}" for name, reason in loader.missing.items()]
    warnings = [*missing, *report.warnings]
    return Finding(error_code if report.errors else OK, warnings, report.errors)


def show(finding: Finding, as_json: bool) -> int:
    """Prints what was found; the result is the exit code."""
    if as_json:
        print_json(finding.to_dict())
    elif finding.unreadable:
        complain(f"Error loading config: {finding.errors[0]}")
    else:
        print(f"Status: {finding.status}")
        for kind, texts in (("error", finding.errors), ("warning", finding.warnings)):
            for text in texts:
                print(f"  {kind}: {text}")
    return finding.exit_code
