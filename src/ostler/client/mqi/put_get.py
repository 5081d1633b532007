"""MQPUT, MQGET, MQCMIT and MQBACK on queue managers of this process.

Structures are bytearrays in their standard packed layouts, patched in place. Each verb returns the values that C
returns through pointers, completion and reason code last. Handles are numbers. Every verb may be called from any
thread; one connection is used by one verb at a time.

    hconn, cc, rc = MQCONN("QM1")
    hobj, cc, rc = MQOPEN(hconn, od, MQOO_OUTPUT)
    cc, rc = MQPUT(hconn, hobj, md, pmo, b"Hello")
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from struct import Struct
from typing import Final, final

from librt.strings import BytesWriter, read_i32_le, read_i64_le, write_i32_le
from librt.vecs import vec
from mypy_extensions import i32, i64

from ostler.client.link.interrupts import SIGNAL_CHECK_SECONDS, run_signal_handlers
from ostler.client.mqi import message_handles
from ostler.engine import get as getting
from ostler.engine import put as putting
from ostler.engine import syncpoint
from ostler.engine.connection import PUBLISH_LEVEL_HIGHEST, Connection
from ostler.engine.core import Engine
from ostler.engine.handle import Handle
from ostler.engine.message.message import MD_BYTES, NULL_ID
from ostler.engine.message.mqmde import PLAIN_TAIL, without_extension
from ostler.engine.outcomes import PutOutcome
from ostler.engine.queue.get_request import BY_SCAN, GetRequest
from ostler.engine.queue.reads import MessageRead
from ostler.engine.statistics import count_put_failed
from ostler.engine.task import EngineTask
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.reasons import WARNINGS
from ostler.server.queue_manager import QueueManager
from ostler.server.storage.journal_writer import JournalWriter
from ostler.server.storage.message_reader import perform_read
from ostler.server.turn import EngineTurn

Result = tuple[int, int]

_VERSION_2: Final = 2
_MD_ID: Final = 0x2020444D  # "MD  "
_PMO_ID: Final = 0x204F4D50  # "PMO "
_GMO_ID: Final = 0x204F4D47  # "GMO "
_GMO_BYTES: Final = vec[i64]([0, 72, 80, 100, 112])
_PMO_BYTES: Final = vec[i64]([0, 128, 160, 184])
# These write into a bytearray without the copy that a slice assignment makes.
_patch_descriptor: Final = Struct("364s").pack_into
_patch_version_1: Final = Struct("324s").pack_into
_patch_names: Final = Struct("96s").pack_into
_DEFAULT_MATCH: Final = 3
_ROOM_TRIES: Final = 3
_BLANK: Final = 32
_MILLISECONDS: Final = 1000.0


@final
class Bound:
    """A connection of this process: the engine's connection and turns, and the lock that waiting gets block on."""

    def __init__(self, manager: QueueManager, connection: Connection) -> None:
        self.manager = manager
        self.engine: Engine = manager.engine
        self.turn: EngineTurn = manager.turn
        self.writer: JournalWriter = manager.writer
        self.connection = connection
        self.waker = threading.Lock()
        self.waker.acquire()
        self.wake: Callable[[], None] = self.waker.release
        # While callbacks are started, other threads get MQRC_HCONN_ASYNC_ACTIVE.
        self.is_inside_callback: Callable[[], bool] | None = None
        self.waiting = False  # a get on this connection waits: other verbs get MQRC_CALL_IN_PROGRESS


_bound: Final[dict[int, Bound]] = {}
_numbers: list[int] = [0]
_registry_lock: Final = threading.Lock()


def bind(
    manager: QueueManager, user: str, application: str, application_type: int = 6, options: int = 0, tag: bytes = b""
) -> int:
    """Connect to a queue manager object and return the connection handle."""
    bound = Bound(manager, manager.connect(user, application, application_type, options, tag))
    with _registry_lock:
        _numbers[0] += 1
        hconn = _numbers[0]
        _bound[hconn] = bound
    return hconn


def bound_connection(hconn: int) -> Bound:
    """Return the connection of a handle. Raises MQError when it is unknown, broken, or in a waiting get."""
    bound = _bound.get(hconn)
    if bound is None:
        raise MQError(mq.MQRC_HCONN_ERROR)
    bound.connection.check_working()
    if bound.waiting:
        raise MQError(mq.MQRC_CALL_IN_PROGRESS)
    return bound


def _usable(hconn: int) -> Bound:
    """Return the connection for a verb of this thread. Raises MQError when it cannot be used."""
    bound = bound_connection(hconn)
    if bound.connection.consuming:
        is_inside = bound.is_inside_callback
        if is_inside is None or not is_inside():
            raise MQError(mq.MQRC_HCONN_ASYNC_ACTIVE)
    return bound


def unbind(hconn: int) -> None:
    with _registry_lock:
        _bound.pop(hconn, None)


def completion(reason: int) -> int:
    if reason == mq.MQRC_NONE:
        return mq.MQCC_OK
    return mq.MQCC_WARNING if reason in WARNINGS else mq.MQCC_FAILED


def error_result(error: MQError) -> Result:
    return error.completion, error.reason


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
        bound = _usable(hconn)
        handle = bound.connection.handles.get(hobj)
        if handle is None:
            return md, pmo, mq.MQCC_FAILED, mq.MQRC_HOBJ_ERROR
        descriptor, buffer = put_parts(md, buffer)
        properties = b""
        has_handles: bool = len(pmo) >= _PMO_BYTES[3] and pmo[4] == 3 and _has_message_handles(pmo)
        if has_handles:
            descriptor, properties = message_handles.put_properties(
                bound.connection.message_handles, pmo, descriptor, buffer
            )
        outcome = _put(bound, handle, descriptor, pmo, buffer, properties)
    except MQError as error:
        return md, pmo, error.completion, error.reason
    reason: i64 = outcome.reason
    if outcome.has_failed():
        return md, pmo, mq.MQCC_FAILED, reason
    if has_handles:
        message_handles.complete_put(bound.connection.message_handles, pmo, outcome.md)
    if pmo is not handle.put_options_given:
        handle.put_options_given = pmo
        handle.put_options_returned = pmo[:32] + handle.resolved_names + pmo[128:]
    return outcome.md, handle.put_options_returned, mq.MQCC_OK if reason == 0 else mq.MQCC_WARNING, reason


def _has_message_handles(pmo: bytes) -> bool:
    return (
        read_i64_le(pmo, 160) != 0
        or read_i64_le(pmo, 168) != 0
        or read_i32_le(pmo, 176) != 0
        or i64(read_i32_le(pmo, 8)) & mq.MQPMO_MD_FOR_OUTPUT_ONLY != 0
    )


def _put(bound: Bound, handle: Handle, md: bytes, pmo: bytes, buffer: bytes, properties: bytes) -> PutOutcome:
    version: i64 = check_structure(pmo, _PMO_ID, mq.MQRC_PMO_ERROR)
    if version > 3 or len(pmo) < _PMO_BYTES[version]:
        raise MQError(mq.MQRC_PMO_ERROR)
    options: i64 = i64(read_i32_le(pmo, 8))
    connection = bound.connection
    source: Handle | None = None
    context: i64 = i64(read_i32_le(pmo, 16))
    if context != 0:
        source = connection.handles.get(context)
    level: i64 = PUBLISH_LEVEL_HIGHEST
    if version == 3 and handle.topic is not None:
        level = publish_level(pmo)
    tries: i64 = 0
    while True:
        with bound.turn as engine:
            connection.check_working()
            try:
                outcome = putting.put(engine, connection, handle, md, options, properties, buffer, source, level)
            except MQError:
                count_put_failed(engine, connection, handle)
                raise
            is_tried_again: bool = outcome.wants_log_space and tries < _ROOM_TRIES
            if outcome.has_failed() and not is_tried_again:
                if outcome.task is not None:
                    wake_when_done(bound, outcome.task)
                else:
                    count_put_failed(engine, connection, handle)
        if not is_tried_again:
            break
        tries += 1
        bound.manager.make_room()
    if outcome.task is not None:
        wait_for_task(bound, outcome.task)
        if outcome.has_failed():
            with bound.turn as engine:
                count_put_failed(engine, connection, handle)
    lsn: i64 = outcome.after_lsn
    if lsn != 0 and lsn > bound.writer.log.durable_lsn():
        bound.writer.wait_durable_throttled(lsn)
    elif bound.writer.log.buffer_is_full():
        bound.writer.wait_durable_throttled(bound.writer.log.end_lsn())
    return outcome


def publish_level(pmo: bytes) -> i64:
    """Return the publication level of put options of version 3."""
    level: i64 = i64(read_i32_le(pmo, 180))
    if level < 0 or level > PUBLISH_LEVEL_HIGHEST:
        raise MQError(mq.MQRC_PMO_ERROR, f"A publication level is 0 to {PUBLISH_LEVEL_HIGHEST}.")
    return level


def return_descriptor(md: bytearray, stored: bytes) -> None:
    """Copy a stored descriptor to the application's, in the version of the latter."""
    if len(md) == MD_BYTES and md[4] == _VERSION_2:
        _patch_descriptor(md, 0, stored)
    else:
        _patch_version_1(md, 0, stored)
        md[4] = 1


def put_parts(md: bytes, buffer: bytes) -> tuple[bytes, bytes]:
    """Return the descriptor of a message to put, as version 2, and its data. An MQMDE is merged into the descriptor."""
    if len(md) >= 324 and md[4] == 1 and i64(read_i32_le(md, 0)) == _MD_ID:
        return without_extension(md, buffer)
    return put_descriptor(md), buffer


def put_descriptor(md: bytes) -> bytes:
    """Return a descriptor as version 2."""
    length: i64 = len(md)
    if length < 324 or i64(read_i32_le(md, 0)) != _MD_ID:
        raise MQError(mq.MQRC_MD_ERROR)
    version: i64 = i64(read_i32_le(md, 4))
    if version == _VERSION_2 and length == MD_BYTES:
        return md
    if version == 1:
        return md[:4] + b"\x02\0\0\0" + md[8:324] + PLAIN_TAIL
    raise MQError(mq.MQRC_MD_ERROR)


def check_structure(structure: bytes, identifier: i64, reason: int) -> i64:
    """Return the version of a structure after checking its identifier. The caller checks its length."""
    if len(structure) < 72 or i64(read_i32_le(structure, 0)) != identifier:
        raise MQError(reason)
    version: i64 = i64(read_i32_le(structure, 4))
    if version < 1:
        raise MQError(reason)
    return version


def MQGET(hconn: int, hobj: int, md: bytearray, gmo: bytearray, length: int) -> tuple[bytes, int, int, int]:
    """Get or browse a message of up to `length` bytes. Returns data, full message length, completion and reason."""
    data, returned, filled, data_bytes, code, reason = get_message(hconn, hobj, bytes(md), bytes(gmo), length)
    if returned is not None:
        return_descriptor(md, returned)
        gmo[:] = filled
    return data, data_bytes, code, reason


def get_message(
    hconn: int, hobj: int, md: bytes, gmo: bytes, length: int
) -> tuple[bytes, bytes | None, bytes, int, int, int]:
    """MQGET on values instead of buffers.

    Returns data, descriptor (None: no message), options, full message length, completion and reason.
    """
    try:
        bound = _usable(hconn)
        request = get_request(bound, hobj, md, gmo, length)
        run_get(bound, request)
        found = request.properties
        if found is not None and request.has_message_handle:
            message_handles.fill_handle(bound.connection.message_handles, found.properties, request.md, gmo)
    except MQError as error:
        return b"", None, gmo, 0, error.completion, error.reason
    reason: i64 = request.reason
    if len(request.md) == 0:
        return b"", None, gmo, 0, mq.MQCC_FAILED if reason == mq.MQRC_BACKED_OUT else completion(reason), reason
    return (
        request.body,
        request.md,
        returned_options(request, gmo),
        request.data_bytes,
        mq.MQCC_OK if reason == 0 else mq.MQCC_WARNING,
        reason,
    )


def returned_options(request: GetRequest, gmo: bytes) -> bytes:
    """Return the get options with the fields of the queue manager: queue name, group and segment status, token."""
    handle = request.handle
    if gmo is not handle.get_options_given:
        handle.get_options_given = gmo
        handle.get_options_returned = gmo[:24] + handle.resolved_names[:48] + gmo[72:76] + b"    "
    version: i64 = i64(gmo[4])
    if version == 1:
        return handle.get_options_returned[:72] + gmo[72:]
    head = handle.get_options_returned
    if request.group_status | request.segment_status | request.segmentation != _BLANK:
        head = head[:76] + bytes((request.group_status, request.segment_status, request.segmentation, _BLANK))
    if version == _VERSION_2:
        return head + gmo[80:]
    writer = BytesWriter()
    writer.write(head)
    writer.write(request.returned_token)
    write_i32_le(writer, i32(len(request.body)))
    writer.write(gmo[100:])
    return writer.getvalue()


def get_request(bound: Bound, hobj: int, md: bytes, gmo: bytes, length: int) -> GetRequest:
    """Convert the application's structures to a request of the engine."""
    connection = bound.connection
    handle = connection.handles.get(hobj)
    if handle is None:
        raise MQError(mq.MQRC_HOBJ_ERROR)
    version: i64 = check_structure(gmo, _GMO_ID, mq.MQRC_GMO_ERROR)
    if version > 4 or len(gmo) < _GMO_BYTES[version]:
        raise MQError(mq.MQRC_GMO_ERROR)
    if len(md) < 324 or i64(read_i32_le(md, 0)) != _MD_ID:
        raise MQError(mq.MQRC_MD_ERROR)
    md_version: i64 = i64(read_i32_le(md, 4))
    if md_version != 1 and (md_version != _VERSION_2 or len(md) < MD_BYTES):
        raise MQError(mq.MQRC_MD_ERROR)
    match: i64 = i64(read_i32_le(gmo, 72)) if version >= _VERSION_2 else _DEFAULT_MATCH
    message_id = NULL_ID
    correlation_id = NULL_ID
    if match & mq.MQMO_MATCH_MSG_ID:
        message_id = md[48:72]
    if match & mq.MQMO_MATCH_CORREL_ID:
        correlation_id = md[72:96]
    request = getting.new_request(
        connection, handle, i64(read_i32_le(gmo, 8)), match, message_id, correlation_id, length
    )
    request.may_pause = True
    request.wait_ms = i64(read_i32_le(gmo, 12))
    request.encoding = i64(read_i32_le(md, 24))
    request.ccsid = i64(read_i32_le(md, 28))
    if request.kind == BY_SCAN:
        if md_version == _VERSION_2:
            request.group_id = md[324:348]
            request.sequence_number = i64(read_i32_le(md, 348))
            request.offset = i64(read_i32_le(md, 352))
        if version > _VERSION_2:
            request.token = gmo[80:96]
    request.wants_extension = md[4] == 1
    if version > _VERSION_2:
        request.wants_token = True
    if version > 3:
        request.has_message_handle = read_i64_le(gmo, 104) != 0 and message_handles.check_get(
            connection.message_handles, gmo
        )
    return request


def run_get(bound: Bound, request: GetRequest) -> None:
    """Run a get, waiting as long as it asks for. When the log's reserve is used up, make room and try again."""
    tries: i64 = 0
    while True:
        _try_get(bound, request)
        if request.reason != mq.MQRC_RESOURCE_PROBLEM or len(request.md) > 0 or tries == _ROOM_TRIES:
            break
        tries += 1
        bound.manager.make_room()
        request.reason = 0
        request.done = False
    if request.after_lsn > bound.writer.log.durable_lsn():
        bound.writer.wait_durable_throttled(request.after_lsn)


def _try_get(bound: Bound, request: GetRequest) -> None:
    request.waker = bound.wake
    with bound.turn as engine:
        bound.connection.check_working()
        done: bool = getting.get(engine, request)
        read = None if done else engine.take_read_of(request)
    if not done:
        bound.waiting = True
        try:
            if read is not None:
                _make_reads(bound, request, read)
            wait_for(bound, request)
        finally:
            bound.waiting = False


def _make_reads(bound: Bound, request: GetRequest, read: MessageRead | None) -> None:
    """Make the reads that a get waits for on its own thread, which saves two changes of threads."""
    try:
        while read is not None:
            perform_read(bound.manager, read)
            with bound.turn as engine:
                getting.end_read(engine, read)
                read = engine.take_read_of(request)
    except BaseException:
        try:
            _give_up(bound, request, False)  # first: whoever makes the read now must not take a message for it
        finally:
            if read is not None and not read.is_made:
                with bound.turn as engine:
                    engine.return_read(read)
        raise


def wait_for(bound: Bound, request: GetRequest) -> None:
    """Sleep until the request is answered or its time is up. Without MQGMO_WAIT, the end of the search answers it."""
    waits: bool = request.options & mq.MQGMO_WAIT != 0 and request.wait_ms > 0
    left = float(request.wait_ms) / _MILLISECONDS if waits else -1.0
    try:
        while not bound.waker.acquire(True, SIGNAL_CHECK_SECONDS if left < 0 else min(left, SIGNAL_CHECK_SECONDS)):
            run_signal_handlers()
            if left >= 0:
                left -= SIGNAL_CHECK_SECONDS
                if left <= 0:
                    break
        else:
            return
    except BaseException:
        _give_up(bound, request, False)
        raise
    _give_up(bound, request, True)


def _give_up(bound: Bound, request: GetRequest, waits_for_read: bool) -> None:
    """End the wait. If the request has been answered meanwhile, the answer counts, and its wake-up is consumed.

    With `waits_for_read` a request whose message is being read is answered, although its time is up.
    """
    with bound.turn as engine:
        if not request.done:
            if not waits_for_read:
                getting.cancel(engine, request, mq.MQRC_NO_MSG_AVAILABLE)
                return
            if getting.end_wait(engine, request):
                return
    bound.waker.acquire()


def wake_when_done(bound: Bound, task: EngineTask | None) -> None:
    """Have the application woken when the task of its verb is done, if it has one. Called in the turn of the verb."""
    if task is not None:
        bound.engine.notify_when_done(task, bound.wake)


def wait_for_task(bound: Bound, task: EngineTask) -> None:
    """Wait for the task of a verb, after `wake_when_done`. Raises MQError when the queue manager has failed."""
    bound.waker.acquire()
    task.check()


def MQCMIT(hconn: int) -> Result:
    """Commit the unit of work."""
    try:
        bound = _usable(hconn)
        connection = bound.connection
        with bound.turn as engine:
            connection.check_working()
            outcome = syncpoint.commit(engine, connection, True)
            wake_when_done(bound, outcome.task)
        if outcome.task is not None:
            bound.waker.acquire()
            outcome.task.check()
        if outcome.after_lsn > bound.writer.log.durable_lsn():
            bound.writer.wait_durable_throttled(outcome.after_lsn)
    except MQError as error:
        return error_result(error)
    return completion(outcome.reason), outcome.reason


def MQBACK(hconn: int) -> Result:
    """Back out the unit of work."""
    try:
        bound = _usable(hconn)
        connection = bound.connection
        with bound.turn as engine:
            connection.check_working()
            outcome = syncpoint.back_out(engine, connection, True)
            wake_when_done(bound, outcome.task)
        if outcome.task is not None:
            bound.waker.acquire()
            outcome.task.check()
        # A backout need not be durable, but a program that makes many of them must let the log keep up.
        if bound.writer.log.needs_checkpoint():
            bound.writer.wait_durable_throttled(bound.writer.log.end_lsn())
        elif outcome.after_lsn > bound.writer.log.durable_lsn():
            bound.writer.wait_durable_throttled(outcome.after_lsn)
    except MQError as error:
        return error_result(error)
    return completion(outcome.reason), outcome.reason
