"""Selection for gets with group options: logical order, complete messages, all segments, all messages.

Physical order is the order of arrival (within a priority). Logical order has all messages of a group, and all segments
of a message, next to each other and in sequence, at the position of the first of them.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from ostler.engine.core import Engine
from ostler.engine.groups.members import LATER_MESSAGE, LATER_SEGMENT, GroupPart, LogicalMessage, MessageGroup, part_key
from ostler.engine.groups.segmentation import last_section
from ostler.engine.groups.state import GroupState
from ostler.engine.message.message import (
    CCSID_AT,
    ENCODING_AT,
    FLAGS_AT,
    GROUP_ID_AT,
    SEQUENCE_NUMBER_AT,
    hash_id,
    read_i32,
)
from ostler.engine.queue.get_request import BROWSE_OPTIONS, BY_SCAN, UNDER_CURSOR, GetRequest
from ostler.engine.queue.matching import is_eligible, matches
from ostler.engine.queue.queue import Queue
from ostler.engine.queue.reads import MessageRead, ReadPending
from ostler.engine.queue.slots import AVAILABLE, GROUPED, HAS_CURSOR, NONE, Slots
from ostler.model import constants as mq

PAUSED: Final = -2  # instead of a slot: the scan continues later
_WHOLE: Final = mq.MQGMO_COMPLETE_MSG | mq.MQGMO_ALL_MSGS_AVAILABLE | mq.MQGMO_ALL_SEGMENTS_AVAILABLE


def state_of(request: GetRequest) -> GroupState:
    """Return the group state for a request. Gets and browses of a handle have separate ones."""
    handle = request.handle
    return handle.browse_group if request.options & BROWSE_OPTIONS else handle.get_group


def continues_group(request: GetRequest, state: GroupState) -> bool:
    """Return True when a request asks for the next message of the open group."""
    options: i64 = request.options
    return (
        options & mq.MQGMO_LOGICAL_ORDER != 0
        and not options & (UNDER_CURSOR | mq.MQGMO_BROWSE_FIRST)
        and state.is_open()
    )


def select(engine: Engine, request: GetRequest, queue: Queue) -> i64:
    """Return the slot that answers a request with one of the four group options, or NONE or PAUSED.

    With MQGMO_COMPLETE_MSG and a segmented message, `request.slots` has the slots of its segments in order.
    """
    if request.slots:
        request.slots = []
    options: i64 = request.options
    if options & UNDER_CURSOR:
        handle = request.handle
        slot: i64 = handle.cursor
        if slot == NONE or handle.cursor_message_gone or queue.slots.state(slot) != AVAILABLE:
            return NONE
        return slot if _is_complete(engine, request, queue, slot) else NONE
    state = state_of(request)
    if continues_group(request, state):
        return _next_of_group(engine, request, queue, state)
    return _next_start(engine, request, queue)


def _next_of_group(engine: Engine, request: GetRequest, queue: Queue, state: GroupState) -> i64:
    offset: i64 = state.next_offset()
    if offset > 0 and request.options & mq.MQGMO_COMPLETE_MSG:
        return NONE  # the beginning was got already, so there is no complete message
    message = message_of(queue, state.group_id, state.next_sequence())
    if message is None:
        return NONE
    part = _part_at(engine, request, queue, message, offset)
    if part is None or not matches(engine, request, queue, part.slot):
        return NONE
    if part.flags & mq.MQMF_SEGMENT and offset == 0 and not _segments_are_there(engine, request, queue, message, part):
        return NONE
    return part.slot


def message_of(queue: Queue, group_id: bytes, sequence: i64) -> LogicalMessage | None:
    group = queue.groups.get(group_id)
    return None if group is None else group.messages.get(sequence)


def _part_at(
    engine: Engine, request: GetRequest, queue: Queue, message: LogicalMessage, offset: i64
) -> GroupPart | None:
    """Return the oldest part at this offset that the request may have; a report only when there is no other."""
    parts = message.parts
    index: i64 = message.position(offset, 0)
    while index < len(parts) and parts[index].key == offset:
        if is_eligible(engine, request, queue, parts[index].slot):
            return parts[index]
        index += 1
    while index < len(parts):
        part = parts[index]
        if part.offset() == offset and is_eligible(engine, request, queue, part.slot):
            return part
        index += 1
    return None


def _next_start(engine: Engine, request: GetRequest, queue: Queue) -> i64:
    """Scan the queue for a message outside groups, or one that a group may begin with."""
    slots = queue.slots
    options: i64 = request.options
    skipped: i64 = 0
    if options & mq.MQGMO_LOGICAL_ORDER:
        skipped = LATER_MESSAGE | LATER_SEGMENT
    elif options & mq.MQGMO_COMPLETE_MSG:
        skipped = LATER_SEGMENT
    hash_message: i64 = hash_id(request.message_id, 0) if request.match & mq.MQMO_MATCH_MSG_ID else 0
    hash_correlation: i64 = hash_id(request.correlation_id, 0) if request.match & mq.MQMO_MATCH_CORREL_ID else 0
    last: i64 = request.scan_slot
    slot: i64 = slots.following(last) if last != NONE else _scan_start(request, slots)
    may_pause: bool = request.may_pause
    try:
        while slot != NONE:
            if may_pause and engine.work_left <= 0:
                return pause(engine, request, queue, last)
            engine.work_left -= 1
            if (
                not slots.flags[slot] & skipped
                and (hash_message == 0 or slots.by_message_id.hashes[slot] == hash_message)
                and (hash_correlation == 0 or slots.by_correlation_id.hashes[slot] == hash_correlation)
                and is_eligible(engine, request, queue, slot)
                and matches(engine, request, queue, slot)
                and _is_complete(engine, request, queue, slot)
            ):
                return slot
            last = slot
            slot = slots.following(slot)
    except ReadPending as pending:
        return pause_for_read(engine, request, queue, pending.read, last)
    return NONE


def pause(engine: Engine, request: GetRequest, queue: Queue, last: i64) -> i64:
    """Pause a scan behind the slot examined last (NONE: at its start). The request waits from now on."""
    request.scan_slot = last
    if last != NONE:
        queue.slots.flags[last] |= HAS_CURSOR
    waiters = queue.waiting
    if not request.waiting or request.kind != BY_SCAN:
        waiters.remove(request)
        request.kind = BY_SCAN
        waiters.add(request)
    waiters.begin_scan(request)
    engine.scans.add(request)
    engine.signal_owner()
    return PAUSED


def pause_for_read(engine: Engine, request: GetRequest, queue: Queue, read: MessageRead, last: i64) -> i64:
    """Pause a request until a message is read, with a scan behind the slot examined last. The request waits meanwhile.

    A request without a scan waits as if it had begun one: messages that arrive are not for it before those that are
    there. Then it is tried again from the start.
    """
    waiters = queue.waiting
    if request.kind != BY_SCAN:
        waiters.remove(request)
        request.plain_kind = request.kind
        request.kind = BY_SCAN
    if not request.waiting:
        waiters.add(request)
    request.scan_slot = last
    if last != NONE:
        queue.slots.flags[last] |= HAS_CURSOR
    waiters.begin_scan(request)
    request.is_reading = True
    read.requests.append(request)
    engine.signal_reader()
    return PAUSED


def _scan_start(request: GetRequest, slots: Slots) -> i64:
    handle = request.handle
    if not request.options & mq.MQGMO_BROWSE_NEXT or not handle.cursor_set:
        return slots.first()
    state = handle.browse_group
    if not request.options & mq.MQGMO_LOGICAL_ORDER or state.start_seq == handle.cursor_seq:
        return slots.first() if handle.cursor == NONE else slots.following(handle.cursor)
    # The cursor is at the last message of a group, but groups are ordered by their first messages.
    slot: i64 = state.start_slot
    if slots.seqs[slot] == state.start_seq and slots.state(slot) == AVAILABLE:
        return slots.following(slot)
    slot = slots.heads[state.start_priority]
    while slot != NONE and slots.seqs[slot] <= state.start_seq:
        slot = slots.nexts[slot]
    return slot if slot != NONE else slots.first_below(state.start_priority)


def _is_complete(engine: Engine, request: GetRequest, queue: Queue, slot: i64) -> bool:
    """Return True when the messages and segments that the options require are available with this message."""
    if not request.options & _WHOLE or not queue.slots.flags[slot] & GROUPED:
        return True
    md = queue.load(slot).md
    group = queue.groups[md[GROUP_ID_AT : GROUP_ID_AT + 24]]
    flags: i64 = read_i32(md, FLAGS_AT)
    wants_group: bool = request.options & mq.MQGMO_ALL_MSGS_AVAILABLE != 0 and flags & mq.MQMF_MSG_IN_GROUP != 0
    if wants_group and not _group_is_complete(engine, request, queue, group):
        return False
    if not flags & mq.MQMF_SEGMENT:
        return True
    message = group.messages[read_i32(md, SEQUENCE_NUMBER_AT)]
    part = message.parts[message.position(part_key(md), queue.slots.seqs[slot])]
    return _segments_are_there(engine, request, queue, message, part)


def _group_is_complete(engine: Engine, request: GetRequest, queue: Queue, group: MessageGroup) -> bool:
    engine.work_left -= group.last_sequence
    if not group.is_complete():
        return False
    sequence: i64 = 1
    while sequence <= group.last_sequence:
        message = group.messages[sequence]
        first = _part_at(engine, request, queue, message, 0)
        if first is None:
            return False
        if first.flags & mq.MQMF_SEGMENT and not _segments(engine, request, queue, message, first.feedback()):
            return False
        sequence += 1
    return True


def _segments_are_there(
    engine: Engine, request: GetRequest, queue: Queue, message: LogicalMessage, part: GroupPart
) -> bool:
    """Return True when the segments that the options require are available. MQGMO_COMPLETE_MSG takes all of them."""
    if not request.options & _WHOLE:
        return True
    if not message.complete:
        return False
    segments = _segments(engine, request, queue, message, part.feedback())
    if not segments:
        return False
    if request.options & mq.MQGMO_COMPLETE_MSG and len(segments) > 1:
        request.slots = _joinable(queue, segments, state_of(request))
    return True


def _segments(engine: Engine, request: GetRequest, queue: Queue, message: LogicalMessage, feedback: i64) -> list[int]:
    """Return the slots of all segments of a message from first to last; empty when one is not available."""
    slots: list[int] = []
    expected: i64 = 0
    for part in message.parts:
        if (
            part.offset() == expected
            and part.feedback() == feedback
            and part.flags & mq.MQMF_SEGMENT
            and is_eligible(engine, request, queue, part.slot)
        ):
            slots.append(part.slot)
            if part.flags & mq.MQMF_LAST_SEGMENT:
                return slots
            expected += part.length
    return []


def _joinable(queue: Queue, segments: list[int], state: GroupState) -> list[int]:
    """Return the first segments that can be joined: those of the same code page and encoding."""
    state.join_reason = 0
    joined: list[int] = []
    encoding: i64 = 0
    ccsid: i64 = 0
    index: i64 = 0
    for message in queue.load_all(segments):
        slot: i64 = segments[index]
        index += 1
        if joined:
            if read_i32(message.md, CCSID_AT) != ccsid:
                state.join_reason = mq.MQRC_INCONSISTENT_CCSIDS
                return joined
            if read_i32(message.md, ENCODING_AT) != encoding:
                state.join_reason = mq.MQRC_INCONSISTENT_ENCODINGS
                return joined
        end = last_section(message.md, message.body)
        encoding = end.encoding
        ccsid = end.ccsid
        joined.append(slot)
    return joined
