"""`pyoco run` on a terminal: the live display, and questions to the person in front of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.cli_runner import EXAMPLES, Terminal, project

FLOW = """
tasks:
  noisy: {callable: "tasks:noisy"}
  waits: {callable: "tasks:waits"}
flow:
  graph: "foreach(over={{items}}, item=item) { noisy } >> waits"
  defaults: {items: [1, 2]}
"""
TASKS = """
import os, pathlib, subprocess, sys, time
def noisy(item, ctx):
    print("printed", item)
    print("complained", file=sys.stderr)
    ctx.logger.warning("logged")
    subprocess.run(["echo", "from a child"], check=True)
    os.write(1, b"past python\\n")
    print("no line end", end="")
def waits(ctx):
    ctx.progress(50, "half way")
    while not pathlib.Path("go").exists():
        time.sleep(0.01)
"""
REVIEW = EXAMPLES / "review" / "flow.yaml"


def test_the_live_display_shows_nodes_and_whatever_is_written(tmp_path: Path) -> None:
    run = Terminal("run", project(tmp_path, FLOW, TASKS), cwd=tmp_path)
    run.wait_for("half way")
    (tmp_path / "go").touch()
    assert run.finish() == 0
    lines = [line.rstrip() for line in run.output.splitlines()]
    for text in (
        "noisy │ printed 1",
        "noisy │ printed 2",
        "noisy │ complained",
        "noisy │ WARNING logged",
        "noisy │ no line end",
        "from a child",
        "past python",
    ):
        assert any(line.endswith(text) for line in lines), text
    assert "━" in run.output  # the progress bar
    last = run.output[run.output.rindex("✓ noisy") :]
    assert "2/2" in last
    assert "✓ waits" in last
    assert "COMPLETED" in last
    assert "run_id=" not in run.output


@pytest.mark.parametrize(("options", "env"), [(["--non-cute"], {}), ([], {"PYOCO_CUTE": "0"}), ([], {"TERM": "dumb"})])
def test_lines_instead_of_a_live_display_on_request_or_on_a_dumb_terminal(
    tmp_path: Path, options: list[str], env: dict[str, str]
) -> None:
    run = Terminal("run", EXAMPLES / "hello" / "flow.yaml", *options, cwd=tmp_path, **env)
    assert run.finish() == 0
    assert "start node=greet" in run.output
    assert "✓" not in run.output


def test_a_failure_is_told_below_the_live_display(tmp_path: Path) -> None:
    flow = project(tmp_path, "tasks: {bad: {callable: 'tasks:bad'}}\nflow: {graph: bad}\n", "def bad(): return 1 / 0\n")
    run = Terminal("run", flow)
    assert run.finish() == 1
    assert "✗ bad" in run.output
    assert run.output.index("✗ bad") < run.output.index("Error executing flow: division by zero")


def test_a_person_approves_and_hands_over_a_text(tmp_path: Path) -> None:
    run = Terminal("run", REVIEW, cwd=tmp_path)
    run.wait_for("Approve? [y/n] ")
    assert "Shall the article go out?" in run.output
    run.type("perhaps\n")
    run.wait_for("Please type y or n.")
    run.type("y\n")
    run.wait_for("Data to hand over")
    run.type("well done\n")
    assert run.finish() == 0
    assert "Note of the reviewer: well done" in (tmp_path / "artifacts" / "article.txt").read_text()


def test_a_person_rejects(tmp_path: Path) -> None:
    run = Terminal("run", REVIEW, cwd=tmp_path)
    run.wait_for("Approve? [y/n] ")
    run.type("n\n")
    run.wait_for("Reason")
    run.type("too long\n")
    assert run.finish() == 1
    assert "was rejected: too long" in run.output


def test_an_interrupt_at_the_question_cancels_the_run(tmp_path: Path) -> None:
    run = Terminal("run", REVIEW, cwd=tmp_path)
    run.wait_for("Approve? [y/n] ")
    run.interrupt()
    assert run.finish() == 130
    assert "CANCELLED" in run.output
    assert "Traceback" not in run.output
