"""The logs of all members, read for a recovery of structures. All of it blocks: for threads of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from ostler.engine.structure_recovery.merge import BackupPlace, LoadedEntry, LoadPass, LogScan, StructureMerge
from ostler.log.errors import LogError
from ostler.log.foreign_log import ForeignLog
from ostler.log.reader import LogVisitor
from ostler.model.coupling.group_rows import MemberRow
from ostler.model.disk import Disk, DiskFailed
from ostler.server.config.directories import QueueManagerDirectory

_BATCH_BYTES: Final = 4 << 20


class LogUnreadable(Exception):
    """The log of a member cannot be read, or lacks what a recovery needs. The text names the member."""


class MemberLog(NamedTuple):
    """Where the log of a member is. `until_lsn` is durable there if the member is active; -1: it is down."""

    number: int
    name: str
    disk: Disk
    directory: str
    until_lsn: int


class _ScanVisitor(LogVisitor):
    def __init__(self, scan: LogScan) -> None:
        self._scan = scan

    def record(self, kind: int, lsn: int, payload: bytes) -> None:
        self._scan.record(kind, lsn, payload)

    def progress(self, done_bytes: int, total_bytes: int) -> None:
        pass


class _BackupVisitor(LogVisitor):
    def __init__(self, merge: StructureMerge, structure: str, number: int) -> None:
        self._merge = merge
        self._structure = structure
        self._number = number

    def record(self, kind: int, lsn: int, payload: bytes) -> None:
        self._merge.take_backup(self._structure, self._number, kind, lsn, payload)

    def progress(self, done_bytes: int, total_bytes: int) -> None:
        pass


class _LoadVisitor(LogVisitor):
    def __init__(self, load: LoadPass, number: int) -> None:
        self._load = load
        self._number = number
        self.loaded: list[LoadedEntry] = []

    def record(self, kind: int, lsn: int, payload: bytes) -> None:
        self.loaded += self._load.record(self._number, kind, lsn, payload)

    def progress(self, done_bytes: int, total_bytes: int) -> None:
        pass


def member_directory(row: MemberRow) -> QueueManagerDirectory | None:
    """Return the directory of a member, which may be on another machine; None: the roll does not say where it is."""
    if not row.data_directory:
        return None
    path = Path(row.data_directory)
    root = path if (path / "qmgrs").is_dir() else path.parent.parent
    return QueueManagerDirectory(root, row.name)


def merge_logs(logs: list[MemberLog], backups: dict[str, BackupPlace | None]) -> StructureMerge:
    """Return the messages of structures, from their backups and the logs. Raises LogUnreadable."""
    merge = StructureMerge(backups)
    for name, place in backups.items():
        if place is not None:
            _read_backup(logs, merge, name, place)
    missing = merge.missing_backups()
    if missing:
        raise LogUnreadable(f"the backup of {', '.join(missing)} is not whole in the log that should have it")
    for log in logs:
        _scan(log, merge)
    merge.finish()
    return merge


def _read_backup(logs: list[MemberLog], merge: StructureMerge, structure: str, place: BackupPlace) -> None:
    for log in logs:
        if log.number == place.member:
            try:
                visitor = _BackupVisitor(merge, structure, log.number)
                ForeignLog(log.disk, log.directory).read(int(place.start_lsn), int(place.end_lsn), visitor)
            except (LogError, DiskFailed, OSError) as error:
                text = f"the backup of {structure} in the log of {log.name} cannot be read: {error}"
                raise LogUnreadable(text) from None
            return
    raise LogUnreadable(f"the backup of {structure} is in the log of member {place.member}, which nobody knows")


def _scan(log: MemberLog, merge: StructureMerge) -> None:
    try:
        foreign = ForeignLog(log.disk, log.directory)
        oldest = int(foreign.oldest_lsn())
        start = int(merge.from_lsn(log.number))
        if start < 0:
            start = oldest
            if oldest > 0 and not foreign.is_linear():
                raise LogUnreadable(
                    f"the log of {log.name} is CIRCULAR and does not have all that is needed any more; "
                    "use LogType LINEAR for members, and BACKUP CFSTRUCT"
                )
        foreign.read(start, log.until_lsn, _ScanVisitor(merge.begin_log(log.number, start)))
    except (LogError, DiskFailed, OSError) as error:
        raise LogUnreadable(f"the log of {log.name} cannot be read: {error}") from None


def load_batches(logs: list[MemberLog], merge: StructureMerge) -> Iterator[list[LoadedEntry]]:
    """Read the messages of a merge again, and pass them on a few megabytes at a time. Raises LogUnreadable."""
    load = LoadPass(merge)
    for log in logs:
        for start, until in _ranges(merge, log.number):
            visitor = _LoadVisitor(load, log.number)
            try:
                ForeignLog(log.disk, log.directory).read(start, until, visitor)
            except (LogError, DiskFailed, OSError) as error:
                raise LogUnreadable(f"the log of {log.name} cannot be read: {error}") from None
            if visitor.loaded:
                yield visitor.loaded


def _ranges(merge: StructureMerge, number: int) -> list[tuple[int, int]]:
    """Return parts of a log, each with some megabytes of records that are needed: from an LSN, up to one."""
    lsns = sorted({int(entry.lsn) for entry in merge.plan if entry.log == number})
    start = min([int(scan.start_lsn) for scan in merge.scans if scan.number == number], default=0)
    ranges: list[tuple[int, int]] = []
    for index, lsn in enumerate(lsns):
        if index + 1 == len(lsns) or lsns[index + 1] - start > _BATCH_BYTES:
            ranges.append((start, lsn))
            start = lsn
    return ranges
