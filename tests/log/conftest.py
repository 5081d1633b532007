"""One life of a log on a disk, for the tests of the recovery log."""

from __future__ import annotations

import pytest

from ostler.log import LogSettings, LogVisitor, open_log
from ostler.log.restart import create_log_of_any_size
from ostler.model.disk import Disk

IDENTITY = bytes(range(16))


class Collector(LogVisitor):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.records: list[tuple[int, int, bytes]] = []
        self.progress_calls: list[tuple[int, int]] = []

    def record(self, kind: int, lsn: int, payload: bytes) -> None:
        self.records.append((kind, lsn, payload))

    def progress(self, done_bytes: int, total_bytes: int) -> None:
        self.progress_calls.append((done_bytes, total_bytes))


class LogLife:
    """A log from its restart on. Small extents, so that little data reaches far."""

    SMALL = LogSettings(primary_files=3, secondary_files=2, file_pages=4)
    DIRECTORY = "log"

    def __init__(self, disk: Disk, settings: LogSettings | None = None) -> None:
        if not disk.exists("log/amqhlctl.lfh"):
            create_log_of_any_size(disk, self.DIRECTORY, settings or self.SMALL, IDENTITY)
        self.disk = disk
        self.visitor = Collector()
        self.log = open_log(disk, self.DIRECTORY, settings).replay(self.visitor)
        self.writer = self.log.writer
        self.appended: list[tuple[int, int, bytes]] = []

    @property
    def seen(self) -> list[tuple[int, int, bytes]]:
        return self.visitor.records

    @property
    def payloads(self) -> list[bytes]:
        return [payload for _, _, payload in self.visitor.records]

    def append(self, payload: bytes, kind: int = 1) -> int:
        third = len(payload) // 3
        lsn = self.log.append(kind, payload[:third], payload[third : 2 * third], payload[2 * third :])
        self.appended.append((kind, lsn, payload))
        return lsn

    def commit(self, *payloads: bytes) -> int:
        """Append and make durable all that is pending; the durable LSN."""
        for payload in payloads:
            self.append(payload)
        batch = self.log.take_batch()
        if batch is not None:
            self.writer.write_batch(batch)
            self.log.batch_durable(batch)
        return self.log.durable_lsn()

    def checkpoint(self, restart_lsn: int | None = None) -> None:
        durable = self.log.durable_lsn()
        self.writer.note_checkpoint(durable if restart_lsn is None else restart_lsn, durable, 1)

    def keep_extents(self) -> None:
        while self.writer.allocate_ahead():
            pass

    def extents(self) -> list[str]:
        return self.disk.names("log/active")


@pytest.fixture(scope="session")
def log_life() -> type[LogLife]:
    return LogLife
