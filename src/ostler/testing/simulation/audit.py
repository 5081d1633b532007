"""Invariants of the engine: redundant counts of the same thing must agree.

A queue counts its messages in many places, so that each path is short: links, chains, depth, bytes in memory, segments
of the file. `audit` counts them all again, the slow way.
"""

from __future__ import annotations

from itertools import pairwise

from ostler.engine.core import Engine
from ostler.engine.message.message import CORRELATION_ID_AT, MESSAGE_ID_AT, hash_id
from ostler.engine.queue.queue import LONG_MESSAGE_BYTES, Queue
from ostler.engine.queue.queue_file import SEGMENT_BYTES
from ostler.engine.queue.slots import (
    AVAILABLE,
    FREE,
    GOT_UNCOMMITTED,
    GROUPED,
    HAS_CURSOR,
    NONE,
    PERSISTENT,
    PRIORITY_MASK,
    PRIORITY_SHIFT,
    PUT_UNCOMMITTED,
    SPILL_PENDING,
    STATE_MASK,
    IdIndex,
    extent_length,
    extent_offset,
)


class InvariantViolated(AssertionError):
    """Two counts of the same thing differ."""


def audit_engine(engine: Engine) -> None:
    """Audit all queues, and the units of work against them. Raises InvariantViolated."""
    holders: dict[tuple[int, int], int] = {}
    for unit in engine.units_of_work.values():
        for entry in unit.entries:
            queue = entry.queue
            if queue.deleted or queue.damaged:
                continue
            where = f"unit {unit.number}, message {entry.seq} of {queue.name}"
            wanted = PUT_UNCOMMITTED if entry.is_put else GOT_UNCOMMITTED
            _check_equal(f"{where}: sequence number of its slot", queue.slots.seqs[entry.slot], entry.seq)
            _check_equal(f"{where}: state of its slot", queue.slots.state(entry.slot), wanted)
            _check((queue.queue_id, entry.slot) not in holders, f"{where}: another unit has the same slot")
            holders[(queue.queue_id, entry.slot)] = unit.number
    for queue in engine.queues_by_id.values():
        if not queue.damaged:
            audit(queue)
            held = sum(1 for queue_id, _ in holders if queue_id == queue.queue_id)
            _check_equal(f"{queue.name}: entries of units of work", held, queue.uncommitted)
    long_bytes = sum(queue.long_bytes for queue in engine.queues_by_id.values())
    _check_equal("long messages of all queues in memory", engine.long_messages.used_bytes, long_bytes)


def audit(queue: Queue) -> None:
    """Count everything about one queue again. Raises InvariantViolated, with the queue's name and both counts."""
    used = _audit_slots(queue)
    linked = _audit_order(queue, used)
    _audit_index(queue, queue.slots.by_message_id, linked, "message id")
    _audit_index(queue, queue.slots.by_correlation_id, linked, "correlation id")
    _audit_messages(queue, used)
    _audit_file(queue, used)
    _audit_groups(queue, linked)
    _audit_cursors(queue, linked)


def _audit_slots(queue: Queue) -> list[int]:
    """Check the slots, and return those in use."""
    slots = queue.slots
    count = len(slots.resident)
    for name, array in (
        ("nexts", slots.nexts),
        ("flags", slots.flags),
        ("seqs", slots.seqs),
        ("places", slots.extents),
        ("expiries", slots.expiries),
        ("message id hashes", slots.by_message_id.hashes),
        ("correlation id hashes", slots.by_correlation_id.hashes),
    ):
        _check_equal(f"{queue.name}: length of {name}", len(array), count)
    used = [slot for slot in range(count) if slots.state(slot) != FREE]
    _check_equal(f"{queue.name}: slots in use", slots.count, len(used))
    chained: set[int] = set()
    slot = slots.free_head
    while slot != NONE:
        _check(slot not in chained, f"{queue.name}: the chain of free slots comes back to {slot}")
        chained.add(slot)
        _check_equal(f"{queue.name}: state of free slot {slot}", slots.flags[slot], FREE)
        _check(slots.resident[slot] is None, f"{queue.name}: free slot {slot} holds a message")
        _check_equal(f"{queue.name}: place of free slot {slot}", slots.extents[slot], NONE)
        slot = slots.nexts[slot]
    _check_equal(f"{queue.name}: free slots", len(chained), count - len(used))
    states = [slots.state(slot) for slot in used]
    puts, gots = states.count(PUT_UNCOMMITTED), states.count(GOT_UNCOMMITTED)
    _check_equal(f"{queue.name}: depth", queue.depth, states.count(AVAILABLE) + puts)
    _check_equal(f"{queue.name}: uncommitted", queue.uncommitted, puts + gots)
    seqs = [slots.seqs[slot] for slot in used]
    _check_equal(f"{queue.name}: sequence numbers, each once", len(set(seqs)), len(seqs))
    _check(not seqs or max(seqs) < queue.next_seq, f"{queue.name}: a sequence number was given out in advance")
    expiring = sum(1 for slot in used if slots.expiries[slot] != 0)
    _check_equal(f"{queue.name}: expiring messages", queue.expiring, expiring)
    return used


def _audit_order(queue: Queue, used: list[int]) -> set[int]:
    """Check the delivery order, and return the slots linked in it."""
    slots = queue.slots
    linked: set[int] = set()
    for priority in range(10):
        before, last_seq = NONE, 0
        slot = slots.heads[priority]
        _check_equal(f"{queue.name}: filled bit {priority}", slots.filled >> priority & 1, int(slot != NONE))
        while slot != NONE:
            where = f"{queue.name}: slot {slot} in the order of priority {priority}"
            _check(slot not in linked, f"{where} comes twice")
            linked.add(slot)
            _check_equal(f"{where}: state", slots.state(slot), AVAILABLE)
            _check_equal(f"{where}: priority", slots.flags[slot] >> PRIORITY_SHIFT & PRIORITY_MASK, priority)
            _check_equal(f"{where}: link back", slots.previous[slot], before)
            _check(slots.seqs[slot] > last_seq, f"{where} is out of order")
            before, last_seq = slot, slots.seqs[slot]
            slot = slots.nexts[slot]
        _check_equal(f"{queue.name}: tail of priority {priority}", slots.tails[priority], before)
    available = {slot for slot in used if slots.state(slot) == AVAILABLE}
    _check_equal(f"{queue.name}: linked slots", sorted(linked), sorted(available))
    return linked


def _audit_index(queue: Queue, index: IdIndex, linked: set[int], what: str) -> None:
    slots = queue.slots
    found: set[int] = set()
    for bucket in range(index.buckets()):
        before = NONE
        newest: dict[int, int] = {}
        slot = index.heads[bucket]
        while slot != NONE:
            where = f"{queue.name}: slot {slot} in the chain of {what} {bucket}"
            _check(slot not in found, f"{where} comes twice")
            found.add(slot)
            hashed = index.hashes[slot]
            _check_equal(f"{where}: bucket", index.bucket(hashed), bucket)
            _check_equal(f"{where}: link back", index.previous[slot], before)
            _check(slots.seqs[slot] > newest.get(hashed, 0), f"{where} is out of order")
            newest[hashed] = slots.seqs[slot]
            before = slot
            slot = index.nexts[slot]
        _check_equal(f"{queue.name}: tail of the chain of {what} {bucket}", index.tails[bucket], before)
    _check_equal(f"{queue.name}: used count of {what}", index.used, len(found))
    expected = {slot for slot in linked if index.hashes[slot] != 0}
    _check_equal(f"{queue.name}: slots in chains of {what}", sorted(found), sorted(expected))


def _audit_messages(queue: Queue, used: list[int]) -> None:
    """Check the messages in memory, and that every message can be read and is the right one."""
    slots = queue.slots
    resident = {True: 0, False: 0}
    long_bytes = 0
    pending = 0
    reads = queue.counters.spill_reads
    for slot in used:
        flags = slots.flags[slot]
        where = f"{queue.name}: slot {slot}"
        message = slots.resident[slot]
        if message is not None:
            resident[bool(flags & PERSISTENT)] += message.size_bytes()
            if message.size_bytes() >= LONG_MESSAGE_BYTES and not flags & PERSISTENT:
                long_bytes += message.size_bytes()
        else:
            _check(slots.extents[slot] != NONE, f"{where}: the message is nowhere")
        if flags & SPILL_PENDING:
            _check(message is not None, f"{where}: to be written to the file, but not in memory")
            _check(slot in queue.spill, f"{where}: to be written to the file, but not planned")
            pending += message.size_bytes() if message is not None else 0
        message = queue.load(slot)
        _check_equal(f"{where}: sequence number of the message", message.seq, slots.seqs[slot])
        hashes = (slots.by_message_id.hashes[slot], slots.by_correlation_id.hashes[slot])
        _check_equal(
            f"{where}: hashes", hashes, (hash_id(message.md, MESSAGE_ID_AT), hash_id(message.md, CORRELATION_ID_AT))
        )
    queue.counters.spill_reads = reads
    _check_equal(f"{queue.name}: persistent bytes in memory", queue.resident_bytes_persistent, resident[True])
    _check_equal(f"{queue.name}: non-persistent bytes in memory", queue.resident_bytes_nonpersistent, resident[False])
    _check_equal(f"{queue.name}: bytes of long messages in memory", queue.long_bytes, long_bytes)
    _check_equal(f"{queue.name}: bytes to be written to the file", queue.spill_bytes, pending)


def _audit_file(queue: Queue, used: list[int]) -> None:
    file = queue.file
    segments = len(file.live)
    live = [0] * segments
    ends: list[tuple[int, int]] = []
    for slot in used:
        packed = queue.slots.extents[slot]
        if packed != NONE:
            start, length = extent_offset(packed), extent_length(packed)
            ends.append((start, start + length))
            for segment in range(start // SEGMENT_BYTES, (start + length - 1) // SEGMENT_BYTES + 1):
                live[segment] += 1
    _check_equal(f"{queue.name}: live messages by segment", [file.live[segment] for segment in range(segments)], live)
    ends.sort()
    for (_, end), (start, _) in pairwise(ends):
        _check(end <= start, f"{queue.name}: messages overlap in the file at offset {start}")
    _check_equal(f"{queue.name}: free segments, each once", len(set(file.free)), len(file.free))
    empty = [n for n in range(segments) if live[n] == 0 and file.marks[n] == 0 and n != file.current]
    _check_equal(f"{queue.name}: free segments", sorted(file.free), empty)
    if file.current != NONE:
        first = file.current * SEGMENT_BYTES
        for start, end in ends:
            if first <= start < first + SEGMENT_BYTES:
                _check(end - first <= file.fill, f"{queue.name}: the message at offset {start} would be overwritten")


def _audit_groups(queue: Queue, linked: set[int]) -> None:
    grouped = {slot for slot in linked if queue.slots.flags[slot] & GROUPED}
    found = [part.slot for group in queue.groups.values() for one in group.messages.values() for part in one.parts]
    _check_equal(f"{queue.name}: messages in groups", sorted(found), sorted(grouped))


def _audit_cursors(queue: Queue, linked: set[int]) -> None:
    for handle in queue.browsers:
        if handle.cursor != NONE:
            where = f"{queue.name}: the cursor of handle {handle.number}"
            _check(handle.cursor in linked, f"{where} rests on slot {handle.cursor}, which is not on the queue")
            _check(queue.slots.flags[handle.cursor] & HAS_CURSOR != 0, f"{where} is not known to slot {handle.cursor}")


def state_names(queue: Queue) -> list[str]:
    """Return the state of every slot by name, for messages of tests."""
    names = {FREE: "free", AVAILABLE: "available", PUT_UNCOMMITTED: "being put", GOT_UNCOMMITTED: "being got"}
    return [names.get(flags & STATE_MASK, "?") for flags in queue.slots.flags]


def _check_equal(what: str, found: object, expected: object) -> None:
    if found != expected:
        raise InvariantViolated(f"{what}: {found}, but counted again {expected}")


def _check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise InvariantViolated(otherwise)
