"""The queue of retained publications is cleared or deleted at once, and its topics forget them in slices."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.world.topic_world import TopicWorld

from ostler.engine.get import resume_work
from ostler.engine.pubsub import retained
from ostler.engine.queue.queue import RETAINED_QUEUE
from ostler.model.constants import MQPMO_RETAIN
from ostler.testing.simulation.audit import audit_engine

TOPICS = 100
NODES_PER_SLICE = 10
PASSES_MAX = 1_000


@pytest.fixture
def world() -> Iterator[TopicWorld]:
    """A world with an owner that a test makes go on, a few topics at a time."""
    made = TopicWorld.create()
    made.prepare_topics()
    made.engine.owner_signal.waker = lambda: None
    made.engine.slice_cost = made.engine.share_cost = 2 * NODES_PER_SLICE
    yield made
    finish(made)
    audit_engine(made.engine)


def publish_all(world: TopicWorld) -> None:
    connection = world.connect()
    for number in range(TOPICS):
        world.publish(connection, f"stock/{number}", b"old", MQPMO_RETAIN)
    assert world.engine.topics.retained_count == TOPICS


def finish(world: TopicWorld) -> int:
    """Do all that is left, and return the number of passes that it took."""
    for passes in range(PASSES_MAX):
        if not world.engine.has_pending_work():
            return passes
        resume_work(world.engine)
    raise AssertionError("the work does not end")


def delivered(world: TopicWorld, topic: str) -> list[bytes]:
    """Return the retained publications that a new subscription gets."""
    connection = world.connect()
    return world.take_all(connection, world.subscribe(connection, topic).destination)


def shown(world: TopicWorld) -> set[str]:
    """Return the topics that DISPLAY TPSTATUS shows with RETAINED(YES)."""
    topics = world.engine.topics
    return {topics.topic_of(node) for node in topics.nodes if retained.has_publication(world.engine, node)}


def remove_all(world: TopicWorld, is_deleted: bool) -> None:
    if is_deleted:
        world.delete_queue(RETAINED_QUEUE, purge=True)
        world.define_queue(RETAINED_QUEUE)
    else:
        world.clear_queue(RETAINED_QUEUE)


@pytest.mark.parametrize("is_deleted", [False, True])
def test_all_are_gone_at_once_and_forgotten_in_slices(world: TopicWorld, is_deleted: bool) -> None:
    publish_all(world)
    remove_all(world, is_deleted)
    topics = world.engine.topics
    assert topics.retained_count == TOPICS, "nothing is done under the lock of the command"
    assert shown(world) == set()
    assert delivered(world, "stock/7") == []
    assert finish(world) >= TOPICS // NODES_PER_SLICE
    assert (topics.retained_count, topics.root.retained_below) == (0, 0)


@pytest.mark.parametrize("is_deleted", [False, True])
def test_what_is_published_meanwhile_stays(world: TopicWorld, is_deleted: bool) -> None:
    publish_all(world)
    remove_all(world, is_deleted)
    connection = world.connect()
    resume_work(world.engine)
    # The first message of the queue, in the slot that stock/0 refers to; and others before and behind the task.
    for topic in ("stock/50", "stock/0", "stock/99", "new"):
        world.publish(connection, topic, topic.encode(), MQPMO_RETAIN)
    assert delivered(world, "stock/0") == [b"stock/0"]
    assert delivered(world, "stock/1") == []
    finish(world)
    assert shown(world) == {"stock/0", "stock/50", "stock/99", "new"}
    assert world.engine.topics.retained_count == 4
    assert sorted(delivered(world, "#")) == [b"new", b"stock/0", b"stock/50", b"stock/99"]


def test_no_message_of_a_new_queue_is_taken_for_an_old_publication(world: TopicWorld) -> None:
    publish_all(world)
    remove_all(world, is_deleted=True)
    world.publish(world.connect(), "other", b"other", MQPMO_RETAIN)
    slots = world.engine.queues[RETAINED_QUEUE].slots
    first = world.engine.topics.find("stock/0")
    assert first is not None
    assert first.retained is not None
    assert slots.first() == first.retained.slot, "the slot is used again"
    assert delivered(world, "stock/0") == []
    assert delivered(world, "other") == [b"other"]


def test_topics_that_go_meanwhile_are_no_hindrance(world: TopicWorld) -> None:
    publish_all(world)
    remove_all(world, is_deleted=False)
    for _ in range(PASSES_MAX):
        if not world.engine.has_pending_work():
            break
        resume_work(world.engine)
        world.engine.topics.sweep(NODES_PER_SLICE, world.now_ms)
    assert world.engine.topics.retained_count == 0
    while world.engine.topics.sweep(TOPICS, world.now_ms):
        pass
    assert world.engine.topics.nodes == [world.engine.topics.root]
