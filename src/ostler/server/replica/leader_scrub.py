"""Scrubbing at the leader: a thread reads its log and queue files in slices, and has repaired what is damaged.

A damaged block or message comes from a follower that has it (FETCH), as followers have theirs from the leader. What
nobody has now may come later: a follower may not have applied it, or may not run. It is told when the next pass finds
it again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final, final

from ostler.engine.queue.queue_file import QueueFileDamaged
from ostler.engine.queue.repair import StoredMessage, replace_message, stored_messages
from ostler.log.catch_up import CatchUpReader, LogGone
from ostler.log.errors import CopyRefused
from ostler.log.follower_log import FollowerLog
from ostler.model.disk import DiskFull
from ostler.model.errors import MQError
from ostler.replica.base_source import Still
from ostler.server.rate_limited_log import RateLimitedLog
from ostler.server.replica.leading import Leading
from ostler.server.replica.messages import replication_message
from ostler.server.supervised_thread import SupervisedThread

_SLICE_BYTES: Final = 256 << 10
_SLICE_SECONDS: Final = 0.25
_PAUSE_SECONDS: Final = 5.0
_MESSAGES_MAX: Final = 64
# The last page may be written again by the next batch.
_TAIL_BYTES: Final = 8192
# A life begins with a page: the block behind a position may begin there.
_PAGE_BYTES: Final = 4096


@final
class LeaderScrub:
    """The thread of one leader. It takes turns of the engine, and waits for followers without any lock."""

    def __init__(
        self,
        leading: Leading,
        log: FollowerLog,
        still: Still,
        is_over: Callable[[], bool],
        note: Callable[[str], None],
    ) -> None:
        """`log` is the copy's. `is_over` is True when the queue manager ends, or does not lead any more."""
        self.passes = 0
        self._leading = leading
        self._log = log
        self._still = still
        self._is_over = is_over
        self._note = note
        self._notes = RateLimitedLog(note)
        self._missing: set[str] = set()  # what nobody had in the last pass
        self._found: set[str] = set()  # and in this one
        self._stopping = threading.Event()
        self._thread = SupervisedThread(
            "ostler-scrub",
            "thread that looks for damage in the files of the active instance",
            self._run,
            self._has_ended,
            note,
            stopping=self._stopping,
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def _has_ended(self) -> bool:
        return self._stopping.is_set() or self._is_over()

    def _run(self) -> None:
        while not self._has_ended():
            self._scrub_log()
            self._scrub_queues()
            self._missing, self._found = self._found, set()
            self.passes += 1
            self._stopping.wait(_PAUSE_SECONDS)

    def _tell_missing(self, what: str) -> None:
        self._found.add(what)
        if what in self._missing:
            self._notes.write(what, replication_message("AMQ3301W", what=what))

    # -- the log -------------------------------------------------------------------------------------------------------

    def _scrub_log(self) -> None:
        reader = self._leading.new_reader()
        position = 0
        try:
            while not self._has_ended():
                # Extents may have been released since the last slice.
                position = max(position, self._start(reader))
                end = self._leading.forced_position()
                if position >= end - _TAIL_BYTES:
                    return
                try:
                    reader.read(position, end, _SLICE_BYTES)
                    position = int(reader.position)
                except LogGone:
                    position = int(reader.position)
                    if self._is_damaged(reader, position) and not self._repair_log(reader, position):
                        return
                self._stopping.wait(_SLICE_SECONDS)
        finally:
            reader.close()

    def _start(self, reader: CatchUpReader) -> int:
        return int(reader.start_of_extent(self._log.writer.restart_lsn))

    def _is_damaged(self, reader: CatchUpReader, position: int) -> bool:
        """Return True when the block behind a position is needed, and cannot be read."""
        end = self._leading.forced_position()
        if position < self._start(reader) or position >= end - _TAIL_BYTES:
            return False
        try:
            reader.read(position, end, 1)
        except LogGone:
            return position >= self._start(reader)
        return False

    def _repair_log(self, reader: CatchUpReader, position: int) -> bool:
        """Write the block behind a position again. Return False when nobody has it."""
        end = min(position + _PAGE_BYTES + 1, self._leading.forced_position())
        for name, data in self._leading.fetch_log(position, end, self._has_ended):
            # Its extent is needed still: so it is not reused meanwhile, because more of them are kept than are needed.
            if self._has_ended() or not self._is_damaged(reader, position):
                return not self._has_ended()
            try:
                self._log.rewrite(position, data)
            except CopyRefused:
                continue
            if not self._is_damaged(reader, position):
                what = f"the log behind LSN {position}"
                self._note(replication_message("AMQ3293I", what=what, source=name))
                return True
        if not self._has_ended():
            self._tell_missing(f"the log behind LSN {position}")
        return False

    # -- queue files ---------------------------------------------------------------------------------------------------

    def _scrub_queues(self) -> None:
        with self._still() as engine:
            queue_ids = [int(each) for each in engine.queues_by_id]
        for queue_id in queue_ids:
            slot = 0
            while slot >= 0 and not self._has_ended():
                slot = self._scrub_slots(queue_id, slot)

    def _scrub_slots(self, queue_id: int, first: int) -> int:
        """Read the messages of some slots of a queue. Return the next slot to look at; -1: there is none."""
        with self._still() as engine:
            queue = engine.queues_by_id.get(queue_id)
            if self._has_ended() or queue is None or queue.damaged or queue.stored_bytes == 0:
                return -1
            found, following = stored_messages(queue, first, _MESSAGES_MAX, _SLICE_BYTES)
            if not found:
                return -1
            try:
                handle = queue.file.begin_read()
            except MQError:
                return -1  # too many files are open
        damaged: list[StoredMessage] = []
        try:
            for each in found:
                try:
                    message = queue.file.read_many(handle, [each.extent], 1)[0]
                    is_well = message is not None and message.seq == each.seq
                except QueueFileDamaged:
                    is_well = False
                if not is_well:
                    damaged.append(each)
        finally:
            with self._still():
                queue.file.end_read()
        for each in damaged:
            self._repair_message(queue_id, each)
        self._stopping.wait(_SLICE_SECONDS)
        return following

    def _repair_message(self, queue_id: int, stored: StoredMessage) -> None:
        with self._still():
            if self._has_ended() or not stored.is_there():
                return  # it was got meanwhile, and its space may be used again
        message = self._leading.fetch_message(queue_id, int(stored.seq), self._has_ended)
        if message is None and self._has_ended():
            return
        if message is None:
            self._tell_missing(f"message {stored.seq} of queue {stored.queue.name}")
            return
        with self._still():
            if not self._has_ended():
                with suppress(DiskFull):
                    replace_message(stored, message)
