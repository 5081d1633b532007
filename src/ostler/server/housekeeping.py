"""What has to happen now and then: checkpoints, expired messages, log space. One thread, bounded steps."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from ostler.engine.expiry import ExpiryScan
from ostler.model.disk import DiskFailed, DiskFull
from ostler.model.errors import MQError

if TYPE_CHECKING:
    from ostler.server.queue_manager import QueueManager

_PERIOD_SECONDS = 0.25
_EXPIRY_PERIOD_SECONDS = 1.0


class Housekeeping:
    def __init__(self, manager: QueueManager) -> None:
        self._manager = manager
        self._stop = threading.Event()
        self._scan = ExpiryScan(manager.engine)
        self._scanned_at = 0.0
        self._thread = threading.Thread(target=self._run, name="ostler-housekeeping", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(_PERIOD_SECONDS):
            if self._manager.writer.failure:
                return
            try:
                self._pass()
            except DiskFull as full:
                self._note(f"AMQ6119S: The disk is full: {full}. Free some space; the checkpoint is tried again.")
            except (MQError, DiskFailed) as failed:
                self._note(f"AMQ6119S: Housekeeping cannot go on: {failed}")
                return

    def _note(self, text: str) -> None:
        if not self._manager.notices or self._manager.notices[-1] != text:
            self._manager.notices.append(text)

    def _pass(self) -> None:
        manager = self._manager
        if manager.log.is_filling():
            manager.make_room()
        elif manager.log.needs_checkpoint():
            manager.checkpoint()
        now = time.monotonic()
        if now - self._scanned_at >= _EXPIRY_PERIOD_SECONDS:
            self._scanned_at = now
            self._expire()

    def _expire(self) -> None:
        """Look through the queues a slice at a time, letting work go on in between."""
        manager = self._manager
        self._scan.begin()
        more = True
        while more and not self._stop.is_set():
            with manager.lock:
                manager.engine.now_ms = int(time.time() * 1000)
                more = self._scan.step()
                manager.wake()
