"""A disk whose reads of queue files stand still until a test lets them go on."""

from __future__ import annotations

import threading

from ostler.model.disk import Disk, DiskFailed
from ostler.server.storage.delayed_disk import DelayedDisk

_SECONDS_MAX = 60.0


class HeldReads:
    """Reads are made at once, unless they are held: then each begins, and ends when `go_on` is called."""

    def __init__(self) -> None:
        self._goes = threading.Event()
        self._goes.set()
        self._begun = threading.Semaphore(0)
        self.fails = False
        self.count = 0

    def hold(self) -> None:
        self._goes.clear()

    def go_on(self) -> None:
        self._goes.set()

    def wait_until_begun(self) -> None:
        assert self._begun.acquire(timeout=_SECONDS_MAX), "no read has begun"

    def pass_through(self) -> None:
        self.count += 1
        self._begun.release()
        assert self._goes.wait(_SECONDS_MAX), "the test never let the read go on"
        if self.fails:
            raise DiskFailed("the device does not answer")

    def on(self, disk: Disk) -> Disk:
        """Return a disk whose reads can be held."""
        return DelayedDisk(disk, self.pass_through)
