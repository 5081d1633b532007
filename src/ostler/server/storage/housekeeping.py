"""Periodic work on one thread in bounded steps: checkpoints, expiry, log space, statistics, unused topics."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ostler.engine.core import Engine
from ostler.engine.queue.expiry import ExpiryScan
from ostler.log.settings import LogManagement, LogType
from ostler.model.disk import DiskFailed, DiskFull
from ostler.model.errors import MQError
from ostler.server.manager_core import ManagerCore
from ostler.server.rate_limited_log import RateLimitedLog
from ostler.server.statistics_writer import StatisticsWriter
from ostler.server.storage.checkpointer import shortage
from ostler.server.storage.media_recovery import record_all_images
from ostler.server.storage.memory_limits import give_memory_back
from ostler.server.storage.message_reader import call_with_reads
from ostler.server.storage.scavenger import Scavenger
from ostler.server.supervised_thread import SupervisedThread

_PERIOD_SECONDS = 0.25
_EXPIRY_PERIOD_SECONDS = 1.0
_SPACE_PERIOD_SECONDS = 1.0
_TRIM_PERIOD_SECONDS = 5.0


class Housekeeping:
    def __init__(self, manager: ManagerCore, statistics_writer: StatisticsWriter) -> None:
        self._manager = manager
        self._machine = manager.machine
        self._statistics_writer = statistics_writer
        self._stop = self._machine.event()
        self._asked = self._machine.event()
        self._scanned_at = 0.0
        self._space_made_at = 0.0
        self._image_recorded_at = self._machine.monotonic()
        self._image_recorded_lsn = manager.log.end_lsn()
        self.scavenger = Scavenger(manager, self._stop)
        self.has_freed_much: Callable[[], bool] = _never  # set by the server, for the memory of links
        self._trimmed_at = self._machine.monotonic()
        self._notes = RateLimitedLog(manager.note)
        self._thread = SupervisedThread(
            "ostler-housekeeping",
            "housekeeping",
            self._run,
            self._is_over,
            manager.note,
            stopping=self._stop,
            machine=manager.machine,
        )

    def start(self) -> None:
        self._thread.start()

    def ask(self) -> None:
        """Start the next pass now, because a checkpoint is due."""
        self._asked.set()

    def stop(self) -> None:
        self._stop.set()
        self._asked.set()
        self._thread.join()
        self.remove_files()

    def _is_over(self) -> bool:
        return self._stop.is_set() or bool(self._manager.writer.failure)

    def _run(self) -> None:
        while not self._stop.is_set():
            self._asked.wait(_PERIOD_SECONDS)
            self._asked.clear()
            if self._manager.writer.failure or self._stop.is_set():
                return
            try:
                self._pass()
            except DiskFull as full:
                self._manager.note(shortage(full))
            except DiskFailed as failed:
                self._manager.fail(str(failed))
                return
            except MQError as refused:
                self._manager.note(f"AMQ6119S: Housekeeping failed and is tried again: {refused}")
            except MemoryError:
                # The checkpoint was abandoned as with a full disk; all of it is tried again.
                self._manager.note(
                    "AMQ6118E: There is no memory for a checkpoint. It is tried again; give the queue manager more."
                )
                self._stop.wait(_PERIOD_SECONDS)

    def _pass(self) -> None:
        manager = self._manager
        manager.collect_notices()
        self._do("statistics and accounting", self._statistics_writer.write_due)
        # Records that nothing waits for, such as those of asynchronous puts, must not stay in memory for long.
        end = manager.log.end_lsn()
        if end > manager.log.durable_lsn():
            manager.writer.wait_durable(end)
        if manager.log.is_filling():
            manager.make_room()
        elif manager.log.needs_checkpoint() or self._space_is_wanted():
            manager.checkpoint()
        if self._image_is_due():
            self._image_recorded_at = self._machine.monotonic()
            self._image_recorded_lsn = manager.log.end_lsn()
            record_all_images(manager)
        now = self._machine.monotonic()
        if now - self._scanned_at >= _EXPIRY_PERIOD_SECONDS:
            self._scanned_at = now
            self._do("the search for expired messages", self.expire)
        self._do("the removal of unused topics", self.scavenger.work)
        self._do("the removal of files", self.remove_files)
        if now - self._trimmed_at >= _TRIM_PERIOD_SECONDS and (
            self.has_freed_much() or self.scavenger.has_freed_much()
        ):
            self._trimmed_at = now
            give_memory_back()

    def _do(self, what: str, duty: Callable[[], None]) -> None:
        """Run a duty that checkpoints do not depend on. An unexpected error is logged, and the other duties go on."""
        try:
            duty()
        except (DiskFull, DiskFailed, MQError, MemoryError):
            raise
        except Exception as error:
            self._notes.write(what, f"AMQ6109E: Housekeeping continues after an error in {what}: {error!r}.")

    def _space_is_wanted(self) -> bool:
        """Return True when a put was refused for lack of disk space and a checkpoint would free some."""
        reserve = self._manager.engine.reserve
        now = self._machine.monotonic()
        if not reserve.was_refused or reserve.freed_bytes == 0 or now - self._space_made_at < _SPACE_PERIOD_SECONDS:
            return False
        self._space_made_at = now
        return True

    def _image_is_due(self) -> bool:
        """Return True when media images are due (ImageInterval, ImageLogLength), so that old extents can be reused."""
        manager = self._manager
        section = manager.settings.log
        if manager.log.settings.log_type is not LogType.LINEAR:
            return False
        if manager.log.settings.management is LogManagement.MANUAL:
            return False
        written = manager.log.end_lsn() - self._image_recorded_lsn
        megabytes = section.image_log_length_megabytes
        if megabytes is not None and written >= megabytes << 20:
            return True
        minutes = section.image_interval_minutes
        return (
            minutes is not None and written > 0 and self._machine.monotonic() - self._image_recorded_at >= minutes * 60
        )

    def expire(self) -> None:
        """Remove expired messages, a slice of the queues at a time, releasing the lock in between."""
        manager = self._manager
        scan = ExpiryScan(manager.engine)
        scan.begin()
        more = True
        while more and not self._stop.is_set():
            more, lsn = call_with_reads(manager, partial(_expire_slice, scan))
            if lsn > manager.log.durable_lsn():
                manager.writer.wait_durable_throttled(lsn)

    def remove_files(self) -> None:
        """Remove the files of temporary queues that are gone. A start removes what is left."""
        manager = self._manager
        if not manager.engine.removed_paths or manager.writer.failure:
            return
        with manager.turn as engine:
            paths = engine.take_removed_paths()
        for path in paths:
            try:
                manager.disk.remove(path)
            except (DiskFull, DiskFailed) as failed:
                self._notes.write(path, f"AMQ6109E: The file of a temporary queue cannot be removed: {failed}.")


def _expire_slice(scan: ExpiryScan, engine: Engine) -> tuple[bool, int]:
    """Scan one slice. Returns whether there is more, and the LSN up to which the journal must be durable."""
    return scan.step(), engine.journal.end_lsn()


def _never() -> bool:
    return False
