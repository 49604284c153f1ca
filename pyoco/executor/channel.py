"""The executor's end of the socket."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator
from typing import NoReturn

from .messages import ToExecutor, ToWorker
from .protocol import encode, executor_reader

_READ_BYTES = 64 * 1024  # larger ones cost a memory mapping for each read


class Channel:
    """Any thread may send; one reads. Without a worker there is nothing left to do: the process ends."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._held_back = b""

    def send(self, message: ToWorker) -> None:
        """Returns once the message is on its way. A worker that does not read holds up whoever has something to say."""
        frame = encode(message)
        try:
            with self._lock:
                if self._held_back:
                    frame, self._held_back = self._held_back + frame, b""
                self._connection.sendall(frame)
        except OSError:
            die_with_children()

    def send_with_next(self, message: ToWorker) -> None:
        """For what is followed by another message in a moment: waking the worker twice would cost more than both."""
        frame = encode(message)
        with self._lock:
            self._held_back += frame

    def receive(self) -> Iterator[ToExecutor]:
        """The worker's messages, as long as there is one."""
        reader = executor_reader()
        while data := self._read():
            yield from reader.feed(data)

    def _read(self) -> bytes:
        try:
            return self._connection.recv(_READ_BYTES)
        except OSError:
            return b""

    def forget(self) -> None:
        """Gives up this process's copy of the socket: for a fork, whose words are not ours."""
        self._connection.close()


def die_with_children() -> NoReturn:
    """Ends the process and what its tasks have started: nobody is left who could look after them."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
