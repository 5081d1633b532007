"""MQPUT, MQGET, MQCMIT and MQBACK over a link, with the signatures of those in `ostler.client.mqi.put_get`."""

from __future__ import annotations

from struct import Struct
from time import monotonic
from typing import Final

from librt.strings import BytesWriter, read_i32_le, read_i64_le, write_i32_le
from librt.vecs import vec
from mypy_extensions import i32, i64

from ostler.client.link.blocking_link import ClientConversation
from ostler.client.link.waiters import LinkBroken, ReplyWaiter
from ostler.client.mqi import message_handles
from ostler.client.mqi.put_get import check_structure, completion, publish_level, put_parts, return_descriptor
from ostler.client.mqi.remote.connections import Got, RemoteConnection, RemoteHandle, usable_remote
from ostler.engine.message.message import MD_BYTES, NULL_ID
from ostler.engine.properties.property_block import decode_block
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.wire.frames import BACK, CANCEL, COMMIT, GET, HEADER_BYTES, PUBLISH, PUT, frame, write_number
from ostler.wire.object_frames import PUTS_NEED_NO_REPLY, READS_AHEAD
from ostler.wire.payload_codec import numbers_payload
from ostler.wire.put_get_frames import (
    GOT_BLOCK_BYTES,
    GOT_DATA_BYTES,
    GOT_FIXED_BYTES,
    GOT_MD,
    GOT_STATUS,
    GOT_TOKEN,
    NO_GROUP,
    NO_TOKEN,
    PUT_FIXED_BYTES,
    VERSION_1,
    WANTS_PROPERTIES,
    WANTS_TOKEN,
    get_frame,
    get_payload,
    publish_payload,
    put_frame,
)
from ostler.wire.replies import REPLY_FIXED_BYTES
from ostler.wire.subscribe_frames import LEVEL_HIGHEST, SUBSCRIPTIONS_VERSION

Result = tuple[int, int]
_VERSION_2: Final = 2
_MD_ID: Final = 0x2020444D  # "MD  "
_PMO_ID: Final = 0x204F4D50  # "PMO "
_GMO_ID: Final = 0x204F4D47  # "GMO "
_GMO_BYTES: Final = vec[i64]([0, 72, 80, 100, 112])
_PMO_BYTES: Final = vec[i64]([0, 128, 160, 184])
_PLAIN_STATUS: Final = 0x20202020
_DEFAULT_MATCH: Final = 3
_IN_UNIT: Final = mq.MQGMO_SYNCPOINT | mq.MQGMO_SYNCPOINT_IF_PERSISTENT
_MILLISECONDS: Final = 1000.0
_MESSAGE_ID_AT: Final = 48
_CORRELATION_ID_AT: Final = 72
_PERSISTENCE_AT: Final = 44
_PRIORITY_AT: Final = 40
_patch_names: Final = Struct("96s").pack_into


# -- MQPUT -------------------------------------------------------------------------------------------------------------


def MQPUT(hconn: int, hobj: int, md: bytearray, pmo: bytearray, buffer: bytes) -> Result:
    """Put a message on an open queue. `md` and `pmo` are updated."""
    stored, filled, code, reason = put_message(hconn, hobj, bytes(md), bytes(pmo), buffer)
    if code != mq.MQCC_FAILED:
        return_descriptor(md, stored)
        _patch_names(pmo, 32, filled[32:128])
    return code, reason


def put_message(hconn: int, hobj: int, md: bytes, pmo: bytes, buffer: bytes) -> tuple[bytes, bytes, int, int]:
    """MQPUT on values instead of buffers. Returns the updated descriptor and options, completion and reason."""
    try:
        remote = usable_remote(hconn)
        handle = remote.handles.get(hobj)
        if handle is None:
            return md, pmo, mq.MQCC_FAILED, mq.MQRC_HOBJ_ERROR
        descriptor, buffer = put_parts(md, buffer)
        version: i64 = check_structure(pmo, _PMO_ID, mq.MQRC_PMO_ERROR)
        if version > 3 or len(pmo) < _PMO_BYTES[version]:
            raise MQError(mq.MQRC_PMO_ERROR)
        level: i64 = LEVEL_HIGHEST
        if handle.is_topic and version == 3:
            level = publish_level(pmo)
        property_block = b""
        has_handles: bool = version == 3 and _has_message_handles(pmo)
        if has_handles:
            descriptor, property_block = message_handles.put_properties(remote.message_handles, pmo, descriptor, buffer)
        stored, code, reason = _put(remote, handle, pmo, level, descriptor, property_block, buffer)
    except MQError as error:
        return md, pmo, error.completion, error.reason
    if code == mq.MQCC_FAILED:
        return md, pmo, code, reason
    if has_handles:
        message_handles.complete_put(remote.message_handles, pmo, stored)
    if pmo is not handle.put_options_given:
        handle.put_options_returned = pmo[:32] + handle.resolved_names + pmo[128:]
        handle.put_options_given = pmo
    return stored, handle.put_options_returned, code, reason


def _has_message_handles(pmo: bytes) -> bool:
    return (
        read_i64_le(pmo, 160) != 0
        or read_i64_le(pmo, 168) != 0
        or read_i32_le(pmo, 176) != 0
        or i64(read_i32_le(pmo, 8)) & mq.MQPMO_MD_FOR_OUTPUT_ONLY != 0
    )


def _put(
    remote: RemoteConnection,
    handle: RemoteHandle,
    pmo: bytes,
    level: i64,
    md: bytes,
    property_block: bytes,
    body: bytes,
) -> tuple[bytes, int, int]:
    """Put a message, again after each reconnection. Returns the descriptor as stored, completion and reason."""
    options: i64 = i64(read_i32_le(pmo, 8))
    context: i64 = i64(read_i32_le(pmo, 16))
    if options & mq.MQPMO_LOGICAL_ORDER and remote.recovery is not None:
        raise MQError(
            mq.MQRC_RECONNECT_INCOMPATIBLE, "MQPMO_LOGICAL_ORDER is not possible on a connection that reconnects."
        )
    while True:
        remote.reconnect_if_broken()
        generation: i64 = remote.generation
        was_in_unit = remote.in_unit
        try:
            if options & mq.MQPMO_SYNCPOINT:
                if remote.unit_lost:
                    return md, mq.MQCC_FAILED, mq.MQRC_BACKED_OUT
                remote.in_unit = True
            if len(body) > remote.conversation.link.message_bytes_max:
                return md, mq.MQCC_FAILED, mq.MQRC_MSG_TOO_BIG_FOR_CHANNEL
            if level != LEVEL_HIGHEST:
                check_version(remote)
            source: i64 = _context_handle(remote, context)
            if _needs_no_reply(handle, options):
                return (
                    _send_put(remote, handle, options, source, level, md, property_block, body),
                    mq.MQCC_OK,
                    mq.MQRC_NONE,
                )
            return _put_once(remote, handle, options, source, level, md, property_block, body)
        except LinkBroken as broken:
            remote.handle_broken_link(generation, broken)
            if not options & mq.MQPMO_SYNCPOINT:
                if _may_be_persistent(handle, md):
                    return md, mq.MQCC_FAILED, mq.MQRC_CALL_INTERRUPTED
            elif not was_in_unit:
                remote.unit_lost = False


def check_version(remote: RemoteConnection) -> None:
    """Raise MQError when the queue manager's protocol version has no subscriptions and publication levels."""
    link = remote.conversation.link
    if link.version < SUBSCRIPTIONS_VERSION:
        raise MQError(mq.MQRC_FUNCTION_NOT_SUPPORTED, f"{link.peer} has version {link.version} of the protocol.")


def _context_handle(remote: RemoteConnection, context: i64) -> i64:
    """Return the queue manager's handle that the context is passed from."""
    if context == 0:
        return 0
    source = remote.handles.get(context)
    return source.hobj if source is not None else -1


def _may_be_persistent(handle: RemoteHandle, md: bytes) -> bool:
    persistence: i64 = i64(read_i32_le(md, _PERSISTENCE_AT))
    if persistence == mq.MQPER_PERSISTENCE_AS_Q_DEF:
        persistence = handle.default_persistence
    return persistence != mq.MQPER_NOT_PERSISTENT


def _needs_no_reply(handle: RemoteHandle, options: i64) -> bool:
    """Return whether the put is asynchronous: by its options, or by the queue's DEFPRESP.

    A put in logical order returns the sequence number in its group, so it waits for the reply.
    """
    if options & mq.MQPMO_LOGICAL_ORDER:
        return False
    if options & (mq.MQPMO_ASYNC_RESPONSE | mq.MQPMO_SYNC_RESPONSE):
        return options & (mq.MQPMO_ASYNC_RESPONSE | mq.MQPMO_SYNC_RESPONSE) == mq.MQPMO_ASYNC_RESPONSE
    return handle.flags & PUTS_NEED_NO_REPLY != 0


def _put_once(
    remote: RemoteConnection,
    handle: RemoteHandle,
    options: i64,
    source: i64,
    level: i64,
    md: bytes,
    property_block: bytes,
    body: bytes,
) -> tuple[bytes, int, int]:
    conversation = remote.conversation
    link = conversation.link
    waiter = conversation.register_request(PUT if level == LEVEL_HIGHEST else PUBLISH)
    _transmit_put(conversation, waiter, waiter.request(), handle.hobj, options, source, level, md, property_block, body)
    link.finish(waiter)
    buffer = waiter.buffer
    start: i64 = waiter.start
    code: i64 = i64(read_i32_le(buffer, start))
    reason: i64 = i64(read_i32_le(buffer, start + 4))
    if code == mq.MQCC_FAILED:
        return md, code, reason
    if waiter.end - start != REPLY_FIXED_BYTES + MD_BYTES:
        raise remote.protocol_error("a reply to PUT of a wrong length")
    return buffer[start + REPLY_FIXED_BYTES : waiter.end], code, reason


def _transmit_put(
    conversation: ClientConversation,
    waiter: ReplyWaiter | None,
    request: i64,
    hobj: i64,
    options: i64,
    source: i64,
    level: i64,
    md: bytes,
    property_block: bytes,
    body: bytes,
) -> None:
    link = conversation.link
    if level != LEVEL_HIGHEST:
        payload = publish_payload(level, hobj, options, source, md, property_block, body)
        conversation.send(waiter, request, PUBLISH, [payload])
        return
    if HEADER_BYTES + PUT_FIXED_BYTES + len(property_block) + len(body) <= link.segment_bytes:
        link.writer.send_frame(
            waiter, put_frame(conversation.number, request, hobj, options, source, md, property_block, body)
        )
        return
    writer = BytesWriter()
    write_number(writer, hobj)
    write_number(writer, options)
    write_number(writer, source)
    write_number(writer, len(property_block))
    writer.write(md)
    link.writer.send_segments(waiter, PUT, conversation.number, request, [writer.getvalue(), property_block, body])


def _send_put(
    remote: RemoteConnection,
    handle: RemoteHandle,
    options: i64,
    source: i64,
    level: i64,
    md: bytes,
    property_block: bytes,
    body: bytes,
) -> bytes:
    """Put asynchronously. Identifiers are generated here, as the reply of the queue manager is not waited for.

    A publication has no message identifier of its own, unless it asks for one.
    """
    is_without: bool = not handle.is_topic and md[_MESSAGE_ID_AT : _MESSAGE_ID_AT + 24] == NULL_ID
    if options & mq.MQPMO_NEW_MSG_ID or is_without:
        md = md[:_MESSAGE_ID_AT] + new_identifier(remote) + md[_MESSAGE_ID_AT + 24 :]
        options &= ~mq.MQPMO_NEW_MSG_ID
    if options & mq.MQPMO_NEW_CORREL_ID:
        md = md[:_CORRELATION_ID_AT] + new_identifier(remote) + md[_CORRELATION_ID_AT + 24 :]
        options &= ~mq.MQPMO_NEW_CORREL_ID
    _transmit_put(remote.conversation, None, 0, handle.hobj, options, source, level, md, property_block, body)
    writer = BytesWriter()
    writer.write(md[:_PRIORITY_AT])
    priority = read_i32_le(md, _PRIORITY_AT)
    write_i32_le(writer, i32(handle.default_priority) if priority < 0 else priority)
    persistence = read_i32_le(md, _PERSISTENCE_AT)
    if i64(persistence) == mq.MQPER_PERSISTENCE_AS_Q_DEF:
        persistence = i32(handle.default_persistence)
    write_i32_le(writer, persistence)
    writer.write(md[_MESSAGE_ID_AT:])
    return writer.getvalue()


def new_identifier(remote: RemoteConnection) -> bytes:
    """Return a unique identifier: 128 random bits for each connection, and a count."""
    remote.identifiers += 1
    writer = BytesWriter()
    writer.write(remote.identifier_prefix)
    write_i32_le(writer, i32(remote.identifiers & 0x7FFFFFFF))
    return writer.getvalue()


# -- MQGET -------------------------------------------------------------------------------------------------------------


def MQGET(hconn: int, hobj: int, md: bytearray, gmo: bytearray, length: int) -> tuple[bytes, int, int, int]:
    """Get or browse a message of up to `length` bytes. Returns data, full message length, completion and reason."""
    data, returned, filled, data_bytes, code, reason = get_message(hconn, hobj, bytes(md), bytes(gmo), length)
    if returned is not None:
        return_descriptor(md, returned)
        gmo[:] = filled
    return data, data_bytes, code, reason


def get_message(hconn: int, hobj: int, md: bytes, gmo: bytes, length: int) -> Got:
    """MQGET on values instead of buffers."""
    try:
        remote = usable_remote(hconn)
        handle = remote.handles.get(hobj)
        if handle is None:
            raise MQError(mq.MQRC_HOBJ_ERROR)
        if handle.flags & READS_AHEAD and handle.read_ahead is not None:
            return handle.read_ahead.get(remote, md, gmo, length)
        return get_now(remote, handle, md, gmo, length)
    except MQError as error:
        return b"", None, gmo, 0, error.completion, error.reason


def get_now(remote: RemoteConnection, handle: RemoteHandle, md: bytes, gmo: bytes, length: int) -> Got:
    """Get a message from the queue manager, again after each reconnection."""
    options: i64 = i64(read_i32_le(gmo, 8)) if len(gmo) >= 12 else 0
    wait_ms: i64 = i64(read_i32_le(gmo, 12)) if options & mq.MQGMO_WAIT and len(gmo) >= 16 else 0
    until = monotonic() + float(wait_ms) / _MILLISECONDS if wait_ms > 0 else 0.0
    while True:
        payload = request_payload(remote, handle, md, gmo, length, options, wait_ms)
        generation: i64 = remote.generation
        was_in_unit = remote.in_unit
        try:
            if options & _IN_UNIT:
                if remote.unit_lost:
                    return b"", None, gmo, 0, mq.MQCC_FAILED, mq.MQRC_BACKED_OUT
                remote.in_unit = True
            waiter = _get_once(remote, payload, options)
            return decode_get_reply(remote, handle, gmo, waiter.buffer, waiter.start, waiter.end)
        except LinkBroken as broken:
            remote.handle_broken_link(generation, broken)
            if options & _IN_UNIT and not was_in_unit:
                remote.unit_lost = False
            if until > 0:
                wait_ms = max(0, i64((until - monotonic()) * _MILLISECONDS))


def _get_once(remote: RemoteConnection, payload: bytes, options: i64) -> ReplyWaiter:
    conversation = remote.conversation
    waiter = conversation.register_request(GET)
    waits: bool = options & mq.MQGMO_WAIT != 0
    if waits:
        remote.waiting = True
    try:
        conversation.exchange_frame(waiter, get_frame(conversation.number, waiter.request(), payload))
    except LinkBroken:
        raise
    except BaseException:
        # The wait was interrupted: no message must be removed for it any more.
        conversation.post(CANCEL, numbers_payload([waiter.request()]))
        raise
    finally:
        if waits:
            remote.waiting = False
    return waiter


def request_payload(
    remote: RemoteConnection, handle: RemoteHandle, md: bytes, gmo: bytes, length: int, options: i64, wait_ms: i64
) -> bytes:
    """Convert the application's structures to the payload of GET; `options` and `wait_ms` override the MQGMO."""
    version: i64 = check_structure(gmo, _GMO_ID, mq.MQRC_GMO_ERROR)
    if version > 4 or len(gmo) < _GMO_BYTES[version]:
        raise MQError(mq.MQRC_GMO_ERROR)
    if len(md) < 324 or i64(read_i32_le(md, 0)) != _MD_ID:
        raise MQError(mq.MQRC_MD_ERROR)
    md_version: i64 = i64(read_i32_le(md, 4))
    if md_version != 1 and (md_version != _VERSION_2 or len(md) < MD_BYTES):
        raise MQError(mq.MQRC_MD_ERROR)
    match: i64 = i64(read_i32_le(gmo, 72)) if version >= _VERSION_2 else _DEFAULT_MATCH
    flags: i64 = 0
    if md_version == 1:
        flags |= VERSION_1
    group_id = NO_GROUP
    sequence: i64 = 1
    offset: i64 = 0
    if md_version == _VERSION_2:
        group_id = md[324:348]
        sequence = i64(read_i32_le(md, 348))
        offset = i64(read_i32_le(md, 352))
    token = NO_TOKEN
    if version > _VERSION_2:
        token = gmo[80:96]
        flags |= WANTS_TOKEN
        if match & mq.MQMO_MATCH_MSG_TOKEN:
            _check_token(remote)
    if version > 3 and read_i64_le(gmo, 104) != 0 and message_handles.check_get(remote.message_handles, gmo):
        flags |= WANTS_PROPERTIES
    return get_payload(
        handle.hobj,
        options,
        wait_ms,
        match,
        length,
        i64(read_i32_le(md, 24)),
        i64(read_i32_le(md, 28)),
        flags,
        md[48:72] if match & mq.MQMO_MATCH_MSG_ID else NULL_ID,
        md[72:96] if match & mq.MQMO_MATCH_CORREL_ID else NULL_ID,
        group_id,
        sequence,
        offset,
        token,
        b"",
    )


def _check_token(remote: RemoteConnection) -> None:
    recovery = remote.recovery
    if recovery is not None and not recovery.only_same_manager():
        raise MQError(
            mq.MQRC_RECONNECT_Q_MGR_REQD,
            "A message token is valid for the same queue manager only: reconnect with MQCNO_RECONNECT_Q_MGR.",
        )


def decode_get_reply(
    remote: RemoteConnection, handle: RemoteHandle, gmo: bytes, buffer: bytes, start: i64, end: i64
) -> Got:
    """Convert a reply to GET to the result for the application. Raises LinkBroken when it is malformed."""
    code: i64 = i64(read_i32_le(buffer, start))
    reason: i64 = i64(read_i32_le(buffer, start + 4))
    if code == mq.MQCC_FAILED or end - start == REPLY_FIXED_BYTES:
        return b"", None, gmo, 0, code, reason
    if end - start < GOT_FIXED_BYTES:
        raise remote.protocol_error("a reply to GET that is too short")
    block_bytes: i64 = i64(read_i32_le(buffer, start + GOT_BLOCK_BYTES))
    body_at: i64 = start + GOT_FIXED_BYTES + block_bytes
    if block_bytes < 0 or body_at > end:
        raise remote.protocol_error("a reply to GET with properties of a wrong length")
    md = buffer[start + GOT_MD : start + GOT_FIXED_BYTES]
    body = buffer[body_at:end]
    if len(gmo) >= _GMO_BYTES[4] and gmo[4] == 4 and read_i64_le(gmo, 104) != 0:
        properties = decode_block(buffer[start + GOT_FIXED_BYTES : body_at])
        message_handles.fill_handle(remote.message_handles, properties, md, gmo)
    status: i64 = i64(read_i32_le(buffer, start + GOT_STATUS))
    token = buffer[start + GOT_TOKEN : start + GOT_BLOCK_BYTES]
    options = _returned_options(handle, gmo, status, token, len(body))
    return body, md, options, i64(read_i32_le(buffer, start + GOT_DATA_BYTES)), code, reason


def _returned_options(handle: RemoteHandle, gmo: bytes, status: i64, token: bytes, returned: i64) -> bytes:
    """Return the get options with the fields of the queue manager: queue name, group and segment status, token."""
    if gmo is not handle.get_options_given:
        handle.get_options_returned = gmo[:24] + handle.resolved_names[:48] + gmo[72:76] + b"    "
        handle.get_options_given = gmo
    head = handle.get_options_returned
    version: i64 = i64(gmo[4])
    if version == 1:
        return head[:72] + gmo[72:]
    writer = BytesWriter()
    if status == _PLAIN_STATUS:
        writer.write(head)
    else:
        writer.write(head[:76])
        write_i32_le(writer, i32(status))
    if version == _VERSION_2:
        writer.write(gmo[80:])
        return writer.getvalue()
    writer.write(token)
    write_i32_le(writer, i32(returned))
    writer.write(gmo[100:])
    return writer.getvalue()


# -- units of work -----------------------------------------------------------------------------------------------------


def MQCMIT(hconn: int) -> Result:
    """Commit the unit of work."""
    try:
        remote = usable_remote(hconn)
        remote.reconnect_if_broken()
        if remote.unit_lost:
            remote.unit_lost = False
            return completion(mq.MQRC_BACKED_OUT), mq.MQRC_BACKED_OUT
        generation: i64 = remote.generation
        was_in_unit = remote.in_unit
        try:
            return _end_unit(remote, COMMIT)
        except LinkBroken as broken:
            remote.handle_broken_link(generation, broken)
            remote.unit_lost = False
            if was_in_unit:
                return mq.MQCC_FAILED, mq.MQRC_CALL_INTERRUPTED
            return mq.MQCC_OK, mq.MQRC_NONE
    except MQError as error:
        return error.completion, error.reason


def MQBACK(hconn: int) -> Result:
    """Back out the unit of work."""
    try:
        remote = usable_remote(hconn)
        generation: i64 = remote.generation
        try:
            code, reason = _end_unit(remote, BACK)
        except LinkBroken as broken:
            remote.handle_broken_link(generation, broken)
            code, reason = mq.MQCC_OK, mq.MQRC_NONE
        remote.unit_lost = False
        return code, reason
    except MQError as error:
        return error.completion, error.reason


def _end_unit(remote: RemoteConnection, kind: i64) -> Result:
    conversation = remote.conversation
    waiter = conversation.register_request(kind)
    conversation.exchange_frame(waiter, frame(kind, conversation.number, waiter.request()))
    remote.in_unit = False
    return i64(read_i32_le(waiter.buffer, waiter.start)), i64(read_i32_le(waiter.buffer, waiter.start + 4))
