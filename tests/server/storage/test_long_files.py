"""Long files of queues are removed and shortened without the engine's lock, or a part in each turn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import ostler
from ostler.engine.queue.queue_file import OpenFiles, QueueFile
from ostler.model.disk import DiskFailed
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.server.storage.real_disk import RealDisk


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[QueueManager]:
    """Its own housekeeping does nothing: the tests do."""
    manager = QueueManager(create_queue_manager(tmp_path, "LONG", LogSection(file_pages=64)))
    manager.start()
    manager.housekeeping.stop()
    yield manager
    manager.end("immediate")


def delete_a_long_queue(manager: QueueManager) -> str:
    """Delete a temporary queue whose messages are in its file. Returns the path of its files."""
    with ostler.connect(manager) as program:
        queue = program.open_dynamic("SYSTEM.DEFAULT.MODEL.QUEUE", "LONG.*")
        for _ in range(40):
            queue.put(bytes(20_000), persistent=False)
        temporary = manager.engine.queues[queue.name]
        assert temporary.is_temporary
        assert temporary.stored_bytes > 0
    assert temporary.deleted
    (path,) = manager.engine.removed_paths
    return path


def test_the_file_of_a_temporary_queue_is_removed_in_no_turn(manager: QueueManager) -> None:
    path = delete_a_long_queue(manager)
    assert manager.disk.exists(f"{path}/messages"), "whoever deleted it has freed its space"
    manager.housekeeping.remove_files()
    assert not manager.disk.exists(path)
    assert not manager.engine.removed_paths


def test_a_file_that_cannot_be_removed_is_told_and_left_to_the_next_start(
    manager: QueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = delete_a_long_queue(manager)
    told: list[str] = []

    def refuse(path: str) -> None:
        raise DiskFailed(f"{path}: no")

    with monkeypatch.context() as patch:
        patch.setattr(manager.disk, "remove", refuse)
        patch.setattr(manager.housekeeping, "_notes", _Notes(told))
        manager.housekeeping.remove_files()
    assert [text for text in told if path in text]
    manager.end("immediate")
    manager.start()
    assert not manager.disk.exists(path)


class _Notes:
    def __init__(self, told: list[str]) -> None:
        self._told = told

    def write(self, _: str, text: str) -> None:
        self._told.append(text)


def test_a_file_that_is_much_too_long_is_shortened_in_parts(tmp_path: Path) -> None:
    file = QueueFile(RealDisk(tmp_path), "messages", OpenFiles())
    file.open_file().truncate(200 << 20)  # a hole, which takes no space
    file.needs_truncate = True
    sizes = []
    while file.needs_truncate:
        file.trim()
        sizes.append((tmp_path / "messages").stat().st_size >> 20)
    file.close()
    assert sizes == [136, 72, 8, 0]
