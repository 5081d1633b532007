"""The password file of a queue manager on disk: `passwords` in its directory, for its owner alone.

It is replaced as a whole, so that a reader sees the old file or the new one. A lock serializes writers. It may be
changed whether or not the queue manager runs: a running one notices.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ostler.security.passwords import FILE_BYTES_MAX, PasswordFile, PasswordFileError, parse
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.ini_file import write_atomically

FILE_NAME: Final = "passwords"
_LOCK_NAME: Final = "passwords.lock"

Signature = tuple[int, int, int, int, int, int]
"""Identifies a state of the file, from its inode, times, size, mode and owner."""
MISSING: Final[Signature] = (0, 0, 0, 0, 0, 0)


def password_path(directory: QueueManagerDirectory) -> Path:
    return directory.path / FILE_NAME


def signature(path: Path) -> Signature:
    """Return the file's signature, or MISSING when there is no file. Raises OSError."""
    try:
        return _signature(os.stat(path))
    except FileNotFoundError:
        return MISSING


def _signature(found: os.stat_result) -> Signature:
    # The inode tells replaced files apart, times and size show edits, mode and owner show who may edit.
    return (found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_mode, found.st_uid)


def read_passwords(path: Path) -> tuple[PasswordFile, Signature]:
    """Return the users and the signature of the file they were read from. A missing file has no users.

    Raises PasswordFileError, also for a file that others may read or write, and OSError.
    """
    try:
        # Without blocking: opening a pipe must not hang.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return PasswordFile(), MISSING
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise PasswordFileError(0, "it is not a file")
        if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise PasswordFileError(0, f"users other than its owner have access to it: chmod 600 {path}")
        if found.st_uid not in (os.geteuid(), 0):
            raise PasswordFileError(0, f"it belongs to another user (uid {found.st_uid})")
        return parse(file.read(FILE_BYTES_MAX + 1)), _signature(found)


@contextmanager
def edit_passwords(directory: QueueManagerDirectory) -> Iterator[PasswordFile]:
    """Give the users to be changed; they are written when the block ends without an exception.

    One writer at a time. Raises PasswordFileError for a file that cannot be parsed, and OSError.
    """
    with _one_writer(directory):
        path = password_path(directory)
        passwords, _ = read_passwords(path)
        yield passwords
        write_atomically(path, passwords.text().encode("utf-8"))


def replace_passwords(directory: QueueManagerDirectory, data: bytes) -> None:
    """Put another password file in place. Raises PasswordFileError when it cannot be parsed, and OSError."""
    parse(data)
    with _one_writer(directory):
        write_atomically(password_path(directory), data)


@contextmanager
def _one_writer(directory: QueueManagerDirectory) -> Iterator[None]:
    # Root may do this in another user's directory, and must not follow a link out of it.
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    lock = os.open(directory.path / _LOCK_NAME, flags, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
