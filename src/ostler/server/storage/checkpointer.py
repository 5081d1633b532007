"""Checkpoints of a running queue manager, and room in its recovery log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ostler.engine.core import Engine
from ostler.engine.get import resume_work
from ostler.engine.recovery.checkpoint import Checkpoint, load_prepared, relog_prepared
from ostler.engine.recovery.checkpoint_space import hold_reserve
from ostler.engine.recovery.snapshot import Snapshot
from ostler.engine.syncpoint import back_out_oldest
from ostler.log.recovery_log import RecoveryLog
from ostler.model import constants as mq
from ostler.model.disk import DescriptorsExhausted, DiskFailed, DiskFull
from ostler.model.errors import MQError
from ostler.server.manager_core import ManagerCore
from ostler.server.storage.memory_limits import give_memory_back
from ostler.server.storage.message_reader import call_with_reads

# After a snapshot with more rows than this, memory is returned to the operating system at once.
_ROWS_MANY = 100_000
_SETTLE_SECONDS_MAX: Final = 10.0
_SETTLE_PAUSE_SECONDS: Final = 0.0002
_TRIMS_MAX: Final = 1_000  # of a file behind one checkpoint


def shortage(full: DiskFull) -> str:
    """Return the message for the operator when a checkpoint found no disk space or no descriptors."""
    if isinstance(full, DescriptorsExhausted):
        return f"AMQ6119S: Too many files are open: {full}. Raise the limit; the checkpoint is tried again."
    return f"AMQ6119S: The disk is full: {full}. Free some space; the checkpoint is tried again."


def needs_room(engine: Engine, log: RecoveryLog) -> bool:
    """Return True when room in the log is wanted and a checkpoint would make it.

    A message may be too long for the rest of a log that is far from full. With nothing behind the restart LSN a
    checkpoint would not move it.
    """
    if log.is_filling() or engine.reserve.wants_checkpoint():
        return True
    return log.room_bytes() < engine.journal_wanted_bytes and log.writer.restart_lsn < log.end_lsn()


class Checkpointer:
    """Takes one checkpoint at a time. The engine's lock is held only for steps that need a consistent engine."""

    def __init__(self, manager: ManagerCore) -> None:
        self._manager = manager
        self._room_turn = manager.machine.lock()

    def make_room(self) -> None:
        """Free log space: take a checkpoint, and while units of work still hold the log, back out the oldest one."""
        with self._room_turn:
            if self._manager.engine.reserve.is_in_use:
                self._manager.checkpoint_turn.acquire()  # a checkpoint is using the reserve: wait for its end
                self._manager.checkpoint_turn.release()
            if not needs_room(self._manager.engine, self._manager.log):
                return  # another thread has just made room
            try:
                self.checkpoint()
                while self._manager.log.is_filling() and self._back_out_oldest():
                    self.checkpoint()
            except DiskFull as full:
                self._manager.note(shortage(full))
            finally:
                self._manager.engine.journal_wanted_bytes = 0

    def _back_out_oldest(self) -> bool:
        with self._manager.turn:
            unit = back_out_oldest(self._manager.engine, self._manager.log.writer.restart_lsn)
        if unit is None:
            return False
        self._manager.note(
            f"AMQ7469W: Transactions rolled back to release log space. Unit of work {unit.number} was backed out: it "
            "was the oldest when the recovery log filled. Commit sooner, or give the log more or larger files."
        )
        return True

    def checkpoint(self, orderly: bool = False) -> None:
        """Take a checkpoint now. Raises DiskFull when queue files cannot grow; nothing is lost then."""
        with self._manager.checkpoint_turn:
            call_with_reads(self._manager, load_prepared)
            with self._manager.turn:
                relog_prepared(self._manager.engine)
                taken = Checkpoint(self._manager.engine, orderly)
                pending = taken.pending()
            try:
                full = self._checkpoint_queues(taken, pending)
                self._finish_checkpoint(taken)
                self._hold_space()
            except BaseException as error:
                with self._manager.turn:
                    taken.abandon()
                if isinstance(error, DiskFailed):
                    self._manager.fail(str(error))
                    raise MQError(mq.MQRC_Q_MGR_NOT_AVAILABLE, str(error)) from error
                self._hold_space()
                raise
        if full is not None:
            raise full

    def _begin_queue(self, taken: Checkpoint, queue_id: int) -> Snapshot | None:
        """Capture a queue when no large unit of work is ending: capturing would finish it at once, under the lock."""
        manager = self._manager
        deadline = manager.machine.monotonic() + _SETTLE_SECONDS_MAX
        while True:
            is_late = manager.machine.monotonic() >= deadline or bool(manager.writer.failure)
            with manager.turn as engine:
                if not engine.unit_ends or is_late:
                    return taken.begin_queue(queue_id)
                resume_work(engine)
            manager.machine.sleep(_SETTLE_PAUSE_SECONDS)

    def _hold_space(self) -> None:
        """Refill the reserve of disk space, as far as the disk has space."""
        with self._manager.turn:
            hold_reserve(self._manager.engine)
        self._manager.log.writer.may_grow = True

    def _write(self, write: Callable[[], None], size_bytes: int) -> None:
        """Write a file of a checkpoint. Raises DiskFull.

        When the disk is full, space of the reserve is released; when there are no descriptors, a queue file is closed.
        """
        while True:
            try:
                write()
                return
            except DescriptorsExhausted:
                with self._manager.turn:
                    if not self._manager.engine.open_files.close_one():
                        raise
            except DiskFull:
                self._manager.log.writer.may_grow = False  # the released space is not for log extents
                with self._manager.turn:
                    if not self._manager.engine.reserve.release(self._manager.engine.disk, size_bytes):
                        raise

    def _checkpoint_queues(self, taken: Checkpoint, pending: list[int]) -> DiskFull | None:
        """Write snapshots of all queues that changed. One that finds the disk full is left to the next checkpoint."""
        full: DiskFull | None = None
        for queue_id in pending:
            try:
                self._checkpoint_queue(taken, queue_id)
            except DiskFull as error:
                full = error
                with self._manager.turn:
                    taken.skip_queue()
        return full

    def _checkpoint_queue(self, taken: Checkpoint, queue_id: int) -> None:
        snapshot = self._begin_queue(taken, queue_id)
        if snapshot is None:
            return
        self._write_snapshot(snapshot)
        with self._manager.turn:
            taken.end_queue(snapshot)

    def _write_snapshot(self, snapshot: Snapshot) -> None:
        while not snapshot.step():
            with self._manager.turn:
                snapshot.copy()
            self._manager.machine.sleep(_SETTLE_PAUSE_SECONDS)
        self._manager.writer.wait_durable(snapshot.lsn)
        self._write(snapshot.queue.file.force, 0)
        self._write(lambda: snapshot.write(self._manager.disk), snapshot.size_bytes())
        if snapshot.rows > _ROWS_MANY:
            give_memory_back()

    def _finish_checkpoint(self, taken: Checkpoint) -> None:
        with self._manager.turn:
            catalogue = taken.begin_catalogue()
            lsn = self._manager.log.end_lsn()
        self._manager.writer.wait_durable(lsn)
        if catalogue:
            self._write(lambda: taken.write_catalogue(self._manager.disk, catalogue), len(catalogue))
        with self._manager.turn:
            manifest = taken.begin_manifest()
        self._write(lambda: taken.write_manifest(self._manager.disk, manifest), manifest.size_bytes())
        with self._manager.turn:
            restart_lsn = max(taken.end(), self._manager.log.writer.restart_lsn)
            checkpoint_lsn = self._manager.log.durable_lsn()
        self._manager.writer.note_checkpoint(min(restart_lsn, checkpoint_lsn), checkpoint_lsn, taken.number)
        self._trim_files()

    def _trim_files(self) -> None:
        """Shorten files that are much too long, a part in each turn."""
        with self._manager.turn as engine:
            queues = [queue for queue in engine.queues_by_id.values() if queue.file.needs_truncate]
        for queue in queues:
            left = _TRIMS_MAX
            while left > 0 and queue.file.needs_truncate and not queue.deleted:
                left -= 1
                with self._manager.turn:
                    if not queue.deleted:
                        queue.file.trim()
                self._manager.machine.sleep(_SETTLE_PAUSE_SECONDS)
