"""Media images that are longer than the log they are recorded in, with a real queue manager."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import ostler
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.definitions import new_definition
from ostler.model.errors import MQError
from ostler.server.config.qm_ini import LogManagement, LogSection, LogType
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.server.storage.media_recovery import record_all_images, record_image, recover_queue

NAME = "QM1"
# Five extents of a megabyte.
LOG = LogSection(
    primary_files=3, secondary_files=2, file_pages=256, type=LogType.LINEAR, management=LogManagement.AUTOMATIC
)


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[QueueManager]:
    made = QueueManager(create_queue_manager(tmp_path, NAME, LOG))
    made.start()
    made.define(new_definition(ObjectType.QLOCAL, "Q", {"MAXMSGL": 4 << 20}))
    yield made
    made.end("immediate")


def body(number: int, size: int) -> bytes:
    return number.to_bytes(4, "big") * (size // 4)


@pytest.mark.parametrize(("count", "size"), [(60, 500_000), (12, 2_500_000), (3000, 10_000)])
def test_an_image_is_longer_than_the_log(manager: QueueManager, count: int, size: int) -> None:
    with ostler.connect(manager) as connection, connection.open("Q", "rw") as queue:
        for number in range(count):
            queue.put(body(number, size), persistent=True)
    assert sum(each.messages for each in record_all_images(manager)) == count
    assert recover_queue(manager, "Q") == count
    with ostler.connect(manager) as connection, connection.open("Q", "rw") as queue:
        for number in range(count):
            message = queue.get()
            assert message is not None
            assert message.data == body(number, size)
        assert queue.get() is None


def record_while_open(manager: QueueManager, connection: ostler.Connection, queue: ostler.Queue) -> None:
    """Record images, more than the log can hold, while a unit of work keeps the log."""
    with connection.transaction():
        queue.put(b"open for long", persistent=True)
        for _ in range(4):
            record_image(manager, "Q")


def test_an_image_that_a_unit_of_work_leaves_no_room_for_is_refused(manager: QueueManager) -> None:
    with ostler.connect(manager) as connection, connection.open("Q", "rw") as queue:
        for number in range(4):
            queue.put(body(number, 400_000), persistent=True)
        with pytest.raises(MQError, match="keep the log") as refused:
            record_while_open(manager, connection, queue)
        assert refused.value.reason == mq.MQRC_RESOURCE_PROBLEM
        assert not manager.writer.failure
        # Nothing holds the log any more: the same image can be recorded, and applications go on.
        assert record_image(manager, "Q").messages == 4
        queue.put(body(5, 400_000), persistent=True)
        assert [queue.get() is not None for _ in range(6)] == [True] * 5 + [False]
