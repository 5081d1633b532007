"""Messages that the file of a queue has lost, and another copy of the queue manager still has."""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.engine.message.message import Message
from ostler.engine.queue.queue import Queue
from ostler.engine.queue.queue_file import RECORD_HEADER_BYTES
from ostler.engine.queue.slots import FREE, NONE, extent_length
from ostler.engine.recovery.checkpoint_reserve import QUEUE_BYTES


@final
class StoredMessage:
    """A message in the file of its queue, as it was when the engine stood still."""

    def __init__(self, queue: Queue, slot: i64) -> None:
        self.queue: Final[Queue] = queue
        self.slot: Final[i64] = slot
        self.seq: Final[i64] = queue.slots.seqs[slot]
        self.extent: Final[i64] = queue.slots.extents[slot]

    def is_there(self) -> bool:
        """Return True while the message is where it was. Engine still."""
        slots = self.queue.slots
        return (
            not self.queue.deleted
            and self.slot < len(slots.resident)
            and slots.seqs[self.slot] == self.seq
            and slots.extents[self.slot] == self.extent
            and slots.state(self.slot) != FREE
        )


def slot_of(queue: Queue, seq: i64) -> i64:
    """Return the slot of a message, whatever its state; NONE when it is not on the queue. Engine still."""
    slots = queue.slots
    slot: i64 = 0
    while slot < len(slots.resident):
        if slots.seqs[slot] == seq and slots.state(slot) != FREE:
            return slot
        slot += 1
    return NONE


def stored_messages(queue: Queue, first: i64, count_max: i64, bytes_max: i64) -> tuple[list[StoredMessage], int]:
    """Return messages of the file from a slot on, and the next slot to look at. Engine still."""
    slots = queue.slots
    found: list[StoredMessage] = []
    size: i64 = 0
    slot: i64 = first
    while slot < len(slots.resident) and len(found) < count_max and size < bytes_max:
        extent: i64 = slots.extents[slot]
        if extent != NONE and slots.state(slot) != FREE:
            found.append(StoredMessage(queue, slot))
            size += extent_length(extent)
        slot += 1
    return found, slot


def replace_message(stored: StoredMessage, message: Message) -> bool:
    """Write a message again, at another place of its queue's file. Engine still. Raises DiskFull.

    False: the message has left the queue, or this is another one.
    """
    length: i64 = RECORD_HEADER_BYTES + message.size_bytes()
    if not stored.is_there() or message.seq != stored.seq or length != extent_length(stored.extent):
        return False
    queue = stored.queue
    extent: i64 = queue.file.write([message])[0]
    queue.file.release(stored.extent)
    queue.slots.extents[stored.slot] = extent
    if not queue.changed:
        queue.changed = True
        queue.reserve.needed_bytes += QUEUE_BYTES
    return True
