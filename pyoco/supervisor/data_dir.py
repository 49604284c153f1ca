"""The data directory: where everything lies, who owns it, and the numbers that name instances."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .nats_config import USERS
from .options import CannotStart

_SOCKET_PATH_LIMIT = 107  # bytes that fit into the address of a unix socket
_SOCKET_NAME = "control.sock"
_POINTER_NAME = "control.path"


@dataclass(frozen=True)
class Layout:
    """Paths inside a data directory."""

    root: Path

    @property
    def lock(self) -> Path:
        return self.root / "lock"

    @property
    def nats(self) -> Path:
        return self.root / "nats"

    @property
    def nats_config(self) -> Path:
        return self.nats / "nats.conf"

    @property
    def nats_launcher(self) -> Path:
        return self.nats / "launch"

    @property
    def nats_lock(self) -> Path:
        return self.nats / "server.lock"

    @property
    def nats_pid(self) -> Path:
        return self.nats / "nats-server.pid"  # the name that `nats-bootstrap down` looks for

    @property
    def nats_store(self) -> Path:
        return self.nats / "store"

    @property
    def credentials(self) -> Path:
        return self.root / "credentials.json"

    @property
    def logs(self) -> Path:
        return self.root / "logs"


@dataclass(frozen=True)
class DataDir:
    """A data directory that this process owns."""

    layout: Layout
    id: str
    boot: int

    def instance_id(self, number: int) -> str:
        return f"{self.id}.{self.boot}.{number}"

    @property
    def server_name(self) -> str:
        return f"pyoco-{self.id}"


@contextmanager
def claim(root: Path) -> Iterator[DataDir]:
    """Makes the directory if need be and holds it until the end; refuses one that another supervisor holds."""
    layout = Layout(root.absolute())
    try:
        for directory in (layout.root, layout.nats, layout.logs):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(layout.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as exc:
        raise CannotStart(f"Error: cannot use the data directory {layout.root}: {exc.strerror}") from None
    try:
        _lock(lock, layout)
        yield DataDir(layout, _stable_id(layout.root / "id"), _next_boot(layout.root / "boot"))
    finally:
        os.close(lock)


def is_claimed(layout: Layout) -> bool:
    """Whether a supervisor holds the directory right now."""
    try:
        lock = os.open(layout.lock, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def wait_until_free(layout: Layout) -> None:
    """Blocks until no supervisor holds the directory."""
    lock = os.open(layout.lock, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_SH)
    finally:
        os.close(lock)


def _lock(lock: int, layout: Layout) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = os.pread(lock, 32, 0).decode("ascii", "replace").strip()
        raise CannotStart(
            f"Error: pyoco is already up on {layout.root} (process {owner or 'unknown'})",
            f"see it with `pyoco status --data-dir {layout.root}`, or start a second stack with another --data-dir",
        ) from None
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)


def _stable_id(path: Path) -> str:
    """A name for this directory, made once."""
    if path.exists() and (known := path.read_text("ascii").strip()):
        return known
    made = secrets.token_hex(4)
    write_private(path, made + "\n")
    return made


def _next_boot(path: Path) -> int:
    boot = int(path.read_text("ascii")) + 1 if path.exists() else 1
    write_private(path, f"{boot}\n")
    return boot


def passwords(layout: Layout) -> Mapping[str, str]:
    """The password of each NATS user, made at the first start and kept: processes on other machines know them."""
    known: dict[str, str] = json.loads(layout.credentials.read_text("utf-8")) if layout.credentials.exists() else {}
    complete = {user: known.get(user) or secrets.token_urlsafe(24) for user in USERS}
    if complete != known:
        write_private(layout.credentials, json.dumps(complete, indent=2) + "\n")
    return complete


def write_private(path: Path, text: str, mode: int = 0o600) -> None:
    """Replaces a file in one step, readable by its owner only; a crash leaves the old or the new one."""
    scratch = path.with_name(f".{path.name}.new")
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        os.fchmod(descriptor, mode)
        file.write(text)
        file.flush()
        os.fsync(descriptor)
    scratch.replace(path)


def new_control_path(data: DataDir) -> Path:
    """Where to put the control socket. A path too long for a socket is replaced by a short one and a pointer to it."""
    direct, pointer = data.layout.root / _SOCKET_NAME, data.layout.root / _POINTER_NAME
    if len(os.fsencode(direct)) <= _SOCKET_PATH_LIMIT:
        pointer.unlink(missing_ok=True)
        return direct
    short = Path(os.environ.get("XDG_RUNTIME_DIR") or _private_directory()) / f"pyoco-{data.id}.sock"
    write_private(pointer, str(short))
    return short


def control_path(layout: Layout) -> Path:
    """Where the control socket of a running stack is."""
    pointer = layout.root / _POINTER_NAME
    return Path(pointer.read_text("utf-8")) if pointer.exists() else layout.root / _SOCKET_NAME


def _private_directory() -> Path:
    directory = Path(tempfile.gettempdir()) / f"pyoco-{os.getuid()}"
    directory.mkdir(mode=0o700, exist_ok=True)
    if directory.lstat().st_uid != os.getuid() or directory.is_symlink():
        raise CannotStart(f"Error: {directory} belongs to somebody else", "set XDG_RUNTIME_DIR")
    return directory
