"""A local queue: its attributes, its messages and the handles that have it open."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, final

from mypy_extensions import i64

from ostler.engine.groups import members as group_members
from ostler.engine.groups.members import LATER_MESSAGE, LATER_SEGMENT, MessageGroup
from ostler.engine.message.message import CORRELATION_ID_AT, MESSAGE_ID_AT, Message, hash_id
from ostler.engine.queue.get_waiters import GetWaiters, Offer
from ostler.engine.queue.performance import PerformanceState
from ostler.engine.queue.queue_file import QueueFile, QueueFileDamaged
from ostler.engine.queue.reads import (
    AHEAD_BYTES,
    AHEAD_MESSAGES,
    FetchedMessages,
    MessageRead,
    PendingReads,
    ReadPending,
)
from ostler.engine.queue.slots import (
    AVAILABLE,
    FREE,
    GROUPED,
    HAS_CURSOR,
    NONE,
    PERSISTENT,
    PRIORITY_MASK,
    PRIORITY_SHIFT,
    SPILL_PENDING,
    Slots,
    extent_length,
)
from ostler.engine.recovery.checkpoint_reserve import MESSAGE_BYTES, QUEUE_BYTES, CheckpointReserve
from ostler.model import constants as mq
from ostler.model.accounts import MovingAverage
from ostler.model.counters import Counts, QueueCounters, queue_counts
from ostler.model.definitions import Definition
from ostler.model.errors import InvariantFailed

if TYPE_CHECKING:
    from ostler.engine.handle import Handle

# Messages beyond the buffers are written to the file in batches of about this size.
SPILL_BATCH_BYTES: Final = 256 * 1024
LONG_MESSAGE_BYTES: Final = SPILL_BATCH_BYTES
_LAST_READ_BYTES_MAX: Final = 64 * 1024
_AHEAD_AGAIN: Final = AHEAD_MESSAGES // 4
_NO_SLOTS: Final[list[int]] = []
_NO_MESSAGES: Final[list[Message]] = []
PRIORITY_HIGHEST: Final = 9
# Its messages are the retained publications.
RETAINED_QUEUE: Final = "SYSTEM.RETAINED.PUB.QUEUE"


@final
class LongMessages:
    """The memory shared by long non-persistent messages of all queues. While there is room they stay out of the files.

    Writing and reading many megabytes takes long and holds up all other requests. Persistent messages are excluded:
    they would add to the space that the next checkpoint needs, which a small disk does not have.
    """

    def __init__(self) -> None:
        self.bytes_max: i64 = 0
        self.used_bytes: i64 = 0  # of all long messages in memory, those within the buffers included


@final
class Queue:
    def __init__(self, queue_id: i64, definition: Definition, file: QueueFile, reserve: CheckpointReserve) -> None:
        self.queue_id: i64 = queue_id
        self.name: str = definition.name
        self.definition = definition
        self.slots = Slots()
        self.file = file
        self.reserve = reserve
        self.waiting = GetWaiters()
        self.offers: deque[Offer] = deque()  # messages not yet offered to all waiting requests with selectors, in order
        self.is_offer_read = False  # the first of them goes on when its message has been read
        self.counters = QueueCounters()
        self.groups: dict[bytes, MessageGroup] = {}  # of available messages, by group id
        self.performance = PerformanceState()
        # The counters at the beginning of the statistics interval; None: STATQ is off.
        self.statistics: Counts | None = None
        self.statistics_high: i64 = 0
        self.statistics_low: i64 = 0
        self.times: MovingAverage | None = None  # milliseconds on the queue (QTIME); None: MONQ is off
        self.manager_statistics: i64 = mq.MQMON_NONE
        self.manager_monitoring: i64 = mq.MQMON_NONE
        self.next_seq: i64 = 1
        self.depth: i64 = 0  # CURDEPTH: available messages and uncommitted puts
        self.uncommitted: i64 = 0
        self.expiring: i64 = 0  # messages with an expiry time
        # Buffers: messages are written to the file when those in memory exceed so many bytes.
        self.buffer_bytes_nonpersistent: i64 = 0
        self.buffer_bytes_persistent: i64 = 0
        self.resident_bytes_nonpersistent: i64 = 0
        self.resident_bytes_persistent: i64 = 0
        self.long_messages = LongMessages()
        self.long_bytes: i64 = 0  # of long messages in memory
        self.spill: list[int] = []
        self.spill_bytes: i64 = 0
        self.spill_prune_at: i64 = 256
        # The message last read from the file: a get by identifier reads it to compare, and then takes it.
        self.last_read: Message | None = None
        self.reads = PendingReads()
        self.fetched: FetchedMessages | None = None  # messages read ahead or for a verb that is to be called again
        self.stored_bytes: i64 = 0  # of all messages in the file
        self.spilled_lsn: i64 = 0  # highest `visible_lsn` of the messages in the file
        # Persistent messages changed since the last snapshot, and the LSN that it reflects.
        self.changed = False
        self.snapshot_lsn: i64 = 0
        self.replay_lsn: i64 = 0  # a restart must replay the journal from here for this queue
        self.snapshot_number: i64 = 0
        self.snapshot_bytes: i64 = 0  # size of its file
        self.unsaved_bytes: i64 = 0  # of persistent messages that are not in the file yet
        self.media_lsn: i64 = -1  # media recovery reads the journal from here; -1: no image was recorded
        # Open handles.
        self.inputs: i64 = 0
        self.outputs: i64 = 0
        self.output_applications: i64 = 0  # connections with at least one of the handles for output
        self.exclusive = False
        self.browsers: list[Handle] = []
        self.handles: list[Handle] = []
        self.group_inputs: i64 = 0  # of a shared queue, as last heard: handles of all members
        self.group_outputs: i64 = 0
        self.pending_delete = False
        self.keeps_retained: bool = definition.name == RETAINED_QUEUE
        self.is_needed = False  # by running channels, which do not have it open; it must not be deleted
        self.is_moving = False  # MOVE QLOCAL is under way: nobody may open it
        self.deleted = False
        self.damaged = ""
        # Triggering.
        self.trigger_fired_ms: i64 = 0
        self.trigger_armed = True
        self.configure(definition)

    def configure(self, definition: Definition) -> None:
        """Apply the attributes of a definition."""
        self.definition = definition
        a = definition.attributes
        self.depth_max: i64 = _integer(a, "MAXDEPTH")
        self.message_bytes_max: i64 = _integer(a, "MAXMSGL")
        self.put_allowed: bool = _integer(a, "PUT") == 0
        self.get_allowed: bool = _integer(a, "GET") == 0
        self.default_persistence: i64 = _integer(a, "DEFPSIST")
        self.default_priority: i64 = _integer(a, "DEFPRTY")
        self.default_response: i64 = _integer(a, "DEFPRESP")
        self.is_fifo: bool = _integer(a, "MSGDLVSQ") == mq.MQMDS_FIFO
        self.shareable: bool = _integer(a, "SHARE") != 0
        self.backout_threshold: i64 = _integer(a, "BOTHRESH")
        self.harden_backout: bool = _integer(a, "HARDENBO") != 0
        self.nonpersistent_high: bool = _integer(a, "NPMCLASS") == 10
        self.is_transmission: bool = _integer(a, "USAGE") == 1
        self.property_control: i64 = _integer(a, "PROPCTL")
        self.trigger_on: bool = _integer(a, "TRIGGER") != 0
        self.trigger_type: i64 = _integer(a, "TRIGTYPE")
        self.trigger_depth: i64 = _integer(a, "TRIGDPTH")
        self.trigger_priority: i64 = _integer(a, "TRIGMPRI")
        self.depth_high: i64 = _integer(a, "QDEPTHHI")
        self.depth_low: i64 = _integer(a, "QDEPTHLO")
        self.is_temporary: bool = _integer(a, "DEFTYPE") == mq.MQQDT_TEMPORARY_DYNAMIC
        # Its messages are in a structure of the coupling facility: it has no slots and no file here.
        self.is_shared: bool = _integer(a, "QSGDISP") == mq.MQQSGD_SHARED
        self.index_type: i64 = _integer(a, "INDXTYPE")
        structure = a.get("CFSTRUCT", "")
        self.structure: str = structure if isinstance(structure, str) else ""
        self.is_accounted: bool = _integer(a, "ACCTQ") == mq.MQMON_ON
        self._switch_collection()

    # -- statistics ----------------------------------------------------------------------------------

    def collect(self, manager_statistics: i64, manager_monitoring: i64) -> None:
        """Apply STATQ and MONQ of the queue manager."""
        self.manager_statistics = manager_statistics
        self.manager_monitoring = manager_monitoring
        self._switch_collection()

    def _switch_collection(self) -> None:
        attributes = self.definition.attributes
        if not is_collected(attributes, "STATQ", self.manager_statistics):
            self.statistics = None
        elif self.statistics is None:
            self.begin_statistics()
        if not is_collected(attributes, "MONQ", self.manager_monitoring):
            self.times = None
        elif self.times is None:
            self.times = MovingAverage()

    def begin_statistics(self) -> None:
        """Begin a new statistics interval."""
        self.update_depth_extremes()
        self.statistics = queue_counts(self.counters)
        self.statistics_high = self.depth
        self.statistics_low = self.depth

    def update_depth_extremes(self) -> None:
        """Update all high and low depths from the current window. So each message costs a single comparison."""
        counters = self.counters
        high: i64 = counters.window_high if counters.window_high > self.depth else self.depth
        low: i64 = counters.window_low if counters.window_low < self.depth else self.depth
        if high > counters.depth_high:
            counters.depth_high = high
        if high > self.performance.depth_high:
            self.performance.depth_high = high
        if high > self.statistics_high:
            self.statistics_high = high
        if low < self.statistics_low:
            self.statistics_low = low
        counters.window_high = self.depth
        counters.window_low = self.depth

    # -- messages in and out of memory ---------------------------------------------------------------

    def store(self, message: Message, flags: i64, expiry_ms: i64) -> i64:
        """Take a slot for a new message. It is not linked yet."""
        md = message.md
        slot: i64 = self.slots.take(
            message, flags, hash_id(md, MESSAGE_ID_AT), hash_id(md, CORRELATION_ID_AT), expiry_ms
        )
        size: i64 = message.size_bytes()
        if expiry_ms != 0:
            self.expiring += 1
        if flags & PERSISTENT:
            if not self.changed:
                self.changed = True
                self.reserve.needed_bytes += QUEUE_BYTES
            self.reserve.needed_bytes += size + MESSAGE_BYTES
            self.unsaved_bytes += size + MESSAGE_BYTES
            self.resident_bytes_persistent += size
            if self.resident_bytes_persistent > self.buffer_bytes_persistent:
                self._plan_spill(slot, size)
        else:
            self.resident_bytes_nonpersistent += size
            if size >= LONG_MESSAGE_BYTES:
                self._count_long_bytes(size)
            if self.resident_bytes_nonpersistent > self.buffer_bytes_nonpersistent:
                self._plan_spill(slot, size)
        return slot

    def _plan_spill(self, slot: i64, size: i64) -> None:
        is_long: bool = size >= LONG_MESSAGE_BYTES and not self.slots.flags[slot] & PERSISTENT
        if is_long and self.long_messages.used_bytes <= self.long_messages.bytes_max:
            return
        self.slots.flags[slot] |= SPILL_PENDING
        self.spill.append(slot)
        self.spill_bytes += size
        if len(self.spill) >= self.spill_prune_at:
            self.spill = self._pending_spill()
            self.spill_prune_at = 2 * len(self.spill) + 256

    def _pending_spill(self) -> list[int]:
        """Return the slots planned for spilling that still hold their message, each once."""
        pending: list[int] = []
        seen: set[int] = set()
        for slot in self.spill:
            if slot not in seen and self.slots.flags[slot] & SPILL_PENDING:
                seen.add(slot)
                pending.append(slot)
        return pending

    def write_spill(self) -> None:
        """Write messages beyond the buffers to the file. Raises DiskFull, with nothing changed."""
        slots = self.slots
        chosen = self._pending_spill()
        unwritten: list[int] = []  # a checkpoint may have written some already
        messages: list[Message] = []
        for slot in chosen:
            message = slots.resident[slot]
            assert message is not None
            if slots.extents[slot] == NONE:
                unwritten.append(slot)
                messages.append(message)
        extents = self.file.write(messages) if messages else []
        index: i64 = 0
        for slot in unwritten:
            self.record_saved(slot, messages[index], extents[index])
            index += 1
        for slot in chosen:
            message = slots.resident[slot]
            assert message is not None
            slots.flags[slot] &= ~SPILL_PENDING
            self._evict(slot, message)
            if message.visible_lsn > self.spilled_lsn:
                self.spilled_lsn = message.visible_lsn
        self.counters.spilled += len(chosen)
        self.spill = []
        self.spill_bytes = 0

    def record_saved(self, slot: i64, message: Message, extent: i64) -> None:
        """Record the extent of a message that was only in memory so far."""
        self.slots.extents[slot] = extent
        self.stored_bytes += extent_length(extent)
        if self.slots.flags[slot] & PERSISTENT:
            self.unsaved_bytes -= message.size_bytes() + MESSAGE_BYTES

    def _evict(self, slot: i64, message: Message) -> None:
        size: i64 = message.size_bytes()
        self.slots.resident[slot] = None
        if self.slots.flags[slot] & PERSISTENT:
            self.resident_bytes_persistent -= size
        else:
            self.resident_bytes_nonpersistent -= size
            if size >= LONG_MESSAGE_BYTES:
                self._count_long_bytes(-size)
        if self.resident_bytes_persistent < 0 or self.resident_bytes_nonpersistent < 0:
            raise InvariantFailed(
                f"Queue {self.name}: {self.resident_bytes_persistent} persistent and "
                f"{self.resident_bytes_nonpersistent} other bytes are in memory"
            )

    def _count_long_bytes(self, change_bytes: i64) -> None:
        self.long_bytes += change_bytes
        self.long_messages.used_bytes += change_bytes

    def release_long_messages(self) -> None:
        """Return the memory of all long messages, after the messages were removed."""
        self._count_long_bytes(-self.long_bytes)

    def has_available(self, slot: i64, seq: i64) -> bool:
        """Return True while a slot holds that message and a get may take it."""
        return self.slots.seqs[slot] == seq and self.slots.state(slot) == AVAILABLE

    def load(self, slot: i64) -> Message:
        """Return the message of a slot, from memory or from the file. Raises ReadPending, see `reads`."""
        message = self.slots.resident[slot]
        return message if message is not None else self._load_stored(slot)

    def _load_stored(self, slot: i64) -> Message:
        seq: i64 = self.slots.seqs[slot]
        message = self.last_read
        if message is None or message.seq != seq:
            message = self._fetched_message(seq)
            if message is None:
                message = self._read(slot, seq)
            elif self.reads.is_ahead and self.fetched is not None:
                self._read_ahead(self.fetched, slot)
            self.last_read = message if len(message.body) <= _LAST_READ_BYTES_MAX else None
        message.visible_lsn = self.spilled_lsn
        return message

    def _read(self, slot: i64, seq: i64) -> Message:
        """Read a message from the file: at once if nobody waits for that, or if the verb cannot be called again."""
        reads = self.reads
        if not reads.is_deferring:
            message = self.file.read(self.slots.extents[slot])
            self._check_read(message, seq)
            return message
        is_ahead: bool = reads.is_ahead and self.slots.state(slot) == AVAILABLE
        if reads.tries_cache:
            cached = self._read_cached(slot, is_ahead)
            if cached is not None:
                return cached
        raise ReadPending(self._begin_read([slot], slot if is_ahead else NONE))

    def _read_cached(self, slot: i64, is_ahead: bool) -> Message | None:
        """Read a message from the page cache, and with it those that a get through the queue needs next."""
        needed = [slot]
        fetched = self._fetched_messages()
        if is_ahead:
            needed += self._slots_ahead(fetched, slot)
        found = self._take_cached(needed)
        if not found:
            return None
        if len(found) > 1:
            self.reads.keep(self.queue_id, fetched, found[1:])
        return found[0]

    def _take_cached(self, needed: list[int]) -> list[Message]:
        """Return the messages of the first slots, as far as one call finds them in the page cache.

        Each call gives the interpreter up, and waits until other threads do so: while a command computes, a call for
        each message would delay everybody behind the get.
        """
        found = self.file.read_cached([self.slots.extents[slot] for slot in needed])
        count: i64 = 0
        while count < len(found) and found[count].seq == self.slots.seqs[needed[count]]:
            count += 1
        self.counters.spill_reads += count
        return found[:count]

    def is_loaded(self, slot: i64) -> bool:
        """Return True when `load` need not read the file."""
        fetched = self.fetched
        return self.slots.resident[slot] is not None or (
            fetched is not None and self.slots.seqs[slot] in fetched.messages
        )

    def _check_read(self, message: Message, seq: i64) -> None:
        if message.seq != seq:
            raise QueueFileDamaged(f"{self.file.path}: found message {message.seq} where {seq} was expected")
        self.counters.spill_reads += 1

    def _fetched_message(self, seq: i64) -> Message | None:
        fetched = self.fetched
        if fetched is None:
            return None
        failure = fetched.failures.pop(seq, None)
        if failure is not None:
            raise failure
        return fetched.messages.get(seq)

    def load_all(self, slots: list[int]) -> list[Message]:
        """Return the messages of several slots. Raises ReadPending for all of them together."""
        if self.reads.is_deferring:
            stored: list[int] = []
            is_missing = False
            for slot in slots:
                if self.slots.resident[slot] is None:
                    stored.append(slot)
                    if self._fetched_message(self.slots.seqs[slot]) is None:
                        is_missing = True
            if is_missing:
                raise ReadPending(self._begin_read(stored, NONE))
        return [self.load(slot) for slot in slots]

    def _begin_read(self, needed: list[int], ahead_of: i64) -> MessageRead:
        """Return the read of some slots: one that is under way already, or a new one for the engine's owner."""
        fetched = self._fetched_messages()
        slots = self.slots
        if len(needed) == 1:
            under_way = fetched.reading.get(slots.seqs[needed[0]])
            if under_way is not None:
                return under_way
        else:
            needed = [slot for _, slot in sorted([(slots.extents[slot], slot) for slot in needed])]
        ahead = self._slots_ahead(fetched, ahead_of) if ahead_of != NONE else _NO_SLOTS
        return self._want_read(fetched, needed, ahead)

    def _fetched_messages(self) -> FetchedMessages:
        fetched = self.fetched
        if fetched is None:
            fetched = FetchedMessages()
            self.fetched = fetched
        return fetched

    def _want_read(self, fetched: FetchedMessages, needed: list[int], ahead: list[int]) -> MessageRead:
        read = MessageRead(self.queue_id, self.file)
        read.needed = len(needed)
        for slot in needed:
            self._add_to_read(read, fetched, slot)
        for slot in ahead:
            self._add_to_read(read, fetched, slot)
        self.reads.wanted.append(read)
        return read

    def _read_ahead(self, fetched: FetchedMessages, slot: i64) -> None:
        """Have the next messages read in time, when few are left of those read before."""
        if len(fetched.messages) <= _AHEAD_AGAIN and not fetched.reading:
            ahead = self._slots_ahead(fetched, slot)
            if not ahead:
                return
            found = self._take_cached(ahead) if self.reads.tries_cache else _NO_MESSAGES
            if found:
                self.reads.keep(self.queue_id, fetched, found)
            else:
                self._want_read(fetched, _NO_SLOTS, ahead)

    def _slots_ahead(self, fetched: FetchedMessages, slot: i64) -> list[int]:
        """Return the slots behind one whose messages must be read, in the order of delivery and within the limits."""
        slots = self.slots
        found: list[int] = []
        left_bytes: i64 = AHEAD_BYTES
        left: i64 = AHEAD_MESSAGES
        slot = slots.following(slot)
        while slot != NONE and left > 0:
            left -= 1
            seq: i64 = slots.seqs[slot]
            if slots.resident[slot] is None and seq not in fetched.reading and seq not in fetched.messages:
                left_bytes -= extent_length(slots.extents[slot])
                if left_bytes < 0:
                    break
                found.append(slot)
            slot = slots.following(slot)
        return found

    def _add_to_read(self, read: MessageRead, fetched: FetchedMessages, slot: i64) -> None:
        seq: i64 = self.slots.seqs[slot]
        read.add(slot, seq, self.slots.extents[slot])
        fetched.reading[seq] = read

    def end_read(self, read: MessageRead) -> None:
        """Keep the messages of a read that is made, as far as they are still on the queue."""
        fetched = self.fetched
        assert fetched is not None
        kept: list[Message] = []
        index: i64 = 0
        while index < len(read.slots):
            slot: i64 = read.slots[index]
            seq: i64 = read.seqs[index]
            if fetched.reading.get(seq) is read:
                del fetched.reading[seq]
            is_there: bool = (
                slot < len(self.slots.resident)
                and self.slots.seqs[slot] == seq
                and self.slots.extents[slot] == read.extents[index]
                and self.slots.state(slot) != FREE
            )
            if is_there:
                try:
                    message = read.found[index]
                    if message is not None:
                        self._check_read(message, seq)
                        kept.append(message)
                    elif index < read.needed and read.failure is not None:
                        fetched.failures[seq] = read.failure
                except QueueFileDamaged as damage:
                    fetched.failures[seq] = damage
            index += 1
        self.reads.keep(self.queue_id, fetched, kept)

    def forget_messages(self) -> None:
        """Begin with no messages, after all of them were removed from the file."""
        self.slots = Slots()
        self.groups = {}
        self.offers.clear()
        self.depth = 0
        self.expiring = 0
        self.spill = []
        self.spill_bytes = 0
        self.stored_bytes = 0
        self.resident_bytes_persistent = 0
        self.unsaved_bytes = 0
        self.resident_bytes_nonpersistent = 0
        self.release_long_messages()
        self.drop_fetched()

    def drop_fetched(self) -> None:
        """Forget messages that were read: the queue was cleared or deleted."""
        fetched = self.fetched
        if fetched is not None:
            self.reads.drop(self.queue_id, fetched)
            fetched.failures = {}
        self.last_read = None

    def release(self, slot: i64) -> None:
        """Free slot, memory and extent of a message that is gone for good."""
        slots = self.slots
        message = slots.resident[slot]
        if message is not None:
            self._evict(slot, message)
            if slots.flags[slot] & SPILL_PENDING:
                self.spill_bytes -= message.size_bytes()
                if self.spill_bytes == 0:
                    self.spill = []
        extent: i64 = slots.extents[slot]
        if extent != NONE:
            self.file.release(extent)
            self.reserve.freed_bytes += extent_length(extent)
            self.stored_bytes -= extent_length(extent)
            self.last_read = None
            if self.fetched is not None:
                self.reads.forget(self.fetched, slots.seqs[slot])
        elif message is not None and slots.flags[slot] & PERSISTENT:
            self.unsaved_bytes -= message.size_bytes() + MESSAGE_BYTES
        if slots.expiries[slot] != 0:
            self.expiring -= 1
            if self.expiring < 0:
                raise InvariantFailed(f"Queue {self.name}: {self.expiring} messages expire")
        if slots.flags[slot] & PERSISTENT:
            self.changed = True
        slots.release(slot)

    def set_visible(self, slot: i64, lsn: i64) -> None:
        message = self.slots.resident[slot]
        if message is not None:
            message.visible_lsn = lsn
        elif lsn > self.spilled_lsn:
            self.spilled_lsn = lsn

    # -- order ---------------------------------------------------------------

    def order_flags(self, priority: i64) -> i64:
        """Return the flag bits that order a message of this priority. Above the highest it counts as that.

        With MSGDLVSQ(FIFO) all messages get the default priority, which also applies if the order is altered later.
        """
        if self.is_fifo:
            priority = self.default_priority
        return (priority if priority < PRIORITY_HIGHEST else PRIORITY_HIGHEST) << PRIORITY_SHIFT

    def link_new(self, slot: i64) -> None:
        self.slots.link_last(slot)
        if self.slots.flags[slot] & GROUPED:
            self._add_to_group(slot)

    def link_in_order(self, slot: i64, near_head: bool) -> None:
        self.slots.link_in_order(slot, near_head)
        if self.slots.flags[slot] & GROUPED:
            self._add_to_group(slot)

    def unlink(self, slot: i64) -> None:
        flags: i64 = self.slots.flags[slot]
        if flags & HAS_CURSOR:
            self._move_cursors(slot)
        if flags & GROUPED:
            self._remove_from_group(slot)
        self.slots.unlink(slot)

    def _add_to_group(self, slot: i64) -> None:
        message = self.load(slot)
        self.slots.flags[slot] &= ~(LATER_MESSAGE | LATER_SEGMENT)
        self.slots.flags[slot] |= group_members.add(self.groups, message.md, len(message.body), slot, message.seq)

    def _remove_from_group(self, slot: i64) -> None:
        message = self.load(slot)
        group_members.remove(self.groups, message.md, message.seq)

    def is_behind(self, slot: i64, other: i64) -> bool:
        """Return True when a linked slot is delivered later than another one."""
        slots = self.slots
        priority: i64 = slots.priority(slot)
        other_priority: i64 = slots.priority(other)
        if priority != other_priority:
            return priority < other_priority
        return slots.seqs[slot] > slots.seqs[other]

    def preceding(self, slot: i64) -> i64:
        """Return the linked slot delivered just before this one, or NONE."""
        slots = self.slots
        before: i64 = slots.previous[slot]
        if before != NONE:
            return before
        priority: i64 = (slots.flags[slot] >> PRIORITY_SHIFT & PRIORITY_MASK) + 1
        while priority <= 9:
            if slots.filled >> priority & 1:
                return slots.tails[priority]
            priority += 1
        return NONE

    def _move_cursors(self, slot: i64) -> None:
        """Move the cursors at a message that goes away back to the one before it."""
        before: i64 = self.preceding(slot)
        for request in self.waiting.scanning.values():
            if request.scan_slot == slot:
                request.scan_slot = before
                if before != NONE:
                    self.slots.flags[before] |= HAS_CURSOR
        for handle in self.browsers:
            if handle.cursor == slot:
                handle.cursor = before
                handle.cursor_message_gone = True
                if before != NONE:
                    self.slots.flags[before] |= HAS_CURSOR


def is_ready_to_delete(queue: Queue) -> bool:
    """Return True when deletion of a queue is pending, and no handle or unit of work holds it any more."""
    return queue.pending_delete and not queue.deleted and not queue.handles and queue.uncommitted == 0


def is_collected(attributes: dict[str, int | str | tuple[str, ...]], name: str, manager: i64) -> bool:
    """Return True when data is collected for a queue: by its own attribute, or by the queue manager's for QMGR.

    NONE on the queue manager forbids it for all queues.
    """
    if manager == mq.MQMON_NONE:
        return False
    own = attributes.get(name, mq.MQMON_Q_MGR)
    return (manager if own == mq.MQMON_Q_MGR else own) != mq.MQMON_OFF


def _integer(attributes: dict[str, int | str | tuple[str, ...]], name: str) -> int:
    value = attributes.get(name, 0)
    return value if isinstance(value, int) else 0
