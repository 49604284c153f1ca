"""What is said when settings are wrong: which one, where it came from, its value unless secret, what is allowed."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import PyocoError, catalogue


class SettingsError(PyocoError):
    """The settings cannot be used; `problems` has one sentence for each thing that is wrong."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__(catalogue.INVALID_SETTINGS, "; ".join(problems))

    def __str__(self) -> str:
        """For a terminal: each problem on a line of its own."""
        return "\n  ".join([f"{self.kind.text.english}:", *self.problems])
