"""The layout of a shared message data set: its header, the records of messages, the references to them. Version 1.

    page 0      header: magic, version, block size, identity, incarnation of the structure, owner, names, checksum
    block 1 ..  messages; each begins on a page: a record header of 64 bytes, further extents if there are many, body

A reference has the file's identity and the first extents; a message in more pieces has the others behind its record
header. A reader knows by the checksum, the entry's identifier and the identity whether what it read is the message.
All numbers are little-endian.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final, final

from mypy_extensions import i64

from ostler.coupling.data_sets.space_map import PAGE_BYTES, Extent, pages_of

VERSION: Final = 1
IDENTITY_BYTES: Final = 8
SMDS_REFERENCE: Final = 1
"""The first byte of a reference into a data set."""
INLINE_EXTENTS_MAX: Final = 14
RECORD_BYTES: Final = 64

_MAGIC: Final = b"OSTLSMDS"
_HEADER: Final = struct.Struct("<8sHHIq8s16sI16s48s")
_RECORD_MAGIC: Final = b"OSMR"
_RECORD: Final = struct.Struct("<4sHHq16s8sI")
_EXTENT: Final = struct.Struct("<qI")
_REFERENCE: Final = struct.Struct("<BB8s16sqHB")
_CRC: Final = struct.Struct("<I")


class DamagedData(Exception):
    """What was read is not what the reference means."""


@final
class DataSetHeader:
    """The first page of a file."""

    def __init__(self, structure: str, owner: str, number: i64, block_bytes: i64, identity: bytes) -> None:
        self.structure = structure
        self.owner = owner
        """Name of the queue manager that writes the file."""
        self.number: i64 = number
        self.block_bytes: i64 = block_bytes
        self.identity = identity
        self.incarnation = bytes(16)
        """Of the structure when the file was opened last; zeros: it never was."""

    def encode(self) -> bytes:
        """Return the page."""
        fixed = _HEADER.pack(
            _MAGIC,
            VERSION,
            0,
            int(self.block_bytes),
            0,
            self.identity,
            self.incarnation,
            int(self.number),
            self.structure.encode(),
            self.owner.encode(),
        )
        return (fixed + _CRC.pack(zlib.crc32(fixed))).ljust(PAGE_BYTES, b"\0")


def decode_header(page: bytes) -> DataSetHeader:
    """Return the header of a file. Raises DamagedData."""
    end = _HEADER.size
    if len(page) < end + 4 or page[:8] != _MAGIC:
        raise DamagedData("it is no shared message data set")
    _, version, _, block_bytes, _, identity, incarnation, number, structure, owner = _HEADER.unpack(page[:end])
    if version != VERSION:
        raise DamagedData(f"it has version {version}, and this is version {VERSION}")
    if _CRC.unpack(page[end : end + 4])[0] != zlib.crc32(page[:end]):
        raise DamagedData("the checksum of its header is wrong")
    header = DataSetHeader(
        structure.rstrip(b"\0").decode(), owner.rstrip(b"\0").decode(), number, block_bytes, identity
    )
    header.incarnation = incarnation
    return header


@final
class Reference:
    """Where a body is: the owner's file, and the pages of the record in it."""

    def __init__(
        self, owner: str, identity: bytes, id: bytes, body_bytes: i64, extents: list[Extent], total: i64
    ) -> None:
        self.owner = owner
        self.identity = identity
        self.id = id
        """Of the entry: no two references are equal, even when one has the place of another."""
        self.body_bytes: i64 = body_bytes
        self.extents = extents
        """All of them, or the first if there are more than INLINE_EXTENTS_MAX."""
        self.total: i64 = total
        """Of all extents."""


def record_pages(body_bytes: i64, extents: i64) -> i64:
    """Return the pages that a record takes when it lies in so many pieces."""
    return pages_of(RECORD_BYTES + further_bytes(extents) + body_bytes)


def further_bytes(extents: i64) -> i64:
    """Return the bytes of the extents behind a record header."""
    return max(extents - INLINE_EXTENTS_MAX, 0) * _EXTENT.size


def encode_reference(owner: str, identity: bytes, id: bytes, body_bytes: i64, extents: list[Extent]) -> bytes:
    name = owner.encode()
    fixed = _REFERENCE.pack(SMDS_REFERENCE, VERSION, identity, id, int(body_bytes), len(extents), len(name))
    places = [_EXTENT.pack(int(extent.page), int(extent.count)) for extent in extents[:INLINE_EXTENTS_MAX]]
    return fixed + name + b"".join(places)


def decode_reference(data: bytes) -> Reference:
    """Return a reference. Raises DamagedData."""
    size = _REFERENCE.size
    if len(data) < size or data[0] != SMDS_REFERENCE or data[1] != VERSION:
        raise DamagedData("the reference is not one into a data set of this version")
    _, _, identity, entry, body_bytes, total, name_bytes = _REFERENCE.unpack(data[:size])
    inline = min(total, INLINE_EXTENTS_MAX)
    if total == 0 or len(data) != size + name_bytes + inline * _EXTENT.size or body_bytes < 0:
        raise DamagedData("the reference has a wrong length")
    owner = data[size : size + name_bytes].decode("ascii", "replace")
    extents = decode_extents(data[size + name_bytes :])
    return Reference(owner, identity, entry, body_bytes, extents, total)


def decode_extents(data: bytes) -> list[Extent]:
    return [Extent(page, count) for page, count in _EXTENT.iter_unpack(data)]


def encode_record(entry_id: bytes, identity: bytes, body: bytes, extents: list[Extent]) -> bytes:
    """Return what stands before the body: the record header, and the extents that the reference has no room for."""
    further = [_EXTENT.pack(int(extent.page), int(extent.count)) for extent in extents[INLINE_EXTENTS_MAX:]]
    rest = b"".join(further)
    fixed = _RECORD.pack(
        _RECORD_MAGIC, VERSION, len(extents), len(body), entry_id, identity, zlib.crc32(body, zlib.crc32(rest))
    )
    return (fixed + _CRC.pack(zlib.crc32(fixed))).ljust(RECORD_BYTES, b"\0") + rest


def check_record(head: bytes, reference: Reference) -> int:
    """Check a record header against what the reference says. Returns the checksum of the rest. Raises DamagedData."""
    end = _RECORD.size
    fixed = head[:end]
    if fixed[:4] != _RECORD_MAGIC or _CRC.unpack(head[end : end + 4])[0] != zlib.crc32(fixed):
        raise DamagedData("there is no message at this place")
    _, version, total, body_bytes, entry, identity, checksum = _RECORD.unpack(fixed)
    if version != VERSION:
        raise DamagedData(f"the message has version {version}, and this is version {VERSION}")
    if entry != reference.id or identity != reference.identity:
        raise DamagedData("another message is at this place")
    if total != reference.total or body_bytes != reference.body_bytes:
        raise DamagedData("the message has another length than its reference says")
    return int(checksum)


def further_extents(record: bytes, reference: Reference) -> list[Extent]:
    """Return the extents behind a record header, which need not have been checked yet. Raises DamagedData."""
    data = record[RECORD_BYTES : RECORD_BYTES + further_bytes(reference.total)]
    if len(data) != further_bytes(reference.total):
        raise DamagedData("the list of its pieces is cut off")
    return decode_extents(data)


def check_body(record: bytes, reference: Reference) -> bytes:
    """Return the body of a whole record. Raises DamagedData when it is not that of the entry, or not whole."""
    checksum = check_record(record[:RECORD_BYTES], reference)
    start = RECORD_BYTES + int(further_bytes(reference.total))
    end = start + int(reference.body_bytes)
    if len(record) < end:
        raise DamagedData("the message is cut off")
    if zlib.crc32(memoryview(record)[RECORD_BYTES:end]) != checksum:
        raise DamagedData("the checksum of the message is wrong")
    return record[start:end]
