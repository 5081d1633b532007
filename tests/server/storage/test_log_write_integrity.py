"""LogWriteIntegrity of a queue manager on a real disk: each value keeps what was acknowledged, in its own way."""

from __future__ import annotations

from pathlib import Path

import pytest

import ostler
from ostler.log.stream_format import PAGE_BYTES
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.qm_ini import LogSection, LogWriteIntegrity
from ostler.server.queue_manager import QueueManager, create_queue_manager

BODIES = [b"message %d" % number for number in range(20)]


def put_and_crash(directory: QueueManagerDirectory, bodies: list[bytes]) -> tuple[int, int, int]:
    """Put messages, each waiting for the disk, and end as a crash would: the writes, forces and bytes of the log."""
    manager = QueueManager(directory)
    manager.start()
    before = manager.log.metrics.writes, manager.log.metrics.forces, manager.log.metrics.physical_bytes
    with ostler.connect(manager) as qm:
        qm.define("QLOCAL", "ORDERS", replace=True)
        with qm.open("ORDERS", "w") as queue:
            for body in bodies:
                queue.put(body, persistent=True)
        after = manager.log.metrics.writes, manager.log.metrics.forces, manager.log.metrics.physical_bytes
        manager.end("preemptive")
    return after[0] - before[0], after[1] - before[1], after[2] - before[2]


def found(directory: QueueManagerDirectory) -> tuple[list[bytes], list[str]]:
    """The messages after a restart, and what is noted."""
    with QueueManager(directory) as manager:
        manager.start()
        with ostler.connect(manager) as qm, qm.open("ORDERS", "b") as queue:
            return [message.body for message in queue.browse()], list(manager.notices)


@pytest.mark.parametrize("integrity", list(LogWriteIntegrity))
def test_all_keep_what_was_acknowledged(tmp_path: Path, integrity: LogWriteIntegrity) -> None:
    directory = create_queue_manager(tmp_path, "QM1", LogSection(file_pages=64, write_integrity=integrity))
    writes, forces, size = put_and_crash(directory, BODIES)
    assert (directory.path / "log/active/PAGE.COPY").exists() == (integrity is LogWriteIntegrity.DOUBLE)
    per_put = size / len(BODIES)
    if integrity is LogWriteIntegrity.TRIPLE:
        assert per_put >= PAGE_BYTES
    else:
        assert per_put < PAGE_BYTES
    assert writes == forces
    assert (writes >= 2 * len(BODIES) - 5) == (integrity is LogWriteIntegrity.DOUBLE)
    assert found(directory)[0] == BODIES


def test_double_write_restores_a_page_that_the_device_spoiled(tmp_path: Path) -> None:
    section = LogSection(file_pages=64, write_integrity=LogWriteIntegrity.DOUBLE)
    directory = create_queue_manager(tmp_path, "QM1", section)
    put_and_crash(directory, BODIES)
    copy = (directory.path / "log/active/PAGE.COPY").read_bytes()
    page = int.from_bytes(copy[40:48], "little")
    length = int.from_bytes(copy[12:16], "little") - 24
    extent = directory.path / "log/active/S0000000.LOG"
    content = bytearray(extent.read_bytes())
    at = PAGE_BYTES + page
    assert content[at : at + length] == copy[48 : 48 + length]
    # All that the copy covers is spoiled, and nothing that was written in place behind it.
    content[at : at + length] = b"\xa5" * length
    extent.write_bytes(content)
    bodies, notices = found(directory)
    assert bodies == BODIES
    assert any(notice.startswith("AMQ7236W: A page of the log was spoiled") for notice in notices)


def test_the_value_may_change_from_one_start_to_the_next(tmp_path: Path) -> None:
    directory = create_queue_manager(tmp_path, "QM1", LogSection(file_pages=64))
    text = directory.ini.read_text()
    expected: list[bytes] = []
    for number, value in enumerate(["DoubleWrite", "TripleWrite", "SingleWrite", "DoubleWrite", "SingleWrite"]):
        directory.ini.write_text(text.replace("LogWriteIntegrity=TripleWrite", f"LogWriteIntegrity={value}"))
        bodies = [b"%d %d" % (number, each) for each in range(3)]
        put_and_crash(directory, bodies)
        expected += bodies
        assert found(directory)[0] == expected
