"""Message groups, segments and logical order: the checks before a get and the state after it.

This module also exports what the rest of the engine needs of the modules beside it: selection, put and segmentation.
"""

from __future__ import annotations

from mypy_extensions import i64

from ostler.engine.groups.puts import PutPlan as PutPlan
from ostler.engine.groups.puts import is_plain as is_plain
from ostler.engine.groups.puts import prepare_put as prepare_put
from ostler.engine.groups.puts import record_put as record_put
from ostler.engine.groups.segmentation import joined_body as joined_body
from ostler.engine.groups.segmentation import joined_descriptor as joined_descriptor
from ostler.engine.groups.segmentation import split as split
from ostler.engine.groups.selection import continues_group, message_of, state_of
from ostler.engine.groups.selection import select as select
from ostler.engine.groups.state import GroupState
from ostler.engine.handle import Handle
from ostler.engine.message.message import (
    FLAGS_AT,
    GROUP_ID_AT,
    NULL_ID,
    OFFSET_AT,
    PERSISTENCE_AT,
    SEQUENCE_NUMBER_AT,
    patch_i32,
    read_i32,
)
from ostler.engine.queue.get_request import BROWSE_OPTIONS, UNDER_CURSOR, GetRequest
from ostler.engine.queue.matching import identifiers_match
from ostler.engine.queue.slots import AVAILABLE, GROUPED, NONE, PRIORITY_MASK, PRIORITY_SHIFT
from ostler.model import constants as mq


def validate_get(request: GetRequest) -> i64:
    """Return the reason to refuse a get because of groups, or 0. Needed for browses and the four group options."""
    options: i64 = request.options
    state = state_of(request)
    logical: bool = options & mq.MQGMO_LOGICAL_ORDER != 0
    if options & mq.MQGMO_COMPLETE_MSG:
        if options & mq.MQGMO_SYNCPOINT_IF_PERSISTENT:
            return mq.MQRC_OPTIONS_ERROR
        if options & UNDER_CURSOR:
            return _cursor_reason(request.handle)
        if request.match & mq.MQMO_MATCH_OFFSET:
            return mq.MQRC_MATCH_OPTIONS_ERROR
    if options & mq.MQGMO_BROWSE_NEXT and state.used and state.by_logical_order != logical:
        return mq.MQRC_INCONSISTENT_BROWSE
    if not logical or options & UNDER_CURSOR:
        return 0
    if not continues_group(request, state):
        # Only the first message of a group can be returned, so match options for another one cannot be met.
        return 0 if _numbers_fit(request, 1, 0) else mq.MQRC_MATCH_OPTIONS_ERROR
    syncpoint: bool = options & mq.MQGMO_SYNCPOINT != 0
    if not options & (BROWSE_OPTIONS | mq.MQGMO_SYNCPOINT_IF_PERSISTENT) and syncpoint != state.in_unit_of_work:
        return mq.MQRC_INCONSISTENT_UOW
    return 0 if _next_fits(request, state) else mq.MQRC_MATCH_OPTIONS_ERROR


def _cursor_reason(handle: Handle) -> i64:
    queue = handle.queue
    if queue is None or queue.is_shared or handle.cursor == NONE or queue.slots.state(handle.cursor) != AVAILABLE:
        return 0
    if not queue.slots.flags[handle.cursor] & GROUPED or read_i32(queue.load(handle.cursor).md, OFFSET_AT) == 0:
        return 0
    return mq.MQRC_INVALID_MSG_UNDER_CURSOR


def _numbers_fit(request: GetRequest, sequence: i64, offset: i64) -> bool:
    if request.match & mq.MQMO_MATCH_MSG_SEQ_NUMBER and request.sequence_number != sequence:
        return False
    return not request.match & mq.MQMO_MATCH_OFFSET or request.offset == offset


def _next_fits(request: GetRequest, state: GroupState) -> bool:
    """Check match options within a group: they are allowed, but must match the next message."""
    if request.match & mq.MQMO_MATCH_GROUP_ID and request.group_id not in (NULL_ID, state.group_id):
        return False
    if not _numbers_fit(request, state.next_sequence(), state.next_offset()):
        return False
    queue = request.handle.queue
    if queue is None or not request.match & (mq.MQMO_MATCH_MSG_ID | mq.MQMO_MATCH_CORREL_ID):
        return True
    message = message_of(queue, state.group_id, state.next_sequence())
    if message is None:
        return True
    offset: i64 = state.next_offset()
    at_offset = [part for part in message.parts if part.offset() == offset]
    return not at_offset or any(identifiers_match(request, queue.load(part.slot).md) for part in at_offset)


def has_group_effects(request: GetRequest) -> bool:
    """Return True when `after_get` must be called for an answered request. For others it has no effect."""
    return (
        request.options & (BROWSE_OPTIONS | mq.MQGMO_LOGICAL_ORDER) != 0
        or read_i32(request.md, FLAGS_AT) != 0
        or request.handle.get_group.is_open()
    )


def after_get(request: GetRequest, md: bytes) -> None:
    """Set the three status fields of an answered get or browse, and update the group state of the handle.

    A get that leaves a group unfinished succeeds with a warning in `request.reason`.
    """
    flags: i64 = read_i32(md, FLAGS_AT)
    options: i64 = request.options
    state = state_of(request)
    if state.join_reason != 0:
        flags &= ~mq.MQMF_LAST_SEGMENT
        md = patch_i32(md, FLAGS_AT, flags)
        request.md = md
    _set_status(request, flags)
    if request.reason == mq.MQRC_TRUNCATED_MSG_FAILED:
        state.join_reason = 0
        return
    logical: bool = options & mq.MQGMO_LOGICAL_ORDER != 0
    in_unit_of_work: bool = options & mq.MQGMO_SYNCPOINT != 0
    if options & mq.MQGMO_SYNCPOINT_IF_PERSISTENT:
        in_unit_of_work = read_i32(md, PERSISTENCE_AT) == 1
    warning: i64 = state.join_reason
    state.join_reason = 0
    if options & BROWSE_OPTIONS:
        if options & mq.MQGMO_BROWSE_MSG_UNDER_CURSOR:
            logical = state.by_logical_order
        elif not continues_group(request, state):
            _record_start(request.handle, state)
    elif warning == 0 and not logical and state.by_logical_order and state.is_open():
        warning = _leave_reason(state, md, in_unit_of_work)
    if request.reason == 0:
        request.reason = warning
    state.advance(md, logical, in_unit_of_work)


def _set_status(request: GetRequest, flags: i64) -> None:
    request.group_status = mq.MQGS_NOT_IN_GROUP
    if flags & mq.MQMF_LAST_MSG_IN_GROUP:
        request.group_status = mq.MQGS_LAST_MSG_IN_GROUP
    elif flags & mq.MQMF_MSG_IN_GROUP:
        request.group_status = mq.MQGS_MSG_IN_GROUP
    request.segment_status = mq.MQSS_NOT_A_SEGMENT
    if flags & mq.MQMF_LAST_SEGMENT:
        request.segment_status = mq.MQSS_LAST_SEGMENT
    elif flags & mq.MQMF_SEGMENT:
        request.segment_status = mq.MQSS_SEGMENT
    request.segmentation = mq.MQSEG_ALLOWED if flags & mq.MQMF_SEGMENTATION_ALLOWED else mq.MQSEG_INHIBITED


def _record_start(handle: Handle, state: GroupState) -> None:
    queue = handle.queue
    if queue is not None and handle.cursor != NONE:
        state.start_slot = handle.cursor
        state.start_seq = handle.cursor_seq
        state.start_priority = queue.slots.flags[handle.cursor] >> PRIORITY_SHIFT & PRIORITY_MASK


def _leave_reason(state: GroupState, md: bytes, in_unit_of_work: bool) -> i64:
    """Return the warning for a get without logical order while a group got in logical order is open, or 0."""
    group_id = md[GROUP_ID_AT : GROUP_ID_AT + 24]
    if not state.continues(group_id, read_i32(md, SEQUENCE_NUMBER_AT), read_i32(md, OFFSET_AT)):
        return _incomplete_reason(state)
    return 0 if in_unit_of_work == state.in_unit_of_work else mq.MQRC_INCONSISTENT_UOW


def _incomplete_reason(state: GroupState) -> i64:
    return mq.MQRC_INCOMPLETE_MSG if state.in_segments else mq.MQRC_INCOMPLETE_GROUP


def close_reason(handle: Handle) -> i64:
    """Return the warning for closing a handle whose puts or gets in logical order stopped within a group, or 0."""
    reason: i64 = 0
    for state in (handle.put_group, handle.get_group):
        if state.is_open() and state.by_logical_order and reason != mq.MQRC_INCOMPLETE_MSG:
            reason = _incomplete_reason(state)
    return reason


def end_unit_of_work(handle: Handle, committed: bool) -> None:
    """Keep the group states of a handle after a commit; after a back-out restore those before the unit of work."""
    handle.put_group = _after_unit(handle.put_group, committed)
    handle.get_group = _after_unit(handle.get_group, committed)


def _after_unit(state: GroupState, committed: bool) -> GroupState:
    before = state.before
    if before is None:
        return state
    state.before = None
    return state if committed else before
