"""A disk whose reads of queue files wait: for the laboratory, which measures beside a slow disk, and for tests."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from ostler.model.disk import Disk, File

READ_DELAY_VARIABLE: Final = "OSTLER_READ_DELAY_MS"
"""Milliseconds that are added to each read of a queue file, in the environment of a queue manager."""
_MILLISECONDS: Final = 1000


class DelayedFile(File):
    """Another file, with something to wait for before each read."""

    def __init__(self, file: File, before_read: Callable[[], None]) -> None:
        self._file = file
        self._before_read = before_read

    def read_at(self, offset: int, length: int) -> bytes:
        self._before_read()
        return self._file.read_at(offset, length)

    def write_at(self, offset: int, parts: Sequence[bytes]) -> None:
        self._file.write_at(offset, parts)

    def allocate(self, offset: int, length: int) -> None:
        self._file.allocate(offset, length)

    def discard(self, offset: int, length: int) -> None:
        self._file.discard(offset, length)

    def force(self) -> None:
        self._file.force()

    def size_bytes(self) -> int:
        return self._file.size_bytes()

    def truncate(self, size_bytes: int) -> None:
        self._file.truncate(size_bytes)

    def close(self) -> None:
        self._file.close()


class DelayedDisk(Disk):
    """Another disk, but for reads of the messages of queues."""

    def __init__(self, disk: Disk, before_read: Callable[[], None]) -> None:
        self._disk = disk
        self._before_read = before_read

    def open(self, path: str, create: bool) -> File:
        file = self._disk.open(path, create)
        return DelayedFile(file, self._before_read) if path.endswith("/messages") else file

    def exists(self, path: str) -> bool:
        return self._disk.exists(path)

    def names(self, directory: str) -> list[str]:
        return self._disk.names(directory)

    def make_directory(self, path: str) -> None:
        self._disk.make_directory(path)

    def remove(self, path: str) -> None:
        self._disk.remove(path)

    def rename(self, source: str, target: str) -> None:
        self._disk.rename(source, target)

    def force_directory(self, path: str) -> None:
        self._disk.force_directory(path)

    def free_bytes(self) -> int:
        return self._disk.free_bytes()


def delayed_as_asked(disk: Disk) -> Disk:
    """Return the disk, or one with slower reads if the environment asks for it."""
    milliseconds = os.environ.get(READ_DELAY_VARIABLE, "")
    if not milliseconds:
        return disk
    return DelayedDisk(disk, partial(time.sleep, int(milliseconds) / _MILLISECONDS))
