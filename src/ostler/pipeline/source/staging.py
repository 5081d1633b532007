"""The staging queue of a stream that reads: messages get their offsets there.

Messages are moved there in units of work, as pages with numbers that only grow. Only a visible message can be moved, so
one that is committed late or comes back by a back-out gets a later number; nothing ever falls behind an offset. Pages
stay until Spark has recorded their batch, and are the same however often they are read.

Beside the pages there is one control record: the epoch, drawn when the staging queue was first used, and the last
number given. It is replaced in the unit of work that puts the pages. The queue is held for exclusive input, so that two
queries cannot share it, and a query that lost its connection cannot continue beside its successor.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Sequence
from typing import Final

from ostler.client.api.connection import Connection
from ostler.client.api.queue import Queue
from ostler.model import constants as mq
from ostler.model.structures.md import MD_CORREL_ID, MD_MSG_ID
from ostler.pipeline.errors import PipelineError
from ostler.pipeline.source.columns import Read
from ostler.pipeline.source.links import connect_with, error_context, get_stored, open_queue, open_staging
from ostler.pipeline.source.options import ReadOptions
from ostler.pipeline.source.pages import (
    EPOCH_BYTES,
    FORMAT,
    HEAD_BYTES,
    MESSAGES_MAX,
    PageHead,
    collected,
    encode_page,
    head_of,
    is_page,
    read_page_id,
    stored_messages,
)
from ostler.pipeline.source.subscriptions import open_subscription
from ostler.pipeline.source.windows import browse, get_each, take

CONTROL_ID: Final = b"OSPR.control".ljust(24, b"\0")
CONTROL_FORMAT: Final = "OSTCTRL"
_UNBOUNDED: Final = 1 << 62


class InputStaging:
    """The staging queue and the queues behind it, opened by the driver of a query."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._connection: Connection = connect_with(options.connect)
        try:
            self._staging = open_staging(self._connection, options.staging, "xbw", options.connect.timeout_seconds)
            self._sources = [open_queue(self._connection, name, "s", options.selector) for name in options.queues]
            # Subscriptions are held open: nobody else resumes them meanwhile, and their queues are open whoever may
            # open them.
            self._subscriptions = [
                open_subscription(self._connection, wanted, options.connect.timeout_seconds)
                for wanted in options.subscriptions
            ]
            self._sources += [each.queue for each in self._subscriptions]
            self.epoch = b""
            self.last = 0
            self.pages: list[PageHead] = []
            with error_context(f"Reading staging queue {options.staging.queue}"):
                self._survey()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the queues. Staged messages stay."""
        self._connection.close(commit=False)

    def _survey(self) -> None:
        """Read the state that an earlier query left."""
        for taken in browse(self._staging, HEAD_BYTES):
            if taken.md[MD_MSG_ID:MD_CORREL_ID] == CONTROL_ID:
                control = json.loads(taken.body)
                self.epoch, self.last = bytes.fromhex(control["epoch"]), control["last"]
            elif is_page(taken.body):
                self.pages.append(head_of(taken.body))
        self.pages.sort(key=lambda page: page.number)
        if self.pages and not self.epoch:
            self.epoch = self.pages[-1].epoch
        self.pages = [page for page in self.pages if page.epoch == self.epoch]
        if self.pages:
            self.last = max(self.last, self.pages[-1].number)
        if not self.epoch:
            self.epoch = secrets.token_bytes(EPOCH_BYTES)

    # -- moving messages to the staging queue --------------------------------------------------------------------------

    def stage_visible(self) -> None:
        """Stage all messages that are on the queues now. Later ones have to wait, or there might be no end."""
        with error_context("Asking for the depth of a queue"):
            depths = [queue.depth for queue in self._sources]
        for queue, depth in zip(self._sources, depths, strict=True):
            self._stage(queue, depth, _UNBOUNDED)

    def stage(self, messages_max: int, bytes_max: int, wait_seconds: float = 0.0) -> None:
        """Stage some messages: of each queue its share, and what others leave over.

        A single empty queue is waited for a little: Spark polls a hundred times a second.
        """
        wait_seconds = wait_seconds if len(self._sources) == 1 else 0.0
        for at, queue in enumerate(self._sources):
            share = -(-messages_max // (len(self._sources) - at))
            share_bytes = -(-bytes_max // (len(self._sources) - at))
            count, size = self._stage(queue, share, share_bytes, wait_seconds)
            messages_max -= count
            bytes_max = max(0, bytes_max - size)

    def _stage(self, queue: Queue, messages_max: int, bytes_max: int, wait_seconds: float = 0.0) -> tuple[int, int]:
        """Stage messages of one queue in as many units of work as needed; returns their number and bytes."""
        count = size = 0
        unit = self._options.staging
        while count < messages_max and size < bytes_max:
            most = min(unit.unit_messages // 2, messages_max - count)
            most_bytes = min(unit.unit_bytes, bytes_max - size)
            moved = self._move(queue, most, most_bytes, wait_seconds if not count else 0.0)
            if not moved:
                break
            count += sum(page.messages for page in moved)
            size += sum(page.body_bytes for page in moved)
        return count, size

    def _move(self, queue: Queue, messages_max: int, bytes_max: int, wait_seconds: float) -> list[PageHead]:
        """Do one unit of work: messages off the queue, their pages and the new control record on the staging queue."""
        options = self._options
        count_max = min(options.staging.page_messages, options.messages_per_trigger_max, MESSAGES_MAX)
        page_bytes = min(options.staging.page_bytes, options.bytes_per_trigger_max or options.staging.page_bytes)
        made: list[PageHead] = []
        with (
            error_context(f"Moving messages from {queue.name} to {options.staging.queue}"),
            self._connection.transaction(),
        ):
            for lot in collected(take(queue, messages_max, bytes_max, wait_seconds), count_max, page_bytes):
                number = self.last + len(made) + 1
                page = encode_page(self.epoch, number, queue.name, lot)
                page_id = read_page_id(self.epoch, number)
                self._staging.put(page, message_id=page_id, format=FORMAT, persistent=True)
                made.append(head_of(page))
            if made:
                self._write_control(self.last + len(made))
        if made:
            self.last += len(made)
            self.pages += made
        return made

    def _write_control(self, last: int) -> None:
        get_stored(self._staging, CONTROL_ID)
        control = json.dumps({"epoch": self.epoch.hex(), "last": last}).encode()
        self._staging.put(control, message_id=CONTROL_ID, format=CONTROL_FORMAT, persistent=True)

    # -- what the offsets stand for ------------------------------------------------------------------------------------

    def skip_to(self, number: int) -> None:
        """Continue numbers after this one: the checkpoint may be ahead of a queue manager that was restored."""
        self.last = max(self.last, number)

    def delete_through(self, number: int) -> None:
        """Remove pages whose batches are recorded. Missing ones are ignored."""
        gone = [page for page in self.pages if page.number <= number]
        step = max(1, self._options.staging.unit_messages)
        for at in range(0, len(gone), step):
            with error_context(f"Removing pages from {self._options.staging.queue}"), self._connection.transaction():
                ids = [read_page_id(page.epoch, page.number) for page in gone[at : at + step]]
                for _ in get_each(self._staging, ids, length=0):
                    pass
        self.pages = [page for page in self.pages if page.number > number]

    def between(self, after: int | None, through: int) -> list[PageHead]:
        """Return the pages of an offset range; `after` is None for the first batch of a query. Raises when some are
        gone."""
        found = [page for page in self.pages if (after is None or page.number > after) and page.number <= through]
        first = (found[0].number if found else through) if after is None else after + 1
        missing = set(range(first, through + 1)) - {page.number for page in found}
        if missing and self._options.fails_on_data_loss:
            raise lost(self._options.staging.queue, sorted(missing))
        return found


def lost(queue: str, numbers: Sequence[int]) -> PipelineError:
    named = ", ".join(str(number) for number in numbers[:5]) + (" ..." if len(numbers) > 5 else "")
    return PipelineError(
        f"The checkpoint names pages that are not on staging queue {queue} any more: {named}. Somebody removed "
        "them, or the queue was made anew. Set option failOnDataLoss to false to go on without what was in them."
    )


def read_pages(options: ReadOptions, pages: Sequence[PageHead]) -> Iterator[Read]:
    """Yield the messages of pages for a task: by browsing, as often as Spark repeats it."""
    with connect_with(options.connect) as connection:
        queue = open_queue(connection, options.staging.queue, "b")
        with queue, error_context(f"Browsing staging queue {options.staging.queue}"):
            ids = [read_page_id(page.epoch, page.number) for page in pages]
            for page, stored in zip(pages, get_each(queue, ids, mq.MQGMO_BROWSE_FIRST), strict=True):
                if stored is not None:
                    for index, taken in enumerate(stored_messages(stored.body)):
                        yield Read(page.queue, page.number * MESSAGES_MAX + index, taken)
                elif options.fails_on_data_loss:
                    raise lost(options.staging.queue, [page.number])
