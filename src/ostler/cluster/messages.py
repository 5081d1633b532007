"""Messages between repositories, for SYSTEM.CLUSTER.COMMAND.QUEUE.

    PUBLISH   records, each with its age                        from owners to full repositories, and from these on
    ASK       INTEREST records; none: full ones and topics;     to full repositories
              a digest of the asker's own records
    ANSWER    names that were asked for, records                from full repositories
    DIGEST    a hash for each bucket of records                 between full repositories
    RENEW     nothing: publish everything again                 from a full repository after REFRESH CLUSTER

A record travels with its age, as a duration: clocks need not agree, and a record that is handed from one repository to
another grows no younger.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from ostler.cluster.record_codec import (
    NAME_BYTES_MAX,
    RECORD_BYTES_MAX,
    MalformedRecord,
    check_age,
    decode_record,
    encode_record,
)
from ostler.cluster.records import INTEREST, Record
from ostler.wire.frames import MalformedFrame
from ostler.wire.payload_codec import PayloadReader, PayloadWriter

PUBLISH: Final = 1
ASK: Final = 2
ANSWER: Final = 3
DIGEST: Final = 4
RENEW: Final = 5
MESSAGE_NAMES: Final[dict[int, str]] = {
    PUBLISH: "PUBLISH",
    ASK: "ASK",
    ANSWER: "ANSWER",
    DIGEST: "DIGEST",
    RENEW: "RENEW",
}

MAGIC: Final = b"OSCL"
MESSAGE_VERSION: Final = 1
BUCKETS: Final = 64
RECORDS_MAX: Final = 50
"""Records of one message; more are sent in several."""
NAMES_MAX: Final = 50
MESSAGE_BYTES_MAX: Final = 4 * 1024 * 1024


@final
@dataclass(frozen=True)
class Told:
    """A record and how old it is."""

    record: Record
    age_ms: int


@final
@dataclass(frozen=True)
class ClusterMessage:
    kind: int
    cluster: str
    records: tuple[Told, ...] = ()
    names: tuple[str, ...] = ()
    digests: tuple[bytes, ...] = ()
    is_reply: bool = False


def encode_message(message: ClusterMessage) -> bytes:
    writer = PayloadWriter()
    writer.fixed(MAGIC)
    writer.integer(MESSAGE_VERSION)
    writer.integer(message.kind)
    writer.text(message.cluster)
    writer.integer(1 if message.is_reply else 0)
    writer.integer(len(message.records))
    for told in message.records:
        data = encode_record(told.record)
        writer.position(told.age_ms)
        writer.integer(len(data))
        writer.fixed(data)
    writer.integer(len(message.names))
    for name in message.names:
        writer.text(name)
    writer.integer(len(message.digests))
    for digest in message.digests:
        writer.fixed(digest)
    return writer.getvalue()


def decode_message(data: bytes) -> ClusterMessage:
    """Decode the bytes of `encode_message`. Raises MalformedRecord."""
    if len(data) > MESSAGE_BYTES_MAX:
        raise MalformedRecord(f"a message of {len(data)} bytes")
    try:
        return _read_message(PayloadReader(data))
    except MalformedFrame as error:
        raise MalformedRecord(str(error)) from None


def _read_message(reader: PayloadReader) -> ClusterMessage:
    if reader.fixed(len(MAGIC)) != MAGIC:
        raise MalformedRecord("a message that is not of a repository")
    version = int(reader.integer())
    if version != MESSAGE_VERSION:
        raise MalformedRecord(f"a message of version {version}; this release reads version {MESSAGE_VERSION}")
    kind = int(reader.integer())
    if kind not in MESSAGE_NAMES:
        raise MalformedRecord(f"a message of kind {kind}")
    cluster = reader.text(NAME_BYTES_MAX)
    is_reply = int(reader.integer()) != 0
    records: list[Told] = []
    for _ in range(int(reader.count(RECORDS_MAX))):
        age_ms = check_age(int(reader.position()))
        record = decode_record(reader.fixed(reader.count(RECORD_BYTES_MAX)))
        if (record.kind == INTEREST) != (kind == ASK):
            raise MalformedRecord("a question that is not asked, or a record in a question")
        records.append(Told(record, age_ms))
    names = tuple([reader.text(NAME_BYTES_MAX) for _ in range(int(reader.count(NAMES_MAX)))])
    digests = tuple([reader.fixed(8) for _ in range(int(reader.count(BUCKETS)))])
    if len(digests) != (BUCKETS if kind == DIGEST else 0) and not (kind == ASK and len(digests) == 1):
        raise MalformedRecord(f"a message with {len(digests)} digests")
    reader.check_end()
    return ClusterMessage(kind, cluster, tuple(records), names, digests, is_reply)
