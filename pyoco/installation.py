"""Notices when the distribution `pyoco` of the package index stands beside ours and fights for the same files."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

OURS = "pyoco-stack"
FOREIGN = "pyoco"


def conflict(version_of: Callable[[str], str] = version) -> str | None:
    """What to tell the user if a foreign distribution owns the import package `pyoco` too; None if all is well."""
    try:
        foreign = version_of(FOREIGN)
    except PackageNotFoundError:
        return None
    return (
        f"Warning: the distribution {FOREIGN!r} {foreign} is installed beside {OURS!r}. It is another project that "
        f"uses the same import package, so each overwrites files of the other.\n"
        f"Repair it with:\n"
        f"  python -m pip uninstall {FOREIGN}\n"
        f"  python -m pip install --force-reinstall --no-deps {OURS}"
    )
