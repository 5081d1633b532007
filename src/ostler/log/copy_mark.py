"""The file `mark` beside the control file: what one copy of a replicated log has promised to the others.

    page 0, 1   written in turn, every time with a higher sequence number, and forced

A torn write spoils only the older page. The mark belongs to the thread that writes the copy's log.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final

from mypy_extensions import i64

from ostler.log.errors import LogDamaged, LogNewer, LogSpace
from ostler.log.stream_format import PAGE_BYTES
from ostler.model.disk import Disk, DiskFull

MARK_NAME: Final = "mark"
MARK_MAGIC: Final = b"OSTLERLM"
MARK_VERSION: Final = 1
_PREFIX: Final = struct.Struct("<8sIII4x")
_BODY: Final = struct.Struct("<16sqqqqqqII")


class CopyMark:
    """The promises of a copy. Change the attributes, then call `write`."""

    def __init__(self, disk: Disk, directory: str, identity: bytes) -> None:
        self._disk = disk
        self._path = f"{directory}/{MARK_NAME}"
        self._directory = directory
        self._identity = identity
        self._sequence: i64 = 0
        self.acknowledged_lsn: i64 = 0
        """The log must read back to here, or the copy has lost what it acknowledged."""
        self.epoch: i64 = 0
        """The life in which that was acknowledged."""
        self.highest_epoch: i64 = 0
        """The latest life that this copy ever had, void or not."""
        self.promised_term: i64 = 0
        """Nothing of this term or an older one is acknowledged any more."""
        self.is_catching_up: bool = False
        """Blocks behind `acknowledged_lsn` were written without a force between them: what they say about each other is
        not true yet."""

    def write(self) -> None:
        """Make the mark durable. Raises LogSpace."""
        sequence: i64 = self._sequence + 1
        body = _BODY.pack(
            self._identity,
            sequence,
            self.acknowledged_lsn,
            self.promised_term,
            0,  # older releases count the starts of the copy here
            self.epoch,
            self.highest_epoch,
            1 if self.is_catching_up else 0,
            0,
        )
        page = _PREFIX.pack(MARK_MAGIC, MARK_VERSION, len(body), zlib.crc32(body)) + body
        is_new = not self._disk.exists(self._path)
        file = self._disk.open(self._path, True)
        try:
            if is_new:
                file.write_at(0, [bytes(2 * PAGE_BYTES)])
            file.write_at(int(sequence % 2) * PAGE_BYTES, [page.ljust(PAGE_BYTES, b"\0")])
        except DiskFull:
            file.close()
            raise LogSpace("The disk is full: the mark of this copy cannot be written.") from None
        file.force()
        file.close()
        if is_new:
            self._disk.force_directory(self._directory)
        self._sequence = sequence

    def take(self, page: bytes) -> None:
        """Take the fields of a page, if it is a newer mark of this log. Raises LogNewer."""
        if len(page) < PAGE_BYTES:
            return
        magic, version, length, checksum = _PREFIX.unpack_from(page, 0)
        body = page[_PREFIX.size : _PREFIX.size + length]
        if magic != MARK_MAGIC or len(body) != length or zlib.crc32(body) != checksum:
            return
        if version > MARK_VERSION:
            raise LogNewer(f"the mark of this copy {MARK_NAME}", version, MARK_VERSION)
        if len(body) != _BODY.size:
            return
        fields = _BODY.unpack(body)
        if fields[0] != self._identity or fields[1] <= self._sequence:
            return
        self._sequence, self.acknowledged_lsn, self.promised_term = fields[1], fields[2], fields[3]
        self.epoch, self.highest_epoch = fields[5], fields[6]
        self.is_catching_up = fields[7] == 1

    def was_written(self) -> bool:
        return self._sequence > 0


def read_mark(disk: Disk, directory: str, identity: bytes) -> CopyMark:
    """Return the mark; one that was never written when there is no file. Raises LogDamaged and LogNewer."""
    mark = CopyMark(disk, directory, identity)
    path = f"{directory}/{MARK_NAME}"
    if not disk.exists(path):
        return mark
    file = disk.open(path, False)
    data = file.read_at(0, 2 * PAGE_BYTES)
    file.close()
    mark.take(data[:PAGE_BYTES])
    mark.take(data[PAGE_BYTES:])
    if not mark.was_written() and data.strip(b"\0"):
        raise LogDamaged(path, 0, "neither of its two pages passes its checksum")
    return mark
