"""Entries as records: what the server keeps of a message.

     8  key             4  back-outs
     1  version         4  length of the properties
     1  flags           2  length of the reference
     1  priority       16  identifier
     1  0             364  descriptor
     8  expiry          .  properties, reference, body
     4  owner
     8  length of the body

Numbers are big-endian. The server puts the key before the rest, and reads fields by their places (`data/lib_*.lua`).
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from ostler.engine.message.message import MD_BYTES
from ostler.model.coupling.entries import Entry
from ostler.server.coupling.redis.redis_errors import RedisFailed

VERSION: Final = 1
_HEAD: Final = Struct(">QBBBBQIQIIH16s")
_REST: Final = Struct(">BBBBQIQIIH16s")
_KEY: Final = Struct(">Q")
_MD_AT: Final = _HEAD.size
_PROPERTIES_AT: Final = _MD_AT + MD_BYTES


def encode_record(entry: Entry) -> bytes:
    """Return the record of an entry without its key."""
    head = _REST.pack(
        VERSION,
        entry.flags & 0xFF,
        entry.priority & 0xFF,
        0,
        max(entry.expiry_ms, 0),
        entry.owner & 0xFFFFFFFF,
        max(entry.body_length, 0),
        max(entry.backout_count, 0),
        len(entry.properties),
        len(entry.reference) & 0xFFFF,
        entry.id,
    )
    return b"".join((head, entry.md, entry.properties, entry.reference, entry.body))


def decode_record(record: bytes) -> Entry:
    """Return the entry of a record, whose body may be cut. Raises RedisFailed."""
    if len(record) < _PROPERTIES_AT:
        raise RedisFailed(f"a record of {len(record)} bytes")
    fields = _HEAD.unpack_from(record)
    key, version, flags, priority, _, expiry_ms, owner, body_length, backouts = fields[:9]
    properties_bytes, reference_bytes, entry_id = fields[9:]
    if version != VERSION:
        raise RedisFailed(f"a record of version {version}, and this release knows version {VERSION}")
    reference_at = _PROPERTIES_AT + properties_bytes
    body_at = reference_at + reference_bytes
    entry = Entry(
        entry_id, priority, record[_MD_AT:_PROPERTIES_AT], record[_PROPERTIES_AT:reference_at], record[body_at:]
    )
    entry.reference = record[reference_at:body_at]
    entry.flags = flags
    entry.key = key
    entry.expiry_ms = expiry_ms
    entry.owner = owner
    entry.body_length = body_length
    entry.backout_count = backouts
    return entry


def encode_key(key: int) -> bytes:
    """Return a key in the order of bytes; empty for one before all."""
    return _KEY.pack(key) if key >= 0 else b""


def decode_key(key: bytes) -> int:
    return int(_KEY.unpack(key)[0]) if key else -1
