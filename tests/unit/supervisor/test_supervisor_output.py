"""How lines are shown and kept."""

from __future__ import annotations

import asyncio
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pyoco.supervisor.output import LogFile, Output, Screen, as_record, as_text
from pyoco.supervisor.wire import Lines

NOW = datetime(2026, 1, 2, 3, 4, 5, 678900, tzinfo=UTC)


def test_a_json_line_of_a_child_stays_as_it_is_and_gets_the_name_of_its_process() -> None:
    record = as_record("worker.1", '{"ts": "x", "level": "ERROR", "message": "no", "run_id": "r"}', NOW)
    assert record == {"ts": "x", "level": "ERROR", "message": "no", "run_id": "r", "process": "worker.1"}


@pytest.mark.parametrize("text", ["plain words", "{not json", '["a list"]', "", "日本"])
def test_any_other_line_becomes_a_json_object_too(text: str) -> None:
    assert as_record("worker.1", text, NOW) == {
        "ts": "2026-01-02T03:04:05.678Z",
        "level": "INFO",
        "process": "worker.1",
        "message": text,
    }


@pytest.mark.parametrize(
    ("word", "level"), [("INF", "INFO"), ("WRN", "WARNING"), ("ERR", "ERROR"), ("FTL", "CRITICAL")]
)
def test_levels_of_nats_are_understood(word: str, level: str) -> None:
    record = as_record("nats", f"[12] 2026/11/18 10:08:32.315741 [{word}] Server is ready", NOW)
    assert (record["level"], record["message"]) == (level, "Server is ready")


def test_a_person_sees_every_line_of_a_message_behind_the_name_of_its_process() -> None:
    record = {"process": "worker.1", "level": "ERROR", "message": "it broke", "exc_traceback": "Traceback:\n  line\n"}
    assert as_text(record, colour=False).split("\n") == [
        "worker.1  | ERROR it broke",
        "worker.1  | Traceback:",
        "worker.1  |   line",
    ]
    assert "\x1b[31m" in as_text(record, colour=True)


def test_the_greeting_of_nats_goes_to_its_file_only_but_its_warnings_are_shown(tmp_path: Path) -> None:
    shown: list[str] = []
    output = Output(shown.append, tmp_path, as_json_lines=False, colour=False)
    output.line("nats", "[1] 2026/11/18 10:08:32.3 [INF] Starting nats-server")
    output.line("nats", "[1] 2026/11/18 10:08:32.3 [WRN] Plaintext passwords detected, use nkeys or bcrypt")
    output.line("nats", "[1] 2026/11/18 10:08:32.3 [WRN] the disk is slow")
    output.close()
    assert shown == ["nats      | WARNING the disk is slow"]
    kept = [json.loads(line)["message"] for line in output.file_of("nats").read_text("utf-8").splitlines()]
    assert kept[0] == "Starting nats-server"
    assert len(kept) == 3


def test_a_log_file_starts_anew_when_it_is_full_and_keeps_a_few_old_ones(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "x.log", limit=100, kept=2)
    for number in range(40):
        log.write(f"line {number:04}")
    log.close()
    files = {file.name: file.read_text("utf-8").split("\n")[:-1] for file in tmp_path.iterdir()}
    assert set(files) == {"x.log", "x.log.1", "x.log.2"}
    assert files["x.log"][-1] == "line 0039"
    assert files["x.log.1"][-1] < files["x.log"][0]
    assert all(len("\n".join(lines)) < 100 for lines in files.values())


def test_a_log_file_goes_on_where_the_last_boot_ended(tmp_path: Path) -> None:
    for text in ("one", "two"):
        log = LogFile(tmp_path / "x.log")
        log.write(text)
        log.close()
    assert (tmp_path / "x.log").read_text("utf-8") == "one\ntwo\n"


def test_a_log_that_cannot_be_written_does_not_silence_the_screen(tmp_path: Path) -> None:
    shown: list[str] = []
    output = Output(shown.append, tmp_path / "missing", as_json_lines=True, colour=False)
    output.say("hello", url="http://x")
    output.close()
    assert json.loads(shown[0])["message"] == "hello"
    assert json.loads(shown[0])["url"] == "http://x"


async def test_a_reader_that_sleeps_does_not_block_the_writer_and_gets_everything_later() -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    with os.fdopen(writing, "w", encoding="utf-8") as stream:
        screen = Screen(stream)
        for number in range(2000):
            screen.write(f"{number:05} {'x' * 100}")  # more than a pipe holds
        received = b""
        while received.count(b"\n") < 2000:
            await asyncio.sleep(0)  # lets the writer go on
            try:
                received += os.read(reading, 65536)
            except BlockingIOError:
                continue
        screen.close()
    os.close(reading)
    assert [int(line[:5]) for line in received.splitlines()] == list(range(2000))


async def test_a_reader_that_is_gone_does_not_matter() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", encoding="utf-8") as stream:
        screen = Screen(stream)
        screen.write("nobody hears this")
        screen.close()


async def test_lines_arrive_whole_whatever_the_pieces_they_came_in() -> None:
    heard: list[bytes] = []
    lines = Lines(heard.append)
    for piece in (b"one\ntw", b"o\r\n", b"", b"\nlast"):
        lines.data_received(piece)
    assert heard == [b"one", b"two", b""]
    lines.connection_lost(None)
    assert heard[-1] == b"last"
    assert lines.closed.is_set()


async def test_a_line_without_end_comes_in_pieces_of_bounded_size() -> None:
    heard: list[bytes] = []
    lines = Lines(heard.append)
    for _ in range(50):
        lines.data_received(b"x" * 10_000)
    assert max(map(len, heard)) <= 64 * 1024
    lines.connection_lost(None)
    assert sum(map(len, heard)) == 500_000
