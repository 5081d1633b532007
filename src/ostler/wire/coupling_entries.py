"""Fields that several frames of the coupling facility share: bytes behind their length, flags, entries."""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from ostler.model.coupling import terms as cf
from ostler.model.coupling.entries import Entry
from ostler.wire.payload_codec import PayloadReader, PayloadWriter

_PRIORITY_BITS: Final = 0xFF
_FLAGS_SHIFT: Final = 8
_FLAGS_MAX: Final = 0x7FFF


def write_bytes(writer: PayloadWriter, data: bytes) -> None:
    writer.integer(len(data))
    writer.fixed(data)


def read_bytes(reader: PayloadReader, most: i64) -> bytes:
    return reader.fixed(reader.count(most))


def write_flag(writer: PayloadWriter, flag: bool) -> None:
    writer.integer(1 if flag else 0)


def read_flag(reader: PayloadReader) -> bool:
    return reader.count(1) == 1


def write_entry(writer: PayloadWriter, entry: Entry) -> None:
    write_bytes(writer, entry.id)
    writer.integer(entry.flags << _FLAGS_SHIFT | (entry.priority & _PRIORITY_BITS))
    writer.position(entry.key)
    writer.position(entry.expiry_ms)
    writer.integer(entry.backout_count)
    writer.integer(entry.owner)
    writer.position(entry.body_length)
    write_bytes(writer, entry.md)
    write_bytes(writer, entry.properties)
    write_bytes(writer, entry.reference)
    write_bytes(writer, entry.body)


def read_entry(reader: PayloadReader) -> Entry:
    entry_id = read_bytes(reader, cf.ID_BYTES)
    bits: i64 = reader.count(_FLAGS_MAX << _FLAGS_SHIFT | _PRIORITY_BITS)
    key: i64 = reader.position()
    expiry_ms: i64 = reader.position()
    backout_count: i64 = reader.integer()
    owner: i64 = reader.integer()
    body_length: i64 = reader.position()
    md = read_bytes(reader, cf.ENTRY_DATA_BYTES_MAX)
    properties = read_bytes(reader, cf.ENTRY_DATA_BYTES_MAX)
    reference = read_bytes(reader, cf.REFERENCE_BYTES_MAX)
    entry = Entry(entry_id, bits & _PRIORITY_BITS, md, properties, read_bytes(reader, cf.ENTRY_DATA_BYTES_MAX))
    entry.flags = bits >> _FLAGS_SHIFT
    entry.key = key
    entry.expiry_ms = expiry_ms
    entry.backout_count = backout_count
    entry.owner = owner
    entry.body_length = body_length
    entry.reference = reference
    return entry


def write_entries(writer: PayloadWriter, entries: list[Entry]) -> None:
    writer.integer(len(entries))
    for entry in entries:
        write_entry(writer, entry)


def read_entries(reader: PayloadReader) -> list[Entry]:
    return [read_entry(reader) for _ in range(reader.count(cf.SLICE_ENTRIES_MAX))]
