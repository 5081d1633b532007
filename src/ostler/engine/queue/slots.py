"""The slots of a queue: a few dozen bytes for every message, in flat arrays.

A slot records where a message is (in memory or in an extent of the queue's file), its place in the delivery order and
its identifiers. A million messages take tens of megabytes here, whatever their size. Free slots form a chain.

Two kinds of links run through the slots of available messages: the delivery order, one list per priority, and for
each identifier a hash chain. Both are doubly linked, so removing any message is O(1). Null identifiers are in no
chain, because no get can ask for them.
"""

from __future__ import annotations

from typing import Final, final

from librt.vecs import append, vec
from mypy_extensions import i64

from ostler.engine.message.message import Message
from ostler.model.errors import InvariantFailed

# State of a slot, in its flags.
STATE_MASK: Final = 0xF
FREE: Final = 0
AVAILABLE: Final = 1
PUT_UNCOMMITTED: Final = 2
GOT_UNCOMMITTED: Final = 3

PERSISTENT: Final = 0x10
HAS_CURSOR: Final = 0x20  # a browse cursor rests here
LOCKED: Final = 0x40  # browsed with lock
GROUPED: Final = 0x80  # part of a message group or a segment
SPILL_PENDING: Final = 0x100  # beyond the buffer, to be written to the file with the next batch
# 0x400 and 0x800 belong to groups/members.py.
PRIORITY_SHIFT: Final = 16
PRIORITY_MASK: Final = 0xF
BACKOUT_SHIFT: Final = 20  # the back-out count takes all bits from here up

# Flags that belong to the message itself and survive a restart, besides the back-out count.
_LASTING: Final = PERSISTENT | GROUPED | PRIORITY_MASK << PRIORITY_SHIFT

EXTENT_ALIGNMENT: Final = 8
_LENGTH_BITS: Final = 28
_LENGTH_MASK: Final = (1 << 28) - 1

NONE: Final = -1
# There may be very many queues that are nearly always empty.
_BUCKETS_FIRST: Final = 4
# Columns with at least so many slots are copied to larger memory ahead of need, one column at a time: all of them in
# one put would hold up everybody.
_WIDE_SLOTS: Final = 1 << 16
_WIDE_CAPACITY: Final = (1 << 17) - 1  # that `append` has given a column of that length
_WIDEN_EVERY: Final = 1 << 12
_COLUMNS: Final = 12
_ROUND_SLOTS: Final = _COLUMNS * _WIDEN_EVERY  # in which each column has a turn


def pack_extent(offset: i64, length: i64) -> i64:
    """Pack offset (a multiple of 8) and length of a record in the queue's file into one word."""
    return offset >> 3 << _LENGTH_BITS | length


def extent_offset(packed: i64) -> i64:
    return packed >> _LENGTH_BITS << 3


def extent_length(packed: i64) -> i64:
    return packed & _LENGTH_MASK


def lasting_flags(flags: i64) -> i64:
    """Return the flags that survive a restart: without state, cursors, locks and plans."""
    return (flags & _LASTING) | flags >> BACKOUT_SHIFT << BACKOUT_SHIFT


def _widen(column: vec[i64], capacity: i64) -> vec[i64]:
    """Return a copy of a column that has room for more slots."""
    return vec[i64](memoryview(column), capacity=capacity)


@final
class IdIndex:
    """Hash chains over slots for one kind of identifier (message or correlation id).

    The table grows by linear hashing: a message that is added splits one bucket at most, so that no put has to move the
    chains of a whole queue. Buckets below `split` have been split already, and use one bit of the hash more.
    """

    def __init__(self) -> None:
        self.heads: vec[i64] = vec[i64]([NONE] * _BUCKETS_FIRST)
        self.tails: vec[i64] = vec[i64]([NONE] * _BUCKETS_FIRST)
        self.mask: i64 = _BUCKETS_FIRST - 1
        self.split: i64 = 0
        self.used: i64 = 0
        self.hashes: vec[i64] = vec[i64]()
        self.nexts: vec[i64] = vec[i64]()
        self.previous: vec[i64] = vec[i64]()

    def add_slot(self) -> None:
        self.hashes = append(self.hashes, 0)
        self.nexts = append(self.nexts, NONE)
        self.previous = append(self.previous, NONE)

    def widen(self, column: i64, capacity: i64) -> None:
        """Give one of the three columns more room."""
        if column == 0:
            self.hashes = _widen(self.hashes, capacity)
        elif column == 1:
            self.nexts = _widen(self.nexts, capacity)
        else:
            self.previous = _widen(self.previous, capacity)

    def buckets(self) -> i64:
        return self.mask + 1 + self.split

    def bucket(self, hashed: i64) -> i64:
        found: i64 = hashed & self.mask
        return found if found >= self.split else hashed & (self.mask << 1 | 1)

    def link_last(self, slot: i64) -> None:
        hashed: i64 = self.hashes[slot]
        if hashed == 0:
            return
        bucket: i64 = self.bucket(hashed)
        last: i64 = self.tails[bucket]
        self.previous[slot] = last
        self.nexts[slot] = NONE
        if last == NONE:
            self.heads[bucket] = slot
        else:
            self.nexts[last] = slot
        self.tails[bucket] = slot
        self.used += 1
        if self.used > self.buckets():
            self._split_bucket()

    def link_before(self, slot: i64, successor: i64) -> None:
        """Link in front of a slot of the same bucket."""
        before: i64 = self.previous[successor]
        self.previous[slot] = before
        self.nexts[slot] = successor
        self.previous[successor] = slot
        if before == NONE:
            self.heads[self.bucket(self.hashes[slot])] = slot
        else:
            self.nexts[before] = slot
        self.used += 1

    def unlink(self, slot: i64) -> None:
        hashed: i64 = self.hashes[slot]
        if hashed == 0:
            return
        before: i64 = self.previous[slot]
        after: i64 = self.nexts[slot]
        if before == NONE:
            self.heads[self.bucket(hashed)] = after
        else:
            self.nexts[before] = after
        if after == NONE:
            self.tails[self.bucket(hashed)] = before
        else:
            self.previous[after] = before
        self.used -= 1

    def first(self, hashed: i64) -> i64:
        """Return the first slot of the chain with this hash, or NONE."""
        slot: i64 = self.heads[self.bucket(hashed)]
        while slot != NONE and self.hashes[slot] != hashed:
            slot = self.nexts[slot]
        return slot

    def following(self, slot: i64) -> i64:
        """Return the next slot after this one with the same hash, or NONE."""
        hashed: i64 = self.hashes[slot]
        slot = self.nexts[slot]
        while slot != NONE and self.hashes[slot] != hashed:
            slot = self.nexts[slot]
        return slot

    def _split_bucket(self) -> None:
        """Divide the chain of the next bucket between it and a new one. The order within both stays."""
        bit: i64 = self.mask + 1
        kept: i64 = self.split
        moved: i64 = kept + bit
        try:
            if len(self.heads) == moved:
                self.heads = append(self.heads, NONE)
            if len(self.tails) == moved:
                self.tails = append(self.tails, NONE)
        except MemoryError:
            return  # chains stay longer, and the next message tries again
        slot: i64 = self.heads[kept]
        self.heads[kept] = NONE
        self.tails[kept] = NONE
        while slot != NONE:
            after: i64 = self.nexts[slot]
            bucket: i64 = moved if self.hashes[slot] & bit else kept
            last: i64 = self.tails[bucket]
            self.previous[slot] = last
            self.nexts[slot] = NONE
            if last == NONE:
                self.heads[bucket] = slot
            else:
                self.nexts[last] = slot
            self.tails[bucket] = slot
            slot = after
        self.split = kept + 1
        if self.split == bit:
            self.mask = self.mask << 1 | 1
            self.split = 0


@final
class SlotRow:
    """The row of a slot that a snapshot keeps."""

    def __init__(self, slots: Slots, slot: i64) -> None:
        self.seq: Final[i64] = slots.seqs[slot]
        self.flags: Final[i64] = slots.flags[slot]
        self.message_hash: Final[i64] = slots.by_message_id.hashes[slot]
        self.correlation_hash: Final[i64] = slots.by_correlation_id.hashes[slot]
        self.expiry: Final[i64] = slots.expiries[slot]
        self.extent: Final[i64] = slots.extents[slot]


@final
class Slots:
    """All slots of one queue: their order and identifiers. Files and units of work are not its concern."""

    def __init__(self) -> None:
        self.by_message_id = IdIndex()
        self.by_correlation_id = IdIndex()
        self.nexts: vec[i64] = vec[i64]()
        self.previous: vec[i64] = vec[i64]()
        self.flags: vec[i64] = vec[i64]()
        self.seqs: vec[i64] = vec[i64]()
        self.extents: vec[i64] = vec[i64]()  # in the queue's file, see `pack_extent`; or NONE
        self.expiries: vec[i64] = vec[i64]()  # milliseconds since the epoch, or 0
        self.resident: list[Message | None] = []
        self.heads: vec[i64] = vec[i64]([NONE] * 10)
        self.tails: vec[i64] = vec[i64]([NONE] * 10)
        self.filled: i64 = 0  # bit p: the list of priority p is not empty
        self.free_head: i64 = NONE
        self.count: i64 = 0  # slots in use
        self.steps: i64 = 0  # spent on finding the right position, for tests
        # Slot that was last linked in order, while it is linked: the messages of a unit of work belong close together.
        self._linked_slot: i64 = NONE
        self._capacities: list[int] = []  # of the columns, once they are long
        # A snapshot copies slots in slices. Those from `_captured_at` to `_captured_end` are not copied yet: their rows
        # are saved before they change.
        self._captured_at: i64 = 0
        self._captured_end: i64 = 0
        self._saved: dict[int, SlotRow] = {}

    def take(self, message: Message, flags: i64, hash_message: i64, hash_correlation: i64, expiry: i64) -> i64:
        """Take a slot for a message in memory. It is not linked yet."""
        slot: i64 = self.free_head
        if slot == NONE:
            slot = len(self.resident)
            self._add()
            self.resident.append(message)
        else:
            if self.flags[slot] & STATE_MASK != FREE:
                raise InvariantFailed(f"Slot {slot} is in the chain of free slots, but holds message {self.seqs[slot]}")
            self.free_head = self.nexts[slot]
            if slot < self._captured_end:
                self._save(slot)
            self.resident[slot] = message
        self.flags[slot] = flags
        self.by_message_id.hashes[slot] = hash_message
        self.by_correlation_id.hashes[slot] = hash_correlation
        self.seqs[slot] = message.seq
        self.expiries[slot] = expiry
        self.count += 1
        return slot

    def take_stored(
        self, seq: i64, flags: i64, hash_message: i64, hash_correlation: i64, expiry: i64, extent: i64
    ) -> i64:
        """Take a slot for a message that is only in the queue's file."""
        slot: i64 = self.free_head
        if slot == NONE:
            slot = len(self.resident)
            self._add()
            self.resident.append(None)
        else:
            self.free_head = self.nexts[slot]
            if slot < self._captured_end:
                self._save(slot)
        self.flags[slot] = flags
        self.by_message_id.hashes[slot] = hash_message
        self.by_correlation_id.hashes[slot] = hash_correlation
        self.seqs[slot] = seq
        self.expiries[slot] = expiry
        self.extents[slot] = extent
        self.count += 1
        return slot

    def reserve(self) -> None:
        """Make sure that there is a free slot, so that the next `take` cannot fail for lack of memory."""
        if self.free_head == NONE:
            slot: i64 = len(self.resident)
            self._add()
            self.resident.append(None)
            self.nexts[slot] = NONE
            self.free_head = slot

    def _add(self) -> None:
        count: i64 = len(self.resident)
        if count >= _WIDE_SLOTS and count & (_WIDEN_EVERY - 1) == 0:
            self._widen_one(count)
        self.nexts = append(self.nexts, NONE)
        self.previous = append(self.previous, NONE)
        self.flags = append(self.flags, 0)
        self.seqs = append(self.seqs, 0)
        self.extents = append(self.extents, NONE)
        self.expiries = append(self.expiries, 0)
        self.by_message_id.add_slot()
        self.by_correlation_id.add_slot()

    def _widen_one(self, count: i64) -> None:
        """Give the column whose turn it is more room, if it would be full before its next turn."""
        if not self._capacities:
            self._capacities = [_WIDE_CAPACITY] * _COLUMNS
        column: i64 = count // _WIDEN_EVERY % _COLUMNS
        if self._capacities[column] - count >= 2 * _ROUND_SLOTS:
            return
        capacity: i64 = count + count // 2 + 3 * _ROUND_SLOTS
        try:
            self._widen_column(column, capacity)
        except MemoryError:
            return  # `append` needs the memory, and says so
        self._capacities[column] = capacity

    def _widen_column(self, column: i64, capacity: i64) -> None:
        if column < 3:
            self.by_message_id.widen(column, capacity)
        elif column < 6:
            self.by_correlation_id.widen(column - 3, capacity)
        elif column == 6:
            self.nexts = _widen(self.nexts, capacity)
        elif column == 7:
            self.previous = _widen(self.previous, capacity)
        elif column == 8:
            self.flags = _widen(self.flags, capacity)
        elif column == 9:
            self.seqs = _widen(self.seqs, capacity)
        elif column == 10:
            self.extents = _widen(self.extents, capacity)
        else:
            self.expiries = _widen(self.expiries, capacity)

    def release(self, slot: i64) -> None:
        """Free an unlinked slot."""
        if slot < self._captured_end:
            self._save(slot)
        self.resident[slot] = None
        self.flags[slot] = FREE
        self.extents[slot] = NONE
        self.nexts[slot] = self.free_head
        self.free_head = slot
        self.count -= 1
        if self.count < 0:
            raise InvariantFailed(f"{self.count} slots are in use")

    def link_last(self, slot: i64) -> None:
        """Link a slot as the last of its priority, where a message put now belongs."""
        self._order_last(slot, self.flags[slot] >> PRIORITY_SHIFT & PRIORITY_MASK)
        self.by_message_id.link_last(slot)
        self.by_correlation_id.link_last(slot)

    def _order_last(self, slot: i64, priority: i64) -> None:
        last: i64 = self.tails[priority]
        self.previous[slot] = last
        self.nexts[slot] = NONE
        if last == NONE:
            self.heads[priority] = slot
            self.filled |= 1 << priority
        else:
            if self.seqs[last] >= self.seqs[slot]:
                raise InvariantFailed(f"Message {self.seqs[slot]} is to be put behind message {self.seqs[last]}")
            self.nexts[last] = slot
        self.tails[priority] = slot

    def link_in_order(self, slot: i64, near_head: bool) -> None:
        """Link by sequence number, searching from the head for backed-out messages and from the tail for puts."""
        priority: i64 = self.flags[slot] >> PRIORITY_SHIFT & PRIORITY_MASK
        seq: i64 = self.seqs[slot]
        last: i64 = self.tails[priority]
        if last == NONE or self.seqs[last] < seq:
            self._order_last(slot, priority)
        else:
            near: i64 = self._linked_slot
            if near != NONE and self.priority(near) != priority:
                near = NONE
            ends: i64 = self.heads[priority] if near_head else last
            successor: i64 = self._first_behind(self.nexts, self.previous, ends, near_head, near, seq)
            self._link_before(slot, successor, priority)
        # Newer messages of other priorities may have the same identifiers.
        self._index_in_order(self.by_message_id, slot, near_head)
        self._index_in_order(self.by_correlation_id, slot, near_head)
        self._linked_slot = slot

    def _first_behind(self, nexts: vec[i64], previous: vec[i64], end: i64, is_head: bool, near: i64, seq: i64) -> i64:
        """Return the first slot of a list with a higher sequence number, or NONE.

        The search goes from one end of the list and from a slot that may be near (or NONE), in turn. So the cost of a
        unit of work grows with the distance between its messages, not with the length of the queue.
        """
        seqs = self.seqs
        forward: bool = near != NONE and seqs[near] < seq
        if not is_head and (end == NONE or seqs[end] < seq):
            return NONE
        while True:
            self.steps += 1
            if is_head:
                if end == NONE or seqs[end] > seq:
                    return end
                end = nexts[end]
            else:
                before: i64 = previous[end]
                if before == NONE or seqs[before] < seq:
                    return end
                end = before
            if near != NONE:
                after: i64 = nexts[near] if forward else previous[near]
                if forward and (after == NONE or seqs[after] > seq):
                    return after
                if not forward and (after == NONE or seqs[after] < seq):
                    return near
                near = after

    def _link_before(self, slot: i64, successor: i64, priority: i64) -> None:
        before: i64 = self.previous[successor]
        self.previous[slot] = before
        self.nexts[slot] = successor
        self.previous[successor] = slot
        if before == NONE:
            self.heads[priority] = slot
        else:
            self.nexts[before] = slot

    def _index_in_order(self, index: IdIndex, slot: i64, near_head: bool) -> None:
        hashed: i64 = index.hashes[slot]
        if hashed == 0:
            return
        bucket: i64 = index.bucket(hashed)
        near: i64 = self._linked_slot
        # Null identifiers are in no chain.
        if near != NONE and (index.hashes[near] == 0 or index.bucket(index.hashes[near]) != bucket):
            near = NONE
        end: i64 = index.heads[bucket] if near_head else index.tails[bucket]
        successor: i64 = self._first_behind(index.nexts, index.previous, end, near_head, near, self.seqs[slot])
        if successor == NONE:
            index.link_last(slot)
        else:
            index.link_before(slot, successor)

    def unlink(self, slot: i64) -> None:
        """Remove a slot from the delivery order and the hash chains."""
        if slot == self._linked_slot:
            self._linked_slot = NONE
        priority: i64 = self.flags[slot] >> PRIORITY_SHIFT & PRIORITY_MASK
        before: i64 = self.previous[slot]
        after: i64 = self.nexts[slot]
        if before == NONE:
            if self.heads[priority] != slot:
                raise InvariantFailed(f"Slot {slot} with message {self.seqs[slot]} is not in the order of its queue")
            self.heads[priority] = after
            if after == NONE:
                self.filled &= ~(1 << priority)
        else:
            self.nexts[before] = after
        if after == NONE:
            self.tails[priority] = before
        else:
            self.previous[after] = before
        self.by_message_id.unlink(slot)
        self.by_correlation_id.unlink(slot)

    def first(self) -> i64:
        """Return the slot to be delivered first, or NONE."""
        filled: i64 = self.filled
        if filled == 0:
            return NONE
        priority: i64 = 9
        while not filled >> priority & 1:
            priority -= 1
        return self.heads[priority]

    def following(self, slot: i64) -> i64:
        """Return the slot delivered after this linked one, or NONE."""
        after: i64 = self.nexts[slot]
        if after != NONE:
            return after
        return self.first_below(self.flags[slot] >> PRIORITY_SHIFT & PRIORITY_MASK)

    def first_below(self, priority: i64) -> i64:
        priority -= 1
        while priority >= 0:
            if self.filled >> priority & 1:
                return self.heads[priority]
            priority -= 1
        return NONE

    def priority(self, slot: i64) -> i64:
        return self.flags[slot] >> PRIORITY_SHIFT & PRIORITY_MASK

    def backout_count(self, slot: i64) -> i64:
        return self.flags[slot] >> BACKOUT_SHIFT

    def count_backout(self, slot: i64) -> None:
        if slot < self._captured_end:
            self._save(slot)
        self.flags[slot] += 1 << BACKOUT_SHIFT

    def state(self, slot: i64) -> i64:
        return self.flags[slot] & STATE_MASK

    def set_state(self, slot: i64, state: i64) -> None:
        if slot < self._captured_end:
            self._save(slot)
        self.flags[slot] = (self.flags[slot] & ~STATE_MASK) | state

    # -- snapshots -----------------------------------------------------------------------------------------------------

    def begin_capture(self) -> i64:
        """Begin to keep the rows as they are now for a snapshot. Returns the number of slots it is to copy."""
        self._captured_at = 0
        self._captured_end = len(self.resident)
        self._saved = {}
        return self._captured_end

    def advance_capture(self, end: i64) -> dict[int, SlotRow]:
        """Note that the slots before `end` are copied. Returns rows of slots that have changed before they were."""
        saved = self._saved
        self._saved = {}
        self._captured_at = end
        if end >= self._captured_end:
            self._captured_end = 0
            return saved
        behind: dict[int, SlotRow] = {}
        for slot, row in saved.items():
            if slot >= end:
                self._saved[slot] = row
            else:
                behind[slot] = row
        return behind

    def end_capture(self) -> None:
        """Keep nothing any more: the snapshot was given up."""
        self._captured_end = 0
        self._saved = {}

    def _save(self, slot: i64) -> None:
        """Save a row before its first change since the capture began, unless it is copied already."""
        if slot >= self._captured_at and slot not in self._saved:
            self._saved[slot] = SlotRow(self, slot)
