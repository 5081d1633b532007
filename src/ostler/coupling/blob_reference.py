"""The reference of a shared message whose body is a blob of the shared repository (OFFLOAD(DB2)). Version 1.

It has the identifier of the blob, that of the entry, and the length and checksum of the body. So a reader knows whether
what it has read is the message. All numbers are little-endian.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final, final

from mypy_extensions import i64

from ostler.coupling.data_sets.layout import DamagedData

VERSION: Final = 1
BLOB_REFERENCE: Final = 2
"""The first byte of a reference to a blob. That of a reference into a data set is SMDS_REFERENCE."""
_REFERENCE: Final = struct.Struct("<BB16s16sqI")


@final
class BlobReference:
    def __init__(self, blob: bytes, id: bytes, body_bytes: i64, checksum: i64) -> None:
        self.blob = blob
        """The name of the blob: an identifier of the member that has written it, and that deletes it."""
        self.id = id
        """Of the entry."""
        self.body_bytes: i64 = body_bytes
        self.checksum: i64 = checksum


def is_blob_reference(data: bytes) -> bool:
    """Return True for a reference to a blob, of whatever version."""
    return len(data) > 0 and data[0] == BLOB_REFERENCE


def encode_blob_reference(blob: bytes, id: bytes, body: bytes) -> bytes:
    return _REFERENCE.pack(BLOB_REFERENCE, VERSION, blob, id, len(body), zlib.crc32(body))


def decode_blob_reference(data: bytes) -> BlobReference:
    """Return a reference. Raises DamagedData."""
    if len(data) != _REFERENCE.size or data[0] != BLOB_REFERENCE or data[1] != VERSION:
        raise DamagedData("the reference is not one to a blob of this version")
    _, _, blob, entry, body_bytes, checksum = _REFERENCE.unpack(data)
    return BlobReference(blob, entry, body_bytes, checksum)


def check_blob(reference: BlobReference, id: bytes, body: bytes) -> None:
    """Raise DamagedData unless a body is that of the entry."""
    if reference.id != id:
        raise DamagedData("the reference is that of another message")
    if len(body) != reference.body_bytes:
        raise DamagedData("the message has another length than its reference says")
    if zlib.crc32(body) != reference.checksum:
        raise DamagedData("the checksum of the message is wrong")
