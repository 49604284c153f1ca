"""What the README says, done as it says it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)
SHELL = [text for language, text in BLOCKS if language == "sh"]


def block(marker: str) -> str:
    """The one code block that begins with a `# file name` comment."""
    (found,) = [text for _, text in BLOCKS if text.startswith(f"# {marker}\n")]
    return found


def shell(commands: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Runs commands as the README's reader would, with our environment's `pyoco` on the path."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    return subprocess.run(["bash", "-ec", commands], cwd=cwd, env=environment, capture_output=True, text=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy to run in, so that tests in parallel do not share a directory."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path


def test_the_two_files_of_the_readme_make_a_flow_that_runs(tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text(block("tasks.py"), "utf-8")
    (tmp_path / "flow.yaml").write_text(block("flow.yaml"), "utf-8")
    (commands,) = [text for text in SHELL if "pyoco run flow.yaml" in text]
    done = shell(commands, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Kyoto: 21 °C" in done.stdout


def test_the_hello_example_runs_as_written(checkout: Path) -> None:
    (commands,) = [text for text in SHELL if "examples/hello" in text]
    done = shell(commands.replace(". .venv/bin/activate\n", ""), checkout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Ada" in done.stdout


def test_make_up_runs_the_hello_flow() -> None:
    # The stamp counts as up to date: installing anew would pull the environment away from under this very test.
    done = subprocess.run(["make", "-o", ".venv/.installed", "up"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "HELLO, WORLD!" in done.stdout


def test_make_knows_the_targets_that_the_readme_names() -> None:
    named = set(re.findall(r"\bmake ([a-z-]+)", README))
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {target for target in named if f"make {target}\t" not in listed} <= {"help"}


def test_every_link_of_the_documents_leads_to_a_file() -> None:
    for document in [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text("utf-8")):
            if not target.startswith("http"):
                assert (document.parent / target).exists(), f"{document.name} links to {target}"
