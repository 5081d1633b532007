"""The directories of coupling facilities: which ones are there, which run, and where they are reached.

<data root>/facilities/<facility>/facility.lock   held by its process
                                  facility.json   its process, address and identity
                                  cf.sock         its local socket, for its owner
                                  errors/         its messages
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from ostler.server.config.ini_file import write_atomically

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,15}")
_SOCKET: Final = "cf.sock"
_RECORD: Final = "facility.json"
_RECORD_BYTES_MAX: Final = 65_536
_BACKLOG: Final = 128
_DIRECTORY_MODE: Final = 0o700
_OWNER_ONLY: Final = 0o600


class FacilityRunning(Exception):
    """Another process runs the facility."""


@dataclass(frozen=True)
class FacilityRecord:
    """What a facility tells about itself when it starts."""

    pid: int
    started: str
    identity: str
    address: str
    """Where it listens for members on other machines; empty: nowhere."""
    is_tls: bool


@dataclass(frozen=True)
class FacilityDirectory:
    """The directory of one facility, which need not exist."""

    root: Path
    name: str

    @property
    def path(self) -> Path:
        return self.root / "facilities" / self.name

    @property
    def errors(self) -> Path:
        return self.path / "errors"

    def exists(self) -> bool:
        return self.path.is_dir()

    def make(self) -> None:
        """Make the directory, for its owner only, if it is not there."""
        self.errors.mkdir(mode=_DIRECTORY_MODE, parents=True, exist_ok=True)
        os.chmod(self.path, _DIRECTORY_MODE)

    def is_running(self) -> bool:
        """Return True if a process holds the lock."""
        try:
            descriptor = os.open(self.path / "facility.lock", os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def record(self) -> FacilityRecord | None:
        """Return what the last process told; None when there is nothing that can be read."""
        try:
            with open(self.path / _RECORD, "rb") as file:
                found = json.loads(file.read(_RECORD_BYTES_MAX))
            return FacilityRecord(
                int(found["pid"]),
                str(found["started"]),
                str(found["identity"]),
                str(found["address"]),
                bool(found["is_tls"]),
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write_record(self, record: FacilityRecord) -> None:
        write_atomically(self.path / _RECORD, json.dumps(asdict(record)).encode())

    def bind(self) -> socket.socket:
        """Return the local socket, which only the owner can connect to. The caller holds the lock."""
        with suppress(FileNotFoundError):
            os.unlink(self.path / _SOCKET)
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            os.fchmod(sock.fileno(), _OWNER_ONLY)
            with self._short_path() as path:
                sock.bind(path)
            sock.listen(_BACKLOG)
        except BaseException:
            sock.close()
            raise
        return sock

    def unbind(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self.path / _SOCKET)

    def connect(self, timeout_seconds: float) -> socket.socket:
        """Connect to the facility. Raises FileNotFoundError or ConnectionRefusedError when it does not run."""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.settimeout(timeout_seconds)
            with self._short_path() as path:
                sock.connect(path)
        except BaseException:
            sock.close()
            raise
        return sock

    @property
    def socket(self) -> Path:
        """The local socket."""
        return self.path / _SOCKET

    @contextmanager
    def _short_path(self) -> Iterator[str]:
        with short_path(self.socket) as path:
            yield path


class FacilityLock:
    """Held by the process that runs a facility, until `release` or its end."""

    def __init__(self, directory: FacilityDirectory) -> None:
        """Raises FacilityRunning."""
        path = directory.path / "facility.lock"
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _OWNER_ONLY)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.release()
            if error.errno in (errno.EAGAIN, errno.EACCES):
                raise FacilityRunning(f"coupling facility {directory.name} is running already") from None
            raise

    def release(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


@contextmanager
def short_path(path: Path) -> Iterator[str]:
    """Yield a socket's path through its open directory: an address holds 107 bytes only."""
    descriptor = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{path.name}"
    finally:
        os.close(descriptor)


def facility_directory(root: Path, name: str) -> FacilityDirectory:
    """Return the directory of a facility. Raises ValueError for an invalid name."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not the name of a coupling facility: 1 to 16 letters, digits, '.', '_' and '-'")
    return FacilityDirectory(root, name)


def facilities(root: Path) -> list[FacilityDirectory]:
    """Return all facilities below a data root, sorted by name."""
    try:
        names = sorted(os.listdir(root / "facilities"))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [FacilityDirectory(root, name) for name in names if _NAME.fullmatch(name)]
