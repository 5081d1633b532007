"""Group commit: one force of the recovery log for all threads that wait for it.

The first thread that needs a record durable becomes the leader: it takes all that was appended so far, and writes and
forces it while the engine goes on. The others find their records durable when they get the turn. A background thread
leads for callers that do not wait. A failed force is never retried: the queue manager ends.

A queue manager with copies (`replicate`) forces in the same way, and offers every batch to the copies before. Its log
is durable when enough of them have forced it, too: `group_durable` is called then, by the threads that hear of them.
That may take any time, which is not a failure; nobody but application threads in `wait_durable` waits for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import final

from librt.threading import Lock
from mypy_extensions import i64

from ostler.log.errors import LogSpace
from ostler.log.log_writer import Batch
from ostler.log.recovery_log import RecoveryLog
from ostler.log.shipping import LogShipper
from ostler.model import constants as mq
from ostler.model.counters import ForceCounters
from ostler.model.errors import InvariantFailed, MQError
from ostler.server.machine import MACHINE, Machine
from ostler.server.thread_names import show_thread_name

# Bounded, so that a force never waits behind many steps of extent preparation.
_STEPS_AHEAD_MAX = 4
# A batch that finds no space is retried for half a minute: a checkpoint may free extents.
_SPACE_TRIES = 600
_SPACE_PAUSE_SECONDS = 0.05
# The durable end of the log is noted in the control file at most this often while the log is busy.
_NOTE_PERIOD_SECONDS = 1.0
_NOTE_IDLE_SECONDS = 0.25
# A thread that waits for copies looks this often whether the queue manager has failed.
_GROUP_WAIT_SECONDS = 0.5
_NO_MEMORY = "there is no memory to write it. Give the queue manager more"


@final
class DurabilityWaiter:
    """A callback for the time when the log is durable up to an LSN."""

    def __init__(self, lsn: i64, notify: Callable[[], None]) -> None:
        self.lsn: i64 = lsn
        self.notify = notify


@final
class JournalWriter:
    """Writes and forces the recovery log for all threads of a queue manager."""

    def __init__(
        self,
        log: RecoveryLog,
        engine_lock: Lock,
        make_room: Callable[[], None],
        ask_for_checkpoint: Callable[[], None],
        on_failure: Callable[[str], None],
        machine: Machine = MACHINE,
    ) -> None:
        self.log = log
        self.on_failure = on_failure
        self.make_room = make_room
        self.ask_for_checkpoint = ask_for_checkpoint
        self.engine_lock = engine_lock
        self.failure: str = ""
        self.counters = ForceCounters()
        self._sleep = machine.sleep
        self._monotonic = machine.monotonic
        self._perf_counter_ns = machine.perf_counter_ns
        self._turn = machine.lock()
        self._kept: Batch | None = None  # a batch that found no disk space or no memory
        self._shortage = ""  # what it lacked
        self.shipper: LogShipper | None = log.writer.shipper  # of a log that was promoted to lead
        self._group_moved = threading.Condition()
        self._waiting: list[DurabilityWaiter] = []  # in the order they came, which need not be that of their LSNs
        self._waited_lsn: i64 = 0  # the highest LSN that any of them has waited for
        self._kick = machine.event()
        self._stopping = False
        self._stopped = machine.event()
        self._runner = machine.thread(self._run, "ostler-log")
        self._end_noter = machine.thread(self._run_end_notes, "ostler-log-note")
        self._runner.start()
        self._end_noter.start()

    # -- waiting ---------------------------------------------------------------

    def wait_durable(self, lsn: i64) -> None:
        """Return when the log is durable up to an LSN. Call it without the engine's lock. Raises MQError on failure."""
        self._wait_forced(lsn)
        if self.shipper is not None:
            self._wait_group(lsn)

    def _wait_forced(self, lsn: i64) -> None:
        """Return when the log is forced here up to an LSN."""
        tries_left: i64 = _SPACE_TRIES
        while self.log.forced_lsn() < lsn:
            with self._turn:
                if self.failure:
                    raise MQError(mq.MQRC_Q_MGR_NOT_AVAILABLE, self.failure)
                if self.log.forced_lsn() < lsn and not self._force():
                    tries_left -= 1
                    if tries_left == 0:
                        self._fail(self._shortage)
            if self._waiting:
                self._notify_durable()
            if tries_left < _SPACE_TRIES and self.log.forced_lsn() < lsn:
                self._sleep(_SPACE_PAUSE_SECONDS)

    def _wait_group(self, lsn: i64) -> None:
        """Return when enough copies have forced the log up to an LSN, however long that takes."""
        while self.log.durable_lsn() < lsn:
            if self.failure:
                raise MQError(mq.MQRC_Q_MGR_NOT_AVAILABLE, self.failure)
            with self._group_moved:
                if self.log.durable_lsn() < lsn and not self.failure:
                    self._group_moved.wait(_GROUP_WAIT_SECONDS)

    def wait_durable_throttled(self, lsn: i64) -> None:
        """As `wait_durable`, with back-pressure: the caller helps to make room in a log that is filling."""
        self.wait_durable(lsn)
        log = self.log
        if log.needs_checkpoint():
            if log.is_filling():
                self.make_room()
            else:
                self.ask_for_checkpoint()

    def call_when_durable(self, lsn: i64, notify: Callable[[], None]) -> None:
        """Call `notify`, on another thread, when the log is durable up to an LSN. Call this in a turn."""
        if lsn > self.log.end_lsn():
            raise InvariantFailed(f"An application waits for LSN {lsn}, but the log ends at {self.log.end_lsn()}")
        if lsn > self._waited_lsn:
            self._waited_lsn = lsn
        self._waiting.append(DurabilityWaiter(lsn, notify))
        if not self._kick.is_set():
            self._kick.set()

    def _notify_durable(self) -> None:
        self.engine_lock.acquire()
        try:
            durable: i64 = self.log.durable_lsn()
            due = [each for each in self._waiting if each.lsn <= durable]
            if due:
                self._waiting = [each for each in self._waiting if each.lsn > durable]
        finally:
            self.engine_lock.release()
        for each in due:
            each.notify()

    # -- copies ----------------------------------------------------------------

    def replicate(self, shipper: LogShipper, group_lsn: i64) -> None:
        """Let the log be one of several copies. Call it before anything is appended; see RecoveryLog.replicate."""
        with self._turn:
            self.engine_lock.acquire()
            try:
                self.log.replicate(shipper, group_lsn)
            finally:
                self.engine_lock.release()
            self.shipper = shipper

    def group_durable(self, lsn: i64) -> None:
        """Enough copies have forced the log up to an LSN. Any thread may call it, without the engine's lock."""
        self.engine_lock.acquire()
        try:
            self.log.group_durable(lsn)
        finally:
            self.engine_lock.release()
        with self._group_moved:
            self._group_moved.notify_all()
        if self._waiting:
            self._notify_durable()

    def depose(self, why: str) -> None:
        """Another copy leads now, or may: what is not durable yet is never acknowledged. The queue manager ends."""
        if not self.failure:
            self.failure = why
            self.on_failure(why)
        with self._group_moved:
            self._group_moved.notify_all()
        self._kick.set()

    # -- forcing ---------------------------------------------------------------

    def _fail(self, why: str) -> None:
        self.failure = f"The recovery log cannot be written: {why}"
        self.on_failure(self.failure)
        raise MQError(mq.MQRC_Q_MGR_NOT_AVAILABLE, self.failure)

    def _force(self) -> bool:
        """Write and force all that was appended, with the turn held and without the engine's lock.

        Returns False when there is no space: the batch is kept, and written when a checkpoint has made room.
        """
        if self._kept is None:
            self.engine_lock.acquire()
            try:
                if self.failure:
                    # It failed in the turn before this one, and what that appended is not to be believed.
                    raise MQError(mq.MQRC_Q_MGR_NOT_AVAILABLE, self.failure)
                self._kept = self.log.take_batch()
            finally:
                self.engine_lock.release()
        batch = self._kept
        if batch is None:
            return True
        began: i64 = self._perf_counter_ns()
        try:
            self.log.writer.write_batch(batch)
        except LogSpace:
            self._shortage = "there is no space for it on the disk"
            return False
        except MemoryError:
            # Nothing was forced: the same blocks are written again to the same offsets.
            self._shortage = _NO_MEMORY
            return False
        except Exception as error:
            self._fail(str(error))
        self._kept = None
        ended: i64 = self._perf_counter_ns()
        self.counters.count((ended - began) // 1000)
        why = ""
        self.engine_lock.acquire()
        try:
            self.log.batch_durable(batch)
        except AssertionError as error:
            why = f"its end is not where it was forced to: {error}"
        finally:
            self.engine_lock.release()
        if why:
            self._fail(why)
        if self.shipper is not None:
            self.shipper.forced(batch.end_lsn)
        if self.log.writer.wants_extent() and not self._kick.is_set():
            self._kick.set()  # prepare one before the current extent is full
        return True

    def note_checkpoint(self, restart_lsn: i64, checkpoint_lsn: i64, number: i64) -> None:
        with self._turn:
            self.log.writer.note_checkpoint(restart_lsn, checkpoint_lsn, number)

    def set_media_lsn(self, lsn: i64) -> None:
        with self._turn:
            self.log.writer.set_media_lsn(lsn)

    def set_archived(self, extent: int) -> None:
        with self._turn:
            self.log.writer.set_archived(extent)

    def allocate_ahead(self) -> None:
        """Prepare extents in a few steps, between forces."""
        for _ in range(_STEPS_AHEAD_MAX):
            with self._turn:
                if self.failure or not self.log.writer.allocate_ahead():
                    return

    def _run(self) -> None:
        show_thread_name()
        while not self._stopping:
            self._kick.wait(0.5)
            self._kick.clear()
            try:
                lsn: i64 = self._wanted_lsn()
                while lsn > self.log.forced_lsn() and not self.failure:
                    self._wait_forced(lsn)
                    if self.log.needs_checkpoint():
                        self.ask_for_checkpoint()
                    lsn = self._wanted_lsn()
                if self._waiting:
                    self._notify_durable()
                self.allocate_ahead()
            except MQError:
                pass  # reported below
            except MemoryError:
                self._sleep(_SPACE_PAUSE_SECONDS)
                self._kick.set()  # nothing has changed: try again
            except Exception as error:
                self.failure = f"The log's thread cannot go on: {error}"
                self.on_failure(self.failure)
            if self.failure:
                self._notify_all()

    def _run_end_notes(self) -> None:
        """Note in the control file how far the log is durable: once a second while busy, and when it falls idle.

        On a thread of its own and without the turn, so that no force and no reply waits for it.
        """
        show_thread_name()
        writer = self.log.writer
        seen_lsn: i64 = -1
        noted_at = 0.0
        while not self._stopped.wait(_NOTE_IDLE_SECONDS):
            lsn: i64 = writer.group_lsn
            is_busy: bool = lsn != seen_lsn
            seen_lsn = lsn
            if self.failure or not writer.has_new_end():
                continue
            if is_busy and self._monotonic() - noted_at < _NOTE_PERIOD_SECONDS:
                continue
            noted_at = self._monotonic()
            try:
                writer.note_end()
            except MemoryError:
                continue  # the next note includes this one
            except Exception as error:
                self.failure = f"The end of the log cannot be noted: {error}"
                self.on_failure(self.failure)
                self._kick.set()

    def _wanted_lsn(self) -> i64:
        """Return the highest LSN that a callback waits for, or 0."""
        self.engine_lock.acquire()
        try:
            return self._waited_lsn if self._waiting else 0
        finally:
            self.engine_lock.release()

    def _notify_all(self) -> None:
        self.engine_lock.acquire()
        waiting = self._waiting
        self._waiting = []
        self.engine_lock.release()
        for each in waiting:
            try:
                each.notify()
            except Exception as error:
                # The other callbacks must be called all the same.
                self.on_failure(f"{self.failure}; a waiting application could not be notified: {error}")

    def stop(self) -> None:
        """End the background threads. Records that nothing waited for are not forced here."""
        self._stopping = True
        self._stopped.set()
        self._kick.set()
        self._runner.join()
        self._end_noter.join()
