"""A message in memory, and the offsets of the fields of its packed descriptor."""

from __future__ import annotations

from typing import Final, final

from librt.strings import BytesWriter, read_i32_le, read_i64_le, write_i32_le, write_i64_le
from mypy_extensions import i32, i64, mypyc_attr

from ostler.model import constants as mq

# Offsets in a stored MQMD version 2, little-endian (364 bytes).
MD_BYTES: Final = 364
REPORT_AT: Final = 8
MESSAGE_TYPE_AT: Final = 12
EXPIRY_AT: Final = 16
FEEDBACK_AT: Final = 20
ENCODING_AT: Final = 24
CCSID_AT: Final = 28
FORMAT_AT: Final = 32
PRIORITY_AT: Final = 40
PERSISTENCE_AT: Final = 44
MESSAGE_ID_AT: Final = 48
CORRELATION_ID_AT: Final = 72
BACKOUT_COUNT_AT: Final = 96
REPLY_QUEUE_AT: Final = 100
REPLY_MANAGER_AT: Final = 148
CONTEXT_AT: Final = 196
PUT_DATE_AT: Final = 304
GROUP_ID_AT: Final = 324
SEQUENCE_NUMBER_AT: Final = 348
OFFSET_AT: Final = 352
FLAGS_AT: Final = 356
ORIGINAL_LENGTH_AT: Final = 360

NULL_ID: Final = bytes(24)
GROUP_FLAGS: Final = mq.MQMF_MSG_IN_GROUP | mq.MQMF_LAST_MSG_IN_GROUP | mq.MQMF_SEGMENT | mq.MQMF_LAST_SEGMENT

_PRIME: Final = 16777619
_MASK: Final = 0x7FFFFFFF
_WORD: Final = 0xFFFFFFFF


def hash_id(md: bytes, at: i64) -> i64:
    """Return a 31-bit hash of the 24-byte identifier at an offset; 0 means the null identifier.

    It is stored in snapshots, so it must not depend on the flavour (compiled or not) or the process.
    """
    first: i64 = read_i64_le(md, at)
    second: i64 = read_i64_le(md, at + 8)
    third: i64 = read_i64_le(md, at + 16)
    if first == 0 and second == 0 and third == 0:
        return 0
    h: i64 = 0x1234567
    h = _mix(_mix(h, first & _WORD), first >> 32 & _WORD)
    h = _mix(_mix(h, second & _WORD), second >> 32 & _WORD)
    h = _mix(_mix(h, third & _WORD), third >> 32 & _WORD)
    return h if h != 0 else 1


def _mix(h: i64, word: i64) -> i64:
    # 31 bits times 25 bits do not overflow, so the result is the same with machine integers and Python integers.
    h = ((h ^ word) & _MASK) * _PRIME & _MASK
    return h ^ h >> 13


def read_i32(md: bytes, at: i64) -> i64:
    """Return the integer at an offset of a descriptor."""
    return i64(read_i32_le(md, at))


def i32_bytes(value: i64) -> bytes:
    writer = BytesWriter()
    write_i32_le(writer, i32(value))
    return writer.getvalue()


def i64_pair_bytes(a: i64, b: i64) -> bytes:
    """Return two integers in 16 bytes."""
    writer = BytesWriter()
    write_i64_le(writer, a)
    write_i64_le(writer, b)
    return writer.getvalue()


def patch_i32(md: bytes, at: i64, value: i64) -> bytes:
    """Return a copy of a descriptor with one integer changed."""
    writer = BytesWriter()
    write_i32_le(writer, i32(value))
    return md[:at] + writer.getvalue() + md[at + 4 :]


@final
@mypyc_attr(acyclic=True)  # there may be a million: the garbage collector need not visit them
class Message:
    """A message held in memory. `md` is the packed descriptor as stored; `properties` the encoded property block."""

    def __init__(self, md: bytes, properties: bytes, body: bytes, seq: i64) -> None:
        self.md = md
        self.properties = properties
        self.body = body
        self.seq: i64 = seq
        # A get or browse may return this message only when the journal is durable up to here.
        self.visible_lsn: i64 = 0
        self.put_ms: i64 = 0  # when it was put; 0: see PutDate and PutTime

    def size_bytes(self) -> i64:
        """Return the bytes that the message takes in a queue's buffer."""
        return MD_BYTES + len(self.properties) + len(self.body)
