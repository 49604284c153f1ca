"""Becomes nats-server, bound to the life of the process above it and alone on its store; run as a script."""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import sys
import time

_PR_SET_PDEATHSIG = 1
_LOCK_PATIENCE_SEC = 15.0
_LOCK_RETRY_SEC = 0.02


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    # The parent may have died before the line above; it was started as the leader of this session.
    if os.getppid() != os.getsid(0):
        sys.exit("nats-server is started by `pyoco up` only")


def _hold(lock_path: str) -> None:
    """Takes a lock that the server keeps as long as it lives: two servers on one store would destroy it."""
    lock = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + _LOCK_PATIENCE_SEC
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                sys.exit(f"another nats-server uses this store: {lock_path} is locked")
            time.sleep(_LOCK_RETRY_SEC)
        else:
            os.set_inheritable(lock, True)
            return


def main(binary: str, lock_path: str, arguments: list[str]) -> None:
    _die_with_parent()
    # The wrapper above ignores this signal so that the server alone decides when both end.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if arguments != ["-v"]:  # nats-bootstrap asks for the version first
        _hold(lock_path)
    os.execv(binary, [binary, *arguments])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
