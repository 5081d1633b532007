"""The group and segment information that the queue manager keeps for each handle.

A handle has three of these: for its puts, its gets and its browses. Each successful call updates it; backing out a unit
of work restores it.
"""

from __future__ import annotations

from typing import final

from mypy_extensions import i64

from ostler.engine.message.message import (
    FLAGS_AT,
    GROUP_ID_AT,
    NULL_ID,
    OFFSET_AT,
    ORIGINAL_LENGTH_AT,
    PERSISTENCE_AT,
    SEQUENCE_NUMBER_AT,
    read_i32,
)
from ostler.model import constants as mq


@final
class GroupState:
    def __init__(self) -> None:
        self.in_group = False  # a group has begun and not ended
        self.in_segments = False  # a logical message has begun and not ended
        self.group_id: bytes = NULL_ID
        self.sequence_number: i64 = 1  # of the last message
        self.offset: i64 = 0  # of the next segment
        self.is_last_message = False  # the last message was, or was a segment of, the last of its group
        self.is_persistent = False
        self.in_unit_of_work = False
        self.by_logical_order = False  # the last call had the option
        self.used = False
        # State before the current unit of work changed it.
        self.before: GroupState | None = None
        # When browsing: start of the group on the queue. The next group is the one that starts behind it.
        self.start_slot: i64 = -1
        self.start_seq: i64 = 0
        self.start_priority: i64 = 0
        self.start_key: i64 = -1  # on a shared queue
        # Reason why the segments that answer the current get are not the whole message.
        self.join_reason: i64 = 0

    def is_open(self) -> bool:
        """Return True when a group or a logical message has not ended."""
        return self.in_group or self.in_segments

    def next_sequence(self) -> i64:
        return self.sequence_number if self.in_segments else self.sequence_number + 1

    def next_offset(self) -> i64:
        return self.offset if self.in_segments else 0

    def continues(self, group_id: bytes, sequence: i64, offset: i64) -> bool:
        """Return True when this is the next message or segment in logical order."""
        return self.group_id == group_id and self.next_sequence() == sequence and self.next_offset() == offset

    def advance(self, md: bytes, by_logical_order: bool, in_unit_of_work: bool) -> None:
        """Update the state after a put, get or browse with this descriptor."""
        if in_unit_of_work:
            if self.before is None:
                self.before = self._copy()
        else:
            self.before = None
        flags: i64 = read_i32(md, FLAGS_AT)
        self.in_segments = flags & (mq.MQMF_SEGMENT | mq.MQMF_LAST_SEGMENT) == mq.MQMF_SEGMENT
        self.is_last_message = flags & mq.MQMF_LAST_MSG_IN_GROUP != 0
        self.in_group = flags & mq.MQMF_MSG_IN_GROUP != 0 and (self.in_segments or not self.is_last_message)
        self.group_id = md[GROUP_ID_AT : GROUP_ID_AT + 24]
        self.sequence_number = read_i32(md, SEQUENCE_NUMBER_AT)
        self.offset = read_i32(md, OFFSET_AT) + read_i32(md, ORIGINAL_LENGTH_AT) if self.in_segments else 0
        self.is_persistent = read_i32(md, PERSISTENCE_AT) == 1
        self.in_unit_of_work = in_unit_of_work
        self.by_logical_order = by_logical_order
        self.used = True

    def _copy(self) -> GroupState:
        copy = GroupState()
        copy.in_group = self.in_group
        copy.in_segments = self.in_segments
        copy.group_id = self.group_id
        copy.sequence_number = self.sequence_number
        copy.offset = self.offset
        copy.is_last_message = self.is_last_message
        copy.is_persistent = self.is_persistent
        copy.in_unit_of_work = self.in_unit_of_work
        copy.by_logical_order = self.by_logical_order
        copy.used = self.used
        return copy
