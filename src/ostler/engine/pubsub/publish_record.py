"""The log record of a publication: the message once, and for each copy the fields that differ.

i64  unit of work (0: committed at once)
i64  bytes of all copy entries
i64  bytes of the properties
for each copy:
    i64  queue, sequence number, flags of the slot, expiry in milliseconds
    i32  priority
    i32  parts that follow: 1 identity context, 2 properties
    24   message identifier
    24   correlation identifier
    76   identity context; if absent, that of the previous copy, for the first copy that of the descriptor
    i32  length of the properties, and the properties; if absent, those of the publication
364  descriptor
     properties
     body
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import BytesWriter, read_i32_le, read_i64_le, write_i32_le, write_i64_le
from mypy_extensions import i32, i64, mypyc_attr

from ostler.engine.message.message import (
    BACKOUT_COUNT_AT,
    CONTEXT_AT,
    MD_BYTES,
    MESSAGE_ID_AT,
    PERSISTENCE_AT,
    PRIORITY_AT,
)
from ostler.engine.queue.queue import Queue
from ostler.engine.recovery.records import PutRecord

HEAD_BYTES: Final = 24
COPY_BYTES: Final = 88
IDENTITY_BYTES: Final = 76
_IDENTITY_END: Final = CONTEXT_AT + IDENTITY_BYTES
_OWN_IDENTITY: Final = 1
_OWN_PROPERTIES: Final = 2


@final
@mypyc_attr(acyclic=True)
class Copy:
    """The copy of a publication for one subscription."""

    def __init__(self, queue: Queue, md: bytes, properties: bytes) -> None:
        self.queue = queue
        self.md = md
        self.properties = properties
        self.seq: i64 = 0
        self.flags: i64 = 0
        self.expiry_ms: i64 = 0


def copy_descriptor(md: bytes, priority: i64, message_id: bytes, correlation_id: bytes, identity: bytes) -> bytes:
    """Return a publication's descriptor with the fields of one copy."""
    writer = BytesWriter()
    writer.write(md[:PRIORITY_AT])
    write_i32_le(writer, i32(priority))
    writer.write(md[PERSISTENCE_AT:MESSAGE_ID_AT])
    writer.write(message_id)
    writer.write(correlation_id)
    writer.write(md[BACKOUT_COUNT_AT:CONTEXT_AT])
    writer.write(identity)
    writer.write(md[_IDENTITY_END:])
    return writer.getvalue()


def publication_head(unit_of_work: i64, md: bytes, properties: bytes, copies: list[Copy]) -> bytes:
    """Return the record up to the descriptor, the properties and the body."""
    entries = BytesWriter()
    identity = md[CONTEXT_AT:_IDENTITY_END]
    for copy in copies:
        own = copy.md
        parts: i64 = 0
        own_identity = own[CONTEXT_AT:_IDENTITY_END]
        if own_identity != identity:
            parts |= _OWN_IDENTITY
            identity = own_identity
        if copy.properties is not properties and copy.properties != properties:
            parts |= _OWN_PROPERTIES
        write_i64_le(entries, copy.queue.queue_id)
        write_i64_le(entries, copy.seq)
        write_i64_le(entries, copy.flags)
        write_i64_le(entries, copy.expiry_ms)
        entries.write(own[PRIORITY_AT:PERSISTENCE_AT])
        write_i32_le(entries, i32(parts))
        entries.write(own[MESSAGE_ID_AT:BACKOUT_COUNT_AT])
        if parts & _OWN_IDENTITY:
            entries.write(own_identity)
        if parts & _OWN_PROPERTIES:
            write_i32_le(entries, i32(len(copy.properties)))
            entries.write(copy.properties)
    packed = entries.getvalue()
    writer = BytesWriter()
    write_i64_le(writer, unit_of_work)
    write_i64_le(writer, len(packed))
    write_i64_le(writer, len(properties))
    writer.write(packed)
    return writer.getvalue()


def read_publication(payload: bytes) -> list[PutRecord]:
    """Decode a record into one put per copy, as if each copy had its own record."""
    unit: i64 = read_i64_le(payload, 0)
    end: i64 = HEAD_BYTES + read_i64_le(payload, 8)
    properties_at: i64 = end + MD_BYTES
    body_at: i64 = properties_at + read_i64_le(payload, 16)
    md = payload[end:properties_at]
    properties = payload[properties_at:body_at]
    body = payload[body_at:]
    identity = md[CONTEXT_AT:_IDENTITY_END]
    found: list[PutRecord] = []
    at: i64 = HEAD_BYTES
    while at < end:
        start: i64 = at
        parts: i64 = i64(read_i32_le(payload, at + 36))
        at += COPY_BYTES
        if parts & _OWN_IDENTITY:
            identity = payload[at : at + IDENTITY_BYTES]
            at += IDENTITY_BYTES
        own = properties
        if parts & _OWN_PROPERTIES:
            length: i64 = i64(read_i32_le(payload, at))
            own = payload[at + 4 : at + 4 + length]
            at += 4 + length
        ids = start + 40
        found.append(
            PutRecord(
                unit,
                read_i64_le(payload, start),
                read_i64_le(payload, start + 8),
                read_i64_le(payload, start + 16),
                read_i64_le(payload, start + 24),
                copy_descriptor(
                    md,
                    i64(read_i32_le(payload, start + 32)),
                    payload[ids : ids + 24],
                    payload[ids + 24 : ids + 48],
                    identity,
                ),
                own,
                body,
            )
        )
    return found
