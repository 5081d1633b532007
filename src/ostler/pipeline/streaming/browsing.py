"""A queue at rest, for batch reads: browsed, never changed, cut into ranges of message identifiers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from ostler.model.structures.md import MD_CORREL_ID, MD_MSG_ID
from ostler.pipeline.streaming.columns import Read
from ostler.pipeline.streaming.links import connected, open_queue, told
from ostler.pipeline.streaming.options import ReadOptions
from ostler.pipeline.streaming.windows import browse as browse_stored


@dataclass(frozen=True)
class QueueSlice:
    """The messages of a queue whose identifiers are from `first` on and before `after`; empty bounds are open."""

    queue: str
    first: bytes = b""
    after: bytes = b""

    def has(self, message_id: bytes) -> bool:
        return self.first <= message_id and (not self.after or message_id < self.after)


def slices(options: ReadOptions) -> list[QueueSlice]:
    """One slice for each queue; more when `numPartitions` asks for more than there are queues.

    Opening the queues here tells what is wrong before any task runs.
    """
    found: list[QueueSlice] = []
    wanted = max(1, options.partitions // len(options.queues))
    with connected(options.connect) as connection:
        for name in options.queues:
            with open_queue(connection, name, "b", options.selector) as queue, told(f"Browsing queue {name}"):
                if wanted == 1:
                    found.append(QueueSlice(name))
                    continue
                found += ranges(name, [_message_id(each.md) for each in browse_stored(queue, 0)], wanted)
    return found


def ranges(queue: str, ids: list[bytes], wanted: int) -> list[QueueSlice]:
    """Cut identifiers into ranges that hold about as many each. Equal identifiers are in the same one."""
    ordered = sorted(ids)
    cuts = sorted({ordered[len(ordered) * at // wanted] for at in range(1, wanted)}) if ordered else []
    bounds = [b"", *(cut for cut in cuts if cut), b""]
    return [QueueSlice(queue, first, after) for first, after in pairwise(bounds)]


def browse(options: ReadOptions, part: QueueSlice) -> Iterator[Read]:
    """The messages of a slice, as they are now."""
    with connected(options.connect) as connection:
        queue = open_queue(connection, part.queue, "b", options.selector)
        with queue, told(f"Browsing queue {part.queue}"):
            for position, taken in enumerate(browse_stored(queue)):
                if part.has(_message_id(taken.md)):
                    yield Read(part.queue, position, taken)


def _message_id(md: bytes) -> bytes:
    return md[MD_MSG_ID:MD_CORREL_ID]
