"""A stack from nothing to ready and back."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pyoco.supervisor.control import ask, bring_down
from pyoco.supervisor.options import CannotStart
from tests.integration.supervisor.harness import PROGRAM, Stack


def test_a_stack_starts_from_nothing_and_says_within_three_seconds_what_runs_where(tmp_path: Path) -> None:
    begin = time.time()
    with Stack(tmp_path, workers=2) as stack:
        stack.wait(lambda: any("url" in line for line in stack.lines()), "the summary")
        took = (tmp_path / "output").stat().st_mtime - begin
        summary = next(line for line in stack.lines() if "url" in line)
        for part in ("gateway.1", "worker.1", "worker.2", "nats://127.0.0.1:", str(stack.data_dir), "next: pyoco "):
            assert part in summary["message"]
        stack.wait_ready()
        assert stack.ask_gateway() == stack.process_of("gateway.1")["instance_id"]
        assert took < 3 + 1, "a second for a busy machine"


def test_port_zero_picks_free_ports_and_names_them(tmp_path: Path) -> None:
    with Stack(tmp_path) as stack:
        stack.wait_ready()
        status = stack.status()
        for address in (status["url"].removeprefix("http://"), status["nats"]["url"].removeprefix("nats://")):
            host, _, port = address.partition(":")
            assert int(port) > 0
            socket.create_connection((host, int(port)), timeout=5).close()


def test_files_with_secrets_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    with Stack(tmp_path) as stack:
        stack.wait_ready()
        modes = {
            name: stat.S_IMODE((stack.data_dir / name).stat().st_mode)
            for name in ("credentials.json", "nats/nats.conf", "nats/launch", "control.sock", ".", "nats")
        }
    assert modes == {
        "credentials.json": 0o600,
        "nats/nats.conf": 0o600,
        "nats/launch": 0o700,
        "control.sock": 0o600,
        ".": 0o700,
        "nats": 0o700,
    }


def test_no_password_stands_on_a_command_line_or_in_the_logs(tmp_path: Path) -> None:
    with Stack(tmp_path) as stack:
        stack.wait_ready()
        passwords = json.loads((stack.data_dir / "credentials.json").read_text("utf-8")).values()
        command_lines = [" ".join(process.cmdline()) for process in stack.processes()]
        logs = [file.read_text("utf-8") for file in (stack.data_dir / "logs").iterdir()]
    assert len(command_lines) >= 5
    assert len(logs) >= 4
    for password in passwords:
        assert not [text for text in command_lines + logs if password in text]


def test_sigterm_stops_politely_in_reverse_order_with_exit_code_0(tmp_path: Path) -> None:
    with Stack(tmp_path) as stack:
        stack.wait_ready()
        stack.signal(signal.SIGTERM)
        assert stack.finish() == 0
        assert stack.noted("order") == ["worker stops", "gateway stops"]
        nats_log = (stack.data_dir / "logs" / "nats.log").read_text("utf-8")
        assert "Server Exiting" in nats_log
        assert not stack.processes()


def test_sigint_stops_politely_with_exit_code_130(tmp_path: Path) -> None:
    with Stack(tmp_path) as stack:
        stack.wait_ready()
        stack.signal(signal.SIGINT)
        assert stack.finish() == 130
        assert stack.noted("order") == ["worker stops", "gateway stops"]


def test_a_second_signal_ends_everything_at_once(tmp_path: Path) -> None:
    with Stack(tmp_path, patience={"stop": 100.0}) as stack:
        (stack.notes / "worker.stubborn").touch()
        stack.wait_ready()
        stack.signal(signal.SIGINT)
        stack.wait(lambda: "worker ignores" in stack.noted("order"), "the worker to be asked")
        assert stack.process is not None
        assert stack.process.poll() is None
        stack.signal(signal.SIGINT)
        assert stack.finish() == 130
        assert not stack.processes()


def test_a_child_that_ignores_the_polite_request_is_killed_when_the_grace_period_is_over(tmp_path: Path) -> None:
    with Stack(tmp_path, patience={"stop": 0.5}) as stack:
        (stack.notes / "worker.stubborn").touch()
        stack.wait_ready()
        stack.signal(signal.SIGTERM)
        assert stack.finish() == 0
        assert stack.noted("order") == ["worker ignores", "gateway stops"]


@pytest.mark.parametrize("moment", ["run_stack.py", "nats_bootstrap", "fake_child.py"])
def test_a_signal_during_the_start_ends_the_start(tmp_path: Path, moment: str) -> None:
    with Stack(tmp_path, patience={"stop": 100.0}) as stack:
        stack.wait((stack.data_dir / "control.sock").exists, "the control socket")
        stack.wait(lambda: any(moment in word for word in stack.words()), moment)
        stack.signal(signal.SIGTERM)
        assert stack.finish() == 0
        assert not stack.processes()


def test_a_second_supervisor_on_the_same_data_directory_is_refused(tmp_path: Path) -> None:
    with Stack(tmp_path / "one") as stack:
        stack.wait_ready()
        with Stack(tmp_path / "two", data_dir=stack.data_dir) as second:
            assert second.finish() == 1
            assert stack.process is not None
            assert f"already up on {stack.data_dir} (process {stack.process.pid})" in second.errors
        assert stack.ask_gateway()


def test_two_stacks_run_side_by_side_on_one_machine(tmp_path: Path) -> None:
    with Stack(tmp_path / "one") as one, Stack(tmp_path / "two") as two:
        one.wait_ready()
        two.wait_ready()
        assert one.ask_gateway() != two.ask_gateway()
        one.signal(signal.SIGTERM)
        assert one.finish() == 0
        assert two.ask_gateway()


def test_instance_ids_count_boots_and_starts(tmp_path: Path) -> None:
    for boot in (1, 2):
        with Stack(tmp_path) as stack:
            stack.wait_ready()
            number, instance = (stack.process_of("worker.1")[key] for key in ("restarts", "instance_id"))
            assert (number, instance.split(".")[1:]) == (0, [str(boot), "3"])
            stack.signal(signal.SIGTERM)
            assert stack.finish() == 0
    ids = {line.split()[2].split(".")[0] for line in stack.noted("starts")}
    assert len(ids) == 1


def test_down_over_the_control_socket_returns_when_everything_has_ended(tmp_path: Path) -> None:
    with Stack(tmp_path) as stack:
        stack.wait_ready()
        bring_down(stack.data_dir)
        assert not [process for process in stack.processes() if process.pid != stack.process.pid]
        assert stack.finish() == 0
        with pytest.raises(CannotStart, match="pyoco is not up"):
            stack.status()


def test_the_control_socket_works_for_a_data_directory_with_a_very_long_path(tmp_path: Path) -> None:
    runtime = tmp_path / "run"
    runtime.mkdir()
    short = runtime if len(str(runtime)) < 60 else Path("/tmp") / f"pyoco-test-{os.getpid()}"
    short.mkdir(exist_ok=True)
    long = tmp_path / ("x" * 100) / ("y" * 100)
    try:
        with Stack(tmp_path, environment={"XDG_RUNTIME_DIR": str(short)}, data_dir=long) as stack:
            stack.wait_ready()
            assert stack.status()["state"] == "ready"
            bring_down(long)
            assert stack.finish() == 0
            assert not list(short.iterdir())
    finally:
        short.rmdir()


def test_restart_replaces_a_process_and_scale_changes_their_number(tmp_path: Path) -> None:
    with Stack(tmp_path) as stack:
        stack.wait_ready()
        before = stack.process_of("worker.1")
        assert ask(stack.data_dir, "restart", name="worker.1")["restarted"] == ["worker.1"]
        after = stack.process_of("worker.1")
        assert after["state"] == "ready"
        assert after["pid"] != before["pid"]
        assert after["instance_id"] != before["instance_id"]
        assert ask(stack.data_dir, "scale", kind="worker", count=3)["processes"] == ["worker.1", "worker.2", "worker.3"]
        assert stack.process_of("worker.3")["state"] == "ready"
        ask(stack.data_dir, "scale", kind="worker", count=1)
        assert [process["name"] for process in stack.status()["processes"]] == ["nats", "gateway.1", "worker.1"]
        assert stack.noted("order") == ["worker stops"] * 3


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (
            {"command": "restart", "name": "wörker"},
            "no process is called 'wörker'; there are: nats, gateway.1, worker.1",
        ),
        ({"command": "scale", "kind": "nats", "count": 2}, "write worker=N or gateway=N"),
        ({"command": "scale", "kind": "worker", "count": -1}, "write worker=N or gateway=N"),
        ({"command": "explode"}, "unknown request; known commands: status, down, restart, scale"),
    ],
)
def test_a_request_that_makes_no_sense_is_answered_with_what_would(
    tmp_path: Path, request_: dict[str, object], answer: str
) -> None:
    with Stack(tmp_path) as stack:
        stack.wait_ready()
        with pytest.raises(CannotStart) as refusal:
            ask(stack.data_dir, **request_)
        assert answer in str(refusal.value)


def test_status_shows_the_figures_that_children_send_with_their_beats(tmp_path: Path) -> None:
    with Stack(tmp_path) as stack:
        stack.wait_ready()
        stack.wait(lambda: stack.process_of("worker.1")["figures"] == {"running": 7}, "the first beat")


def test_systemd_is_told_when_the_stack_is_ready_alive_and_stopping(tmp_path: Path) -> None:
    address = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(address))
        systemd.settimeout(20)
        with Stack(tmp_path, {"NOTIFY_SOCKET": str(address), "WATCHDOG_USEC": "100000"}) as stack:
            received: list[str] = []
            while not any(message.startswith("READY=1") for message in received):
                received.append(systemd.recv(4096).decode())
            stack.signal(signal.SIGTERM)
            while not received[-1].startswith("STOPPING=1"):
                received.append(systemd.recv(4096).decode())
            assert "WATCHDOG=1" in received
            assert stack.finish() == 0


def test_a_terminal_gets_prefixed_lines_for_people(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    keyboard, screen = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, str(PROGRAM), json.dumps({"data_dir": str(tmp_path / "data")})],
        env={**os.environ, "TEST_NOTES": str(tmp_path / "notes")},
        stdin=screen,
        stdout=screen,
        stderr=screen,
    )
    os.close(screen)
    seen = ""
    try:
        while "stop: Ctrl-C" not in seen and select.select([keyboard], [], [], 20)[0]:
            seen += os.read(keyboard, 4096).decode()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
    finally:
        process.kill()
        process.wait()
        os.close(keyboard)
    assert "gateway.1 |\x1b[0m gateway works in " in seen
    assert "pyoco is up: http://127.0.0.1:" in seen
    assert "{" not in seen


def test_children_do_not_see_what_is_meant_for_the_supervisor(tmp_path: Path) -> None:
    given = {"NOTIFY_SOCKET": str(tmp_path / "nobody"), "PYOCO_NATS_URL": "nats://wrong:1", "WATCHDOG_USEC": "1000000"}
    with Stack(tmp_path, given) as stack:
        stack.wait_ready()
        worker = next(process for process in stack.processes() if process.pid == stack.pid_of("worker.1"))
        environment = worker.environ()
        nats = stack.nats_server().environ()
    assert environment["PYOCO_NATS_URL"].startswith("nats://worker:")
    assert environment["PYOCO_NATS_INBOX_PREFIX"] == "_INBOX_wk"
    assert environment["PYOCO_DATA_DIR"] == str(stack.data_dir)
    assert "PYOCO_LISTEN_FD" not in environment
    assert not {"NOTIFY_SOCKET", "WATCHDOG_USEC"} & environment.keys()
    assert "PYOCO_NATS_URL" not in nats


def test_the_port_is_closed_as_soon_as_the_last_gateway_has_ended(tmp_path: Path) -> None:
    with Stack(tmp_path, patience={"stop": 5.0}) as stack:
        stack.wait_ready()
        port = int(stack.url.rpartition(":")[2])
        stack.nats_server().suspend()  # so that there is a time after the gateways
        stack.signal(signal.SIGTERM)
        stack.wait(lambda: "gateway stops" in stack.noted("order"), "the gateway to end")
        stack.wait(lambda: not _accepts(port), "the port to be closed")
        assert stack.process is not None
        assert stack.process.poll() is None, "the supervisor still waits for NATS"
        assert stack.finish() == 0


def _accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except ConnectionRefusedError:
        return False
    return True
