"""The verbs on objects beside MQPUT and MQGET: MQOPEN, MQCLOSE, MQPUT1, MQINQ and MQSET."""

from __future__ import annotations

from typing import Final

from ostler.client import message_handles
from ostler.client.connection_state import state_of, turn, usable, wait_durable, with_room
from ostler.client.mqi import Bound, Result, completion, failed, put_parts, return_descriptor
from ostler.client.variable_strings import read_string
from ostler.engine import inquire as attributes
from ostler.engine import put as putting
from ostler.engine.connection import Handle
from ostler.engine.core import Engine
from ostler.engine.open import OpenRequest, close_object, open_object
from ostler.model.attributes import valid_name
from ostler.model.constants import (
    MQ_SELECTOR_LENGTH,
    MQCC_FAILED,
    MQCC_OK,
    MQCO_DELETE,
    MQCO_DELETE_PURGE,
    MQCO_KEEP_SUB,
    MQCO_REMOVE_SUB,
    MQHO_UNUSABLE_HOBJ,
    MQOO_ALTERNATE_USER_AUTHORITY,
    MQOO_BROWSE,
    MQOO_INPUT_AS_Q_DEF,
    MQOO_INPUT_EXCLUSIVE,
    MQOO_INPUT_SHARED,
    MQOO_OUTPUT,
    MQOO_RESOLVE_LOCAL_Q,
    MQOT_Q,
    MQRC_BACKED_OUT,
    MQRC_BUFFER_ERROR,
    MQRC_CHAR_ATTR_LENGTH_ERROR,
    MQRC_CHAR_ATTRS_TOO_SHORT,
    MQRC_HOBJ_ERROR,
    MQRC_INT_ATTR_COUNT_ERROR,
    MQRC_INT_ATTR_COUNT_TOO_SMALL,
    MQRC_NONE,
    MQRC_OBJECT_STRING_ERROR,
    MQRC_OPTION_NOT_VALID_FOR_TYPE,
    MQRC_RECS_PRESENT_ERROR,
    MQRC_SELECTION_STRING_ERROR,
    MQRC_UNKNOWN_OBJECT_NAME,
    MQRC_UNKNOWN_OBJECT_Q_MGR,
)
from ostler.model.errors import MQError
from ostler.model.reasons import WARNINGS
from ostler.model.structures.layout import trim
from ostler.model.structures.od import MQOD, OD_OBJECT_STRING, OD_SELECTION_STRING
from ostler.model.structures.pmo import MQPMO

Opened = tuple[int, int, int]
"""An object handle, completion and reason."""

_WORKING: Final = MQOO_INPUT_AS_Q_DEF | MQOO_INPUT_SHARED | MQOO_INPUT_EXCLUSIVE | MQOO_BROWSE | MQOO_OUTPUT
_OBJECT_STRING_BYTES_MAX: Final = 10240


def MQOPEN(hconn: int, od: bytearray, options: int) -> Opened:
    """Open an object. `od` comes back with the names it resolved to, and with that of a dynamic queue."""
    try:
        bound = usable(hconn)
        request = open_request(bound, od, options)
        handle, lsn = with_room(bound, lambda engine: _open(engine, bound, request))
        wait_durable(bound, lsn)
    except MQError as error:
        return MQHO_UNUSABLE_HOBJ, *failed(error)
    _describe_opened(od, request, handle, bound, options)
    return handle.number, MQCC_OK, MQRC_NONE


def _open(engine: Engine, bound: Bound, request: OpenRequest) -> tuple[Handle, int]:
    """Open, and say when it may be told: a permanent dynamic queue must survive from now on."""
    handle = open_object(engine, bound.connection, request)
    made = handle.queue if handle.created_dynamic else None
    return handle, engine.journal.end_lsn() if made is not None and not made.is_temporary else 0


def open_request(bound: Bound, od: bytearray, options: int) -> OpenRequest:
    """What an object descriptor asks for."""
    version = MQOD.validate_header(od)
    if version > 1 and MQOD.read_int(od, "RecsPresent"):
        raise MQError(MQRC_RECS_PRESENT_ERROR, "Distribution lists are not supported.")
    kind = MQOD.read_int(od, "ObjectType")
    name = _text(od, "ObjectName")
    request = OpenRequest(kind, name, options)
    request.manager_name = _text(od, "ObjectQMgrName")
    if request.manager_name:
        if not valid_name(request.manager_name):
            raise MQError(MQRC_UNKNOWN_OBJECT_Q_MGR, "The name of the queue manager has characters it cannot have.")
        if kind != MQOT_Q and request.manager_name != bound.engine.name:
            raise MQError(MQRC_UNKNOWN_OBJECT_Q_MGR, f"Only queues can be opened on {request.manager_name}.")
    if name and not valid_name(name):
        raise MQError(MQRC_UNKNOWN_OBJECT_NAME, "The object name has characters that no name has.")
    request.dynamic_name = _text(od, "DynamicQName")
    if options & MQOO_ALTERNATE_USER_AUTHORITY:
        request.alternate_user = _text(od, "AlternateUserId")
    if version >= 4:
        read_string(od, OD_OBJECT_STRING, _OBJECT_STRING_BYTES_MAX, MQRC_OBJECT_STRING_ERROR)
        request.selection = read_string(od, OD_SELECTION_STRING, MQ_SELECTOR_LENGTH, MQRC_SELECTION_STRING_ERROR)
    return request


def _text(od: bytearray, field: str) -> str:
    return trim(MQOD.read_bytes(od, field)).decode("latin-1")


def _describe_opened(od: bytearray, request: OpenRequest, handle: Handle, bound: Bound, options: int) -> None:
    version = MQOD.read_int(od, "Version")
    queue = handle.queue
    if handle.created_dynamic and queue is not None:
        MQOD.patch(od, "ObjectName", queue.name)
        MQOD.patch(od, "ObjectQMgrName", bound.engine.name)
    if version >= 2 and queue is not None:
        MQOD.patch(od, "KnownDestCount", 0 if handle.remote_manager else 1)
        MQOD.patch(od, "UnknownDestCount", 1 if handle.remote_manager else 0)
        MQOD.patch(od, "InvalidDestCount", 0)
    if version >= 3:
        names = b" " * 96
        if queue is not None and options & _WORKING:
            names = handle.resolved_names
            if options & MQOO_RESOLVE_LOCAL_Q:
                names = queue.name.encode().ljust(48) + bound.engine.padded_name
        MQOD.patch(od, "ResolvedQName", names[:48])
        MQOD.patch(od, "ResolvedQMgrName", names[48:])
    if version >= 4:
        MQOD.patch(od, "ResolvedType", request.object_type)


def MQCLOSE(hconn: int, hobj: int, options: int) -> Opened:
    """Close an object, and delete a dynamic queue when the options say so. The handle that comes back is unusable."""
    try:
        bound = usable(hconn)
        handle = open_handle(bound, hobj)
        if options & (MQCO_KEEP_SUB | MQCO_REMOVE_SUB):
            raise MQError(MQRC_OPTION_NOT_VALID_FOR_TYPE, "Only handles of subscriptions keep or remove them.")
        reason, lsn = with_room(bound, lambda engine: _close(engine, bound, handle, options))
        wait_durable(bound, lsn)
    except MQError as error:
        return hobj, *failed(error)
    consuming = state_of(hconn).consuming
    if consuming is not None:
        consuming.handle_closed(hobj)
    return MQHO_UNUSABLE_HOBJ, completion(reason), reason


def _close(engine: Engine, bound: Bound, handle: Handle, options: int) -> tuple[int, int]:
    reason = close_object(engine, bound.connection, handle, options)
    queue = handle.queue
    is_deleted = options & (MQCO_DELETE | MQCO_DELETE_PURGE) and queue is not None and not queue.is_temporary
    return reason, engine.journal.end_lsn() if is_deleted else 0


def open_handle(bound: Bound, hobj: int) -> Handle:
    handle = bound.connection.handles.get(hobj)
    if handle is None:
        raise MQError(MQRC_HOBJ_ERROR, f"{hobj} is no open object of this connection.")
    return handle


def MQPUT1(hconn: int, od: bytearray, md: bytearray, pmo: bytearray, buffer: bytes) -> Result:
    """Put one message on a queue that need not be open. `od`, `md` and `pmo` come back filled in."""
    try:
        bound = usable(hconn)
        reason = _put1(bound, od, md, pmo, buffer)
    except MQError as error:
        return failed(error)
    # A unit of work that the queue manager backed out is a warning for MQCMIT, but nothing was put here.
    return MQCC_FAILED if reason == MQRC_BACKED_OUT else completion(reason), reason


def _put1(bound: Bound, od: bytearray, md: bytearray, pmo: bytearray, buffer: bytes) -> int:
    connection = bound.connection
    request = open_request(bound, od, 0)
    request.selection = ""
    version = MQPMO.validate_header(pmo)
    if version > 1 and MQPMO.read_int(pmo, "RecsPresent"):
        raise MQError(MQRC_RECS_PRESENT_ERROR, "Distribution lists are not supported.")
    if not isinstance(buffer, bytes):
        raise MQError(MQRC_BUFFER_ERROR, "The message data must be bytes.")
    descriptor, buffer = put_parts(bytes(md), buffer)
    options = MQPMO.read_int(pmo, "Options")
    block = b""
    if version > 2:
        descriptor, block = message_handles.put_properties(connection.message_handles, bytes(pmo), descriptor, buffer)
    source = connection.handles.get(MQPMO.read_int(pmo, "Context"))
    if options & MQOO_ALTERNATE_USER_AUTHORITY:
        request.alternate_user = _text(od, "AlternateUserId")

    def verb(engine: Engine) -> tuple[int, int, bytes]:
        found = putting.put1(engine, connection, request, descriptor, options, block, buffer, source)
        return found, connection.after_lsn, connection.put_md

    reason, lsn, stored = with_room(bound, verb)
    if reason != MQRC_NONE and (reason not in WARNINGS or reason == MQRC_BACKED_OUT):
        connection.counters.puts_failed += 1
        bound.engine.counters.puts_failed += 1
        return reason
    _describe_put(bound, od, md, pmo, stored)
    if version > 2:
        message_handles.put_done(connection.message_handles, bytes(pmo), stored)
    wait_durable(bound, lsn)
    return reason


def _describe_put(bound: Bound, od: bytearray, md: bytearray, pmo: bytearray, stored: bytes) -> None:
    return_descriptor(md, stored)
    names = bound.connection.put_resolved_names
    MQPMO.patch(pmo, "ResolvedQName", names[:48])
    MQPMO.patch(pmo, "ResolvedQMgrName", names[48:])
    version = MQOD.read_int(od, "Version")
    if version >= 3:
        MQOD.patch(od, "ResolvedQName", names[:48])
        MQOD.patch(od, "ResolvedQMgrName", names[48:])
    if version >= 4:
        MQOD.patch(od, "ResolvedType", MQOT_Q)


def MQINQ(
    hconn: int, hobj: int, selectors: list[int], int_count: int, char_length: int
) -> tuple[list[int], bytes, int, int]:
    """The attributes that the selectors name: at most `int_count` integers, and `char_length` bytes of text."""
    try:
        bound = usable(hconn)
        handle = open_handle(bound, hobj)
        if int_count < 0:
            raise MQError(MQRC_INT_ATTR_COUNT_ERROR)
        if char_length < 0:
            raise MQError(MQRC_CHAR_ATTR_LENGTH_ERROR)
        with turn(bound) as engine:
            integers, texts, reason = attributes.inquire(engine, handle, list(selectors))
            bound.connection.counters.inquires += 1
    except MQError as error:
        return [], b"", *failed(error)
    if len(integers) > int_count:
        reason = MQRC_INT_ATTR_COUNT_TOO_SMALL
    characters = b""
    for text in texts:
        # Whole attributes only; when one does not fit, those behind it are left out too.
        if len(characters) + len(text) > char_length:
            reason = MQRC_CHAR_ATTRS_TOO_SHORT
            break
        characters += text
    return integers[:int_count], characters, completion(reason), reason


def MQSET(hconn: int, hobj: int, selectors: list[int], ints: list[int], chars: bytes) -> Result:
    """Set attributes of a queue: all of them, or none. Durable when it returns."""
    try:
        bound = usable(hconn)
        handle = open_handle(bound, hobj)
        lsn = with_room(
            bound,
            lambda engine: attributes.set_attributes(engine, handle, list(selectors), list(ints), bytes(chars)),
        )
        bound.connection.counters.sets += 1
        wait_durable(bound, lsn)
    except MQError as error:
        return failed(error)
    return MQCC_OK, MQRC_NONE
