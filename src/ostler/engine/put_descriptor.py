"""Checks of the descriptor and options of a put, and the descriptor that is stored with the message."""

from __future__ import annotations

from typing import Final

from librt.strings import BytesWriter, read_i32_le, read_i64_le, write_i32_le
from mypy_extensions import i32, i64

from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.events import reports
from ostler.engine.handle import Handle
from ostler.engine.message.message import (
    BACKOUT_COUNT_AT,
    CCSID_AT,
    CONTEXT_AT,
    CORRELATION_ID_AT,
    EXPIRY_AT,
    FEEDBACK_AT,
    FORMAT_AT,
    GROUP_ID_AT,
    MESSAGE_ID_AT,
    MESSAGE_TYPE_AT,
    NULL_ID,
    PERSISTENCE_AT,
    PRIORITY_AT,
    REPLY_QUEUE_AT,
    REPORT_AT,
)
from ostler.model import constants as mq

_ALL_OPTIONS: Final = 0x3FFFFFFF
_CONTEXTS: Final = (
    mq.MQPMO_DEFAULT_CONTEXT
    | mq.MQPMO_NO_CONTEXT
    | mq.MQPMO_PASS_IDENTITY_CONTEXT
    | mq.MQPMO_PASS_ALL_CONTEXT
    | mq.MQPMO_SET_IDENTITY_CONTEXT
    | mq.MQPMO_SET_ALL_CONTEXT
)
OTHER_CONTEXTS: Final = _CONTEXTS & ~mq.MQPMO_DEFAULT_CONTEXT
# The right to set context includes the right to pass it, and all context includes identity context.
_ALLOWS_ANY_CONTEXT: Final = (
    mq.MQOO_PASS_IDENTITY_CONTEXT | mq.MQOO_PASS_ALL_CONTEXT | mq.MQOO_SET_IDENTITY_CONTEXT | mq.MQOO_SET_ALL_CONTEXT
)
_ZERO: Final = bytes(4)
_NO_NAME: Final = b" " * 48
_NO_REPLY: Final = bytes(4) + _NO_NAME * 2  # back-out count, ReplyToQ and ReplyToQMgr
RESOLVED: Final = [
    [priority.to_bytes(4, "little") + persistence.to_bytes(4, "little") for priority in range(10)]
    for persistence in range(2)
]
PRIORITY_MAX: Final = 9


def check_options(handle: Handle, options: i64) -> i64:
    contexts: i64 = options & _CONTEXTS
    responses: i64 = options & (mq.MQPMO_ASYNC_RESPONSE | mq.MQPMO_SYNC_RESPONSE)
    syncpoint: i64 = options & (mq.MQPMO_SYNCPOINT | mq.MQPMO_NO_SYNCPOINT)
    if (
        options & ~_ALL_OPTIONS
        or options & 0x19
        or contexts & (contexts - 1)
        or responses & (responses - 1)
        or syncpoint & (syncpoint - 1)
    ):
        return mq.MQRC_OPTIONS_ERROR
    opened: i64 = handle.options
    if contexts == mq.MQPMO_PASS_IDENTITY_CONTEXT and not opened & _ALLOWS_ANY_CONTEXT:
        return mq.MQRC_NOT_OPEN_FOR_PASS_IDENT
    if contexts == mq.MQPMO_PASS_ALL_CONTEXT and not opened & (mq.MQOO_PASS_ALL_CONTEXT | mq.MQOO_SET_ALL_CONTEXT):
        return mq.MQRC_NOT_OPEN_FOR_PASS_ALL
    if contexts == mq.MQPMO_SET_IDENTITY_CONTEXT and not opened & (
        mq.MQOO_SET_IDENTITY_CONTEXT | mq.MQOO_SET_ALL_CONTEXT
    ):
        return mq.MQRC_NOT_OPEN_FOR_SET_IDENT
    if contexts == mq.MQPMO_SET_ALL_CONTEXT and not opened & mq.MQOO_SET_ALL_CONTEXT:
        return mq.MQRC_NOT_OPEN_FOR_SET_ALL
    return mq.MQRC_NONE


def check_descriptor(md: bytes, is_remote: bool) -> i64:
    """Check the fields of a descriptor in the order in which MQ checks them. Returns 0 or a reason."""
    report: i64 = i64(read_i32_le(md, REPORT_AT))
    if report != 0:
        reason: i64 = reports.report_options_reason(report, is_remote)
        if reason == mq.MQRC_REPORT_OPTIONS_ERROR:
            return reason
    message_type: i64 = i64(read_i32_le(md, MESSAGE_TYPE_AT))
    if message_type != mq.MQMT_DATAGRAM:
        if message_type < mq.MQMT_SYSTEM_FIRST or message_type > mq.MQMT_APPL_LAST:
            return mq.MQRC_MSG_TYPE_ERROR
        if message_type == mq.MQMT_REQUEST and md[REPLY_QUEUE_AT] in (0, 32):
            return mq.MQRC_MISSING_REPLY_TO_Q
    expiry: i64 = i64(read_i32_le(md, EXPIRY_AT))
    if expiry != -1 and expiry <= 0:
        return mq.MQRC_EXPIRY_ERROR
    if read_i32_le(md, FEEDBACK_AT) < 0:
        return mq.MQRC_FEEDBACK_ERROR
    if read_i32_le(md, PRIORITY_AT) < -1:
        return mq.MQRC_PRIORITY_ERROR
    persistence: i64 = i64(read_i32_le(md, PERSISTENCE_AT))
    if persistence < 0 or persistence > 2:
        return mq.MQRC_PERSISTENCE_ERROR
    if report != 0 and md[REPLY_QUEUE_AT] in (0, 32) and report & reports.REPLY_OPTIONS:
        return mq.MQRC_MISSING_REPLY_TO_Q
    return mq.MQRC_NONE


def message_context(engine: Engine, connection: Connection, md: bytes, options: i64, source: Handle | None) -> bytes:
    """Return the 128 bytes of identity and origin context; empty when the handle to pass them from is missing."""
    stamp = engine.put_clock.stamp(engine.wall_ms())
    if not options & OTHER_CONTEXTS:
        if stamp is not connection.context_stamp:
            connection.context_stamp = stamp
            connection.default_context = connection.identity_context + connection.origin_prefix + stamp + b"    "
        return connection.default_context
    origin = connection.origin_prefix + stamp + b"    "
    if options & mq.MQPMO_SET_ALL_CONTEXT:
        return md[CONTEXT_AT:GROUP_ID_AT]
    if options & mq.MQPMO_SET_IDENTITY_CONTEXT:
        return md[CONTEXT_AT : CONTEXT_AT + 76] + origin
    if options & mq.MQPMO_NO_CONTEXT:
        return b" " * 12 + bytes(32) + b" " * 32 + _ZERO + b" " * 48
    if source is None or len(source.saved_context) == 0:
        return b""
    if options & mq.MQPMO_PASS_ALL_CONTEXT:
        return source.saved_context
    return source.saved_context[:76] + origin


def stored_descriptor(
    engine: Engine, handle: Handle, md: bytes, options: i64, resolved: bytes, context: bytes
) -> bytes:
    writer = BytesWriter()
    if md[PRIORITY_AT - 1] == 0:
        md = md[:FORMAT_AT] + padded_field(md[FORMAT_AT:PRIORITY_AT]) + md[PRIORITY_AT:]
    if read_i32_le(md, CCSID_AT) == 0:  # MQCCSI_Q_MGR
        writer.write(md[:CCSID_AT])
        write_i32_le(writer, i32(engine.ccsid))
        writer.write(md[FORMAT_AT:PRIORITY_AT])
    else:
        writer.write(md[:PRIORITY_AT])
    writer.write(resolved)
    if options & mq.MQPMO_NEW_MSG_ID or _is_null(md, MESSAGE_ID_AT):
        engine.write_id(writer)
    else:
        writer.write(md[MESSAGE_ID_AT:CORRELATION_ID_AT])
    if options & mq.MQPMO_NEW_CORREL_ID:
        engine.write_id(writer)
    elif _is_null(md, CORRELATION_ID_AT):
        writer.write(NULL_ID)
    else:
        writer.write(md[CORRELATION_ID_AT:BACKOUT_COUNT_AT])
    first: i64 = i64(md[REPLY_QUEUE_AT])
    if first == 0 or first == 32:
        manager: i64 = i64(md[REPLY_QUEUE_AT + 48])
        if manager == 0 or manager == 32:
            writer.write(_NO_REPLY)
        else:  # a report, from another queue manager
            writer.write(_ZERO)
            writer.write(_NO_NAME)
            writer.write(padded_field(md[REPLY_QUEUE_AT + 48 : CONTEXT_AT]))
    else:
        writer.write(_ZERO)
        writer.write(_reply_address(engine, handle, md))
    writer.write(context)
    writer.write(md[GROUP_ID_AT:])
    return writer.getvalue()


def _is_null(md: bytes, at: i64) -> bool:
    return read_i64_le(md, at) | read_i64_le(md, at + 8) | read_i64_le(md, at + 16) == 0


def _reply_address(engine: Engine, handle: Handle, md: bytes) -> bytes:
    """Return ReplyToQ and ReplyToQMgr, padded. A blank queue manager becomes this one, or that of a reply-to alias."""
    given = md[REPLY_QUEUE_AT:CONTEXT_AT]
    if given != handle.reply_given or handle.reply_version != engine.definitions_version:
        handle.reply_given = given
        handle.reply_version = engine.definitions_version
        handle.reply_stored = _new_reply_address(engine, md)
    return handle.reply_stored


def _new_reply_address(engine: Engine, md: bytes) -> bytes:
    queue_name = padded_field(md[REPLY_QUEUE_AT : REPLY_QUEUE_AT + 48])
    manager_name = padded_field(md[REPLY_QUEUE_AT + 48 : CONTEXT_AT])
    if manager_name[0] == 32:
        return engine.reply_address(queue_name, engine.padded_name)
    return queue_name + manager_name


def padded_field(field: bytes) -> bytes:
    """Return a character field as it is stored: blanks from the first null byte on."""
    end = field.find(b"\0")
    return field if end < 0 else field[:end].ljust(len(field))
