"""MQOPEN, MQCLOSE, MQPUT1, MQINQ and MQSET over a link."""

from __future__ import annotations

import threading
from typing import Final

from librt.strings import read_i32_le

from ostler.client.link.waiters import LinkBroken
from ostler.client.mqi import message_handles
from ostler.client.mqi.object_structures import (
    BLANK_NAMES,
    check_counts,
    check_put1,
    describe_opened,
    describe_put,
    fit_attributes,
    open_arguments,
)
from ostler.client.mqi.put_get import Result, completion, error_result, publish_level, put_parts
from ostler.client.mqi.remote.connect import refusal, remote_state, request
from ostler.client.mqi.remote.connections import RemoteConnection, RemoteHandle, usable_remote
from ostler.client.mqi.remote.put_get import check_version
from ostler.client.session.read_ahead import MessagesAhead
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.structures.md import MD_PERSISTENCE
from ostler.model.structures.pmo import MQPMO
from ostler.wire.frames import CLOSE, INQUIRE, OPEN, PUBLISH1, PUT1, SET, MalformedFrame
from ostler.wire.object_frames import (
    ATTRIBUTES_MAX,
    CHARACTERS_MAX,
    READS_AHEAD,
    InquireArguments,
    OpenArguments,
    OpenReply,
    Put1Arguments,
    decode_open_reply,
)
from ostler.wire.payload_codec import numbers_payload
from ostler.wire.put_get_frames import MD_BYTES
from ostler.wire.replies import ReplyHead, decode_reply
from ostler.wire.subscribe_frames import LEVEL_HIGHEST

OpenedHandle = tuple[int, int, int]
"""An object handle, completion and reason."""

_numbering: Final = threading.Lock()


def MQOPEN(hconn: int, od: bytearray, options: int) -> OpenedHandle:
    """Open an object. `od` returns the resolved names, and the name of a dynamic queue."""
    try:
        remote = usable_remote(hconn)
        asked = open_arguments(od, options)
        found = check_open_reply(remote, request(remote, OPEN, asked.encode()))
    except MQError as error:
        return mq.MQHO_UNUSABLE_HOBJ, *error_result(error)
    handle = new_handle(remote, asked, found)
    describe_opened(od, asked, found, remote.queue_manager)
    return handle.number, mq.MQCC_OK, mq.MQRC_NONE


def new_handle(remote: RemoteConnection, asked: OpenArguments, found: OpenReply) -> RemoteHandle:
    """Return a new handle for an object that the queue manager has opened."""
    with _numbering:
        remote.last_handle += 1
        number = remote.last_handle
    handle = RemoteHandle(number, asked, found.hobj)
    update_handle(handle, found)
    if found.flags & READS_AHEAD:
        handle.read_ahead = MessagesAhead(handle)
    remote.handles[handle.number] = handle
    return handle


def check_open_reply(remote: RemoteConnection, answer: ReplyHead) -> OpenReply:
    if answer.completion == mq.MQCC_FAILED:
        raise refusal(answer)
    try:
        return decode_open_reply(answer.reader, remote.conversation.link.version)
    except MalformedFrame as error:
        raise MQError(mq.MQRC_CONNECTION_BROKEN, remote.protocol_error(str(error)).text) from None


def update_handle(handle: RemoteHandle, found: OpenReply) -> None:
    """Update a handle from the queue manager's reply."""
    handle.hobj = found.hobj
    handle.flags = found.flags
    handle.name = found.name
    handle.resolved_names = found.resolved_names
    handle.default_persistence = found.default_persistence
    handle.default_priority = found.default_priority
    handle.is_topic = found.object_type == mq.MQOT_TOPIC
    # The cached options contain the old resolved names.
    handle.put_options_given = b""
    handle.get_options_given = b""


def open_handle(remote: RemoteConnection, hobj: int) -> RemoteHandle:
    handle = remote.handles.get(hobj)
    if handle is None:
        raise MQError(mq.MQRC_HOBJ_ERROR, f"{hobj} is not the handle of an open object of this connection.")
    return handle


def MQCLOSE(hconn: int, hobj: int, options: int) -> OpenedHandle:
    """Close an object, and delete a dynamic queue if the options ask for it. Returns the unusable handle."""
    try:
        remote = usable_remote(hconn)
        handle = open_handle(remote, hobj)
        ahead = handle.read_ahead
        if ahead is not None and options & mq.MQCO_QUIESCE and ahead.count():
            # The handle stays open until the program has got the buffered messages and closes it again.
            return hobj, mq.MQCC_WARNING, mq.MQRC_READ_AHEAD_MSGS
        answer = _close(remote, handle, options)
        if answer.completion == mq.MQCC_FAILED:
            raise refusal(answer)
    except MQError as error:
        return hobj, *error_result(error)
    remote.handles.pop(hobj, None)
    callbacks = remote_state(hconn).callbacks
    if callbacks is not None:
        callbacks.on_handle_closed(hobj)
    return mq.MQHO_UNUSABLE_HOBJ, answer.completion, answer.reason


def _close(remote: RemoteConnection, handle: RemoteHandle, options: int) -> ReplyHead:
    while True:
        generation = remote.generation
        try:
            if handle.read_ahead is not None:
                handle.read_ahead.discard(remote)
            waiter = remote.conversation.exchange(CLOSE, numbers_payload([handle.hobj, options]))
            return decode_reply(waiter.buffer, waiter.start, waiter.end)
        except LinkBroken as broken:
            remote.handle_broken_link(generation, broken)


def MQPUT1(hconn: int, od: bytearray, md: bytearray, pmo: bytearray, buffer: bytes) -> Result:
    """Put one message on a queue that need not be open. `od`, `md` and `pmo` are updated."""
    try:
        remote = usable_remote(hconn)
        reason = _put1(remote, od, md, pmo, buffer)
    except MQError as error:
        return error_result(error)
    # MQRC_BACKED_OUT is a warning of MQCMIT, but here nothing was put.
    return mq.MQCC_FAILED if reason == mq.MQRC_BACKED_OUT else completion(reason), reason


def _put1(remote: RemoteConnection, od: bytearray, md: bytearray, pmo: bytearray, buffer: bytes) -> int:
    target = open_arguments(od, 0)
    target.selection = ""
    version = check_put1(pmo, buffer)
    descriptor, body = put_parts(bytes(md), buffer)
    options = MQPMO.read_int(pmo, "Options")
    if not options & mq.MQOO_ALTERNATE_USER_AUTHORITY:
        target.alternate_user = ""
    property_block = b""
    if version > 2:
        descriptor, property_block = message_handles.put_properties(
            remote.message_handles, bytes(pmo), descriptor, body
        )
    if len(body) > remote.conversation.link.message_bytes_max:
        return mq.MQRC_MSG_TOO_BIG_FOR_CHANNEL
    source = remote.handles.get(MQPMO.read_int(pmo, "Context"))
    context = source.hobj if source is not None else 0
    level = publish_level(bytes(pmo)) if version > 2 else LEVEL_HIGHEST
    if level != LEVEL_HIGHEST:
        check_version(remote)
    answer = _exchange_put1(remote, Put1Arguments(target, options, context, descriptor, property_block, body), level)
    if answer is None or answer.completion == mq.MQCC_FAILED:
        return mq.MQRC_CALL_INTERRUPTED if answer is None else answer.reason
    try:
        stored = answer.reader.fixed(MD_BYTES)
        names = answer.reader.fixed(len(BLANK_NAMES))
        answer.reader.check_end()
    except MalformedFrame as error:
        raise MQError(mq.MQRC_CONNECTION_BROKEN, remote.protocol_error(str(error)).text) from None
    describe_put(od, md, pmo, stored, names)
    if version > 2:
        message_handles.complete_put(remote.message_handles, bytes(pmo), stored)
    return answer.reason


def _exchange_put1(remote: RemoteConnection, put: Put1Arguments, level: int) -> ReplyHead | None:
    """Put a message, again after each reconnection. Returns None when the put is in doubt."""
    in_syncpoint = bool(put.options & mq.MQPMO_SYNCPOINT)
    kind, payload = PUT1, put.encode()
    if level != LEVEL_HIGHEST:
        kind, payload = PUBLISH1, numbers_payload([level]) + payload
    while True:
        remote.reconnect_if_broken()
        if in_syncpoint and remote.unit_lost:
            raise MQError(mq.MQRC_BACKED_OUT)
        generation = remote.generation
        was_in_unit = remote.in_unit
        remote.in_unit = remote.in_unit or in_syncpoint
        try:
            waiter = remote.conversation.exchange(kind, payload)
            return decode_reply(waiter.buffer, waiter.start, waiter.end)
        except LinkBroken as broken:
            remote.handle_broken_link(generation, broken)
            if not in_syncpoint and read_i32_le(put.md, MD_PERSISTENCE) != mq.MQPER_NOT_PERSISTENT:
                return None
            if in_syncpoint and not was_in_unit:
                remote.unit_lost = False


def MQINQ(
    hconn: int, hobj: int, selectors: list[int], int_count: int, char_length: int
) -> tuple[list[int], bytes, int, int]:
    """Return the attributes of the selectors: at most `int_count` integers, and `char_length` bytes of text."""
    try:
        remote = usable_remote(hconn)
        handle = open_handle(remote, hobj)
        check_counts(int_count, char_length)
        integers, texts, reason = _inquire(remote, handle, list(selectors))
    except MQError as error:
        return [], b"", *error_result(error)
    return fit_attributes(integers, texts, reason, int_count, char_length)


def _inquire(
    remote: RemoteConnection, handle: RemoteHandle, selectors: list[int]
) -> tuple[list[int], list[bytes], int]:
    answer = _exchange_attributes(remote, handle, INQUIRE, selectors, [], b"")
    if answer.completion == mq.MQCC_FAILED:
        raise refusal(answer)
    try:
        integers = answer.reader.integers(ATTRIBUTES_MAX)
        texts = [
            answer.reader.fixed(answer.reader.count(CHARACTERS_MAX)) for _ in range(answer.reader.count(ATTRIBUTES_MAX))
        ]
        answer.reader.check_end()
    except MalformedFrame as error:
        raise MQError(mq.MQRC_CONNECTION_BROKEN, remote.protocol_error(str(error)).text) from None
    return integers, texts, answer.reason


def _exchange_attributes(
    remote: RemoteConnection,
    handle: RemoteHandle,
    kind: int,
    selectors: list[int],
    integers: list[int],
    characters: bytes,
) -> ReplyHead:
    if len(selectors) > ATTRIBUTES_MAX or len(integers) > ATTRIBUTES_MAX or len(characters) > CHARACTERS_MAX:
        raise MQError(mq.MQRC_SELECTOR_LIMIT_EXCEEDED)
    while True:
        generation = remote.generation
        try:
            inquiry = InquireArguments(handle.hobj, selectors, integers, characters)
            waiter = remote.conversation.exchange(kind, inquiry.encode())
            return decode_reply(waiter.buffer, waiter.start, waiter.end)
        except LinkBroken as broken:
            remote.handle_broken_link(generation, broken)


def MQSET(hconn: int, hobj: int, selectors: list[int], ints: list[int], chars: bytes) -> Result:
    """Set attributes of a queue: all of them, or none. The change is durable on return."""
    try:
        remote = usable_remote(hconn)
        handle = open_handle(remote, hobj)
        answer = _exchange_attributes(remote, handle, SET, list(selectors), list(ints), bytes(chars))
    except MQError as error:
        return error_result(error)
    return answer.completion, answer.reason
