"""Scrubbing at a follower: it reads its own log and queue files in slices, and has repaired what is damaged.

    frame = scrub.step(bytes_max)       read a slice; a frame to send to the leader when something is damaged
    note = scrub.take(fetched)          a part of the answer; what was repaired, in words, when it was the last one

For the thread that has the standby. A pass goes through the log from the restart LSN on, then through all queues.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.engine.queue.queue_file import QueueFileDamaged
from ostler.engine.queue.repair import StoredMessage, replace_message, stored_messages
from ostler.log.errors import CopyRefused, LogDamaged
from ostler.model.disk import DiskFull
from ostler.model.errors import MQError
from ostler.replica.repair import FetchedData
from ostler.replica.standby import Standby
from ostler.wire.replica_frames import FETCH_LOG, FETCH_MESSAGE, Fetch, Fetched, ReplicaFrame

_MESSAGES_MAX: Final = 64
# The last page may be written again by the next batch.
_TAIL_BYTES: Final = 8192


@final
class FollowerScrub:
    def __init__(self, standby: Standby) -> None:
        self._standby: Final[Standby] = standby
        self._position: i64 = -1  # of the log; negative: the pass begins
        self._queue_ids: list[int] = []
        self._slot: i64 = 0
        self._requests: i64 = 0
        self._answer: FetchedData | None = None
        self._asked_log: i64 = -1
        self._asked_message: StoredMessage | None = None
        self._unanswered: dict[tuple[int, int], int] = {}
        self.passes = 0
        self.repaired = 0

    def link_changed(self) -> None:
        """Nobody answers any more: what is damaged is found again."""
        self._answer = None
        self._asked_log = -1
        self._asked_message = None

    def restart(self) -> None:
        """Begin the pass anew: another life of the log may have made blocks void."""
        self.link_changed()
        self._position = -1

    def step(self, bytes_max: i64) -> ReplicaFrame | None:
        """Read a slice, and return a request for what is damaged in it. None: nothing, or an answer is awaited."""
        if self._answer is not None:
            return None
        log = self._standby.log
        if self._position < 0:
            self._position = log.shape().start_of(log.shape().extent_of(log.writer.restart_lsn))
            self._queue_ids = list(self._standby.engine.queues_by_id)
            self._slot = 0
        if self._position < log.position() - _TAIL_BYTES:
            return self._step_log(bytes_max)
        return self._step_queues(bytes_max)

    def _step_log(self, bytes_max: i64) -> ReplicaFrame | None:
        log = self._standby.log
        limit = log.position() - _TAIL_BYTES
        # Extents may have been released since the last slice.
        self._position = max(self._position, log.shape().start_of(log.shape().extent_of(log.writer.restart_lsn)))
        end = min(limit, self._position + bytes_max)
        cursor = log.cursor(self._position)
        try:
            while self._position < end:
                if not cursor.advance():
                    self._asked_log = self._position
                    return self._ask(FETCH_LOG, self._position, log.position())
                self._position = log.shape().block_start(cursor.position)
        finally:
            cursor.close()
        return None

    def _step_queues(self, bytes_max: i64) -> ReplicaFrame | None:
        while self._queue_ids:
            queue = self._standby.engine.queues_by_id.get(self._queue_ids[0])
            if queue is None or queue.damaged or queue.stored_bytes == 0 or self._slot >= len(queue.slots.resident):
                self._queue_ids = self._queue_ids[1:]
                self._slot = 0
                continue
            found, following = stored_messages(queue, self._slot, _MESSAGES_MAX, bytes_max)
            for each in found:
                try:
                    is_damaged: bool = queue.file.read(each.extent).seq != each.seq
                except QueueFileDamaged:
                    is_damaged = True
                except MQError:
                    return None  # too many files are open
                if is_damaged:
                    self._slot = each.slot + 1
                    self._asked_message = each
                    return self._ask(FETCH_MESSAGE, queue.queue_id, each.seq)
            self._slot = following
            return None
        self._position = -1
        self.passes += 1
        return None

    def _ask(self, kind: i64, first: i64, second: i64) -> Fetch:
        self._requests += 1
        self._answer = FetchedData(self._requests)
        return Fetch(self._requests, kind, first, second)

    def take(self, part: Fetched) -> str:
        """Take a part of an answer. Return what was repaired with it; empty when there is nothing to tell.

        Raises LogDamaged when the leader does not have what this copy has lost.
        """
        answer = self._answer
        if answer is None or not answer.take(part):
            return ""
        position, stored = self._asked_log, self._asked_message
        self.link_changed()
        return self._repair_log(answer, position) if stored is None else self._repair_message(answer, stored)

    def _repair_log(self, answer: FetchedData, position: i64) -> str:
        data = answer.data()
        if not data:
            raise LogDamaged("the log", 0, f"the block behind LSN {position} is damaged, and the leader has it no more")
        try:
            self._standby.log.rewrite(position, data)
        except CopyRefused as refused:
            raise LogDamaged("the log", 0, f"the block behind LSN {position} cannot be repaired: {refused}") from None
        self.repaired += 1
        return f"the log behind LSN {position}"

    def _repair_message(self, answer: FetchedData, stored: StoredMessage) -> str:
        message = answer.message()
        key = (int(stored.queue.queue_id), int(stored.seq))
        if message is None:
            # It may have been got at the leader, and this copy has not applied that yet.
            asked_at = self._unanswered.setdefault(key, self.passes)
            if stored.is_there() and self.passes > asked_at + 1:
                raise LogDamaged(stored.queue.file.path, 0, f"message {stored.seq} is damaged, and no copy has it")
            return ""
        self._unanswered.pop(key, None)
        try:
            if not replace_message(stored, message):
                return ""
        except DiskFull:
            return ""
        self.repaired += 1
        return f"message {stored.seq} of queue {stored.queue.name}"
