"""A base at the follower: catalogue, queues and log are written into a place of their own until all is there.

An engine without applications takes the messages, and a checkpoint of it makes the files, queue by queue, each with the
LSN that its leader captured it at. The log comes beside that, from the extent with the restart LSN on. When it has
reached all that the files speak of, and enough copies had that, the base is whole: then it is a copy like any other.
Nothing of it is acknowledged before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mypy_extensions import i64

from ostler.engine import apply
from ostler.engine.core import QUEUES_PATH, Engine
from ostler.engine.queue.queue import SPILL_BATCH_BYTES, Queue
from ostler.engine.queue.queue_file import QueueFileDamaged
from ostler.engine.recovery.checkpoint import Checkpoint, decode_catalogue, write_instance
from ostler.engine.recovery.snapshot import FormatNewer, SnapshotDamaged
from ostler.log.base_log import create_base_log
from ostler.log.copy_mark import CopyMark
from ostler.log.errors import CopyRefused, LogSpace
from ostler.log.follower_log import FollowerLog, follow
from ostler.log.reader import LogVisitor
from ostler.log.restart import open_log
from ostler.log.settings import LogSettings
from ostler.log.stream_format import StreamShape
from ostler.model.attributes import ObjectType
from ostler.model.definitions import new_definition
from ostler.model.disk import Disk, DiskFull
from ostler.replica.base_format import MessageStream, check_settings
from ostler.replica.standby import StandbyJournal
from ostler.wire.replica_frames import (
    BaseBegin,
    BaseEnd,
    BaseMessages,
    BaseObjects,
    BaseQueue,
    LifeFrame,
    LogAck,
    LogFrame,
    ReplicaFrame,
)

_CATALOGUE_BYTES_MAX: Final = 1 << 30
# The queue file's writes are forced in parts, so that no single force takes long.
_FORCE_BYTES: Final = 32 << 20
# Blocks that were received and not forced.
_TAKEN_BYTES_MAX: Final = 8 << 20


class BaseFailed(Exception):
    """The base cannot be completed; the text says why. Its files are of no use."""


class _NoVisitor(LogVisitor):
    def record(self, kind: i64, lsn: i64, payload: bytes) -> None:
        return

    def progress(self, done_bytes: i64, total_bytes: i64) -> None:
        return


class BaseTarget:
    """Call `receive` for each frame behind the hello, `force` when no more are at hand, until `is_whole`."""

    def __init__(
        self,
        queue_manager: str,
        identity: bytes,
        disk: Disk,
        log_disk: Disk,
        log_directory: str,
        settings: LogSettings,
        configure: Callable[[Engine], None],
    ) -> None:
        """`disk` and `log_directory` are empty places for data and log. `configure` sets the limits of an engine."""
        self._identity: Final[bytes] = identity
        self._disk = disk
        self._log_disk = log_disk
        self._log_directory: Final[str] = log_directory
        self._settings: Final[LogSettings] = settings
        self._journal = StandbyJournal()
        self._engine = Engine(queue_manager, disk, self._journal, new_definition(ObjectType.QMGR, queue_manager, {}))
        self._engine.identity = identity
        configure(self._engine)
        self._checkpoint = Checkpoint(self._engine, False)
        self._begin: BaseBegin | None = None
        self._log: FollowerLog | None = None
        self._heard_group_lsn: i64 = 0
        self._catalogue: list[bytes] = []
        self._catalogue_bytes: i64 = 0
        self._catalogue_lsn: i64 = 0
        self._missing: set[int] = set()
        self._queue: Queue | None = None
        self._queue_lsn: i64 = 0
        self._messages_left: i64 = 0
        self._stream = MessageStream()
        self._unforced_bytes: i64 = 0
        self._is_ended = False
        self.received_bytes: i64 = 0
        self.total_bytes: i64 = 0
        self.files_lsn: i64 = 0
        """The latest LSN that a file of the base speaks of."""

    # -- frames

    def receive(self, frame: ReplicaFrame) -> None:
        """Take a frame. Raises BaseFailed; DiskFailed: the process must end."""
        try:
            self._receive(frame)
        except (CopyRefused, QueueFileDamaged, SnapshotDamaged, FormatNewer) as refused:
            raise BaseFailed(str(refused)) from None
        except (LogSpace, DiskFull) as full:
            raise BaseFailed(f"there is no space for it: {full}") from None

    def _receive(self, frame: ReplicaFrame) -> None:
        if isinstance(frame, BaseBegin):
            self._take_begin(frame)
            return
        begin = self._begin
        if begin is None:
            raise BaseFailed("no BASE_BEGIN came first")
        if isinstance(frame, LogFrame):
            self._take_log(frame)
        elif isinstance(frame, LifeFrame):
            raise BaseFailed("another life of the log has begun meanwhile")
        elif isinstance(frame, BaseMessages):
            self._check(frame.base)
            self.received_bytes += len(frame.data)
            self._take_messages(frame)
        elif isinstance(frame, BaseQueue):
            self._check(frame.base)
            self._take_queue(frame)
        elif isinstance(frame, BaseObjects):
            self._check(frame.base)
            self.received_bytes += len(frame.data)
            self._take_objects(frame.data)
        elif isinstance(frame, BaseEnd):
            self._check(frame.base)
            self._take_end(frame)
        else:
            raise BaseFailed("an unexpected frame came")

    def _check(self, base: i64) -> None:
        begin = self._begin
        if begin is None or begin.base != base or self._is_ended:
            raise BaseFailed(f"a part of base {base} came, which is another one")

    def _take_begin(self, frame: BaseBegin) -> None:
        if self._begin is not None:
            raise BaseFailed("a second base begins")
        wrong = check_settings(frame.settings, self._settings)
        if wrong:
            raise BaseFailed(wrong)
        shape = StreamShape(self._identity, self._settings.file_pages)
        if not frame.lives or frame.position != shape.start_of(shape.extent_of(frame.restart_lsn)):
            raise BaseFailed(f"the log cannot begin at {frame.position} for a restart at LSN {frame.restart_lsn}")
        self._begin = frame
        self.total_bytes = frame.size_bytes
        create_base_log(
            self._log_disk, self._log_directory, self._settings, self._identity, frame.restart_lsn, frame.lives
        )
        restartable = open_log(self._log_disk, self._log_directory, self._settings)
        self._log = follow(restartable, _NoVisitor(), 0)

    def _take_log(self, frame: LogFrame) -> None:
        log = self._log
        assert log is not None
        self._heard_group_lsn = max(self._heard_group_lsn, frame.group_lsn)
        if frame.images:
            log.take(frame.position, frame.images)
            if log.taken_bytes() > _TAKEN_BYTES_MAX:
                log.force()

    # -- objects and queues

    def _take_objects(self, data: bytes) -> None:
        self._catalogue_bytes += len(data)
        if self._catalogue_bytes > _CATALOGUE_BYTES_MAX:
            raise BaseFailed(f"a catalogue of more than {_CATALOGUE_BYTES_MAX} bytes")
        self._catalogue.append(data)

    def _define(self) -> None:
        """Make the objects, when the catalogue is whole."""
        engine = self._engine
        catalogue = decode_catalogue(b"".join(self._catalogue))
        self._catalogue = []
        if catalogue.identity != self._identity:
            raise BaseFailed("the catalogue is that of another queue manager")
        for queue_id, definition in catalogue.definitions:
            apply.define(engine, definition, queue_id)
            if queue_id:
                self._missing.add(queue_id)
        self._catalogue_lsn = catalogue.lsn
        self.files_lsn = max(self.files_lsn, catalogue.lsn)
        self._disk.make_directory(QUEUES_PATH)

    def _take_queue(self, frame: BaseQueue) -> None:
        if self._catalogue:
            self._define()
        if self._queue is not None:
            raise BaseFailed("a queue begins before another one is whole")
        if frame.queue_id not in self._missing:
            raise BaseFailed(f"queue {frame.queue_id} comes, which was not defined or has come before")
        self._missing.discard(frame.queue_id)
        queue = self._engine.queues_by_id[frame.queue_id]
        self._queue_lsn = frame.lsn
        self.files_lsn = max(self.files_lsn, frame.lsn)
        if frame.next_seq == 0:
            self._engine.mark_damaged(queue, "the leader's queue is damaged")
            return
        queue.next_seq = frame.next_seq
        self._queue = queue
        self._messages_left = frame.messages
        if frame.messages == 0:
            self._end_queue(queue)

    def _take_messages(self, frame: BaseMessages) -> None:
        queue = self._queue
        if queue is None or queue.queue_id != frame.queue_id:
            raise BaseFailed(f"messages of queue {frame.queue_id} come, which has not begun")
        for each in self._stream.feed(frame.data):
            self._messages_left -= 1
            if each.message.seq >= queue.next_seq or self._messages_left < 0:
                raise BaseFailed(f"queue {queue.name}: message {each.message.seq} is one too many")
            if queue.spill_bytes >= SPILL_BATCH_BYTES:
                queue.write_spill()
            apply.put(queue, each.message, each.flags, each.expiry_ms)
        self._unforced_bytes += len(frame.data)
        if self._unforced_bytes >= _FORCE_BYTES:
            self._unforced_bytes = 0
            queue.file.force()
        if self._messages_left == 0:
            if not self._stream.is_at_end():
                raise BaseFailed(f"queue {queue.name}: more came than its messages")
            self._end_queue(queue)

    def _end_queue(self, queue: Queue) -> None:
        """Write the snapshot of a queue that is whole, and forget its messages."""
        self._journal.applied_lsn = self._queue_lsn
        snapshot = self._checkpoint.begin_queue(queue.queue_id)
        assert snapshot is not None
        while not snapshot.step():
            snapshot.copy()
        queue.file.force()
        snapshot.write(self._disk)
        self._checkpoint.end_queue(snapshot)
        queue.file.close_durably()
        queue.forget_messages()
        self._queue = None
        self._unforced_bytes = 0

    def _take_end(self, frame: BaseEnd) -> None:
        if self._catalogue:
            self._define()
        if self._missing or self._queue is not None:
            raise BaseFailed(f"it ends, but {len(self._missing) or 1} queues are missing")
        engine = self._engine
        engine.next_queue_id = max(engine.next_queue_id, frame.next_queue_id)
        engine.next_unit_of_work = frame.next_unit_of_work
        engine.catalogue_changed = True
        self._journal.applied_lsn = self._catalogue_lsn
        self._checkpoint.write_catalogue(self._disk, self._checkpoint.begin_catalogue())
        self._journal.applied_lsn = self.files_lsn
        self._checkpoint.write_manifest(self._disk, self._checkpoint.begin_manifest())
        write_instance(self._disk, self._identity)
        self._disk.force_directory("")
        self._is_ended = True

    # -- the log

    def force(self) -> LogAck:
        """Force the log that was received, and return a sign of life: it acknowledges nothing. Raises BaseFailed."""
        begin, log = self._begin, self._log
        term: i64 = begin.term if begin is not None else 0
        if log is None:
            return LogAck(term, 0, 0, 0, 0)
        try:
            log.force()
        except LogSpace as space:
            raise BaseFailed(f"there is no space for it: {space}") from None
        log.group_is_at(self._heard_group_lsn)
        return LogAck(term, 0, log.received_position, log.position(), 0)

    def has_all(self) -> bool:
        """Return True when all was received, and the log has what the files speak of."""
        log = self._log
        return self._is_ended and log is not None and log.position() >= self.files_lsn

    def is_whole(self) -> bool:
        """Return True when enough copies had all that the files speak of, too, as the leader said."""
        return self.has_all() and self._heard_group_lsn >= self.files_lsn

    def percent(self) -> int:
        if self.total_bytes == 0:
            return 0
        return min(99, int(self.received_bytes * 100 // self.total_bytes))

    def unsure_lsn(self) -> i64:
        """Return the end of the last block that the files speak of; 0 when enough copies had that.

        A file may speak of an LSN in the middle of a block. A copy has all of a block, or nothing.
        """
        log = self._log
        assert log is not None
        if self.is_whole():
            return 0
        shape = log.shape()
        end: i64 = self.files_lsn
        cursor = log.cursor(shape.start_of(shape.extent_of(end)))
        try:
            while cursor.position < self.files_lsn:
                if not cursor.advance():
                    raise cursor.damage()
                end = max(end, cursor.end())
        finally:
            cursor.close()
        return end

    # -- the end

    def finish(self, promised_term: i64) -> None:
        """Make the copy durable. It is closed then, and can be put in place.

        It will acknowledge nothing of `promised_term` or an older one.
        """
        log = self._log
        assert log is not None
        assert self.has_all()
        mark: CopyMark = log.mark
        mark.promised_term = max(mark.promised_term, promised_term)
        # The files speak of it, and no block behind it may say so: the log may end there.
        assert self._begin is not None
        log.group_is_at(self._begin.restart_lsn)
        log.note()
        mark.write()
        log.close()
        self._log = None

    def abandon(self) -> None:
        """Close all files of a base that is given up."""
        log = self._log
        self._log = None
        if log is not None:
            log.drop_taken()
            log.writer.abandon()
        for queue in self._engine.queues_by_id.values():
            queue.file.close()
