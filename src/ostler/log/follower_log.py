"""The log of a follower: the blocks of a leader, at the same LSNs, with the same bytes.

    log = follow(open_log(disk, directory), visitor, keep_extents)
    log.take(position, images)      check blocks and keep them; nothing is written yet
    log.force()                     write and force them: now they may be acknowledged
    log.begin_life(life)            another leader: what earlier ones wrote behind its start is void
    log.promote(life)               this copy leads: a RecoveryLog over the same files

What it keeps, so that it can be opened again after a crash at any byte:

- A block names the control sequence and the durable LSN that its writer knew. This copy's own control file has at least
  that sequence, and all up to that LSN is forced here, before the block is written; else a torn write would look like
  damage at the next start. A copy that catches up has many such blocks at once. It notes that in its mark, and writes
  them without a force between: their word about each other counts when all of them are forced.
- A life is in `lives` and in the control file before the first of its blocks is written.
- `mark` says how far the log was acknowledged. When it does not read back so far, the copy is damaged: it takes no part
  in elections before it was repaired.
"""

from __future__ import annotations

from typing import Final

from librt.strings import read_i32_le, read_i64_le
from mypy_extensions import i64

from ostler.log.applier import LogApplier
from ostler.log.catch_up import CatchUpReader
from ostler.log.control_file import ControlState
from ostler.log.copy_mark import CopyMark, read_mark
from ostler.log.errors import CopyRefused, LogDamaged
from ostler.log.lives import append_life, create_lives, has_lives, read_lives
from ostler.log.log_writer import BlockImage, LogWriter
from ostler.log.metrics import RestartReport
from ostler.log.reader import BlockCursor, LogVisitor, block_passes, sizes_are_possible
from ostler.log.recovery_log import RecoveryLog
from ostler.log.restart import CopyFiles, RestartableLog
from ostler.log.stream_format import (
    BLOCK_HEADER_BYTES,
    BLOCK_MAGIC_NUMBER,
    LIFE_START,
    PADDED,
    UINT32,
    StreamShape,
    extent_name,
    next_page,
)
from ostler.model.log_life import Life


class FollowerLog:
    """An open log that another copy leads. For one thread at a time."""

    def __init__(
        self, files: CopyFiles, report: RestartReport, applier: LogApplier, lives: list[Life], mark: CopyMark
    ) -> None:
        self._files = files
        self.writer: Final[LogWriter] = files.writer
        self.restart_report: Final[RestartReport] = report
        self.applier: Final[LogApplier] = applier
        """Applies the records up to the group LSN. It stands behind what was applied when the log was opened."""
        self.lives: list[Life] = lives
        self.mark: Final[CopyMark] = mark
        self._taken: list[BlockImage] = []
        self._claims: list[int] = []  # of each block taken: the durable LSN that it names
        self._taken_control: i64 = 0
        self.received_position: i64 = files.writer.position
        """The end of the chain of blocks that were taken; `position` when all are forced."""

    # -- state

    def position(self) -> i64:
        """Return where the chain of blocks ends that are forced here."""
        return self.writer.position

    def group_lsn(self) -> i64:
        """Return what is known to be forced by enough copies. It may be ahead of this one while it catches up."""
        return self.writer.group_lsn

    def epoch(self) -> int:
        return self._files.control.state.epoch

    def identity(self) -> bytes:
        return self._files.shape.identity

    def file_pages(self) -> int:
        return self._files.shape.file_pages

    def shape(self) -> StreamShape:
        return self._files.shape

    def control_state(self) -> ControlState:
        return self._files.control.state

    def taken_bytes(self) -> int:
        """Return the bytes of blocks that wait for `force`."""
        return sum([len(image.data) for image in self._taken])

    def catch_up_reader(self) -> CatchUpReader:
        """Return a reader of the blocks that are forced here."""
        files = self._files
        return CatchUpReader(files.disk, files.active, files.shape, files.control.state)

    def cursor(self, position: i64) -> BlockCursor:
        """Return a cursor at a position of the chain. The caller closes it."""
        files = self._files
        return BlockCursor(files.disk, files.active, files.shape, files.control.state, position)

    def checkpoint_distance_bytes(self) -> i64:
        """Return the bytes of log after which a checkpoint is due, as for a leader."""
        return self._files.control.state.settings.primary_files * self._files.shape.payload_bytes // 4

    # -- blocks

    def take(self, position: i64, images: bytes) -> None:
        """Take blocks that continue the chain. Nothing is written yet. Raises CopyRefused when they do not fit.

        Blocks that were taken before are passed over: a leader may send some twice.
        """
        if position > self.received_position:
            raise CopyRefused(f"blocks begin at LSN {position}, but this copy ends at {self.received_position}")
        at: i64 = 0
        while at < len(images):
            size = self._check(images, at, position)
            lsn = read_i64_le(images, at + 24)
            end = self._files.shape.block_start(lsn + size)
            if position == self.received_position:
                self._taken.append(BlockImage(lsn, images[at : at + size]))
                self._claims.append(read_i64_le(images, at + 32))
                self._taken_control = max(self._taken_control, (read_i64_le(images, at + 16) >> 32) & UINT32)
                self.received_position = end
            position = end
            at += size

    def _check(self, images: bytes, at: i64, position: i64) -> i64:
        """Return the size of the block at `at`, with its padding. The chain before it ends at `position`."""
        shape = self._files.shape
        if at + BLOCK_HEADER_BYTES > len(images) or read_i32_le(images, at) != BLOCK_MAGIC_NUMBER:
            raise CopyRefused(f"there is no block behind LSN {position}")
        lsn = read_i64_le(images, at + 24)
        sizes = read_i64_le(images, at + 8)
        if lsn < 0 or not sizes_are_possible(sizes, shape.end_of_extent_at(lsn) - lsn):
            raise CopyRefused(f"the header of the block at LSN {lsn} is not possible")
        size = BLOCK_HEADER_BYTES + (sizes & UINT32)
        if at + size > len(images) or not block_passes(shape, images, at, sizes & UINT32):
            raise CopyRefused(f"the block at LSN {lsn} fails its checksum")
        flags = read_i64_le(images, at + 40) & UINT32
        if flags & PADDED:
            padded = next_page(lsn + size) - lsn
            if images[at + size : at + padded] != bytes(padded - size):
                raise CopyRefused(f"the padding behind the block at LSN {lsn} is not empty")
            size = padded
        is_life_start: bool = flags & LIFE_START != 0 and read_i64_le(images, at + 32) == position
        if lsn != position and not (is_life_start and lsn == next_page(position)):
            raise CopyRefused(f"a block at LSN {lsn} cannot follow LSN {position}")
        epoch = read_i64_le(images, at + 16) & UINT32
        state = self._files.control.state
        # A copy that took a base has the leader's life before it has the blocks of earlier ones.
        is_of_life: bool = epoch == state.epoch if lsn >= state.life_start_lsn else epoch < state.epoch
        if not is_of_life:
            raise CopyRefused(f"a block of life {epoch} came in life {state.epoch}")
        return size

    def force(self) -> list[BlockImage]:
        """Write and force all blocks that were taken, and return them. Raises LogSpace; then they stay taken.

        After DiskFailed the contents of the disk are unknown, and the process must end.
        """
        if not self._taken:
            return []
        control = self._files.control
        if self._taken_control > control.state.sequence:
            control.write_at_least(self._taken_control)
            self.writer.control_sequence = control.state.sequence
        forces = self._forces_needed()
        if forces > 1 and not self.mark.is_catching_up:
            self._write_mark(True)
        forced = self._taken
        if self.mark.is_catching_up:
            self._write_taken(len(self._taken))
            self._write_mark(forces > 1 or self.mark.highest_epoch > control.state.epoch)
        else:
            while self._taken:
                self._write_taken(self._true_claims())
        self._taken_control = 0
        return forced

    def _forces_needed(self) -> int:
        """Return how many forces make all claims of the blocks true when each is written."""
        forced: i64 = self.writer.position
        end: i64 = forced
        count = 1
        for image, claim in zip(self._taken, self._claims, strict=True):
            if claim > forced:
                forced = end
                count += 1
            end = self._files.shape.block_start(image.lsn + len(image.data))
        return count

    def _true_claims(self) -> int:
        """Return how many of the blocks name nothing as durable that is not forced here."""
        count = 0
        for claim in self._claims:
            if claim > self.writer.position and count > 0:
                break
            count += 1
        return count

    def _write_taken(self, count: int) -> None:
        images = self._taken[:count]
        last = images[-1]
        self.writer.write_images(images, self._files.shape.block_start(last.lsn + len(last.data)))
        self._taken = self._taken[count:]
        self._claims = self._claims[count:]

    def drop_taken(self) -> None:
        """Forget the blocks that were not forced: their link broke."""
        self._taken = []
        self._claims = []
        self._taken_control = 0
        self.received_position = self.writer.position

    def rewrite(self, position: i64, images: bytes) -> None:
        """Write blocks again that stand behind `position` and are damaged here. Durable on return.

        Raises CopyRefused when they are not those of this log. Blocks behind its end are passed over.
        """
        files = self._files
        at: i64 = 0
        while at < len(images):
            size = self._check(images, at, position)
            lsn = read_i64_le(images, at + 24)
            position = files.shape.block_start(lsn + size)
            if position > self.writer.position:
                return
            file = files.disk.open(f"{files.active}/{extent_name(files.shape.extent_of(lsn))}", False)
            try:
                block = images[at : at + size]
                offset = files.shape.file_offset(lsn)
                if file.read_at(offset, size) != block:
                    file.write_at(offset, [block])
                    file.force()
            finally:
                file.close()
            at += size

    # -- what is noted

    def _write_mark(self, is_catching_up: bool) -> None:
        mark = self.mark
        mark.acknowledged_lsn = self.writer.position
        mark.epoch = self._files.control.state.epoch
        mark.is_catching_up = is_catching_up
        mark.write()

    def note(self) -> None:
        """Note how far the log is acknowledged, and the group LSN. For every second, and when the log falls idle."""
        is_void_behind: bool = self.mark.highest_epoch > self._files.control.state.epoch
        if self.mark.acknowledged_lsn < self.writer.position or self.mark.is_catching_up != is_void_behind:
            self._write_mark(is_void_behind)
        if self.writer.has_new_end():
            self.writer.note_end()

    def promise(self, term: i64) -> None:
        """Acknowledge nothing of this term, or of an older one, from now on. Durable on return. Raises LogSpace."""
        if term > self.mark.promised_term:
            self.mark.promised_term = term
            self._write_mark(self.mark.is_catching_up)

    def group_is_at(self, lsn: i64) -> None:
        """The leader says that enough copies have forced all up to an LSN."""
        known: i64 = min(lsn, self.writer.position)
        if known > self.writer.group_lsn:
            self.writer.group_lsn = known

    # -- lives

    def begin_life(self, life: Life, previous_epoch: int, position: i64) -> None:
        """From a position of the chain on the blocks belong to this life of another leader. Durable on return.

        All blocks behind that position are void, here and from now on, and so are lives behind `previous_epoch` but for
        this one. A life begins at `position`, or goes on there when a later one was void. Raises CopyRefused when that
        would drop what enough copies had forced, or when this copy ends before.
        """
        self.force()
        kept = [each for each in self.lives if each.epoch <= previous_epoch]
        last = kept[-1] if kept else Life(0, 0, "", 0, 0)
        if last.epoch != previous_epoch or life.epoch <= previous_epoch or life.start_lsn < last.start_lsn:
            raise CopyRefused(f"life {life.epoch} behind {previous_epoch} cannot follow life {last.epoch}")
        if not life.start_lsn <= position <= self.writer.position:
            raise CopyRefused(
                f"life {life.epoch} from LSN {position} on does not fit: it begins at {life.start_lsn}, and this copy "
                f"ends at {self.writer.position}"
            )
        if position < self.writer.group_lsn:
            raise CopyRefused(
                f"life {life.epoch} counts from LSN {position} on, but enough copies had forced {self.writer.group_lsn}"
            )
        self._begin(kept, life, position)

    def _begin(self, before: list[Life], life: Life, position: i64) -> None:
        files = self._files
        state = files.control.state
        mark = self.mark
        mark.acknowledged_lsn = position
        mark.epoch = life.epoch
        mark.highest_epoch = max(mark.highest_epoch, life.epoch)
        # Blocks of later lives, which are void, say nothing about the end of an earlier one.
        mark.is_catching_up = mark.highest_epoch > life.epoch
        mark.write()
        append_life(files.disk, files.directory, before, life)
        self.lives = before
        self.writer.go_back(files.disk, files.active, position)
        self.received_position = position
        state.epoch = life.epoch
        state.life_start_lsn = life.start_lsn
        state.durable_lsn = self.writer.group_lsn
        # Twice, so that both slots have this life.
        files.control.write()
        files.control.write()
        self.writer.control_sequence = state.sequence

    def promote(self, life: Life) -> RecoveryLog:
        """Begin a life of one's own at the end of this copy, and return the log to append to. Durable on return."""
        assert not self._taken
        assert life.start_lsn == self.writer.position
        assert life.epoch > self.mark.highest_epoch
        self._begin(list(self.lives), life, life.start_lsn)
        files = self._files
        self.writer.begin_leading()
        report = RestartReport(
            restart_lsn=self.writer.restart_lsn,
            end_lsn=self.writer.position,
            records=self.applier.records(),
            read_bytes=self.restart_report.read_bytes,
            dropped_bytes=self.restart_report.dropped_bytes,
            epoch=life.epoch,
            end_file=self.restart_report.end_file,
            end_offset=self.restart_report.end_offset,
        )
        state = files.control.state
        return RecoveryLog(files.disk, files.active, files.shape, state, self.writer, files.metrics, report)

    def close(self) -> None:
        """With nothing taken: note the end and close the files."""
        self.note()
        self.writer.close()


def follow(restartable: RestartableLog, visitor: LogVisitor, keep_extents: int, files_lsn: int = 0) -> FollowerLog:
    """Open a log for a leader's blocks, without a new life. The visitor gets the records up to the group LSN.

    `files_lsn` is the latest LSN that the files of the queue manager speak of; the group LSN is not before that. Raises
    LogDamaged when the log does not read back to what this copy acknowledged. Nothing was changed then.
    """
    disk, directory = restartable.disk(), restartable.directory()
    state = restartable.control_state()
    mark = read_mark(disk, directory, state.identity)
    lives: list[Life] = []
    if has_lives(disk, directory):
        lives = read_lives(disk, directory, state.identity, state.epoch)
    applier = LogApplier(restartable.shape(), visitor, state.restart_lsn)
    report = restartable.read_copy(applier, not mark.is_catching_up, files_lsn)
    if report.end_lsn < mark.acknowledged_lsn:
        raise LogDamaged(
            report.end_file,
            report.end_offset,
            f"the log ends here, at LSN {report.end_lsn}; this copy had acknowledged up to LSN {mark.acknowledged_lsn}",
        )
    visitor.ended(report.end_lsn)
    files = restartable.reopen(report, keep_extents)
    if state.epoch > 0 and (not lives or lives[-1].epoch < state.epoch):
        lives.append(Life(state.epoch, state.life_start_lsn, "", 0, 0))
        create_lives(disk, directory, state.identity, lives)
    elif not has_lives(disk, directory):
        create_lives(disk, directory, state.identity, lives)
    mark.acknowledged_lsn, mark.epoch = report.end_lsn, state.epoch
    mark.highest_epoch = max(mark.highest_epoch, state.epoch)
    mark.is_catching_up = mark.highest_epoch > state.epoch
    mark.write()
    return FollowerLog(files, report, applier, lives, mark)
