"""The reader of a run: its manifest, its phases, and its tables.

It reads what the schema defines and nothing else. A run that is being written, or was killed, can be read at any time:
only complete phases are visible.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from ostler.lab.store.arrow_tables import arrow_schema, has_known_columns, in_this_version
from ostler.lab.store.manifest import Manifest, PlannedPoint, RunUnreadable, read_manifest
from ostler.lab.store.run_writer import committed_segments, is_owned
from ostler.lab.store.schema import TABLES, SampleTable
from ostler.lab.store.segments import MEASURED, SEGMENTS, SegmentKey, SegmentNote, read_note


class RunCondition(StrEnum):
    """The condition of a stored run."""

    RUNNING = "running"
    COMPLETE = "complete"
    PARTIAL = "partial"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Segment:
    """A committed phase. When it cannot be used `note` is empty, and `damage` has the reason."""

    directory: Path
    note: SegmentNote | None
    damage: str = ""


@dataclass(frozen=True)
class StoredRun:
    """A run as it was when it was opened."""

    directory: Path
    manifest: Manifest
    condition: RunCondition
    segments: tuple[Segment, ...]

    @property
    def is_partial(self) -> bool:
        return self.condition != RunCondition.COMPLETE

    @property
    def keys(self) -> list[SegmentKey]:
        """Return the measured phases, in the order they were begun."""
        return [segment.note.key for segment in self.segments if segment.note is not None]

    def remaining(self) -> list[PlannedPoint]:
        """Return planned points that are neither measured nor skipped."""
        settled = {key.point for key in self.keys if key.phase == MEASURED}
        settled |= {each.key for each in self.manifest.skipped}
        return [point for point in self.manifest.points if point.key not in settled]

    def files(self, table: str) -> list[Path]:
        """Return the Parquet files of a table, in order, without those of damaged segments."""
        return [
            segment.directory / f"{stored.table}.parquet"
            for segment in self.segments
            if segment.note is not None
            for stored in segment.note.files
            if stored.table == table
        ]

    def table(self, name: str) -> pa.Table:
        """Return all rows of a table. Raises RunUnreadable when a file is not valid."""
        table = TABLES[name]
        return pa.concat_tables([arrow_schema(table).empty_table(), *(_read(path, table) for path in self.files(name))])


def _read(path: Path, table: SampleTable) -> pa.Table:
    try:
        found = pq.ParquetFile(path).read()
    except (OSError, pa.ArrowException) as error:
        raise RunUnreadable(
            f"{path} cannot be read: {str(error).splitlines()[0]}. Resume or repeat the run, or set it aside."
        ) from error
    if not has_known_columns(found.schema, table):
        raise RunUnreadable(f"{path} does not have the columns of its table. Set the run aside.")
    return in_this_version(found, table)


def _segment(directory: Path, run: str) -> Segment:
    try:
        note = read_note(directory)
    except (OSError, ValueError, KeyError, TypeError) as error:
        return Segment(directory, None, f"it does not say what it is: {error!r}")
    if note.run != run:
        return Segment(directory, None, f"it is of another run, {note.run}")
    unknown = [stored.table for stored in note.files if stored.table not in TABLES]
    if unknown:
        return Segment(directory, None, f"it has tables that are not known: {', '.join(unknown)}")
    return Segment(directory, note)


def read_run(directory: Path) -> StoredRun:
    """Open a run. Raises RunUnreadable, with advice, when it is none or has a newer schema."""
    # Checked first: a run that ends meanwhile then appears as running, never as interrupted.
    owned = is_owned(directory)
    manifest = read_manifest(directory)
    condition = RunCondition(manifest.state)
    if condition == RunCondition.RUNNING and not owned:
        condition = RunCondition.INTERRUPTED
    if not (directory / SEGMENTS).is_dir():
        raise RunUnreadable(f"{directory} has lost its directory {SEGMENTS}. Restore it from a copy.")
    segments = tuple(_segment(path, manifest.run) for path in committed_segments(directory))
    return StoredRun(directory, manifest, condition, segments)


def stored_runs(runs: Path) -> list[Path]:
    """Return the directories of all runs below a directory, by name; those being created do not appear yet."""
    if not runs.is_dir():
        return []
    return sorted(path for path in runs.iterdir() if path.is_dir() and not path.name.startswith("."))
