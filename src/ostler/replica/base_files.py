"""The place of a base until it is whole, and the exchange of a copy's files for it.

    base+/            data of a base: instance, objects, checkpoint, queues
    base+/whole       the base is whole: only the exchange is missing. It has the number of the place for the old files
    base-lsn          the files of the copy speak of this LSN, and nobody has said yet that enough copies had it
    log+/             the log of a base, beside the log's directory
    aside+1/, log+1/  files that were exchanged for a base. Nothing here ever reads or removes them

No start reads from a name with "+". A base without `base+/whole` is removed, and taken again. The exchange is repeated
from the beginning when it was interrupted: a file of the base that is not there any more is in place already.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ostler.engine.core import QUEUES_PATH
from ostler.engine.recovery.checkpoint import CATALOGUE_PATH, INSTANCE_PATH, MANIFEST_PATH
from ostler.engine.recovery.snapshot import replace_file
from ostler.log.copy_mark import CopyMark, read_mark
from ostler.log.errors import LogError
from ostler.model.disk import Disk, File

BASE_PATH: Final = "base+"
WANTED_PATH: Final = "base-wanted"
_WHOLE_PATH: Final = "base+/whole"
_UNSURE_PATH: Final = "base-lsn"
_ASIDE: Final = "aside+"
_FILES: Final = (INSTANCE_PATH, CATALOGUE_PATH, MANIFEST_PATH, _UNSURE_PATH)
_EXCHANGED: Final = (*_FILES, QUEUES_PATH)


class DirectoryDisk(Disk):
    """A directory of another disk, as a disk of its own."""

    def __init__(self, whole: Disk, directory: str) -> None:
        self._whole = whole
        self._directory: Final[str] = directory

    def _path(self, path: str) -> str:
        return f"{self._directory}/{path}" if path else self._directory

    def open(self, path: str, create: bool) -> File:
        return self._whole.open(self._path(path), create)

    def exists(self, path: str) -> bool:
        return self._whole.exists(self._path(path))

    def names(self, directory: str) -> list[str]:
        return self._whole.names(self._path(directory))

    def make_directory(self, path: str) -> None:
        self._whole.make_directory(self._path(path))

    def remove(self, path: str) -> None:
        self._whole.remove(self._path(path))

    def rename(self, source: str, target: str) -> None:
        self._whole.rename(self._path(source), self._path(target))

    def force_directory(self, path: str) -> None:
        self._whole.force_directory(self._path(path))

    def free_bytes(self) -> int:
        return self._whole.free_bytes()


class BaseFiles:
    """The places of one copy. `log_directory` is that of its log, on `log_disk`."""

    def __init__(self, disk: Disk, log_disk: Disk, log_directory: str) -> None:
        self._disk = disk
        self._log_disk = log_disk
        self._log_directory: Final[str] = log_directory
        self.base_log_directory: Final[str] = f"{log_directory}+"

    def begin(self) -> Disk:
        """Remove what an earlier base has left, and return the empty place for data."""
        assert not self.is_whole()
        self._disk.remove(BASE_PATH)
        self._log_disk.remove(self.base_log_directory)
        self._disk.make_directory(BASE_PATH)
        self._log_disk.make_directory(self.base_log_directory)
        self._disk.force_directory("")
        self._log_disk.force_directory(_parent(self._log_directory))
        return DirectoryDisk(self._disk, BASE_PATH)

    def old_mark(self, identity: bytes) -> CopyMark:
        """Return what the copy that is given up has promised; a new mark when it cannot be read."""
        try:
            return read_mark(self._log_disk, self._log_directory, identity)
        except LogError:
            return CopyMark(self._log_disk, self._log_directory, identity)

    def is_whole(self) -> bool:
        """Return True when a base waits to be put in place."""
        return self._disk.exists(_WHOLE_PATH)

    def set_whole(self, unsure_lsn: int) -> None:
        """Note that the base is whole. Durable on return: whatever happens now, it will be put in place.

        `unsure_lsn` is the latest LSN that its files speak of, unless enough copies are known to have had that.
        """
        replace_file(self._disk, f"{BASE_PATH}/{_UNSURE_PATH}", [str(unsure_lsn).encode()])
        numbers = _numbers(self._disk.names(""), _ASIDE)
        numbers += _numbers(self._log_disk.names(_parent(self._log_directory)), f"{_name(self._log_directory)}+")
        replace_file(self._disk, _WHOLE_PATH, [str(max(numbers, default=0) + 1).encode()])

    def unsure_lsn(self) -> int:
        """Return the LSN that the copy's files speak of although enough copies may not have had it; 0: there is none.

        A leader without it makes the copy useless.
        """
        return _read_number(self._disk, _UNSURE_PATH) if self._disk.exists(_UNSURE_PATH) else 0

    def clear_unsure(self) -> None:
        """Enough copies have had what the files speak of."""
        self._disk.remove(_UNSURE_PATH)
        self._disk.force_directory("")

    def exchange(self) -> str:
        """Put a base in place that is whole. Return where the old files are now; empty if there were none.

        It may be interrupted anywhere, and called again. The copy wants no base any more then.
        """
        disk = self._disk
        number = _read_number(disk, _WHOLE_PATH)
        aside = f"{_ASIDE}{number}"
        for name in _EXCHANGED:
            _exchange(disk, f"{BASE_PATH}/{name}", name, f"{aside}/{name}")
        own = self._log_directory
        _exchange(self._log_disk, self.base_log_directory, own, f"{own}+{number}")
        disk.remove(WANTED_PATH)
        disk.force_directory("")
        disk.remove(_WHOLE_PATH)
        disk.force_directory(BASE_PATH)  # or the next base might be taken for whole after a crash
        disk.remove(BASE_PATH)
        disk.force_directory("")
        return aside if disk.exists(aside) else ""


def _exchange(disk: Disk, new: str, name: str, aside: str) -> None:
    """Put a part of the base in the place of the old one, which is set aside. Again, it does what was left to do."""
    if not disk.exists(new):
        return
    is_directory = name not in _FILES
    if is_directory and not disk.names(name):
        disk.remove(name)  # of an instance that was created empty
    if disk.exists(name):
        _move(disk, name, aside)
    _move(disk, new, name)


def _move(disk: Disk, source: str, target: str) -> None:
    if _parent(target):
        disk.make_directory(_parent(target))
    disk.rename(source, target)
    for each in {_parent(source), _parent(target)}:
        disk.force_directory(each)


def _read_number(disk: Disk, path: str) -> int:
    file = disk.open(path, False)
    number = int(file.read_at(0, 20))
    file.close()
    return number


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _numbers(names: Sequence[str], prefix: str) -> list[int]:
    """Return the numbers behind a prefix."""
    return [int(each[len(prefix) :]) for each in names if each.startswith(prefix) and each[len(prefix) :].isdecimal()]
