"""`pyoco run` through pipes: parameters, trace, results, failures, answers."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.e2e.cli_runner import EXAMPLES, MODULE, SCRIPT, environment, project, pyoco

ECHO = """
tasks:
  echo: {callable: "tasks:echo"}
flow:
  graph: echo
  defaults: {text: default, other: kept}
"""
ECHO_TASKS = """
def echo(text, other):
    return [text, other]
"""
APPROVAL = """
tasks:
  ok: {use: pyoco/approval, inputs: {prompt: "Go on?"}}
  after: {callable: "tasks:after"}
flow:
  graph: ok >> after
"""
APPROVAL_TASKS = """
def after(ok):
    return {"payload": ok}
"""


def result_of(*arguments: str | Path, **more: str) -> object:
    done = pyoco("run", *arguments, "--json", **more)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["output"]


@pytest.mark.parametrize("command", [MODULE, SCRIPT], ids=["module", "script"])
def test_a_flow_runs_from_any_directory(tmp_path: Path, command: list[str]) -> None:
    done = pyoco("run", EXAMPLES / "hello" / "flow.yaml", cwd=tmp_path, command=command)
    assert done.returncode == 0
    assert "HELLO, WORLD!" in done.stdout
    assert "COMPLETED" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("command", [MODULE, SCRIPT], ids=["module", "script"])
def test_tasks_are_found_in_the_working_directory_too(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "here.py").write_text("def where(): return 'here'\n")
    flow = project(tmp_path / "sub", "tasks: {where: {callable: 'here:where'}}\nflow: {graph: where}\n")
    assert result_of(flow, cwd=tmp_path, command=command) == "here"


def test_the_directory_of_the_flow_wins_over_the_working_directory(tmp_path: Path) -> None:
    flow = project(tmp_path / "sub", ECHO, ECHO_TASKS)
    (tmp_path / "tasks.py").write_text("raise RuntimeError('the wrong module')\n")
    assert result_of(flow, cwd=tmp_path) == ["default", "kept"]


def test_the_flow_can_be_given_with_config_as_existing_users_do(tmp_path: Path) -> None:
    flow = project(tmp_path, ECHO, ECHO_TASKS)
    done = pyoco("run", "--config", flow, "--trace")
    assert done.returncode == 0
    assert "start node=echo" in done.stdout
    assert pyoco("run", flow, "--config", "other.yaml").returncode == 1


def test_the_trace_is_cute_unless_told_otherwise(tmp_path: Path) -> None:
    flow = project(tmp_path, ECHO, ECHO_TASKS)
    assert "🏃 start node=echo" in pyoco("run", flow).stdout
    assert "INFO pyoco start node=echo" in pyoco("run", flow, PYOCO_CUTE="0").stdout
    assert "INFO pyoco start node=echo" in pyoco("run", flow, "--non-cute").stdout
    assert "🏃 start node=echo" in pyoco("run", flow, "--cute", PYOCO_CUTE="0").stdout


def test_no_trace_leaves_only_the_result(tmp_path: Path) -> None:
    done = pyoco("run", project(tmp_path, ECHO, ECHO_TASKS), "--no-trace")
    assert "node=echo" not in done.stdout
    assert "COMPLETED" in done.stdout


def test_params_win_over_the_params_file_which_wins_over_defaults(tmp_path: Path) -> None:
    flow = project(tmp_path, ECHO, ECHO_TASKS)
    params = tmp_path / "params.yaml"
    params.write_text("text: [1, 2]\nother: file\n")
    assert result_of(flow, "--params-file", params) == [[1, 2], "file"]
    assert result_of(flow, "--params-file", params, "--param", "other=a=b") == [[1, 2], "a=b"]


def test_a_parameter_without_a_value_is_passed_over_with_a_warning(tmp_path: Path) -> None:
    done = pyoco("run", project(tmp_path, ECHO, ECHO_TASKS), "--param", "text", "--param", "=x")
    assert done.returncode == 0
    assert "Warning: --param 'text' is ignored; write --param text=value" in done.stderr
    assert "Warning: --param '=x' is ignored" in done.stderr


def test_a_params_file_may_be_json_from_standard_input(tmp_path: Path) -> None:
    flow = project(tmp_path, ECHO, ECHO_TASKS)
    assert result_of(flow, "--params-file", "-", input='{\n\t"text": "ü"\n}') == ["ü", "kept"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--params-file", "nowhere.yaml"], "nowhere.yaml: No such file"),
        (["--params-file", "list.yaml"], "list.yaml must be a mapping"),
        (["--params-file", "broken.yaml"], "broken.yaml:2:1: not valid YAML"),
        (["--answer", "echo=yes"], "is not JSON"),
        (["--answer", "eco=1"], "did you mean 'echo'?"),
    ],
)
def test_a_bad_option_value_is_explained_before_anything_runs(
    tmp_path: Path, arguments: list[str], complaint: str
) -> None:
    flow = project(tmp_path, ECHO, ECHO_TASKS)
    (tmp_path / "list.yaml").write_text("- 1\n")
    (tmp_path / "broken.yaml").write_text("a: [\n")
    done = pyoco("run", flow, *arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_json_is_the_only_thing_on_standard_output(tmp_path: Path) -> None:
    flow = project(
        tmp_path,
        "tasks: {noisy: {callable: 'tasks:noisy'}}\nflow: {graph: noisy}\n",
        """
        import os, subprocess
        print("while importing")
        def noisy():
            print("from the task")
            subprocess.run(["echo", "from a child"], check=True)
            return {"set": {1}, "nan": float("nan"), "plain": [None, "ä"]}
        """,
    )
    done = pyoco("run", flow, "--json")
    document = json.loads(done.stdout)
    assert document["status"] == "COMPLETED"
    assert document["output"] == {"set": "{1}", "nan": "nan", "plain": [None, "ä"]}
    assert document["results"]["noisy"] == document["output"]
    assert document["tasks"]["noisy"]["state"] == "SUCCEEDED"
    assert document["tasks"]["noisy"]["attempts"] == 1
    assert document["tasks"]["noisy"]["duration_ms"] > 0
    assert document["run_id"]
    for text in ("while importing", "from the task", "from a child"):
        assert text in done.stderr


FAILING = """
tasks:
  fine: {callable: "tasks:fine"}
  bad: {callable: "tasks:bad"}
flow:
  graph: fine >> bad
"""
FAILING_TASKS = """
def fine(): return 1
def helper(): return {}["gone"]
def bad():
    try:
        helper()
    except KeyError as exc:
        raise RuntimeError("cannot go on") from exc
"""


def test_a_failure_names_the_node_and_shows_only_the_users_frames(tmp_path: Path) -> None:
    done = pyoco("run", project(tmp_path, FAILING, FAILING_TASKS))
    assert done.returncode == 1
    assert "Error executing flow: cannot go on" in done.stderr
    assert "Failed node: bad" in done.stderr
    assert 'tasks.py", line 3, in helper' in done.stderr
    assert "KeyError: 'gone'" in done.stderr
    assert "performer.py" not in done.stderr
    assert "Traceback" not in done.stderr
    assert "FAILED" in done.stdout


def test_a_failure_appears_in_the_json_too(tmp_path: Path) -> None:
    done = pyoco("run", project(tmp_path, FAILING, FAILING_TASKS), "--json")
    document = json.loads(done.stdout)
    assert done.returncode == 1
    assert document["status"] == "FAILED"
    assert document["error"] == "RuntimeError: cannot go on"
    assert document["tasks"]["bad"]["error"] == "cannot go on"
    assert "Error executing flow: cannot go on" in done.stderr


def test_a_missing_argument_is_a_failure_without_any_frames(tmp_path: Path) -> None:
    done = pyoco("run", project(tmp_path, ECHO.replace("text: default, ", ""), ECHO_TASKS))
    assert done.returncode == 1
    assert "missing 1 required" in done.stderr
    assert "In your code" not in done.stderr


def test_isolated_failures_are_mentioned_and_exit_with_0(tmp_path: Path) -> None:
    flow = FAILING.replace('"tasks:bad"', '"tasks:bad", fail_policy: isolate, retries: 1')
    done = pyoco("run", project(tmp_path, flow, FAILING_TASKS))
    assert done.returncode == 0
    assert "Failed without stopping the flow: bad" in done.stdout
    assert "retry node=bad attempt 1 failed" in done.stdout


def test_parallel_tasks_do_not_print_into_each_others_lines(tmp_path: Path) -> None:
    names = [f"t{number}" for number in range(8)]
    flow = "tasks:\n" + "".join(f"  {name}: {{callable: 'tasks:talk'}}\n" for name in names)
    flow += f"flow:\n  graph: flow >> ({' & '.join(names)})\n"
    tasks = "def talk():\n    for n in range(200): print('word', n)\n"
    done = pyoco("run", project(tmp_path, flow, tasks))
    spoken = [line for line in done.stdout.splitlines() if "word" in line]
    assert len(spoken) == 1600
    assert set(spoken) == {f"word {number}" for number in range(200)}


def test_a_reader_that_leaves_early_does_not_fail_the_run(tmp_path: Path) -> None:
    flow = project(
        tmp_path,
        "tasks: {talk: {callable: 'tasks:talk'}}\nflow: {graph: 'repeat(count=50) { talk }'}\n",
        """
        import pathlib
        def talk(ctx):
            print("x" * 10000)
            pathlib.Path("count").write_text(str(ctx.loop.iteration))
        """,
    )
    process = subprocess.Popen(
        [*MODULE, "run", str(flow)],
        cwd=tmp_path,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    complaints = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 0
    assert complaints == b""
    assert (tmp_path / "count").read_text() == "50"


def test_a_wait_that_nobody_can_answer_says_how_to(tmp_path: Path) -> None:
    done = pyoco("run", project(tmp_path, APPROVAL, APPROVAL_TASKS))
    assert done.returncode == 1
    assert "--answer ok=JSON" in done.stderr
    assert "Go on?" in done.stderr
    assert "WAITING" in done.stdout


def test_a_wait_without_answer_is_visible_in_the_json(tmp_path: Path) -> None:
    done = pyoco("run", project(tmp_path, APPROVAL, APPROVAL_TASKS), "--json")
    document = json.loads(done.stdout)
    assert done.returncode == 1
    assert document["status"] == "WAITING"
    assert document["waiting"] == [{"node": "ok", "key": "approval", "prompt": "Go on?"}]


@pytest.mark.parametrize(
    ("option", "payload"), [("ok", None), ("ok=", None), ('ok={"a": [1]}', {"a": [1]}), ("ok=true", True)]
)
def test_an_answer_of_the_command_line_lets_the_run_go_on(tmp_path: Path, option: str, payload: object) -> None:
    flow = project(tmp_path, APPROVAL, APPROVAL_TASKS)
    assert result_of(flow, "--answer", option) == {"payload": payload}


def test_a_rejection_fails_the_run_with_its_reason(tmp_path: Path) -> None:
    done = pyoco("run", project(tmp_path, APPROVAL, APPROVAL_TASKS), "--reject", "ok=too early")
    assert done.returncode == 1
    assert "Error executing flow: the wait for 'approval' was rejected: too early" in done.stderr


def test_each_answer_serves_once_in_the_order_given(tmp_path: Path) -> None:
    flow = project(
        tmp_path,
        """
        tasks: {ok: {use: pyoco/approval}}
        flow: {graph: "repeat(count=2, collect=list) { ok }"}
        """,
    )
    done = pyoco("run", flow, "--answer", "ok=1", "--answer", "ok=2", "--json")
    assert json.loads(done.stdout)["results"]["ok"] == 2
    assert pyoco("run", flow, "--answer", "ok=1").returncode == 1
    both = pyoco("run", flow, "--answer", "repeat[1]/ok=2", "--answer", "repeat[0]/ok=1")
    assert both.returncode == 0


def test_an_answer_that_was_not_needed_is_mentioned(tmp_path: Path) -> None:
    done = pyoco("run", project(tmp_path, APPROVAL, APPROVAL_TASKS), "--answer", "ok", "--answer", "after=1")
    assert done.returncode == 0
    assert "the answer for 'after' was not needed" in done.stderr
