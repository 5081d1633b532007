"""Topics that nobody needs go, a slice at a time; subscriptions end when their time is over."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostler.command.mqsc.interpreter import run_command
from ostler.engine.pubsub.subscribe import subscribe
from ostler.engine.pubsub.subscribe_request import SubscribeRequest
from ostler.model import constants as mq
from ostler.server.admin.command_context import ManagerCommandContext
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.server.storage.scavenger import Scavenger


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[QueueManager]:
    """Its own housekeeping does nothing: the tests do."""
    manager = QueueManager(create_queue_manager(tmp_path, "TIDY", LogSection(file_pages=64)))
    manager.start()
    manager.housekeeping.stop()
    yield manager
    manager.end("preemptive")


@pytest.fixture
def scavenger(manager: QueueManager) -> Scavenger:
    return Scavenger(manager, threading.Event())


def grow(manager: QueueManager, count: int, seconds_ago: float) -> None:
    for at in range(count):
        manager.engine.topics.ensure(f"old/{at % 10}/{at}", int((time.time() - seconds_ago) * 1000))


def alter(manager: QueueManager, text: str) -> None:
    assert list(run_command(ManagerCommandContext(manager), f"alter qmgr {text}")) == [
        "AMQ8005I: Ostler queue manager changed."
    ]


def work_until_round(scavenger: Scavenger) -> None:
    rounds = scavenger.rounds
    for _ in range(1000):
        scavenger.work()
        if scavenger.rounds > rounds:
            return
    raise AssertionError("the round does not end")


def test_topics_that_nobody_needs_go(manager: QueueManager, scavenger: Scavenger) -> None:
    before = len(manager.engine.topics.nodes)
    grow(manager, 2_000, 3600)
    manager.engine.topics.ensure("young", int(time.time() * 1000))
    work_until_round(scavenger)
    assert len(manager.engine.topics.nodes) == before + 1
    assert scavenger.removed == 2_000 + 10 + 1
    assert manager.engine.topics.find("young") is not None


def test_what_is_needed_stays(manager: QueueManager, scavenger: Scavenger) -> None:
    grow(manager, 10, 3600)
    kept = manager.engine.topics.find("old/3/3")
    assert kept is not None
    kept.publishers = 1
    work_until_round(scavenger)
    assert manager.engine.topics.find("old/3/3") is kept
    assert manager.engine.topics.find("old/4") is None


def test_the_place_of_a_subscription_was_used_until_it_ended(manager: QueueManager, scavenger: Scavenger) -> None:
    target = ManagerCommandContext(manager)
    assert len(list(run_command(target, "def sub(S1) topicstr('long/ago') destclas(managed)"))) == 1
    node = manager.engine.topics.find("long/ago")
    assert node is not None
    node.used_ms -= 3_600_000
    work_until_round(scavenger)
    assert manager.engine.topics.find("long/ago") is node
    assert len(list(run_command(target, "delete sub(S1)"))) == 1
    work_until_round(Scavenger(manager, threading.Event()))
    assert manager.engine.topics.find("long/ago") is node
    node.used_ms -= 3_600_000
    work_until_round(Scavenger(manager, threading.Event()))
    assert manager.engine.topics.find("long/ago") is None


def test_a_life_of_zero_is_without_end(manager: QueueManager, scavenger: Scavenger) -> None:
    alter(manager, "treelife(0)")
    grow(manager, 10, 1e6)
    for _ in range(5):
        scavenger.work()
    assert (scavenger.rounds, scavenger.removed) == (0, 0)
    alter(manager, "treelife(10)")
    work_until_round(scavenger)
    assert scavenger.removed == 21


def test_who_reads_the_tree_is_not_disturbed(manager: QueueManager, scavenger: Scavenger) -> None:
    grow(manager, 10, 3600)
    manager.engine.topics.readers = 1
    scavenger.work()
    assert (scavenger.rounds, scavenger.removed) == (0, 0)
    manager.engine.topics.readers = 0
    work_until_round(scavenger)
    assert scavenger.removed == 21


def test_subscriptions_end_when_their_time_is_over(manager: QueueManager, scavenger: Scavenger) -> None:
    connection = manager.connect("ann", "orders")
    made: list[bytes] = []
    with manager.lock:
        manager.engine.now_ms = int(time.time() * 1000) - 10_000
        for at, tenths in enumerate([50, -1, 50, 9_000] + [1] * 40):
            request = SubscribeRequest(mq.MQSO_CREATE | mq.MQSO_MANAGED)
            request.topic_string = f"t{at}"
            request.expiry = tenths
            made.append(subscribe(manager.engine, connection, request).subscription.identifier)
    scavenger.work()
    assert set(manager.engine.topics.subscriptions) == {made[1], made[3]}
    assert {each.identifier for each in manager.engine.topics.all_subscriptions} == {made[1], made[3]}


def test_a_time_that_is_changed_counts(manager: QueueManager, scavenger: Scavenger) -> None:
    target = ManagerCommandContext(manager)
    assert len(list(run_command(target, "def sub(S1) topicstr(a) destclas(managed) expiry(600)"))) == 1
    scavenger.work()
    assert "S1" in manager.engine.topics.by_name
    subscription = manager.engine.topics.by_name["S1"]
    subscription.created_ms -= 3_600_000
    assert len(list(run_command(target, "alter sub(S1) expiry(601)"))) == 1
    scavenger.work()
    assert "S1" not in manager.engine.topics.by_name
    assert subscription.destination not in manager.engine.queues
