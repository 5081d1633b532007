"""Dead-lettering of messages that a channel cannot deliver.

    report options      USEDLQ, put to DEADQ   NPMSPEED, persistence   action
    MQRO_DISCARD_MSG    any                    any                     discarded
    -                   YES, succeeds          any                     put on the dead-letter queue
    -                   NO, or fails           FAST, non-persistent    discarded
    -                   NO, or fails           other                   none: the channel ends

The first three actions also send the exception report, if the message asks for one.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import read_i32_le
from mypy_extensions import i64

from ostler.engine.connection import Connection
from ostler.engine.core import LOG_FULL, Engine
from ostler.engine.events import reports
from ostler.engine.handle import Handle
from ostler.engine.message.message import PERSISTENCE_AT, PRIORITY_AT, REPORT_AT, Message, patch_i32
from ostler.engine.open import OpenRequest, close_object, open_object
from ostler.engine.outcomes import PutOutcome
from ostler.engine.queue.delivery import check_admission, deliver, send_own_messages
from ostler.engine.queue.transmission import address_intra_group, transmission_message
from ostler.engine.shared.puts import put_own
from ostler.engine.shared.units import is_full
from ostler.engine.unit_of_work import UnitOfWork
from ostler.model import constants as mq
from ostler.model.definitions import Definition
from ostler.model.errors import MQError

NOT_DONE: Final = 0
DEAD_LETTERED: Final = 1
DISCARDED: Final = 2

# Reasons that have another cause than the message: the channel ends, and the message is sent again.
_UNRELATED_REASONS: Final = (
    mq.MQRC_BACKED_OUT,
    mq.MQRC_CF_NOT_AVAILABLE,
    mq.MQRC_CONNECTION_BROKEN,
    mq.MQRC_CONNECTION_QUIESCING,
    mq.MQRC_CONNECTION_STOPPING,
    mq.MQRC_HANDLE_NOT_AVAILABLE,
    mq.MQRC_Q_MGR_QUIESCING,
    mq.MQRC_Q_MGR_STOPPING,
    mq.MQRC_RESOURCE_PROBLEM,
    mq.MQRC_SYNCPOINT_LIMIT_REACHED,
)
_PRIORITY_MAX: Final = 9


@final
class DeadLetterCandidate:
    """A message that could not be delivered, with a version 2 descriptor, and its destination."""

    def __init__(self, queue_name: str, manager_name: str, md: bytes, body: bytes) -> None:
        self.queue_name = queue_name
        self.manager_name = manager_name
        self.md = _with_valid_fields(md)
        self.body = body
        self.outcome: PutOutcome | None = None  # of the put to a shared dead-letter queue


def _with_valid_fields(md: bytes) -> bytes:
    """Return the descriptor with valid priority and persistence: the partner may send any numbers."""
    priority: i64 = i64(read_i32_le(md, PRIORITY_AT))
    if priority < 0:
        md = patch_i32(md, PRIORITY_AT, 0)
    elif priority > _PRIORITY_MAX:
        md = patch_i32(md, PRIORITY_AT, _PRIORITY_MAX)
    persistence: i64 = i64(read_i32_le(md, PERSISTENCE_AT))
    if persistence != 0 and persistence != 1:
        md = patch_i32(md, PERSISTENCE_AT, 1)  # persistent, since the message does not allow its loss
    return md


def dead_letter_or_discard(
    engine: Engine,
    connection: Connection,
    channel: Definition | None,
    item: DeadLetterCandidate,
    reason: i64,
    unit: UnitOfWork | None,
) -> tuple[i64, i64]:
    """Handle a message by the table above. Return 0 and the action, or the reason for which nothing was done."""
    if reason in _UNRELATED_REASONS:
        return reason, NOT_DONE
    done: i64 = DISCARDED
    if not i64(read_i32_le(item.md, REPORT_AT)) & mq.MQRO_DISCARD_MSG:
        refused: i64 = reason
        if engine.dead_letter_queue and (channel is None or channel.attributes.get("USEDLQ") != mq.MQUSEDLQ_NO):
            refused = _put_on_dead_letter_queue(engine, connection, item, reason, unit)
        if refused == 0:
            done = DEAD_LETTERED
        elif refused in _UNRELATED_REASONS or not _may_be_lost(channel, item):
            return refused, NOT_DONE
    message = Message(item.md, b"", item.body, 0)
    send_own_messages(engine, reports.on_exception(engine, message, reason), unit)
    return 0, done


def _may_be_lost(channel: Definition | None, item: DeadLetterCandidate) -> bool:
    is_fast: bool = channel is not None and channel.attributes.get("NPMSPEED") == mq.MQNPMS_FAST
    return is_fast and read_i32_le(item.md, PERSISTENCE_AT) == 0


def _put_on_dead_letter_queue(
    engine: Engine, connection: Connection, item: DeadLetterCandidate, reason: i64, unit: UnitOfWork | None
) -> i64:
    """Put a message on the dead-letter queue with the authority of the channel's user. Return 0 or the reason code."""
    request = OpenRequest(mq.MQOT_Q, engine.dead_letter_queue, mq.MQOO_OUTPUT | mq.MQOO_SET_ALL_CONTEXT)
    try:
        handle = open_object(engine, connection, request)
    except MQError as error:
        return error.reason
    try:
        outgoing = reports.Outgoing(item.queue_name, item.manager_name, item.md, item.body, True)
        md, body = reports.dead_letter(engine, outgoing, reason)
        return _enqueue(engine, handle, item, md, body, unit)
    finally:
        close_object(engine, connection, handle, 0)


def _enqueue(
    engine: Engine, handle: Handle, item: DeadLetterCandidate, md: bytes, body: bytes, unit: UnitOfWork | None
) -> i64:
    """Enqueue without the checks of MQPUT, since an invalid descriptor may be the reason for the dead-lettering."""
    queue = handle.queue
    if queue is None:
        return mq.MQRC_OBJECT_TYPE_ERROR
    if not queue.put_allowed or not handle.put_allowed_by_alias:
        return mq.MQRC_PUT_INHIBITED
    if handle.remote_manager:
        md, body = transmission_message(engine, handle.remote_queue, handle.remote_manager, md, b"", body)
        md = address_intra_group(queue.name, handle.remote_manager, md)
    if unit is not None:
        if unit.backed_out_by_system:
            return mq.MQRC_BACKED_OUT
        if is_full(engine, unit):
            return mq.MQRC_SYNCPOINT_LIMIT_REACHED
    if queue.is_shared:
        item.outcome = put_own(engine, queue, md, body, unit)
        return item.outcome.reason if item.outcome.task is None else 0
    reason: i64 = check_admission(engine, queue, len(body), read_i32_le(md, PERSISTENCE_AT) == 1)
    if reason == 0:
        deliver(engine, queue, md, b"", body, unit)
    return mq.MQRC_RESOURCE_PROBLEM if reason == LOG_FULL else reason
