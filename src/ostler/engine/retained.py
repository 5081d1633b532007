"""Retained publications: messages on a queue of the queue manager's, each known at the place of its topic.

A publication becomes the retained one when its unit of work is committed, and the one before it goes. Should a crash
come between the two, the older one is removed at the restart.
"""

from __future__ import annotations

from mypy_extensions import i64

from ostler.engine.core import Engine
from ostler.engine.message import Message
from ostler.engine.publication_properties import topic_in
from ostler.engine.queue import RETAINED_QUEUE, Queue
from ostler.engine.queue_file import QueueFileDamaged
from ostler.engine.records import GET, get_head
from ostler.engine.slots import AVAILABLE, NONE, PERSISTENT
from ostler.engine.topic_tree import Retained, TopicNode


def retained_queue(engine: Engine) -> Queue | None:
    return engine.queues.get(RETAINED_QUEUE)


def arrived(engine: Engine, queue: Queue, slot: i64, seq: i64) -> None:
    """A retained publication is committed: from now on it is the one of its topic."""
    topic = topic_in(queue.load(slot).properties)
    if topic == "":
        return  # somebody has put a message of his own there
    node = engine.topics.place(topic, engine.now_ms)
    before = engine.topics.retain(node, Retained(slot, seq))
    if before is not None:
        _remove(engine, queue, before)


def message_at(engine: Engine, node: TopicNode) -> Message | None:
    """The retained publication of a place; None, and the place knows it then, when it is gone or has expired."""
    retained = node.retained
    if retained is None:
        return None
    queue = retained_queue(engine)
    if queue is None or not _is_there(queue, retained):
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
    """When the retained publication of a place expires, in milliseconds; 0: never."""
    queue = retained_queue(engine)
    retained = node.retained
    return queue.slots.expiries[retained.slot] if queue is not None and retained is not None else 0


def clear(engine: Engine, topic: str) -> bool:
    """Remove the retained publication of a topic. False: it had none."""
    node = engine.topics.find(topic)
    queue = retained_queue(engine)
    if node is None or node.retained is None or queue is None:
        return False
    before = engine.topics.retain(node, None)
    return before is not None and _remove(engine, queue, before)


def find_all(engine: Engine) -> None:
    """After a restart: let the places know their retained publications. Of two for one topic the later counts."""
    queue = retained_queue(engine)
    if queue is None or queue.damaged:
        return
    slot: i64 = queue.slots.first()
    while slot != NONE:
        following: i64 = queue.slots.following(slot)
        arrived(engine, queue, slot, queue.slots.seqs[slot])
        slot = following


def _is_there(queue: Queue, retained: Retained) -> bool:
    slot: i64 = retained.slot
    return queue.slots.seqs[slot] == retained.seq and queue.slots.state(slot) == AVAILABLE


def _remove(engine: Engine, queue: Queue, retained: Retained) -> bool:
    if not _is_there(queue, retained):
        return False
    slot: i64 = retained.slot
    if queue.slots.flags[slot] & PERSISTENT:
        engine.journal.append(GET, get_head(0, queue.queue_id, retained.seq), b"", b"")
        queue.changed = True
    queue.unlink(slot)
    queue.depth -= 1
    queue.release(slot)
    return True
