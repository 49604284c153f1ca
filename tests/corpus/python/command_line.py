"""§12 `python -m pyoco …`: exit codes and the facts in the output, not its wording."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from observe import HERE, Lab, Observation, case, table

OK = """
flow:
  graph: first >> second
  defaults: {x: 4}
tasks:
  first: {callable: "corpus_tasks:increment"}
  second: {callable: "corpus_tasks:echo", inputs: {x: "$node.first.output"}}
"""
FAILING = """
flow: {graph: first >> broken}
tasks:
  first: {callable: "corpus_tasks:one"}
  broken: {callable: "corpus_tasks:boom"}
"""
UNKNOWN = """
flow: {graph: first >> nowhere}
tasks:
  first: {callable: "corpus_tasks:one"}
"""
WARNING = """
flow: {graph: "switch(on=k){ x: first } >> until(cond={{ params.q }}){ first }"}
tasks:
  first: {callable: "corpus_tasks:one"}
"""
DUPLICATE = """
flow: {graph: "switch(on=k){ x: first; x: second; default: second }"}
tasks:
  first: {callable: "corpus_tasks:one"}
  second: {callable: "corpus_tasks:one"}
"""
ISOLATED = """
from pyoco.core.models import Task

fragile = Task(func=lambda: 1 / 0, name="fragile", fail_policy="isolate")
"""
NO_FLOW = 'tasks: {first: {callable: "corpus_tasks:one"}}\n'


def pyoco(lab: Lab, *arguments: str, config: str | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pyoco", *arguments]
    if config is not None:
        command += ["--config", str(lab.write("flow.yaml", config))]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYOCO_")} | environ
    paths = [str(HERE), environment.get("PYTHONPATH", "")]
    environment |= {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "PYTHONUTF8": "1"}
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
        cwd=lab.scratch,
        env=environment,
    )


def says(done: subprocess.CompletedProcess[str], *words: str) -> dict[str, bool]:
    """Whether each word is said at all: which of the two streams says it is not part of the contract."""
    return {word: word in done.stdout + done.stderr for word in words}


@case()
def run_succeeds(lab: Lab) -> Observation:
    done = pyoco(lab, "run", config=OK)
    return {
        "code": done.returncode,
        "says": says(done, "🐇", "start node=first", "done node=second", "🥕", "Traceback"),
    }


@case()
def run_non_cute(lab: Lab) -> Observation:
    done = pyoco(lab, "run", "--non-cute", config=OK)
    return {
        "code": done.returncode,
        "says": says(done, "INFO pyoco start flow=main", "INFO pyoco end node=second", "🐇"),
    }


@case(fixed="Q28", expect={"code": 0, "says": {"INFO pyoco start flow=main": True, "🐇": False}})
def run_obeys_the_style_of_the_environment(lab: Lab) -> Observation:
    done = pyoco(lab, "run", config=OK, PYOCO_CUTE="0")
    return {"code": done.returncode, "says": says(done, "INFO pyoco start flow=main", "🐇")}


SHOW = 'flow: {graph: show}\ntasks: {show: {callable: "corpus_cli:show"}}\n'
SHOW_TASK = "def show(x, y='unset'):\n    print('got', repr(x), repr(y))\n"


@case()
def run_params_stay_text(lab: Lab) -> Observation:
    lab.write("corpus_cli.py", SHOW_TASK)
    done = pyoco(lab, "run", "--param", "x=1", "--param", "y=a=b", config=SHOW)
    return {"code": done.returncode, "says": says(done, "got '1' 'a=b'")}


@case()
def run_param_without_a_value_is_ignored(lab: Lab) -> Observation:
    lab.write("corpus_cli.py", SHOW_TASK)
    done = pyoco(lab, "run", "--param", "x=1", "--param", "y", config=SHOW)
    return {"code": done.returncode, "says": says(done, "got '1' 'unset'")}


@case()
def run_of_a_failing_flow(lab: Lab) -> Observation:
    """The traceback goes to stderr; how much of it is shown is ours, the user's own line must be."""
    done = pyoco(lab, "run", config=FAILING)
    traceback = [word in done.stderr for word in ("corpus_tasks.py", "in boom", "ValueError")]
    return {
        "code": done.returncode,
        "says": says(done, "Error executing flow: boom", "error node=broken boom"),
        "traceback": traceback,
    }


@case()
def run_of_an_unknown_task(lab: Lab) -> Observation:
    done = pyoco(lab, "run", config=UNKNOWN)
    return {"code": done.returncode, "says": says(done, "nowhere", "start node")}


@case()
def run_without_a_flow(lab: Lab) -> Observation:
    return {"code": pyoco(lab, "run", config=NO_FLOW).returncode}


@case()
def run_of_a_missing_file(lab: Lab) -> Observation:
    done = pyoco(lab, "run", "--config", "nope.yaml")
    return {"code": done.returncode, "says": says(done, "Error loading config:", "nope.yaml")}


@case()
def run_with_an_isolated_failure_exits_zero(lab: Lab) -> Observation:
    lab.write("corpus_cli.py", ISOLATED)
    done = pyoco(lab, "run", config="flow: {graph: fragile}\n", PYOCO_DISCOVERY_MODULES="corpus_cli")
    return {"code": done.returncode, "says": says(done, "error node=fragile", "Traceback")}


@case(fixed="Q29", expect={"code": 1, "says": {"Traceback": False, "division by zero": True}})
def broken_discovery_module_is_one_line(lab: Lab) -> Observation:
    lab.write("corpus_cli.py", "1 / 0\n")
    done = pyoco(lab, "list-tasks", config=OK, PYOCO_DISCOVERY_MODULES="corpus_cli")
    return {"code": done.returncode, "says": says(done, "Traceback", "division by zero")}


CHECKS: dict[str, tuple[str, tuple[str, ...]]] = {
    "ok": (OK, ()),
    "error": (UNKNOWN, ()),
    "error_dry_run": (UNKNOWN, ("--dry-run",)),
    "warning": (WARNING, ()),
    "duplicate": (DUPLICATE, ()),
    "duplicate_dry_run": (DUPLICATE, ("--dry-run",)),
}


@table(CHECKS)
def check(lab: Lab, row: tuple[str, tuple[str, ...]]) -> Observation:
    done = pyoco(lab, "check", *row[1], config=row[0])
    return {
        "code": done.returncode,
        "says": says(done, "Checking flow...", "Status: ok", "Status: warning", "Status: error"),
    }


@case()
def check_without_a_flow(lab: Lab) -> Observation:
    return {"code": pyoco(lab, "check", config=NO_FLOW).returncode}


@case(fixed="Q29", expect={"code": 0, "keys": ["errors", "status", "warnings"], "status": "warning", "errors": []})
def check_json_is_json(lab: Lab) -> Observation:
    done = pyoco(lab, "check", "--json", config=WARNING)
    answer: Any = json.loads(done.stdout)
    return {"code": done.returncode, "keys": sorted(answer), "status": answer["status"], "errors": answer["errors"]}


@case()
def list_tasks(lab: Lab) -> Observation:
    done = pyoco(lab, "list-tasks", config=OK)
    return {"code": done.returncode, "lines": done.stdout.splitlines()}


@case()
def plugins_without_plugins(lab: Lab) -> Observation:
    listed, linted = pyoco(lab, "plugins", "list", "--json"), pyoco(lab, "plugins", "lint", "--json")
    return {
        "codes": [listed.returncode, linted.returncode],
        "list": json.loads(listed.stdout),
        "lint": json.loads(linted.stdout),
    }


@case()
def support_guide(lab: Lab) -> Observation:
    done = pyoco(lab, "support", "guide", "--format", "json", config=OK)
    return {"code": done.returncode, "kind": json.loads(done.stdout)["kind"]}


@case()
def support_of_an_unknown_task(lab: Lab) -> Observation:
    done = pyoco(lab, "support", "task", "--name", "nope", config=OK)
    return {"code": done.returncode, "says": says(done, "nope", "Traceback")}
