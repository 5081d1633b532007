"""The lives of a world: restarts, crashes, the log and checkpoints, one step at a time. See `world`."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import NamedTuple, Self

from ostler.engine.core import Engine
from ostler.engine.queue.expiry import ExpiryScan
from ostler.engine.recovery.checkpoint import Checkpoint, relog_prepared
from ostler.engine.recovery.checkpoint_space import hold_reserve
from ostler.engine.recovery.replay import JournalReplay
from ostler.engine.recovery.snapshot import Snapshot, replace_file
from ostler.engine.syncpoint import back_out_oldest
from ostler.engine.unit_of_work import UnitOfWork
from ostler.log import Batch, LogSettings, LogSpace, LogVisitor, RecoveryLog, open_log
from ostler.log.restart import create_log_of_any_size
from ostler.model.attributes import ObjectType
from ostler.model.definitions import new_definition
from ostler.model.disk import DiskFailed, DiskFull
from ostler.model.journal import Journal
from ostler.server.storage.checkpointer import needs_room
from ostler.testing.simulation.crashing_disk import Chooser, SimulatedDisk

LOG_DIRECTORY = "log"
# Three extents of a quarter megabyte: the log wraps after some hundred forces.
SMALL_LOG = LogSettings(primary_files=2, secondary_files=1, file_pages=64)
START_MS = 1_700_000_000_000


class BackedOut(NamedTuple):
    """A unit of work that was backed out to make room in the log, and the LSN behind the record that says so."""

    unit: UnitOfWork
    lsn: int


class Record(NamedTuple):
    """A record as it was appended: its kind, the LSN behind it, and the numbers it begins with."""

    kind: int
    lsn: int
    head: bytes


Follower = Callable[[int, int, bytes], None]
"""Takes kind, LSN and payload of a record."""


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
    """The log, with a list of what was appended. Followers get every record with its whole payload."""

    def __init__(self, log: RecoveryLog, records: list[Record], followers: list[Follower]) -> None:
        self._log = log
        self._records = records
        self._followers = followers

    def append(self, kind: int, head: bytes, descriptor: bytes, body: bytes) -> int:
        lsn = self._log.append(kind, head, descriptor, body)
        self._records.append(Record(kind, lsn, head))
        for follow in self._followers:
            follow(kind, lsn, head + descriptor + body)
        return lsn

    def end_lsn(self) -> int:
        return self._log.end_lsn()

    def durable_lsn(self) -> int:
        return self._log.durable_lsn()

    def room_bytes(self) -> int:
        return self._log.room_bytes()

    def reserve_bytes(self) -> int:
        return self._log.reserve_bytes()


class Visitor(LogVisitor):
    def __init__(
        self, visit: Callable[[int, int, bytes], None], check_end: Callable[[int], None] | None = None
    ) -> None:
        self._visit = visit
        self._check_end = check_end

    def record(self, kind: int, lsn: int, payload: bytes) -> None:
        self._visit(kind, lsn, payload)

    def progress(self, done_bytes: int, total_bytes: int) -> None:
        return None

    def ended(self, end_lsn: int) -> None:
        if self._check_end is not None:
            self._check_end(end_lsn)


class WorldLives:
    """`engine` and `log` are replaced by each restart, `disk` by each loss of power."""

    def __init__(self, disk: SimulatedDisk, settings: LogSettings, buffer_bytes: int) -> None:
        """For `create`; the log is there and nothing runs yet."""
        self.disk = disk
        self.settings = settings
        self.buffer_bytes = buffer_bytes
        self.name = "WORLD"
        self.now_ms = START_MS
        self.backed_out: list[BackedOut] = []
        self.records: list[Record] = []
        self.followers: list[Follower] = []
        """What this life has appended to the log."""
        self.space_comes: Callable[[], None] | None = None
        """Makes space for the log on a full disk; the log waits for that. Without it there is a LogSpace."""
        self.holds_space = False
        """Whether disk space for the next checkpoint is held in reserve, from the next restart on."""
        self._batch: Batch | None = None
        self._batch_is_written = False
        self._checkpoint: Generator[str, None, None] | None = None
        self._lives = 0
        self.engine: Engine
        self.log: RecoveryLog
        self.replay: JournalReplay

    @classmethod
    def create(
        cls,
        seed: int = 0,
        settings: LogSettings = SMALL_LOG,
        buffer_bytes: int = 4096,
        disk: SimulatedDisk | None = None,
        name: str = "WORLD",
    ) -> Self:
        """A new queue manager, started for the first time. `seed` becomes the identity of its log."""
        disk = disk if disk is not None else SimulatedDisk()
        create_log_of_any_size(disk, LOG_DIRECTORY, settings, seed.to_bytes(16, "little"))
        world = cls(disk, settings, buffer_bytes)
        world.name = name
        world.restart()
        return world

    # -- lives

    def restart(self) -> None:
        """Begin a life with what is on the disk. Raises what the server's start would."""
        self._lives += 1
        self._batch = None
        self._checkpoint = None
        engine = Engine(self.name, self.disk, _NoJournal(), new_definition(ObjectType.QMGR, self.name, {}))
        engine.capture_slots = 2
        engine.buffer_bytes_nonpersistent = self.buffer_bytes
        engine.buffer_bytes_persistent = self.buffer_bytes
        engine.now_ms = self.now_ms
        engine.unique = self._lives << 40
        replay = JournalReplay(engine)
        restartable = open_log(self.disk, LOG_DIRECTORY, self.settings)
        replay.begin(restartable.identity(), restartable.checkpoint_number(), restartable.restart_lsn())
        log = restartable.replay(Visitor(replay.record, replay.check_end))
        self.records = []
        engine.journal = _TracedJournal(log, self.records, self.followers)
        replay.finish()
        self.engine, self.log, self.replay = engine, log, replay
        if self.holds_space:
            hold_reserve(engine)
        manifest = replay.manifest
        if manifest.orderly:
            manifest.orderly = False
            self._write(lambda: replace_file(self.disk, "checkpoint", [manifest.encode()]), manifest.size_bytes())

    def kill(self) -> None:
        """What kill -9 leaves: the disk as it is, forced or not. `restart` comes next."""
        self._batch = None
        self._checkpoint = None

    def lose_power(self, seed: int | None = None, chooser: Chooser | None = None, garbage: bool = False) -> None:
        """What a power failure leaves: of what was not forced, anything. `restart` comes next."""
        self.kill()
        self.disk = self.disk.crash(seed, chooser, garbage)

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
            self._write_batch(self._batch)
            self._batch_is_written = True

    def _write_batch(self, batch: Batch) -> None:
        try:
            self.log.writer.write_batch(batch)
        except LogSpace:
            if self.space_comes is None:
                raise
            self.space_comes()
            self.log.writer.write_batch(batch)

    def acknowledge(self, lsn: int) -> None:
        """Return when a verb's answer may be given."""
        while self.log.durable_lsn() < lsn:
            self.force()

    def keep_extents(self) -> None:
        """What the log writer and the thread that notes the log's end do when nobody waits."""
        while self.log.writer.allocate_ahead():
            pass
        if self.log.writer.has_new_end():
            self.log.writer.note_end()

    def make_room(self) -> None:
        """The log fills: checkpoint, and back out the oldest unit of work while that does not help."""
        if not needs_room(self.engine, self.log):
            return
        try:
            self.checkpoint()
            while self.log.is_filling() and self._back_out_oldest():
                self.checkpoint()
        except DiskFull:
            return  # the server tells the operator; those who need room are refused
        finally:
            self.engine.journal_wanted_bytes = 0

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
            self._hold_space()
            raise
        self._hold_space()

    def _hold_space(self) -> None:
        if self.holds_space:
            hold_reserve(self.engine)
        self.log.writer.may_grow = True

    def _write(self, write: Callable[[], None], size_bytes: int) -> None:
        """Write a file; the reserve gives way to it when the disk is full. Raises DiskFull."""
        while True:
            try:
                write()
                return
            except DiskFull:
                self.log.writer.may_grow = False
                if not self.engine.reserve.release(self.engine.disk, size_bytes):
                    raise

    def _write_snapshot(self, snapshot: Snapshot) -> Generator[str, None, None]:
        while not snapshot.step():
            yield f"filtered some of {snapshot.queue.name}"
            snapshot.copy()
        self.acknowledge(snapshot.lsn)
        yield f"made the log durable for {snapshot.queue.name}"
        snapshot.queue.file.force()
        yield f"forced the file of {snapshot.queue.name}"
        self._write(lambda: snapshot.write(self.disk), snapshot.size_bytes())
        yield f"wrote the slots of {snapshot.queue.name}"

    def _finish(self, taken: Checkpoint) -> Generator[str, None, None]:
        catalogue = taken.begin_catalogue()
        lsn = self.log.end_lsn()
        yield "captured the catalogue"
        self.acknowledge(lsn)
        if catalogue:
            self._write(lambda: taken.write_catalogue(self.disk, catalogue), len(catalogue))
        yield "wrote the catalogue"
        manifest = taken.begin_manifest()
        yield "captured the manifest"
        self._write(lambda: taken.write_manifest(self.disk, manifest), manifest.size_bytes())
        yield "wrote the manifest"
        restart_lsn = max(taken.end(), self.log.writer.restart_lsn)
        checkpoint_lsn = self.log.durable_lsn()
        yield "computed the restart LSN"
        self.log.writer.note_checkpoint(min(restart_lsn, checkpoint_lsn), checkpoint_lsn, taken.number)

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
