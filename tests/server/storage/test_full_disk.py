"""A queue manager on a disk that fills up: new persistent messages are refused, nothing is lost, gets go on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.server.channels.support.channel_routes import eventually

import ostler
from ostler.model.constants import MQRC_BACKED_OUT, MQRC_Q_SPACE_NOT_AVAILABLE, MQRC_RESOURCE_PROBLEM
from ostler.model.disk import Disk, DiskFull, File
from ostler.model.errors import MQError
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.server.storage.real_disk import RealDisk

LOG = LogSection(primary_files=2, secondary_files=1, file_pages=64)
BODY_BYTES = 20_000


class LimitedFile(File):
    def __init__(self, file: File, disk: LimitedDisk) -> None:
        self._file = file
        self._disk = disk

    def read_at(self, offset: int, length: int) -> bytes:
        return self._file.read_at(offset, length)

    def write_at(self, offset: int, parts: Sequence[bytes]) -> None:
        if self._disk.is_full and offset + sum(map(len, parts)) > self._file.size_bytes():
            raise DiskFull("the disk for this test is full")
        self._file.write_at(offset, parts)

    def force(self) -> None:
        self._file.force()

    def size_bytes(self) -> int:
        return self._file.size_bytes()

    def truncate(self, size_bytes: int) -> None:
        self._file.truncate(size_bytes)

    def close(self) -> None:
        self._file.close()


class LimitedDisk(Disk):
    """A real disk for queue files that can be told to be full: then no file grows."""

    def __init__(self, base: Path) -> None:
        self._disk = RealDisk(base)
        self.is_full = False

    def open(self, path: str, create: bool) -> File:
        return LimitedFile(self._disk.open(path, create), self)

    def exists(self, path: str) -> bool:
        return self._disk.exists(path)

    def names(self, directory: str) -> list[str]:
        return self._disk.names(directory)

    def make_directory(self, path: str) -> None:
        self._disk.make_directory(path)

    def remove(self, path: str) -> None:
        self._disk.remove(path)

    def rename(self, source: str, target: str) -> None:
        self._disk.rename(source, target)

    def force_directory(self, path: str) -> None:
        self._disk.force_directory(path)

    def free_bytes(self) -> int:
        return 0 if self.is_full else self._disk.free_bytes()


def started(root: Path) -> tuple[QueueManager, LimitedDisk]:
    directory = create_queue_manager(root, "FULL", LOG)
    manager = QueueManager(directory)
    disk = LimitedDisk(directory.path)
    manager.disk = disk
    manager.engine.disk = disk
    manager.start()
    return manager, disk


def put_until_refused(queue: ostler.Queue, first: int) -> tuple[int, int]:
    """How many were put, and why no more."""
    number = first
    while True:
        try:
            queue.put(b"%d" % number + bytes(BODY_BYTES), persistent=True, syncpoint=False)
        except MQError as refused:
            return number - first, refused.reason
        number += 1
        assert number < first + 1000, "the disk is full, but nothing is refused"


def numbers(queue: ostler.Queue) -> list[int]:
    found = []
    while (message := queue.get(syncpoint=False)) is not None:
        assert isinstance(message.body, bytes)
        found.append(int(message.body.rstrip(b"\0")))
    return found


def test_a_full_disk_refuses_puts_and_lets_gets_go_on(tmp_path: Path) -> None:
    manager, disk = started(tmp_path)
    with ostler.connect(manager) as connection:
        connection.define("QLOCAL", "Q", MAXDEPTH=100_000)
        with connection.open("Q", "rw") as queue:
            for number in range(10):
                queue.put(b"%d" % number + bytes(BODY_BYTES), persistent=True, syncpoint=False)
            manager.checkpoint()
            disk.is_full = True
            count, reason = put_until_refused(queue, 10)
            assert reason in (MQRC_RESOURCE_PROBLEM, MQRC_Q_SPACE_NOT_AVAILABLE)
            first = queue.get(syncpoint=False)
            assert first is not None
            # It is noted by the thread that tries the checkpoint, which may be slower than this one.
            eventually(lambda: any("AMQ6119S" in notice for notice in list(manager.notices)))
            disk.is_full = False
            queue.put(b"%d" % (10 + count) + bytes(BODY_BYTES), persistent=True, syncpoint=False)
    manager.end("preemptive")
    manager = ostler.start("FULL", data=tmp_path)
    with ostler.connect(manager) as connection, connection.open("Q", "rw") as queue:
        assert numbers(queue) == list(range(1, 11 + count))
    manager.end()


def test_an_end_on_a_full_disk_loses_nothing_persistent(tmp_path: Path) -> None:
    manager, disk = started(tmp_path)
    with ostler.connect(manager) as connection:
        connection.define("QLOCAL", "Q")
        with connection.open("Q", "rw") as queue:
            queue.put(b"0" + bytes(BODY_BYTES), persistent=True, syncpoint=False)
            disk.is_full = True
    manager.end()
    assert not manager.running
    manager = ostler.start("FULL", data=tmp_path)
    with ostler.connect(manager) as connection, connection.open("Q", "rw") as queue:
        assert numbers(queue) == [0]
    manager.end()


def test_the_oldest_unit_of_work_makes_room_for_the_others(tmp_path: Path) -> None:
    manager, _ = started(tmp_path)
    with ostler.connect(manager) as old, ostler.connect(manager) as busy:
        old.define("QLOCAL", "Q", MAXDEPTH=100_000)
        with old.open("Q", "rw") as held, busy.open("Q", "rw") as queue:
            held.put(b"never", persistent=True, syncpoint=True)
            for number in range(200):
                queue.put(b"%d" % number + bytes(BODY_BYTES), persistent=True, syncpoint=False)
                assert queue.get(syncpoint=False) is not None
            with pytest.raises(MQError) as refused:
                old.commit()
            assert refused.value.reason == MQRC_BACKED_OUT
            eventually(lambda: any("AMQ7469W" in notice for notice in list(manager.notices)))
            held.put(b"1" + bytes(10), persistent=True, syncpoint=True)
            old.commit()
            assert numbers(queue) == [1]
    manager.end()


def test_a_message_too_long_for_the_rest_of_a_log_that_is_not_filling_yet(tmp_path: Path) -> None:
    """A put that lacks room has a checkpoint taken, though three quarters of the log are not used yet."""
    log = LogSection(primary_files=3, secondary_files=1, file_pages=64)
    manager = QueueManager(create_queue_manager(tmp_path, "LONG", log))
    manager.start()
    manager.housekeeping.stop()  # no checkpoints but those that somebody lacks room for
    with ostler.connect(manager) as connection:
        connection.define("QLOCAL", "Q")
        with connection.open("Q", "rw") as queue:
            while manager.log.room_bytes() > 400_000:
                queue.put(bytes(BODY_BYTES), persistent=True, syncpoint=False)
                assert queue.get(syncpoint=False) is not None
            assert not manager.log.is_filling()
            queue.put(bytes(manager.log.room_bytes()), persistent=True, syncpoint=False)
            assert queue.get(syncpoint=False) is not None
    manager.end()
