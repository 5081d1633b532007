"""The copy of the partly filled page that LogWriteIntegrity=DoubleWrite makes before it writes the page again.

A packed log goes on in the middle of a page that holds durable records. A device that spoils a page while it writes it
would take them away. So the durable bytes of that page are first written to a file of their own, and forced; only then
the page is written in place. One copy is enough: while the copy is written the page is whole, and while the page is
written the copy is.

    offset 0   magic       "OSTLERLP"
           8   version, length of the body, crc32 of the body, zero (4 bytes each)
          24   identity of the log (16 bytes), LSN of the page's first byte (8), then the durable bytes of the page

A copy never becomes wrong: it holds durable bytes of the stream, which no later batch or life changes. A restart reads
the page through it, and writes it back.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final

from mypy_extensions import i64

from ostler.log.errors import LogNewer, LogSpace
from ostler.log.extents import is_whole
from ostler.log.stream_format import PAGE_BYTES, StreamShape, extent_name
from ostler.model.disk import Disk, DiskFull, File

COPY_NAME: Final = "PAGE.COPY"
COPY_MAGIC: Final = b"OSTLERLP"
COPY_VERSION: Final = 1
# The header and a whole page.
COPY_BYTES: Final = 2 * PAGE_BYTES
_PREFIX: Final = struct.Struct("<8sIII4x")
_BODY: Final = struct.Struct("<16sq")


class SavedPage:
    """Durable bytes of one page of the stream, from the page's first byte on."""

    def __init__(self, lsn: i64, data: bytes) -> None:
        self.lsn: Final[i64] = lsn
        self.data: Final[bytes] = data

    def end(self) -> i64:
        return self.lsn + len(self.data)

    def laid_over(self, chunk: bytes, lsn: i64) -> bytes:
        """Return a chunk of the stream that was read at `lsn`, with the saved bytes in it."""
        first: i64 = max(self.lsn, lsn)
        behind: i64 = min(self.end(), lsn + len(chunk))
        if first >= behind:
            return chunk
        return chunk[: first - lsn] + self.data[first - self.lsn : behind - self.lsn] + chunk[behind - lsn :]


class PageCopy:
    """The open copy, and the durable bytes of the page where the log ends. Belongs to the writer thread."""

    def __init__(self, file: File, identity: bytes, end: SavedPage) -> None:
        self._file = file
        self._identity = identity
        self._end: SavedPage = end
        self._next_end: SavedPage = end

    def save_before(self, lsn: i64) -> i64:
        """Save the page that a batch which begins at `lsn` writes again. Durable on return.

        Returns the bytes written, 0 when the page holds nothing durable. Raises LogSpace.
        """
        end = self._end
        self._next_end = end
        if end.lsn != lsn // PAGE_BYTES * PAGE_BYTES or not end.data:
            return 0
        body = _BODY.pack(self._identity, end.lsn) + end.data
        image = _PREFIX.pack(COPY_MAGIC, COPY_VERSION, len(body), zlib.crc32(body)) + body
        try:
            self._file.write_at(0, [image])
        except DiskFull:
            raise LogSpace("The disk is full: the last page of the log cannot be copied.") from None
        self._file.force()
        return len(image)

    def note_block(self, lsn: i64, image: list[bytes]) -> None:
        """Remember the end of a block that was written at `lsn` and is not forced yet."""
        data = b"".join(image)
        behind: i64 = lsn + len(data)
        page: i64 = behind // PAGE_BYTES * PAGE_BYTES
        if page > lsn:
            self._next_end = SavedPage(page, data[page - lsn :])
            return
        before = self._next_end.data if self._next_end.lsn == page else b""
        # A block begins at a multiple of eight.
        self._next_end = SavedPage(page, before + bytes(lsn - page - len(before)) + data)

    def batch_forced(self) -> None:
        """The blocks noted since `save_before` are durable."""
        self._end = self._next_end

    def close(self) -> None:
        self._file.close()


def open_page_copy(disk: Disk, active: str, shape: StreamShape, end_lsn: i64) -> PageCopy:
    """Open the copy for a life that begins at `end_lsn`; it is created when there is none. Raises LogSpace."""
    file = disk.open(f"{active}/{COPY_NAME}", True)
    if file.size_bytes() < COPY_BYTES:
        try:
            file.write_at(0, [bytes(COPY_BYTES)])
        except DiskFull:
            file.close()
            raise LogSpace("The disk is full: there is no space for the copy of the log's last page.") from None
        file.force()
        disk.force_directory(active)
    page: i64 = end_lsn // PAGE_BYTES * PAGE_BYTES
    data = b""
    if end_lsn > page:
        extent = disk.open(f"{active}/{extent_name(shape.extent_of(page))}", False)
        data = extent.read_at(shape.file_offset(page), int(end_lsn - page))
        extent.close()
    return PageCopy(file, shape.identity, SavedPage(page, data))


def read_page_copy(disk: Disk, active: str, shape: StreamShape) -> SavedPage | None:
    """Return the page that was saved last; None when there is none of this log, or its write was incomplete.

    Raises LogNewer.
    """
    path = f"{active}/{COPY_NAME}"
    if not disk.exists(path):
        return None
    file = disk.open(path, False)
    image = file.read_at(0, COPY_BYTES)
    file.close()
    if len(image) < _PREFIX.size:
        return None
    magic, version, length, checksum = _PREFIX.unpack_from(image, 0)
    body = image[_PREFIX.size : _PREFIX.size + length]
    if magic != COPY_MAGIC or not _BODY.size < len(body) == length or zlib.crc32(body) != checksum:
        return None
    if version > COPY_VERSION:
        raise LogNewer(f"the copy of the log's last page {COPY_NAME}", version, COPY_VERSION)
    identity, lsn = _BODY.unpack_from(body, 0)
    return SavedPage(lsn, body[_BODY.size :]) if identity == shape.identity else None


def restore_page(disk: Disk, active: str, shape: StreamShape, saved: SavedPage) -> bool:
    """Write a saved page back where the log differs from it; return True when it did. The caller forces the extent."""
    extent = shape.extent_of(saved.lsn)
    if not is_whole(disk, active, shape, extent):
        return False  # the log has moved on, and its extent is not needed any more
    file = disk.open(f"{active}/{extent_name(extent)}", False)
    offset = shape.file_offset(saved.lsn)
    differs = file.read_at(offset, len(saved.data)) != saved.data
    if differs:
        file.write_at(offset, [saved.data])
    file.close()
    return differs


def remove_page_copy(disk: Disk, active: str) -> None:
    """Remove the copy of a life that made some, when the next one makes none."""
    if disk.exists(f"{active}/{COPY_NAME}"):
        disk.remove(f"{active}/{COPY_NAME}")
