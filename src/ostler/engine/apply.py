"""State changes of queues, units of work and definitions: this is the only code that makes them.

A live verb decides, appends a record to the journal (`engine.journal_records`) and applies it here. Restart, media
recovery and followers read the records of a journal and apply them here as well, so the state of a queue manager is
what these functions make of its journal.

A message on a queue is in one of four states of its slot:

    state            depth  linked  left by
    FREE               no     no    put -> AVAILABLE, put_in_unit -> PUT_UNCOMMITTED
    PUT_UNCOMMITTED    yes    no    commit_put -> AVAILABLE, back_out_put -> FREE
    AVAILABLE          yes    yes   get -> FREE, get_in_unit -> GOT_UNCOMMITTED
    GOT_UNCOMMITTED    no     no    commit_get -> FREE, back_out_get -> AVAILABLE

`Queue.uncommitted` counts the slots in the two uncommitted states. A message that is handed to a waiting get takes no
slot: `arrive` and `leave` count it in and out of the depth.

Each function checks the state before it and the counts behind it. InvariantFailed means that the state and the journal
disagree: the queue manager stops and acknowledges nothing any more.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.engine.core import Engine
from ostler.engine.message.message import Message
from ostler.engine.pubsub import subscription_definitions
from ostler.engine.pubsub.publication_properties import topic_in
from ostler.engine.pubsub.retained_references import forget_lost
from ostler.engine.queue.queue import Queue
from ostler.engine.queue.slots import (
    AVAILABLE,
    FREE,
    GOT_UNCOMMITTED,
    LOCKED,
    PUT_UNCOMMITTED,
    STATE_MASK,
    extent_length,
)
from ostler.engine.task import EngineTask
from ostler.engine.unit_of_work import ACTIVE, ENDED, PREPARED, Entry, UnitOfWork
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.definitions import Definition
from ostler.model.errors import InvariantFailed

_STATES: Final = {
    FREE: "FREE",
    AVAILABLE: "AVAILABLE",
    PUT_UNCOMMITTED: "PUT_UNCOMMITTED",
    GOT_UNCOMMITTED: "GOT_UNCOMMITTED",
}

_FREED_AT_ONCE: Final = 1_000
_FREE_COST: Final = 2  # of a message, in units of `Engine.work_left`

# -- messages outside units of work ------------------------------------------------------------------------------------


def arrive(queue: Queue) -> None:
    """Count an arriving message in the depth, before it is stored or handed to a waiting get."""
    queue.depth += 1


def leave(queue: Queue) -> None:
    """Count out a message that arrived and was handed to a waiting get, without taking a slot."""
    queue.depth -= 1
    _check_counts(queue)


def store(queue: Queue, message: Message, flags: i64, expiry_ms: i64) -> i64:
    """Store a message that has arrived as the last one of its priority. Returns its slot."""
    if flags & STATE_MASK != FREE:
        raise InvariantFailed(f"Queue {queue.name}: message {message.seq} has a state before it is stored")
    slot: i64 = queue.store(message, flags | AVAILABLE, expiry_ms)
    queue.link_new(slot)
    return slot


def put(queue: Queue, message: Message, flags: i64, expiry_ms: i64, near_head: bool = False) -> i64:
    """Put a committed message at the position of its sequence number. Returns its slot.

    `near_head` is a hint: the position is looked for from the head of the queue.
    """
    if flags & STATE_MASK != FREE:
        raise InvariantFailed(f"Queue {queue.name}: message {message.seq} has a state before it is stored")
    queue.depth += 1
    slot: i64 = queue.store(message, flags | AVAILABLE, expiry_ms)
    queue.link_in_order(slot, near_head)
    return slot


def get(queue: Queue, slot: i64) -> None:
    """Remove an available message for good: it was got, expired, cleared or replaced."""
    if queue.slots.state(slot) != AVAILABLE:
        raise _wrong_state(queue, slot, AVAILABLE)
    queue.unlink(slot)
    queue.release(slot)
    queue.depth -= 1
    _check_counts(queue)


def restore(
    queue: Queue, seq: i64, flags: i64, id_hash: i64, correlation_hash: i64, expiry_ms: i64, extent: i64
) -> i64:
    """Add an available message of a snapshot, which is in the queue's file. They come in order. Returns its slot."""
    slot: i64 = queue.slots.take_stored(seq, flags | AVAILABLE, id_hash, correlation_hash, expiry_ms, extent)
    queue.file.claim(extent)
    queue.stored_bytes += extent_length(extent)
    if expiry_ms != 0:
        queue.expiring += 1
    queue.link_new(slot)
    queue.depth += 1
    return slot


def reset(queue: Queue) -> None:
    """Forget all messages of a queue whose file is rebuilt."""
    if queue.uncommitted != 0:
        raise InvariantFailed(f"Queue {queue.name}: it is rebuilt with {queue.uncommitted} uncommitted messages")
    queue.file.reset()
    queue.forget_messages()


def clear(engine: Engine, queue: Queue) -> i64:
    """Remove all available messages. Returns their number. Their memory is freed later, in slices."""
    if queue.uncommitted == 0 and not queue.handles:
        cleared: i64 = queue.depth
        queue.reserve.freed_bytes += queue.stored_bytes
        queue.file.release_all()
        discard_messages(engine, queue)
        queue.forget_messages()
        if cleared > 0:
            queue.changed = True
        return cleared
    slots = queue.slots
    removed: i64 = 0
    slot: i64 = 0
    while slot < len(slots.resident):
        if slots.state(slot) == AVAILABLE:
            get(queue, slot)
            removed += 1
        slot += 1
    return removed


def discard_messages(engine: Engine, queue: Queue) -> None:
    """Have the memory of all messages of a queue freed in slices. Nobody reads them any more."""
    if len(queue.slots.resident) > _FREED_AT_ONCE:
        engine.begin_task(FreeMessages(engine, queue.slots.resident))


@final
class FreeMessages(EngineTask):
    """Frees the messages of a list, a slice at a time: a million at once would hold up everybody."""

    def __init__(self, engine: Engine, messages: list[Message | None]) -> None:
        super().__init__()
        self._engine = engine
        self._messages = messages
        self._left: i64 = len(messages)

    def step(self) -> bool:
        while self._left > 0 and self._engine.work_left > 0:
            self._engine.work_left -= _FREE_COST
            self._left -= 1
            self._messages[self._left] = None
        return self._left == 0


# -- units of work -----------------------------------------------------------------------------------------------------


def put_in_unit(
    queue: Queue, message: Message, flags: i64, expiry_ms: i64, unit: UnitOfWork, is_persistent: bool
) -> i64:
    """Store a message that has arrived in a unit of work. Returns its slot."""
    if flags & STATE_MASK != FREE:
        raise InvariantFailed(f"Queue {queue.name}: message {message.seq} has a state before it is stored")
    if unit.state == ENDED:
        raise InvariantFailed(f"Unit of work {unit.number} has ended, and queue {queue.name} has a message for it")
    slot: i64 = queue.store(message, flags | PUT_UNCOMMITTED, expiry_ms)
    unit.entries.append(Entry(queue, slot, message.seq, True, is_persistent))
    queue.uncommitted += 1
    if queue.keeps_retained:
        if not unit.is_retaining:
            unit.is_retaining = True
            unit.topics = {}
        unit.topics[message.seq] = topic_in(message.properties)
    return slot


def get_in_unit(queue: Queue, slot: i64, seq: i64, unit: UnitOfWork, is_persistent: bool) -> None:
    """Get an available message in a unit of work: it is gone for others, and comes back with a back-out."""
    if queue.slots.state(slot) != AVAILABLE:
        raise _wrong_state(queue, slot, AVAILABLE)
    if unit.state == ENDED:
        raise InvariantFailed(f"Unit of work {unit.number} has ended, and queue {queue.name} has a message for it")
    queue.unlink(slot)
    queue.slots.set_state(slot, GOT_UNCOMMITTED)
    queue.slots.flags[slot] &= ~LOCKED
    unit.entries.append(Entry(queue, slot, seq, False, is_persistent))
    queue.uncommitted += 1
    queue.depth -= 1
    _check_counts(queue)


def prepare(unit: UnitOfWork, xid: bytes) -> None:
    """Prepare a unit: only its coordinator ends it from now on."""
    if unit.state == ENDED:
        raise InvariantFailed(f"Unit of work {unit.number} has ended, and is to be prepared")
    unit.xid = xid
    unit.state = PREPARED


def end_unit(engine: Engine, unit: UnitOfWork) -> None:
    """End a unit. Its entries are committed or backed out one by one."""
    if unit.state != ACTIVE and unit.state != PREPARED:
        raise InvariantFailed(f"Unit of work {unit.number} is to end twice")
    unit.state = ENDED
    engine.units_of_work.pop(unit.number, None)


def commit_put(queue: Queue, entry: Entry, lsn: i64) -> None:
    """Make a message of a committed unit available. Its commit record ends at `lsn`, or is 0 without one."""
    slot: i64 = entry.slot
    _leave_unit(queue, slot, entry.seq, PUT_UNCOMMITTED)
    queue.slots.set_state(slot, AVAILABLE)
    queue.set_visible(slot, lsn)
    if entry.is_persistent:
        queue.changed = True
    queue.link_in_order(slot, False)


def commit_get(queue: Queue, entry: Entry) -> None:
    """Remove a message that a committed unit got."""
    _leave_unit(queue, entry.slot, entry.seq, GOT_UNCOMMITTED)
    queue.release(entry.slot)
    _check_counts(queue)


def back_out_put(queue: Queue, entry: Entry) -> None:
    """Remove a message that a backed-out unit put."""
    _leave_unit(queue, entry.slot, entry.seq, PUT_UNCOMMITTED)
    queue.depth -= 1
    queue.release(entry.slot)
    _check_counts(queue)


def back_out_get(queue: Queue, entry: Entry, is_counted: bool = True) -> None:
    """Return a message that a backed-out unit got to its position, with a higher back-out count.

    Without `is_counted` the count includes this back-out already: it was loaded from a later snapshot.
    """
    slot: i64 = entry.slot
    _leave_unit(queue, slot, entry.seq, GOT_UNCOMMITTED)
    queue.slots.set_state(slot, AVAILABLE)
    if is_counted:
        queue.slots.count_backout(slot)
    queue.depth += 1
    if entry.is_persistent:
        queue.changed = True
    queue.link_in_order(slot, True)


def count_back_out(queue: Queue, slot: i64) -> None:
    """Raise the back-out count of a message that a unit got and backed out before it was read from an image."""
    queue.slots.count_backout(slot)


def _leave_unit(queue: Queue, slot: i64, seq: i64, state: i64) -> None:
    if queue.slots.state(slot) != state:
        raise _wrong_state(queue, slot, state)
    if queue.slots.seqs[slot] != seq:
        raise InvariantFailed(
            f"Queue {queue.name}: slot {slot} has message {queue.slots.seqs[slot]}, its unit of work has {seq}"
        )
    queue.uncommitted -= 1
    if queue.uncommitted < 0:
        raise InvariantFailed(f"Queue {queue.name}: it has {queue.uncommitted} uncommitted messages")


# -- invariants --------------------------------------------------------------------------------------------------------


def _check_counts(queue: Queue) -> None:
    """Check the counts of a queue that a message has left. Messages that arrive are in the depth before their slot."""
    if queue.depth < 0:
        raise InvariantFailed(f"Queue {queue.name}: its depth is {queue.depth}")
    if queue.slots.count > queue.depth + queue.uncommitted:
        raise InvariantFailed(
            f"Queue {queue.name}: {queue.slots.count} slots are in use, but its depth is {queue.depth} and "
            f"{queue.uncommitted} messages are uncommitted"
        )


def _wrong_state(queue: Queue, slot: i64, wanted: i64) -> InvariantFailed:
    found: i64 = queue.slots.state(slot)
    return InvariantFailed(
        f"Queue {queue.name}: slot {slot} with message {queue.slots.seqs[slot]} is {_STATES[found]}, not "
        f"{_STATES[wanted]}"
    )


# -- definitions -------------------------------------------------------------------------------------------------------


def table_type(definition: Definition) -> ObjectType:
    """Return the type under which a definition is stored: client-connection channels have a table of their own."""
    kind = definition.object_type
    if kind == ObjectType.CHANNEL and definition.attributes.get("CHLTYPE") == mq.MQCHT_CLNTCONN:
        return ObjectType.CLNTCONN
    return kind


def define(engine: Engine, definition: Definition, queue_id: i64) -> None:
    """Create or replace a definition. `queue_id` is that of a local queue, and 0 for all other objects."""
    engine.catalogue_changed = True
    engine.definitions_version += 1
    if definition.object_type == ObjectType.QMGR:
        engine.configure(definition)
    elif definition.object_type == ObjectType.QLOCAL:
        queue = engine.queues_by_id.get(queue_id)
        if queue is None:
            engine.add_queue(definition, queue_id)
        else:
            queue.configure(definition)
            engine.index_trigger(queue)
            engine.queues[definition.name] = queue  # at replay an older queue may have had this name meanwhile
            engine.of_type(ObjectType.QLOCAL)[definition.name] = definition
    else:
        engine.of_type(table_type(definition))[definition.name] = definition
        if definition.object_type == ObjectType.TOPIC:
            engine.topics.define_object(definition)
        elif definition.object_type == ObjectType.SUB:
            subscription_definitions.apply_definition(engine, definition)
    if engine.guard is not None:
        engine.guard.on_defined(definition)


def alter_queue(engine: Engine, queue: Queue, definition: Definition) -> None:
    """Alter a local queue that the queue manager changes by itself: nothing else depends on these attributes."""
    if not queue.is_temporary:
        engine.catalogue_changed = True
    queue.configure(definition)
    engine.index_trigger(queue)
    engine.of_type(ObjectType.QLOCAL)[queue.name] = definition


def delete(engine: Engine, kept: ObjectType, name: str) -> None:
    """Delete a definition of anything but a local queue; `kept` is its `table_type`."""
    engine.catalogue_changed = True
    engine.definitions_version += 1
    definition = engine.of_type(kept).pop(name, None)
    if kept == ObjectType.TOPIC:
        engine.topics.delete_object(name)
    elif kept == ObjectType.SUB:
        subscription_definitions.apply_deletion(engine, name)
    if definition is not None and engine.guard is not None:
        engine.guard.on_deleted(definition)


def delete_queue(engine: Engine, queue: Queue) -> None:
    """Delete a local queue with its messages."""
    if not queue.is_temporary:
        engine.catalogue_changed = True
    engine.remove_queue(queue)
    discard_messages(engine, queue)
    if queue.keeps_retained:
        engine.topics.retained_next_seq = queue.next_seq
        forget_lost(engine)
    if engine.guard is not None:
        engine.guard.on_deleted(queue.definition)
