"""Changes of the lake: new directories for some tables, committed all at once."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path, PurePath
from types import TracebackType
from typing import IO, Final

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from ostler.lab.store.manifest import sync_directory, write_whole
from ostler.pipeline.errors import LakeBusy, PipelineError
from ostler.pipeline.lake.lake import (
    CURRENT,
    VERSION_PREFIX,
    LakePart,
    LakeSnapshot,
    as_json,
    open_lake,
    partition_values,
    table_directory,
)
from ostler.pipeline.lake.tables import LakeTable, Layer

LOCK: Final = "lock"
_ATTEMPT_BYTES: Final = 3


class LakeChange:
    """One change, from `with` to `commit`. Only one process at a time has one; nothing is visible before `commit`.

    For each table that changes: write files to `directory(table)`, and call `put` with the rows they replace. Without
    `commit` the lake is unchanged.
    """

    def __init__(self, root: Path) -> None:
        """Begin a change. Raises PipelineError when another process changes the lake, or it cannot be read or
        created."""
        self._lock = _locked(root)
        try:
            self.before = open_lake(root)
            _clear(self.before)
        except BaseException:
            self._lock.close()
            raise
        self._root = root
        self._version = self.before.version + 1
        # A killed change may have a Spark that still writes: its files must not mix with those of this one.
        self._name = f"{VERSION_PREFIX}{self._version}-{secrets.token_hex(_ATTEMPT_BYTES)}"
        self._parts = dict(self.before.parts)
        self._written: list[Path] = []
        self._is_committed = False

    def __enter__(self) -> LakeChange:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if not self._is_committed:
                for path in self._written:
                    shutil.rmtree(path, ignore_errors=True)
        finally:
            self._lock.close()

    def directory(self, table: LakeTable) -> Path:
        """Return the directory for files of a table. It does not exist yet, and its parent may not either."""
        path = self._root / table_directory(table) / self._name
        if path not in self._written:
            self._written.append(path)
        return path

    @property
    def now(self) -> LakeSnapshot:
        """Return the lake as it would be after `commit`, for steps that read tables of earlier steps."""
        kept = {part.path for parts in self._parts.values() for part in parts}
        gone = [part.path for parts in self.before.parts.values() for part in parts if part.path not in kept]
        return replace(self.before, version=self._version, parts=dict(self._parts), unused=tuple(gone))

    def put(self, table: LakeTable, replaced: Iterable[str] = ()) -> int:
        """Add the files of a table, and return their number of rows.

        They replace the whole table; of a partitioned table, the partitions that were written and those whose value (of
        the first partition column) is one of `replaced`.
        """
        try:
            found = _parts(self._root, self.directory(table), table)
        except (OSError, pa.ArrowException) as error:
            raise PipelineError(
                f"What was written of {table.name} cannot be read back: {(str(error).splitlines() or [''])[0]}. "
                "Tables are as they were. Look at the disk, and run the pipeline again."
            ) from error
        gone = set(replaced) | {each.values[table.partitions[0]] for each in found if table.partitions}
        kept = [
            part
            for part in self._parts.get(table.name, ())
            if table.partitions and part.values[table.partitions[0]] not in gone
        ]
        self._parts[table.name] = tuple(sorted([*kept, *found], key=lambda part: part.path))
        return sum(part.rows for part in found)

    def commit(self, made_from: Mapping[str, str]) -> LakeSnapshot:
        """Commit all tables. Raises PipelineError, and leaves the tables unchanged, when that cannot be written."""
        after = replace(self.now, made_from=dict(made_from))
        try:
            for path in self._written:
                _sync_tree(path)
            write_whole(self._root / CURRENT, as_json(after))
        except OSError as error:
            raise _not_written(self._root, error) from error
        self._is_committed = True
        # Nothing reads the directories any more that the previous version still needed.
        for unused in self.before.unused:
            shutil.rmtree(self._root / unused, ignore_errors=True)
        return after


def _not_written(root: Path, error: OSError) -> PipelineError:
    advice = "Make room there" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "Mend that"
    return PipelineError(
        f"The lake {root} could not be changed: {error.strerror}. "
        f"Tables are as they were. {advice}, and run the pipeline again."
    )


def _locked(root: Path) -> IO[bytes]:
    try:
        root.mkdir(parents=True, exist_ok=True)
        lock = open(root / LOCK, "ab")  # noqa: SIM115 - held until the change is over
    except OSError as error:
        raise PipelineError(f"The lake cannot be written to {root}: {error.strerror}. Name another place.") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise LakeBusy(f"Somebody else is changing the lake {root}. Wait until that has ended.") from None
    return lock


def _clear(snapshot: LakeSnapshot) -> None:
    """Remove leftovers of killed changes: uncommitted versions, and partitions that were replaced."""
    needed = {part.path for parts in snapshot.parts.values() for part in parts} | set(snapshot.unused)
    above = {str(parent) for path in needed for parent in PurePath(path).parents}
    for layer in Layer:
        for version in snapshot.root.glob(f"{layer.value}/*/{VERSION_PREFIX}*"):
            _clear_below(snapshot.root, version, needed, above)


def _clear_below(root: Path, directory: Path, needed: set[str], above: set[str]) -> None:
    name = str(directory.relative_to(root))
    if name in above and name not in needed:
        for each in [path for path in directory.iterdir() if path.is_dir()]:
            _clear_below(root, each, needed, above)
    elif name not in needed:
        shutil.rmtree(directory, ignore_errors=True)


def _parts(root: Path, directory: Path, table: LakeTable) -> list[LakePart]:
    """Return the partitions below a written directory; the directory itself for a table without partitions."""
    paths = [directory]
    for column in table.partitions:
        paths = [below for path in paths for below in sorted(path.glob(f"{column}=*"))]
    found = []
    for path in paths:
        rows = sum(pq.read_metadata(file).num_rows for file in path.glob("*.parquet"))
        if rows or not table.partitions:
            values = partition_values(path.relative_to(directory).parts)
            found.append(LakePart(str(path.relative_to(root)), values, rows))
    return found


def _sync_tree(directory: Path) -> None:
    """Force all files below a directory to storage."""
    for path, _, names in os.walk(directory):
        for name in names:
            descriptor = os.open(os.path.join(path, name), os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        sync_directory(Path(path))
    if directory.exists():
        sync_directory(directory.parent)
