"""MQPUT: group identifier, sequence number, offset, flags and original length of the stored message.

With MQPMO_LOGICAL_ORDER the queue manager sets them; "previous" is the state after the last put of the handle:

    in group   segment   may split    group open   message open   GroupId       MsgSeqNumber   Offset
    no         no        no           no           no             none          1              0
    no         no        yes          no           no             new           1              0
    no         yes       either       no           no             new           1              0
    no         yes       either       no           yes            previous      1              previous + length
    yes        either    either       no           no             new           1              0
    yes        either    either       yes          no             previous      previous + 1   0
    yes        yes       either       yes          yes            previous      previous       previous + length

Without it the application sets them, as far as they apply:

    no         no        no           either       either         none          1              0
    no         no        yes          either       either         new if none   1              0
    no         yes       either       either       either         new if none   1              as given
    yes        no        either       either       either         new if none   as given       0
    yes        yes       either       either       either         new if none   as given       as given
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import read_i64_le
from mypy_extensions import i64

from ostler.engine.core import Engine
from ostler.engine.groups.state import GroupState
from ostler.engine.handle import Handle
from ostler.engine.message.message import (
    FLAGS_AT,
    GROUP_ID_AT,
    MESSAGE_TYPE_AT,
    NULL_ID,
    OFFSET_AT,
    ORIGINAL_LENGTH_AT,
    SEQUENCE_NUMBER_AT,
    i32_bytes,
    read_i32,
)
from ostler.model import constants as mq

_NUMBER_MAX: Final = 999_999_999
_KNOWN_FLAGS: Final = (
    mq.MQMF_SEGMENTATION_ALLOWED
    | mq.MQMF_SEGMENT
    | mq.MQMF_LAST_SEGMENT
    | mq.MQMF_MSG_IN_GROUP
    | mq.MQMF_LAST_MSG_IN_GROUP
)


@final
class PutPlan:
    """The outcome of the checks. `reason` refuses the put; `warning` is returned with a successful one.

    `md` is the descriptor to store. `answer_md` is returned to the application: it has the given flags, without implied
    ones.
    """

    def __init__(self, reason: i64, warning: i64, md: bytes, answer_md: bytes) -> None:
        self.reason: i64 = reason
        self.warning: i64 = warning
        self.md = md
        self.answer_md = answer_md


@final
class _GroupPosition:
    """The position of a message: group, sequence number and offset."""

    def __init__(self, group_id: bytes, sequence: i64, offset: i64) -> None:
        self.group_id = group_id
        self.sequence: i64 = sequence
        self.offset: i64 = offset


def is_plain(handle: Handle, md: bytes, options: i64) -> bool:
    """Return True when a put has nothing to do with groups, so that the descriptor is stored unchanged."""
    if options & mq.MQPMO_LOGICAL_ORDER or handle.put_group.is_open():
        return False
    # Sequence number 1 and offset 0 in one word, no flags and no original length in the other.
    return (
        read_i64_le(md, GROUP_ID_AT) | read_i64_le(md, GROUP_ID_AT + 8) | read_i64_le(md, GROUP_ID_AT + 16) == 0
        and read_i64_le(md, SEQUENCE_NUMBER_AT) == 1
        and read_i64_le(md, FLAGS_AT) == -1 << 32
    )


def prepare_put(
    engine: Engine,
    handle: Handle,
    md: bytes,
    options: i64,
    body_bytes: i64,
    in_unit_of_work: bool,
    is_persistent: bool,
) -> PutPlan:
    """Check a put and complete its descriptor. Nothing changes before `record_put`."""
    given: i64 = read_i32(md, FLAGS_AT)
    if not _flags_are_known(handle, given):
        return _refuse(mq.MQRC_MSG_FLAGS_ERROR)
    flags: i64 = given
    if flags & mq.MQMF_LAST_MSG_IN_GROUP:
        flags |= mq.MQMF_MSG_IN_GROUP
    if flags & mq.MQMF_LAST_SEGMENT:
        flags |= mq.MQMF_SEGMENT
    state = handle.put_group
    length: i64 = mq.MQOL_UNDEFINED
    if flags & mq.MQMF_SEGMENT:
        reason: i64 = _length_reason(md, flags, body_bytes)
        if reason != 0:
            return _refuse(reason)
        length = read_i32(md, ORIGINAL_LENGTH_AT) if read_i32(md, MESSAGE_TYPE_AT) == mq.MQMT_REPORT else body_bytes
    conflict: i64 = _conflict(state, flags, in_unit_of_work, is_persistent) if state.is_open() else 0
    warning: i64 = 0
    if options & mq.MQPMO_LOGICAL_ORDER:
        if conflict != 0:
            return _refuse(conflict)
        position = _logical_position(engine, state, flags)
    else:
        position = _physical_position(engine, md, flags)
        if state.is_open() and state.by_logical_order:
            warning = conflict
            if warning == 0 and not state.continues(position.group_id, position.sequence, position.offset):
                warning = _incomplete(state)
    if position.sequence < 1 or position.sequence > _NUMBER_MAX:
        return _refuse(mq.MQRC_MSG_SEQ_NUMBER_ERROR)
    if position.offset < 0 or position.offset > _NUMBER_MAX or (length > 0 and position.offset + length > _NUMBER_MAX):
        return _refuse(mq.MQRC_OFFSET_ERROR)
    head = md[:GROUP_ID_AT] + position.group_id + i32_bytes(position.sequence) + i32_bytes(position.offset)
    end = i32_bytes(length)
    stored = head + i32_bytes(flags) + end
    answer = stored if flags == given else head + i32_bytes(given) + end
    return PutPlan(0, warning, stored, answer)


def _refuse(reason: i64) -> PutPlan:
    return PutPlan(reason, 0, b"", b"")


def _flags_are_known(handle: Handle, flags: i64) -> bool:
    """Return False when unknown flags must be refused. Their bits say whether they may be passed on, and where to."""
    unknown: i64 = flags & ~_KNOWN_FLAGS
    if unknown & mq.MQMF_REJECT_UNSUP_MASK:
        return False
    return not unknown & mq.MQMF_ACCEPT_UNSUP_IF_XMIT_MASK or handle.remote_manager != ""


def _length_reason(md: bytes, flags: i64, body_bytes: i64) -> i64:
    is_last: bool = flags & mq.MQMF_LAST_SEGMENT != 0
    if read_i32(md, MESSAGE_TYPE_AT) == mq.MQMT_REPORT:
        # A report about a segment has the segment's length; it may carry less of it, or nothing.
        original: i64 = read_i32(md, ORIGINAL_LENGTH_AT)
        if original < body_bytes or original < 0 or (original == 0 and not is_last):
            return mq.MQRC_ORIGINAL_LENGTH_ERROR
    elif body_bytes == 0 and not is_last:
        return mq.MQRC_SEGMENT_LENGTH_ZERO
    return 0


def _conflict(state: GroupState, flags: i64, in_unit_of_work: bool, is_persistent: bool) -> i64:
    """Return the reason why a message cannot continue the open group or logical message, or 0."""
    is_member: bool = flags & mq.MQMF_MSG_IN_GROUP != 0
    is_last_message: bool = flags & mq.MQMF_LAST_MSG_IN_GROUP != 0
    if state.in_segments:
        if not flags & mq.MQMF_SEGMENT or is_member != state.in_group or is_last_message != state.is_last_message:
            return mq.MQRC_INCOMPLETE_MSG
    elif not is_member:
        return mq.MQRC_INCOMPLETE_GROUP
    if is_persistent != state.is_persistent:
        return mq.MQRC_INCONSISTENT_PERSISTENCE
    if in_unit_of_work != state.in_unit_of_work:
        return mq.MQRC_INCONSISTENT_UOW
    return 0


def _incomplete(state: GroupState) -> i64:
    return mq.MQRC_INCOMPLETE_MSG if state.in_segments else mq.MQRC_INCOMPLETE_GROUP


def _logical_position(engine: Engine, state: GroupState, flags: i64) -> _GroupPosition:
    if state.is_open():
        return _GroupPosition(state.group_id, state.next_sequence(), state.next_offset())
    if flags & _KNOWN_FLAGS:
        return _GroupPosition(engine.new_id(), 1, 0)
    return _GroupPosition(NULL_ID, 1, 0)


def _physical_position(engine: Engine, md: bytes, flags: i64) -> _GroupPosition:
    if not flags & _KNOWN_FLAGS:
        return _GroupPosition(NULL_ID, 1, 0)
    group_id = md[GROUP_ID_AT : GROUP_ID_AT + 24]
    if group_id == NULL_ID:
        group_id = engine.new_id()
    sequence: i64 = read_i32(md, SEQUENCE_NUMBER_AT) if flags & mq.MQMF_MSG_IN_GROUP else 1
    offset: i64 = read_i32(md, OFFSET_AT) if flags & mq.MQMF_SEGMENT else 0
    return _GroupPosition(group_id, sequence, offset)


def record_put(handle: Handle, md: bytes, options: i64) -> None:
    """Update the group state of a handle after the put of a prepared descriptor."""
    handle.put_group.advance(md, options & mq.MQPMO_LOGICAL_ORDER != 0, options & mq.MQPMO_SYNCPOINT != 0)
