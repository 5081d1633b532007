"""What has to happen now and then: checkpoints, expired messages, log space, topics. One thread, bounded steps."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from ostler.engine.expiry import ExpiryScan
from ostler.log.settings import LogManagement, LogType
from ostler.model.disk import DiskFailed, DiskFull
from ostler.model.errors import MQError
from ostler.server.media_recovery import record_all_images
from ostler.server.scavenger import Scavenger
from ostler.server.thread_names import show_thread_name

if TYPE_CHECKING:
    from ostler.server.queue_manager import QueueManager

_PERIOD_SECONDS = 0.25
_EXPIRY_PERIOD_SECONDS = 1.0


class Housekeeping:
    def __init__(self, manager: QueueManager) -> None:
        self._manager = manager
        self._stop = threading.Event()
        self._asked = threading.Event()
        self._scanned_at = 0.0
        self._imaged_at = time.monotonic()
        self._imaged_lsn = manager.log.end_lsn()
        self.scavenger = Scavenger(manager, self._stop)
        self._thread = threading.Thread(target=self._run, name="ostler-housekeeping", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def ask(self) -> None:
        """A checkpoint is due: do not wait for the next round."""
        self._asked.set()

    def stop(self) -> None:
        self._stop.set()
        self._asked.set()
        self._thread.join()

    def _run(self) -> None:
        show_thread_name()
        while not self._stop.is_set():
            self._asked.wait(_PERIOD_SECONDS)
            self._asked.clear()
            if self._manager.writer.failure or self._stop.is_set():
                return
            try:
                self._pass()
            except DiskFull as full:
                self._manager.note(
                    f"AMQ6119S: The disk is full: {full}. Free some space; the checkpoint is tried again."
                )
            except DiskFailed as failed:
                self._manager.fail(str(failed))
                return
            except MQError as refused:
                self._manager.note(f"AMQ6119S: Housekeeping was refused: {refused}")

    def _pass(self) -> None:
        manager = self._manager
        manager.take_notices()
        manager.statistics_writer.turn()
        # What nobody waits for, such as puts with an asynchronous response, is not left in memory for long.
        end = manager.log.end_lsn()
        if end > manager.log.durable_lsn():
            manager.writer.wait_durable(end)
        if manager.log.is_filling():
            manager.make_room()
        elif manager.log.needs_checkpoint():
            manager.checkpoint()
        if self._image_is_due():
            self._imaged_at = time.monotonic()
            self._imaged_lsn = manager.log.end_lsn()
            record_all_images(manager)
        now = time.monotonic()
        if now - self._scanned_at >= _EXPIRY_PERIOD_SECONDS:
            self._scanned_at = now
            self.expire()
        self.scavenger.turn()

    def _image_is_due(self) -> bool:
        """Linear logs with automatic management: images now and then, so that old extents can go."""
        manager = self._manager
        section = manager.settings.log
        if manager.log.settings.log_type is not LogType.LINEAR:
            return False
        if manager.log.settings.management is LogManagement.MANUAL:
            return False
        written = manager.log.end_lsn() - self._imaged_lsn
        megabytes = section.image_log_length_megabytes
        if megabytes is not None and written >= megabytes << 20:
            return True
        minutes = section.image_interval_minutes
        return minutes is not None and written > 0 and time.monotonic() - self._imaged_at >= minutes * 60

    def expire(self) -> None:
        """Look through the queues a slice at a time, letting work go on in between."""
        manager = self._manager
        scan = ExpiryScan(manager.engine)
        scan.begin()
        more = True
        while more and not self._stop.is_set():
            with manager.lock:
                manager.engine.now_ms = int(time.time() * 1000)
                more = scan.step()
                manager.wake()
                lsn = manager.log.end_lsn()
            if lsn > manager.log.durable_lsn():
                manager.writer.settle(lsn)
