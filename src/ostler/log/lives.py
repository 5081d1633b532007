"""The file `lives` beside the control file: the lives of a replicated log, in order.

    offset 0   magic "OSTLERLV", version, identity of the log, crc32 of these 28 bytes
    then, for each life, 128 bytes:
           0   crc32 of the rest
           4   epoch
           8   start LSN, term, time (8 bytes each)
          32   instance, UTF-8, padded with zeros (48 bytes)
          80   zeros

A life is appended and forced before the control file names its epoch. So an entry of a later epoch than the control
file's is a life that never began, and an incomplete last entry was never relied on: both go when the next one comes.
Anything else that does not fit is damage.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final

from ostler.log.errors import LogDamaged, LogNewer, LogSpace
from ostler.log.stream_format import IDENTITY_BYTES
from ostler.model.disk import Disk, DiskFull
from ostler.model.log_life import INSTANCE_BYTES_MAX, Life

LIVES_NAME: Final = "lives"
LIVES_MAGIC: Final = b"OSTLERLV"
LIVES_VERSION: Final = 1
ENTRY_BYTES: Final = 128
# A life begins with each change of leader; a file with more is not one of ours.
LIVES_MAX: Final = 100_000
_HEAD: Final = struct.Struct("<8sI16s")
_CHECKSUM: Final = struct.Struct("<I")
_ENTRY: Final = struct.Struct("<Iqqq48s48x")
HEAD_BYTES: Final = 32


def _head(identity: bytes) -> bytes:
    fields = _HEAD.pack(LIVES_MAGIC, LIVES_VERSION, identity)
    return (fields + _CHECKSUM.pack(zlib.crc32(fields))).ljust(HEAD_BYTES, b"\0")


def encode_life(life: Life) -> bytes:
    name = life.instance.encode("utf-8")
    assert len(name) <= INSTANCE_BYTES_MAX
    body = _ENTRY.pack(life.epoch, life.start_lsn, life.term, life.unix_time, name)
    return _CHECKSUM.pack(zlib.crc32(body)) + body


def decode_life(entry: bytes) -> Life | None:
    """Return the life, or None when the entry is incomplete or damaged."""
    if len(entry) < ENTRY_BYTES or zlib.crc32(entry[4:ENTRY_BYTES]) != _CHECKSUM.unpack_from(entry, 0)[0]:
        return None
    epoch, start_lsn, term, unix_time, name = _ENTRY.unpack_from(entry, 4)
    return Life(epoch, start_lsn, name.rstrip(b"\0").decode("utf-8", "replace"), term, unix_time)


def create_lives(disk: Disk, directory: str, identity: bytes, lives: list[Life]) -> None:
    """Write the file with these lives, in place of any other. Durable on return. Raises LogSpace."""
    assert len(identity) == IDENTITY_BYTES
    path = f"{directory}/{LIVES_NAME}"
    file = disk.open(f"{path}.new", True)
    try:
        file.truncate(0)
        file.write_at(0, [_head(identity), *[encode_life(life) for life in lives]])
    except DiskFull:
        file.close()
        disk.remove(f"{path}.new")
        raise LogSpace("The disk is full: the lives of the log cannot be written.") from None
    file.force()
    file.close()
    disk.rename(f"{path}.new", path)
    disk.force_directory(directory)


def has_lives(disk: Disk, directory: str) -> bool:
    """Return True when the log is, or was, replicated."""
    return disk.exists(f"{directory}/{LIVES_NAME}")


def read_lives(disk: Disk, directory: str, identity: bytes, epoch: int) -> list[Life]:
    """Return the lives up to an epoch, which is the control file's. Raises LogDamaged and LogNewer."""
    path = f"{directory}/{LIVES_NAME}"
    file = disk.open(path, False)
    size = file.size_bytes()
    if size > HEAD_BYTES + LIVES_MAX * ENTRY_BYTES:
        file.close()
        raise LogDamaged(path, 0, f"it has {size} bytes, more than {LIVES_MAX} lives take")
    data = file.read_at(0, size)
    file.close()
    _check_head(path, data, identity)
    lives: list[Life] = []
    for offset in range(HEAD_BYTES, len(data), ENTRY_BYTES):
        life = decode_life(data[offset : offset + ENTRY_BYTES])
        if life is None:
            if offset + ENTRY_BYTES < len(data) or not lives:
                raise LogDamaged(path, offset, "an entry fails its checksum")
            break
        if lives and (life.epoch <= lives[-1].epoch or life.start_lsn < lives[-1].start_lsn):
            raise LogDamaged(path, offset, f"life {life.epoch} cannot follow life {lives[-1].epoch}")
        if life.epoch > epoch:
            break
        lives.append(life)
    return lives


def _check_head(path: str, data: bytes, identity: bytes) -> None:
    if len(data) < HEAD_BYTES or data[:8] != LIVES_MAGIC:
        raise LogDamaged(path, 0, "there is no header")
    if zlib.crc32(data[: _HEAD.size]) != _CHECKSUM.unpack_from(data, _HEAD.size)[0]:
        raise LogDamaged(path, 0, "the header fails its checksum")
    version = _HEAD.unpack_from(data, 0)[1]
    if version > LIVES_VERSION:
        raise LogNewer(f"the lives of the log {LIVES_NAME}", version, LIVES_VERSION)
    if data[12:28] != identity:
        raise LogDamaged(path, 12, "it belongs to another log")


def append_life(disk: Disk, directory: str, known: list[Life], life: Life) -> None:
    """Append a life behind the known ones. Durable on return. Raises LogSpace.

    Call it before the control file names the life's epoch. `known` is what `read_lives` returned, and gets the life.
    """
    assert not known or life.epoch > known[-1].epoch
    assert len(known) < LIVES_MAX
    file = disk.open(f"{directory}/{LIVES_NAME}", False)
    end = HEAD_BYTES + len(known) * ENTRY_BYTES
    if file.size_bytes() != end:
        # Lives that never began, or are void, stand behind. An interrupted write over them would look like damage.
        head = file.read_at(0, HEAD_BYTES)
        file.close()
        create_lives(disk, directory, head[12:28], [*known, life])
        known.append(life)
        return
    try:
        file.write_at(end, [encode_life(life)])
    except DiskFull:
        file.close()
        raise LogSpace("The disk is full: the life of the log cannot be noted.") from None
    file.force()
    file.close()
    known.append(life)
