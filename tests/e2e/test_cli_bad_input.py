"""Whatever is wrong with a flow file: a clear error that names the place, exit code 1, never a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.cli_runner import project, pyoco

TASK = "tasks:\n  a: {callable: 'tasks:a'}\n  b: {callable: 'tasks:a'}\n"
A = "def a(): return 1\n"

BAD_FILES = {
    "broken YAML": ("flow:\n  graph: a\n tasks: [\n", ["flow.yaml:3:2", "not valid YAML", "check the indentation"]),
    "unknown key": ("flow:\n  grap: a\n", ["flow.yaml:2:3", "flow.grap", "did you mean 'graph'?"]),
    "wrong type": ("tasks: [a]\nflow: {graph: a}\n", ["flow.yaml:1:1", "tasks", "must be a mapping"]),
    "forbidden key": ("flows: {}\n", ["flow.yaml:1:1", "flows", "write 'flow:'"]),
    "no flow": (TASK, ["flow.yaml", "there is no flow", "write 'flow:'"]),
}
BAD_FLOWS = {
    "unknown task": (
        TASK + "flow:\n  graph: |\n    a\n    >> aa\n",
        ["flow.yaml:5:3", "'aa'", "line 2, column 4", "'a'?"],
    ),
    "bad graph": (TASK + "flow:\n  graph: a >> % b\n", ["flow.yaml:5:3", "flow.graph", "line 1, column 6"]),
    "cycle": (TASK + "flow:\n  graph: |\n    a >> b\n    b >> a\n", ["flow.yaml:5:3", "a >> b >> a", "line 2"]),
    "bad expression": (
        TASK + "flow:\n  graph: until(cond={{$ctx.params.x.f()}}) { a }\n",
        ["flow.yaml:5:3", "a call is not allowed", "line 1, column 12"],
    ),
    "unknown pipe": (TASK + "pipes: {load: a}\nflow:\n  graph: pipe(laod)\n", ["flow.yaml:6:3", "'laod'", "'load'?"]),
    "unknown use": ("tasks: {a: {use: nope}}\nflow: {graph: a}\n", ["flow.yaml", "tasks.a", "'nope' does not exist"]),
    "module that is missing": (
        "tasks: {a: {callable: 'nowhere:a'}}\nflow: {graph: a}\n",
        ["flow.yaml:2:8", "tasks.a is declared, but not available", "No module named 'nowhere'"],
    ),
    "function that is missing": (
        "tasks: {x: {callable: 'tasks:aa'}}\nflow: {graph: x}\n",
        ["flow.yaml:2:8", "tasks.x is declared, but not available", "did you mean 'a'?"],
    ),
}
BAD_CODE = {
    "syntax error": ("def a(: pass\n", ["SyntaxError", "tasks.py, line 1"]),
    "error at import": ("x = 1\ny = x / 0\n", ["ZeroDivisionError: division by zero", "tasks.py, line 2", "y = x / 0"]),
    "exit at import": ("import sys\nsys.exit(0)\n", ["SystemExit: 0", "tasks.py, line 2"]),
    "value error at import": ("raise ValueError('mine')\n", ["ValueError: mine", "tasks.py, line 1"]),
    "bad decorator": ("from pyoco import task\n@task(retries=-1)\ndef a(): pass\n", ["retries", "tasks.py, line 2"]),
}


def cases(table: dict[str, tuple[str, list[str]]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("text", "expected"), table.values(), ids=table.keys())


def refused(path: Path, expected: list[str]) -> None:
    for command in ("run", "graph"):
        done = pyoco(command, path)
        assert done.returncode == 1
        assert done.stderr.startswith(("Error loading config: ", "Error executing flow: ", "Error: task "))
        assert done.stdout == ""
        for part in expected:
            assert part in done.stderr
        assert "Traceback" not in done.stderr


def found_by_check(path: Path, exit_code: int, expected: list[str]) -> None:
    done = pyoco("check", path, "--json", "--dry-run")
    assert done.returncode == exit_code
    document = json.loads(done.stdout)
    assert document["status"] == "error"
    for part in expected:
        assert part in document["errors"][0]


@cases(BAD_FILES)
def test_a_bad_file_is_refused_with_its_place(tmp_path: Path, text: str, expected: list[str]) -> None:
    path = project(tmp_path, text, A)
    refused(path, expected)
    found_by_check(path, 1, expected)


@cases(BAD_FLOWS)
def test_a_bad_flow_is_refused_with_its_place(tmp_path: Path, text: str, expected: list[str]) -> None:
    path = project(tmp_path, text, A)
    refused(path, expected)
    found_by_check(path, 2, expected)


@cases(BAD_CODE)
def test_code_that_cannot_be_imported_is_shown_without_our_frames(
    tmp_path: Path, text: str, expected: list[str]
) -> None:
    path = project(tmp_path, TASK + "flow: {graph: a}\n", text)
    refused(path, expected)
    assert "loader.py" not in pyoco("run", path).stderr
    found_by_check(path, 2, expected)
    for command in (["list-tasks"], ["support", "tasks"]):
        done = pyoco(*command, path)
        assert done.returncode == 1
        assert expected[0] in done.stderr
        assert "Traceback" not in done.stderr


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    refused(tmp_path / "nowhere.yaml", ["nowhere.yaml", "No such file"])
    refused(tmp_path, [str(tmp_path), "directory"])


def test_a_task_that_cannot_be_imported_is_harmless_if_unused(tmp_path: Path) -> None:
    flow = TASK + "  gone: {callable: 'nowhere:x'}\nflow: {graph: a}\n"
    done = pyoco("run", project(tmp_path, flow, A))
    assert done.returncode == 0
    assert "'gone' is not available" in done.stderr


def test_a_graph_that_is_nested_too_deeply_is_explained_without_any_trace(tmp_path: Path) -> None:
    flow = project(tmp_path, f"flow:\n  graph: {'(' * 80}a{')' * 80}\n", "")
    done = pyoco("run", flow)
    assert done.returncode == 1
    assert "In your code" not in done.stderr
    assert "Traceback" not in done.stderr
