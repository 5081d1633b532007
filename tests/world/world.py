"""A queue manager without threads, clock or chance: the engine and its recovery log on a simulated disk.

What the server does with locks and threads happens here step by step, when the test says so. A verb leaves its records
in memory; `acknowledge` forces the log as far as the verb's answer promises; a checkpoint goes on one step at a time,
with whatever the test likes in between. Every run with the same calls is the same run.

    world = World.create()
    world.define_queue("Q")
    application = world.connect()
    world.acknowledge(world.put(application, world.open(application, "Q", MQOO_OUTPUT), b"Hello").lsn)
    world.lose_power(seed=7)
    world.restart()
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from tests.world.world_lives import Visitor, WorldLives

from ostler.engine import objects
from ostler.engine.connection import Connection
from ostler.engine.core import STOPPING
from ostler.engine.get import cancel_waits, get, new_request
from ostler.engine.handle import Handle
from ostler.engine.message.message import MD_BYTES, NULL_ID
from ostler.engine.open import OpenRequest, close_object, open_object
from ostler.engine.put import put
from ostler.engine.queue.get_request import GetRequest
from ostler.engine.queue.queue import Queue
from ostler.engine.recovery.media import ImageWriter, MediaRebuild, media_lsn
from ostler.engine.syncpoint import back_out, back_out_unit, commit, commit_unit, prepare
from ostler.engine.unit_of_work import UnitOfWork
from ostler.model.attributes import ObjectType, Value
from ostler.model.constants import (
    MQGMO_BROWSE_FIRST,
    MQGMO_BROWSE_NEXT,
    MQGMO_NO_SYNCPOINT,
    MQMO_MATCH_CORREL_ID,
    MQMO_MATCH_MSG_ID,
    MQOO_BROWSE,
    MQOT_Q,
    MQPMO_NO_SYNCPOINT,
    MQPMO_SYNCPOINT,
    MQRC_CONNECTION_BROKEN,
    MQRC_NO_MSG_AVAILABLE,
    MQRC_Q_MGR_STOPPING,
)
from ostler.model.definitions import new_definition
from ostler.model.disk import Disk, DiskFull
from ostler.model.errors import LogFull
from ostler.model.structures.md import MD_DEFAULT
from ostler.testing.simulation.crashing_disk import SimulatedDisk

_ROOM_TRIES = 3


def descriptor(persistence: int, priority: int, expiry_tenths: int, message_id: bytes, correlation_id: bytes) -> bytes:
    """An MQMD for a put."""
    md = bytearray(MD_DEFAULT.ljust(MD_BYTES, b"\0"))
    struct.pack_into("<i", md, 16, expiry_tenths)
    struct.pack_into("<ii24s24s", md, 40, priority, persistence, message_id, correlation_id)
    return bytes(md)


class Put(NamedTuple):
    """What a put came to. The application may be told when the log is durable up to `lsn`."""

    reason: int
    lsn: int
    md: bytes


class World(WorldLives):
    """See the module's text."""

    def end(self) -> bool:
        """An orderly end: applications are disconnected, their work backed out, a last checkpoint taken.

        False when the disk is full: then it is no more orderly than a crash.
        """
        self.engine.state = STOPPING
        for connection in self.engine.connections.values():
            cancel_waits(self.engine, connection, MQRC_Q_MGR_STOPPING)
        for connection in list(self.engine.connections.values()):
            self.disconnect(connection)
        is_orderly = True
        try:
            self.checkpoint(orderly=True)
        except DiskFull:
            is_orderly = False
        self.force()
        self.log.writer.close()
        return is_orderly

    # -- objects

    def define_queue(self, name: str, attributes: dict[str, Value] | None = None, replace: bool = False) -> Queue:
        """A local queue, durably defined."""
        self.acknowledge(self.define_queue_unforced(name, attributes, replace))
        return self.engine.queues[name]

    def define_queue_unforced(
        self, name: str, attributes: dict[str, Value] | None = None, replace: bool = False
    ) -> int:
        """As `define_queue`; the LSN behind the record. Makes room in the log when it is full."""
        self._set_clock()
        definition = new_definition(ObjectType.QLOCAL, name, attributes or {})
        tries = 0
        while True:
            try:
                return objects.define(self.engine, definition, replace)
            except LogFull:
                if tries == _ROOM_TRIES:
                    raise
            tries += 1
            self.make_room()

    def delete_queue(self, name: str, purge: bool = False) -> int:
        """The LSN behind the record."""
        return objects.delete(self.engine, ObjectType.QLOCAL, name, purge)

    def clear_queue(self, name: str) -> int:
        """The LSN behind the record."""
        return objects.clear(self.engine, name)

    def record_image(self, name: str) -> None:
        """Record a media image of a queue, and let go of the log that only the one before needed."""
        writer = ImageWriter(self.engine, self.engine.queues[name])
        while not writer.step():
            self.force()
        self.acknowledge(writer.end_lsn)
        writer.on_durable()
        # The manifest tells of the image; only then may older extents go.
        self.checkpoint()
        self.log.writer.set_media_lsn(max(media_lsn(self.engine), self.log.writer.media_lsn))

    def rebuild(self, name: str) -> int:
        """Make a queue anew from its media image and the log; how many messages it has."""
        self.finish_checkpoint()
        queue = self.engine.queues[name]
        durable = self.force()
        rebuild = MediaRebuild(self.engine, queue)
        self.log.read_from(queue.media_lsn, Visitor(rebuild.record), durable)
        assert rebuild.complete, "the log holds no complete image of the queue"
        return rebuild.finish()

    # -- applications

    def connect(self, application: str = "test") -> Connection:
        engine = self.engine
        connection = Connection(engine.next_connection, "tester", application, 6)
        engine.next_connection += 1
        connection.identity_context = b"tester".ljust(12) + bytes(32) + b" " * 32
        connection.origin_prefix = struct.pack("<i28s", 6, application.encode().ljust(28))
        connection.connected_ms = self.now_ms
        engine.connections[connection.number] = connection
        return connection

    def disconnect(self, connection: Connection) -> None:
        """The end of an application that never said MQDISC: its unit of work is backed out."""
        self._set_clock()
        cancel_waits(self.engine, connection, MQRC_CONNECTION_BROKEN)
        if connection.unit_of_work is not None:
            back_out(self.engine, connection)
        for handle in list(connection.handles.values()):
            close_object(self.engine, connection, handle, 0)
        self.engine.connections.pop(connection.number, None)

    def close(self, connection: Connection, handle: Handle) -> None:
        self._set_clock()
        close_object(self.engine, connection, handle, 0)

    def open(self, connection: Connection, name: str, options: int) -> Handle:
        self._set_clock()
        return open_object(self.engine, connection, OpenRequest(MQOT_Q, name, options))

    def put(
        self,
        connection: Connection,
        handle: Handle,
        body: bytes,
        *,
        syncpoint: bool = False,
        persistence: int = 1,
        priority: int = 0,
        expiry_tenths: int = -1,
        message_id: bytes = NULL_ID,
        correlation_id: bytes = NULL_ID,
    ) -> Put:
        """MQPUT, making room in the log when it is full."""
        md = descriptor(persistence, priority, expiry_tenths, message_id, correlation_id)
        options = MQPMO_SYNCPOINT if syncpoint else MQPMO_NO_SYNCPOINT
        tries = 0
        while True:
            self._set_clock()
            done = put(self.engine, connection, handle, md, options, b"", body, None)
            if not done.wants_log_space or tries == _ROOM_TRIES:
                return Put(done.reason, done.after_lsn, done.md if done.reason == 0 else b"")
            tries += 1
            self.make_room()

    def get(
        self,
        connection: Connection,
        handle: Handle,
        options: int = MQGMO_NO_SYNCPOINT,
        *,
        message_id: bytes = NULL_ID,
        correlation_id: bytes = NULL_ID,
        bytes_max: int = 1 << 26,
        wait_ms: int = 0,
    ) -> GetRequest:
        """MQGET. The answer is in the request; it may be told when the log is durable up to `after_lsn`."""
        self._set_clock()
        match = MQMO_MATCH_MSG_ID | MQMO_MATCH_CORREL_ID
        request = new_request(connection, handle, options, match, message_id, correlation_id, bytes_max)
        request.wait_ms = wait_ms
        get(self.engine, request)
        return request

    def messages(self, name: str) -> list[GetRequest]:
        """All messages of a queue that can be seen, in the order of delivery, by a browser that comes and goes."""
        browser = self.connect("browser")
        handle = self.open(browser, name, MQOO_BROWSE)
        found: list[GetRequest] = []
        request = self.get(browser, handle, MQGMO_BROWSE_FIRST)
        while request.reason != MQRC_NO_MSG_AVAILABLE:
            assert request.reason == 0, request.reason
            found.append(request)
            request = self.get(browser, handle, MQGMO_BROWSE_NEXT)
        self.disconnect(browser)
        return found

    def bodies(self, name: str) -> list[bytes]:
        return [request.body for request in self.messages(name)]

    def commit(self, connection: Connection) -> tuple[int, int]:
        """MQCMIT: the reason, and the LSN behind which it is promised."""
        self._set_clock()
        outcome = commit(self.engine, connection)
        return outcome.reason, outcome.after_lsn

    def back_out(self, connection: Connection) -> int:
        """MQBACK."""
        self._set_clock()
        return back_out(self.engine, connection).reason

    def prepare(self, connection: Connection, xid: bytes) -> tuple[UnitOfWork, int]:
        """The first phase of a commit: the unit leaves the connection. With the LSN behind which it is promised."""
        unit = self.engine.unit_of_work_of(connection)
        lsn = prepare(self.engine, unit, xid)
        connection.unit_of_work = None
        return unit, lsn

    def resolve(self, unit: UnitOfWork, committed: bool) -> int:
        """The coordinator's word on a prepared unit; the LSN behind which it is promised."""
        self._set_clock()
        if committed:
            return commit_unit(self.engine, unit)
        back_out_unit(self.engine, unit)
        return self.log.end_lsn()


def damage(disk: Disk, path: str, offset: int) -> None:
    """Turn one byte of a file into another one."""
    assert isinstance(disk, SimulatedDisk)
    file = disk.open(path, False)
    old = file.read_at(offset, 1)
    file.close()
    disk.corrupt(path, offset, bytes((old[0] ^ 0xFF,)))
