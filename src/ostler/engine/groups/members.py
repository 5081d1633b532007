"""The messages of each group on a queue, and the completeness of groups and segmented messages.

A group has logical messages, numbered from 1. A logical message is one physical message, or several segments that each
begin where the one before ended. The cost of a change does not depend on the size of the group, except for one walk
over the segments of a message when all of its bytes are there.

A segmented message that is in no group has a group id of its own and is its only logical message. Reports about
segments are segments too. There may be one of each kind for the same segment, so reports of one kind (the same
feedback) form a logical message of their own.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.engine.message.message import (
    FEEDBACK_AT,
    FLAGS_AT,
    GROUP_ID_AT,
    MESSAGE_TYPE_AT,
    OFFSET_AT,
    ORIGINAL_LENGTH_AT,
    SEQUENCE_NUMBER_AT,
    read_i32,
)
from ostler.model import constants as mq
from ostler.model.errors import InvariantFailed

# Flags of a slot: the message is not the first of its group, or not the first segment of its logical message.
LATER_MESSAGE: Final = 0x400
LATER_SEGMENT: Final = 0x800

# Offsets are below 999,999,999.
_OFFSET_BITS: Final = 30
_OFFSET_MASK: Final = (1 << 30) - 1


@final
class GroupPart:
    """A physical message of a group: its slot and the sequence number that orders it on the queue."""

    def __init__(self, slot: i64, seq: i64, key: i64, length: i64, flags: i64) -> None:
        self.slot: i64 = slot
        self.seq: i64 = seq
        self.key: i64 = key  # orders the parts of a logical message: see part_key
        self.length: i64 = length
        self.flags: i64 = flags  # MsgFlags

    def offset(self) -> i64:
        return self.key & _OFFSET_MASK

    def feedback(self) -> i64:
        return self.key >> _OFFSET_BITS


@final
class LogicalMessage:
    """The parts of one logical message on the queue, ordered by kind of report and offset, then by age."""

    def __init__(self) -> None:
        self.parts: list[GroupPart] = []
        self.unsegmented: i64 = 0  # parts that are no segments
        self.present_bytes: i64 = 0
        self.end: i64 = -1  # end of the last segment, once it is there
        self.complete = False

    def add(self, part: GroupPart) -> None:
        self.parts.insert(self.position(part.key, part.seq), part)
        self.present_bytes += part.length
        if not part.flags & mq.MQMF_SEGMENT:
            self.unsegmented += 1
        elif part.flags & mq.MQMF_LAST_SEGMENT:
            end: i64 = part.offset() + part.length
            if self.end < 0 or end < self.end:
                self.end = end
        self.complete = self._is_complete()

    def remove(self, key: i64, seq: i64) -> None:
        part = self.parts.pop(self.position(key, seq))
        if part.seq != seq:
            raise InvariantFailed(f"A group has message {part.seq} in the place of {seq}")
        self.present_bytes -= part.length
        if not part.flags & mq.MQMF_SEGMENT:
            self.unsegmented -= 1
        elif part.flags & mq.MQMF_LAST_SEGMENT:
            self.end = -1
            for other in self.parts:
                if other.flags & mq.MQMF_LAST_SEGMENT and (self.end < 0 or other.offset() + other.length < self.end):
                    self.end = other.offset() + other.length
        self.complete = self._is_complete()

    def position(self, key: i64, seq: i64) -> i64:
        """Return the index of the first part not before this key and sequence number."""
        parts = self.parts
        low: i64 = 0
        high: i64 = len(parts)
        while low < high:
            middle: i64 = (low + high) // 2
            part = parts[middle]
            if part.key < key or (part.key == key and part.seq < seq):
                low = middle + 1
            else:
                high = middle
        return low

    def _is_complete(self) -> bool:
        if self.unsegmented > 0:
            return True
        if self.end < 0 or self.present_bytes < self.end:
            return False
        expected: i64 = 0
        feedback: i64 = -1
        for part in self.parts:
            if part.feedback() != feedback:
                feedback = part.feedback()
                expected = 0
            if part.offset() == expected:
                if part.flags & mq.MQMF_LAST_SEGMENT:
                    return True
                expected += part.length
        return False


@final
class MessageGroup:
    """The logical messages of one group that are on the queue, completely or in part."""

    def __init__(self) -> None:
        self.messages: dict[int, LogicalMessage] = {}
        self.complete_messages: i64 = 0
        self.last_sequence: i64 = 0  # number of the last message, once it is there

    def add(self, sequence: i64, part: GroupPart) -> None:
        message = self.messages.get(sequence)
        if message is None:
            message = LogicalMessage()
            self.messages[sequence] = message
        before: bool = message.complete
        message.add(part)
        self._count(before, message.complete)
        if part.flags & mq.MQMF_LAST_MSG_IN_GROUP:
            self.last_sequence = sequence

    def remove(self, sequence: i64, key: i64, seq: i64) -> None:
        message = self.messages[sequence]
        before: bool = message.complete
        message.remove(key, seq)
        self._count(before, message.complete)
        if not message.parts:
            del self.messages[sequence]

    def _count(self, before: bool, after: bool) -> None:
        if after and not before:
            self.complete_messages += 1
        elif before and not after:
            self.complete_messages -= 1

    def is_complete(self) -> bool:
        """Return True when all messages from the first to the last are there, with all their segments."""
        last: i64 = self.last_sequence
        if last == 0 or self.complete_messages < last:
            return False
        # There are enough messages, but perhaps not the right ones: applications may number them as they like.
        sequence: i64 = 1
        while sequence <= last:
            message = self.messages.get(sequence)
            if message is None or not message.complete:
                return False
            sequence += 1
        return True


def part_key(md: bytes) -> i64:
    feedback: i64 = read_i32(md, FEEDBACK_AT) if read_i32(md, MESSAGE_TYPE_AT) == mq.MQMT_REPORT else 0
    return feedback << _OFFSET_BITS | read_i32(md, OFFSET_AT) & _OFFSET_MASK


def add(groups: dict[bytes, MessageGroup], md: bytes, body_bytes: i64, slot: i64, seq: i64) -> i64:
    """Add a message that has become available. Returns the flags for its slot."""
    flags: i64 = read_i32(md, FLAGS_AT)
    # A report about a segment represents the bytes of that segment, however many of them it carries.
    original: i64 = read_i32(md, ORIGINAL_LENGTH_AT)
    length: i64 = original if flags & mq.MQMF_SEGMENT and original >= 0 else body_bytes
    group_id = md[GROUP_ID_AT : GROUP_ID_AT + 24]
    group = groups.get(group_id)
    if group is None:
        group = MessageGroup()
        groups[group_id] = group
    sequence: i64 = read_i32(md, SEQUENCE_NUMBER_AT)
    part = GroupPart(slot, seq, part_key(md), length, flags)
    group.add(sequence, part)
    return (LATER_MESSAGE if sequence != 1 else 0) | (LATER_SEGMENT if part.offset() != 0 else 0)


def remove(groups: dict[bytes, MessageGroup], md: bytes, seq: i64) -> None:
    """Remove a message that is no longer available."""
    group_id = md[GROUP_ID_AT : GROUP_ID_AT + 24]
    group = groups[group_id]
    group.remove(read_i32(md, SEQUENCE_NUMBER_AT), part_key(md), seq)
    if not group.messages:
        del groups[group_id]
