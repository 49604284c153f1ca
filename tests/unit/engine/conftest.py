"""Fixtures of the engine's tests."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest


class Project:
    """A directory on sys.path, to be filled with modules, flow files and installed distributions."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self._monkeypatch = monkeypatch

    def module(self, name: str, code: str) -> None:
        (self.root / f"{name}.py").write_text(textwrap.dedent(code), encoding="utf-8")

    def discover(self, modules: str) -> None:
        self._monkeypatch.setenv("PYOCO_DISCOVERY_MODULES", modules)

    def flow_file(self, text: str) -> str:
        path = self.root / "flow.yaml"
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return str(path)

    def distribution(self, name: str, version: str, entry_points: dict[str, str]) -> None:
        info = self.root / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
        lines = [f"{key} = {value}\n" for key, value in entry_points.items()]
        (info / "entry_points.txt").write_text("[pyoco.tasks]\n" + "".join(lines), encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    root = tmp_path / "project"
    root.mkdir()
    monkeypatch.syspath_prepend(str(root))
    monkeypatch.delenv("PYOCO_DISCOVERY_MODULES", raising=False)
    before = set(sys.modules)
    yield Project(root, monkeypatch)
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(root)):
            del sys.modules[name]
