"""The wheel: what is in it, and that it works where nothing else of the checkout is."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from pyoco.version import __version__

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", str(target), str(ROOT)], check=True, capture_output=True)
    (built,) = target.glob("*.whl")
    return built


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    assert wheel.name.startswith(f"pyoco_stack-{__version__}-")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"pyoco", f"pyoco_stack-{__version__}.dist-info"}
    assert "pyoco/py.typed" in names
    assert not [name for name in names if "test" in name or name.endswith(".pyc")]


def test_an_installed_wheel_runs_a_flow(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "fresh", with_pip=False)
    python = tmp_path / "fresh" / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    (tmp_path / "work.py").write_text("def greet(name):\n    return f'hello {name}'\n", "utf-8")
    flow = 'flow: {graph: greet, defaults: {name: wheel}}\ntasks: {greet: {callable: "work:greet"}}\n'
    (tmp_path / "flow.yaml").write_text(flow, "utf-8")
    # The libraries come from our own environment; `pyoco` itself only from the wheel.
    environment = {**os.environ, "PYTHONPATH": sysconfig.get_paths()["purelib"]}
    command = [str(python.parent / "pyoco"), "run", "flow.yaml", "--json"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert '"hello wheel"' in done.stdout
