"""Batch reads: a queue is browsed, never changed, and divided into ranges of message identifiers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from ostler.client.api.queue import Queue
from ostler.client.session.session import StoredMessage
from ostler.model.structures.md import MD_CORREL_ID, MD_MSG_ID
from ostler.pipeline.source.columns import Read
from ostler.pipeline.source.links import connect_with, error_context, open_queue
from ostler.pipeline.source.options import ReadOptions
from ostler.pipeline.source.subscriptions import queues_of
from ostler.pipeline.source.windows import browse as browse_stored

# Beyond this many, tasks search the whole queue for their messages.
_PLACED_MAX: Final = 1_000_000


@dataclass(frozen=True)
class QueueSlice:
    """The messages of a queue whose identifiers are from `first` on and before `after`; empty bounds are open.

    Bounds are in the order of `in_order`. `start` and `end` are the identifiers of the messages between which all of
    the slice were on the queue, `position` is the index of the first.
    """

    queue: str
    first: bytes = b""
    after: bytes = b""
    start: bytes = b""
    end: bytes = b""
    position: int = 0

    def has(self, message_id: bytes) -> bool:
        place = in_order(message_id)
        return self.first <= place and (not self.after or place < self.after)


def in_order(message_id: bytes) -> bytes:
    """Return an identifier that sorts as a queue manager made them: the number at the end has its low bytes first.

    So a slice is one stretch of the queue, or nearly so. Identifiers made in another way work as well.
    """
    return message_id[:16] + message_id[:15:-1]


def slices(options: ReadOptions) -> list[QueueSlice]:
    """Return one slice for each queue; more when `numPartitions` exceeds the number of queues.

    Opening the queues here reports errors before any task runs.
    """
    found: list[QueueSlice] = []
    with connect_with(options.connect) as connection:
        queues = queues_of(options, connection)
        wanted = max(1, options.partitions // len(queues))
        for name in queues:
            with open_queue(connection, name, "b", options.selector) as queue, error_context(f"Browsing queue {name}"):
                if wanted == 1:
                    found.append(QueueSlice(name))
                    continue
                ids, is_all = _identifiers(queue)
                parts = ranges(name, ids, wanted)
                found += assign_ids(parts, ids) if is_all else parts
    return found


def _identifiers(queue: Queue) -> tuple[list[bytes], bool]:
    """Return the identifiers of messages in queue order, of very many every second or fourth, and whether they are
    complete."""
    ids: list[bytes] = []
    step = 1
    for number, each in enumerate(browse_stored(queue, 0)):
        if number % step == 0:
            ids.append(each.md[MD_MSG_ID:MD_CORREL_ID])
        if len(ids) > _PLACED_MAX:
            ids = ids[::2]
            step *= 2
    return ids, step == 1


def assign_ids(parts: list[QueueSlice], ids: list[bytes]) -> list[QueueSlice]:
    """Return the slices with the position of their messages on the queue; not where identifiers are repeated."""
    if len(set(ids)) != len(ids):
        return parts
    bounds = [part.first for part in parts[1:]]
    ends: dict[int, tuple[int, bytes, bytes]] = {}
    for position, each in enumerate(ids):
        at = bisect_right(bounds, in_order(each))
        where, start, _ = ends.get(at, (position, each, each))
        ends[at] = (where, start, each)
    return [
        replace(part, position=ends[at][0], start=ends[at][1], end=ends[at][2]) if at in ends else part
        for at, part in enumerate(parts)
    ]


def ranges(queue: str, ids: list[bytes], wanted: int) -> list[QueueSlice]:
    """Divide identifiers into ranges of about equal size. Equal identifiers are in the same one."""
    ordered = sorted(in_order(each) for each in ids)
    cuts = sorted({ordered[len(ordered) * at // wanted] for at in range(1, wanted)}) if ordered else []
    bounds = [b"", *(cut for cut in cuts if cut), b""]
    return [QueueSlice(queue, first, after) for first, after in pairwise(bounds)]


def browse(options: ReadOptions, part: QueueSlice) -> Iterator[Read]:
    """Browse the messages of a slice."""
    with connect_with(options.connect) as connection:
        queue = open_queue(connection, part.queue, "b", options.selector)
        with queue, error_context(f"Browsing queue {part.queue}"):
            for position, taken in _around(queue, part):
                message_id = taken.md[MD_MSG_ID:MD_CORREL_ID]
                if part.has(message_id):
                    yield Read(part.queue, position, taken)
                if message_id == part.end:
                    return


def _around(queue: Queue, part: QueueSlice) -> Iterator[tuple[int, StoredMessage]]:
    """Browse the queue from the beginning of a slice; from the first message when that is unknown, or gone."""
    is_there = False
    if part.start:
        for each in enumerate(browse_stored(queue, start=part.start), part.position):
            is_there = True
            yield each
    if not is_there:
        yield from enumerate(browse_stored(queue))
