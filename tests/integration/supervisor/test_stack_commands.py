"""`pyoco up`, `status`, `down`, `restart` and `scale` as a user types them."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from pyoco.cli import control, up
from pyoco.cli.failure import Problem
from tests.integration.supervisor.harness import Stack

app = typer.Typer(add_completion=False)
app.command("up")(up.up)
for command in (control.status, control.down, control.restart, control.scale):
    app.command(command.__name__)(command)


def pyoco(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(autouse=True)
def in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_commands_look_at_change_and_end_a_running_stack(tmp_path: Path) -> None:
    with Stack(tmp_path) as stack:
        stack.wait_ready()
        here = ("--data-dir", stack.data_dir)
        table = pyoco("status", *here).stdout
        assert f"is ready: {stack.url}" in table
        assert str(stack.pid_of("worker.1")) in table
        assert "durability safe" in table
        assert json.loads(pyoco("status", "--json", *here).stdout)["url"] == stack.url
        assert pyoco("restart", "worker", *here).stdout == "restarted: worker.1\n"
        assert pyoco("scale", "worker=2", *here).stdout == "running: worker.1, worker.2\n"
        assert pyoco("down", *here).stdout == "pyoco is down\n"
        assert stack.finish() == 0


def test_the_data_directory_may_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Stack(tmp_path) as stack:
        stack.wait_ready()
        monkeypatch.setenv("PYOCO_DATA_DIR", str(stack.data_dir))
        assert stack.url in pyoco("status").stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("status",), "Error: pyoco is not up on"),
        (("down",), "Error: pyoco is not up on"),
        (("scale", "worker"), "Error: 'worker' is not of the form KIND=N"),
        (("scale", "nats=2"), "Error: 'nats=2' is not of the form KIND=N"),
        (("up", "--durability", "perhaps"), "PYOCO_DURABILITY = 'perhaps', from --durability on the command line"),
        (("up", "--port", "70000"), "PYOCO_HTTP_PORT = '70000', from --port on the command line"),
    ],
)
def test_what_cannot_be_done_is_a_problem_the_user_can_correct(arguments: tuple[str, ...], complaint: str) -> None:
    result = pyoco(*arguments)
    assert isinstance(result.exception, Problem)
    assert complaint in str(result.exception)


def test_up_refuses_a_taken_port_before_anything_runs() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        result = pyoco("up", "--port", str(port), "--nats-port", "0")
    assert isinstance(result.exception, Problem)
    assert f"cannot listen on 127.0.0.1, port {port}: Address already in use" in str(result.exception)


def test_the_supervisor_needs_neither_nats_nor_aiohttp() -> None:
    check = (
        "import sys, pyoco.supervisor.main, pyoco.lifeline; print(*{'nats', 'aiohttp', 'pydantic'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
