"""`pyoco check`: what it prints, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.cli_runner import EXAMPLES, project, pyoco

TASKS = """
import pathlib
print("noise while importing")
def a(needed): pathlib.Path("ran").touch()
def other(): pass
"""
SWITCH = """
tasks:
  a: {callable: "tasks:a", inputs: {needed: 1}}
  unused: {callable: "tasks:other"}
  gone: {callable: "nowhere:x"}
flow:
  graph: |
    switch(on={{mode}}) { x: a; }
    >> until(cond={{$ctx.params.done}}) { again: a }
"""


def test_a_sound_flow_is_ok() -> None:
    done = pyoco("check", "--config", EXAMPLES / "review" / "flow.yaml", "--dry-run")
    assert done.returncode == 0
    assert done.stdout == "Checking flow...\nStatus: ok\n"


def test_warnings_are_listed_and_exit_with_0(tmp_path: Path) -> None:
    done = pyoco("check", project(tmp_path, SWITCH, TASKS), cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("Checking flow...\nStatus: warning\n")
    assert "no default case" in done.stdout
    assert "'unused' is orphaned" in done.stdout
    assert "'gone' is not available: cannot import module 'nowhere'" in done.stdout
    assert "max_iter" not in done.stdout
    assert not (tmp_path / "ran").exists()


def test_a_dry_run_looks_at_loops_without_a_limit(tmp_path: Path) -> None:
    done = pyoco("check", project(tmp_path, SWITCH, TASKS), "--dry-run")
    assert done.returncode == 0
    assert "until has no max_iter" in done.stdout


def test_json_is_all_that_is_printed(tmp_path: Path) -> None:
    done = pyoco("check", project(tmp_path, SWITCH, TASKS), "--json")
    document = json.loads(done.stdout)
    assert set(document) == {"status", "warnings", "errors"}
    assert document["status"] == "warning"
    assert "noise while importing" in done.stderr


def test_errors_exit_with_1_and_in_a_dry_run_with_2(tmp_path: Path) -> None:
    flow = project(tmp_path, SWITCH.replace("x: a;", "x: a; x: b: a;"), TASKS)
    assert pyoco("check", flow).returncode == 1
    done = pyoco("check", flow, "--dry-run")
    assert done.returncode == 2
    assert "Status: error" in done.stdout
    assert "an earlier case has the value 'x'" in done.stdout


def test_a_crash_of_the_check_itself_exits_with_3(tmp_path: Path) -> None:
    tasks = """
    class Odd:
        __name__ = "odd"
        def __call__(self): pass
        @property
        def __signature__(self): raise RuntimeError("no signature today")
    a = Odd()
    """
    flow = project(tmp_path, "tasks: {a: {callable: 'tasks:a'}}\nflow: {graph: a}\n", tasks)
    done = pyoco("check", flow, "--json")
    assert done.returncode == 3
    assert "no signature today" in json.loads(done.stdout)["errors"][0]
    assert "Traceback" not in done.stderr
