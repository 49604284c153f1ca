"""Everything around the flow: help, version, graph, list-tasks, plugins, support, and the foreign distribution."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pyoco.version import __version__
from tests.e2e.cli_runner import EXAMPLES, MODULE, SCRIPT, environment, project, pyoco

HELLO = EXAMPLES / "hello" / "flow.yaml"
COMMANDS = [
    ["run"],
    ["check"],
    ["graph"],
    ["list-tasks"],
    ["plugins"],
    ["plugins", "list"],
    ["plugins", "lint"],
    ["support"],
    ["support", "tasks"],
    ["support", "task"],
    ["support", "guide"],
]


@pytest.fixture
def plugin(tmp_path: Path) -> str:
    """An installed plugin; the value is for PYTHONPATH."""
    info = tmp_path / "site" / "acme-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text("[pyoco.tasks]\nacme = acme_plugin:register\n")
    (tmp_path / "site" / "acme_plugin.py").write_text(
        "print('noise')\ndef add(x): return x + 1\ndef register(registry): registry.register_callable(add)\n"
    )
    return str(tmp_path / "site")


@pytest.mark.parametrize("command", [MODULE, SCRIPT], ids=["module", "script"])
def test_the_version_is_shown(command: list[str]) -> None:
    done = pyoco("--version", command=command)
    assert (done.returncode, done.stdout) == (0, f"pyoco {__version__}\n")


def test_without_a_command_there_is_help_and_exit_1() -> None:
    done = pyoco()
    assert done.returncode == 1
    assert done.stdout == pyoco("--help").stdout
    assert pyoco("--help").returncode == 0


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_help_of_each_command_has_an_example(command: list[str]) -> None:
    done = pyoco(*command, "--help")
    assert done.returncode == 0
    assert f"Example:\n    pyoco {' '.join(command)}" in done.stdout


def test_help_loads_neither_the_engine_nor_rich() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "pyoco", "--help"],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    imported = set(re.findall(r"\| +(\S+)$", done.stderr, re.MULTILINE))
    assert "typer" in imported
    assert not {name for name in imported if name.split(".")[0] in ("rich", "yaml", "asyncio", "pydantic")}
    assert "pyoco.engine" not in imported


@pytest.mark.parametrize(
    ("arguments", "complaint", "advice"),
    [
        (["frob"], "No such command 'frob'", "Try 'pyoco --help'"),
        (["run", "--frob"], "No such option: --frob", "Try 'pyoco run --help'"),
        (["run", "a", "b"], "unexpected extra argument", "Try 'pyoco run --help'"),
        (["plugins", "frob"], "No such command 'frob'", "Try 'pyoco plugins --help'"),
        (["run"], "the flow file is missing", "--help"),
        (["support", "task", "f.yaml"], "the name of the task is missing", "--name"),
    ],
)
def test_bad_arguments_exit_with_1_and_point_to_the_help(arguments: list[str], complaint: str, advice: str) -> None:
    done = pyoco(*arguments)
    assert done.returncode == 1
    assert complaint in done.stderr
    assert advice in done.stderr
    assert "Traceback" not in done.stderr


def test_graph_draws_with_boxes_ascii_or_mermaid() -> None:
    flow = EXAMPLES / "review" / "flow.yaml"
    drawn = pyoco("graph", flow)
    assert drawn.returncode == 0
    assert "┌─ switch on params.target" in drawn.stdout
    assert "sign_off ─▶ publish" in drawn.stdout
    plain = pyoco("graph", flow, "--ascii").stdout
    assert "sign_off -> publish" in plain
    assert plain.isascii()
    assert pyoco("graph", "--config", flow, "--mermaid").stdout.startswith("flowchart TD\n")


def test_graph_shows_only_the_drawing_even_if_modules_print(tmp_path: Path) -> None:
    flow = project(tmp_path, "tasks: {a: {callable: 'tasks:a'}}\nflow: {graph: a}\n", "print('noise')\ndef a(): pass\n")
    done = pyoco("graph", flow)
    assert done.stdout == "a\n"
    assert "noise" in done.stderr


def test_list_tasks_needs_no_flow(tmp_path: Path) -> None:
    flow = project(tmp_path, "tasks: {one: {callable: 'tasks:f'}, two: {use: one}}\n", "def f(): pass\n")
    done = pyoco("list-tasks", "--config", flow)
    assert (done.returncode, done.stdout) == (0, "Available tasks:\n - one\n - two\n")


def test_plugins_without_a_command_shows_help_and_exits_with_0() -> None:
    done = pyoco("plugins")
    assert done.returncode == 0
    assert "lint" in done.stdout


def test_plugins_list_names_version_module_and_tasks(plugin: str) -> None:
    done = pyoco("plugins", "list", PYTHONPATH=plugin)
    assert done.returncode == 0
    assert done.stdout.startswith("acme@1.2 (acme_plugin)\n  - add (callable)\n      warning: ")
    (report,) = json.loads(pyoco("plugins", "list", "--json", PYTHONPATH=plugin).stdout)
    assert report["name"] == "acme"


def test_plugins_lint_exits_with_1_if_there_are_issues(plugin: str) -> None:
    done = pyoco("plugins", "lint", PYTHONPATH=plugin)
    assert done.returncode == 1
    assert "acme: add: has no usage text" in done.stdout
    document = json.loads(pyoco("plugins", "lint", "--json", PYTHONPATH=plugin).stdout)
    assert document["issues"]
    assert [report["name"] for report in document["reports"]] == ["acme"]
    sound = pyoco("plugins", "lint")
    assert (sound.returncode, sound.stdout) == (0, "No issues.\n")


def test_support_describes_tasks_one_task_and_the_format(tmp_path: Path) -> None:
    assert "shout" in pyoco("support", "tasks", "--config", HELLO).stdout
    one = json.loads(pyoco("support", "task", HELLO, "--name", "greet", "--format", "json").stdout)
    assert [task["name"] for group in one["groups"] for task in group["tasks"]] == ["greet"]
    assert pyoco("support", "guide", "--format", "md").stdout.startswith("# ")
    target = tmp_path / "guide.md"
    assert pyoco("support", "guide", "--output", target).returncode == 0
    assert "flow.yaml" in target.read_text()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["tasks", str(HELLO), "--format", "xml"], "unknown format 'xml'"),
        (["task", str(HELLO), "--name", "grete"], "grete"),
        (["guide", "--output", "/proc/nowhere/x"], "cannot write"),
    ],
)
def test_problems_of_support_are_one_line(arguments: list[str], complaint: str) -> None:
    done = pyoco("support", *arguments)
    assert done.returncode == 1
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1


def test_support_without_a_command_shows_help_and_exits_with_1() -> None:
    done = pyoco("support")
    assert done.returncode == 1
    assert "guide" in done.stdout


def test_a_foreign_distribution_beside_ours_is_reported_with_the_repair(tmp_path: Path) -> None:
    info = tmp_path / "pyoco-0.8.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pyoco\nVersion: 0.8.0\n")
    done = pyoco("--version", PYTHONPATH=str(tmp_path))
    assert done.returncode == 0
    assert "pip uninstall pyoco\n" in done.stderr
    assert "pip install --force-reinstall --no-deps pyoco-stack" in done.stderr
    assert done.stdout == f"pyoco {__version__}\n"
