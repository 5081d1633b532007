"""Segments: the samples of one phase, in a directory that exists completely or not at all.

Files are written in `unfinished/`, and the directory is moved to `segments/` when all of them are on storage: that one
rename commits the phase. So readers of `segments/*/<table>.parquet` see complete phases only, whatever became of the
process that wrote them.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import threading
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

from ostler.lab.store.arrow_tables import TableFile
from ostler.lab.store.manifest import sync_directory
from ostler.lab.store.rows import TABLE_OF, PhaseRow, Row
from ostler.lab.store.schema import SCHEMA_VERSION, SampleTable

SEGMENT = "segment.json"
SEGMENTS = "segments"
UNFINISHED = "unfinished"
ABANDONED = "abandoned"

CALIBRATION = "calibration"
WARM_UP = "warm-up"
MEASURED = "measured"
COOL_DOWN = "cool-down"
PHASES = (CALIBRATION, WARM_UP, MEASURED, COOL_DOWN)

# Rows kept in memory for each table before they become a row group of its file.
BUFFERED_ROWS_MAX = 500_000
_CHUNK_BYTES = 1 << 20


class RunNotWritten(Exception):
    """Samples could not be written. Everything committed before is safe. The text has advice."""


@dataclass(frozen=True)
class SegmentKey:
    """The phase of a point."""

    contestant: str
    step: int
    repetition: int
    phase: str

    @property
    def point(self) -> tuple[str, int, int]:
        return (self.contestant, self.step, self.repetition)


@dataclass(frozen=True)
class StoredFile:
    """The properties of a table's file as it was written."""

    table: str
    rows: int
    bytes: int
    crc32: int


@dataclass(frozen=True)
class SegmentNote:
    """The content of `segment.json`."""

    run: str
    contestant: str
    step: int
    repetition: int
    phase: str
    files: tuple[StoredFile, ...]
    schema_version: int = SCHEMA_VERSION

    @property
    def key(self) -> SegmentKey:
        return SegmentKey(self.contestant, self.step, self.repetition, self.phase)


def read_note(directory: Path) -> SegmentNote:
    """Return the note of a segment. Raises OSError, ValueError, KeyError or TypeError when it is damaged."""
    content = json.loads((directory / SEGMENT).read_text(encoding="utf-8"))
    content["files"] = tuple(StoredFile(**each) for each in content["files"])
    return SegmentNote(**content)


def crc32_of(path: Path) -> int:
    """The checksum of a file."""
    found = 0
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            found = zlib.crc32(chunk, found)
    return found


def damage_of(directory: Path, stored: StoredFile) -> str:
    """Return the reason why the file of a table is not the one that was written; empty when it is."""
    path = directory / f"{stored.table}.parquet"
    if not path.is_file():
        return f"{path.name} is missing"
    if path.stat().st_size != stored.bytes or crc32_of(path) != stored.crc32:
        return f"{path.name} is not the file that was written: its length or checksum differs"
    return ""


class SegmentWriter:
    """Receives the samples of one phase. Ends with `commit` or `abandon`; nothing is visible before.

    `add` keeps rows in memory and writes only every half a million of a table; `commit` writes, forces and renames,
    which takes milliseconds of a disk and a core: call it when nothing is being measured.
    """

    def __init__(
        self, directory: Path, number: int, run: str, key: SegmentKey, durable: bool, done: dict[SegmentKey, Path]
    ) -> None:
        """Begin the segment. `done` is called when it is committed."""
        if key.phase not in PHASES:
            raise ValueError(f"{key.phase} is not a phase; there are {', '.join(PHASES)}")
        self.key = key
        self._run = directory
        self._columns = (run, key.contestant, key.step, key.repetition, key.phase)
        self._durable = durable
        self._done = done
        self._unfinished = directory / UNFINISHED / f"{number:06}"
        self._target = directory / SEGMENTS / self._unfinished.name
        self._buffers: dict[str, list[tuple[object, ...]]] = {}
        self._files: dict[str, tuple[TableFile, BinaryIO]] = {}
        self._adding = threading.Lock()
        self._ended = False
        self.is_abandoned = False
        with explain_errors(directory):
            self._unfinished.mkdir()

    def add(self, rows: Iterable[Row]) -> None:
        """Add rows of any tables, in any order, from any thread: an observer adds beside the drivers."""
        with self._adding:
            assert not self._ended
            for row in rows:
                self._take(TABLE_OF[type(row)], row)

    def _take(self, table: SampleTable, row: tuple[object, ...]) -> None:
        buffer = self._buffers.setdefault(table.name, [])
        buffer.append(row)
        if len(buffer) >= BUFFERED_ROWS_MAX:
            self._flush(table)

    def _flush(self, table: SampleTable) -> None:
        rows = self._buffers.get(table.name)
        if not rows:
            return
        with explain_errors(self._run):
            if table.name not in self._files:
                file = open(self._unfinished / f"{table.name}.parquet", "wb")  # noqa: SIM115 - closed by commit or abandon
                self._files[table.name] = (TableFile(table, self._columns, file), file)
            self._files[table.name][0].append(rows)
        rows.clear()

    def commit(self, phase: PhaseRow) -> Path:
        """Make the phase part of the run, and return its directory. After an error nothing of it is part of the run."""
        assert not self._ended
        self._take(TABLE_OF[PhaseRow], phase)
        try:
            for table in TABLE_OF.values():
                self._flush(table)
            with explain_errors(self._run):
                stored = [self._closed(name) for name in self._files]
                note = SegmentNote(*self._columns, files=tuple(stored))
                with open(self._unfinished / SEGMENT, "w", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(note), indent=1) + "\n")
                    self._force(file.fileno())
                if self._durable:
                    sync_directory(self._unfinished)
                os.rename(self._unfinished, self._target)
                if self._durable:
                    sync_directory(self._target.parent)
        except BaseException:
            self.abandon()
            raise
        self._ended = True
        self._done[self.key] = self._target
        return self._target

    def _closed(self, name: str) -> StoredFile:
        """Complete the file of a table."""
        parquet, file = self._files[name]
        parquet.close()
        file.flush()
        self._force(file.fileno())
        file.close()
        path = self._unfinished / f"{name}.parquet"
        return StoredFile(name, parquet.rows, path.stat().st_size, crc32_of(path))

    def _force(self, descriptor: int) -> None:
        if self._durable:
            os.fsync(descriptor)

    def abandon(self) -> None:
        """Discard the phase. Does nothing after `commit`."""
        if self._ended:
            return
        self._ended = self.is_abandoned = True
        for parquet, file in self._files.values():
            parquet.abandon()
            try:
                file.close()
            except OSError:
                # A full disk: the unwritten data is to be discarded anyway.
                continue
        shutil.rmtree(self._unfinished, ignore_errors=True)


class explain_errors:  # noqa: N801 - reads as a word where it is used
    """Turns errors of the disk into messages with advice."""

    def __init__(self, run: Path) -> None:
        self._run = run

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            advice = "Make room there" if full else "Mend that"
            reason = "the disk is full" if full else str(error)
            raise RunNotWritten(
                f"Samples could not be written to {self._run}: {reason}. "
                f"Phases written before are complete. {advice}, and resume the run."
            ) from error
