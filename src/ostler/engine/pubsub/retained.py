"""Retained publications: messages on SYSTEM.RETAINED.PUB.QUEUE, each referred to by the node of its topic.

A publication becomes the retained one when its unit of work is committed, and the same record removes its predecessor:
a topic never has two, or none in between.
"""

from __future__ import annotations

from mypy_extensions import i64

from ostler.engine import apply
from ostler.engine.core import Engine
from ostler.engine.journal_records import append_get
from ostler.engine.message.message import Message
from ostler.engine.pubsub.publication_properties import topic_in
from ostler.engine.pubsub.retained_references import is_available, retained_queue
from ostler.engine.pubsub.topic_tree import RetainedSlot, TopicNode
from ostler.engine.queue.queue import Queue
from ostler.engine.queue.queue_file import QueueFileDamaged
from ostler.engine.queue.slots import NONE, PERSISTENT
from ostler.engine.unit_of_work import UnitOfWork


def record_committed(engine: Engine, queue: Queue, slot: i64, seq: i64, topic: str) -> None:
    """Make a committed publication the retained one of its topic. Its commit record removed the predecessor."""
    before = _attach(engine, slot, seq, topic)
    if before is not None and is_available(queue, before):
        apply.get(queue, before.slot)


def _attach(engine: Engine, slot: i64, seq: i64, topic: str) -> RetainedSlot | None:
    """Set the retained publication of the topic's node; returns the previous one."""
    if topic == "":
        return None  # an application put this message, it is no publication
    return engine.topics.retain(engine.topics.ensure(topic, engine.now_ms), RetainedSlot(slot, seq))


def find_replaced(engine: Engine, unit: UnitOfWork) -> list[tuple[int, int]]:
    """Return queue and sequence number of the persistent retained publications that a commit replaces."""
    found: list[tuple[int, int]] = []
    last: dict[
        str, tuple[int, int]
    ] = {}  # the latest of the unit for a topic; sequence number 0 if it is not persistent
    for entry in unit.entries:
        queue = entry.queue
        if not entry.is_put or not queue.keeps_retained or queue.deleted or queue.damaged:
            continue
        topic = unit.topics[entry.seq]
        if topic == "":
            continue
        if topic in last:
            if last[topic][1]:
                found.append(last[topic])
        else:
            node = engine.topics.find(topic)
            before = node.retained if node is not None else None
            if before is not None and is_available(queue, before) and queue.slots.flags[before.slot] & PERSISTENT:
                found.append((queue.queue_id, before.seq))
        last[topic] = (queue.queue_id, entry.seq if entry.is_persistent else 0)
    return found


def record_removed(engine: Engine, message: Message, seq: i64) -> None:
    """Forget a retained publication whose message was removed from the queue."""
    topic = topic_in(message.properties)
    node = engine.topics.find(topic) if topic else None
    if node is not None and node.retained is not None and node.retained.seq == seq:
        engine.topics.retain(node, None)


def message_at(engine: Engine, node: TopicNode) -> Message | None:
    """Return the retained publication of a node; None if there is none, or it is gone or expired.

    The reference to a message that is gone is cleared.
    """
    retained = node.retained
    if retained is None:
        return None
    queue = retained_queue(engine)
    if queue is None or not is_available(queue, retained):
        engine.topics.retain(node, None)
        return None
    expiry_ms: i64 = queue.slots.expiries[retained.slot]
    if expiry_ms != 0 and expiry_ms <= engine.now_ms:
        return None
    try:
        return queue.load(retained.slot)
    except QueueFileDamaged:
        return None


def expiry_at(engine: Engine, node: TopicNode) -> i64:
    """Return the expiry of a node's retained publication in milliseconds; 0 for none."""
    queue = retained_queue(engine)
    retained = node.retained
    if queue is None or retained is None or not is_available(queue, retained):
        return 0
    return queue.slots.expiries[retained.slot]


def has_publication(engine: Engine, node: TopicNode) -> bool:
    """Return True when a node has a retained publication that has not expired."""
    queue = retained_queue(engine)
    retained = node.retained
    if queue is None or retained is None or not is_available(queue, retained):
        return False
    expiry_ms: i64 = queue.slots.expiries[retained.slot]
    return expiry_ms == 0 or expiry_ms > engine.now_ms


def clear(engine: Engine, topic: str) -> bool:
    """Remove the retained publication of a topic (CLEAR TOPICSTR). Returns False if there was none."""
    node = engine.topics.find(topic)
    queue = retained_queue(engine)
    if node is None or node.retained is None or queue is None:
        return False
    before = engine.topics.retain(node, None)
    return before is not None and _remove(engine, queue, before)


def rebuild(engine: Engine) -> None:
    """Rebuild the references of all nodes from the queue, after a restart or media recovery."""
    engine.topics.forget_retained()
    queue = retained_queue(engine)
    if queue is None or queue.damaged:
        return
    found: list[tuple[int, int]] = []
    slot: i64 = queue.slots.first()
    while slot != NONE:
        found.append((queue.slots.seqs[slot], slot))
        slot = queue.slots.following(slot)
    for seq, slot_number in sorted(found):
        before = _attach(engine, slot_number, seq, topic_in(queue.load(slot_number).properties))
        if before is not None:
            _remove(engine, queue, before)


def _remove(engine: Engine, queue: Queue, retained: RetainedSlot) -> bool:
    if not is_available(queue, retained):
        return False
    if queue.slots.flags[retained.slot] & PERSISTENT:
        append_get(engine, queue, retained.seq, None)
    apply.get(queue, retained.slot)
    return True
