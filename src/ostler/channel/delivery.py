"""The last step of a channel: from a transmission queue message of the partner to a put on the queue it is for.

The message is as it lay on the partner's transmission queue: MQXQH, with the descriptor it was put with, and its data.
It is put as MQ's receiving end does it: with all its context, under the name the header gives, which may lead to
another transmission queue and so to a third queue manager. What cannot be put goes to the dead-letter queue, or is
discarded, with the reports that it asks for.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import BytesWriter, read_i32_le, write_i32_le
from mypy_extensions import i32, i64

from ostler.channel.dead_letter import NOT_DONE, DeadLetterCandidate, dead_letter_or_discard
from ostler.channel.sync_records import SYNC_QUEUE
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
from ostler.engine.put import put
from ostler.engine.queue.queue import RETAINED_QUEUE
from ostler.engine.unit_of_work import UnitOfWork
from ostler.model.constants import (
    MQFMT_MD_EXTENSION,
    MQMF_LAST_MSG_IN_GROUP,
    MQMF_LAST_SEGMENT,
    MQMF_MSG_IN_GROUP,
    MQMF_SEGMENT,
    MQMF_SEGMENTATION_ALLOWED,
    MQOO_ALTERNATE_USER_AUTHORITY,
    MQOO_OUTPUT,
    MQOO_SET_ALL_CONTEXT,
    MQOT_Q,
    MQPA_ALTERNATE_OR_MCA,
    MQPA_CONTEXT,
    MQPMO_NO_SYNCPOINT,
    MQPMO_SET_ALL_CONTEXT,
    MQPMO_SYNC_RESPONSE,
    MQPMO_SYNCPOINT,
    MQRC_BACKED_OUT,
    MQRC_HANDLE_NOT_AVAILABLE,
    MQRC_NOT_AUTHORIZED,
    MQRC_OBJECT_CHANGED,
    MQRC_PAGESET_FULL,
    MQRC_PUT_INHIBITED,
    MQRC_Q_DELETED,
    MQRC_Q_FULL,
    MQRC_Q_SPACE_NOT_AVAILABLE,
    MQRC_XQH_ERROR,
    MQRO_ACTIVITY,
    MQRO_COA_WITH_FULL_DATA,
    MQRO_COD_WITH_FULL_DATA,
    MQRO_DISCARD_MSG,
    MQRO_EXCEPTION_WITH_FULL_DATA,
    MQRO_EXPIRATION_WITH_FULL_DATA,
)
from ostler.model.definitions import Definition
from ostler.model.errors import MQError
from ostler.model.reasons import WARNINGS
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
# Where the queue manager keeps what it remembers: partners have no say in that.
_OWN_QUEUES: Final = (SYNC_QUEUE, RETAINED_QUEUE)
_OPENING: Final = MQOO_OUTPUT | MQOO_SET_ALL_CONTEXT
_OUTSIDE: Final = MQPMO_SET_ALL_CONTEXT | MQPMO_SYNC_RESPONSE | MQPMO_NO_SYNCPOINT
_WITHIN: Final = MQPMO_SET_ALL_CONTEXT | MQPMO_SYNC_RESPONSE | MQPMO_SYNCPOINT

_RETRIED: Final = (MQRC_Q_FULL, MQRC_PUT_INHIBITED, MQRC_PAGESET_FULL, MQRC_Q_SPACE_NOT_AVAILABLE)
_FLAGS: Final = (
    MQMF_SEGMENTATION_ALLOWED | MQMF_SEGMENT | MQMF_LAST_SEGMENT | MQMF_MSG_IN_GROUP | MQMF_LAST_MSG_IN_GROUP
)

# The options that have the queue manager itself send reports.
_REPORTS: Final = (
    MQRO_EXCEPTION_WITH_FULL_DATA
    | MQRO_EXPIRATION_WITH_FULL_DATA
    | MQRO_COA_WITH_FULL_DATA
    | MQRO_COD_WITH_FULL_DATA
    | MQRO_ACTIVITY
)


def has_header(body: bytes) -> bool:
    """Whether a message begins with a transmission header and the descriptor that belongs into it."""
    return len(body) >= XQH_BYTES and body[:8] == _HEADER_START and body[_MD_AT : _MD_AT + 8] == _MD_1_START


def queue_of(body: bytes) -> str:
    """The queue that a transmission message is for."""
    return field_text(body[_QUEUE_AT:_MANAGER_AT])


def may_retry(reason: i64) -> bool:
    """Whether a put that failed for this reason may succeed a little later, so that MRRTY applies."""
    return reason in _RETRIED


@final
class InboundDelivery:
    """Puts what comes over one channel. The queues it puts to stay open until `close`."""

    def __init__(self, engine: Engine, connection: Connection, channel: Definition) -> None:
        self.engine = engine
        self.connection = connection
        self.channel = channel
        self.by_context: bool = channel.attributes.get("PUTAUT") in (MQPA_CONTEXT, MQPA_ALTERNATE_OR_MCA)
        self.disposal: i64 = NOT_DONE  # what `dead_letter` did last: DEAD_LETTERED or DISCARDED
        self._handles: dict[bytes, Handle] = {}  # by queue, queue manager and, with PUTAUT(CTX), user
        self._version: i64 = engine.definitions_version  # of the definitions that the names were resolved with
        self._refusal: i64 = 0
        self.refusal_text: str = ""  # which authority was missing, when the last put was refused with 2035
        # Who may do everything may have reports sent everywhere.
        self._checks_reports: bool = engine.guard is not None and not connection.is_privileged

    def put(self, body: bytes, expiry: i64, unit: UnitOfWork | None) -> i64:
        """Put a message: 0, or the reason why it was refused, and then nothing has changed.

        `expiry` is what is left of its life in tenths of a second, -1 without end. Without a unit of work it is put
        outside syncpoint; `connection.after_lsn` then says when the put may be called done.
        """
        self.connection.after_lsn = 0
        if not has_header(body):
            return MQRC_XQH_ERROR
        try:
            md, data = _unwrapped(body, expiry)
        except MQError as error:
            return error.reason
        if self._checks_reports and i64(read_i32_le(md, REPORT_AT)) & _REPORTS and not self._may_have_reports(md):
            return MQRC_NOT_AUTHORIZED
        key = body[_QUEUE_AT:_MD_AT]
        if self.by_context:
            key += body[_USER_AT:_USER_END]
        if self._version != self.engine.definitions_version:
            self.close()  # names may lead elsewhere now
        handle = self._handles.get(key)
        if handle is not None:
            reason: i64 = self._put(handle, md, data, unit)
            if reason != MQRC_Q_DELETED and reason != MQRC_OBJECT_CHANGED:
                return reason
            del self._handles[key]
            close_object(self.engine, self.connection, handle, 0)
        handle = self._open(key, body)
        return self._refusal if handle is None else self._put(handle, md, data, unit)

    def _put(self, handle: Handle, md: bytes, data: bytes, unit: UnitOfWork | None) -> i64:
        connection = self.connection
        before = connection.unit_of_work
        connection.unit_of_work = unit
        options: i64 = _OUTSIDE if unit is None else _WITHIN
        try:
            reason: i64 = put(self.engine, connection, handle, md, options, b"", data, None)
        except MQError as error:
            reason = error.reason
        finally:
            connection.unit_of_work = before
        if reason == 0 or reason == MQRC_BACKED_OUT:  # which is a warning for a commit only
            return reason
        return 0 if reason in WARNINGS else reason

    def _open(self, key: bytes, body: bytes) -> Handle | None:
        """Open the queue that a message is for. None: `_refusal` says why not."""
        request = OpenRequest(MQOT_Q, queue_of(body), _OPENING)
        request.manager_name = field_text(body[_MANAGER_AT:_MD_AT])
        if self.by_context:
            request.options |= MQOO_ALTERNATE_USER_AUTHORITY
            request.alternate_user = body[_USER_AT:_USER_END].decode("utf-8", "replace").rstrip(" \0")
        if len(self._handles) >= _HANDLES_MAX:
            oldest = next(iter(self._handles))
            close_object(self.engine, self.connection, self._handles.pop(oldest), 0)
        request.may_make_queue = False  # nobody would know its name
        try:
            handle = self._try_open(request)
            if handle.queue is not None and handle.queue.name in _OWN_QUEUES:
                close_object(self.engine, self.connection, handle, 0)
                raise MQError(MQRC_NOT_AUTHORIZED, f"Nobody else's word counts on {handle.queue.name}.")
        except MQError as error:
            self._refusal = error.reason
            self.refusal_text = error.detail
            return None
        self._handles[key] = handle
        return handle

    def _try_open(self, request: OpenRequest) -> Handle:
        try:
            return open_object(self.engine, self.connection, request)
        except MQError as error:
            if error.reason != MQRC_HANDLE_NOT_AVAILABLE or not self._handles:
                raise
        self.close()
        return open_object(self.engine, self.connection, request)

    def dead_letter(self, body: bytes, expiry: i64, reason: i64, unit: UnitOfWork | None) -> i64:
        """Have done with a message that `put` refused for this reason: 0, or why the channel cannot go on.

        It goes to the dead-letter queue, unless its report options or the channel say that it is to be discarded; the
        report of the exception goes out, if it asks for one. `disposal` says which it was.
        """
        self.connection.after_lsn = 0
        self.disposal = NOT_DONE
        if not has_header(body):
            return reason
        item = _undelivered(body, expiry)
        report: i64 = i64(read_i32_le(item.md, REPORT_AT))
        if self._checks_reports and report & _REPORTS and not self._may_have_reports(item.md):
            item.md = patch_i32(item.md, REPORT_AT, report & MQRO_DISCARD_MSG)
        refused, self.disposal = dead_letter_or_discard(self.engine, self.connection, self.channel, item, reason, unit)
        return refused

    def _may_have_reports(self, md: bytes) -> bool:
        """Whether reports on a message may go to its reply-to queue.

        They are put with the authority of the user in the descriptor, which the partner chooses: where it names an
        administrator, the channel's own user must be allowed to put them there.
        """
        engine, guard = self.engine, self.engine.guard
        queue = field_text(md[REPLY_QUEUE_AT:REPLY_MANAGER_AT])
        user = md[CONTEXT_AT : CONTEXT_AT + 12].decode("utf-8", "replace").rstrip(" \0")
        if guard is None or queue == "" or not guard.is_administrator(user):
            return True
        request = OpenRequest(MQOT_Q, queue, MQOO_OUTPUT)
        request.manager_name = field_text(md[REPLY_MANAGER_AT:CONTEXT_AT])
        request.may_make_queue = False
        try:
            close_object(engine, self.connection, open_object(engine, self.connection, request), 0)
        except MQError as error:
            self.refusal_text = f"{error.detail} It asks for reports there in the name of {user}, an administrator."
            return False
        return True

    def close(self) -> None:
        """Close the queues, so that others may delete them; the next put opens its queue again."""
        for handle in self._handles.values():
            close_object(self.engine, self.connection, handle, 0)
        self._handles.clear()
        self._version = self.engine.definitions_version


def mca_user_advice(channel: str, address: str = "") -> str:
    """The commands that say as whom a receiving channel puts messages, as advice for the error log."""
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
) -> tuple[i64, i64]:
    """Have done with a message that cannot be sent: 0 and what was done (DEAD_LETTERED, DISCARDED), or why nothing was.

    `md` and `body` are as they were got from the transmission queue. Without a transmission header the message is
    dead-lettered as it is; with one, as what it was before.
    """
    connection.after_lsn = 0
    if has_header(body):
        item = _undelivered(body, i64(read_i32_le(md, EXPIRY_AT)))
    else:
        item = DeadLetterCandidate(transmission_queue, engine.name, md, body)
    return dead_letter_or_discard(engine, connection, channel, item, reason, unit)


def _undelivered(body: bytes, expiry: i64) -> DeadLetterCandidate:
    """A message as it goes on the dead-letter queue. An extension that makes no sense stays in front of the data."""
    queue_name = queue_of(body)
    manager_name = field_text(body[_MANAGER_AT:_MD_AT])
    try:
        md, data = _unwrapped(body, expiry)
        if _is_sensible(md):
            return DeadLetterCandidate(queue_name, manager_name, md, data)
    except MQError:
        pass
    return DeadLetterCandidate(queue_name, manager_name, _descriptor(body, expiry), body[XQH_BYTES:])


def _is_sensible(md: bytes) -> bool:
    return (
        i64(read_i32_le(md, FLAGS_AT)) & ~_FLAGS == 0
        and read_i32_le(md, SEQUENCE_NUMBER_AT) >= 1
        and read_i32_le(md, OFFSET_AT) >= 0
        and read_i32_le(md, ORIGINAL_LENGTH_AT) >= -1
    )


def _unwrapped(body: bytes, expiry: i64) -> tuple[bytes, bytes]:
    """The version 2 descriptor of a message and its data, without header and extension. MQError: it is no extension."""
    md = _descriptor(body, expiry)
    data = body[XQH_BYTES:]
    if body[_FORMAT_IN_BODY:_FORMAT_END] == MQFMT_MD_EXTENSION:
        return without_extension(md, data)
    return md, data


def _descriptor(body: bytes, expiry: i64) -> bytes:
    if expiry == -1 and read_i32_le(body, _EXPIRY_IN_BODY) == -1:
        return _MD_2_START + body[_MD_AT + 8 : XQH_BYTES] + PLAIN_TAIL
    writer = BytesWriter()
    writer.write(_MD_2_START)
    writer.write(body[_MD_AT + 8 : _EXPIRY_IN_BODY])
    write_i32_le(writer, i32(expiry) if expiry != 0 else 1)  # what is just about to expire has not yet
    writer.write(body[_EXPIRY_IN_BODY + 4 : XQH_BYTES])
    writer.write(PLAIN_TAIL)
    return writer.getvalue()
