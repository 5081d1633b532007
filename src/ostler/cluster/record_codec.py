"""Records as bytes, for messages between repositories and for the store. Input may be hostile: everything is limited.

A record that is well formed but makes no sense (a rank of 12, a queue without a name) is malformed, too. Attributes
that this release does not know are kept, so that a later release can add some.
"""

from __future__ import annotations

from typing import Final, final

from ostler.cluster.records import (
    DISCARDED_MS,
    FULL_REPOSITORY,
    INTEREST,
    KIND_NAMES,
    MANAGER,
    QMTYPE,
    SUSPEND,
    Record,
)
from ostler.wire.frames import MalformedFrame
from ostler.wire.payload_codec import PayloadReader, PayloadWriter

RECORD_VERSION: Final = 1
ENTRY_VERSION: Final = 1

NAME_BYTES_MAX: Final = 48
CHANNEL_BYTES_MAX: Final = 20
ATTRIBUTES_MAX: Final = 160
KEYWORD_BYTES_MAX: Final = 24
TEXT_BYTES_MAX: Final = 10240
"""The length of a topic string."""
ITEMS_MAX: Final = 256
RECORD_BYTES_MAX: Final = 65536
VERSION_MAX: Final = 1 << 62

_INTEGER: Final = 0
_TEXT: Final = 1
_LIST: Final = 2

_RANGES: Final[dict[str, tuple[int, int]]] = {
    "CLWLRANK": (0, 9),
    "CLWLPRTY": (0, 9),
    "CLWLWGHT": (1, 99),
    "NETPRTY": (0, 9),
    QMTYPE: (0, FULL_REPOSITORY),
    SUSPEND: (0, 1),
}


class MalformedRecord(ValueError):
    """Bytes that are no record, or a record that makes no sense."""


@final
class Entry:
    """A record as one repository keeps it."""

    def __init__(self, record: Record, born_ms: int) -> None:
        self.record: Record = record
        self.born_ms: int = born_ms
        """The local clock when the record was new: the time of receipt, less the age that it came with."""
        self.is_used: bool = False
        """Of a question: it was used since it was asked."""
        self.is_answered: bool = False

    def age_ms(self, now_ms: int) -> int:
        """Return the age by the local clock, never less than 0."""
        return max(0, now_ms - self.born_ms)


def check_record(record: Record) -> None:
    """Raise MalformedRecord for a record that makes no sense."""
    if record.kind not in KIND_NAMES:
        raise MalformedRecord(f"a record of kind {record.kind}")
    _check_name(record.owner, NAME_BYTES_MAX, "QMID")
    _check_name(record.manager, NAME_BYTES_MAX, "queue manager")
    _check_name(record.name, CHANNEL_BYTES_MAX if record.kind == MANAGER else NAME_BYTES_MAX, KIND_NAMES[record.kind])
    if record.remover:
        _check_name(record.remover, NAME_BYTES_MAX, "QMID")
        if not record.is_removed:
            raise MalformedRecord("a record that somebody removed and that is there")
    if not 0 < record.version <= VERSION_MAX or not 0 <= record.follows < record.version:
        raise MalformedRecord(f"a record of version {record.version} behind {record.follows}")
    if not 0 <= record.created_ms <= VERSION_MAX:
        raise MalformedRecord("a record of no time")
    if len(record.attributes) > ATTRIBUTES_MAX:
        raise MalformedRecord(f"a record with {len(record.attributes)} attributes")
    for name, limits in _RANGES.items():
        if name in record.attributes:
            value = record.attributes[name]
            if not isinstance(value, int) or not limits[0] <= value <= limits[1]:
                raise MalformedRecord(f"{name}({value!r:.40}) in a record")
    if record.kind == INTEREST and record.attributes:
        raise MalformedRecord("a question with attributes")


def encode_record(record: Record) -> bytes:
    """Encode a record. Raises MalformedRecord if it could not be decoded again."""
    check_record(record)
    writer = PayloadWriter()
    writer.integer(RECORD_VERSION)
    writer.integer(record.kind)
    writer.integer(1 if record.is_removed else 0)
    writer.text(record.owner)
    writer.text(record.manager)
    writer.text(record.name)
    writer.text(record.remover)
    writer.position(record.version)
    writer.position(record.follows)
    writer.position(record.created_ms)
    writer.integer(len(record.attributes))
    for name in sorted(record.attributes):
        writer.text(name)
        value = record.attributes[name]
        if isinstance(value, int):
            writer.integer(_INTEGER)
            writer.fixed(value.to_bytes(8, "little", signed=True))
        elif isinstance(value, str):
            writer.integer(_TEXT)
            writer.text(value)
        else:
            writer.integer(_LIST)
            writer.integer(len(value))
            for item in value:
                writer.text(item)
    data = writer.getvalue()
    if len(data) > RECORD_BYTES_MAX:
        raise MalformedRecord(f"a record of {len(data)} bytes")
    return data


def decode_record(data: bytes) -> Record:
    """Decode the bytes of `encode_record`. Raises MalformedRecord."""
    if len(data) > RECORD_BYTES_MAX:
        raise MalformedRecord(f"a record of {len(data)} bytes")
    try:
        record = _read_record(PayloadReader(data))
    except MalformedFrame as error:
        raise MalformedRecord(str(error)) from None
    check_record(record)
    return record


def encode_entry(entry: Entry) -> bytes:
    """Encode an entry for the store."""
    writer = PayloadWriter()
    writer.integer(ENTRY_VERSION)
    writer.integer((1 if entry.is_used else 0) | (2 if entry.is_answered else 0))
    writer.fixed(entry.born_ms.to_bytes(8, "little", signed=True))
    writer.fixed(encode_record(entry.record))
    return writer.getvalue()


def decode_entry(data: bytes) -> Entry:
    """Decode the bytes of `encode_entry`. Raises MalformedRecord."""
    try:
        reader = PayloadReader(data)
        version = int(reader.integer())
        if version != ENTRY_VERSION:
            raise MalformedRecord(f"an entry of version {version}; this release reads version {ENTRY_VERSION}")
        flags = int(reader.integer())
        born_ms = int.from_bytes(reader.fixed(8), "little", signed=True)
        entry = Entry(decode_record(reader.rest()), born_ms)
    except MalformedFrame as error:
        raise MalformedRecord(str(error)) from None
    entry.is_used = flags & 1 != 0
    entry.is_answered = flags & 2 != 0
    return entry


def check_age(age_ms: int) -> int:
    """Return an age that a message tells, cut to the longest life."""
    return min(age_ms, DISCARDED_MS)


def _read_record(reader: PayloadReader) -> Record:
    version = int(reader.integer())
    if version != RECORD_VERSION:
        raise MalformedRecord(f"a record of version {version}; this release reads version {RECORD_VERSION}")
    kind = int(reader.integer())
    flags = int(reader.integer())
    if flags not in (0, 1):
        raise MalformedRecord(f"a record with flags {flags}")
    owner = reader.text(NAME_BYTES_MAX)
    manager = reader.text(NAME_BYTES_MAX)
    name = reader.text(NAME_BYTES_MAX)
    remover = reader.text(NAME_BYTES_MAX)
    record_version = int(reader.position())
    follows = int(reader.position())
    created_ms = int(reader.position())
    attributes: dict[str, int | str | tuple[str, ...]] = {}
    for _ in range(int(reader.count(ATTRIBUTES_MAX))):
        keyword = reader.text(KEYWORD_BYTES_MAX)
        if keyword in attributes:
            raise MalformedRecord(f"{keyword} twice in a record")
        attributes[keyword] = _read_value(reader)
    reader.check_end()
    return Record(kind, owner, manager, name, record_version, follows, created_ms, attributes, flags == 1, remover)


def _read_value(reader: PayloadReader) -> int | str | tuple[str, ...]:
    form = int(reader.integer())
    if form == _INTEGER:
        return int.from_bytes(reader.fixed(8), "little", signed=True)
    if form == _TEXT:
        return reader.text(TEXT_BYTES_MAX)
    if form == _LIST:
        return tuple([reader.text(TEXT_BYTES_MAX) for _ in range(int(reader.count(ITEMS_MAX)))])
    raise MalformedRecord(f"a value of form {form}")


def _check_name(name: str, most: int, what: str) -> None:
    if not 0 < len(name.encode("utf-8", "replace")) <= most or not name.isprintable() or name != name.strip():
        raise MalformedRecord(f"{name!r:.60} as name of a {what}")
