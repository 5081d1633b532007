"""The disk port over a directory of the operating system.

All paths stay below the directory the disk was made for. A full file system, quota or file size limit is DiskFull, too
many open files are DescriptorsExhausted; any other error of the operating system is DiskFailed, with the path and its
text.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NoReturn

from ostler.model.disk import DescriptorsExhausted, Disk, DiskFailed, DiskFull, File

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_DESCRIPTORS: Final = frozenset({errno.EMFILE, errno.ENFILE})
_FILE_MODE: Final = 0o600
_STAT_BLOCK_BYTES: Final = 512
_DIRECTORY_MODE: Final = 0o700
# The parts that one gathering write takes; POSIX guarantees 16, Linux takes 1,024.
_PARTS_MAX: Final = max(16, os.sysconf("SC_IOV_MAX")) if "SC_IOV_MAX" in os.sysconf_names else 16


# Linux: read what is in the page cache, and do not wait for the device.
_NO_WAIT: Final[int] = getattr(os, "RWF_NOWAIT", 0)


# Linux: punch a hole into a file. Python's os.posix_fallocate cannot.
_KEEP_SIZE: Final = 1
_PUNCH_HOLE: Final = 2


def _find_fallocate() -> Callable[[int, int, int, int], int] | None:
    try:
        found = ctypes.CDLL(None, use_errno=True).fallocate64
    except (AttributeError, OSError):
        return None
    found.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    call: Callable[[int, int, int, int], int] = found
    return call


_fallocate: Final = _find_fallocate()


def _refuse(path: str, doing: str, error: OSError) -> NoReturn:
    words = f"{path}: cannot {doing}: {error.strerror or error}"
    if error.errno in _FULL:
        raise DiskFull(words) from error
    if error.errno in _DESCRIPTORS:
        raise DescriptorsExhausted(words) from error
    raise DiskFailed(words) from error


class RealFile(File):
    """One open file. A thread must not close it while another uses it."""

    def __init__(self, descriptor: int, path: str) -> None:
        self._descriptor = descriptor
        self._path = path
        self._force_failed = False
        self._can_read_cached = _NO_WAIT != 0

    def read_at(self, offset: int, length: int) -> bytes:
        try:
            data = os.pread(self._descriptor, length, offset)
            if len(data) == length or not data:
                return data
            # A read may return less than asked for; only an empty read is the end of the file.
            parts = [data]
            total = len(data)
            while total < length:
                data = os.pread(self._descriptor, length - total, offset + total)
                if not data:
                    break
                parts.append(data)
                total += len(data)
            return b"".join(parts)
        except OSError as error:
            _refuse(self._path, f"read {length} bytes at {offset}", error)

    def read_cached(self, offset: int, length: int) -> bytes | None:
        if not self._can_read_cached:
            return None
        data = bytearray(length)
        try:
            # Less than asked for: the rest is not in the page cache, or the file ends here.
            return bytes(data) if os.preadv(self._descriptor, [data], offset, _NO_WAIT) == length else None
        except BlockingIOError:
            return None
        except OSError:
            # The file system does not know the flag. If it is anything else, `read_at` reports it.
            self._can_read_cached = False
            return None

    def write_at(self, offset: int, parts: Sequence[bytes]) -> None:
        try:
            if len(parts) == 1:
                self._write_all(offset, parts[0])
                return
            for first in range(0, len(parts), _PARTS_MAX):
                offset += self._gather(offset, parts[first : first + _PARTS_MAX])
        except OSError as error:
            _refuse(self._path, f"write at {offset}", error)

    def _gather(self, offset: int, parts: Sequence[bytes]) -> int:
        """Write the parts with one call, and the rest part by part if the call was short."""
        length = sum([len(part) for part in parts])
        written = os.pwritev(self._descriptor, parts, offset) if length else 0
        if written < length:
            at = offset
            for part in parts:
                skip = min(max(written - (at - offset), 0), len(part))
                if skip < len(part):
                    self._write_all(at + skip, part[skip:])
                at += len(part)
        return length

    def _write_all(self, offset: int, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            written = os.pwrite(self._descriptor, rest, offset)
            if written == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            rest = rest[written:]
            offset += written

    def allocate(self, offset: int, length: int) -> None:
        try:
            os.posix_fallocate(self._descriptor, offset, length)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
                _refuse(self._path, f"allocate {length} bytes at {offset}", error)
            self.write_at(offset, [bytes(length)])

    def discard(self, offset: int, length: int) -> None:
        # A file system that cannot do it keeps the space, and the file uses it again.
        if _fallocate is not None:
            _fallocate(self._descriptor, _PUNCH_HOLE | _KEEP_SIZE, offset, length)

    def force(self) -> None:
        # After a failed fsync the kernel drops the dirty pages and the next fsync succeeds: a failure is final.
        if self._force_failed:
            raise DiskFailed(f"{self._path}: an earlier force failed; later writes may not be on the disk")
        try:
            os.fdatasync(self._descriptor)
        except OSError as error:
            self._force_failed = True
            raise DiskFailed(f"{self._path}: cannot force data to disk: {error.strerror or error}") from error

    def size_bytes(self) -> int:
        try:
            return os.fstat(self._descriptor).st_size
        except OSError as error:
            _refuse(self._path, "get its size", error)

    def taken_bytes(self) -> int:
        """Return the space that the file takes of the disk: less than its size when it has holes."""
        try:
            return os.fstat(self._descriptor).st_blocks * _STAT_BLOCK_BYTES
        except OSError as error:
            _refuse(self._path, "get the space it takes", error)

    def truncate(self, size_bytes: int) -> None:
        try:
            os.ftruncate(self._descriptor, size_bytes)
        except OSError as error:
            _refuse(self._path, f"set its size to {size_bytes}", error)

    def close(self) -> None:
        """Close the file; closing it again does nothing."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor < 0:
            return
        try:
            os.close(descriptor)
        except OSError as error:
            _refuse(self._path, "close", error)


class RealDisk(Disk):
    """The tree below `base`, which is not created until `make_directory("")`."""

    def __init__(self, base: str | Path) -> None:
        self._base = os.path.abspath(base)

    def open(self, path: str, create: bool) -> File:
        full = self._full(path)
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        try:
            return RealFile(os.open(full, flags, _FILE_MODE), full)
        except OSError as error:
            _refuse(full, "open", error)

    def exists(self, path: str) -> bool:
        full = self._full(path)
        try:
            os.stat(full)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            _refuse(full, "look", error)
        return True

    def names(self, directory: str) -> list[str]:
        full = self._full(directory)
        try:
            return sorted(os.listdir(full))
        except FileNotFoundError:
            return []
        except OSError as error:
            _refuse(full, "list", error)

    def make_directory(self, path: str) -> None:
        full = self._full(path)
        try:
            os.makedirs(self._base, _DIRECTORY_MODE, exist_ok=True)
            at = self._base
            for part in self._parts(path):
                at = os.path.join(at, part)
                if not os.path.isdir(at):
                    os.mkdir(at, _DIRECTORY_MODE)
        except OSError as error:
            _refuse(full, "make the directory", error)

    def remove(self, path: str) -> None:
        full = self._full(path)
        try:
            if os.path.isdir(full) and not os.path.islink(full):
                shutil.rmtree(full)
            else:
                os.unlink(full)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            _refuse(full, "remove", error)

    def rename(self, source: str, target: str) -> None:
        full = self._full(source)
        try:
            os.replace(full, self._full(target))
        except OSError as error:
            _refuse(full, f"rename to {target}", error)

    def force_directory(self, path: str) -> None:
        full = self._full(path)
        try:
            descriptor = os.open(full, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            if error.errno in _DESCRIPTORS:
                _refuse(full, "open the directory", error)
            raise DiskFailed(f"{full}: cannot force the directory to disk: {error.strerror or error}") from error

    def free_bytes(self) -> int:
        """Return the bytes that an ordinary user may still write, without the reserve of the super user."""
        try:
            state = os.statvfs(self._base)
        except OSError as error:
            _refuse(self._base, "get the free space", error)
        return state.f_bavail * state.f_frsize

    def open_to_read(self, path: str) -> File:
        """Open an existing file for reading only."""
        full = self._full(path)
        try:
            return RealFile(os.open(full, os.O_RDONLY | os.O_CLOEXEC), full)
        except OSError as error:
            _refuse(full, "open", error)

    def _full(self, path: str) -> str:
        return os.path.join(self._base, *self._parts(path)) if path else self._base

    def _parts(self, path: str) -> list[str]:
        """Split a path that stays below the base. Raises ValueError for any other."""
        if not path:
            return []
        parts = path.split("/")
        if any(part in ("", ".", "..") or "\0" in part for part in parts):
            raise ValueError(f"{path!r} is not a path below {self._base}: parts joined by '/', without '.' and '..'")
        return parts


class ReadOnlyDisk(Disk):
    """The tree below `base`, for reading only. Changes raise DiskFailed; forcing does nothing."""

    def __init__(self, base: str | Path) -> None:
        self._real = RealDisk(base)

    def open(self, path: str, create: bool) -> File:
        return self._real.open_to_read(path)

    def exists(self, path: str) -> bool:
        return self._real.exists(path)

    def names(self, directory: str) -> list[str]:
        return self._real.names(directory)

    def make_directory(self, path: str) -> None:
        return

    def remove(self, path: str) -> None:
        raise DiskFailed(f"{path}: must not be removed")

    def rename(self, source: str, target: str) -> None:
        raise DiskFailed(f"{source}: must not be renamed")

    def force_directory(self, path: str) -> None:
        return

    def free_bytes(self) -> int:
        return 0
