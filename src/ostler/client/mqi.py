"""The Message Queue Interface in this process: the raw verbs, as C programs know them.

Structures are bytearrays in their standard packed layouts, patched in place as the MQI does. Each verb returns what C would
return through pointers, completion and reason code last. Handles are numbers. Every verb may be called from any thread; one
connection is used by one verb at a time.

    hconn, cc, rc = MQCONN("QM1")
    hobj, cc, rc = MQOPEN(hconn, od, MQOO_OUTPUT)
    cc, rc = MQPUT(hconn, hobj, md, pmo, b"Hello")
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, final

from librt.strings import read_i32_le, read_i64_le
from librt.threading import Lock
from librt.time import time
from mypy_extensions import i64

from ostler.engine import get as getting
from ostler.engine import put as putting
from ostler.engine import syncpoint
from ostler.engine.connection import Connection, Handle
from ostler.engine.core import Engine
from ostler.engine.get_request import BY_SCAN, GetRequest
from ostler.engine.message import MD_BYTES
from ostler.model.constants import (
    MQCC_FAILED,
    MQCC_OK,
    MQCC_WARNING,
    MQRC_BACKED_OUT,
    MQRC_BUFFER_ERROR,
    MQRC_CALL_IN_PROGRESS,
    MQRC_GMO_ERROR,
    MQRC_HCONN_ERROR,
    MQRC_HOBJ_ERROR,
    MQRC_MD_ERROR,
    MQRC_NO_MSG_AVAILABLE,
    MQRC_NONE,
    MQRC_PMO_ERROR,
)
from ostler.model.errors import MQError
from ostler.model.reasons import WARNINGS
from ostler.server.journal_writer import JournalWriter
from ostler.server.queue_manager import QueueManager

Result = tuple[int, int]

_VERSION_2: Final = 2
_V1_TAIL: Final = bytes(24) + b"\x01\0\0\0" + bytes(8) + b"\xff\xff\xff\xff"
_MD_ID: Final = 0x2020444D  # "MD  "
_PMO_ID: Final = 0x204F4D50  # "PMO "
_GMO_ID: Final = 0x204F4D47  # "GMO "
_GMO_BYTES: Final = (0, 72, 80, 100, 112)
_PMO_BYTES: Final = (0, 128, 160, 184)
_DEFAULT_MATCH: Final = 3
_ROOM_TRIES: Final = 3
_MILLISECONDS: Final = 1000.0


@final
class Bound:
    """A connection as this process holds it: the engine's side, and what blocks and wakes the application."""

    def __init__(self, manager: QueueManager, connection: Connection) -> None:
        self.manager = manager
        self.engine: Engine = manager.engine
        self.lock: Lock = manager.lock
        self.writer: JournalWriter = manager.writer
        self.connection = connection
        self.waker = threading.Lock()
        self.waker.acquire()
        self.wake: Callable[[], None] = self.waker.release
        # A verb that waits for the log tells this instead, when it is set (the asynchronous flavour).
        self.durable_lsn: i64 = 0


_bound: Final[dict[int, Bound]] = {}
_numbers: list[int] = [0]
_registry_lock: Final = threading.Lock()


def bind(manager: QueueManager, user: str, application: str, application_type: int = 6) -> int:
    """Connect to a queue manager object; the connection handle."""
    bound = Bound(manager, manager.connect(user, application, application_type))
    with _registry_lock:
        _numbers[0] += 1
        hconn = _numbers[0]
        _bound[hconn] = bound
    return hconn


def bound_connection(hconn: int) -> Bound:
    """What is behind a connection handle; raises MQError when there is nothing, or it is broken."""
    bound = _bound.get(hconn)
    if bound is None:
        raise MQError(MQRC_HCONN_ERROR)
    if bound.connection.broken:
        raise MQError(bound.connection.broken)
    return bound


def unbind(hconn: int) -> None:
    with _registry_lock:
        _bound.pop(hconn, None)


def completion(reason: int) -> int:
    if reason == MQRC_NONE:
        return MQCC_OK
    return MQCC_WARNING if reason in WARNINGS else MQCC_FAILED


def failed(error: MQError) -> Result:
    return error.completion, error.reason


def MQPUT(hconn: int, hobj: int, md: bytearray, pmo: bytearray, buffer: bytes) -> Result:
    """Put a message on an open queue. `md` and `pmo` come back filled in."""
    try:
        bound = bound_connection(hconn)
        reason: i64 = _put(bound, hobj, md, pmo, buffer, b"")
    except MQError as error:
        return failed(error)
    return (MQCC_OK, MQRC_NONE) if reason == 0 else (completion(reason), reason)


def _put(bound: Bound, hobj: int, md: bytearray, pmo: bytearray, buffer: bytes, properties: bytes) -> i64:
    descriptor = put_descriptor(md)
    options_structure = bytes(pmo)
    check_structure(options_structure, _PMO_ID, _PMO_BYTES, MQRC_PMO_ERROR)
    if not isinstance(buffer, bytes):
        raise MQError(MQRC_BUFFER_ERROR)
    options: i64 = i64(read_i32_le(options_structure, 8))
    connection = bound.connection
    handle = connection.handles.get(hobj)
    if handle is None:
        return MQRC_HOBJ_ERROR
    source: Handle | None = None
    context: i64 = i64(read_i32_le(options_structure, 16))
    if context != 0:
        source = connection.handles.get(context)
    tries: i64 = 0
    while True:
        bound.lock.acquire()
        try:
            bound.engine.now_ms = i64(time() * _MILLISECONDS)
            reason: i64 = putting.put(
                bound.engine, connection, handle, descriptor, options, properties, buffer, source
            )
            lsn: i64 = connection.after_lsn
            stored = connection.put_md
            if bound.engine.woken:
                bound.manager.wake()
            full: bool = bound.engine.journal_full
            bound.engine.journal_full = False
        finally:
            bound.lock.release()
        if not full or tries == _ROOM_TRIES:
            break
        tries += 1
        bound.manager.make_room()
    if reason == 0 or reason in WARNINGS:
        if len(md) == MD_BYTES:
            md[:] = stored
        else:
            md[:] = stored[: len(md)]
            md[4:8] = descriptor_version(len(md))
        pmo[32:128] = handle.resolved_names
        if lsn > bound.writer.log.durable_lsn():
            bound.writer.wait_durable(lsn)
    else:
        connection.counters.puts_failed += 1
    return reason


def descriptor_version(length: int) -> bytes:
    return b"\x02\0\0\0" if length >= MD_BYTES else b"\x01\0\0\0"


def put_descriptor(md: bytearray) -> bytes:
    """The descriptor of a message to put, as version 2."""
    descriptor = bytes(md)
    length: i64 = len(descriptor)
    if length < 324 or i64(read_i32_le(descriptor, 0)) != _MD_ID:
        raise MQError(MQRC_MD_ERROR)
    version: i64 = i64(read_i32_le(descriptor, 4))
    if version == _VERSION_2 and length == MD_BYTES:
        return descriptor
    if version == 1:
        return descriptor[:4] + b"\x02\0\0\0" + descriptor[8:324] + _V1_TAIL
    raise MQError(MQRC_MD_ERROR)


def check_structure(structure: bytes, identifier: i64, sizes: tuple[int, ...], reason: int) -> i64:
    """The version of a structure whose identifier, version and length fit together."""
    length: i64 = len(structure)
    if length < 8 or i64(read_i32_le(structure, 0)) != identifier:
        raise MQError(reason)
    version: i64 = i64(read_i32_le(structure, 4))
    if version < 1 or version >= len(sizes) or length < sizes[version]:
        raise MQError(reason)
    return version


def MQGET(hconn: int, hobj: int, md: bytearray, gmo: bytearray, length: int) -> tuple[bytes, int, int, int]:
    """Get or browse a message of up to `length` bytes: the data, the message's whole length, completion and reason."""
    try:
        bound = bound_connection(hconn)
        request = get_request(bound, hobj, md, gmo, length)
        run_get(bound, request)
    except MQError as error:
        return b"", 0, error.completion, error.reason
    return finish(request, md, gmo)


def get_request(bound: Bound, hobj: int, md: bytearray, gmo: bytearray, length: int) -> GetRequest:
    """What an application's structures ask for."""
    connection = bound.connection
    handle = connection.handles.get(hobj)
    if handle is None:
        raise MQError(MQRC_HOBJ_ERROR)
    options_structure = bytes(gmo)
    version: i64 = check_structure(options_structure, _GMO_ID, _GMO_BYTES, MQRC_GMO_ERROR)
    descriptor = bytes(md)
    if len(descriptor) < 324 or i64(read_i32_le(descriptor, 0)) != _MD_ID:
        raise MQError(MQRC_MD_ERROR)
    match: i64 = _DEFAULT_MATCH
    if version >= _VERSION_2:
        match = i64(read_i32_le(options_structure, 72))
    request = getting.new_request(
        connection,
        handle,
        i64(read_i32_le(options_structure, 8)),
        match,
        descriptor[48:72],
        descriptor[72:96],
        length,
    )
    request.wait_ms = i64(read_i32_le(options_structure, 12))
    request.encoding = i64(read_i32_le(descriptor, 24))
    request.ccsid = i64(read_i32_le(descriptor, 28))
    if request.kind == BY_SCAN:
        if len(descriptor) >= MD_BYTES:
            request.group_id = descriptor[324:348]
            request.sequence_number = i64(read_i32_le(descriptor, 348))
            request.offset = i64(read_i32_le(descriptor, 352))
        if version > _VERSION_2:
            request.token = options_structure[80:96]
    if version > 3:
        request.has_message_handle = read_i64_le(options_structure, 104) > 0
    return request


def run_get(bound: Bound, request: GetRequest) -> None:
    """Answer a request, waiting as long as it says."""
    request.waker = bound.wake
    bound.lock.acquire()
    try:
        bound.engine.now_ms = i64(time() * _MILLISECONDS)
        done: bool = getting.get(bound.engine, request)
        if bound.engine.woken:
            bound.manager.wake()
    finally:
        bound.lock.release()
    if not done:
        wait_for(bound, request)
    if request.after_lsn > bound.writer.log.durable_lsn():
        bound.writer.wait_durable(request.after_lsn)


def wait_for(bound: Bound, request: GetRequest) -> None:
    """Sleep until the request is answered or its time is up."""
    timeout = -1.0 if request.wait_ms < 0 else float(request.wait_ms) / _MILLISECONDS
    if bound.waker.acquire(True, timeout):
        return
    bound.lock.acquire()
    try:
        if not request.done:
            getting.cancel(bound.engine, request, MQRC_NO_MSG_AVAILABLE)
            return
    finally:
        bound.lock.release()
    # It was answered in the last moment: take the wake-up that belongs to it.
    bound.waker.acquire()


def finish(request: GetRequest, md: bytearray, gmo: bytearray) -> tuple[bytes, int, int, int]:
    """Patch the answer into the application's structures."""
    reason: i64 = request.reason
    if len(request.md) != 0:
        if len(md) == MD_BYTES:
            md[:] = request.md
        else:
            md[:] = request.md[: len(md)]
            md[4:8] = descriptor_version(len(md))
        gmo[24:72] = request.handle.resolved_names[:48]
        if len(gmo) >= 80:
            gmo[76] = request.group_status
            gmo[77] = request.segment_status
            gmo[78] = request.segmentation
        if len(gmo) >= 100:
            gmo[80:96] = request.returned_token
            gmo[96:100] = len(request.body).to_bytes(4, "little")
    return request.body, request.data_bytes, completion(reason), reason


def MQCMIT(hconn: int) -> Result:
    """Commit the unit of work."""
    try:
        bound = bound_connection(hconn)
        connection = bound.connection
        bound.lock.acquire()
        try:
            bound.engine.now_ms = i64(time() * _MILLISECONDS)
            reason: i64 = syncpoint.commit(bound.engine, connection)
            lsn: i64 = connection.after_lsn
            if bound.engine.woken:
                bound.manager.wake()
        finally:
            bound.lock.release()
        if lsn > bound.writer.log.durable_lsn():
            bound.writer.wait_durable(lsn)
    except MQError as error:
        return failed(error)
    return completion(reason), reason


def MQBACK(hconn: int) -> Result:
    """Back out the unit of work."""
    try:
        bound = bound_connection(hconn)
        bound.lock.acquire()
        try:
            bound.engine.now_ms = i64(time() * _MILLISECONDS)
            reason: i64 = syncpoint.back_out(bound.engine, bound.connection)
            if bound.engine.woken:
                bound.manager.wake()
        finally:
            bound.lock.release()
    except MQError as error:
        return failed(error)
    return completion(reason), reason
