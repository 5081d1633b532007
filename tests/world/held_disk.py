"""Disks whose reads of queue files a test holds and counts, and queues that are in files only."""

from __future__ import annotations

import threading

from ostler.engine.queue.slots import SPILL_PENDING
from ostler.model.disk import Disk, DiskFailed, File
from ostler.server.queue_manager import QueueManager
from ostler.server.storage.delayed_disk import DelayedDisk, DelayedFile

_SECONDS_MAX = 60.0


def spill(manager: QueueManager, name: str) -> None:
    """Write all messages of a queue to its file, and keep none in memory."""
    queue = manager.engine.queues[name]
    with manager.lock:
        for slot, message in enumerate(queue.slots.resident):
            if message is not None and not queue.slots.flags[slot] & SPILL_PENDING:
                queue._plan_spill(slot, message.size_bytes())
        queue.write_spill()
        assert not any(queue.slots.resident)


class HeldReads:
    """Reads are made at once, unless they are held: then each begins, and ends when `go_on` is called."""

    def __init__(self) -> None:
        self._goes = threading.Event()
        self._goes.set()
        self._begun = threading.Semaphore(0)
        self.fails = False
        self.interrupts = 0  # so many reads are interrupted, as by Ctrl-C
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
        if self.interrupts > 0:
            self.interrupts -= 1
            raise KeyboardInterrupt
        if self.fails:
            raise DiskFailed("the device does not answer")

    def on(self, disk: Disk) -> Disk:
        """Return a disk whose reads can be held."""
        return DelayedDisk(disk, self.pass_through)


class CachedReads(HeldReads):
    """A page cache as the test wants it: reads of what is not `missing` are made at once, and counted."""

    def __init__(self) -> None:
        super().__init__()
        self.cached = 0
        self.missing_from = 1 << 60  # offset of the first byte that is not in the cache

    def on(self, disk: Disk) -> Disk:
        return _CachedDisk(disk, self)


class _CachedDisk(DelayedDisk):
    def __init__(self, disk: Disk, reads: CachedReads) -> None:
        super().__init__(disk, reads.pass_through)
        self._reads = reads

    def open(self, path: str, create: bool) -> File:
        file = self._disk.open(path, create)
        return _CachedFile(file, self._reads) if path.endswith("/messages") else file


class _CachedFile(DelayedFile):
    def __init__(self, file: File, reads: CachedReads) -> None:
        super().__init__(file, reads.pass_through)
        self._reads = reads

    def read_cached(self, offset: int, length: int) -> bytes | None:
        if offset + length > self._reads.missing_from:
            return None
        self._reads.cached += 1
        return self._file.read_at(offset, length)
