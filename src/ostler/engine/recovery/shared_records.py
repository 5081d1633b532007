"""Records of shared queues in the journal of a member of a queue-sharing group.

A shared message is in the coupling facility, so a restart does not restore it from these records. They say what a
restart has to ask the facility, and a recovery of a structure merges the records of all members into its messages.

    SHARED_PUT      a persistent message was put, in a unit of work or outside with a `logged` number
    SHARED_GET      a persistent message was got in a unit of work
    CANCEL          a put whose SHARED_PUT is in the journal was refused, or never reached the facility
    PEER_BACK_OUT   this member has backed out a unit of a member that failed
    PEER_COMMIT     this member has committed a unit in doubt of a member that was not active (RESOLVE INDOUBT)
    SHARED_PREPARE  a unit with shared messages is to be committed by the facility, or by a coordinator (xid)
    MEMBER_START    the member has begun to make identifiers with this number of a start

Only members of a group write them. Numbers are little-endian; identifiers are those of `model.coupling.entries`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from librt.strings import BytesWriter, read_i64_le, write_i64_le
from mypy_extensions import i64

from ostler.engine.message.message import MD_BYTES
from ostler.engine.shared.member_state import MemberState

SHARED_PUT: Final = 14
SHARED_GET: Final = 15
CANCEL: Final = 16
PEER_BACK_OUT: Final = 17
# 18, 19, 22 and 23 are those of `backup_records`.
SHARED_PREPARE: Final = 20
MEMBER_START: Final = 21
PEER_COMMIT: Final = 24

ID_BYTES: Final = 16
_STRUCTURE_BYTES: Final = 16
_QUEUE_BYTES: Final = 48
_OPERATION_BYTES: Final = 24 + ID_BYTES + _STRUCTURE_BYTES + _QUEUE_BYTES
_PUT_HEAD_BYTES: Final = _OPERATION_BYTES + 32
_CANCEL_BYTES: Final = 16 + ID_BYTES

# Flags of SHARED_GET: the unit has this one operation, and is prepared with it.
ALONE: Final = 1


class SharedPutRecord(NamedTuple):
    unit_of_work: int  # 0: outside syncpoint
    start: int  # of the queue manager, in the identifier of the unit
    flags: int  # of the entry
    entry_id: bytes
    structure: str
    queue: str
    logged: int  # number of a put outside units; 0 in one
    priority: int
    expiry_ms: int
    md: bytes
    properties: bytes
    body: bytes


class SharedGetRecord(NamedTuple):
    unit_of_work: int
    start: int
    flags: int
    entry_id: bytes
    structure: str
    queue: str


class CancelRecord(NamedTuple):
    unit_of_work: int
    logged: int
    entry_id: bytes


class SharedPrepareRecord(NamedTuple):
    unit_of_work: int
    start: int
    xid: bytes


class MemberStartRecord(NamedTuple):
    member: int
    start: int
    logged: int  # the highest number of a put outside units that was given before
    facility: bytes  # identity of the facility that the member has joined with this start; empty: none yet


def _operation(unit_of_work: i64, start: i64, flags: i64, entry_id: bytes, structure: str, queue: str) -> BytesWriter:
    writer = BytesWriter()
    write_i64_le(writer, unit_of_work)
    write_i64_le(writer, start)
    write_i64_le(writer, flags)
    writer.write(entry_id)
    writer.write(structure.encode("ascii").ljust(_STRUCTURE_BYTES))
    writer.write(queue.encode("ascii").ljust(_QUEUE_BYTES))
    return writer


def shared_put_head(
    unit_of_work: i64,
    start: i64,
    flags: i64,
    entry_id: bytes,
    structure: str,
    queue: str,
    logged: i64,
    priority: i64,
    expiry_ms: i64,
    properties_bytes: i64,
) -> bytes:
    """Encode the head of SHARED_PUT; descriptor, properties and body follow it."""
    writer = _operation(unit_of_work, start, flags, entry_id, structure, queue)
    write_i64_le(writer, logged)
    write_i64_le(writer, priority)
    write_i64_le(writer, expiry_ms)
    write_i64_le(writer, properties_bytes)
    return writer.getvalue()


def read_shared_put(payload: bytes) -> SharedPutRecord:
    operation = read_shared_get(payload)
    md_end: i64 = _PUT_HEAD_BYTES + MD_BYTES
    properties_end: i64 = md_end + read_i64_le(payload, _OPERATION_BYTES + 24)
    return SharedPutRecord(
        *operation,
        read_i64_le(payload, _OPERATION_BYTES),
        read_i64_le(payload, _OPERATION_BYTES + 8),
        read_i64_le(payload, _OPERATION_BYTES + 16),
        payload[_PUT_HEAD_BYTES:md_end],
        payload[md_end:properties_end],
        payload[properties_end:],
    )


def read_logged(payload: bytes) -> i64:
    """Return the `logged` number of a SHARED_PUT without decoding the message."""
    return read_i64_le(payload, _OPERATION_BYTES)


def read_start(payload: bytes) -> i64:
    """Return the number of the start in a SHARED_PUT or SHARED_GET."""
    return read_i64_le(payload, 8)


def is_alone(payload: bytes) -> bool:
    """Return True for a SHARED_GET that prepares its unit."""
    return read_i64_le(payload, 16) & ALONE != 0


def shared_get_head(unit_of_work: i64, start: i64, flags: i64, entry_id: bytes, structure: str, queue: str) -> bytes:
    return _operation(unit_of_work, start, flags, entry_id, structure, queue).getvalue()


def read_shared_get(payload: bytes) -> SharedGetRecord:
    """Return a SHARED_GET, or what a SHARED_PUT begins with."""
    structure_at: i64 = 24 + ID_BYTES
    queue_at: i64 = structure_at + _STRUCTURE_BYTES
    return SharedGetRecord(
        read_i64_le(payload, 0),
        read_i64_le(payload, 8),
        read_i64_le(payload, 16),
        payload[24:structure_at],
        payload[structure_at:queue_at].decode("ascii").rstrip(),
        payload[queue_at:_OPERATION_BYTES].decode("ascii").rstrip(),
    )


def cancel_head(unit_of_work: i64, logged: i64, entry_id: bytes) -> bytes:
    """Encode CANCEL. After a restart a put outside units is known by its number only: then `entry_id` is empty."""
    writer = BytesWriter()
    write_i64_le(writer, unit_of_work)
    write_i64_le(writer, logged)
    writer.write(entry_id)
    return writer.getvalue()


def read_cancel(payload: bytes) -> CancelRecord:
    return CancelRecord(read_i64_le(payload, 0), read_i64_le(payload, 8), payload[16:_CANCEL_BYTES])


def shared_prepare_head(unit_of_work: i64, start: i64, xid: bytes) -> bytes:
    writer = BytesWriter()
    write_i64_le(writer, unit_of_work)
    write_i64_le(writer, start)
    writer.write(xid)
    return writer.getvalue()


def read_shared_prepare(payload: bytes) -> SharedPrepareRecord:
    return SharedPrepareRecord(read_i64_le(payload, 0), read_i64_le(payload, 8), payload[16:])


def member_start_head(member: i64, start: i64, logged: i64, facility: bytes) -> bytes:
    writer = BytesWriter()
    write_i64_le(writer, member)
    write_i64_le(writer, start)
    write_i64_le(writer, logged)
    writer.write(facility)
    return writer.getvalue()


def read_member_start(payload: bytes) -> MemberStartRecord:
    return MemberStartRecord(read_i64_le(payload, 0), read_i64_le(payload, 8), read_i64_le(payload, 16), payload[24:])


def note_logged(member: MemberState, logged: i64, lsn: i64) -> None:
    """Take over a put outside units, whose record begins at `lsn`, at a restart."""
    if logged > member.logged:
        member.logged = logged
    if member.logged_first == 0:
        member.logged_first = logged
        member.logged_lsn = lsn


def note_start(member: MemberState, record: MemberStartRecord, lsn: i64) -> None:
    """Take over the numbers of a member, whose record begins at `lsn`, at a restart."""
    if member.facility and record.facility != member.facility:
        # Puts before were for another facility: their records stand.
        member.logged_first = 0
        member.logged_lsn = -1
        member.cancelled = set()
    member.number = record.member
    member.start = record.start
    member.facility = record.facility
    member.record_lsn = lsn
    if record.logged > member.logged:
        member.logged = record.logged
