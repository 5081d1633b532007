"""The disk as a port: the operations that the recovery log and the queue files need.

The server uses the real disk; tests use one that loses, keeps or tears data that was not forced.
Paths are strings relative to the directory the disk was made for, parts joined by "/".
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Sequence

from mypy_extensions import mypyc_attr


class DiskFull(Exception):
    """A write or an allocation found no space; nothing that was forced before is affected."""


class DescriptorsExhausted(DiskFull):
    """A file could not be opened because too many are open. Closing files helps."""


class DiskFailed(Exception):
    """The device refused to read or to force data. After a failed force the process must end, never retry."""


@mypyc_attr(allow_interpreted_subclasses=True)
class File(metaclass=ABCMeta):
    """One open file, addressed by offset."""

    @abstractmethod
    def read_at(self, offset: int, length: int) -> bytes:
        """Read up to `length` bytes; fewer only at the end of the file."""

    def read_cached(self, offset: int, length: int) -> bytes | None:
        """Read `length` bytes that are in memory already. None: they must be read by `read_at`, which may wait.

        A disk that cannot tell always returns None.
        """
        return None

    @abstractmethod
    def write_at(self, offset: int, parts: Sequence[bytes]) -> None:
        """Write all parts one after the other. Raises DiskFull; durable only after `force`."""

    def allocate(self, offset: int, length: int) -> None:
        """Extend the file with zeros that occupy disk space. Raises DiskFull, perhaps after a part."""
        self.write_at(offset, [bytes(length)])

    def discard(self, offset: int, length: int) -> None:
        """Free the disk space of data that is not needed any more, where the file system can."""
        return

    @abstractmethod
    def force(self) -> None:
        """Return when all that was written is on stable storage (fdatasync)."""

    @abstractmethod
    def size_bytes(self) -> int: ...

    @abstractmethod
    def truncate(self, size_bytes: int) -> None: ...

    @abstractmethod
    def close(self) -> None: ...


@mypyc_attr(allow_interpreted_subclasses=True)
class Disk(metaclass=ABCMeta):
    """A directory tree that belongs to one queue manager (or to its log)."""

    @abstractmethod
    def open(self, path: str, create: bool) -> File:
        """Open a file for reading and writing; with `create` it is created if it does not exist."""

    @abstractmethod
    def exists(self, path: str) -> bool: ...

    @abstractmethod
    def names(self, directory: str) -> list[str]:
        """Return the names in a directory, sorted; empty when there is no such directory."""

    @abstractmethod
    def make_directory(self, path: str) -> None:
        """Create a directory and its parents if they do not exist."""

    @abstractmethod
    def remove(self, path: str) -> None:
        """Remove a file, or a directory with its contents; no error when there is none."""

    @abstractmethod
    def rename(self, source: str, target: str) -> None:
        """Rename atomically, replacing the target."""

    @abstractmethod
    def force_directory(self, path: str) -> None:
        """Return when the names in a directory are on stable storage."""

    @abstractmethod
    def free_bytes(self) -> int: ...
