"""The file system size of a queue manager (crtmqm -fs): files are counted as by du, and beyond it the disk is full."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.server.channels.support.channel_routes import eventually

import ostler
from ostler.model.constants import MQRC_Q_SPACE_NOT_AVAILABLE, MQRC_RESOURCE_PROBLEM
from ostler.model.disk import DiskFull
from ostler.model.errors import MQError
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.server.storage import space_quota
from ostler.server.storage.space_quota import QuotaDisk, taken_below

LOG = LogSection(primary_files=2, secondary_files=1, file_pages=64)
BLOCK = 4096
SLACK_BYTES = 64 * 1024  # of directories and small files, until space is counted the next time


@pytest.fixture
def disk(tmp_path: Path) -> QuotaDisk:
    return QuotaDisk(tmp_path, 1 << 20)


def du(path: Path) -> int:
    """Return the space that files take. du tells it with status 1 when a file was removed while it looked."""
    found = subprocess.run(["du", "-s", "-B1", str(path)], capture_output=True, check=False)
    assert found.returncode in (0, 1), found.stderr
    return int(found.stdout.split()[0])


def used(disk: QuotaDisk) -> int:
    return disk.quota.limit_bytes - disk.quota.free_bytes()


def test_space_is_counted_as_du_does(tmp_path: Path) -> None:
    (tmp_path / "below" / "deep").mkdir(parents=True)
    (tmp_path / "below" / "file").write_bytes(bytes(100_000))
    with open(tmp_path / "below" / "deep" / "holes", "wb") as file:
        file.truncate(50_000_000)
    assert taken_below(str(tmp_path)) == du(tmp_path)
    assert taken_below(str(tmp_path / "below" / "file")) == du(tmp_path / "below" / "file")
    assert taken_below(str(tmp_path / "none")) == 0


def test_files_grow_up_to_the_limit(tmp_path: Path, disk: QuotaDisk) -> None:
    file = disk.open("file", True)
    before = used(disk)
    file.write_at(0, [bytes(400_000), bytes(9_600)])
    assert used(disk) - before == 409_600
    with pytest.raises(DiskFull, match="1 MB, is used up; setmqsize"):
        file.write_at(409_600, [bytes(800_000)])
    assert file.size_bytes() == 409_600
    file.write_at(0, [b"again"])  # what is there may be written again
    with pytest.raises(DiskFull):
        file.allocate(409_600, 800_000)
    assert used(disk) == du(tmp_path)


def test_space_that_is_freed_may_be_used(tmp_path: Path, disk: QuotaDisk) -> None:
    file = disk.open("file", True)
    file.allocate(0, 200 * BLOCK)
    file.discard(0, 100 * BLOCK)
    assert used(disk) == du(tmp_path)
    other = disk.open("other", True)
    other.write_at(0, [bytes(100 * BLOCK)])
    with pytest.raises(DiskFull):
        file.write_at(0, [bytes(100 * BLOCK)])  # the hole was given away
    other.truncate(BLOCK)
    file.write_at(0, [bytes(50 * BLOCK)])
    assert used(disk) == du(tmp_path)
    other.close()
    disk.remove("other")
    disk.rename("file", "renamed")
    assert used(disk) == du(tmp_path)
    disk.open("second", True).write_at(0, [bytes(10 * BLOCK)])
    disk.rename("second", "renamed")
    file.close()
    assert used(disk) == du(tmp_path)


def test_what_others_write_counts_when_it_matters(
    tmp_path: Path, disk: QuotaDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space_quota, "_COUNT_SECONDS", 0.0)
    assert used(disk) == du(tmp_path)
    (tmp_path / "errors").write_bytes(bytes(1 << 20))
    with pytest.raises(DiskFull):
        disk.open("file", True).write_at(0, [bytes(BLOCK)])
    os.unlink(tmp_path / "errors")
    disk.open("file", True).write_at(0, [bytes(BLOCK)])


def test_the_free_space_of_the_disk_is_a_limit_too(tmp_path: Path) -> None:
    assert QuotaDisk(tmp_path, 1 << 60).free_bytes() <= os.statvfs(tmp_path).f_blocks * os.statvfs(tmp_path).f_frsize


# -- a queue manager ---------------------------------------------------------------------------------------------------


def fill(queue: ostler.Queue) -> int:
    """Put persistent messages until one is refused; how many there were."""
    count = 0
    while True:
        try:
            queue.put(b"%08d" % count + bytes(20_000), persistent=True)
        except MQError as refusal:
            if refusal.reason == MQRC_Q_SPACE_NOT_AVAILABLE:
                return count
            if refusal.reason != MQRC_RESOURCE_PROBLEM:
                raise
        else:
            count += 1
            assert count < 10_000, "the limit has no effect"


def test_a_queue_manager_keeps_within_its_size(tmp_path: Path) -> None:
    directory = create_queue_manager(tmp_path, "QM1", LOG, file_system_megabytes=8)
    with QueueManager(directory) as manager:
        manager.start()
        with ostler.connect(manager) as qm:
            qm.define("QLOCAL", "ORDERS", MAXDEPTH=100_000)
            with qm.open("ORDERS") as queue:
                count = fill(queue)
                assert 100 < count < 400
                assert du(directory.path) <= (8 << 20) + SLACK_BYTES
                eventually(lambda: any("AMQ6119S: The disk is full" in each for each in manager.notices), "AMQ6119S")
                # Gets go on, and make room.
                for number in range(count // 2):
                    message = queue.get()
                    assert message is not None
                    assert message.body.startswith(b"%08d" % number)
                eventually(lambda: can_put(queue), "room for another message")
        manager.end("immediate")
    with QueueManager(directory) as again:
        again.start()
        assert again.engine.queues["ORDERS"].depth == count - count // 2 + 1


def can_put(queue: ostler.Queue) -> bool:
    try:
        queue.put(b"fits again", persistent=True)
    except MQError as refusal:
        if refusal.reason not in (MQRC_Q_SPACE_NOT_AVAILABLE, MQRC_RESOURCE_PROBLEM):
            raise
        return False
    return True


def test_a_larger_size_makes_room(tmp_path: Path) -> None:
    directory = create_queue_manager(tmp_path, "QM1", LOG, file_system_megabytes=4)
    for size in (4, 8):
        text = directory.ini.read_text().replace("SizeMegabytes=4", f"SizeMegabytes={size}")
        directory.ini.write_text(text)
        with QueueManager(directory) as manager:
            manager.start()
            with ostler.connect(manager) as qm:
                qm.define("QLOCAL", "ORDERS", MAXDEPTH=100_000, replace=True)
                with qm.open("ORDERS", "w") as queue:
                    assert fill(queue) > 50
            manager.end("immediate")
        assert (4 << 20) * (size // 8) < du(directory.path) <= (size << 20) + SLACK_BYTES


def test_a_log_elsewhere_does_not_count(tmp_path: Path) -> None:
    log = LogSection(primary_files=2, secondary_files=1, file_pages=1024, path=str(tmp_path / "logs"))
    directory = create_queue_manager(tmp_path, "QM1", log, file_system_megabytes=4)
    with QueueManager(directory) as manager:
        manager.start()
        assert du(tmp_path / "logs") > 8 << 20
        assert du(directory.path) < 4 << 20
