"""The laboratory's runs before Spark reads them: those that exist, those that changed, and the sound files.

Only names, manifests, checksums and footers of files are read here, no rows.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from ostler.lab.store.arrow_tables import has_known_columns
from ostler.lab.store.manifest import MANIFEST, RunUnreadable
from ostler.lab.store.run_reader import RunCondition, Segment, StoredRun, read_run, stored_runs
from ostler.lab.store.schema import KEY, PHASE, TABLES
from ostler.lab.store.segments import SEGMENT, SegmentKey, SegmentNote, StoredFile, crc32_of
from ostler.pipeline.errors import PipelineError, count_text

_CHECKS_AT_ONCE: Final = 4
# Manifests have some kilobytes; a much larger one was not written by a laboratory.
_MANIFEST_BYTES_MAX: Final = 32 << 20
# Partition directories would represent these names as null.
_NO_NAMES: Final = ("", "__HIVE_DEFAULT_PARTITION__")


@dataclass(frozen=True)
class RejectedRun:
    """A run that cannot be ingested, and the reason."""

    directory: Path
    why: str


@dataclass(frozen=True)
class FoundRun:
    """A run that can be ingested. `content` changes when the run does."""

    stored: StoredRun
    content: str

    @property
    def name(self) -> str:
        return self.stored.manifest.run

    @property
    def rows(self) -> int:
        """Return the number of rows in its files, by the notes of its segments."""
        notes = [segment.note for segment in self.stored.segments if segment.note is not None]
        return sum(file.rows for note in notes for file in note.files)


@dataclass(frozen=True)
class FileProblem:
    """A file that is quarantined as a whole. `rows` is the count in its segment."""

    run: str
    table: str
    rule: str
    reason: str
    file: str
    rows: int


@dataclass(frozen=True)
class CheckedFiles:
    """The files of some runs: sound ones by table, with all their rows; and quarantined ones."""

    sound: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[FileProblem, ...] = ()


# -- runs --------------------------------------------------------------------------------------------------------------


def find_runs(paths: Iterable[Path]) -> tuple[list[FoundRun], list[RejectedRun]]:
    """Return the runs that can be ingested, by name, and those that cannot. A path is a run, or a directory of runs.

    Raises PipelineError when a path does not exist.
    """
    found: dict[str, FoundRun] = {}
    refused: list[RejectedRun] = []
    for directory in dict.fromkeys(each for path in paths for each in _directories(path)):
        try:
            run = _readable(directory)
        except RunUnreadable as error:
            refused.append(RejectedRun(directory, str(error)))
            continue
        known = found.setdefault(run.name, run)
        if known.content != run.content:
            why = f"{directory} is named {run.name} inside, as {known.stored.directory} is. Take one of them away."
            refused.append(RejectedRun(directory, why))
    return [found[name] for name in sorted(found)], refused


def _directories(path: Path) -> list[Path]:
    if (path / MANIFEST).exists():
        return [path.absolute()]
    if not path.is_dir():
        raise PipelineError(f"There is no directory {path}. Name a run, or a directory with runs.")
    return [each.absolute() for each in stored_runs(path)]


def _readable(directory: Path) -> FoundRun:
    manifest = directory / MANIFEST
    try:
        if manifest.is_file() and manifest.stat().st_size > _MANIFEST_BYTES_MAX:
            raise RunUnreadable(
                f"{manifest} is longer than {_MANIFEST_BYTES_MAX >> 20} MiB, and no manifest is. "
                "Restore it from a copy, or set the run aside."
            )
        run = read_run(directory)
    except OSError as error:
        raise RunUnreadable(f"{directory} cannot be read: {error.strerror}. Mend that, or set it aside.") from error
    except (RecursionError, MemoryError) as error:
        raise RunUnreadable(
            f"{directory} has notes that are nested too deep. Restore them from a copy, or set the run aside."
        ) from error
    if run.manifest.run in _NO_NAMES:
        raise RunUnreadable(f"{manifest} does not name its run. Restore it from a copy, or set the run aside.")
    if run.condition is RunCondition.RUNNING:
        raise RunUnreadable(f"{directory} is still being written. Take it when the run has ended.")
    return FoundRun(run, _content(run))


def _content(run: StoredRun) -> str:
    """Return a checksum of the manifest and of all segment notes, which contain the checksums of files."""
    found = zlib.crc32((run.directory / MANIFEST).read_bytes())
    for segment in run.segments:
        path = segment.directory / SEGMENT
        found = zlib.crc32(segment.directory.name.encode(), found)
        found = zlib.crc32(path.read_bytes() if path.is_file() else b"", found)
    return f"{found:08x}"


# -- files -------------------------------------------------------------------------------------------------------------


def check_files(runs: Iterable[FoundRun]) -> CheckedFiles:
    """Check every file of some runs. A segment with any damage is quarantined as a whole."""
    sound: dict[str, list[Path]] = {name: [] for name in TABLES}
    rows = dict.fromkeys(TABLES, 0)
    problems: list[FileProblem] = []
    with ThreadPoolExecutor(_CHECKS_AT_ONCE) as pool:
        for run in runs:
            seen: set[SegmentKey] = set()
            # Checksums need no interpreter lock, so threads help.
            for segment, found in zip(run.stored.segments, pool.map(_problems, run.stored.segments), strict=True):
                note = segment.note
                if note is not None and not found and note.key in seen:
                    found = [("", "once", f"{_place(segment)} is the same phase as a segment before it")]
                if found:
                    problems += _quarantine_segment(run.name, segment, found)
                    continue
                assert note is not None
                seen.add(note.key)
                for stored in note.files:
                    sound[stored.table].append(segment.directory / f"{stored.table}.parquet")
                    rows[stored.table] += stored.rows
    return CheckedFiles({name: tuple(paths) for name, paths in sound.items()}, rows, tuple(problems))


Broken = tuple[str, str, str]
"""Table, or empty for the whole segment; rule; reason."""


def _place(segment: Segment) -> str:
    return f"segment {segment.directory.name}"


def _problems(segment: Segment) -> list[Broken]:
    if segment.note is None:
        return [("", "segment", f"{_place(segment)}: {segment.damage}")]
    found = [
        (stored.table, rule, f"{_place(segment)}: {text}")
        for stored in segment.note.files
        for rule, text in _file_problems(segment.directory / f"{stored.table}.parquet", stored, segment.note)
    ]
    if [stored.rows for stored in segment.note.files if stored.table == PHASE.name] != [1]:
        found.append((PHASE.name, "phase", f"{_place(segment)} has not exactly one row in the table of phases"))
    return found


def _file_problems(path: Path, stored: StoredFile, note: SegmentNote) -> Iterator[tuple[str, str]]:
    try:
        if path.stat().st_size != stored.bytes or crc32_of(path) != stored.crc32:
            yield "file", f"{path.name} is not the file that was written: its length or checksum differs"
            return
        with pq.ParquetFile(path) as file:
            if not has_known_columns(file.schema_arrow, TABLES[stored.table]):
                yield "columns", f"{path.name} does not have the columns of its table"
            elif file.metadata.num_rows != stored.rows:
                rows_found = count_text(file.metadata.num_rows, "row")
                yield "rows", f"{path.name} has {rows_found} instead of {stored.rows:,}"
            else:
                yield from _key_problems(file, path.name, note)
    except (OSError, pa.ArrowException, MemoryError) as error:
        yield "file", f"{path.name} cannot be read: {(str(error).splitlines() or ['it is damaged'])[0]}"


def _key_problems(file: pq.ParquetFile, name: str, note: SegmentNote) -> Iterator[tuple[str, str]]:
    """Yield violations of keys. Footers have the minimum and the maximum of each column; only without those the column
    is read."""
    expected = (note.run, note.contestant, note.step, note.repetition, note.phase)
    for at, (column, value) in enumerate(zip(KEY, expected, strict=True)):
        parts = [file.metadata.row_group(number).column(at) for number in range(file.metadata.num_row_groups)]
        if all(part.is_stats_set and part.statistics.has_min_max for part in parts):
            is_same = all(part.statistics.min == value == part.statistics.max for part in parts)
        else:
            is_same = bool(pc.all(pc.equal(file.read([column.name])[column.name], value), min_count=0).as_py())
        if not is_same:
            yield "key", f"{name} has rows whose {column.name} is not {value}"


def _quarantine_segment(run: str, segment: Segment, found: list[Broken]) -> Iterator[FileProblem]:
    """Yield an entry for each file of a segment: with its own reason, or with that of the segment."""
    files = {} if segment.note is None else {stored.table: stored.rows for stored in segment.note.files}
    first = found[0]
    own = {table: (rule, reason) for table, rule, reason in reversed(found)}
    for table in files or {"": 0}:
        rule, reason = own.get(table) or own.get("") or ("segment", f"its segment is quarantined: {first[2]}")
        path = segment.directory / f"{table}.parquet" if table else segment.directory
        yield FileProblem(run, table or PHASE.name, rule, reason, str(path), files.get(table, 0))


def problem_row(problem: FileProblem) -> tuple[str, str, str, str, str, int]:
    """Return a row of the quarantine table."""
    row = json.dumps({"file": problem.file, "rows": problem.rows})
    return (problem.table, problem.run, problem.rule, problem.reason, row, problem.rows)
