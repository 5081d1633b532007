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
from collections.abc import Callable, Generator
from typing import NamedTuple

from ostler.engine import objects
from ostler.engine.checkpoint import Checkpoint, relog_prepared
from ostler.engine.connection import Connection, Handle
from ostler.engine.core import STOPPING, Engine
from ostler.engine.expiry import ExpiryScan
from ostler.engine.get import get, give_up_waits, new_request
from ostler.engine.get_request import GetRequest
from ostler.engine.media import ImageWriter, Rebuild, media_lsn
from ostler.engine.message import MD_BYTES, NULL_ID
from ostler.engine.open import OpenRequest, close_object, open_object
from ostler.engine.put import put
from ostler.engine.queue import Queue
from ostler.engine.replay import Replay
from ostler.engine.snapshot import Snapshot, replace_file
from ostler.engine.syncpoint import back_out, back_out_oldest, back_out_unit, commit, commit_unit, prepare
from ostler.engine.unit_of_work import UnitOfWork
from ostler.log import LogSettings, LogVisitor, open_log
from ostler.log.log_writer import Batch
from ostler.log.recovery_log import RecoveryLog
from ostler.log.restart import create_log_of_any_size
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
from ostler.model.disk import Disk, DiskFailed, DiskFull
from ostler.model.errors import MQError
from ostler.model.journal import Journal
from ostler.model.structures.md import MD_DEFAULT
from ostler.testing.simulated_disk import Chooser, SimulatedDisk

LOG_DIRECTORY = "log"
# Three extents of a quarter megabyte: the log wraps after some hundred forces.
SMALL_LOG = LogSettings(primary_files=2, secondary_files=1, file_pages=64)
START_MS = 1_700_000_000_000
_ROOM_TRIES = 3


class Put(NamedTuple):
    """What a put came to. The application may be told when the log is durable up to `lsn`."""

    reason: int
    lsn: int
    md: bytes


class BackedOut(NamedTuple):
    """A unit of work that was backed out to make room in the log, and the LSN behind the record that says so."""

    unit: UnitOfWork
    lsn: int


class Record(NamedTuple):
    """A record as it was appended: its kind, the LSN behind it, and the numbers it begins with."""

    kind: int
    lsn: int
    head: bytes


class _NoJournal(Journal):
    """Stands in until the log has been replayed."""

    def append(self, kind: int, head: bytes, descriptor: bytes, body: bytes) -> int:
        raise AssertionError("appended before the log was replayed")

    def end_lsn(self) -> int:
        return 0

    def durable_lsn(self) -> int:
        return 0

    def room_bytes(self) -> int:
        return 0


class _TracedJournal(_NoJournal):
    """The log, with a list of what was appended."""

    def __init__(self, log: RecoveryLog, records: list[Record]) -> None:
        self._log = log
        self._records = records

    def append(self, kind: int, head: bytes, descriptor: bytes, body: bytes) -> int:
        lsn = self._log.append(kind, head, descriptor, body)
        self._records.append(Record(kind, lsn, head))
        return lsn

    def end_lsn(self) -> int:
        return self._log.end_lsn()

    def durable_lsn(self) -> int:
        return self._log.durable_lsn()

    def room_bytes(self) -> int:
        return self._log.room_bytes()

    def reserve_bytes(self) -> int:
        return self._log.reserve_bytes()


class _Visitor(LogVisitor):
    def __init__(self, visit: Callable[[int, int, bytes], None]) -> None:
        self._visit = visit

    def record(self, kind: int, lsn: int, payload: bytes) -> None:
        self._visit(kind, lsn, payload)

    def progress(self, done_bytes: int, total_bytes: int) -> None:
        return None


class World:
    """See the module's text. `engine` and `log` are replaced by each restart, `disk` by each loss of power."""

    def __init__(self, disk: SimulatedDisk, settings: LogSettings, buffer_bytes: int) -> None:
        """For `create`; the log is there and nothing runs yet."""
        self.disk = disk
        self.settings = settings
        self.buffer_bytes = buffer_bytes
        self.now_ms = START_MS
        self.backed_out: list[BackedOut] = []
        self.records: list[Record] = []
        """What this life has appended to the log."""
        self._batch: Batch | None = None
        self._batch_is_written = False
        self._checkpoint: Generator[str, None, None] | None = None
        self._lives = 0
        self.engine: Engine
        self.log: RecoveryLog
        self.replay: Replay

    @classmethod
    def create(
        cls,
        seed: int = 0,
        settings: LogSettings = SMALL_LOG,
        buffer_bytes: int = 4096,
        disk: SimulatedDisk | None = None,
    ) -> World:
        """A new queue manager, started for the first time. `seed` becomes the identity of its log."""
        disk = disk if disk is not None else SimulatedDisk()
        create_log_of_any_size(disk, LOG_DIRECTORY, settings, seed.to_bytes(16, "little"))
        world = cls(disk, settings, buffer_bytes)
        world.restart()
        return world

    # -- lives

    def restart(self) -> None:
        """Begin a life with what is on the disk. Raises what the server's start would."""
        self._lives += 1
        self._batch = None
        self._checkpoint = None
        engine = Engine("WORLD", self.disk, _NoJournal(), new_definition(ObjectType.QMGR, "WORLD", {}))
        engine.buffer_bytes_nonpersistent = self.buffer_bytes
        engine.buffer_bytes_persistent = self.buffer_bytes
        engine.now_ms = self.now_ms
        engine.unique = self._lives << 40
        replay = Replay(engine)
        replay.begin()
        log = open_log(self.disk, LOG_DIRECTORY, self.settings).replay(_Visitor(replay.record))
        self.records = []
        engine.journal = _TracedJournal(log, self.records)
        replay.finish()
        manifest = replay.manifest
        if manifest.orderly:
            manifest.orderly = False
            replace_file(self.disk, "checkpoint", [manifest.encode()])
        self.engine, self.log, self.replay = engine, log, replay

    def kill(self) -> None:
        """What kill -9 leaves: the disk as it is, forced or not. `restart` comes next."""
        self._batch = None
        self._checkpoint = None

    def lose_power(self, seed: int | None = None, chooser: Chooser | None = None, garbage: bool = False) -> None:
        """What a power failure leaves: of what was not forced, anything. `restart` comes next."""
        self.kill()
        self.disk = self.disk.crash(seed, chooser, garbage)

    def end(self) -> bool:
        """An orderly end: applications are disconnected, their work backed out, a last checkpoint taken.

        False when the disk is full: then it is no more orderly than a crash.
        """
        self.engine.state = STOPPING
        for connection in self.engine.connections.values():
            give_up_waits(self.engine, connection, MQRC_Q_MGR_STOPPING)
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

    # -- the log

    def force(self) -> int:
        """Make everything appended so far durable; the durable LSN."""
        self.write_log()
        batch = self._batch
        if batch is not None:
            self.log.batch_durable(batch)
            self._batch = None
        return self.log.durable_lsn()

    def write_log(self) -> None:
        """As the log writer between its two looks at the engine: forced, but nobody knows yet. Raises LogSpace."""
        if self._batch is None:
            self._batch = self.log.take_batch()
            self._batch_is_written = False
        if self._batch is not None and not self._batch_is_written:
            self.log.writer.write_batch(self._batch)
            self._batch_is_written = True

    def acknowledge(self, lsn: int) -> None:
        """Return when a verb's answer may be given."""
        while self.log.durable_lsn() < lsn:
            self.force()

    def keep_extents(self) -> None:
        """What the log writer does when nobody waits."""
        while self.log.writer.allocate_ahead():
            pass

    def make_room(self) -> None:
        """The log fills: checkpoint, and back out the oldest unit of work while that does not help."""
        if not self.log.is_filling():
            return
        try:
            self.checkpoint()
            while self.log.is_filling() and self._back_out_oldest():
                self.checkpoint()
        except DiskFull:
            return  # the server tells the operator; those who need room are refused

    def _back_out_oldest(self) -> bool:
        unit = back_out_oldest(self.engine)
        if unit is not None:
            self.backed_out.append(BackedOut(unit, self.log.end_lsn()))
        return unit is not None

    def settle(self, lsn: int) -> None:
        """As `acknowledge`, for applications: who writes to a log that fills helps to make room before going on."""
        self.acknowledge(lsn)
        self.housekeep()

    def housekeep(self) -> None:
        """One pass of the server's housekeeping over log space. Raises DiskFull."""
        if self.log.is_filling():
            self.make_room()
        elif self.log.needs_checkpoint():
            self.checkpoint()

    # -- checkpoints

    def checkpoint(self, orderly: bool = False) -> None:
        """A whole checkpoint, after the one that is under way."""
        self.finish_checkpoint()
        for _ in self._steps(orderly):
            pass

    def step_checkpoint(self) -> str:
        """Go on with the checkpoint under way, or begin one: one step. What was done, or "" when it is complete."""
        if self._checkpoint is None:
            self._checkpoint = self._steps(False)
        try:
            return next(self._checkpoint)
        except StopIteration:
            self._checkpoint = None
            return ""
        except BaseException:
            self._checkpoint = None
            raise

    def finish_checkpoint(self) -> None:
        while self._checkpoint is not None:
            self.step_checkpoint()

    def _steps(self, orderly: bool) -> Generator[str, None, None]:
        """A checkpoint, pausing wherever the server lets go of the engine or of the disk."""
        self._set_clock()
        relog_prepared(self.engine)
        taken = Checkpoint(self.engine, orderly)
        pending = taken.pending()
        yield "begun"
        try:
            for queue_id in pending:
                snapshot = taken.begin_queue(queue_id)
                if snapshot is not None:
                    yield f"captured {snapshot.queue.name}"
                    yield from self._write_snapshot(snapshot)
                    taken.end_queue(snapshot)
                    yield f"ended {snapshot.queue.name}"
            yield from self._finish(taken)
        except (DiskFull, DiskFailed):
            taken.abandon()
            raise

    def _write_snapshot(self, snapshot: Snapshot) -> Generator[str, None, None]:
        while not snapshot.step():
            yield f"filtered some of {snapshot.queue.name}"
        self.acknowledge(snapshot.lsn)
        yield f"made the log durable for {snapshot.queue.name}"
        snapshot.queue.file.force()
        yield f"forced the file of {snapshot.queue.name}"
        snapshot.write(self.disk)
        yield f"wrote the slots of {snapshot.queue.name}"

    def _finish(self, taken: Checkpoint) -> Generator[str, None, None]:
        catalogue = taken.begin_catalogue()
        lsn = self.log.end_lsn()
        yield "captured the catalogue"
        self.acknowledge(lsn)
        if catalogue:
            taken.write_catalogue(self.disk, catalogue)
        yield "wrote the catalogue"
        manifest = taken.begin_manifest()
        yield "captured the manifest"
        taken.write_manifest(self.disk, manifest)
        yield "wrote the manifest"
        restart_lsn = max(taken.end(), self.log.writer.restart_lsn)
        checkpoint_lsn = self.log.durable_lsn()
        yield "computed the restart LSN"
        self.log.writer.note_checkpoint(min(restart_lsn, checkpoint_lsn), checkpoint_lsn)

    # -- time

    def tick(self, milliseconds: int) -> None:
        self.now_ms += milliseconds
        self._set_clock()

    def _set_clock(self) -> None:
        self.engine.now_ms = self.now_ms

    def expire(self) -> None:
        """Remove all messages that have expired."""
        self._set_clock()
        scan = ExpiryScan(self.engine)
        scan.begin()
        while scan.step():
            pass

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
            except MQError:
                if not self._is_journal_full() or tries == _ROOM_TRIES:
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
        writer.durable()
        # The manifest tells of the image; only then may older extents go.
        self.checkpoint()
        self.log.writer.set_media_lsn(max(media_lsn(self.engine), self.log.writer.media_lsn))

    def rebuild(self, name: str) -> int:
        """Make a queue anew from its media image and the log; how many messages it has."""
        self.finish_checkpoint()
        queue = self.engine.queues[name]
        durable = self.force()
        rebuild = Rebuild(self.engine, queue)
        self.log.read_from(queue.media_lsn, _Visitor(rebuild.record), durable)
        assert rebuild.complete, "the log holds no complete image of the queue"
        return rebuild.finish()

    # -- applications

    def connect(self, application: str = "test") -> Connection:
        engine = self.engine
        connection = Connection(engine.next_connection, engine, "tester", application, 6)
        engine.next_connection += 1
        connection.identity_context = b"tester".ljust(12) + bytes(32) + b" " * 32
        connection.origin_prefix = struct.pack("<i28s", 6, application.encode().ljust(28))
        connection.connected_ms = self.now_ms
        engine.connections[connection.number] = connection
        return connection

    def disconnect(self, connection: Connection) -> None:
        """The end of an application that never said MQDISC: its unit of work is backed out."""
        self._set_clock()
        give_up_waits(self.engine, connection, MQRC_CONNECTION_BROKEN)
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
        md = bytearray(MD_DEFAULT.ljust(MD_BYTES, b"\0"))
        struct.pack_into("<i", md, 16, expiry_tenths)
        struct.pack_into("<ii24s24s", md, 40, priority, persistence, message_id, correlation_id)
        options = MQPMO_SYNCPOINT if syncpoint else MQPMO_NO_SYNCPOINT
        tries = 0
        while True:
            self._set_clock()
            reason = put(self.engine, connection, handle, bytes(md), options, b"", body, None)
            if not self._is_journal_full() or reason == 0 or tries == _ROOM_TRIES:
                return Put(reason, connection.after_lsn, connection.put_md if reason == 0 else b"")
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
        reason = commit(self.engine, connection)
        return reason, connection.after_lsn

    def back_out(self, connection: Connection) -> int:
        """MQBACK."""
        self._set_clock()
        return back_out(self.engine, connection)

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

    def _is_journal_full(self) -> bool:
        full = self.engine.journal_full
        self.engine.journal_full = False
        return full


def damage(disk: Disk, path: str, offset: int) -> None:
    """Turn one byte of a file into another one."""
    assert isinstance(disk, SimulatedDisk)
    file = disk.open(path, False)
    old = file.read_at(offset, 1)
    file.close()
    disk.corrupt(path, offset, bytes((old[0] ^ 0xFF,)))
