"""Encoding and decoding of the engine's journal records.

All numbers are little-endian. A put carries the message; other records have a few dozen bytes.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from librt.strings import BytesWriter, read_i64_le, write_i64_le
from mypy_extensions import i64

from ostler.engine.message.message import MD_BYTES

PUT: Final = 1
GET: Final = 2
COMMIT: Final = 3
BACK_OUT: Final = 4
PREPARE: Final = 5
DEFINE: Final = 6
DELETE: Final = 7
CLEAR: Final = 9
IMAGE_BEGIN: Final = 10
IMAGE_MESSAGE: Final = 11
IMAGE_END: Final = 12
PUBLISH: Final = 13

PUT_HEAD_BYTES: Final = 48


class PutRecord(NamedTuple):
    unit_of_work: int  # 0: committed at once
    queue_id: int
    seq: int
    flags: int  # of the slot
    expiry_ms: int
    md: bytes
    properties: bytes
    body: bytes


class GetRecord(NamedTuple):
    unit_of_work: int
    queue_id: int
    seq: int


def put_head(unit_of_work: i64, queue_id: i64, seq: i64, flags: i64, expiry_ms: i64, properties_bytes: i64) -> bytes:
    writer = BytesWriter()
    write_i64_le(writer, unit_of_work)
    write_i64_le(writer, queue_id)
    write_i64_le(writer, seq)
    write_i64_le(writer, flags)
    write_i64_le(writer, expiry_ms)
    write_i64_le(writer, properties_bytes)
    return writer.getvalue()


def read_put(payload: bytes) -> PutRecord:
    properties_end: i64 = PUT_HEAD_BYTES + MD_BYTES + read_i64_le(payload, 40)
    return PutRecord(
        read_i64_le(payload, 0),
        read_i64_le(payload, 8),
        read_i64_le(payload, 16),
        read_i64_le(payload, 24),
        read_i64_le(payload, 32),
        payload[PUT_HEAD_BYTES : PUT_HEAD_BYTES + MD_BYTES],
        payload[PUT_HEAD_BYTES + MD_BYTES : properties_end],
        payload[properties_end:],
    )


def get_head(unit_of_work: i64, queue_id: i64, seq: i64) -> bytes:
    writer = BytesWriter()
    write_i64_le(writer, unit_of_work)
    write_i64_le(writer, queue_id)
    write_i64_le(writer, seq)
    return writer.getvalue()


def read_get(payload: bytes) -> GetRecord:
    return GetRecord(read_i64_le(payload, 0), read_i64_le(payload, 8), read_i64_le(payload, 16))


def number_head(number: i64) -> bytes:
    writer = BytesWriter()
    write_i64_le(writer, number)
    return writer.getvalue()


def read_number(payload: bytes) -> int:
    return read_i64_le(payload, 0)


def commit_head(unit_of_work: i64, removed: list[tuple[int, int]]) -> bytes:
    """Encode a commit and the messages (queue and sequence number) that it removes because its puts replace them."""
    writer = BytesWriter()
    write_i64_le(writer, unit_of_work)
    for queue_id, seq in removed:
        write_i64_le(writer, queue_id)
        write_i64_le(writer, seq)
    return writer.getvalue()


def read_removed(payload: bytes) -> list[tuple[int, int]]:
    """Return the messages that a commit removed."""
    return [(read_i64_le(payload, at), read_i64_le(payload, at + 8)) for at in range(8, len(payload), 16)]
