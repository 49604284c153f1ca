"""The warning about the foreign distribution."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError

from pyoco.installation import conflict


def test_nothing_is_said_if_only_our_distribution_is_there() -> None:
    def version_of(name: str) -> str:
        if name == "pyoco-stack":
            return "0.1.0"
        raise PackageNotFoundError(name)

    assert conflict(version_of) is None


def test_a_foreign_distribution_is_named_with_its_version_and_the_repair_in_order() -> None:
    warning = conflict(lambda name: {"pyoco": "0.8.0"}[name])
    assert warning is not None
    assert "'pyoco' 0.8.0" in warning
    assert warning.index("pip uninstall pyoco\n") < warning.index("pip install --force-reinstall --no-deps pyoco-stack")
