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

A failed assertion means that the state and the journal disagree. The queue manager then stops, and acknowledges
nothing (`server.failure`).
"""

from __future__ import annotations

from mypy_extensions import i64

from ostler.engine.core import Engine
from ostler.engine.message.message import Message
from ostler.engine.pubsub import subscription_definitions
from ostler.engine.queue.queue import Queue
from ostler.engine.queue.slots import AVAILABLE, FREE, GOT_UNCOMMITTED, LOCKED, PUT_UNCOMMITTED, STATE_MASK, Slots
from ostler.engine.unit_of_work import ACTIVE, ENDED, PREPARED, Entry, UnitOfWork
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.definitions import Definition

# -- messages outside units of work ------------------------------------------------------------------------------------


def arrive(queue: Queue) -> None:
    """Count an arriving message in the depth, before it is stored or handed to a waiting get."""
    queue.depth += 1


def leave(queue: Queue) -> None:
    """Count out a message that arrived and was handed to a waiting get, without taking a slot."""
    queue.depth -= 1
    assert queue.depth >= 0, "a queue has fewer messages than none"


def store(queue: Queue, message: Message, flags: i64, expiry_ms: i64) -> i64:
    """Store a message that has arrived as the last one of its priority. Returns its slot."""
    assert flags & STATE_MASK == FREE, "the state of a message is decided here"
    slot: i64 = queue.store(message, flags | AVAILABLE, expiry_ms)
    queue.link_new(slot)
    return slot


def put(queue: Queue, message: Message, flags: i64, expiry_ms: i64, near_head: bool = False) -> i64:
    """Put a committed message at the position of its sequence number. Returns its slot.

    `near_head` is a hint: the position is looked for from the head of the queue.
    """
    assert flags & STATE_MASK == FREE, "the state of a message is decided here"
    queue.depth += 1
    slot: i64 = queue.store(message, flags | AVAILABLE, expiry_ms)
    queue.link_in_order(slot, near_head)
    return slot


def get(queue: Queue, slot: i64) -> None:
    """Remove an available message for good: it was got, expired, cleared or replaced."""
    assert queue.slots.state(slot) == AVAILABLE, "only an available message can be got"
    queue.unlink(slot)
    queue.release(slot)
    queue.depth -= 1
    assert queue.depth >= 0, "a queue has fewer messages than none"


def restore(
    queue: Queue, seq: i64, flags: i64, id_hash: i64, correlation_hash: i64, expiry_ms: i64, extent: i64
) -> i64:
    """Add an available message of a snapshot, which is in the queue's file. They come in order. Returns its slot."""
    slot: i64 = queue.slots.take_stored(seq, flags | AVAILABLE, id_hash, correlation_hash, expiry_ms, extent)
    queue.file.claim(extent)
    if expiry_ms != 0:
        queue.expiring += 1
    queue.link_new(slot)
    queue.depth += 1
    return slot


def reset(queue: Queue) -> None:
    """Forget all messages of a queue whose file is rebuilt."""
    assert queue.uncommitted == 0, "a queue with uncommitted messages cannot be rebuilt"
    queue.file.reset()
    queue.slots = Slots()
    queue.groups = {}
    queue.depth = 0
    queue.expiring = 0
    queue.spill = []
    queue.spill_bytes = 0
    queue.resident_bytes_persistent = 0
    queue.unsaved_bytes = 0
    queue.resident_bytes_nonpersistent = 0
    queue.release_long_messages()


def clear(queue: Queue) -> i64:
    """Remove all available messages. Returns their number."""
    slots = queue.slots
    removed: i64 = 0
    slot: i64 = 0
    while slot < len(slots.resident):
        if slots.state(slot) == AVAILABLE:
            get(queue, slot)
            removed += 1
        slot += 1
    return removed


# -- units of work -----------------------------------------------------------------------------------------------------


def put_in_unit(
    queue: Queue, message: Message, flags: i64, expiry_ms: i64, unit: UnitOfWork, is_persistent: bool
) -> i64:
    """Store a message that has arrived in a unit of work. Returns its slot."""
    assert flags & STATE_MASK == FREE, "the state of a message is decided here"
    assert unit.state != ENDED, "an ended unit of work takes no message"
    slot: i64 = queue.store(message, flags | PUT_UNCOMMITTED, expiry_ms)
    unit.entries.append(Entry(queue, slot, message.seq, True, is_persistent))
    queue.uncommitted += 1
    if queue.keeps_retained:
        unit.is_retaining = True
    return slot


def get_in_unit(queue: Queue, slot: i64, seq: i64, unit: UnitOfWork, is_persistent: bool) -> None:
    """Get an available message in a unit of work: it is gone for others, and comes back with a back-out."""
    assert queue.slots.state(slot) == AVAILABLE, "only an available message can be got"
    assert unit.state != ENDED, "an ended unit of work takes no message"
    queue.unlink(slot)
    queue.slots.set_state(slot, GOT_UNCOMMITTED)
    queue.slots.flags[slot] &= ~LOCKED
    unit.entries.append(Entry(queue, slot, seq, False, is_persistent))
    queue.uncommitted += 1
    queue.depth -= 1
    assert queue.depth >= 0, "a queue has fewer messages than none"


def prepare(unit: UnitOfWork, xid: bytes) -> None:
    """Prepare a unit: only its coordinator ends it from now on."""
    assert unit.state != ENDED, "an ended unit of work cannot be prepared"
    unit.xid = xid
    unit.state = PREPARED


def end_unit(engine: Engine, unit: UnitOfWork) -> None:
    """End a unit. Its entries are committed or backed out one by one."""
    assert unit.state == ACTIVE or unit.state == PREPARED, "a unit of work ends once"
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


def back_out_put(queue: Queue, entry: Entry) -> None:
    """Remove a message that a backed-out unit put."""
    _leave_unit(queue, entry.slot, entry.seq, PUT_UNCOMMITTED)
    queue.depth -= 1
    assert queue.depth >= 0, "a queue has fewer messages than none"
    queue.release(entry.slot)


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
    assert queue.slots.state(slot) == state, "a message of a unit of work is in the state that the unit gave it"
    assert queue.slots.seqs[slot] == seq, "a slot holds the message of its unit of work"
    queue.uncommitted -= 1
    assert queue.uncommitted >= 0, "a queue has fewer uncommitted messages than none"


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
    if queue.keeps_retained:
        engine.topics.forget_retained()
    if engine.guard is not None:
        engine.guard.on_deleted(queue.definition)
