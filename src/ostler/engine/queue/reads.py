"""Reads of spilled messages, which are made without the engine's lock.

A verb that needs a message from the file of its queue raises ReadPending, with nothing changed. Whoever called it has
the read made and calls again; then the message is among the `FetchedMessages` of its queue. Nothing is reserved
meanwhile: another get may take the message, and the verb decides anew when it is called again.

Without somebody who reads (`has_reader`), and for verbs that cannot be called again, messages are read at once.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.engine.message.message import Message
from ostler.engine.queue.queue_file import QueueFile, QueueFileDamaged
from ostler.engine.task import EngineTask
from ostler.model.disk import File

# Read ahead of a get that goes through a queue: so many messages, and no more bytes than this beyond the first one.
AHEAD_MESSAGES: Final = 64
AHEAD_BYTES: Final = 256 * 1024
# Messages that were read and that nobody has asked for again, of all queues together.
FETCHED_BYTES_MAX: Final = 16 * 1024 * 1024


class ReadPending(Exception):
    """A message must be read first. The verb has changed nothing, and can be called again when `read` is made."""

    def __init__(self, read: MessageRead) -> None:
        super().__init__("a message must be read from the file of its queue first")
        self.read = read


@final
class MessageRead:
    """One read of a queue's file: the message that a verb needs, and those that will probably be needed next."""

    def __init__(self, queue_id: i64, file: QueueFile) -> None:
        self.queue_id: i64 = queue_id
        self.file = file
        self.handle: File = file.begin_read()
        self.slots: list[int] = []
        self.seqs: list[int] = []
        self.extents: list[int] = []
        self.needed: i64 = 0  # so many from the first are needed by a verb, the others are read ahead
        self.found: list[Message | None] = []
        self.failure: Exception | None = None  # of a needed message
        self.has_begun = False
        self.is_made = False
        # Called again when the read is made: get requests, and tasks.
        self.requests: list[object] = []
        self.tasks: list[EngineTask] = []
        self.is_offering = False  # the queue has an offer that needs it

    def add(self, slot: i64, seq: i64, extent: i64) -> None:
        self.slots.append(slot)
        self.seqs.append(seq)
        self.extents.append(extent)

    def perform(self) -> None:
        """Read the messages. The engine's lock is not needed: the result counts only if they are still there."""
        try:
            self.found = self.file.read_many(self.handle, self.extents, self.needed)
        except (QueueFileDamaged, MemoryError) as failure:
            self.failure = failure
        while len(self.found) < len(self.extents):
            self.found.append(None)


@final
class FetchedMessages:
    """Messages of one queue that were read and are kept until a verb takes them, or until others need the memory."""

    def __init__(self) -> None:
        self.messages: dict[int, Message] = {}  # by sequence number
        self.failures: dict[int, Exception] = {}  # of the last read, until a verb fails with it
        self.reading: dict[int, MessageRead] = {}  # by the sequence numbers of messages whose reads are not made yet
        self.size_bytes: i64 = 0


@final
class PendingReads:
    """The reads that verbs wait for, of all queues. All methods require that the engine stands still."""

    def __init__(self) -> None:
        self.is_deferring = False  # the verb under way can be called again
        self.is_ahead = False  # and goes through the queue
        self.tries_cache = False  # and takes messages from the page cache at once
        self.has_reader = False
        self.wanted: list[MessageRead] = []  # not begun yet
        self.kept: dict[int, FetchedMessages] = {}  # by queue id, those filled last at the end
        self.kept_bytes: i64 = 0
        self.kept_bytes_max: i64 = FETCHED_BYTES_MAX

    def take(self) -> MessageRead | None:
        """Return a read to make now, or None. `Queue.end_read` must be called for it."""
        while self.wanted:
            read = self.wanted.pop(0)
            if not read.has_begun:
                read.has_begun = True
                return read
        return None

    def keep(self, queue_id: i64, fetched: FetchedMessages, messages: list[Message]) -> None:
        """Keep the messages of a read that is made. Beyond the limit those that were read first are dropped."""
        for message in messages:
            self.forget(fetched, message.seq)
            fetched.messages[message.seq] = message
            size: i64 = message.size_bytes()
            fetched.size_bytes += size
            self.kept_bytes += size
        self.kept.pop(queue_id, None)
        while self.kept_bytes > self.kept_bytes_max and self.kept:
            for oldest in self.kept:
                self.drop(oldest, self.kept[oldest])
                break
        self.kept[queue_id] = fetched
        if self.kept_bytes > self.kept_bytes_max:
            # The verb that needs these messages takes them now, however many they are.
            for seq in list(fetched.messages)[: len(fetched.messages) - len(messages)]:
                self.forget(fetched, seq)

    def drop(self, queue_id: i64, fetched: FetchedMessages) -> None:
        """Forget the messages of a queue."""
        self.kept_bytes -= fetched.size_bytes
        fetched.size_bytes = 0
        fetched.messages.clear()
        self.kept.pop(queue_id, None)

    def forget(self, fetched: FetchedMessages, seq: i64) -> None:
        """Forget a message that has left its queue."""
        message = fetched.messages.pop(seq, None)
        if message is not None:
            size: i64 = message.size_bytes()
            fetched.size_bytes -= size
            self.kept_bytes -= size
