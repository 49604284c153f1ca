"""The data directory: its owner, its numbers, its files."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from pyoco.supervisor.data_dir import (
    Layout,
    claim,
    control_path,
    is_claimed,
    new_control_path,
    passwords,
    write_private,
)
from pyoco.supervisor.options import CannotStart


def test_only_one_may_hold_a_directory(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "data")
    assert not is_claimed(layout)
    with claim(layout.root):
        assert is_claimed(layout)
        with pytest.raises(CannotStart, match=f"process {os.getpid()}"), claim(layout.root):
            pass
    assert not is_claimed(layout)


def test_the_id_stays_and_the_boot_number_grows(tmp_path: Path) -> None:
    seen = []
    for _ in range(3):
        with claim(tmp_path) as data:
            seen.append((data.id, data.boot, data.instance_id(7)))
    (name, *_), *_ = seen
    assert seen == [(name, boot, f"{name}.{boot}.7") for boot in (1, 2, 3)]


def test_a_directory_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    complaint = r"cannot use the data directory .*/file/data: Not a directory"
    with pytest.raises(CannotStart, match=complaint), claim(tmp_path / "file" / "data"):
        pass


def test_passwords_are_made_once_and_completed_for_new_users(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    first = passwords(layout)
    assert len(set(first.values())) == 4
    assert min(map(len, first.values())) >= 32
    assert passwords(layout) == first
    write_private(layout.credentials, json.dumps({"worker": "kept"}))
    later = passwords(layout)
    assert later["worker"] == "kept"
    assert later.keys() == first.keys()
    assert stat.S_IMODE(layout.credentials.stat().st_mode) == 0o600


def test_a_private_file_is_replaced_whole_and_stays_private(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text("old and longer", "utf-8")
    path.chmod(0o644)
    write_private(path, "new")
    assert path.read_text("utf-8") == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["secret"]


def test_the_control_socket_lies_in_the_directory_if_its_path_is_short_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/1")
    room = 107 - len(f"{tmp_path}//control.sock")
    for length, direct in ((room, True), (room + 1, False), (room, True)):
        with claim(tmp_path / ("x" * length)) as data:
            path = new_control_path(data)
            assert (path.parent == data.layout.root) is direct
            assert control_path(data.layout) == path
            assert len(os.fsencode(path)) <= 107
            if not direct:
                assert path == Path(f"/run/user/1/pyoco-{data.id}.sock")
