"""What a check found: errors and warnings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class ValidationReport:
    """All findings, as text."""

    warnings: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def status(self) -> str:
        if self.errors:
            return "error"
        return "warning" if self.warnings else "ok"

    def to_dict(self) -> dict[str, Any]:
        return {"status": self.status, "warnings": list(self.warnings), "errors": list(self.errors)}
