"""The control file: where restart begins, which life of the log it is, and how far the log must reach.

    page 0, 1   the state; written in turn, every time with a higher sequence number, and forced
    page 2, 3   notes of the end: how far the log was durable at that moment; written in turn, too

A torn write spoils only the older of two pages. The state belongs to the writer of the log. Notes belong to another
thread, which writes them periodically without delaying the writer: they share neither bytes nor a lock with the state.
A note may be behind the durable end and is never ahead of it.

Format 1 had neither notes nor the number of the last checkpoint. A log of that format gets them when its next life
begins: the notes first, so that there is never a state of format 2 without notes.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final

from mypy_extensions import i64

from ostler.log.errors import LogDamaged, LogNewer, LogRefused, LogSpace
from ostler.log.settings import LogManagement, LogSettings, LogType, WriteIntegrity
from ostler.log.stream_format import PAGE_BYTES
from ostler.model.disk import Disk, DiskFull, File

CONTROL_NAME: Final = "amqhlctl.lfh"
CONTROL_MAGIC: Final = b"OSTLERLC"
NOTE_MAGIC: Final = b"OSTLERLN"
CONTROL_VERSION: Final = 2
NOTES_PAGE: Final = 2
# The prefix is the same in every format version, so that an older release reports "newer" and not "damaged".
_PREFIX: Final = struct.Struct("<8sIII4x")
_BODY_1: Final = struct.Struct("<16sIIIIHHHxxIIqqqqqqq")
_BODY: Final = struct.Struct("<16sIIIIHHHxxIIqqqqqqqqq")
_NOTE: Final = struct.Struct("<16sI4xq")
_TYPES: Final = [LogType.CIRCULAR, LogType.LINEAR]
_MANAGEMENTS: Final = [LogManagement.AUTOMATIC, LogManagement.ARCHIVE, LogManagement.MANUAL]
_INTEGRITIES: Final = [WriteIntegrity.SINGLE_WRITE, WriteIntegrity.DOUBLE_WRITE, WriteIntegrity.TRIPLE_WRITE]


class ControlState:
    """The state in the control file."""

    def __init__(self, identity: bytes, settings: LogSettings) -> None:
        self.identity: bytes = identity
        self.settings: LogSettings = settings
        self.sequence: int = 0
        self.epoch: int = 0
        """The life of the log: grows by one with each restart."""
        self.life_start_lsn: int = 0
        """The LSN at which this life began to write. Blocks from here on have this epoch, earlier ones not."""
        self.restart_lsn: int = 0
        self.checkpoint_lsn: int = 0
        self.durable_lsn: int = 0
        """Durable when this was written: the log must reach at least to here."""
        self.media_lsn: int = 0
        self.oldest_extent: int = 0
        """Extents before this one are not needed and may have been removed."""
        self.archived_extent: int = -1
        """Extents up to this one were reported as archived."""
        self.last_extent: int = -1
        """All extents from the oldest needed one to here exist and are complete. -1: not noted yet."""
        self.checkpoint_number: int = 0
        """The last complete checkpoint. The queue manager's files must be at least that new."""
        self.version: int = CONTROL_VERSION
        """The format that it was read in; it is written in the newest format."""


def encode_slot(state: ControlState) -> bytes:
    settings = state.settings
    body = _BODY.pack(
        state.identity,
        settings.file_pages,
        settings.primary_files,
        settings.secondary_files,
        settings.buffer_pages,
        _TYPES.index(settings.log_type),
        _MANAGEMENTS.index(settings.management),
        _INTEGRITIES.index(settings.write_integrity),
        state.sequence,
        state.epoch,
        state.life_start_lsn,
        state.restart_lsn,
        state.checkpoint_lsn,
        state.durable_lsn,
        state.media_lsn,
        state.oldest_extent,
        state.archived_extent,
        state.last_extent,
        state.checkpoint_number,
    )
    return _page(CONTROL_MAGIC, body)


def _page(magic: bytes, body: bytes) -> bytes:
    page = _PREFIX.pack(magic, CONTROL_VERSION, len(body), zlib.crc32(body)) + body
    return page + bytes(PAGE_BYTES - len(page))


def _verified_body(page: bytes, wanted: bytes) -> tuple[int, bytes]:
    """Return version and body of a page; version 0 when it is torn, damaged or was never written. Raises LogNewer."""
    if len(page) < PAGE_BYTES:
        return 0, b""
    magic, version, length, checksum = _PREFIX.unpack_from(page, 0)
    body = page[_PREFIX.size : _PREFIX.size + length]
    if magic != wanted or len(body) != length or zlib.crc32(body) != checksum:
        return 0, b""
    if version > CONTROL_VERSION:
        raise LogNewer(f"the log's control file {CONTROL_NAME}", version, CONTROL_VERSION)
    return version, body


def decode_slot(page: bytes) -> ControlState | None:
    """Return the state, or None when the slot is torn, damaged or was never written. Raises LogNewer."""
    version, body = _verified_body(page, CONTROL_MAGIC)
    layout = _BODY_1 if version == 1 else _BODY
    if version == 0 or len(body) != layout.size:
        return None
    fields = layout.unpack(body)
    settings = LogSettings(
        file_pages=fields[1],
        primary_files=fields[2],
        secondary_files=fields[3],
        buffer_pages=fields[4],
        log_type=_TYPES[fields[5]],
        management=_MANAGEMENTS[fields[6]],
        write_integrity=_INTEGRITIES[fields[7]],
    )
    state = ControlState(fields[0], settings)
    state.sequence, state.epoch = fields[8], fields[9]
    state.life_start_lsn, state.restart_lsn, state.checkpoint_lsn = fields[10], fields[11], fields[12]
    state.durable_lsn, state.media_lsn = fields[13], fields[14]
    state.oldest_extent, state.archived_extent = fields[15], fields[16]
    state.version = version
    if version > 1:
        state.last_extent, state.checkpoint_number = fields[17], fields[18]
    return state


class EndNote:
    """The durable LSN of the log at one moment."""

    def __init__(self, sequence: i64, durable_lsn: i64) -> None:
        self.sequence: Final[i64] = sequence
        self.durable_lsn: Final[i64] = durable_lsn


def encode_note(identity: bytes, note: EndNote) -> bytes:
    return _page(NOTE_MAGIC, _NOTE.pack(identity, note.sequence, note.durable_lsn))


def decode_note(page: bytes, identity: bytes) -> EndNote | None:
    """Return the note, or None when the page is torn, damaged, unwritten or another log's. Raises LogNewer."""
    version, body = _verified_body(page, NOTE_MAGIC)
    if version == 0 or len(body) != _NOTE.size:
        return None
    fields = _NOTE.unpack(body)
    return EndNote(fields[1], fields[2]) if fields[0] == identity else None


class EndNotes:
    """Writes the notes of the end. For one thread at a time, which need not be the writer of the log."""

    def __init__(self, file: File, identity: bytes, sequence: int) -> None:
        self._file = file
        self._identity = identity
        self._sequence: i64 = sequence
        self._before_last: i64 = -1
        self.last: i64 = -1
        """The LSN in the newest note; -1 before the first of this life."""

    def write(self, durable_lsn: i64) -> None:
        """Note that the log is durable up to an LSN. Durable on return. Raises LogSpace and DiskFailed."""
        note = EndNote(self._sequence + 1, durable_lsn)
        page = NOTES_PAGE + note.sequence % 2
        try:
            self._file.write_at(page * PAGE_BYTES, [encode_note(self._identity, note)])
        except DiskFull:
            raise LogSpace("The disk is full: the end of the log cannot be noted.") from None
        self._file.force()
        self._sequence = note.sequence
        self._before_last, self.last = self.last, durable_lsn

    def is_due(self, durable_lsn: i64) -> bool:
        """Return True while one of the two copies has an older durable LSN than this."""
        return self.last < durable_lsn or self._before_last < durable_lsn


class ControlFile:
    """The open control file and the state last written to it. Belongs to the writer thread."""

    def __init__(self, file: File, state: ControlState, note_sequence: int = 0) -> None:
        self._file = file
        self.state: ControlState = state
        self._note_sequence = note_sequence

    def begin_notes(self) -> EndNotes:
        """Write both copies for a life that begins now, with the durable LSN in `state`, and return the notes."""
        notes = EndNotes(self._file, self.state.identity, self._note_sequence)
        notes.write(self.state.durable_lsn)
        notes.write(self.state.durable_lsn)
        return notes

    def write(self) -> None:
        """Make `state` durable under the next sequence number, in the older slot. Raises LogSpace."""
        self.state.sequence += 1
        try:
            self._file.write_at(self.state.sequence % 2 * PAGE_BYTES, [encode_slot(self.state)])
        except DiskFull:
            # The next try must go to the same slot: the other one is valid.
            self.state.sequence -= 1
            raise LogSpace("The disk is full: the log's control file cannot be written.") from None
        self._file.force()

    def write_at_least(self, sequence: int) -> None:
        """As `write`, under this sequence number or the next one. The newest slot is never written over."""
        if sequence > self.state.sequence:
            is_newest_slot = (sequence - self.state.sequence) % 2 == 0
            self.state.sequence = sequence if is_newest_slot else sequence - 1
        self.write()

    def force(self) -> None:
        self._file.force()

    def close(self) -> None:
        self._file.close()


def create_control_file(disk: Disk, directory: str, state: ControlState) -> None:
    """Write both slots of a new control file. The log exists when its directory is forced."""
    file = disk.open(f"{directory}/{CONTROL_NAME}.new", True)
    control = ControlFile(file, state)
    control.write()
    control.write()
    control.begin_notes()
    control.close()
    disk.rename(f"{directory}/{CONTROL_NAME}.new", f"{directory}/{CONTROL_NAME}")
    disk.force_directory(directory)


def open_control_file(disk: Disk, directory: str) -> ControlFile:
    """Open the control file with the newer valid slot. The durable LSN is the highest of state and notes."""
    path = f"{directory}/{CONTROL_NAME}"
    if not disk.exists(path):
        raise LogRefused(f"There is no log in {directory}: {CONTROL_NAME} is not there.")
    file = disk.open(path, False)
    newest: ControlState | None = None
    for slot in range(2):
        state = decode_slot(file.read_at(slot * PAGE_BYTES, PAGE_BYTES))
        if state is not None and (newest is None or state.sequence > newest.sequence):
            newest = state
    if newest is None:
        file.close()
        raise LogDamaged(path, 0, "neither of its two slots passes its checksum")
    if newest.version == 1:
        return ControlFile(file, newest)
    notes = read_notes(file, newest.identity)
    if not notes:
        file.close()
        raise LogDamaged(path, NOTES_PAGE * PAGE_BYTES, "neither of the two notes of the log's end passes its checksum")
    for note in notes:
        newest.durable_lsn = max(newest.durable_lsn, note.durable_lsn)
    return ControlFile(file, newest, max([note.sequence for note in notes]))


def read_notes(file: File, identity: bytes) -> list[EndNote]:
    """Return the valid notes of the log's end: two, or one when the other is torn or damaged."""
    found: list[EndNote] = []
    for page in (NOTES_PAGE, NOTES_PAGE + 1):
        note = decode_note(file.read_at(page * PAGE_BYTES, PAGE_BYTES), identity)
        if note is not None:
            found.append(note)
    return found
