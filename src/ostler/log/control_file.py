"""The control file: where restart begins, and which life of the log it is.

Two slots of one page each are written in turn, every time with a higher sequence number, and forced. A torn write
spoils only the older of the two.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final

from ostler.log.errors import LogDamaged, LogRefused, LogSpace
from ostler.log.settings import LogManagement, LogSettings, LogType, WriteIntegrity
from ostler.log.stream_format import FORMAT_VERSION, PAGE_BYTES
from ostler.model.disk import Disk, DiskFull, File

CONTROL_NAME: Final = "amqhlctl.lfh"
CONTROL_MAGIC: Final = b"OSTLERLC"
# The prefix stays as it is in every format version, so that an older release can say "newer" and not "damaged".
_PREFIX: Final = struct.Struct("<8sIII4x")
_BODY: Final = struct.Struct("<16sIIIIHHHxxIIqqqqqqq")
_TYPES: Final = [LogType.CIRCULAR, LogType.LINEAR]
_MANAGEMENTS: Final = [LogManagement.AUTOMATIC, LogManagement.ARCHIVE, LogManagement.MANUAL]
_INTEGRITIES: Final = [WriteIntegrity.SINGLE_WRITE, WriteIntegrity.DOUBLE_WRITE, WriteIntegrity.TRIPLE_WRITE]


class ControlState:
    """What the control file holds."""

    def __init__(self, identity: bytes, settings: LogSettings) -> None:
        self.identity: bytes = identity
        self.settings: LogSettings = settings
        self.sequence: int = 0
        self.epoch: int = 0
        """The life of the log: grows by one with each restart."""
        self.life_start_lsn: int = 0
        """Where this life began to write. Blocks from here on have this epoch, those before have an earlier one."""
        self.restart_lsn: int = 0
        self.checkpoint_lsn: int = 0
        self.durable_lsn: int = 0
        """Known to be durable when this was written: the log must reach at least to here."""
        self.media_lsn: int = 0
        self.oldest_extent: int = 0
        """Extents before this one are needed by nobody and may be gone."""
        self.archived_extent: int = -1
        """Extents up to this one were reported as archived."""


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
    )
    page = _PREFIX.pack(CONTROL_MAGIC, FORMAT_VERSION, len(body), zlib.crc32(body)) + body
    return page + bytes(PAGE_BYTES - len(page))


def decode_slot(page: bytes) -> ControlState | None:
    """None when the slot is torn, damaged or was never written; LogRefused when a newer release wrote it."""
    if len(page) < PAGE_BYTES:
        return None
    magic, version, length, checksum = _PREFIX.unpack_from(page, 0)
    body = page[_PREFIX.size : _PREFIX.size + length]
    if magic != CONTROL_MAGIC or len(body) != length or zlib.crc32(body) != checksum:
        return None
    if version > FORMAT_VERSION:
        raise LogRefused(
            f"The log's control file has format {version}; this release reads up to {FORMAT_VERSION}. "
            "Use the release that wrote it, or a newer one."
        )
    if length != _BODY.size:
        return None
    fields = _BODY.unpack(body)
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
    return state


class ControlFile:
    """The open control file and the state last written to it. Belongs to the writer thread."""

    def __init__(self, file: File, state: ControlState) -> None:
        self._file = file
        self.state: ControlState = state

    def write(self) -> None:
        """Make `state` durable under the next sequence number, in the older slot. Raises LogSpace."""
        self.state.sequence += 1
        try:
            self._file.write_at(self.state.sequence % 2 * PAGE_BYTES, [encode_slot(self.state)])
        except DiskFull:
            # The next try must go to the same slot: the other one is the good one.
            self.state.sequence -= 1
            raise LogSpace("The disk is full: the log's control file cannot be written.") from None
        self._file.force()

    def force(self) -> None:
        self._file.force()

    def close(self) -> None:
        self._file.close()


def create_control_file(disk: Disk, directory: str, state: ControlState) -> None:
    """Write both slots of a new control file; with its name forced the log exists."""
    file = disk.open(f"{directory}/{CONTROL_NAME}.new", True)
    control = ControlFile(file, state)
    control.write()
    control.write()
    control.close()
    disk.rename(f"{directory}/{CONTROL_NAME}.new", f"{directory}/{CONTROL_NAME}")
    disk.force_directory(directory)


def open_control_file(disk: Disk, directory: str) -> ControlFile:
    """The control file with the newer of its good slots."""
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
    return ControlFile(file, newest)
