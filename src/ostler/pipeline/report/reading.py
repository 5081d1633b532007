"""The input of a report: rows of a lake, filtered by scenario and run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ostler.lab.scenarios.loader import near_names
from ostler.pipeline.errors import PipelineError
from ostler.pipeline.lake.lake import open_lake
from ostler.pipeline.lake.tables import TABLES
from ostler.pipeline.report.rows import ROWS, Tables, columns, read_tables

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped]

_NOTES_BYTES_MAX: Final = 1024 * 1024


def read_lake(lake: Path) -> Tables:
    """Return all rows of a report. Raises PipelineError when there is no lake, or it is empty."""
    snapshot = open_lake(lake)
    if not snapshot.version:
        raise PipelineError(f"There is no lake in {lake}. Make one with `ostler pipeline run`, or name it: --lake.")

    def read(name: str) -> pyarrow.Table:
        return snapshot.read(TABLES[name], columns(ROWS[name]))

    return read_tables(read)


def read_notes(path: Path) -> str:
    """Return the author's notes. Raises PipelineError when the file cannot be read, or is no text."""
    try:
        with path.open("rb") as stream:
            content = stream.read(_NOTES_BYTES_MAX + 1)
    except OSError as error:
        raise PipelineError(f"The notes {path} cannot be read: {error.strerror}. Name another file: --notes.") from None
    if len(content) > _NOTES_BYTES_MAX:
        raise PipelineError(f"The notes {path} are longer than {_NOTES_BYTES_MAX // 1024} KB. Shorten them.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PipelineError(f"The notes {path} are not UTF-8, at byte {error.start}. Save them as UTF-8.") from None


def select_rows(tables: Tables, scenarios: Sequence[str], runs: Sequence[str]) -> Tables:
    """Return the rows of some scenarios and runs; all when none is named. Raises PipelineError for a name without
    rows."""
    if not scenarios and not runs:
        return tables
    check_names("scenario", scenarios, tuple(each.scenario for each in tables.runs))
    check_names("run", runs, tuple(each.run for each in tables.runs))
    kept = [
        each.run
        for each in tables.runs
        if (not scenarios or each.scenario in scenarios) and (not runs or each.run in runs)
    ]
    if not kept:
        raise PipelineError("None of the runs named is of a scenario named: leave out --run or --scenario.")
    found = tables.only(kept)
    if not found.points:
        raise PipelineError("Nothing was measured in what was picked: its runs have no point. Pick others.")
    return found


def check_names(kind: str, names: Sequence[str], known: tuple[str, ...]) -> None:
    """Raise PipelineError for the first unknown name, with similar ones."""
    for name in names:
        if name not in known:
            near = near_names(name, tuple(dict.fromkeys(known)))
            meant = f" Was {' or '.join(near)} meant?" if near else ""
            raise PipelineError(f"The lake has no {kind} {name!r}.{meant}")
