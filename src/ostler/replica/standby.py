"""A hot standby: an engine that applies the log of a leader, takes checkpoints of its own, and can take over at once.

    standby = open_standby(engine, disk, directory, settings, keep_extents)
    standby.add(images)            blocks that the log has forced
    standby.apply(bytes_max)       apply them, up to the group LSN
    standby.step_checkpoint()      a restartpoint: one step of a checkpoint of what was applied
    log = standby.promote(life, shipper)

What is behind the group LSN is bytes in the log and nothing else: another leader may drop it. So the engine, and all
files but the log, know nothing of it until this copy leads.

For one thread at a time. When another thread looks at the engine, for displays, both hold the engine's lock.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Final

from mypy_extensions import i64, mypyc_attr

from ostler.engine.core import Engine
from ostler.engine.recovery.checkpoint import CATALOGUE_PATH, Checkpoint
from ostler.engine.recovery.media import media_lsn
from ostler.engine.recovery.replay import JournalReplay
from ostler.engine.recovery.snapshot import Snapshot
from ostler.log.follower_log import FollowerLog, follow
from ostler.log.log_writer import BlockImage
from ostler.log.reader import BlockCursor, LogVisitor
from ostler.log.recovery_log import RecoveryLog
from ostler.log.restart import open_log
from ostler.log.settings import LogSettings
from ostler.log.shipping import LogShipper
from ostler.model.disk import Disk, DiskFull
from ostler.model.journal import Journal
from ostler.model.log_life import Life

# Blocks that wait in memory; beyond this they are read again from the log.
UNAPPLIED_BYTES_MAX: Final = 16 << 20


class StandbyJournal(Journal):
    """The journal of an engine that only applies: it ends where the last applied record ends."""

    def __init__(self) -> None:
        self.applied_lsn: i64 = 0

    def append(self, kind: i64, head: bytes, descriptor: bytes, body: bytes) -> i64:
        raise AssertionError("a follower appends nothing")

    def end_lsn(self) -> i64:
        return self.applied_lsn

    def durable_lsn(self) -> i64:
        return self.applied_lsn

    def room_bytes(self) -> i64:
        return 0


class _ReplayVisitor(LogVisitor):
    def __init__(self, replay: JournalReplay) -> None:
        self._replay = replay

    def record(self, kind: i64, lsn: i64, payload: bytes) -> None:
        self._replay.record(kind, lsn, payload)

    def progress(self, done_bytes: i64, total_bytes: i64) -> None:
        return

    def ended(self, end_lsn: i64) -> None:
        self._replay.check_end(end_lsn)


@mypyc_attr(allow_interpreted_subclasses=True)
class Standby:
    def __init__(self, engine: Engine, replay: JournalReplay, log: FollowerLog, journal: StandbyJournal) -> None:
        """For `open_standby`."""
        self.engine: Final[Engine] = engine
        self.replay: Final[JournalReplay] = replay
        self.log: Final[FollowerLog] = log
        self.journal: Final[StandbyJournal] = journal
        self._images: list[BlockImage] = []
        self._images_bytes: i64 = 0
        self._is_on_disk = log.applier.position < log.position()
        """Some blocks that are not applied yet are in the log only."""
        self._checkpoint: Generator[None, None, None] | None = None
        """The log before this is not needed for media recovery, by this copy's last checkpoint."""
        self._note_applied()

    # -- applying

    def applied_lsn(self) -> i64:
        return self.journal.applied_lsn

    def apply_limit(self) -> i64:
        """Return the LSN up to which records may be applied: the group LSN."""
        return self.log.group_lsn()

    def add(self, images: list[BlockImage]) -> None:
        """Take blocks that the log has forced. They are applied when the group LSN has reached them."""
        if self._is_on_disk:
            return
        for image in images:
            self._images.append(image)
            self._images_bytes += len(image.data)
        if self._images_bytes > UNAPPLIED_BYTES_MAX:
            self._forget_images()
            self._is_on_disk = True

    def _forget_images(self) -> None:
        self._images = []
        self._images_bytes = 0

    def life_begins(self) -> None:
        """Drop blocks that were not applied: another life may make them void. Those that are not are read again."""
        self._forget_images()
        self._is_on_disk = self.log.applier.position < self.log.position()

    def apply(self, bytes_max: i64) -> bool:
        """Apply blocks up to the group LSN, about `bytes_max` of them. Return True when there are more.

        Raises LogDamaged, JournalInconsistent: this copy cannot go on.
        """
        limit = self.apply_limit()
        is_more = self._apply_from_disk(limit, bytes_max) if self._is_on_disk else self._apply_images(limit, bytes_max)
        self._note_applied()
        return is_more

    def _note_applied(self) -> None:
        applier = self.log.applier
        # No record lies between the end of a block and the place of the next one.
        is_at_end: bool = applier.position <= self.log.group_lsn() and applier.whole_lsn() == applier.applied_lsn
        self.journal.applied_lsn = applier.position if is_at_end else applier.whole_lsn()

    def _apply_images(self, limit: i64, bytes_max: i64) -> bool:
        count = 0
        done: i64 = 0
        is_more = False
        for image in self._images:
            if self._end_of(image) > limit:
                break
            if done >= bytes_max:
                is_more = True
                break
            self.log.applier.apply_image(image.lsn, image.data)
            done += len(image.data)
            count += 1
        self._images = self._images[count:]
        self._images_bytes -= done
        return is_more

    def _end_of(self, image: BlockImage) -> i64:
        """Return the end of a block without its padding."""
        return image.lsn + image.block_bytes()

    def _apply_from_disk(self, limit: i64, bytes_max: i64) -> bool:
        log = self.log
        applier = log.applier
        start: i64 = applier.position
        cursor: BlockCursor = log.cursor(start)
        is_more = False
        try:
            while applier.position < log.position():
                if not cursor.advance():
                    raise cursor.damage()
                if cursor.end() > limit:
                    break
                if applier.position - start >= bytes_max:
                    is_more = True
                    break
                applier.apply_at(cursor)
        finally:
            cursor.close()
        if applier.position >= log.position():
            self._is_on_disk = False
        return is_more

    def apply_block(self) -> None:
        """Apply one more block than the group LSN is known to cover: a file says that enough copies had it."""
        log = self.log
        cursor = log.cursor(log.applier.position)
        try:
            if not cursor.advance():
                raise cursor.damage()
            log.group_is_at(cursor.end())
            log.applier.apply_at(cursor)
        finally:
            cursor.close()
        self.life_begins()
        self._note_applied()

    def apply_all(self) -> None:
        """Apply everything up to the group LSN."""
        while self.apply(UNAPPLIED_BYTES_MAX):
            pass

    # -- restartpoints

    def needs_checkpoint(self) -> bool:
        """Return True when a quarter of the primary space was applied since the last checkpoint."""
        return self.applied_lsn() - self.log.writer.checkpoint_lsn >= self.log.checkpoint_distance_bytes()

    def is_checkpoint_under_way(self) -> bool:
        return self._checkpoint is not None

    def step_checkpoint(self) -> bool:
        """Go on with the checkpoint under way, or begin one. Return True when there is more to do.

        Applying may go on between two steps. Raises DiskFull, with nothing lost, and DiskFailed.
        """
        if self._checkpoint is None:
            self._checkpoint = self._steps()
        try:
            next(self._checkpoint)
        except StopIteration:
            self._checkpoint = None
            return False
        except BaseException:
            self._checkpoint = None
            raise
        return True

    def abandon_checkpoint(self) -> None:
        if self._checkpoint is not None:
            self._checkpoint.close()
            self._checkpoint = None

    def _steps(self) -> Generator[None, None, None]:
        self.replay.is_disk_full = False
        if not self.engine.disk.exists(CATALOGUE_PATH):
            self.engine.catalogue_changed = True  # a manifest without a catalogue would be damage
        taken = Checkpoint(self.engine, False)
        is_complete = False
        try:
            for queue_id in taken.pending():
                snapshot = taken.begin_queue(queue_id)
                if snapshot is not None:
                    yield
                    yield from self._write_snapshot(snapshot)
                    taken.end_queue(snapshot)
                    yield
            yield from self._finish(taken)
            is_complete = True
        finally:
            if not is_complete:
                taken.abandon()

    def _write_snapshot(self, snapshot: Snapshot) -> Generator[None, None, None]:
        while not snapshot.step():
            yield
            snapshot.copy()
        snapshot.queue.file.force()
        yield
        while True:
            try:
                snapshot.write(self.engine.disk)
                return
            except DiskFull:
                if not self.engine.reserve.release(self.engine.disk, snapshot.size_bytes()):
                    raise

    def _finish(self, taken: Checkpoint) -> Generator[None, None, None]:
        disk = self.engine.disk
        catalogue = taken.begin_catalogue()
        if catalogue:
            taken.write_catalogue(disk, catalogue)
            yield
        # The manifest has the leader's images that were applied: media recovery needs no older log.
        needed = media_lsn(self.engine)
        taken.write_manifest(disk, taken.begin_manifest())
        yield
        writer = self.log.writer
        checkpoint_lsn = self.applied_lsn()
        restart_lsn = min(max(taken.end(), writer.restart_lsn), checkpoint_lsn)
        writer.note_checkpoint(restart_lsn, checkpoint_lsn, taken.number)
        if writer.media_lsn < needed <= writer.group_lsn:
            writer.set_media_lsn(needed)

    # -- taking over

    def promote(self, life: Life, shipper: LogShipper | None) -> RecoveryLog:
        """Lead from here: apply the rest of the log, begin a life, resolve open units of work. Return the log.

        `life` begins at the position of the log. Without a shipper there is no other copy to wait for. The standby is
        of no use afterwards, whatever happens: its engine belongs to the caller.
        """
        self.abandon_checkpoint()
        log = self.log
        self.apply_all()
        # The group LSN may be in the middle of a record; what is durable ends behind a whole one.
        durable_lsn = self.applied_lsn()
        while log.applier.position < log.position():
            before: i64 = log.applier.position
            if self._is_on_disk:
                self._apply_from_disk(log.position(), UNAPPLIED_BYTES_MAX)
            else:
                self._apply_images(log.position(), UNAPPLIED_BYTES_MAX)
            assert log.applier.position > before, "the log's end cannot be reached"
        leading = log.promote(life)
        if shipper is not None:
            leading.replicate(shipper, durable_lsn)
        self.engine.journal = leading
        self.replay.finish()
        return leading


def open_standby(
    engine: Engine, disk: Disk, directory: str, settings: LogSettings | None, keep_extents: int
) -> Standby:
    """Load the last checkpoint into a new engine, and apply the log up to the last known group LSN.

    `disk` holds the log, `engine.disk` all else. Raises what a start raises: LogDamaged, SnapshotDamaged,
    FilesUnrelated and the like. Then this copy takes no part until it got a base.
    """
    restartable = open_log(disk, directory, settings)
    journal = StandbyJournal()
    engine.journal = journal
    replay = JournalReplay(engine, restores_nonpersistent=False)
    replay.begin(restartable.identity(), restartable.checkpoint_number(), restartable.restart_lsn())
    log = follow(restartable, _ReplayVisitor(replay), keep_extents, replay.files_lsn())
    standby = Standby(engine, replay, log, journal)
    while replay.files_lsn() > log.applier.position:
        # The definition of a queue was just read whose snapshot is later than all other files.
        standby.apply_block()
    return standby
