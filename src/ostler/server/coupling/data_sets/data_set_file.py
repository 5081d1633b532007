"""One shared message data set as a file: pages are read and written past the page cache (O_DIRECT).

Buffers of pages are anonymous mappings, which begin on pages of memory, as such transfers need.
"""

from __future__ import annotations

import errno
import mmap
import os
import threading
from pathlib import Path
from typing import Final

from ostler.coupling.data_sets.layout import DamagedData, DataSetHeader, decode_header
from ostler.coupling.data_sets.space_map import PAGE_BYTES
from ostler.model.disk import DiskFull

FILE_BYTES_MAX: Final = 16 << 40
_CHUNK_BYTES: Final = 1 << 20
_MODE: Final = 0o660
_REFUSALS: Final = (errno.EINVAL, errno.EOPNOTSUPP)
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class DataSetFailed(Exception):
    """A data set cannot be used. `status` is that of DISPLAY SMDSCONN: ALLOCFAIL, OPENFAIL, STGFAIL or DATAFAIL.

    CLOSED is no failure: it was closed meanwhile, such as by STOP SMDSCONN.
    """

    def __init__(self, status: str, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


class DataSetFile:
    """An open file. Transfers may be made on several threads at the same time.

    `close` lets transfers end that are under way; later ones fail with CLOSED.
    """

    def __init__(self, path: Path, descriptor: int, is_direct: bool, header: DataSetHeader, blocks: int) -> None:
        self.path = path
        self.header = header
        self.is_direct = is_direct
        """False: the file system refuses transfers past the page cache."""
        self.block_bytes = int(header.block_bytes)
        self.block_pages = self.block_bytes // PAGE_BYTES
        self.blocks = blocks
        self._descriptor = descriptor
        self._lock = threading.Lock()
        self._written = 0  # transfers that have ended, so far
        self._forced = 0
        self._use = threading.Lock()  # for what follows: a force holds the other one for long
        self._users = 0
        self._is_closed = False

    def _begin(self) -> int:
        with self._use:
            if self._is_closed:
                raise DataSetFailed("CLOSED", f"{self.path} is closed")
            self._users += 1
            return self._descriptor

    def _end(self) -> None:
        with self._use:
            self._users -= 1
            if not self._is_closed or self._users:
                return
            descriptor, self._descriptor = self._descriptor, -1
        os.close(descriptor)

    def read(self, page: int, target: memoryview) -> None:
        """Fill a buffer from a page on. Raises DataSetFailed at the end of the file, too."""
        descriptor = self._begin()
        try:
            count = os.preadv(descriptor, [target], page * PAGE_BYTES)
        except OSError as error:
            raise DataSetFailed("DATAFAIL", f"page {page} cannot be read: {error.strerror}") from None
        finally:
            self._end()
        if count != len(target):
            raise DataSetFailed("DATAFAIL", f"the file ends before page {page + len(target) // PAGE_BYTES}")

    def write(self, page: int, source: memoryview) -> None:
        """Write a buffer from a page on. Raises DiskFull and DataSetFailed."""
        descriptor = self._begin()
        try:
            count = os.pwrite(descriptor, source, page * PAGE_BYTES)
        except OSError as error:
            if error.errno in _FULL:
                raise DiskFull(f"{self.path}: {error.strerror}") from None
            raise DataSetFailed("DATAFAIL", f"page {page} cannot be written: {error.strerror}") from None
        finally:
            self._end()
        if count != len(source):
            raise DiskFull(f"{self.path}: only {count} of {len(source)} bytes were written")
        with self._lock:
            self._written += 1

    def force(self) -> None:
        """Force what was written before. One call of the system serves all that wait. Raises DataSetFailed."""
        with self._lock:
            wanted = self._written
        with self._lock:
            if self._forced >= wanted:
                return
            through = self._written
            descriptor = self._begin()
            try:
                os.fdatasync(descriptor)
            except OSError as error:
                raise DataSetFailed("DATAFAIL", f"it cannot be forced: {error.strerror}") from None
            finally:
                self._end()
            self._forced = through

    def write_header(self) -> None:
        """Write the header anew, and force it. Raises DiskFull and DataSetFailed."""
        with mmap.mmap(-1, PAGE_BYTES) as page:
            page[:] = self.header.encode()
            with memoryview(page) as view:
                self.write(0, view)
        self.force()

    def format(self, blocks: int) -> None:
        """Add blocks of zeros behind the last one, and force them. Raises DiskFull and DataSetFailed."""
        start = self.blocks * self.block_bytes
        end = start + blocks * self.block_bytes
        if end > FILE_BYTES_MAX:
            raise DiskFull(f"{self.path} would be longer than 16 TB")
        with mmap.mmap(-1, _CHUNK_BYTES) as chunk, memoryview(chunk) as view:
            position = start
            try:
                while position < end:
                    count = min(_CHUNK_BYTES, end - position)
                    self.write(position // PAGE_BYTES, view[:count])
                    position += count
                self.force()
            except (DiskFull, DataSetFailed):
                self._cut(start)
                raise
        self.blocks += blocks

    def _cut(self, size_bytes: int) -> None:
        try:
            descriptor = self._begin()
        except DataSetFailed:
            return
        try:
            os.ftruncate(descriptor, size_bytes)
        finally:
            self._end()

    def is_in_place(self) -> bool:
        """Return False when the file was deleted, replaced or cut. Raises DataSetFailed when it is closed."""
        descriptor = self._begin()
        try:
            own = os.fstat(descriptor)
            other = os.stat(self.path)
        except OSError:
            return False
        finally:
            self._end()
        is_same = (own.st_dev, own.st_ino) == (other.st_dev, other.st_ino)
        return is_same and own.st_size >= self.blocks * self.block_bytes

    def close(self) -> None:
        with self._use:
            if self._is_closed:
                return
            self._is_closed = True
            if self._users:
                return  # the last of them closes it
            descriptor, self._descriptor = self._descriptor, -1
        os.close(descriptor)


def create_data_set(path: Path, header: DataSetHeader, blocks: int) -> DataSetFile:
    """Make a file of so many blocks, formatted. Raises DiskFull and DataSetFailed; a file that is there stays."""
    path.parent.mkdir(mode=0o770, parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.new")
    temporary.unlink(missing_ok=True)
    descriptor, is_direct = _open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    made = DataSetFile(path, descriptor, is_direct, header, 0)
    try:
        made.format(blocks)
        made.write_header()
        os.link(temporary, path)
        _force_directory(path.parent)
    except FileExistsError:
        made.close()
        raise DataSetFailed("ALLOCFAIL", f"{path} is there already") from None
    except BaseException:
        made.close()
        raise
    finally:
        temporary.unlink(missing_ok=True)
    return made


def open_data_set(path: Path, is_writable: bool) -> DataSetFile | None:
    """Open a file; None: there is none. Raises DataSetFailed."""
    try:
        descriptor, is_direct = _open(path, os.O_RDWR if is_writable else os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        size = os.fstat(descriptor).st_size
        header = _read_header(descriptor)
        blocks = size // int(header.block_bytes)
        if blocks < 1:
            raise DamagedData("it is shorter than a block")
    except (DamagedData, OSError) as error:
        os.close(descriptor)
        raise DataSetFailed("DATAFAIL", f"{path}: {error}") from None
    return DataSetFile(path, descriptor, is_direct, header, blocks)


def _open(path: Path, flags: int) -> tuple[int, bool]:
    """Return a descriptor, and True if it transfers past the page cache. Raises FileNotFoundError, DataSetFailed."""
    flags |= os.O_CLOEXEC
    try:
        try:
            return os.open(path, flags | os.O_DIRECT, _MODE), True
        except OSError as error:
            if error.errno not in _REFUSALS:
                raise
            return os.open(path, flags & ~os.O_EXCL, _MODE), False
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno in _FULL:
            raise DiskFull(f"{path}: {error.strerror}") from None
        raise DataSetFailed("OPENFAIL", f"{path}: {error.strerror}") from None


def _read_header(descriptor: int) -> DataSetHeader:
    with mmap.mmap(-1, PAGE_BYTES) as page:
        with memoryview(page) as view:
            count = os.preadv(descriptor, [view], 0)
        header = decode_header(page[:count])
    if header.block_bytes < 2 * PAGE_BYTES or header.block_bytes % PAGE_BYTES:
        raise DamagedData(f"it has blocks of {header.block_bytes} bytes")
    return header


def _force_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
