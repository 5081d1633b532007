"""The Unix socket of a running queue manager: `run/local.sock` in its directory, for local bindings and control.

A socket's address holds 107 bytes, and paths may be longer. So the directory is opened, and the address goes through
its descriptor: `/proc/self/fd/N/local.sock` is always short.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ostler.server.config.directories import QueueManagerDirectory

SOCKET_NAME: Final = "local.sock"
BACKLOG: Final = 1024
_OWNER_ONLY: Final = 0o600


def run_path(directory: QueueManagerDirectory) -> Path:
    """Return the directory of the files of a running queue manager."""
    return directory.path / "run"


def socket_path(directory: QueueManagerDirectory) -> Path:
    return run_path(directory) / SOCKET_NAME


def bind_local(directory: QueueManagerDirectory) -> socket.socket:
    """Return a listening socket that only the owner of the queue manager can connect to.

    The caller holds the instance lock: an existing socket was left by a process that has ended.
    """
    run_path(directory).mkdir(mode=0o700, exist_ok=True)
    socket_path(directory).unlink(missing_ok=True)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # The file gets the mode of the socket when it is bound, so that others can never connect.
        os.fchmod(sock.fileno(), _OWNER_ONLY)
        with _short_path(directory) as path:
            sock.bind(path)
        sock.listen(BACKLOG)
    except BaseException:
        sock.close()
        raise
    return sock


def unlink_local(directory: QueueManagerDirectory) -> None:
    """Remove the socket, before the instance lock is released."""
    socket_path(directory).unlink(missing_ok=True)


def connect_local(directory: QueueManagerDirectory, timeout_seconds: float | None = None) -> socket.socket:
    """Connect to the queue manager that runs in a directory.

    Raises FileNotFoundError or ConnectionRefusedError when none runs, TimeoutError, and other OSErrors.
    """
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.settimeout(timeout_seconds)
        with _short_path(directory) as path:
            sock.connect(path)
        sock.settimeout(None)
    except BaseException:
        sock.close()
        raise
    return sock


@contextmanager
def _short_path(directory: QueueManagerDirectory) -> Iterator[str]:
    """Yield the socket's path through the open directory. Raises FileNotFoundError if there is none."""
    descriptor = os.open(run_path(directory), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET_NAME}"
    finally:
        os.close(descriptor)
