"""A limit on the disk space of a queue manager (crtmqm -fs): beyond it the disk is full for the queue manager.

MQ's appliance and replicated queue managers have a file system of their own, whose size -fs sets. Here the files below
the directory of the queue manager may take so much together, its log included unless LogPath places it elsewhere. Space
is counted as the file system allocates it, and counted anew from time to time, so that files which others write there
(error logs, certificates) and directories count as well.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ostler.model.disk import Disk, DiskFull, File
from ostler.server.storage.real_disk import RealDisk, RealFile

_STAT_BLOCK_BYTES: Final = 512
# Counting looks at every file: it is done so often, and when the space seems to be used up.
_COUNT_SECONDS: Final = 10.0
_COUNT_WHEN_FULL_SECONDS: Final = 1.0


class SpaceQuota:
    """The limit and the space that is used of it. Thread-safe."""

    def __init__(self, directory: Path, limit_bytes: int) -> None:
        self._directory = str(directory)
        self.limit_bytes: Final[int] = limit_bytes
        self._lock = threading.Lock()
        self._counted_at = time.monotonic()
        self._used_bytes = taken_below(self._directory)

    def used_bytes(self) -> int:
        with self._lock:
            self._count_after(_COUNT_SECONDS)
            return self._used_bytes

    def free_bytes(self) -> int:
        return max(0, self.limit_bytes - self.used_bytes())

    def take(self, size_bytes: int) -> None:
        """Count space that is about to be used. Raises DiskFull, and counts nothing, when it is more than is left."""
        with self._lock:
            self._count_after(_COUNT_SECONDS)
            if self._used_bytes + size_bytes > self.limit_bytes:
                self._count_after(_COUNT_WHEN_FULL_SECONDS)
            if self._used_bytes + size_bytes > self.limit_bytes:
                raise DiskFull(
                    f"{self._directory}: the file system size of the queue manager, {self.limit_bytes >> 20} MB, is "
                    "used up; setmqsize makes it larger"
                )
            self._used_bytes += size_bytes

    def give_back(self, size_bytes: int) -> None:
        with self._lock:
            self._used_bytes = max(0, self._used_bytes - size_bytes)

    def _count_after(self, seconds: float) -> None:
        if time.monotonic() - self._counted_at >= seconds:
            self._used_bytes = taken_below(self._directory)
            self._counted_at = time.monotonic()


class QuotaFile(File):
    """A file whose growth is counted."""

    def __init__(self, file: RealFile, quota: SpaceQuota) -> None:
        self._file = file
        self._quota = quota
        self._size_bytes = file.size_bytes()
        self._has_holes = file.taken_bytes() < self._size_bytes

    def read_at(self, offset: int, length: int) -> bytes:
        return self._file.read_at(offset, length)

    def read_cached(self, offset: int, length: int) -> bytes | None:
        return self._file.read_cached(offset, length)

    def write_at(self, offset: int, parts: Sequence[bytes]) -> None:
        end = offset + sum([len(part) for part in parts])
        if end <= self._size_bytes and not self._has_holes:
            self._file.write_at(offset, parts)
            return
        needed = self._needed(offset, end)
        self._quota.take(needed)
        before = self._file.taken_bytes()
        try:
            self._file.write_at(offset, parts)
        finally:
            self._settle(before, needed, offset)

    def allocate(self, offset: int, length: int) -> None:
        needed = self._needed(offset, offset + length)
        self._quota.take(needed)
        before = self._file.taken_bytes()
        try:
            self._file.allocate(offset, length)
        finally:
            self._settle(before, needed, offset)

    def _needed(self, offset: int, end: int) -> int:
        """Return the most that a write can take."""
        return max(0, end - (offset if self._has_holes else max(offset, self._size_bytes)))

    def _settle(self, before: int, needed: int, offset: int) -> None:
        """Correct the count by what the file takes now."""
        self._quota.give_back(needed - (self._file.taken_bytes() - before))
        self._has_holes = self._has_holes or offset > self._size_bytes
        self._size_bytes = self._file.size_bytes()

    def discard(self, offset: int, length: int) -> None:
        before = self._file.taken_bytes()
        self._file.discard(offset, length)
        self._has_holes = True
        self._quota.give_back(before - self._file.taken_bytes())

    def force(self) -> None:
        self._file.force()

    def size_bytes(self) -> int:
        return self._file.size_bytes()

    def truncate(self, size_bytes: int) -> None:
        before = self._file.taken_bytes()
        self._file.truncate(size_bytes)
        self._has_holes = self._has_holes or size_bytes > self._size_bytes
        self._size_bytes = size_bytes
        self._quota.give_back(before - self._file.taken_bytes())

    def close(self) -> None:
        self._file.close()


class QuotaDisk(Disk):
    """The directory of a queue manager that may take so many bytes."""

    def __init__(self, base: Path, limit_bytes: int) -> None:
        self._real = RealDisk(base)
        self._base = base
        self.quota: Final = SpaceQuota(base, limit_bytes)

    def open(self, path: str, create: bool) -> File:
        file = self._real.open(path, create)
        assert isinstance(file, RealFile)
        return QuotaFile(file, self.quota)

    def exists(self, path: str) -> bool:
        return self._real.exists(path)

    def names(self, directory: str) -> list[str]:
        return self._real.names(directory)

    def make_directory(self, path: str) -> None:
        self._real.make_directory(path)

    def remove(self, path: str) -> None:
        taken = taken_below(str(self._base / path)) if path else 0
        self._real.remove(path)
        self.quota.give_back(taken)

    def rename(self, source: str, target: str) -> None:
        replaced = taken_below(str(self._base / target))
        self._real.rename(source, target)
        self.quota.give_back(replaced)

    def force_directory(self, path: str) -> None:
        self._real.force_directory(path)

    def free_bytes(self) -> int:
        return min(self._real.free_bytes(), self.quota.free_bytes())


def manager_disk(directory: Path, limit_megabytes: int | None) -> Disk:
    """Return the disk of a queue manager, with a limit if it has one."""
    return RealDisk(directory) if limit_megabytes is None else QuotaDisk(directory, limit_megabytes << 20)


def taken_below(path: str) -> int:
    """Return the space that a file, or a directory with all below it, takes. Files that vanish meanwhile count as 0."""
    try:
        total = os.lstat(path).st_blocks * _STAT_BLOCK_BYTES
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    total += taken_below(entry.path)
                else:
                    total += _taken(entry)
    except NotADirectoryError:
        return total
    except FileNotFoundError:
        return 0
    return total


def _taken(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_blocks * _STAT_BLOCK_BYTES
    except FileNotFoundError:
        return 0
