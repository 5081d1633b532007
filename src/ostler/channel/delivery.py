"""Delivery by a receiving MCA: puts messages from the partner's transmission queue on their target queues.

A message has the form it had on the partner's transmission queue: MQXQH with the original descriptor, then the data. It
is put with all its context (MQPMO_SET_ALL_CONTEXT) under the names in the header, which may resolve to another
transmission queue and so to a third queue manager. A message that cannot be put is dead-lettered or discarded, with
the reports that it asks for.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import BytesWriter, read_i32_le, write_i32_le
from mypy_extensions import i32, i64

from ostler.channel.dead_letter import NOT_DONE, DeadLetterCandidate, dead_letter_or_discard
from ostler.channel.sync_records import GROUP_SYNC_QUEUE, SYNC_QUEUE
from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.events.reports import field_text
from ostler.engine.handle import Handle
from ostler.engine.message.message import (
    CONTEXT_AT,
    EXPIRY_AT,
    FLAGS_AT,
    FORMAT_AT,
    OFFSET_AT,
    ORIGINAL_LENGTH_AT,
    PRIORITY_AT,
    REPLY_MANAGER_AT,
    REPLY_QUEUE_AT,
    REPORT_AT,
    SEQUENCE_NUMBER_AT,
    patch_i32,
)
from ostler.engine.message.mqmde import PLAIN_TAIL, without_extension
from ostler.engine.open import OpenRequest, close_object, open_object
from ostler.engine.outcomes import PutOutcome, refused_put
from ostler.engine.put import put
from ostler.engine.queue.queue import RETAINED_QUEUE
from ostler.engine.unit_of_work import UnitOfWork
from ostler.model import constants as mq
from ostler.model.definitions import Definition
from ostler.model.errors import MQError
from ostler.wire.channel_frames import XQH_BYTES, XQH_MD_AT

_QUEUE_AT: Final = 8
_MANAGER_AT: Final = 56
_MD_AT: Final = XQH_MD_AT
_USER_AT: Final = _MD_AT + CONTEXT_AT
_USER_END: Final = _USER_AT + 12

_HEADER_START: Final = b"XQH \x01\0\0\0"
_MD_1_START: Final = b"MD  \x01\0\0\0"
_MD_2_START: Final = b"MD  \x02\0\0\0"
_EXPIRY_IN_BODY: Final = _MD_AT + EXPIRY_AT
_FORMAT_IN_BODY: Final = _MD_AT + FORMAT_AT
_FORMAT_END: Final = _MD_AT + PRIORITY_AT

_HANDLES_MAX: Final = 64
# The queue manager keeps its own state on these queues: partners may not put there.
_OWN_QUEUES: Final = (SYNC_QUEUE, GROUP_SYNC_QUEUE, RETAINED_QUEUE)
_OPEN_OPTIONS: Final = mq.MQOO_OUTPUT | mq.MQOO_SET_ALL_CONTEXT
_PUT_OUTSIDE_SYNCPOINT: Final = mq.MQPMO_SET_ALL_CONTEXT | mq.MQPMO_SYNC_RESPONSE | mq.MQPMO_NO_SYNCPOINT
_PUT_IN_SYNCPOINT: Final = mq.MQPMO_SET_ALL_CONTEXT | mq.MQPMO_SYNC_RESPONSE | mq.MQPMO_SYNCPOINT

_RETRYABLE_REASONS: Final = (mq.MQRC_Q_FULL, mq.MQRC_PUT_INHIBITED, mq.MQRC_PAGESET_FULL, mq.MQRC_Q_SPACE_NOT_AVAILABLE)
_VALID_FLAGS: Final = (
    mq.MQMF_SEGMENTATION_ALLOWED
    | mq.MQMF_SEGMENT
    | mq.MQMF_LAST_SEGMENT
    | mq.MQMF_MSG_IN_GROUP
    | mq.MQMF_LAST_MSG_IN_GROUP
)

# The report options that this queue manager acts on.
_REPORTS: Final = (
    mq.MQRO_EXCEPTION_WITH_FULL_DATA
    | mq.MQRO_EXPIRATION_WITH_FULL_DATA
    | mq.MQRO_COA_WITH_FULL_DATA
    | mq.MQRO_COD_WITH_FULL_DATA
    | mq.MQRO_ACTIVITY
)


def has_header(body: bytes) -> bool:
    """Return True if a message begins with MQXQH and the version 1 descriptor in it."""
    return len(body) >= XQH_BYTES and body[:8] == _HEADER_START and body[_MD_AT : _MD_AT + 8] == _MD_1_START


def queue_of(body: bytes) -> str:
    """Return the target queue of a transmission queue message."""
    return field_text(body[_QUEUE_AT:_MANAGER_AT])


def may_retry(reason: i64) -> bool:
    """Return True if a put that failed with this reason may succeed later, so that MRRTY applies."""
    return reason in _RETRYABLE_REASONS


@final
class InboundDelivery:
    """Puts the messages of one channel. The queues it puts to stay open until `close`."""

    def __init__(self, engine: Engine, connection: Connection, channel: Definition) -> None:
        self.engine = engine
        self.connection = connection
        self.channel = channel
        self.by_context: bool = channel.attributes.get("PUTAUT") in (mq.MQPA_CONTEXT, mq.MQPA_ALTERNATE_OR_MCA)
        self.disposal: i64 = NOT_DONE  # the last action of `dead_letter`: DEAD_LETTERED or DISCARDED
        self.dead_letter_outcome: PutOutcome | None = None  # of `dead_letter`, if the dead-letter queue is shared
        self._handles: dict[bytes, Handle] = {}  # by queue, queue manager and, with PUTAUT(CTX), user
        self._version: i64 = engine.definitions_version  # of the definitions that the open handles were resolved with
        self.refusal_text: str = ""  # names the missing authority if the last put failed with MQRC_NOT_AUTHORIZED
        # A privileged user may have reports sent to any queue.
        self._checks_reports: bool = engine.guard is not None and not connection.is_privileged

    def put(self, body: bytes, expiry: i64, unit: UnitOfWork | None) -> PutOutcome:
        """Put a message. Its reason is 0, or that of a refusal, without any change; never a warning.

        A put to a shared queue has a task; when that is done, `has_failed` tells.
        `expiry` is the remaining time of the message in tenths of a second, -1 if it is unlimited. Without a unit of
        work the message is put outside syncpoint.
        """
        if not has_header(body):
            return refused_put(MQError(mq.MQRC_XQH_ERROR))
        try:
            md, data = _remove_header(body, expiry)
        except MQError as error:
            return refused_put(error)
        if self._checks_reports and i64(read_i32_le(md, REPORT_AT)) & _REPORTS and not self._may_send_reports(md):
            return refused_put(MQError(mq.MQRC_NOT_AUTHORIZED))
        key = body[_QUEUE_AT:_MD_AT]
        if self.by_context:
            key += body[_USER_AT:_USER_END]
        if self._version != self.engine.definitions_version:
            self.close()  # names may resolve differently now
        handle = self._handles.get(key)
        if handle is not None:
            outcome = self._put(handle, md, data, unit)
            if outcome.reason != mq.MQRC_Q_DELETED and outcome.reason != mq.MQRC_OBJECT_CHANGED:
                return outcome
            del self._handles[key]
            close_object(self.engine, self.connection, handle, 0)
        try:
            handle = self._open(key, body)
        except MQError as error:
            self.refusal_text = error.detail
            return refused_put(error)
        return self._put(handle, md, data, unit)

    def _put(self, handle: Handle, md: bytes, data: bytes, unit: UnitOfWork | None) -> PutOutcome:
        connection = self.connection
        before = connection.unit_of_work
        connection.unit_of_work = unit
        options: i64 = _PUT_OUTSIDE_SYNCPOINT if unit is None else _PUT_IN_SYNCPOINT
        try:
            outcome = put(self.engine, connection, handle, md, options, b"", data, None)
        except MQError as error:
            outcome = refused_put(error)
        finally:
            connection.unit_of_work = before
        if outcome.reason != 0 and not outcome.has_failed():
            outcome.reason = 0  # the partner is told of no warnings
        return outcome

    def _open(self, key: bytes, body: bytes) -> Handle:
        """Open the target queue of a message. MQError if that fails."""
        request = OpenRequest(mq.MQOT_Q, queue_of(body), _OPEN_OPTIONS)
        request.manager_name = field_text(body[_MANAGER_AT:_MD_AT])
        if self.by_context:
            request.options |= mq.MQOO_ALTERNATE_USER_AUTHORITY
            request.alternate_user = body[_USER_AT:_USER_END].decode("utf-8", "replace").rstrip(" \0")
        if len(self._handles) >= _HANDLES_MAX:
            oldest = next(iter(self._handles))
            close_object(self.engine, self.connection, self._handles.pop(oldest), 0)
        request.may_make_queue = False  # the partner would never learn the name of a dynamic queue
        handle = self._try_open(request)
        if handle.queue is not None and handle.queue.name in _OWN_QUEUES:
            close_object(self.engine, self.connection, handle, 0)
            raise MQError(mq.MQRC_NOT_AUTHORIZED, f"Partners may not put to {handle.queue.name}.")
        self._handles[key] = handle
        return handle

    def _try_open(self, request: OpenRequest) -> Handle:
        try:
            return open_object(self.engine, self.connection, request)
        except MQError as error:
            if error.reason != mq.MQRC_HANDLE_NOT_AVAILABLE or not self._handles:
                raise
        self.close()
        return open_object(self.engine, self.connection, request)

    def dead_letter(self, body: bytes, expiry: i64, reason: i64, unit: UnitOfWork | None) -> i64:
        """Dead-letter or discard a message whose `put` failed. Return 0, or the reason code that ends the channel.

        `dead_letter.py` describes the choice; `disposal` is the action. An exception report is sent if the message asks
        for one.
        """
        self.disposal = NOT_DONE
        self.dead_letter_outcome = None
        if not has_header(body):
            return reason
        item = _candidate(body, expiry)
        report: i64 = i64(read_i32_le(item.md, REPORT_AT))
        if self._checks_reports and report & _REPORTS and not self._may_send_reports(item.md):
            item.md = patch_i32(item.md, REPORT_AT, report & mq.MQRO_DISCARD_MSG)
        refused, self.disposal = dead_letter_or_discard(self.engine, self.connection, self.channel, item, reason, unit)
        self.dead_letter_outcome = item.outcome
        return refused

    def _may_send_reports(self, md: bytes) -> bool:
        """Return True if reports on a message may go to its reply-to queue.

        Reports are put with the authority of the user in the descriptor, which the partner chooses. If that is an
        administrator, the channel's own user must have authority to put to the reply-to queue.
        """
        engine, guard = self.engine, self.engine.guard
        queue = field_text(md[REPLY_QUEUE_AT:REPLY_MANAGER_AT])
        user = md[CONTEXT_AT : CONTEXT_AT + 12].decode("utf-8", "replace").rstrip(" \0")
        if guard is None or queue == "" or not guard.is_administrator(user):
            return True
        request = OpenRequest(mq.MQOT_Q, queue, mq.MQOO_OUTPUT)
        request.manager_name = field_text(md[REPLY_MANAGER_AT:CONTEXT_AT])
        request.may_make_queue = False
        try:
            close_object(engine, self.connection, open_object(engine, self.connection, request), 0)
        except MQError as error:
            self.refusal_text = (
                f"{error.detail} The message asks for reports there in the name of {user}, an administrator."
            )
            return False
        return True

    def close(self) -> None:
        """Close the queues, so that they may be deleted. The next put opens its queue again."""
        for handle in self._handles.values():
            close_object(self.engine, self.connection, handle, 0)
        self._handles.clear()
        self._version = self.engine.definitions_version


def mca_user_advice(channel: str, address: str = "") -> str:
    """Return the commands that set the user of a receiving MCA, as advice for the error log."""
    where = f" ADDRESS('{address}')" if address else ""
    return (
        f"SET CHLAUTH({channel}) TYPE(QMGRMAP) QMNAME('...'){where} USERSRC(MAP) MCAUSER('...') names a user for it; "
        f"with USERSRC(CHANNEL) and no MCAUSER it puts with all authority of the queue manager."
    )


def dead_letter_unsent(
    engine: Engine,
    connection: Connection,
    md: bytes,
    body: bytes,
    reason: i64,
    unit: UnitOfWork | None,
    channel: Definition | None = None,
    transmission_queue: str = "",
    outcomes: list[PutOutcome] | None = None,
) -> tuple[i64, i64]:
    """Dead-letter or discard a message that cannot be sent. Return 0 and the action, or the reason code.

    The outcome of a put to a shared dead-letter queue is added to `outcomes`.

    `md` and `body` are those of the transmission queue message. A message with a transmission header is dead-lettered
    in its original form, without the header.
    """
    if has_header(body):
        item = _candidate(body, i64(read_i32_le(md, EXPIRY_AT)))
    else:
        item = DeadLetterCandidate(transmission_queue, engine.name, md, body)
    refused, disposal = dead_letter_or_discard(engine, connection, channel, item, reason, unit)
    if item.outcome is not None and outcomes is not None:
        outcomes.append(item.outcome)
    return refused, disposal


def _candidate(body: bytes, expiry: i64) -> DeadLetterCandidate:
    """Return a message as it goes on the dead-letter queue. An invalid MQMDE stays in front of the data."""
    queue_name = queue_of(body)
    manager_name = field_text(body[_MANAGER_AT:_MD_AT])
    try:
        md, data = _remove_header(body, expiry)
        if _has_valid_extension(md):
            return DeadLetterCandidate(queue_name, manager_name, md, data)
    except MQError:
        pass
    return DeadLetterCandidate(queue_name, manager_name, _descriptor(body, expiry), body[XQH_BYTES:])


def _has_valid_extension(md: bytes) -> bool:
    return (
        i64(read_i32_le(md, FLAGS_AT)) & ~_VALID_FLAGS == 0
        and read_i32_le(md, SEQUENCE_NUMBER_AT) >= 1
        and read_i32_le(md, OFFSET_AT) >= 0
        and read_i32_le(md, ORIGINAL_LENGTH_AT) >= -1
    )


def _remove_header(body: bytes, expiry: i64) -> tuple[bytes, bytes]:
    """Return the version 2 descriptor and the data, without MQXQH and MQMDE. MQError if the MQMDE is invalid."""
    md = _descriptor(body, expiry)
    data = body[XQH_BYTES:]
    if body[_FORMAT_IN_BODY:_FORMAT_END] == mq.MQFMT_MD_EXTENSION:
        return without_extension(md, data)
    return md, data


def _descriptor(body: bytes, expiry: i64) -> bytes:
    if expiry == -1 and read_i32_le(body, _EXPIRY_IN_BODY) == -1:
        return _MD_2_START + body[_MD_AT + 8 : XQH_BYTES] + PLAIN_TAIL
    writer = BytesWriter()
    writer.write(_MD_2_START)
    writer.write(body[_MD_AT + 8 : _EXPIRY_IN_BODY])
    write_i32_le(writer, i32(expiry) if expiry != 0 else 1)  # it has not expired yet
    writer.write(body[_EXPIRY_IN_BODY + 4 : XQH_BYTES])
    writer.write(PLAIN_TAIL)
    return writer.getvalue()
