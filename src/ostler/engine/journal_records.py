"""Appending of the engine's records to the journal. `_append` is the only caller of `Journal.append`.

A record is appended before it is applied (`engine.apply`), and never refused: verbs make sure beforehand that the
journal has room.
"""

from __future__ import annotations

from mypy_extensions import i64

from ostler.engine.core import Engine
from ostler.engine.message.message import Message
from ostler.engine.pubsub.publish_record import Copy, publication_head
from ostler.engine.queue.queue import Queue
from ostler.engine.recovery.backup_records import (
    CF_BACKUP_BEGIN,
    CF_BACKUP_END,
    CF_BACKUP_ENTRIES,
    MEMBER_JOINED,
    BackupBegin,
    JoinedRecord,
    backup_begin,
    backup_end,
    backup_entries,
    member_joined,
)
from ostler.engine.recovery.records import (
    BACK_OUT,
    CLEAR,
    COMMIT,
    DEFINE,
    DELETE,
    GET,
    IMAGE_BEGIN,
    IMAGE_END,
    IMAGE_MESSAGE,
    PREPARE,
    PUBLISH,
    PUT,
    commit_head,
    get_head,
    number_head,
    put_head,
)
from ostler.engine.recovery.shared_records import (
    ALONE,
    CANCEL,
    MEMBER_START,
    PEER_BACK_OUT,
    PEER_COMMIT,
    SHARED_GET,
    SHARED_PREPARE,
    SHARED_PUT,
    cancel_head,
    member_start_head,
    shared_get_head,
    shared_prepare_head,
    shared_put_head,
)
from ostler.engine.unit_of_work import UnitOfWork
from ostler.model.attributes import ObjectType
from ostler.model.coupling.answers import DumpedEntry
from ostler.model.coupling.entries import Entry
from ostler.model.definitions import Definition
from ostler.model.errors import InvariantFailed


def _append(engine: Engine, kind: i64, head: bytes, descriptor: bytes, body: bytes) -> i64:
    """Append one record. Returns the LSN behind it, which is higher than that of all records before it."""
    lsn: i64 = engine.journal.append(kind, head, descriptor, body)
    if lsn <= engine.appended_lsn:
        raise InvariantFailed(f"The journal has appended a record at LSN {lsn}, behind {engine.appended_lsn}")
    engine.appended_lsn = lsn
    return lsn


def _join(engine: Engine, unit: UnitOfWork | None) -> i64:
    """Return the number of a unit, 0 for none, and note where its records begin."""
    if unit is None:
        return 0
    if unit.first_lsn < 0:
        unit.first_lsn = engine.journal.end_lsn()
    return unit.number


# -- messages ----------------------------------------------------------------------------------------------------------


def append_put(
    engine: Engine, queue: Queue, message: Message, flags: i64, expiry_ms: i64, unit: UnitOfWork | None
) -> i64:
    """Append a put of a persistent message."""
    properties = message.properties
    head = put_head(_join(engine, unit), queue.queue_id, message.seq, flags, expiry_ms, len(properties))
    return _append(engine, PUT, head, message.md + properties if properties else message.md, message.body)


def append_publication(
    engine: Engine, md: bytes, block: bytes, body: bytes, copies: list[Copy], unit: UnitOfWork | None
) -> i64:
    """Append the persistent copies of a publication as one record: descriptor, properties and body are there once."""
    head = publication_head(_join(engine, unit), md, block, copies)
    return _append(engine, PUBLISH, head, md + block if block else md, body)


def append_get(engine: Engine, queue: Queue, seq: i64, unit: UnitOfWork | None) -> i64:
    """Append the removal of a persistent message, at once or in a unit of work."""
    return _append(engine, GET, get_head(_join(engine, unit), queue.queue_id, seq), b"", b"")


def append_numbered_get(engine: Engine, queue: Queue, seq: i64, unit_number: i64) -> i64:
    """As `append_get`, for a unit of work that exists in the journal only (segments that are got as one message)."""
    return _append(engine, GET, get_head(unit_number, queue.queue_id, seq), b"", b"")


def append_clear(engine: Engine, queue: Queue) -> i64:
    return _append(engine, CLEAR, number_head(queue.queue_id), b"", b"")


# -- units of work -----------------------------------------------------------------------------------------------------


def append_commit(engine: Engine, unit_number: i64, replaced: list[tuple[int, int]]) -> i64:
    """Append a commit; `replaced` are retained publications that it removes, as queue ids and sequence numbers."""
    head = commit_head(unit_number, replaced) if replaced else number_head(unit_number)
    return _append(engine, COMMIT, head, b"", b"")


def append_back_out(engine: Engine, unit: UnitOfWork) -> i64:
    return _append(engine, BACK_OUT, number_head(unit.number), b"", b"")


def append_prepare(engine: Engine, unit: UnitOfWork, xid: bytes) -> i64:
    return _append(engine, PREPARE, number_head(_join(engine, unit)) + xid, b"", b"")


# -- shared queues -----------------------------------------------------------------------------------------------------


def append_shared_put(
    engine: Engine, queue: Queue, entry: Entry, start: i64, logged: i64, unit: UnitOfWork | None
) -> i64:
    """Append a put of a persistent message on a shared queue; `logged` is its number outside units, else 0."""
    properties = entry.properties
    head = shared_put_head(
        _join(engine, unit),
        start,
        entry.flags,
        entry.id,
        queue.structure,
        queue.name,
        logged,
        entry.priority,
        entry.expiry_ms,
        len(properties),
    )
    return _append(engine, SHARED_PUT, head, entry.md + properties if properties else entry.md, entry.body)


def append_shared_get(
    engine: Engine, queue: Queue, entry_id: bytes, start: i64, unit: UnitOfWork, is_alone: bool
) -> i64:
    """Append a get of a persistent message. `is_alone`: it is all that the unit does, which is prepared with it."""
    flags: i64 = ALONE if is_alone else 0
    head = shared_get_head(_join(engine, unit), start, flags, entry_id, queue.structure, queue.name)
    return _append(engine, SHARED_GET, head, b"", b"")


def append_cancel(engine: Engine, unit: UnitOfWork | None, logged: i64, entry_id: bytes) -> i64:
    return _append(engine, CANCEL, cancel_head(_join(engine, unit), logged, entry_id), b"", b"")


def append_shared_prepare(engine: Engine, unit: UnitOfWork, start: i64, xid: bytes) -> i64:
    return _append(engine, SHARED_PREPARE, shared_prepare_head(_join(engine, unit), start, xid), b"", b"")


def append_peer_back_out(engine: Engine, unit_id: bytes) -> i64:
    return _append(engine, PEER_BACK_OUT, unit_id, b"", b"")


def append_peer_commit(engine: Engine, unit_id: bytes) -> i64:
    return _append(engine, PEER_COMMIT, unit_id, b"", b"")


def append_member_start(engine: Engine) -> i64:
    """Append the numbers of the member, from which a restart goes on."""
    member = engine.member
    head = member_start_head(member.number, member.start, member.logged, member.facility)
    member.record_lsn = engine.journal.end_lsn()
    return _append(engine, MEMBER_START, head, b"", b"")


def append_member_joined(engine: Engine, joined: JoinedRecord) -> i64:
    return _append(engine, MEMBER_JOINED, member_joined(joined), b"", b"")


def append_backup_begin(engine: Engine, backup_lsn: i64, begin: BackupBegin) -> i64:
    return _append(engine, CF_BACKUP_BEGIN, backup_begin(backup_lsn, begin), b"", b"")


def append_backup_entries(engine: Engine, backup_lsn: i64, structure: str, entries: list[DumpedEntry]) -> i64:
    return _append(engine, CF_BACKUP_ENTRIES, backup_entries(backup_lsn, structure, entries), b"", b"")


def append_backup_end(engine: Engine, backup_lsn: i64, structure: str, entries: i64) -> i64:
    return _append(engine, CF_BACKUP_END, backup_end(backup_lsn, structure, entries), b"", b"")


# -- definitions -------------------------------------------------------------------------------------------------------


def append_define(engine: Engine, definition: Definition, queue_id: i64) -> i64:
    return _append(engine, DEFINE, number_head(queue_id), b"", definition.encode())


def append_delete(engine: Engine, kept: ObjectType, name: str, queue_id: i64) -> i64:
    return _append(engine, DELETE, number_head(queue_id), b"", f"{kept.value} {name}".encode())


# -- media images ------------------------------------------------------------------------------------------------------


def append_image_begin(engine: Engine, queue: Queue) -> i64:
    return _append(engine, IMAGE_BEGIN, number_head(queue.queue_id), b"", queue.definition.encode())


def append_image_message(engine: Engine, queue: Queue, message: Message, flags: i64, expiry_ms: i64) -> i64:
    head = put_head(0, queue.queue_id, message.seq, flags, expiry_ms, len(message.properties))
    return _append(engine, IMAGE_MESSAGE, head, message.md + message.properties, message.body)


def append_image_end(engine: Engine, queue: Queue) -> i64:
    return _append(engine, IMAGE_END, number_head(queue.queue_id), b"", b"")
