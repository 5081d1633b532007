"""References of topics to their retained publications, which are messages on SYSTEM.RETAINED.PUB.QUEUE.

A reference whose message has left the queue means nothing: nobody finds a publication by it. So a queue with a million
publications is cleared or deleted at once, and the references of its topics are cleared in slices (`ForgetRetained`).
No later message can be taken for one of them: sequence numbers are not used again, not even by a queue that is deleted
and defined again.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.engine.core import Engine
from ostler.engine.pubsub.topic_tree import RetainedSlot
from ostler.engine.queue.queue import RETAINED_QUEUE, Queue
from ostler.engine.queue.slots import AVAILABLE, FREE
from ostler.engine.task import EngineTask

_NODE_COST: Final = 2  # of a topic, in units of `Engine.work_left`


def retained_queue(engine: Engine) -> Queue | None:
    return engine.queues.get(RETAINED_QUEUE)


def is_available(queue: Queue, retained: RetainedSlot) -> bool:
    """Return True when the message of a reference is on the queue, and a get may take it."""
    return _holds(queue, retained) and queue.slots.state(retained.slot) == AVAILABLE


def _holds(queue: Queue, retained: RetainedSlot) -> bool:
    slot: i64 = retained.slot
    return (
        slot < len(queue.slots.resident) and queue.slots.seqs[slot] == retained.seq and queue.slots.state(slot) != FREE
    )


def forget_lost(engine: Engine) -> None:
    """Begin to clear the references to publications that went when their queue was cleared or deleted."""
    if engine.topics.retained_count > 0:
        engine.begin_task(ForgetRetained(engine))


@final
class ForgetRetained(EngineTask):
    """Clears references whose message is not on the queue any more. Nobody waits for it.

    It visits the nodes from the last to the first. A node that is removed is replaced by the last one, which has been
    visited, and new nodes come behind it: so it misses none.
    """

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self._engine = engine
        self._left: i64 = len(engine.topics.nodes)

    def step(self) -> bool:
        engine = self._engine
        topics = engine.topics
        queue = retained_queue(engine)
        self._left = min(self._left, len(topics.nodes))
        while self._left > 0 and engine.work_left > 0:
            engine.work_left -= _NODE_COST
            self._left -= 1
            node = topics.nodes[self._left]
            retained = node.retained
            if retained is not None and (queue is None or not _holds(queue, retained)):
                topics.retain(node, None)
        return self._left == 0
