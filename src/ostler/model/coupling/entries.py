"""Entries of lists: a message with its identifier, its key, and the space that it takes in a structure."""

from __future__ import annotations

from typing import Final, final

from librt.strings import BytesWriter, read_i64_be, write_i64_be
from mypy_extensions import i64, mypyc_attr

# Space: entries and elements, by the report's arithmetic.
ELEMENT_BYTES: Final = 256
ENTRY_BYTES: Final = 256
"""With two elements 0.75 KB: what the report reckons for an offloaded message."""
HEADER_BYTES: Final = 391
"""Two elements less this leave 121 bytes: messages of less than 122 bytes are never offloaded."""
OFFLOADED_ELEMENTS: Final = 2
CONTROL_PARTS: Final = 2519
"""The ten-thousandths of a structure that its own controls take, from the report's example of 0.5 GB."""


def elements_of(message_bytes: i64) -> i64:
    """Return the elements of an entry that holds so many bytes of properties and body; 0 for an offloaded body."""
    return (message_bytes + HEADER_BYTES + ELEMENT_BYTES - 1) // ELEMENT_BYTES


def space_of(message_bytes: i64) -> i64:
    """Return the bytes of a structure that such an entry takes."""
    return ENTRY_BYTES + elements_of(message_bytes) * ELEMENT_BYTES


def usable_bytes(structure_bytes: i64) -> i64:
    """Return the bytes that entries may take in a structure of this size; the rest holds its controls."""
    return structure_bytes - structure_bytes * CONTROL_PARTS // 10_000


def make_id(member: i64, start: i64, number: i64) -> bytes:
    """Return the identifier of an entry or a unit. They sort by member, start of the queue manager, number."""
    writer = BytesWriter()
    write_i64_be(writer, member << 32 | start)
    write_i64_be(writer, number)
    return writer.getvalue()


def id_member(id: bytes) -> i64:
    """Return the number of the member that made an identifier."""
    return read_i64_be(id, 0) >> 32 & 0xFFFFFFFF


def id_start(id: bytes) -> i64:
    return read_i64_be(id, 0) & 0xFFFFFFFF


def id_number(id: bytes) -> i64:
    return read_i64_be(id, 8)


NO_UNIT: Final = b""

PRIORITY_SHIFT: Final = 56
SEQUENCE_MASK: Final = (1 << 56) - 1


def make_key(priority: i64, sequence: i64) -> i64:
    """Return the key of an entry: higher priorities come first, then the order of the puts."""
    return (9 - priority) << PRIORITY_SHIFT | sequence


@final
@mypyc_attr(acyclic=True)  # there may be a million
class Entry:
    """A message as an entry of a list. Members make it and must not change it after a submit.

    `body` or `reference` has the message data. A reference is opaque to the facility; it says where `owner`, a member's
    number, keeps the body, and comes back to that member when the entry is gone (TakeFreedProgram).
    """

    def __init__(self, id: bytes, priority: i64, md: bytes, properties: bytes, body: bytes) -> None:
        self.id = id
        self.priority: i64 = priority
        """0 to 9. Of a queue with MSGDLVSQ(FIFO) members give the same to all."""
        self.md = md
        """The MQMD as members store it, 364 bytes, little-endian."""
        self.properties = properties
        self.body = body
        self.body_length: i64 = len(body)
        """Of the whole message data, wherever it is and however much of it an answer has."""
        self.reference = b""
        self.owner: i64 = 0
        self.flags: i64 = 0
        self.expiry_ms: i64 = 0
        """Wall clock in milliseconds; 0: never."""
        self.backout_count: i64 = 0
        """Set by the facility: rises when a unit that got the entry is backed out."""
        self.key: i64 = 0
        """Set by the facility; LOAD keeps one that is not 0."""

    def space(self) -> i64:
        """Return the bytes that it takes in its structure."""
        return space_of(len(self.properties) + len(self.body))
