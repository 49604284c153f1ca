"""What happens when processes die, hang or never come up."""

from __future__ import annotations

import os
import signal
import threading
from http.client import HTTPException
from pathlib import Path

import psutil

from tests.integration.supervisor.harness import Stack

QUICK_LOOP = {"first_delay": 0.02, "loop_after": 3}


def test_a_killed_child_is_started_again_and_the_gateways_hear_of_its_death(tmp_path: Path) -> None:
    with Stack(tmp_path) as stack:
        stack.wait_ready()
        victim, gateway = stack.process_of("worker.1"), stack.process_of("gateway.1")["instance_id"]
        os.kill(victim["pid"], signal.SIGKILL)
        stack.wait_for("worker.1 was ended by SIGKILL")
        stack.wait(lambda: stack.process_of("worker.1")["restarts"] == 1, "the restart to be counted")
        stack.wait(lambda: stack.state_of("worker.1") == "ready", "the worker to be ready again")
        assert stack.process_of("worker.1")["instance_id"] != victim["instance_id"]
        stack.wait(lambda: stack.noted(f"{gateway}.messages") == [f"dead {victim['instance_id']}"], "the message")


def test_a_gateway_that_starts_later_learns_who_died_before(tmp_path: Path) -> None:
    with Stack(tmp_path) as stack:
        stack.wait_ready()
        first = stack.process_of("gateway.1")
        os.kill(first["pid"], signal.SIGKILL)
        stack.wait(lambda: stack.process_of("gateway.1")["instance_id"] != first["instance_id"], "a new gateway")
        stack.wait(lambda: stack.state_of("gateway.1") == "ready", "it to be ready")
        second = stack.process_of("gateway.1")["instance_id"]
        stack.wait(lambda: stack.noted(f"{second}.messages") == [f"dead {first['instance_id']}"], "the message")


def test_a_child_that_gives_no_sign_of_life_is_killed_and_started_again(tmp_path: Path) -> None:
    with Stack(tmp_path, patience={"beat": 0.3, "silent_beats": 8}) as stack:
        stack.wait_ready()
        stack.wait(lambda: bool(stack.process_of("worker.1")["figures"]), "the first beat")
        frozen = stack.pid_of("worker.1")
        os.kill(frozen, signal.SIGSTOP)
        stack.wait_for("worker.1 gave no sign of life and was killed")
        stack.wait(lambda: stack.state_of("worker.1") == "ready", "the worker to be ready again")
        assert not psutil.pid_exists(frozen)
        assert stack.process_of("gateway.1")["restarts"] == 0


def test_a_supervisor_that_was_stopped_itself_does_not_blame_its_children(tmp_path: Path) -> None:
    with Stack(tmp_path, patience={"beat": 0.3, "silent_beats": 8}) as stack:
        stack.wait_ready()
        assert stack.process is not None
        stack.wait(lambda: bool(stack.process_of("worker.1")["figures"]), "the first beat")
        children = {name: stack.pid_of(name) for name in ("gateway.1", "worker.1")}
        stack.signal(signal.SIGSTOP)
        threading.Event().wait(4)  # longer than the silence that is allowed: the passing of time is what is tested
        stack.signal(signal.SIGCONT)
        stack.wait(lambda: stack.status()["uptime_sec"] > 4, "the supervisor to answer again")
        assert {name: stack.pid_of(name) for name in children} == children


def test_a_start_that_cannot_succeed_ends_and_says_which_child_its_last_lines_and_what_to_do(tmp_path: Path) -> None:
    with Stack(tmp_path, policy=QUICK_LOOP) as stack:
        (stack.notes / "worker.crash").touch()
        assert stack.finish() == 1
        report = next(line for line in stack.lines() if "does not stay up" in line["message"])
        assert report["level"] == "ERROR"
        assert "worker.1 does not stay up: it ended with exit code 3, 3 times in a row" in report["message"]
        assert "  worker.1 | worker cannot find the frobnicator" in report["message"]
        assert str(stack.data_dir / "logs" / "worker.1.log") in report["message"]
        assert not stack.processes()


def test_a_crash_loop_after_the_start_is_reported_while_the_rest_goes_on_and_heals_by_itself(tmp_path: Path) -> None:
    with Stack(tmp_path, policy=QUICK_LOOP) as stack:
        stack.wait_ready()
        (stack.notes / "worker.crash").touch()
        os.kill(stack.pid_of("worker.1"), signal.SIGKILL)
        stack.wait_for("worker.1 does not stay up")
        assert stack.said("`pyoco restart worker.1` tries it at once")
        assert stack.ask_gateway()
        (stack.notes / "worker.crash").unlink()
        stack.wait(lambda: stack.state_of("worker.1") == "ready", "the worker to be ready again")


def test_a_program_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with Stack(tmp_path, policy=QUICK_LOOP) as stack:
        stack.wait_ready()
        launcher = stack.data_dir / "nats" / "launch"
        launcher.write_text("#!/nowhere/sh\n", "utf-8")
        stack.nats_server().kill()
        assert stack.finish() == 1
        assert stack.said("nats does not stay up")


def test_a_killed_nats_server_is_started_again_on_the_same_store_and_port(tmp_path: Path) -> None:
    with Stack(tmp_path) as stack:
        stack.wait_ready()
        url = stack.status()["nats"]["url"]
        server = stack.nats_server()
        server.kill()
        stack.wait(lambda: stack.process_of("nats")["restarts"] == 1, "the restart to be counted")
        stack.wait(lambda: stack.state_of("nats") == "ready", "NATS to be ready again")
        assert stack.status()["nats"]["url"] == url
        again = stack.nats_server()
        assert again.pid != server.pid
        assert again.cmdline() == [again.exe(), "-c", str(stack.data_dir / "nats" / "nats.conf")]
        assert stack.process_of("gateway.1")["restarts"] == 0


def test_a_killed_wrapper_takes_its_server_along_and_both_come_back(tmp_path: Path) -> None:
    with Stack(tmp_path) as stack:
        stack.wait_ready()
        server = stack.nats_server()
        os.kill(stack.pid_of("nats"), signal.SIGKILL)
        stack.wait(lambda: stack.process_of("nats")["restarts"] == 1, "the restart to be counted")
        stack.wait(lambda: stack.state_of("nats") == "ready", "NATS to be ready again")
        assert [process.pid for process in stack.processes() if process.name() == "nats-server"] != [server.pid]
        assert stack.nats_server().ppid() == stack.pid_of("nats")


def test_nats_gone_for_good_ends_the_stack(tmp_path: Path) -> None:
    with Stack(tmp_path, policy=QUICK_LOOP) as stack:
        stack.wait_ready()
        (stack.data_dir / "nats" / "launch").write_text("#!/bin/sh\necho the disk is gone\nexit 1\n", "utf-8")
        stack.nats_server().kill()
        assert stack.finish() == 1
        assert stack.said("nats | the disk is gone")
        assert stack.noted("order") == ["worker stops", "gateway stops"]


def test_a_killed_supervisor_leaves_no_process_behind(tmp_path: Path) -> None:
    with Stack(tmp_path, workers=2) as stack:
        stack.wait_ready()
        os.kill(stack.pid_of("worker.2"), signal.SIGSTOP)  # one that cannot notice that its parent is gone
        family = stack.processes()
        assert len(family) == 6
        stack.signal(signal.SIGKILL)
        assert stack.finish() == -signal.SIGKILL
        stack.wait(lambda: not stack.processes(), "every process to end")


def test_after_a_killed_supervisor_the_next_one_starts_at_once_on_the_same_ports(tmp_path: Path) -> None:
    with Stack(tmp_path) as stack:
        stack.wait_ready()
        port = int(stack.status()["nats"]["url"].rpartition(":")[2])
        web = int(stack.url.rpartition(":")[2])
        stack.signal(signal.SIGKILL)
        stack.finish()
        with Stack(tmp_path, nats_port=port, port=web) as again:
            again.wait_ready()
            again.wait(lambda: again.state_of("nats") == "ready", "NATS")
            assert again.ask_gateway() == again.process_of("gateway.1")["instance_id"]


def test_no_connection_is_refused_while_a_gateway_is_replaced(tmp_path: Path) -> None:
    with Stack(tmp_path) as stack:
        stack.wait_ready()
        before = stack.ask_gateway()
        answers: list[str] = []
        over = threading.Event()

        def keep_asking() -> None:
            while not over.is_set():
                try:
                    answers.append(stack.ask_gateway())
                except (OSError, HTTPException) as exc:
                    # What the killed process had accepted is cut off; nothing may be refused.
                    refused = isinstance(getattr(exc, "reason", exc), ConnectionRefusedError)
                    answers.append("refused" if refused else "cut")

        client = threading.Thread(target=keep_asking)
        client.start()
        try:
            os.kill(stack.pid_of("gateway.1"), signal.SIGKILL)
            stack.wait(lambda: bool(answers) and answers[-1] not in (before, "cut"), "the new gateway to answer")
        finally:
            over.set()
            client.join()
        assert "refused" not in answers
        assert len(set(answers) - {"cut"}) in (1, 2)
