"""MQOPEN, MQCLOSE, MQPUT1, MQINQ and MQSET on queue managers of this process."""

from __future__ import annotations

from ostler.client.mqi import message_handles
from ostler.client.mqi.connection_state import (
    engine_turn,
    retry_when_log_full,
    state_of,
    usable_connection,
    wait_durable,
)
from ostler.client.mqi.object_structures import (
    check_counts,
    check_put1,
    describe_opened,
    describe_put,
    fit_attributes,
    open_arguments,
)
from ostler.client.mqi.put_get import (
    Bound,
    Result,
    completion,
    error_result,
    publish_level,
    put_parts,
    wait_for_task,
    wake_when_done,
)
from ostler.engine import inquire as attributes
from ostler.engine import put as putting
from ostler.engine import statistics
from ostler.engine.connection import PUBLISH_LEVEL_HIGHEST
from ostler.engine.core import Engine
from ostler.engine.handle import Handle
from ostler.engine.open import OpenRequest, close_object, complete_open, open_object
from ostler.engine.outcomes import CloseOutcome, PutOutcome
from ostler.engine.shared.opens import refresh_queue
from ostler.model import constants as mq
from ostler.model.errors import LogFull, MQError
from ostler.model.structures.pmo import MQPMO
from ostler.server.verbs.objects import make_open_reply, make_open_request
from ostler.wire.object_frames import OpenArguments, OpenReply

OpenedHandle = tuple[int, int, int]
"""An object handle, completion and reason."""


def MQOPEN(hconn: int, od: bytearray, options: int) -> OpenedHandle:
    """Open an object. `od` returns the resolved names, and the name of a dynamic queue."""
    try:
        bound = usable_connection(hconn)
        asked = open_arguments(od, options)
        request = make_open_request(bound.engine, asked)
        found, lsn, handle = retry_when_log_full(bound, lambda engine: _open(engine, bound, asked, request))
        if handle.opening is not None:
            wait_for_task(bound, handle.opening)
            with engine_turn(bound) as engine:
                complete_open(engine, bound.connection, handle)
        wait_durable(bound, lsn)
    except MQError as error:
        return mq.MQHO_UNUSABLE_HOBJ, *error_result(error)
    describe_opened(od, asked, found, bound.engine.name)
    return found.hobj, mq.MQCC_OK, mq.MQRC_NONE


def _open(engine: Engine, bound: Bound, asked: OpenArguments, request: OpenRequest) -> tuple[OpenReply, int, Handle]:
    """Open an object. Returns the reply and the LSN to wait for: a permanent dynamic queue must survive a restart."""
    handle = open_object(engine, bound.connection, request)
    wake_when_done(bound, handle.opening)
    made = handle.queue if handle.created_dynamic else None
    lsn = engine.journal.end_lsn() if made is not None and not made.is_temporary else 0
    return make_open_reply(engine, handle, asked), lsn, handle


def MQCLOSE(hconn: int, hobj: int, options: int) -> OpenedHandle:
    """Close an object, and delete a dynamic queue if the options ask for it. Returns the unusable handle."""
    try:
        bound = usable_connection(hconn)
        handle = open_handle(bound, hobj)
        closed = retry_when_log_full(bound, lambda engine: _close(engine, bound, handle, options))
        if closed.task is not None:
            wait_for_task(bound, closed.task)
        wait_durable(bound, closed.after_lsn)
    except MQError as error:
        return hobj, *error_result(error)
    callbacks = state_of(hconn).callbacks
    if callbacks is not None:
        callbacks.on_handle_closed(hobj)
    return mq.MQHO_UNUSABLE_HOBJ, completion(closed.reason), closed.reason


def _close(engine: Engine, bound: Bound, handle: Handle, options: int) -> CloseOutcome:
    try:
        closed = close_object(engine, bound.connection, handle, options)
        wake_when_done(bound, closed.task)
        return closed
    except LogFull:
        raise  # it is tried again and not counted
    except MQError:
        statistics.count_close_failed(engine, bound.connection, handle)
        raise


def open_handle(bound: Bound, hobj: int) -> Handle:
    handle = bound.connection.handles.get(hobj)
    if handle is None:
        raise MQError(mq.MQRC_HOBJ_ERROR, f"{hobj} is not the handle of an open object of this connection.")
    return handle


def MQPUT1(hconn: int, od: bytearray, md: bytearray, pmo: bytearray, buffer: bytes) -> Result:
    """Put one message on a queue that need not be open. `od`, `md` and `pmo` are updated."""
    try:
        bound = usable_connection(hconn)
        reason = _put1(bound, od, md, pmo, buffer)
    except MQError as error:
        return error_result(error)
    return completion(reason), reason


def _put1(bound: Bound, od: bytearray, md: bytearray, pmo: bytearray, buffer: bytes) -> int:
    connection = bound.connection
    asked = open_arguments(od, 0)
    request = make_open_request(bound.engine, asked)
    request.selection = ""
    version = check_put1(pmo, buffer)
    descriptor, buffer = put_parts(bytes(md), buffer)
    options = MQPMO.read_int(pmo, "Options")
    property_block = b""
    if version > 2:
        descriptor, property_block = message_handles.put_properties(
            connection.message_handles, bytes(pmo), descriptor, buffer
        )
    source = connection.handles.get(MQPMO.read_int(pmo, "Context"))
    if options & mq.MQOO_ALTERNATE_USER_AUTHORITY:
        request.alternate_user = asked.alternate_user

    level = publish_level(bytes(pmo)) if version > 2 else PUBLISH_LEVEL_HIGHEST

    def verb(engine: Engine) -> PutOutcome:
        outcome = putting.put1(engine, connection, request, descriptor, options, property_block, buffer, source, level)
        outcome.check()
        wake_when_done(bound, outcome.task)
        return outcome

    def count_failure(engine: Engine) -> None:
        statistics.count_put1_failed(engine, connection, request.object_type)

    done = retry_when_log_full(bound, verb, count_failure)
    if done.task is not None:
        wait_for_task(bound, done.task)
        if done.has_failed():
            with engine_turn(bound) as engine:
                count_failure(engine)
            wait_durable(bound, done.after_lsn)
            done.check()
    describe_put(od, md, pmo, done.md, done.resolved_names)
    if version > 2:
        message_handles.complete_put(connection.message_handles, bytes(pmo), done.md)
    wait_durable(bound, done.after_lsn)
    return done.reason


def MQINQ(
    hconn: int, hobj: int, selectors: list[int], int_count: int, char_length: int
) -> tuple[list[int], bytes, int, int]:
    """Return the attributes of the selectors: at most `int_count` integers, and `char_length` bytes of text."""
    try:
        bound = usable_connection(hconn)
        handle = open_handle(bound, hobj)
        check_counts(int_count, char_length)
        _refresh(bound, handle)
        with engine_turn(bound) as engine:
            integers, texts, reason = _inquire(engine, bound, handle, list(selectors))
    except MQError as error:
        return [], b"", *error_result(error)
    return fit_attributes(integers, texts, reason, int_count, char_length)


def _refresh(bound: Bound, handle: Handle) -> None:
    """Have the depth and the opens of a shared queue told by the coupling facility."""
    queue = handle.queue
    if queue is None or not queue.is_shared:
        return
    with engine_turn(bound) as engine:
        task = refresh_queue(engine, queue)
        wake_when_done(bound, task)
    if task is not None:
        wait_for_task(bound, task)


def _inquire(engine: Engine, bound: Bound, handle: Handle, selectors: list[int]) -> tuple[list[int], list[bytes], int]:
    try:
        found = attributes.inquire(engine, handle, selectors)
    except MQError:
        statistics.count_inquire(engine, bound.connection, handle, False)
        raise
    statistics.count_inquire(engine, bound.connection, handle, True)
    return found


def _set(engine: Engine, bound: Bound, handle: Handle, selectors: list[int], ints: list[int], chars: bytes) -> int:
    try:
        lsn = attributes.set_attributes(engine, handle, selectors, ints, chars)
    except LogFull:
        raise  # it is tried again and not counted
    except MQError:
        statistics.count_set(engine, bound.connection, handle, False)
        raise
    statistics.count_set(engine, bound.connection, handle, True)
    return lsn


def MQSET(hconn: int, hobj: int, selectors: list[int], ints: list[int], chars: bytes) -> Result:
    """Set attributes of a queue: all of them, or none. The change is durable on return."""
    try:
        bound = usable_connection(hconn)
        handle = open_handle(bound, hobj)
        lsn = retry_when_log_full(
            bound,
            lambda engine: _set(engine, bound, handle, list(selectors), list(ints), bytes(chars)),
        )
        wait_durable(bound, lsn)
    except MQError as error:
        return error_result(error)
    return mq.MQCC_OK, mq.MQRC_NONE
