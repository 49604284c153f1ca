"""Settings and surroundings become processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyoco.config import Settings
from pyoco.supervisor.announce import next_command, summary, warnings
from pyoco.supervisor.options import Programs, UpOptions, from_settings
from pyoco.supervisor.plan import Surroundings, plan
from pyoco.supervisor.stack import NatsPlace

PROGRAMS = Programs(gateway=("gw",), worker=("wk",))
NATS = NatsPlace("own", "nats://127.0.0.1:4222", "127.0.0.1", 4222, "127.0.0.1:8222")


def surroundings(**changes: object) -> Surroundings:
    values: dict[str, object] = {
        "environment": {"PATH": "/bin", "NOTIFY_SOCKET": "/run/x", "PYOCO_NATS_URL": "old", "PYOCO_API_KEY": "k"},
        "data_dir": "/data",
        "nats_urls": {"gateway": "nats://gateway:g@h", "worker": "nats://worker:w@h"},
        "own_nats": True,
        "nats_command": ("nats",),
        "nats_directory": "/data/nats",
        "listen_fd": 9,
        "http_port": 8080,
    }
    return Surroundings(**{**values, **changes})  # type: ignore[arg-type]


def test_nats_comes_first_then_gateways_then_workers() -> None:
    specs = list(plan(UpOptions(gateways=2, workers=2, programs=PROGRAMS), surroundings()))
    assert [(spec.name, spec.command) for spec in specs] == [
        ("nats", ("nats",)),
        ("gateway.1", ("gw",)),
        ("gateway.2", ("gw",)),
        ("worker.1", ("wk",)),
        ("worker.2", ("wk",)),
    ]
    assert [spec.speaks for spec in specs] == [False, True, True, True, True]
    assert [spec.listen_fd for spec in specs] == [None, 9, 9, None, None]


def test_a_joined_nats_is_not_planned() -> None:
    specs = list(plan(UpOptions(workers=1), surroundings(own_nats=False)))
    assert [spec.name for spec in specs] == ["gateway.1", "worker.1"]
    assert "PYOCO_NATS_INBOX_PREFIX" not in specs[0].environment


def test_each_kind_gets_its_own_user_and_nothing_that_is_meant_for_others() -> None:
    options = UpOptions(workers=1, child_environment={"PYOCO_SLOTS": "8"})
    nats, gateway, worker = plan(options, surroundings())
    assert gateway.environment["PYOCO_NATS_URL"] == "nats://gateway:g@h"
    assert worker.environment["PYOCO_NATS_URL"] == "nats://worker:w@h"
    assert worker.environment["PYOCO_SLOTS"] == "8"
    assert worker.environment["PYOCO_DATA_DIR"] == "/data"
    assert worker.environment["PYOCO_HTTP_PORT"] == "8080"
    assert worker.environment["PATH"] == "/bin"
    assert "NOTIFY_SOCKET" not in gateway.environment
    assert dict(nats.environment) == {"PATH": "/bin"}


def test_a_plan_can_be_printed_without_giving_passwords_away() -> None:
    around = surroundings()
    text = f"{list(plan(UpOptions(workers=1), around))} {around}"
    assert "nats://worker" not in text


def test_settings_become_options_and_variables_for_the_children(tmp_path: Path) -> None:
    flags = {"workers": 3, "slots": 8, "tags": "gpu,cpu", "http_port": 0, "code_dir": Path("src"), "durability": "fast"}
    env = {"PYOCO_AUTH_PEPPER": "salt", "PYOCO_CANCEL_GRACE_PERIOD_SEC": "7", "PYOCO_RUNS_KV_BUCKET": "my_runs"}
    options = from_settings(Settings.load(flags, env, tmp_path))
    assert (options.workers, options.port, options.durability) == (3, 0, "fast")
    assert options.data_dir == tmp_path / ".pyoco"
    assert options.nats_url is None
    assert options.nats_monitor_port is None
    assert options.names.runs == "my_runs"
    assert options.patience.stop > 7
    variables = options.child_environment
    assert variables["PYOCO_SLOTS"] == "8"
    assert variables["PYOCO_TAGS"] == "cpu,gpu"
    assert variables["PYOCO_CODE_DIR"] == str(tmp_path / "src")
    assert "salt" not in variables.values()


def test_a_child_that_reads_its_variables_finds_the_settings_of_its_parent(tmp_path: Path) -> None:
    flags = {"slots": 8, "tags": "gpu,cpu", "reload": False, "http_auth_mode": "api_key", "flow_resolver": "a.b:c"}
    parent = Settings.load(flags, {}, tmp_path)
    child = Settings.load({}, dict(from_settings(parent).child_environment), tmp_path / "elsewhere")
    same = ("slots", "reload", "http_auth_mode", "flow_resolver")
    assert [getattr(child, name) for name in same] == [getattr(parent, name) for name in same]
    assert set(child.tags) == set(parent.tags)


@pytest.mark.parametrize("url", ["nats://10.0.0.5:4222", "nats://127.0.0.1:4222"])
def test_a_named_nats_is_joined_even_if_it_is_the_usual_one(tmp_path: Path, url: str) -> None:
    assert from_settings(Settings.load({"nats_url": url}, {}, tmp_path)).nats_url == url


def test_the_summary_says_what_is_not_ready_yet() -> None:
    processes = [
        {"name": "nats", "kind": "nats", "state": "ready", "pid": 1},
        {"name": "gateway.1", "kind": "gateway", "state": "ready", "pid": 2},
        {"name": "worker.1", "kind": "worker", "state": "starting", "pid": 3},
    ]
    text = summary("http://127.0.0.1:8000", NATS, "/data", processes)
    assert text.startswith("pyoco is starting: http://127.0.0.1:8000 (not ready yet: worker.1)\n")
    assert "gateway.1  ready     process 2" in text
    assert "nats://127.0.0.1:4222 (started here, monitoring at http://127.0.0.1:8222)" in text


def test_the_next_command_names_the_server_only_where_it_must() -> None:
    assert "--server" not in next_command("http://127.0.0.1:8000")
    assert next_command("http://127.0.0.1:9000").endswith(" --server http://127.0.0.1:9000")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (UpOptions(), []),
        (UpOptions(host="0.0.0.0"), ["ANYBODY WHO CAN REACH 0.0.0.0 CAN RUN CODE HERE", "PYOCO_ALLOWED_CALLABLES"]),
        (UpOptions(host="0.0.0.0", asks_credentials=True), ["PYOCO_ALLOWED_CALLABLES"]),
        (UpOptions(host="::", asks_credentials=True, callables_restricted=True), []),
        (UpOptions(durability="fast"), ["a power cut can lose"]),
    ],
)
def test_what_is_risky_is_said_at_the_start(options: UpOptions, expected: list[str]) -> None:
    said = list(warnings(options, NATS))
    assert len(said) == len(expected)
    assert all(part in text for part, text in zip(expected, said, strict=True))
