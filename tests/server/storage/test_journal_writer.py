"""Callbacks for the time when the log is durable."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostler.engine.journal_records import append_commit
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager, create_queue_manager


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[QueueManager]:
    made = QueueManager(create_queue_manager(tmp_path, "QM1", LogSection(file_pages=64, primary_files=2)))
    made.start()
    yield made
    made.end("immediate")


def test_callbacks_need_not_come_in_the_order_of_their_lsns(manager: QueueManager) -> None:
    """Loops on several threads ask each for its own LSN, after the turn that made it."""
    manager.writer.stop()  # its threads would take the callbacks away
    first, second = threading.Event(), threading.Event()
    with manager.turn as engine:
        first_lsn = append_commit(engine, 1, [])
        second_lsn = append_commit(engine, 2, [])
        manager.writer.call_when_durable(second_lsn, second.set)
        manager.writer.call_when_durable(first_lsn, first.set)
    assert manager.writer._wanted_lsn() == second_lsn, "the log is forced for both"
    manager.writer.wait_durable(second_lsn)
    assert first.is_set()
    assert second.is_set()


def test_waiting_for_a_record_that_was_never_appended_stops_the_queue_manager(manager: QueueManager) -> None:
    def verb() -> None:
        with manager.turn:
            manager.writer.call_when_durable(manager.log.end_lsn() + 1, threading.Event().set)

    with pytest.raises(MQError) as refused:
        verb()
    assert refused.value.reason == mq.MQRC_CONNECTION_BROKEN
    assert "The queue manager has stopped: An application waits for LSN" in str(refused.value)
