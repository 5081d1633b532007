"""A base at the leader: the whole state of its queue manager for a copy that cannot catch up from the log.

It is a checkpoint that is written at another place. The catalogue is captured first, then one queue after the other,
each at an LSN of its own: whoever replays the log counts a record for a queue when it lies behind the queue's LSN. The
engine stands still while arrays are copied. Messages are read and sent while work goes on.

    source = BaseSource(still, term, number, settings)
    begin = source.begin()           the first frame, without position and lives (`LeaderSide.begin_base`)
    for frame in source.frames():    all others, up to BASE_END
        ...
    source.close()                   always: it releases what it has pinned
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from typing import Final

from mypy_extensions import i64

from ostler.engine.core import Engine
from ostler.engine.recovery.checkpoint import encode_catalogue
from ostler.engine.recovery.queue_capture import QueueCapture, oldest_open_lsn
from ostler.log.settings import LogSettings
from ostler.replica.base_format import encode_messages, encode_settings
from ostler.wire.replica_frames import (
    DATA_BYTES_MAX,
    BaseBegin,
    BaseEnd,
    BaseMessages,
    BaseObjects,
    BaseQueue,
    ReplicaFrame,
)

Still = Callable[[], AbstractContextManager[Engine]]
"""Gives the engine while it stands still."""


class BaseSource:
    def __init__(self, still: Still, term: i64, number: i64, settings: LogSettings) -> None:
        """`number` tells this base from others of the same leader."""
        self._still = still
        self._term: Final[i64] = term
        self._number: Final[i64] = number
        self._settings: Final[LogSettings] = settings
        self._catalogue = b""
        self._queue_ids: list[int] = []
        self._capture: QueueCapture | None = None
        self.total_bytes: i64 = 0
        """About so much is sent in all."""
        self.sent_bytes: i64 = 0

    def percent(self) -> int:
        """Return how much of it was taken, in percent: 100 when only the log is missing."""
        if self.total_bytes == 0:
            return 0
        return min(99, int(self.sent_bytes * 100 // self.total_bytes))

    def begin(self) -> BaseBegin:
        """Capture the catalogue, and return the first frame."""
        with self._still() as engine:
            restart_lsn = oldest_open_lsn(engine)
            self._catalogue = encode_catalogue(engine, 0, engine.journal.end_lsn())
            self._queue_ids = [queue.queue_id for queue in engine.queues_by_id.values() if not queue.is_temporary]
            size: i64 = len(self._catalogue)
            for queue in engine.queues_by_id.values():
                size += queue.stored_bytes + queue.resident_bytes_persistent
        self.total_bytes = size
        begun = BaseBegin(self._term, self._number, encode_settings(self._settings), len(self._queue_ids), size)
        begun.restart_lsn = restart_lsn
        return begun

    def frames(self) -> Generator[ReplicaFrame, None, None]:
        """Yield the frames behind BASE_BEGIN. Raises QueueFileDamaged: a message cannot be read here."""
        for start in range(0, len(self._catalogue), DATA_BYTES_MAX):
            part = self._catalogue[start : start + DATA_BYTES_MAX]
            self.sent_bytes += len(part)
            yield BaseObjects(self._number, part)
        self._catalogue = b""
        for queue_id in self._queue_ids:
            yield from self._queue(queue_id)
        with self._still() as engine:
            next_queue_id, next_unit_of_work = engine.next_queue_id, engine.next_unit_of_work
        yield BaseEnd(self._term, self._number, next_queue_id, next_unit_of_work)

    def _queue(self, queue_id: int) -> Generator[ReplicaFrame, None, None]:
        with self._still() as engine:
            engine.finish_unit_ends()
            queue = engine.queues_by_id.get(queue_id)
            lsn: i64 = engine.journal.end_lsn()
            if queue is not None and not queue.damaged:
                self._capture = QueueCapture(engine, queue)
        capture = self._capture
        if capture is None:
            # It was deleted since the catalogue was captured, and all its records count as reflected here; or damaged.
            yield BaseQueue(self._number, queue_id, lsn, 1 if queue is None else 0, 0)
            return
        yield BaseQueue(self._number, queue_id, capture.lsn, capture.next_seq, capture.prepare())
        while True:
            found = capture.read()
            if not found:
                break
            data = encode_messages(found)
            for start in range(0, len(data), DATA_BYTES_MAX):
                part = data[start : start + DATA_BYTES_MAX]
                self.sent_bytes += len(part)
                yield BaseMessages(self._number, queue_id, part)
        self.close()

    def close(self) -> None:
        """Release the queue that is being read. Call it again whenever: it does nothing then."""
        capture = self._capture
        if capture is not None:
            self._capture = None
            with self._still():
                capture.release()
