"""Reads spilled messages on threads of its own, without the engine's lock (`engine.queue.reads`)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from time import sleep
from typing import Final, TypeVar

from ostler.engine.core import Engine
from ostler.engine.get import end_read
from ostler.engine.message.message import Message
from ostler.engine.queue.queue_file import QueueFileDamaged
from ostler.engine.queue.reads import MessageRead, ReadPending
from ostler.engine.queue.repair import StoredMessage, replace_message
from ostler.model.disk import DiskFull
from ostler.server.manager_core import ManagerCore
from ostler.server.supervised_thread import SupervisedThread

# A slow disk serves several reads at the same time.
_THREADS_MAX: Final = 4
_POLL_SECONDS: Final = 0.001

Result = TypeVar("Result")


class MessageReader:
    """Starts a thread when there is something to read and all others are busy."""

    def __init__(self, manager: ManagerCore) -> None:
        self._manager = manager
        self._asked: SimpleQueue[bool] = SimpleQueue()
        self._stopping = threading.Event()
        self._threads: list[SupervisedThread] = []
        self._idle = 0

    def notify(self) -> None:
        """Have the reads made that the engine wants. Needs the engine's lock."""
        wanted = len(self._manager.engine.reads.wanted)
        if self._idle < wanted and len(self._threads) < _THREADS_MAX and not self._stopping.is_set():
            number = len(self._threads) + 1
            thread = SupervisedThread(
                f"ostler-read-{number}",
                "reading of messages",
                self._run,
                self._stopping.is_set,
                self._manager.note,
                stopping=self._stopping,
            )
            self._threads.append(thread)
            thread.start()
        for _ in range(min(wanted, len(self._threads))):
            self._asked.put(True)

    def stop(self) -> None:
        """End the threads. From now on messages are read at once."""
        with self._manager.turn as engine:
            engine.set_reader(None)
            self._stopping.set()
            threads = list(self._threads)
        for _ in threads:
            self._asked.put(False)
        for thread in threads:
            thread.join()
        with self._manager.turn as engine:
            read = engine.take_read()
        while read is not None:  # reads that nobody has begun hold up requests
            perform_read(self._manager, read)
            with self._manager.turn as engine:
                end_read(engine, read)
                read = engine.take_read()

    def _run(self) -> None:
        # Whoever waits for a read goes on when it is ended: this thread takes no other turn then.
        with self._manager.turn as engine:
            read = self._take(engine)
        while not self._stopping.is_set() or read is not None:
            if read is None:
                self._asked.get()
                with self._manager.turn as engine:
                    self._idle -= 1
                    read = self._take(engine)
            else:
                perform_read(self._manager, read)
                with self._manager.turn as engine:
                    end_read(engine, read)
                    read = self._take(engine)

    def _take(self, engine: Engine) -> MessageRead | None:
        """Return the next read for this thread, or None: it is idle from now on."""
        read = None if self._stopping.is_set() else engine.take_read()
        if read is None:
            self._idle += 1
        return read


def make_read(manager: ManagerCore, read: MessageRead) -> None:
    """Make a read that this thread has begun, and continue what waits for it. The engine's lock is not held."""
    perform_read(manager, read)
    with manager.turn as engine:
        end_read(engine, read)


def perform_read(manager: ManagerCore, read: MessageRead) -> None:
    """Make a read that this thread has begun, without the engine's lock. `end_read` must be called for it."""
    read.perform()
    if isinstance(read.failure, QueueFileDamaged) and manager.fetch_message is not None:
        _repair(manager, manager.fetch_message, read)


def _repair(manager: ManagerCore, fetch: Callable[[int, int], Message | None], read: MessageRead) -> None:
    """Have messages that the file has lost brought from another copy, and written again.

    The verb that needs them is called again, and finds them at their new place. Those that nobody has stay damaged.
    """
    for index in range(int(read.needed)):
        slot, seq, extent = read.slots[index], read.seqs[index], read.extents[index]
        try:
            read.file.read_many(read.handle, [extent], 1)
            continue
        except QueueFileDamaged:
            message = fetch(int(read.queue_id), seq)
        if message is None:
            return
        with manager.turn as engine:
            queue = engine.queues_by_id.get(read.queue_id)
            if queue is not None and slot < len(queue.slots.resident):
                stored = StoredMessage(queue, slot)
                if stored.seq == seq and stored.extent == extent:
                    with suppress(DiskFull):
                        replace_message(stored, message)
    # What was replaced is read anew; so is the rest.
    read.failure = None


def call_with_reads(manager: ManagerCore, verb: Callable[[Engine], Result]) -> Result:
    """Call a verb in a turn of the engine. While it must have messages read, this thread reads them between turns.

    The verb sees ReadPending where it has changed nothing, and begins anew.
    """
    while True:
        with manager.turn as engine:
            reads = engine.reads
            reads.is_deferring = reads.has_reader
            try:
                return verb(engine)
            except ReadPending as pending:
                read = pending.read
                has_begun, read.has_begun = read.has_begun, True
            finally:
                reads.is_deferring = False
        if not has_begun:
            make_read(manager, read)
        else:
            wait_for_read(manager, read)


def wait_for_read(manager: ManagerCore, read: MessageRead) -> None:
    """Wait until another thread has made a read."""
    while not read.is_made and not manager.writer.failure:
        sleep(_POLL_SECONDS)
